//! Which database does `--atlas` name, and is it open already?

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fingerpost::store::place::UserFolders;
use fingerpost_postgres::{Address, CACHE_BYTES, Postgres};

use crate::output::UsageError;

/// The databases that are open, by what was typed: a door that stays open for days connects once.
#[derive(Clone, Default)]
pub(crate) struct Databases {
    open: Arc<Mutex<BTreeMap<PathBuf, Postgres>>>,
}

/// Bytes of blobs that this machine may keep of databases.
const CACHE_VARIABLE: &str = "FINGERPOST_CACHE_BYTES";

impl Databases {
    /// The database that is named, if it is one.
    pub(super) fn open(
        &self,
        named: Option<&Path>,
        users: &UserFolders,
    ) -> anyhow::Result<Option<(Postgres, PathBuf)>> {
        let Some((named, address)) = named.and_then(|named| Some((named, meant(named)?))) else {
            return Ok(None);
        };
        let Some(cache) = users.cache.as_ref().map(|cache| cache.join("postgres")) else {
            let message = "there is no folder for what is fetched from the database: set HOME or XDG_CACHE_HOME";
            return Err(UsageError::new(message).into());
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(named) {
            return Ok(Some((known.clone(), cache)));
        }
        let usage = |error: &dyn fmt::Display| UsageError::new(format!("--atlas: {error}"));
        let password = std::env::var("PGPASSWORD").ok();
        let address: Address = address.parse().map_err(|error| usage(&error))?;
        let address = address.with_password(password.as_deref());
        let postgres = Postgres::open(address, cache.join("blobs"), bytes()?);
        let postgres = postgres.map_err(|error| usage(&error))?;
        open.insert(named.to_owned(), postgres.clone());
        Ok(Some((postgres, cache)))
    }
}

/// The address, where what was typed is meant as one.
pub(crate) fn meant(named: &Path) -> Option<&str> {
    named.to_str().filter(|named| Address::is_meant(named))
}

fn bytes() -> Result<u64, UsageError> {
    match std::env::var(CACHE_VARIABLE) {
        Err(_) => Ok(CACHE_BYTES),
        Ok(text) => text.parse().map_err(|_| {
            UsageError::new(format!("{CACHE_VARIABLE} is a number of bytes, like {CACHE_BYTES}"))
        }),
    }
}

/// What was typed may have a password in it.
impl fmt::Debug for Databases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Databases")
    }
}
