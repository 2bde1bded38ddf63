//! What happens while the database is away?
//!
//! Each test has a server of its own, which it ends as if the machine had failed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fingerpost::store::{Log, Store, Version};

use crate::real::server::{Server, Stop};
use crate::real::{self, fresh_schema};

/// A server that is gone with the test.
struct Mine(Server);

impl Mine {
    fn start() -> Option<Self> {
        real::private().map(Self)
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        self.0.remove();
    }
}

const LEASE: Duration = Duration::from_secs(60);

#[test]
fn a_crash_of_the_server_loses_nothing_and_nothing_comes_twice() {
    let Some(server) = Mine::start() else { return };
    let (cache, schema) = (tempfile::tempdir().unwrap(), fresh_schema());
    let store = real::store(&server.0.url(), &schema, cache.path().into());
    store.append(Log::Ledger, &[b"first".to_vec()]).unwrap();
    let appended = AtomicUsize::new(0);
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n >> 5) as u8).collect();
    thread::scope(|scope| {
        for by in 0..3 {
            let (store, appended) = (&store, &appended);
            scope.spawn(move || {
                for n in 0..200 {
                    store.append(Log::Ledger, &[format!("{by} {n}").into_bytes()]).unwrap();
                    appended.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (store, bytes) = (&store, &bytes);
        scope.spawn(move || {
            for n in 0..8_u8 {
                let head = [n];
                let before = n.checked_sub(1).map(|n| [n]);
                let version = Version::of(before.as_ref().map(<[u8; 1]>::as_slice));
                store.commit(version, &head).unwrap();
                store.put(&format!("terms-{n}"), &[&head[..], bytes].concat()).unwrap();
            }
        });
        for at in [60, 250] {
            while appended.load(Ordering::Relaxed) < at {
                thread::sleep(Duration::from_millis(2));
            }
            server.0.stop(Stop::Immediate).unwrap();
            server.0.begin().unwrap();
        }
    });
    let records = store.records(Log::Ledger, 0).unwrap().records;
    assert_eq!(records.len(), 601);
    assert_eq!(records.iter().map(|record| &record.bytes).collect::<BTreeSet<_>>().len(), 601);
    assert!(records.is_sorted_by(|a, b| a.number < b.number));
    assert_eq!(store.head().unwrap().unwrap(), [7]);
    let other = tempfile::tempdir().unwrap();
    let elsewhere = real::store(&server.0.url(), &schema, other.path().into());
    for n in 0..8_u8 {
        let blob = elsewhere.get(&format!("terms-{n}")).unwrap().unwrap();
        assert!(blob[0] == n && blob[1..] == bytes[..]);
    }
}

#[test]
fn who_listens_hears_that_the_database_goes_and_comes_back() {
    let Some(server) = Mine::start() else { return };
    let (cache, schema) = (tempfile::tempdir().unwrap(), fresh_schema());
    let store = real::store(&server.0.url(), &schema, cache.path().into());
    store.commit(Version::of(None), b"head").unwrap();
    let (tell, told) = mpsc::channel();
    store.listen(move || tell.send(()).unwrap_or_default());
    told.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(store.away(), None);
    let claim = store.claim("compile", LEASE).unwrap();
    server.0.stop(Stop::Immediate).unwrap();
    told.recv_timeout(Duration::from_secs(5)).unwrap();
    let away = store.away().unwrap();
    assert!(!away.why.is_empty());
    server.0.begin().unwrap();
    told.recv_timeout(Duration::from_secs(10)).unwrap();
    assert_eq!(store.away(), None);
    assert_eq!(store.head().unwrap().unwrap(), b"head");
    let again = store.claim("compile", LEASE);
    assert!(again.is_err(), "whoever had a claim has it still");
    drop(claim);
    store.claim("compile", LEASE).unwrap();
}

#[test]
fn an_address_that_never_worked_is_told_at_once() {
    let cache = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://me:secret@127.0.0.1:{free}/none");
    let store = real::store(&url, "none", cache.path().into());
    let begun = Instant::now();
    let error = store.head().unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5));
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(error.to_string().contains(&format!("127.0.0.1:{free}")), "{error}");
    assert!(why.contains("refused"), "{why}");
    assert!(!format!("{error} {why} {error:?} {store}", store = store.name()).contains("secret"));
}

#[test]
fn a_wrong_password_is_told_and_not_repeated() {
    let Some(url) = real::url() else { return };
    let (_, place) = url.split_once('@').unwrap();
    let cache = tempfile::tempdir().unwrap();
    let store =
        real::store(&format!("postgres://nobody:secret@{place}"), "none", cache.path().into());
    let error = store.head().unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("28P01"), "{why}");
    assert!(!format!("{error:?} {why}").contains("secret"));
}

/// Reads need nothing that a replica does not give; what would write is refused as where nothing may be written.
#[test]
fn a_replica_takes_reads() {
    let Some(server) = Mine::start() else { return };
    let (cache, schema) = (tempfile::tempdir().unwrap(), fresh_schema());
    let store = real::store(&server.0.url(), &schema, cache.path().join("one"));
    store.put("terms-1", &[7; 1_000_000]).unwrap();
    store.append(Log::Pages, &[b"{}".to_vec()]).unwrap();
    store.commit(Version::of(None), b"first").unwrap();
    let replica = Mine(server.0.replica().unwrap());
    let reader = real::store(&replica.0.url(), &schema, cache.path().join("two"));
    let (tell, told) = mpsc::channel();
    reader.listen(move || tell.send(()).unwrap_or_default());
    told.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(reader.away(), None);
    assert_eq!(&reader.get("terms-1").unwrap().unwrap()[..], &[7; 1_000_000]);
    assert_eq!(reader.records(Log::Pages, 0).unwrap().records.len(), 1);
    store.commit(Version::of(Some(b"first")), b"second").unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while reader.head().unwrap().unwrap() != b"second" {
        assert!(Instant::now() < until, "the replica does not follow");
        thread::sleep(Duration::from_millis(10));
    }
    let refused = reader.commit(Version::of(Some(b"second")), b"third").unwrap_err();
    assert!(refused.is_unwritable(), "{refused}");
    assert!(reader.claim("compile", LEASE).unwrap_err().is_unwritable());
    assert_eq!(reader.away(), None);
    replica.0.stop(Stop::Immediate).unwrap();
    told.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(reader.away().is_some());
}
