//! What is a client told when the library changes?
//!
//! That the lists have changed, which of the resources it follows have, and, as far as it wants to hear it, how
//! compiling goes. A client of the stateless protocol listens on a stream of its own; the others are told on
//! the one they have.

#![expect(deprecated, reason = "most clients speak versions of the protocol that have logging")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fingerpost::snapshot::Snapshot;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{Peer, RoleServer, ServiceError, SubscriptionContext};

use super::uri;
use crate::live::{Live, Status};

/// How often a connection is looked at of which nothing is heard.
const LOOK: Duration = Duration::from_secs(5);

/// Resources that one client may follow.
const MAX_FOLLOWED: usize = 1024;

/// What one client wants to hear.
#[derive(Debug)]
pub(crate) struct Session {
    level: Mutex<LoggingLevel>,
    /// The resources it follows, each with the digest of its skill.
    followed: Mutex<BTreeMap<String, Option<String>>>,
}

impl Default for Session {
    fn default() -> Self {
        Self { level: Mutex::new(LoggingLevel::Info), followed: Mutex::default() }
    }
}

impl Session {
    pub(super) fn set_level(&self, level: LoggingLevel) {
        *held(&self.level) = level;
    }

    /// Says no if the client follows too many.
    pub(super) fn follow(&self, live: &Live, uri: &str) -> bool {
        let digest = live.now().and_then(|open| digest(&open.reading.snapshot, uri));
        let mut followed = held(&self.followed);
        if followed.len() >= MAX_FOLLOWED && !followed.contains_key(uri) {
            return false;
        }
        followed.insert(uri.to_owned(), digest);
        true
    }

    pub(super) fn leave(&self, uri: &str) {
        held(&self.followed).remove(uri);
    }

    /// Those that are not what they were.
    fn changed(&self, snapshot: &Snapshot) -> Vec<String> {
        let mut changed = Vec::new();
        for (uri, known) in held(&self.followed).iter_mut() {
            let now = digest(snapshot, uri);
            if now != *known {
                *known = now;
                changed.push(uri.clone());
            }
        }
        changed
    }

    fn wants(&self, level: LoggingLevel) -> bool {
        level as u8 >= *held(&self.level) as u8
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn digest(snapshot: &Snapshot, uri: &str) -> Option<String> {
    uri::find(snapshot, uri).map(|(skill, _)| snapshot.digest(skill))
}

/// Tells a client of every change until it is gone.
pub(super) async fn tell(live: Arc<Live>, session: Arc<Session>, peer: Peer<RoleServer>) {
    let mut status = live.status();
    let mut last = status.borrow_and_update().clone();
    loop {
        let heard = tokio::time::timeout(LOOK, status.changed()).await;
        if peer.is_transport_closed() || matches!(heard, Ok(Err(_))) {
            return;
        }
        let now = status.borrow_and_update().clone();
        if heard.is_err() || now == last {
            continue;
        }
        if tell_once(&live, &session, &peer, (&last, &now)).await.is_err() {
            return;
        }
        last = now;
    }
}

async fn tell_once(
    live: &Live,
    session: &Session,
    peer: &Peer<RoleServer>,
    (last, now): (&Status, &Status),
) -> Result<(), ServiceError> {
    if let Some((level, line)) = line(last, now).filter(|(level, _)| session.wants(*level)) {
        let message = LoggingMessageNotificationParam::new(level, line.into());
        peer.notify_logging_message(message.with_logger("fingerpost")).await?;
    }
    if now.generation == last.generation {
        return Ok(());
    }
    // The description of the search says what the library is about.
    peer.notify_tool_list_changed().await?;
    peer.notify_resource_list_changed().await?;
    let Some(open) = live.now() else { return Ok(()) };
    for uri in session.changed(&open.reading.snapshot) {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

/// Tells on a stream of its own, until the client closes it.
pub(super) async fn listen(live: Arc<Live>, context: SubscriptionContext) {
    let session = Session::default();
    let accepted = context.accepted().clone();
    for uri in accepted.resource_subscriptions.iter().flatten() {
        session.follow(&live, uri);
    }
    let mut status = live.status();
    let mut generation = status.borrow_and_update().generation;
    loop {
        tokio::select! {
            () = context.cancelled() => return,
            heard = status.changed() => if heard.is_err() { return },
        }
        let now = status.borrow_and_update().generation;
        if now == generation {
            continue;
        }
        generation = now;
        let sink = context.sink();
        let mut sent = Ok(());
        if accepted.tools_list_changed == Some(true) {
            sent = sent.and(sink.notify_tool_list_changed().await);
        }
        if accepted.resources_list_changed == Some(true) {
            sent = sent.and(sink.notify_resource_list_changed().await);
        }
        if let Some(open) = live.now() {
            for uri in session.changed(&open.reading.snapshot) {
                sent = sent.and(sink.notify_resource_updated(uri).await);
            }
        }
        if sent.is_err() {
            return;
        }
    }
}

/// What there is to say of a change.
fn line(last: &Status, now: &Status) -> Option<(LoggingLevel, String)> {
    if now.generation != last.generation {
        let skills = crate::output::plural(now.skills, "skill");
        return Some((
            LoggingLevel::Info,
            format!("generation {} answers: {skills}", now.generation),
        ));
    }
    match (&now.failed, &now.compiling) {
        (Some(why), _) if now.failed != last.failed => {
            Some((LoggingLevel::Warning, format!("the library cannot be compiled: {why}")))
        }
        (None, Some(_)) if last.compiling.is_none() => {
            Some((LoggingLevel::Info, "the library is being compiled".to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Compiling;

    #[test]
    fn a_change_is_told_once() {
        let idle = Status { generation: 1, skills: 2, ..Status::default() };
        let writing = |done| {
            let compiling = Some(Compiling { step: "writing", done, all: 2 });
            Status { compiling, ..idle.clone() }
        };
        assert!(line(&idle, &writing(0)).is_some());
        assert_eq!(line(&writing(0), &writing(1)), None, "not of every page");
        let next = Status { generation: 2, ..idle.clone() };
        assert_eq!(line(&writing(1), &next).unwrap().1, "generation 2 answers: 2 skills");
        let failed = Status { failed: Some("it is gone".into()), ..idle.clone() };
        assert_eq!(line(&idle, &failed).unwrap().0, LoggingLevel::Warning);
        assert_eq!(line(&failed, &failed), None);
    }

    #[test]
    fn a_client_hears_what_it_wants_to_hear() {
        let session = Session::default();
        assert!(session.wants(LoggingLevel::Info) && !session.wants(LoggingLevel::Debug));
        session.set_level(LoggingLevel::Error);
        assert!(!session.wants(LoggingLevel::Warning) && session.wants(LoggingLevel::Critical));
    }
}
