//! Fingerpost tells look-alike skills apart.
pub mod atlas;
pub mod diagnostic;
pub mod eval;
mod front_matter;
pub mod index;
pub mod library;
pub mod skill;
pub mod text;
pub mod view;
