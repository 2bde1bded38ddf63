//! Has anything changed since a library was loaded?

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::source::{self, Files};
use super::tree::policy_file;
use super::walk::FirstPaths;
use super::{Findings, Layout, Root};

/// Systems keep the time of a change by their clock's tick, of up to 10 ms: a file that changed
/// within the last tick can change once more and keep size and times.
const TICK: Duration = Duration::from_millis(20);

/// The same for file systems that keep whole seconds, or every other one.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// A digest of the names, sizes and times of everything a library would be loaded from: while it
/// stays the same, nothing needs to be read again.
///
/// Where the system has them, a file's number and the time of its last change of any kind count
/// too, which no program can set back: a text replaced by one of equal size and time is noticed,
/// and so is a change of permissions.
pub fn stamp(roots: &[Root]) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut seen = FirstPaths::default();
    for root in roots {
        let mut names = match source::files(root, &mut seen, &mut Findings::default())? {
            Files::Records(file) => vec![file],
            Files::Documents { paths, .. } => {
                let policies: Vec<PathBuf> =
                    paths.iter().filter_map(|file| policy_file(file)).collect();
                paths.into_iter().chain(policies).collect()
            }
        };
        names.sort();
        // Ids begin at the root: the same files below another one are another library.
        let path = std::path::absolute(&root.path)?;
        hasher.update(path.as_os_str().as_encoded_bytes()).update(&[0]);
        let prefix = root.prefix.as_deref().unwrap_or_default();
        let layout = match root.layout {
            Layout::Detect => 0,
            Layout::Commands => 1,
        };
        hasher.update(&[layout, root.discovered.into(), root.prefix.is_some().into()]);
        hasher.update(&(prefix.len() as u64).to_le_bytes()).update(prefix.as_bytes());
        hasher.update(&(names.len() as u64).to_le_bytes());
        for (name, about) in settled(&names)?.into_iter() {
            hasher.update(std::path::absolute(name)?.as_os_str().as_encoded_bytes());
            hasher.update(&[0]);
            hasher.update(&about.len().to_le_bytes());
            hasher.update(&since_epoch(about.modified()?).as_nanos().to_le_bytes());
            for number in identity(&about) {
                hasher.update(&number.to_le_bytes());
            }
        }
    }
    Ok(hasher.finalize())
}

/// What the system says of each file, after the tick in which the last of them changed.
fn settled(names: &[PathBuf]) -> io::Result<Vec<(&Path, Metadata)>> {
    let about = |name| Ok((name, fs::metadata(name)?));
    let mut files = names
        .iter()
        .map(|name| about(name.as_path()))
        .collect::<io::Result<Vec<(&Path, Metadata)>>>()?;
    let now = since_epoch(SystemTime::now());
    let waits = files.iter().map(|(_, about)| wait(last_change(about), now)).collect::<Vec<_>>();
    let longest = waits.iter().max().copied().unwrap_or_default();
    if !longest.is_zero() {
        std::thread::sleep(longest);
        for (file, _) in files.iter_mut().zip(waits).filter(|(_, wait)| !wait.is_zero()) {
            *file = about(file.0)?;
        }
    }
    Ok(files)
}

/// How long until one more change could not bear the time of this one.
fn wait(changed: Duration, now: Duration) -> Duration {
    let tick = if changed.subsec_nanos() == 0 { COARSE_TICK } else { TICK };
    // A time well ahead of ours is that of another clock, which waiting does not reach.
    if changed > now + tick { Duration::ZERO } else { (changed + tick).saturating_sub(now) }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The file's number, and when its content, name or permissions changed last.
#[cfg(unix)]
fn identity(about: &Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt;
    [about.ino(), about.ctime().cast_unsigned(), about.ctime_nsec().cast_unsigned()]
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> [u64; 0] {
    []
}

#[cfg(unix)]
fn last_change(about: &Metadata) -> Duration {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(about.ctime()).unwrap_or_default();
    Duration::new(seconds, u32::try_from(about.ctime_nsec()).unwrap_or_default())
}

#[cfg(not(unix))]
fn last_change(about: &Metadata) -> Duration {
    about.modified().map(since_epoch).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_just_changed_is_waited_for() {
        let at = Duration::from_nanos;
        let now = at(5_000_000_001);
        // By a clock of nanoseconds: since a while, just now, a little ahead, far ahead.
        assert_eq!(wait(now - TICK, now), Duration::ZERO);
        assert_eq!(wait(now - TICK + at(3), now), at(3));
        assert_eq!(wait(now, now), TICK);
        assert_eq!(wait(now + TICK, now), 2 * TICK);
        assert_eq!(wait(now + TICK + at(1), now), Duration::ZERO);
        // By one of whole seconds.
        assert_eq!(wait(Duration::from_secs(3), now), Duration::ZERO);
        assert_eq!(wait(Duration::from_secs(4), now), at(999_999_999));
        assert_eq!(wait(Duration::ZERO, now), Duration::ZERO);
    }
}
