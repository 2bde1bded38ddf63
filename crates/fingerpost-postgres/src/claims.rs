//! How is work done by one at a time, on any number of machines?
//!
//! A claim is a row that holds until a moment by the server's clock. While its holder lives it is renewed; who
//! dies, or is cut off, loses it soon. Whoever comes back late takes nothing away: the row has another token.

use std::sync::{Arc, Weak};
use std::time::Duration;

use deadpool_postgres::Object;

use crate::connection::Connection;
use crate::trouble::Trouble;

/// A claim whose holder gives no sign of life is anybody's after this long.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// Signs of life in that time.
const BEATS: u32 = 4;

/// What giving back may take; after that the lease runs out by itself.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(2);

/// A claim that we have.
pub(crate) struct Row {
    pub(crate) schema: String,
    pub(crate) atlas: i32,
    pub(crate) work: String,
    pub(crate) token: [u8; 16],
    pub(crate) lease: Duration,
}

/// Gives signs of life for a claim until dropped, and then gives it back.
pub(crate) struct Held {
    connection: Arc<Connection>,
    row: Arc<Row>,
}

/// Who holds a claim, as others are told.
pub fn holder() -> String {
    format!("process {} on {}", std::process::id(), host())
}

/// What this machine is called.
fn host() -> String {
    let file = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let variable = || ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let name = file.or_else(variable).unwrap_or_default();
    match name.trim() {
        "" => "a machine without a name".into(),
        name => name.chars().take(100).collect(),
    }
}

/// Takes a claim; otherwise says who has it. Asked again after a lost connection, what was taken is taken.
pub(crate) async fn take(
    client: &Object,
    schema: &str,
    atlas: i32,
    work: &str,
    token: [u8; 16],
    lease: Duration,
) -> Result<Result<(), Option<String>>, Trouble> {
    let take = format!(
        "INSERT INTO {schema}.claim AS claim (atlas, work, token, holder, until)
         VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 second')
         ON CONFLICT (atlas, work) DO UPDATE
         SET token = EXCLUDED.token, holder = EXCLUDED.holder, until = EXCLUDED.until
         WHERE claim.until <= clock_timestamp() OR claim.token = EXCLUDED.token"
    );
    let seconds = lease.as_secs_f64();
    let taken = client.execute(&take, &[&atlas, &work, &&token[..], &holder(), &seconds]).await?;
    if taken > 0 {
        return Ok(Ok(()));
    }
    let by = format!("SELECT holder FROM {schema}.claim WHERE atlas = $1 AND work = $2");
    let by = client.query_opt(&by, &[&atlas, &work]).await?;
    Ok(Err(by.map(|row| row.get(0))))
}

impl Held {
    /// From here on, signs of life are given.
    pub(crate) fn new(connection: Arc<Connection>, row: Row) -> Self {
        let row = Arc::new(row);
        // The task keeps nothing alive: neither the claim, nor the connection whose threads it runs on.
        let (way, claim) = (Arc::downgrade(&connection), Arc::downgrade(&row));
        let pause = (row.lease / BEATS).max(Duration::from_millis(50));
        connection.spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                // A beat that does not come through is tried at the next one: the lease bears a few.
                if matches!(renew(&way, &claim).await, Some(Ok(false)) | None) {
                    return;
                }
            }
        });
        Self { connection, row }
    }
}

/// `None` once the claim is given back; false once somebody else has it.
async fn renew(connection: &Weak<Connection>, row: &Weak<Row>) -> Option<Result<bool, Trouble>> {
    let connection = connection.upgrade()?;
    let row = row.upgrade()?;
    let Row { schema, atlas, work, token, lease } = &*row;
    let renewed = async {
        let client = connection.client().await?;
        let renew = format!(
            "UPDATE {schema}.claim SET until = clock_timestamp() + $4 * interval '1 second'
             WHERE atlas = $1 AND work = $2 AND token = $3"
        );
        let seconds = lease.as_secs_f64();
        Ok(client.execute(&renew, &[atlas, work, &&token[..], &seconds]).await? > 0)
    };
    let limited = tokio::time::timeout(*lease, renewed).await;
    Some(limited.unwrap_or(Err(Trouble::Silent(lease.as_secs()))))
}

impl Drop for Held {
    fn drop(&mut self) {
        let (connection, row) = (Arc::clone(&self.connection), Arc::clone(&self.row));
        self.connection.wait(async move {
            let give_back = async {
                let Row { schema, atlas, work, token, .. } = &*row;
                let client = connection.client().await?;
                let drop = format!(
                    "DELETE FROM {schema}.claim WHERE atlas = $1 AND work = $2 AND token = $3"
                );
                client.execute(&drop, &[atlas, work, &&token[..]]).await?;
                Ok::<_, Trouble>(())
            };
            // Whatever comes of it: the lease runs out by itself.
            let _ = tokio::time::timeout(GIVEN_BACK_WITHIN, give_back).await;
        });
    }
}
