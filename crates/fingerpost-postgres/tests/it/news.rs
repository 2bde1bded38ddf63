//! Is whoever listens told of a new head at once?

use std::sync::mpsc;
use std::time::{Duration, Instant};

use fingerpost::store::{Store, Version};

use crate::real::{self, Schema};

#[test]
fn a_new_head_is_told_within_a_second_and_another_atlas_is_nobodys_news() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let (writer, reader) = (
        real::store(&schema.url, &schema.name, cache.path().into()),
        real::store(&schema.url, &schema.name, cache.path().into()),
    );
    let other = real::address(&schema.url, &schema.name, "other");
    let other = fingerpost_postgres::Postgres::open(other, cache.path().into(), 1 << 30).unwrap();
    let (tell, told) = mpsc::channel();
    reader.listen(move || tell.send(Instant::now()).unwrap_or_default());
    // It is told once when it begins.
    told.recv_timeout(Duration::from_secs(20)).unwrap();
    other.commit(Version::of(None), b"theirs").unwrap();
    assert!(told.recv_timeout(Duration::from_millis(300)).is_err(), "it was another atlas");
    let mut before: Option<Vec<u8>> = None;
    for round in 0..5_u8 {
        let head = vec![round];
        let committed = Instant::now();
        writer.commit(Version::of(before.as_deref()), &head).unwrap();
        let heard = told.recv_timeout(Duration::from_secs(1)).unwrap();
        assert!(heard.duration_since(committed) < Duration::from_secs(1));
        assert_eq!(reader.head().unwrap().unwrap(), head);
        before = Some(head);
    }
}
