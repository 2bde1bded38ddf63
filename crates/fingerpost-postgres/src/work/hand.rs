//! What does a worker do?
//!
//! Takes units of the work that is open, a few at a time, until none is left, a limit is reached, or somebody
//! wants an end. What it needs to know of a unit is in the snapshot.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fingerpost::atlas::{Atlas, Ledger, Spent};
use fingerpost::chat::{Chat, ChatError, Price};
use fingerpost::compile::Left;
use fingerpost::page::llm::rows::Unit;
use fingerpost::page::llm::{LlmConfig, LlmWriter, Written, check};
use fingerpost::reply::Tally;
use fingerpost::snapshot::SnapshotError;
use fingerpost::store::StoreError;

use super::desk::Desk;
use super::lease::Lease;
use super::units::Finish;
use super::{Card, Taken, Work};
use crate::Postgres;

/// Units in a row that bring nothing; then the server is down.
const MAX_FAILURES: usize = 3;

/// How long is waited for units that others hold.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// A worker.
pub struct Hand<'a> {
    /// The database.
    pub postgres: &'a Postgres,
    /// The atlas in it.
    pub atlas: &'a Atlas,
    /// What others know it by.
    pub name: &'a str,
    /// For how long a unit is its own without a sign of life.
    pub lease: Duration,
    /// The model.
    pub chat: &'a dyn Chat,
    /// Its address, as it may be written down.
    pub endpoint: &'a str,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// What it was asked already.
    pub ledger: &'a Ledger,
    /// How it is asked.
    pub config: &'a LlmConfig,
    /// Set by whoever wants an end.
    pub cancel: &'a AtomicBool,
    /// Hears what is going on.
    pub on_news: &'a (dyn Fn(News) + Sync),
}

/// What is going on.
#[derive(Debug, Clone, Copy)]
pub struct News {
    /// Units that this worker has ended.
    pub units: usize,
    /// Pages in them.
    pub pages: usize,
    /// What this worker has spent.
    pub spent: Spent,
}

/// What a worker did.
#[derive(Debug, Default)]
pub struct Done {
    /// Units that it ended.
    pub units: usize,
    /// Pages that it wrote.
    pub pages: usize,
    /// Skills that keep their documents.
    pub fallback: usize,
    /// What it spent.
    pub spent: Spent,
    /// What the answers were like.
    pub tally: Tally,
    /// Is nothing left, whoever did it?
    pub all: bool,
    /// What ended it before.
    pub stopped: Option<ChatError>,
}

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the threads of a worker share.
struct Shared<'s> {
    units: &'s BTreeMap<&'s str, &'s Unit<'s>>,
    left: &'s Left,
    done: Mutex<Done>,
    broken: Mutex<Option<WorkError>>,
    failures: AtomicUsize,
    /// No more units are taken.
    end: AtomicBool,
    /// Another snapshot has to be read first.
    is_old: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The units that are left in a snapshot, as they are put up.
pub fn cards(left: &Left, work: &super::Order) -> Vec<Card> {
    let card = |unit: &Unit<'_>| Card {
        key: unit.key.clone(),
        skill: unit.skill().map(ToString::to_string).unwrap_or_default(),
        pages: unit.pages(),
    };
    left.units(&work.writer, work.again).iter().map(card).collect()
}

