//! Fingerpost tells look-alike skills apart.
//!
//! ```text
//! compile: Library ──► Vectors ──► Neighborhoods ──► Pages ──► indexes ──► one more generation of an Atlas
//! answer:  Atlas ──► Snapshot ──► Router ──► hits ──► cards ──► Route
//! ```
//!
//! A [`library::Library`] holds the skills we were given. [`atlas::Atlas::compile`] groups look-alikes into
//! neighborhoods, writes a [`page`] for each skill, builds the indexes ([`mod@compile`]) and commits them as one
//! generation. [`atlas::Atlas::snapshot`] opens that generation. A [`snapshot::Snapshot`] never changes, and all
//! answers come from one: [`route::Router`] picks a skill, [`search::Searcher`] ranks them by one retriever, and
//! [`eval`] judges what comes out. A [`store::Store`] keeps the atlas: a folder, or memory.
//!
//! From a folder to a route in five lines:
//!
//! ```
//! use fingerpost::atlas::Atlas;
//! use fingerpost::index::Scratch;
//! use fingerpost::library::{Library, LoadOptions, Root};
//! use fingerpost::protocol::Protocol;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library");
//! # let request = "QT 380 at 72 bpm, correct it with the square root";
//! let library = Library::load(&[Root::new(folder)], LoadOptions::default())?.value;
//! let atlas = Atlas::in_memory();
//! atlas.compile(&library, &Protocol::ours())?;
//! let snapshot = atlas.snapshot()?;
//! let (route, _) = snapshot.router(snapshot.route_config(), 10).route(request, &mut Scratch::default())?;
//!
//! assert_eq!(route.skill.as_deref(), Some("qt-correction/qtc-bazett"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To keep the atlas, write `Atlas::new(Folder::at("some/folder"))` with [`store::Folder`].

pub mod areas;
pub mod atlas;
pub mod chat;
pub mod compile;
pub mod contract;
pub mod contrast;
pub mod diagnostic;
pub mod embedding;
pub mod eval;
pub mod exclusion;
mod front_matter;
pub mod index;
pub mod kept;
pub mod library;
pub mod map;
pub mod neighborhood;
pub mod numbers;
pub mod page;
pub mod prompt;
pub mod protocol;
pub mod reply;
pub mod request;
pub mod rivals;
pub mod route;
pub mod search;
pub mod sections;
pub mod skill;
pub mod snapshot;
pub mod store;
pub mod text;
pub mod view;
