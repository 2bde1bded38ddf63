//! The twelve things that a store does, by asking the database.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use fingerpost::store::{Blob, Claim, Log, Record, Records, Store, StoreError, Version};

use crate::blobs::{self, About, Fetched};
use crate::claims::{self, Held, LEASE, Row};
use crate::connection::{ANSWER_WITHIN, Again};
use crate::logs::{self, Appending};
use crate::schema::{self, For};
use crate::trouble::Trouble;
use crate::{Postgres, heads};

/// Bytes that come or go in a second at least, where many do.
const SLOWEST: u64 = 1 << 20;

/// How often a blob is looked for again that was made anew while it was fetched.
const TRIES: usize = 5;

/// The answer to a question, on its way.
pub(crate) type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, Trouble>> + Send + 'a>>;

impl Postgres {
    /// Asks something of the tables; `None` where there are none, and none are to be made.
    pub(crate) fn ask<T, F>(
        &self,
        to: For,
        again: Again,
        what: (&'static str, &str),
        within: Duration,
        question: F,
    ) -> Result<Option<T>, StoreError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Object, &'a str, i32) -> Asked<'a, T> + Send + Sync + 'static,
    {
        let (connection, known) = (&self.inner.connection, &self.inner.atlas);
        let question = Arc::new(question);
        connection.ask(again, what, within, || {
            let (connection, known) = (Arc::clone(connection), Arc::clone(known));
            let question = Arc::clone(&question);
            async move {
                let mut client = connection.client().await?;
                let schema = connection.schema();
                let atlas = match known.get() {
                    Some(atlas) => *atlas,
                    None => {
                        let name = &connection.address.atlas;
                        let found = schema::atlas(&mut client, schema, name, to).await?;
                        let Some(atlas) = found else { return Ok(None) };
                        *known.get_or_init(|| atlas)
                    }
                };
                question(&mut client, schema, atlas).await.map(Some)
            }
        })
    }

    /// Asks for something to be kept: tables that are not there are made.
    pub(crate) fn order<T, F>(
        &self,
        again: Again,
        what: (&'static str, &str),
        within: Duration,
        question: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Object, &'a str, i32) -> Asked<'a, T> + Send + Sync + 'static,
    {
        let kept = self.ask(For::Writing, again, what, within, question)?;
        Ok(kept.expect("whoever writes makes the tables"))
    }

    fn about(&self, blob: &str) -> Result<Option<About>, StoreError> {
        let name = blob.to_owned();
        let about = self.ask(For::Reading, Again::Harmless, ("find", blob), ANSWER_WITHIN, {
            move |client, schema, atlas| {
                let name = name.clone();
                Box::pin(async move { blobs::about(client, schema, atlas, &name).await })
            }
        })?;
        Ok(about.flatten())
    }

    /// The bytes of a blob, from the database; `None` if it was made anew meanwhile.
    fn fetch(&self, blob: &str, about: About) -> Result<Option<Blob>, StoreError> {
        let cache = Arc::clone(&self.inner.cache);
        let within = ANSWER_WITHIN + Duration::from_secs(about.length / SLOWEST);
        let what = ("fetch", blob);
        let fetched = self.ask(For::Reading, Again::Harmless, what, within, {
            let cache = Arc::clone(&cache);
            move |client, schema, atlas| {
                // Where nothing can be written, memory is as good.
                let file = cache.begin().ok();
                Box::pin(blobs::fetch(client, schema, atlas, about, file))
            }
        })?;
        let garbled = || {
            let subject = format!("{blob} of {}", self.name());
            StoreError::failed("fetch", subject, Trouble::Garbled(blob.to_owned()).into_io())
        };
        match fetched {
            None | Some(Fetched::Gone) => Ok(None),
            Some(Fetched::Memory(bytes)) if blake3::hash(&bytes) == about.digest => {
                Ok(Some(Blob::of(&bytes)))
            }
            Some(Fetched::Memory(_)) => Err(garbled()),
            Some(Fetched::File(file)) => {
                let finished = cache.finish(file, &about.digest, about.length);
                let finished = finished.map_err(|error| StoreError::failed("keep", blob, error))?;
                finished.ok_or_else(garbled).map(Some)
            }
        }
    }
}

/// Names are as a folder's are, so that what one store keeps another can, and no other names are looked for.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(plain)
}

pub(crate) fn token() -> Result<[u8; 16], StoreError> {
    let mut token = [0; 16];
    getrandom::fill(&mut token)
        .map_err(|error| StoreError::failed("draw", "a random number", io::Error::other(error)))?;
    Ok(token)
}

impl Store for Postgres {
    fn name(&self) -> String {
        self.address().to_string()
    }

    fn head(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let what = ("read", "the head");
        let head = self.ask(For::Reading, Again::Harmless, what, ANSWER_WITHIN, {
            |client, schema, atlas| Box::pin(heads::head(client, schema, atlas))
        })?;
        Ok(head.flatten())
    }

    fn commit(&self, before: Version, head: &[u8]) -> Result<(), StoreError> {
        let (before, head) = (before.digest().copied(), head.to_vec());
        let name = self.address().atlas.clone();
        let asked = std::sync::atomic::AtomicBool::new(false);
        // After a lost connection it is not known what became of it; what stands there tells.
        let what = ("commit", "the head");
        let done =
            self.order(Again::Harmless, what, ANSWER_WITHIN, move |client, schema, atlas| {
                let (head, name) = (head.clone(), name.clone());
                let before_that = asked.swap(true, std::sync::atomic::Ordering::Relaxed);
                Box::pin(async move {
                    let to = (atlas, name.as_str());
                    let done = heads::commit(client, schema, to, before, &head).await?;
                    Ok(done || (before_that && heads::stands(client, schema, atlas, &head).await?))
                })
            })?;
        if done { Ok(()) } else { Err(StoreError::Overtaken { store: self.name() }) }
    }

    fn get(&self, blob: &str) -> Result<Option<Blob>, StoreError> {
        if !is_plain(blob) {
            return Ok(None);
        }
        let cache = &self.inner.cache;
        for _ in 0..TRIES {
            let Some(about) = self.about(blob)? else { return Ok(None) };
            if let Some(blob) = cache.get(&about.digest, about.length) {
                return Ok(Some(blob));
            }
            let _turn = cache.turn(&about.digest);
            if let Some(blob) = cache.get(&about.digest, about.length) {
                return Ok(Some(blob));
            }
            if let Some(blob) = self.fetch(blob, about)? {
                return Ok(Some(blob));
            }
        }
        Ok(None)
    }

    fn put(&self, blob: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if !is_plain(blob) {
            let wrong = io::Error::new(io::ErrorKind::InvalidInput, "it is no name of a blob");
            return Err(StoreError::failed("keep", blob.escape_debug(), wrong));
        }
        let digest = *blake3::hash(bytes).as_bytes();
        // Whoever makes a blob opens it next; where it cannot be kept here, it is fetched.
        let _ = self.inner.cache.keep(bytes, &digest);
        let within = ANSWER_WITHIN + Duration::from_secs(bytes.len() as u64 / SLOWEST);
        let (name, bytes): (String, Arc<[u8]>) = (blob.to_owned(), bytes.into());
        self.order(Again::Harmless, ("keep", blob), within, move |client, schema, atlas| {
            let (name, bytes) = (name.clone(), Arc::clone(&bytes));
            Box::pin(async move { blobs::put(client, schema, atlas, &name, &bytes, digest).await })
        })
    }

    fn blobs(&self) -> Result<Vec<String>, StoreError> {
        let what = ("list", "the blobs");
        let names = self.ask(For::Reading, Again::Harmless, what, ANSWER_WITHIN, {
            |client, schema, atlas| Box::pin(blobs::names(client, schema, atlas))
        })?;
        Ok(names.unwrap_or_default())
    }

    fn remove(&self, blob: &str) -> Result<(), StoreError> {
        let (name, cache) = (blob.to_owned(), Arc::clone(&self.inner.cache));
        let what = ("remove", blob);
        let removed = self.ask(For::Reading, Again::Harmless, what, ANSWER_WITHIN, {
            move |client, schema, atlas| {
                let (name, cache) = (name.clone(), Arc::clone(&cache));
                Box::pin(async move { blobs::remove(client, schema, atlas, &name, &cache).await })
            }
        });
        removed.map(drop)
    }

    fn claim(&self, work: &str, lease: Duration) -> Result<Claim, StoreError> {
        let (token, lease) = (token()?, lease.min(LEASE));
        let name = work.to_owned();
        let taken = self.order(Again::Harmless, ("claim", work), ANSWER_WITHIN, {
            move |client, schema, atlas| {
                let name = name.clone();
                Box::pin(async move {
                    let taken = claims::take(client, schema, atlas, &name, token, lease).await?;
                    Ok((atlas, taken))
                })
            }
        })?;
        match taken {
            (atlas, Ok(())) => {
                let (connection, work) = (Arc::clone(&self.inner.connection), work.to_owned());
                let schema = connection.schema().to_owned();
                let row = Row { schema, atlas, work, token, lease };
                Ok(Claim::new(Held::new(connection, row)))
            }
            (_, Err(by)) => {
                Err(StoreError::Claimed { work: work.to_owned(), store: self.name(), by })
            }
        }
    }

    fn append(&self, log: Log, records: &[Vec<u8>]) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        let appending = Arc::new(Appending::new(log, records, token()?));
        let bytes: usize = records.iter().map(Vec::len).sum();
        let within = ANSWER_WITHIN + Duration::from_secs(bytes as u64 / SLOWEST);
        let what = ("append to", log.name());
        self.order(Again::Harmless, what, within, move |client, schema, atlas| {
            let appending = Arc::clone(&appending);
            Box::pin(async move { logs::append(client, schema, atlas, &appending).await })
        })
    }

    fn records(&self, log: Log, from: u64) -> Result<Records, StoreError> {
        // All of a ledger of years may take a while.
        let within = ANSWER_WITHIN * 10;
        let what = ("read", log.name());
        let records = self.ask(For::Reading, Again::Harmless, what, within, {
            move |client, schema, atlas| Box::pin(logs::records(client, schema, atlas, log, from))
        })?;
        Ok(Records { records: records.unwrap_or_default(), damaged: Vec::new() })
    }

    fn rewrite(
        &self,
        log: Log,
        keep: &mut dyn FnMut(&Record) -> bool,
    ) -> Result<usize, StoreError> {
        // Never again by itself: what goes, goes because a person said so, once.
        let (connection, what) = (&self.inner.connection, ("rewrite", log.name()));
        let held = self.ask(For::Reading, Again::Never, what, ANSWER_WITHIN * 10, {
            let connection = Arc::clone(connection);
            move |_, schema, atlas| {
                let connection = Arc::clone(&connection);
                Box::pin(async move {
                    let client = connection.client().await?;
                    Ok((atlas, logs::hold(client, schema, atlas, log).await?))
                })
            }
        })?;
        let Some((atlas, held)) = held else { return Ok(0) };
        let gone = held.records.iter().filter(|&record| !keep(record));
        let gone: Vec<i64> = gone.filter_map(|record| i64::try_from(record.number).ok()).collect();
        let count = gone.len();
        let held = std::sync::Mutex::new(Some((held, gone)));
        connection.ask(Again::Never, what, ANSWER_WITHIN * 10, || {
            let taken = held.lock().ok().and_then(|mut held| held.take());
            let schema = connection.schema().to_owned();
            async move {
                let (held, gone) = taken.ok_or(Trouble::NoConnection)?;
                logs::drop_from(held, &schema, atlas, log, gone).await
            }
        })?;
        Ok(count)
    }

    fn mark(&self, log: Log) -> Result<u64, StoreError> {
        let what = ("look at", log.name());
        let mark = self.ask(For::Reading, Again::Harmless, what, ANSWER_WITHIN, {
            move |client, schema, atlas| Box::pin(logs::mark(client, schema, atlas, log))
        })?;
        Ok(mark.unwrap_or_default())
    }
}