impl Hand<'_> {
    /// Works until nothing is left to be taken.
    pub fn work(&self, work: &Work) -> Result<Done, WorkError> {
        let mut done = Done::default();
        loop {
            let left = Left::of(self.atlas.snapshot()?)?;
            let units = left.units(&work.order.writer, work.order.again);
            let by_key = units.iter().map(|unit| (unit.key.as_str(), unit)).collect();
            let shared = Shared {
                units: &by_key,
                left: &left,
                done: Mutex::new(done),
                broken: Mutex::default(),
                failures: AtomicUsize::new(0),
                end: AtomicBool::new(false),
                is_old: AtomicBool::new(false),
            };
            let one = || {
                if let Err(error) = self.take_units(work, &shared) {
                    shared.end.store(true, Ordering::Relaxed);
                    lock(&shared.broken).get_or_insert(error);
                }
            };
            let threads = self.config.concurrency.max(1);
            std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(one))));
            let Shared { done: after, broken, is_old, .. } = shared;
            done = after.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some(error) = broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
                return Err(error);
            }
            if !is_old.into_inner() {
                return Ok(done);
            }
        }
    }

    fn take_units(&self, work: &Work, shared: &Shared<'_>) -> Result<(), WorkError> {
        while !shared.end.load(Ordering::Relaxed) {
            if self.cancel.load(Ordering::Relaxed) {
                lock(&shared.done).stopped.get_or_insert(ChatError::Cancelled);
                break;
            }
            match self.postgres.take_unit(work.number, self.name, self.lease)? {
                Taken::Unit(lease) => self.unit(work, &lease, shared)?,
                Taken::None(0) => {
                    lock(&shared.done).all = true;
                    break;
                }
                // Whoever holds them may die.
                Taken::None(_) => std::thread::sleep(LOOK_AGAIN),
                Taken::Closed => break,
            }
        }
        Ok(())
    }

    fn unit(&self, work: &Work, lease: &Lease, shared: &Shared<'_>) -> Result<(), WorkError> {
        let Some(unit) = shared.units.get(lease.unit()) else {
            if self.atlas.snapshot()?.generation() != shared.left.snapshot().generation() {
                shared.is_old.store(true, Ordering::Relaxed);
                shared.end.store(true, Ordering::Relaxed);
            } else {
                // Its skills, or what is wanted of them, are others by now.
                lease.end(None, Some(Finish::default()))?;
            }
            return Ok(());
        };
        let desk = Desk {
            chat: self.chat,
            ledger: self.ledger,
            endpoint: self.endpoint,
            price: self.price,
            lease,
            cancel: self.cancel,
            state: Mutex::default(),
        };
        let config = LlmConfig { concurrency: 1, ..self.config.clone() };
        let writer = LlmWriter { chat: &desk, config: &config, check: &check, cancel: self.cancel };
        let outcome = writer.write(std::slice::from_ref(&unit.work), &|_, _| ());
        let written = outcome.written.into_iter().next().unwrap_or_default();
        let pending = written.contains(&Written::Pending);
        let kept = shared.left.kept(unit, &written, &work.order.writer);
        let pages = kept.iter().filter(|page| page.page.is_some()).count();
        let finish = Finish {
            written: i32::try_from(pages).unwrap_or(i32::MAX),
            fallback: i32::try_from(kept.len() - pages).unwrap_or(i32::MAX),
            pages: kept.iter().map(|page| serde_json::to_vec(page).expect("plain data")).collect(),
        };
        // Of a unit that is not done nothing is kept but the answers: they are in the ledger.
        let is_ours = desk.settle((!pending).then_some(finish));
        let state = desk.state();
        let mut done = lock(&shared.done);
        done.spent = sum(done.spent, state.spent);
        done.tally += outcome.tally;
        if let Some(stopped) = outcome.stopped {
            shared.end.store(true, Ordering::Relaxed);
            done.stopped.get_or_insert(stopped);
        }
        if !is_ours? {
            return Ok(());
        }
        if pending {
            let failures = shared.failures.fetch_add(1, Ordering::Relaxed) + 1;
            if failures >= MAX_FAILURES {
                shared.end.store(true, Ordering::Relaxed);
                done.stopped = done.stopped.take().or_else(|| state.trouble.clone());
            }
            return Ok(());
        }
        shared.failures.store(0, Ordering::Relaxed);
        done.units += 1;
        done.pages += pages;
        done.fallback += kept.len() - pages;
        let news = News { units: done.units, pages: done.pages + done.fallback, spent: done.spent };
        drop(done);
        (self.on_news)(news);
        Ok(())
    }
}

fn sum(one: Spent, two: Spent) -> Spent {
    let mut usage = one.usage;
    usage += two.usage;
    Spent {
        calls: one.calls + two.calls,
        failed: one.failed + two.failed,
        requests: one.requests + two.requests,
        lost: one.lost + two.lost,
        at_risk: one.at_risk + two.at_risk,
        known: one.known + two.known,
        usage,
        cost: one.cost + two.cost,
    }
}
