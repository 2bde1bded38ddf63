//! When may the files of a library have changed?
//!
//! The system tells; where it cannot (too many folders, a file system without it), the snapshot that is
//! kept new looks by itself now and then, as it always does. Editors write a file in several steps: a new one
//! beside it, a rename, a truncation. So it is waited until it is quiet. A folder that was replaced by another one of
//! its name is watched anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::live::Live;

/// After so long without news it is quiet.
const QUIET: Duration = Duration::from_millis(200);

/// Whoever writes without end is not waited for longer.
const LONGEST: Duration = Duration::from_secs(2);

/// How often it is looked whether the folders are still those that are watched.
const LOOK: Duration = Duration::from_secs(2);

/// Folders whose files are no skills: our own among them, which change whenever we compile.
const IGNORED: [&str; 3] = [".fingerpost", ".git", "node_modules"];

/// Wakes the snapshot whenever its library may have changed, for as long as it is polled.
pub(crate) async fn wake_on_change(live: Arc<Live>) {
    let roots = roots(&live).await;
    let (send, mut news) = unbounded_channel();
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if !event.is_ok_and(|event| !matters(&event)) {
            // The other end is gone when nobody wants to know any more.
            let _ = send.send(());
        }
    });
    let Ok(watcher) = watcher else { return };
    let mut eyes = Eyes { watcher, watched: BTreeMap::new() };
    eyes.open(&roots);
    loop {
        match timeout(LOOK, news.recv()).await {
            Ok(None) => return,
            Ok(Some(())) => wait_for_quiet(&mut news).await,
            // Nothing was told, and the folders may have been replaced all the same.
            Err(_) if !eyes.are_stale(&roots) => continue,
            Err(_) => {}
        }
        eyes.open(&roots);
        live.wake();
    }
}

/// Where the skills are, as soon as the library has been read.
async fn roots(live: &Live) -> Vec<PathBuf> {
    loop {
        if let Some(open) = live.now() {
            return open.reading.source.roots.iter().map(|root| root.path.clone()).collect();
        }
        sleep(QUIET).await;
    }
}

async fn wait_for_quiet(news: &mut UnboundedReceiver<()>) {
    let until = Instant::now() + LONGEST;
    while let Ok(Some(())) = timeout_at(until.min(Instant::now() + QUIET), news.recv()).await {
        if Instant::now() >= until {
            return;
        }
    }
}

/// Could it be about a skill?
fn matters(event: &Event) -> bool {
    let is_change = match event.kind {
        // Reading is none, or our own looking would wake us.
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    let is_ignored = |path: &PathBuf| {
        path.components().any(|part| IGNORED.iter().any(|name| part.as_os_str() == *name))
    };
    is_change && (event.paths.is_empty() || !event.paths.iter().all(is_ignored))
}

/// What is watched.
struct Eyes {
    watcher: RecommendedWatcher,
    /// Each folder, as which it is known to the system.
    watched: BTreeMap<PathBuf, Identity>,
}

/// Tells a folder from another one that took its name.
type Identity = Option<(u64, u64)>;

impl Eyes {
    /// Watches every root, anew where it is not the folder that it was.
    fn open(&mut self, roots: &[PathBuf]) {
        for (path, mode) in targets(roots) {
            let now = identity(&path);
            if self.watched.get(&path) == Some(&now) {
                continue;
            }
            // It may be gone already.
            let _ = self.watcher.unwatch(&path);
            // What cannot be watched is looked at now and then.
            let _ = now.map(|_| self.watcher.watch(&path, mode));
            self.watched.insert(path, now);
        }
    }

    fn are_stale(&self, roots: &[PathBuf]) -> bool {
        targets(roots).iter().any(|(path, _)| self.watched.get(path) != Some(&identity(path)))
    }
}

/// What to watch: a folder with all below it; of a file the folder, since it is replaced and not written. The
/// folder that a root lies in tells when the root itself is moved.
fn targets(roots: &[PathBuf]) -> Vec<(PathBuf, RecursiveMode)> {
    let mut targets = BTreeMap::new();
    for root in roots {
        if let Some(parent) = root.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            targets.entry(parent.to_path_buf()).or_insert(RecursiveMode::NonRecursive);
        }
        if !root.is_file() {
            targets.insert(root.clone(), RecursiveMode::Recursive);
        }
    }
    targets.into_iter().collect()
}

#[cfg(unix)]
fn identity(path: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Identity {
    path.exists().then_some((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, ModifyKind};

    fn event(kind: EventKind, paths: &[&str]) -> Event {
        paths.iter().fold(Event::new(kind), |event, path| event.add_path(PathBuf::from(path)))
    }

    #[test]
    fn what_we_write_and_read_ourselves_wakes_nobody() {
        let modified = EventKind::Modify(ModifyKind::Any);
        assert!(matters(&event(modified, &["/l/a/SKILL.md"])));
        assert!(matters(&event(
            EventKind::Create(CreateKind::Any),
            &["/l/a/.fingerpost/x", "/l/b"]
        )));
        assert!(matters(&event(
            EventKind::Access(AccessKind::Close(AccessMode::Write)),
            &["/l/a"]
        )));
        assert!(matters(&event(modified, &[])), "something was missed");
        assert!(!matters(&event(modified, &["/l/.fingerpost/head"])));
        assert!(!matters(&event(modified, &["/l/.git/index"])));
        assert!(!matters(&event(EventKind::Access(AccessKind::Open(AccessMode::Any)), &["/l/a"])));
    }

    #[test]
    fn a_root_is_watched_with_what_it_lies_in() {
        let folder = tempfile::tempdir().unwrap();
        let (root, file) = (folder.path().join("skills"), folder.path().join("records.jsonl"));
        std::fs::create_dir(&root).unwrap();
        std::fs::write(&file, "").unwrap();
        let of = targets(&[root.clone(), file]);
        let expected = [
            (folder.path().to_path_buf(), RecursiveMode::NonRecursive),
            (root, RecursiveMode::Recursive),
        ];
        assert_eq!(of, expected);
    }
}
