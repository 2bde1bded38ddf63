//! What does a door that stays open answer from?
//!
//! `mcp`, `serve` and `watch` run for days while skills are edited and others compile. They answer from the
//! newest snapshot there is, at once: the last state while the library is compiled in the background, and
//! the next one as soon as it is there. Whoever took a snapshot keeps it until done, so no request sees two.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use fingerpost::route::{Encoder, RouteConfig, Router};
use fingerpost::store::Version;
use fingerpost_postgres::Postgres;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

use crate::args::{Global, LibraryArgs};
use crate::encoder::{self, Requests};
use crate::follow;
use crate::output::{self, plain};
use crate::source::{Reading, Source};

/// The library is looked at as often as costs a fortieth of a core, within these borders.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_secs(1);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(60);
const SHARE_OF_A_CORE: u32 = 40;

/// The newest snapshot of a library, kept so.
pub(crate) struct Live {
    library: LibraryArgs,
    global: Global,
    now: RwLock<Option<Arc<Open>>>,
    /// What was there when the library was looked at last; one looks at a time.
    seen: Mutex<Option<Seen>>,
    /// A file of the atlas is not what was written.
    damaged: AtomicBool,
    status: watch::Sender<Status>,
    wake: Mutex<mpsc::Sender<()>>,
    /// Where the atlas is kept, if that can go away while we stay.
    database: Option<Postgres>,
}

/// A snapshot, and all that answers from it.
pub(crate) struct Open {
    pub(crate) reading: Reading,
    encoder: Option<Arc<Encoder>>,
}

impl Open {
    /// What routes its requests.
    pub(crate) fn router(&self, config: RouteConfig, pool: usize) -> Router<'_> {
        let mut router = self.reading.snapshot.router(config, pool);
        router.set_encoder(self.encoder.clone());
        router
    }

    /// The model that also tells how near skills are, where there is one.
    pub(crate) fn encoder_name(&self) -> Option<&str> {
        self.encoder.as_ref().map(|encoder| encoder.name())
    }
}

/// How it stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Status {
    /// The state that answers; 0 before the first one.
    pub(crate) generation: u64,
    /// Has the library changed since?
    pub(crate) stale: bool,
    /// How many skills it has.
    pub(crate) skills: usize,
    /// How far a compilation is, while one runs.
    pub(crate) compiling: Option<Compiling>,
    /// Why the library as it is now cannot be compiled.
    pub(crate) failed: Option<String>,
}

/// How far a compilation is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Compiling {
    /// What is done: `reading`, `comparing`, `writing` or `indexing`.
    pub(crate) step: &'static str,
    /// So many pages are written,
    pub(crate) done: usize,
    /// of so many.
    pub(crate) all: usize,
}

/// What library and atlas look like from outside.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    /// The library's files; `None` where they change under our eyes, or an atlas is used alone.
    stamp: Option<String>,
    head: Version,
    /// What a person or money made: it counts as soon as it is kept.
    kept: Option<String>,
}

impl Live {
    /// Opens what is compiled, and begins to keep it new. Nothing is waited for.
    pub(crate) fn open(library: &LibraryArgs, global: &Global) -> anyhow::Result<Arc<Self>> {
        let source = Source::of(library, global)?;
        let (wake, woken) = mpsc::channel();
        let live = Arc::new(Self {
            library: library.clone(),
            global: global.clone(),
            now: RwLock::new(None),
            seen: Mutex::default(),
            damaged: AtomicBool::new(false),
            status: watch::Sender::new(Status::default()),
            wake: Mutex::new(wake),
            database: source.home.postgres().cloned(),
        });
        if let Some(database) = &live.database {
            // What another machine commits is here at once; looking now and then finds what is missed.
            let woken = Arc::downgrade(&live);
            database.listen(move || {
                if let Some(live) = woken.upgrade() {
                    live.wake();
                }
            });
        }
        let mut pause = Duration::ZERO;
        // Before it is opened: what is committed meanwhile is then seen as new.
        let (head, kept) = (source.atlas.store().head()?, source.atlas.mark().ok());
        if let Some((reading, stamp)) = source.read_last()? {
            if !reading.stale {
                *live.seen() = Some(Seen { stamp, head: Version::of(head.as_deref()), kept });
                // It was looked at just now: whoever starts us for one answer does not pay for a second look.
                pause = LOOK_AT_MOST_EVERY;
            }
            live.serve(reading)?;
        }
        let weak = Arc::downgrade(&live);
        thread::Builder::new().name("keeper".into()).spawn(move || {
            loop {
                match woken.recv_timeout(pause) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                // Many wishes at once are one.
                while woken.try_recv().is_ok() {}
                let Some(live) = weak.upgrade() else { return };
                let took = live.look();
                pause = (took * SHARE_OF_A_CORE).clamp(LOOK_AT_MOST_EVERY, LOOK_AT_LEAST_EVERY);
            }
        })?;
        Ok(live)
    }

