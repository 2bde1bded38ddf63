//! Does PostgreSQL keep what it is given, as every store does?

#[path = "../../../fingerpost/tests/it/store/contract.rs"]
mod contract;

use std::sync::Arc;
use std::time::Duration;

use fingerpost::store::{Log, Store, StoreError, Version};
use tempfile::TempDir;

use crate::real::{self, Schema, sql};

const LEASE: Duration = Duration::from_secs(60);

/// A fresh one, if there is a server, and the folder of its cache.
fn stores() -> Vec<(Arc<dyn Store>, Option<TempDir>)> {
    let Some(url) = real::url() else { return Vec::new() };
    let cache = tempfile::tempdir().unwrap();
    // The server goes with all schemas after the tests; one that was named is swept by the name.
    let store = real::store(&url, &real::fresh_schema(), cache.path().join("blobs"));
    vec![(Arc::new(store), Some(cache))]
}

#[test]
fn reading_makes_no_tables() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let store = real::store(&schema.url, &schema.name, cache.path().into());
    assert!(store.head().unwrap().is_none());
    store.remove("terms-1").unwrap();
    assert_eq!(store.rewrite(Log::Pages, &mut |_| false).unwrap(), 0);
    let there = format!("SELECT 1 FROM pg_namespace WHERE nspname = '{}'", schema.name);
    assert!(sql(&schema.url, &there).is_empty());
    store.append(Log::Pages, &[b"{}".to_vec()]).unwrap();
    assert_eq!(sql(&schema.url, &there).len(), 1);
}

#[test]
fn several_atlases_live_in_one_database() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let open = |atlas: &str| {
        let address = real::address(&schema.url, &schema.name, atlas);
        fingerpost_postgres::Postgres::open(address, cache.path().into(), 1 << 30).unwrap()
    };
    let (one, two) = (open("one"), open("two"));
    for (store, text) in [(&one, "first"), (&two, "second")] {
        store.commit(Version::of(None), text.as_bytes()).unwrap();
        store.put("terms-1", text.as_bytes()).unwrap();
        store.append(Log::Pages, &[text.into()]).unwrap();
    }
    for (store, text) in [(&one, "first"), (&two, "second")] {
        assert_eq!(store.head().unwrap().unwrap(), text.as_bytes());
        assert_eq!(&store.get("terms-1").unwrap().unwrap()[..], text.as_bytes());
        let records = store.records(Log::Pages, 0).unwrap().records;
        assert_eq!((records.len(), &records[0].bytes[..]), (1, text.as_bytes()));
    }
    let _claim = one.claim("compile", LEASE).unwrap();
    two.claim("compile", LEASE).unwrap();
    one.remove("terms-1").unwrap();
    assert!(two.get("terms-1").unwrap().is_some());
}

/// Large enough for many pieces, with a rest.
#[test]
fn a_node_fetches_a_blob_once_and_only_what_is_whole() {
    let Some(schema) = Schema::fresh() else { return };
    let bytes: Vec<u8> = (0..5_000_003_u32).map(|n| ((n * 7) >> 3) as u8).collect();
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = real::store(&schema.url, &schema.name, here.path().into());
    one.put("terms-1", &bytes).unwrap();
    one.put("terms-1", &bytes).unwrap();
    let two = real::store(&schema.url, &schema.name, there.path().join("blobs"));
    assert!(*two.get("terms-1").unwrap().unwrap() == *bytes);
    let pieces = format!("SELECT count(*) FROM \"{}\".piece", schema.name);
    assert_eq!(sql(&schema.url, &pieces)[0][0].as_deref(), Some("10"), "sent once");
    // It is here: what the tables hold does not matter any more.
    sql(&schema.url, &format!("UPDATE \"{}\".piece SET bytes = 'x' WHERE part = 3", schema.name));
    assert!(*two.get("terms-1").unwrap().unwrap() == *bytes);
    // Nothing that is not whole gets into a cache.
    let third = tempfile::tempdir().unwrap();
    let three = real::store(&schema.url, &schema.name, third.path().join("blobs"));
    assert!(three.get("terms-1").unwrap().is_none());
    sql(
        &schema.url,
        &format!(
            "UPDATE \"{}\".piece SET bytes = convert_to(repeat('x', length(p.bytes)), 'UTF8') FROM \"{0}\".piece p WHERE piece.part = 3 AND p.part = 4",
            schema.name
        ),
    );
    let garbled = three.get("terms-1").unwrap_err();
    let told = format!("{:#}", Told(&garbled));
    assert!(told.contains("did not come as it was kept"), "{told}");
}

