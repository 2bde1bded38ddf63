//! Do the folder and memory keep what they are given?
//!
//! What holds for every store is in `contract.rs`; here is what only these two do.

mod contract;

use std::sync::Arc;
use std::time::Duration;

use fingerpost::store::{Folder, Log, Memory, Store, Version};
use tempfile::TempDir;

const LEASE: Duration = Duration::from_secs(60);

/// A store of each kind, and what must live as long.
fn stores() -> Vec<(Arc<dyn Store>, Option<TempDir>)> {
    let one = tempfile::tempdir().unwrap();
    let two = tempfile::tempdir().unwrap();
    let (made, kept) = (two.path().join("cache"), two.path().join("data/kept"));
    vec![
        (Arc::new(Memory::new()), None),
        (Arc::new(Folder::at(one.path().join("atlas"))), Some(one)),
        (Arc::new(Folder::in_two(made, kept)), Some(two)),
    ]
}

#[test]
fn a_lease_that_ran_out_is_anybodys() {
    let store = Memory::new();
    let late = store.claim("compile", Duration::ZERO).unwrap();
    let claim = store.claim("compile", LEASE).unwrap();
    // Whoever comes back late takes nothing away.
    drop(late);
    assert!(store.claim("compile", LEASE).is_err());
    drop(claim);
    assert!(store.claim("compile", LEASE).is_ok());
}

/// A link in an atlas that came with a repository leads to nothing of the user's.
#[cfg(unix)]
#[test]
fn a_link_in_a_strangers_atlas_changes_nothing_elsewhere() {
    use std::fs;
    use std::os::unix::fs::symlink;
    for link in ["claims/compile", "kept/pages.log", "kept/lock", "lock", "blobs", "claims"] {
        let folder = tempfile::tempdir().unwrap();
        let (atlas, mine) = (folder.path().join("atlas"), folder.path().join("mine"));
        fs::create_dir_all(mine.join("inside")).unwrap();
        fs::write(mine.join("precious"), "my words").unwrap();
        let to = if link.contains('/') || link == "lock" { "precious" } else { "inside" };
        let path = atlas.join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(mine.join(to), &path).unwrap();
        let store = Folder::at(&atlas);
        // Refused, or the link itself is replaced: either is well.
        let _ = store.claim("compile", LEASE);
        let _ = store.append(Log::Pages, &[b"{}".to_vec()]);
        let _ = store.commit(Version::of(None), b"head");
        let _ = store.put("terms-1", b"bytes");
        let _ = store.rewrite(Log::Pages, &mut |_| false);
        assert_eq!(fs::read(mine.join("precious")).unwrap(), b"my words", "{link}");
        assert_eq!(fs::read_dir(mine.join("inside")).unwrap().count(), 0, "{link}");
    }
}