    /// The snapshot that counts now; `None` until the first one is compiled.
    pub(crate) fn now(&self) -> Option<Arc<Open>> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How it stands, and to be told when that changes.
    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Why the atlas cannot be reached now, where it is kept elsewhere: what is here answers.
    pub(crate) fn away(&self) -> Option<String> {
        let away = self.database.as_ref()?.away()?;
        Some(format!("the database cannot be reached: {}", plain(&away.why)))
    }

    /// The arguments that it was opened with.
    pub(crate) fn library(&self) -> &LibraryArgs {
        &self.library
    }

    /// The options that it was opened with.
    pub(crate) fn global(&self) -> &Global {
        &self.global
    }

    /// The library or the atlas may have changed: looks soon, and does not wait for it.
    pub(crate) fn wake(&self) {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        // The keeper ends only with the process.
        let _ = wake.send(());
    }

    /// A file of the atlas turned out not to be what was written: it is made again, soon.
    pub(crate) fn heal(&self) {
        self.damaged.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Looks whether the library or the atlas has changed, and compiles and opens what has. Says what the look alone
    /// took.
    pub(crate) fn look(&self) -> Duration {
        let mut last = self.seen();
        let start = Instant::now();
        if let Some(away) = self.away() {
            // Whoever is told that it is back looks again.
            *last = None;
            self.fail(&anyhow::anyhow!(away));
            return start.elapsed();
        }
        let source = Source::of(&self.library, &self.global);
        let before = source.as_ref().ok().and_then(seen);
        let took = start.elapsed();
        let damaged = self.damaged.swap(false, Ordering::Relaxed);
        if before.is_some() && before == *last && !damaged {
            return took;
        }
        let served = source.and_then(|source| {
            // Of the atlas on the disk: where nothing may be written, another one answers, in memory.
            let store = Arc::clone(source.atlas.store());
            let reading = self.read(source, damaged);
            self.status.send_modify(|status| status.compiling = None);
            let reading = reading?;
            let stale = reading.stale;
            self.serve(reading)?;
            Ok((Version::of(store.head()?.as_deref()), stale))
        });
        *last = match served {
            // What could not be compiled now is tried again. What changed meanwhile has another stamp next time.
            Ok((_, true)) => None,
            Ok((head, false)) => before.map(|seen| Seen { head, ..seen }),
            Err(error) => {
                self.fail(&error);
                before
            }
        };
        took
    }

    fn read(&self, mut source: Source, damaged: bool) -> anyhow::Result<Reading> {
        let status = self.status.clone();
        source.hear = Some(Arc::new(move |event| {
            let Some((step, done, all)) = follow::step(event) else { return };
            let compiling = Some(Compiling { step, done, all });
            status.send_modify(|status| status.compiling = compiling);
        }));
        let global = Global { heal: damaged, ..self.global.clone() };
        source.read(&self.library, &global)
    }

    /// From here on, this one answers.
    fn serve(&self, reading: Reading) -> anyhow::Result<()> {
        let encoder = encoder::of(&reading, &self.library, Requests::Forgotten, &self.global)?;
        let skills = reading.snapshot.len();
        let (generation, stale) = (reading.snapshot.generation(), reading.stale);
        let open = Arc::new(Open { reading, encoder });
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Some(open);
        let status = Status { generation, stale, skills, compiling: None, failed: None };
        if self.database.is_some() && self.status.borrow().failed.is_some() {
            output::say(&self.global, "the database answers again");
        }
        self.status.send_if_modified(|now| {
            let changed = *now != status;
            *now = status;
            changed
        });
        Ok(())
    }

    fn fail(&self, error: &anyhow::Error) {
        let why = plain(&format!("{error:#}")).into_owned();
        if self.status.borrow().failed.as_deref() == Some(&why) {
            return;
        }
        output::note(&self.global, &format!("{why}; the last state answers"));
        self.status.send_modify(|status| {
            status.stale = true;
            status.failed = Some(why);
        });
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `None` where the atlas cannot be read.
fn seen(source: &Source) -> Option<Seen> {
    let head = source.atlas.store().head().ok()?;
    let stamp = if source.roots.is_empty() { None } else { source.stamp() };
    Some(Seen { stamp, head: Version::of(head.as_deref()), kept: source.atlas.mark().ok() })
}
