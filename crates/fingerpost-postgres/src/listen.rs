//! Who is told as soon as another head counts, or the database goes or comes back?
//!
//! One connection that does nothing but listen. Where it is lost, it is made again, and whoever listens is
//! told: something may have been missed. Where a replica, or a proxy between us and the database, sends no
//! notifications, looking now and then finds what was missed.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client};

use crate::connection::Connection;
use crate::heads::{self, CHANNEL};
use crate::trouble::Trouble;

/// Pauses between tries to connect.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often the connection is asked for a sign of life, and how long that may take.
const PULSE: Duration = Duration::from_secs(5);

/// What a connection may take to come about.
const OPEN_WITHIN: Duration = Duration::from_secs(10);

/// Whoever is told.
pub(crate) type Hear = Box<dyn Fn() + Send + Sync>;

/// Listens until the store is no more.
pub(crate) async fn listen(store: Weak<Connection>, hear: Hear) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(connection) = store.upgrade() else { return };
        let contact = Arc::clone(connection.contact());
        let opened = tokio::time::timeout(OPEN_WITHIN, open(&connection)).await;
        let opened = opened.unwrap_or(Err(Trouble::Silent(OPEN_WITHIN.as_secs())));
        let wanted = heads::told(connection.schema(), &connection.address.atlas);
        drop(connection);
        match opened {
            Err(trouble) => contact.is_lost(&trouble.to_string()),
            Ok(mut open) => {
                contact.is_there();
                pause = FIRST_PAUSE;
                // Whatever came before we listened.
                hear();
                let Some(lost) = open.hear(&store, &wanted, &hear).await else { return };
                contact.is_lost(&lost.to_string());
                hear();
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// A connection that listens.
struct Open {
    /// The connection is closed when this is dropped.
    client: Client,
    messages: mpsc::UnboundedReceiver<Result<AsyncMessage, tokio_postgres::Error>>,
}

async fn open(connection: &Connection) -> Result<Open, Trouble> {
    let config = &connection.address.config;
    let (client, mut way) = config.connect(connection.tls.clone()).await?;
    let (send, messages) = mpsc::unbounded_channel();
    // Ends when the client is dropped, or the connection is lost.
    tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| way.poll_message(context)).await {
            if send.send(message).is_err() {
                return;
            }
        }
    });
    match client.batch_execute(&format!("LISTEN {CHANNEL}")).await {
        Ok(()) => {}
        // A replica tells no news. The connection still tells when it is lost.
        Err(error) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(Open { client, messages })
}

impl Open {
    /// Hears until the connection is lost, and says why; `None` if the store is no more.
    async fn hear(
        &mut self,
        store: &Weak<Connection>,
        wanted: &str,
        hear: &Hear,
    ) -> Option<Trouble> {
        loop {
            tokio::select! {
                message = self.messages.recv() => match message {
                    Some(Ok(AsyncMessage::Notification(told))) if told.payload() == wanted => hear(),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Some(error.into()),
                    None => return Some(Trouble::NoConnection),
                },
                () = tokio::time::sleep(PULSE) => {
                    let store = store.upgrade()?;
                    let alive = tokio::time::timeout(PULSE, self.client.batch_execute("")).await;
                    match alive {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => return Some(error.into()),
                        Err(_) => return Some(Trouble::Silent(PULSE.as_secs())),
                    }
                    // Another connection was lost, or found the server too busy: it is there all the same.
                    if store.contact().away().is_some() {
                        store.contact().is_there();
                        hear();
                    }
                }
            }
        }
    }
}
