//! Fingerpost tells look-alike skills apart.
//!
//! ```text
//! Library ──► Vectors ──► Neighborhoods ──► Pages ──► index view ──► Index ──► hits ──► cards ──► Route
//! ```
//!
//! A [`library::Library`] of skills is compiled ([`mod@compile`]) into an [`atlas::Atlas`]: vectors,
//! neighborhoods, [`page`]s. A [`search::Searcher`] over a [`view::View`] gives hits, [`mod@route`]
//! picks one of them, and [`eval`] judges what comes out.
//!
//! ```
//! use fingerpost::index::{Scratch, SparseConfig, SparseIndex, Zeros};
//! use fingerpost::library::{Library, LoadOptions, Root};
//! use fingerpost::page::Pages;
//!
//! let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library");
//! let library = Library::load(&[Root::new(examples)], LoadOptions::default())?.value;
//! let index = SparseIndex::build(&library, &Pages::default(), &SparseConfig::default());
//!
//! let request = "correct the QT interval with Bazett's square root";
//! let hits = index.search(request, 10, Zeros::Dropped, &mut Scratch::default())?;
//! assert_eq!(index.name(hits[0].skill), "qtc-bazett");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod atlas;
pub mod chat;
pub mod compile;
pub mod contrast;
pub mod diagnostic;
pub mod embedding;
pub mod eval;
pub mod exclusion;
mod front_matter;
pub mod index;
pub mod library;
pub mod map;
pub mod neighborhood;
pub mod page;
mod prompt;
pub mod reply;
pub mod request;
pub mod route;
pub mod search;
pub mod skill;
pub mod text;
pub mod view;
