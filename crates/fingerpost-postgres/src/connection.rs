//! How is the database reached, from threads that know nothing of async?
//!
//! A store has two threads of its own on which everything is asked; whoever calls waits for the answer.
//! What passes (a lost connection, a server that starts) is tried again where that does no harm, until the
//! server has been away for as long as we are patient; after that every call fails at once, until it is back.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolConfig, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use fingerpost::store::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::Address;
use crate::tls::{TlsError, connector};
use crate::trouble::Trouble;

/// Connections of one store at most; each node of many has as many.
const CONNECTIONS: usize = 6;

/// How long the server may be away before a call fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The same where it never was there: the address is more likely wrong.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);

/// Pauses between tries.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What may take this long: anything but moving many bytes.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A way to the database.
pub(crate) struct Connection {
    pub(crate) address: Address,
    pub(crate) tls: MakeRustlsConnect,
    /// In quotes: the name may be a word of SQL.
    schema: String,
    pool: Pool,
    runtime: Option<tokio::runtime::Runtime>,
    contact: Arc<Contact>,
}

/// Is the database there?
#[derive(Debug, Default)]
pub(crate) struct Contact {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    /// It was there once.
    ever: bool,
    lost: Option<(Instant, String)>,
}

impl Contact {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It answered.
    pub(crate) fn is_there(&self) {
        *self.inside() = Inside { ever: true, lost: None };
    }

    /// It said that it does not serve now.
    fn is_closed(&self) {
        self.inside().ever = true;
    }

    /// It did not.
    pub(crate) fn is_lost(&self, why: &str) {
        let mut inside = self.inside();
        if inside.lost.is_none() {
            inside.lost = Some((Instant::now(), why.to_owned()));
        }
    }

    /// Since when, and why, it is away.
    pub(crate) fn away(&self) -> Option<(Duration, String)> {
        let lost = self.inside().lost.clone();
        lost.map(|(since, why)| (since.elapsed(), why))
    }

    /// Until when another try is worth it.
    fn is_worth_another_try(&self) -> bool {
        let inside = self.inside();
        let patience = if inside.ever { PATIENCE } else { FIRST_PATIENCE };
        inside.lost.as_ref().is_none_or(|(since, _)| since.elapsed() < patience)
    }
}

/// Is it harmless to ask again, if it is not known what became of the first time?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Harmless,
    Never,
}

impl Connection {
    /// Nothing is connected yet.
    pub(crate) fn new(address: Address) -> Result<Self, TlsError> {
        let tls = connector(&address)?;
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), tls.clone(), config);
        let timeouts = Timeouts {
            wait: Some(ANSWER_WITHIN),
            create: Some(Duration::from_secs(10)),
            recycle: Some(Duration::from_secs(10)),
        };
        let pooled = PoolConfig { max_size: CONNECTIONS, timeouts, queue_mode: QueueMode::Fifo };
        let pool = Pool::builder(manager).config(pooled).runtime(Runtime::Tokio1).build();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("postgres")
            .enable_all()
            .build()
            .expect("two threads can be started");
        Ok(Self {
            schema: format!("\"{}\"", address.schema),
            address,
            tls,
            pool: pool.expect("a runtime is named"),
            runtime: Some(runtime),
            contact: Arc::default(),
        })
    }

    /// The schema, as SQL has it.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Is the database there?
    pub(crate) fn contact(&self) -> &Arc<Contact> {
        &self.contact
    }

    /// A connection of the pool.
    pub(crate) async fn client(&self) -> Result<Object, Trouble> {
        Ok(self.pool.get().await?)
    }

    /// Goes on beside us.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime().spawn(work);
    }

    fn runtime(&self) -> &tokio::runtime::Runtime {
        self.runtime.as_ref().expect("it ends with us")
    }

    /// Waits for work; whoever calls may be anywhere, on a thread of another runtime too.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (tell, told) = mpsc::sync_channel(1);
        self.runtime().spawn(async move {
            let _ = tell.send(work.await);
        });
        told.recv().expect("the work ends by itself")
    }

    /// Asks, again if need be; `subject` and `action` say what for.
    pub(crate) fn ask<T, F>(
        &self,
        again: Again,
        (action, subject): (&'static str, &str),
        within: Duration,
        question: impl Fn() -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Trouble>> + Send + 'static,
    {
        let mut pause = FIRST_PAUSE;
        loop {
            let question = question();
            let answer = self.wait(async move {
                let limited = tokio::time::timeout(within, question).await;
                limited.unwrap_or(Err(Trouble::Silent(within.as_secs())))
            });
            let trouble = match answer {
                Ok(answer) => {
                    self.contact.is_there();
                    return Ok(answer);
                }
                Err(trouble) => trouble,
            };
            if trouble.is_answer() {
                self.contact.is_there();
            } else if trouble.passes() {
                if trouble.is_said() {
                    self.contact.is_closed();
                }
                self.contact.is_lost(&trouble.to_string());
            }
            let worth = trouble.passes() && self.contact.is_worth_another_try();
            if again == Again::Never || !worth {
                let subject = format!("{subject} of {}", self.address);
                return Err(StoreError::failed(action, subject, trouble.into_io()));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Wherever the last of us is dropped, nothing may be waited for.
            runtime.shutdown_background();
        }
    }
}
