//! An atlas in PostgreSQL: one database for any number of machines.
//!
//! [`Postgres`] is a [`Store`](fingerpost::store::Store) like the folder: a head that is compared and swapped, blobs that never change,
//! logs that only grow, and claims. What it keeps is in tables ([`Postgres::open`] makes none; the first write
//! does), several atlases in one database. Blobs are fetched once by each node into a folder of its own and
//! mapped from there, so that answers are made from the same bytes as everywhere, at the same speed.
//!
//! ```text
//! commit ──► head ──► NOTIFY ──► every node that listens ──► blobs it has not yet ──► its cache ──► mapped
//! ```

mod address;
mod blobs;
mod cache;
mod claims;
mod connection;
mod heads;
mod listen;
mod logs;
mod schema;
mod store;
mod tls;
mod trouble;
pub mod work;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use self::address::{Address, AddressError};
use self::cache::Cache;
pub use self::claims::holder;
use self::connection::Connection;
pub use self::tls::TlsError;

/// Bytes of blobs that a node keeps, unless told otherwise.
pub const CACHE_BYTES: u64 = 20 << 30;

/// An atlas in a database. Copies share connections and cache.
#[derive(Clone)]
pub struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    connection: Arc<Connection>,
    cache: Arc<Cache>,
    /// The number of the atlas in the tables, once it is known.
    atlas: Arc<OnceLock<i32>>,
}

/// The database cannot be reached now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    /// For how long.
    pub since: Duration,
    /// What the last try said.
    pub why: String,
}

impl Postgres {
    /// The atlas at an address; blobs are fetched into this folder, which holds so many bytes at most. Nothing
    /// is connected, and no table made, before it is needed.
    pub fn open(address: Address, cache: PathBuf, bytes: u64) -> Result<Self, TlsError> {
        let connection = Arc::new(Connection::new(address)?);
        let cache = Arc::new(Cache::new(cache, bytes));
        Ok(Self { inner: Arc::new(Inner { connection, cache, atlas: Arc::default() }) })
    }

    /// Where it is; no password is part of it.
    pub fn address(&self) -> &Address {
        &self.inner.connection.address
    }

    /// Since when and why the database cannot be reached, if it cannot.
    pub fn away(&self) -> Option<Away> {
        let away = self.inner.connection.contact().away();
        away.map(|(since, why)| Away { since, why })
    }

    /// Calls this whenever another head may count, and when the database goes or comes back; from another
    /// thread, for as long as a copy of this store lives.
    pub fn listen(&self, hear: impl Fn() + Send + Sync + 'static) {
        let connection = &self.inner.connection;
        connection.spawn(listen::listen(Arc::downgrade(connection), Box::new(hear)));
    }

    /// Something that was read turned out damaged: from now on, what the cache holds is read before it counts,
    /// and fetched again where it is not what it should be.
    pub fn doubt(&self) {
        self.inner.cache.doubt();
    }
}
