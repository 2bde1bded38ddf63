//! How does a worker hold a unit?
//!
//! While it lives, signs of life are given beside the work; dropped, the unit is free again. Whoever was away
//! for longer than the lease learns at the next step that the unit is somebody else's.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use fingerpost::store::StoreError;

use super::units::{self, Beginning, Begun, End, Finish, Found, Hold};
use super::{Card, Order, Taken, Work, WorkStatus, status, tables};
use crate::Postgres;
use crate::connection::{ANSWER_WITHIN, Again, Connection};
use crate::schema::For;
use crate::store::token;
use crate::trouble::Trouble;

/// Signs of life in the time of a lease.
const BEATS: u32 = 4;

/// What giving back may take; after that the lease runs out by itself.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(2);

/// A unit that is ours for a while.
pub struct Lease {
    postgres: Postgres,
    hold: Arc<Hold>,
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({})", self.unit())
    }
}

impl Postgres {
    /// Puts work up for all workers. The caller holds the claim of compiling.
    pub fn put_up(&self, order: &Order, units: &[Card]) -> Result<Work, StoreError> {
        let (sent, cards) = (order.clone(), Arc::new(units.to_vec()));
        let what = ("put up", "the units of work");
        let number = self.order(Again::Harmless, what, ANSWER_WITHIN, {
            move |client, schema, atlas| {
                let (order, cards) = (sent.clone(), Arc::clone(&cards));
                Box::pin(async move { tables::put_up(client, schema, atlas, &order, &cards).await })
            }
        })?;
        Ok(Work { number, order: order.clone() })
    }

    /// The work that is open.
    pub fn work(&self) -> Result<Option<Work>, StoreError> {
        let what = ("look for", "work");
        let work = self.ask(For::Reading, Again::Harmless, what, ANSWER_WITHIN, {
            |client, schema, atlas| Box::pin(tables::open(client, schema, atlas))
        })?;
        Ok(work.flatten())
    }

    /// Closes work: no unit of it is taken any more.
    pub fn close_work(&self, number: i64) -> Result<(), StoreError> {
        self.order(Again::Harmless, ("close", "the work"), ANSWER_WITHIN, {
            move |client, schema, atlas| Box::pin(tables::close(client, schema, atlas, number))
        })
    }

    /// Takes a unit that nobody holds.
    pub fn take_unit(&self, work: i64, worker: &str, lease: Duration) -> Result<Taken, StoreError> {
        let (token, seconds, name) = (token()?, lease.as_secs_f64(), worker.to_owned());
        let what = ("take", "a unit of work");
        let (atlas, found) = self.order(Again::Harmless, what, ANSWER_WITHIN, {
            let name = name.clone();
            move |client, schema, atlas| {
                let name = name.clone();
                Box::pin(async move {
                    let of = (work, name.as_str());
                    let found = units::take(client, schema, atlas, of, token, seconds).await?;
                    Ok((atlas, found))
                })
            }
        })?;
        Ok(match found {
            Found::Closed => Taken::Closed,
            Found::None(left) => Taken::None(left),
            Found::Unit(unit) => {
                let hold = Hold { atlas, work, unit, token, worker: name, lease: seconds };
                Taken::Unit(Lease::new(self.clone(), hold))
            }
        })
    }

    /// How the work stands that is open, or was open last.
    pub fn work_status(&self) -> Result<Option<WorkStatus>, StoreError> {
        let what = ("look at", "the work");
        let status = self.ask(For::Reading, Again::Harmless, what, ANSWER_WITHIN, {
            |client, schema, atlas| Box::pin(status::status(client, schema, atlas))
        })?;
        Ok(status.flatten())
    }
}

impl Lease {
    fn new(postgres: Postgres, hold: Hold) -> Self {
        let hold = Arc::new(hold);
        let connection = &postgres.inner.connection;
        // The task keeps nothing alive.
        let (way, weak) = (Arc::downgrade(connection), Arc::downgrade(&hold));
        let pause = Duration::from_secs_f64(hold.lease) / BEATS;
        connection.spawn(async move {
            loop {
                tokio::time::sleep(pause.max(Duration::from_millis(50))).await;
                // A beat that does not come through is tried at the next one: the lease bears a few.
                if matches!(beat(&way, &weak).await, Some(Ok(false)) | None) {
                    return;
                }
            }
        });
        Self { postgres, hold }
    }

    /// By which any machine finds what it is.
    pub fn unit(&self) -> &str {
        &self.hold.unit
    }

    /// Books a request before it is sent.
    pub(super) fn begin(&self, beginning: &Beginning) -> Result<Begun, StoreError> {
        let (hold, beginning) = (Arc::clone(&self.hold), Arc::new(beginning.clone()));
        let what = ("book", "a call");
        self.postgres.order(Again::Harmless, what, ANSWER_WITHIN, move |client, schema, _| {
            let (hold, beginning) = (Arc::clone(&hold), Arc::clone(&beginning));
            Box::pin(async move { units::begin(client, schema, &hold, &beginning).await })
        })
    }

    /// Books the end of a request and of the unit; false if the unit is somebody else's by now.
    pub(super) fn end(
        &self,
        ended: Option<(String, End)>,
        finish: Option<Finish>,
    ) -> Result<bool, StoreError> {
        let (hold, ending) = (Arc::clone(&self.hold), Arc::new((ended, finish)));
        let what = ("book the end of", "a call");
        self.postgres.order(Again::Harmless, what, ANSWER_WITHIN, move |client, schema, _| {
            let (hold, ending) = (Arc::clone(&hold), Arc::clone(&ending));
            Box::pin(async move {
                let (ended, finish) = &*ending;
                units::end(client, schema, &hold, ended.as_ref(), finish.as_ref()).await
            })
        })
    }
}

/// `None` once the unit is given back; false once somebody else has it.
async fn beat(connection: &Weak<Connection>, hold: &Weak<Hold>) -> Option<Result<bool, Trouble>> {
    let connection = connection.upgrade()?;
    let hold = hold.upgrade()?;
    let renewed = async {
        let client = connection.client().await?;
        units::renew(&client, connection.schema(), &hold).await
    };
    let limited = tokio::time::timeout(Duration::from_secs_f64(hold.lease), renewed).await;
    Some(limited.unwrap_or(Err(Trouble::Silent(hold.lease as u64))))
}

impl Drop for Lease {
    fn drop(&mut self) {
        let connection = Arc::clone(&self.postgres.inner.connection);
        let hold = Arc::clone(&self.hold);
        self.postgres.inner.connection.wait(async move {
            let give_back = async {
                let client = connection.client().await?;
                units::give_back(&client, connection.schema(), &hold).await
            };
            // Whatever comes of it: the lease runs out by itself.
            let _ = tokio::time::timeout(GIVEN_BACK_WITHIN, give_back).await;
        });
    }
}