/// An error with its causes.
struct Told<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        self.0.source().map_or(Ok(()), |source| write!(f, ": {}", Told(source)))
    }
}

#[test]
fn a_folder_that_cannot_be_written_costs_no_answer() {
    let Some(schema) = Schema::fresh() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let store = real::store(&schema.url, &schema.name, file.join("blobs"));
    store.put("terms-1", b"bytes").unwrap();
    assert_eq!(&store.get("terms-1").unwrap().unwrap()[..], b"bytes");
}

#[test]
fn a_lease_that_ran_out_is_anybodys() {
    for (store, _cache) in stores() {
        let late = store.claim("compile", Duration::ZERO).unwrap();
        let claim = store.claim("compile", LEASE).unwrap();
        drop(late);
        assert!(store.claim("compile", LEASE).is_err());
        drop(claim);
        assert!(store.claim("compile", LEASE).is_ok());
    }
}

#[test]
fn a_claim_lives_as_long_as_its_holder_and_says_who_that_is() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let open = || real::store(&schema.url, &schema.name, cache.path().into());
    let (one, two) = (open(), open());
    let lease = Duration::from_millis(600);
    let claim = one.claim("compile", lease).unwrap();
    std::thread::sleep(lease * 3);
    let refused = two.claim("compile", lease).unwrap_err();
    let StoreError::Claimed { by: Some(by), .. } = refused else { panic!("{refused}") };
    assert!(by.starts_with(&format!("process {}", std::process::id())), "{by}");
    drop(claim);
    two.claim("compile", lease).unwrap();
}

/// As when a process was stopped, or a machine cut off: what it held is anybody's, and it takes nothing back.
#[test]
fn whoever_comes_back_late_finds_that_the_claim_is_lost() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let open = || real::store(&schema.url, &schema.name, cache.path().into());
    let (one, two) = (open(), open());
    let late = one.claim("compile", LEASE).unwrap();
    sql(
        &schema.url,
        &format!("UPDATE \"{}\".claim SET until = now() - interval '1 second'", schema.name),
    );
    let claim = two.claim("compile", LEASE).unwrap();
    // Longer than a sign of life takes.
    std::thread::sleep(Duration::from_secs(3));
    drop(late);
    assert!(one.claim("compile", LEASE).is_err());
    drop(claim);
    one.claim("compile", LEASE).unwrap();
}

#[test]
fn many_records_come_as_few_do_and_rows_name_the_skill() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let store = real::store(&schema.url, &schema.name, cache.path().into());
    let record = |n: u32| format!("{{\"n\":{n},\"skill\":\"family/{}\"}}", n % 7).into_bytes();
    let records: Vec<Vec<u8>> = (0..1000).map(record).collect();
    store.append(Log::Pages, &records[..10]).unwrap();
    store.append(Log::Pages, &records[10..]).unwrap();
    store.append(Log::Ledger, &[vec![0, 255, 7]]).unwrap();
    let read = store.records(Log::Pages, 0).unwrap().records;
    assert!(read.iter().map(|record| &record.bytes).eq(&records));
    assert!(read.iter().map(|record| record.number).eq(1..=1000));
    assert_eq!(store.records(Log::Ledger, 0).unwrap().records[0].bytes, [0, 255, 7]);
    let of = format!("SELECT count(*) FROM \"{}\".record WHERE skill = 'family/3'", schema.name);
    assert_eq!(sql(&schema.url, &of)[0][0].as_deref(), Some("143"));
}

#[test]
fn the_server_of_the_tests_has_pgvector() {
    let Some(schema) = Schema::fresh() else { return };
    let there = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'";
    let version = sql(&schema.url, there)[0][0].clone().unwrap();
    assert!(version.starts_with("0.8"), "{version}");
}
