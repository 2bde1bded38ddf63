//! Are tables made once, however many begin at once, and refused where they are newer than we are?

use std::error::Error;

use fingerpost::store::{Log, Store, Version};

use crate::real::{self, Schema, sql};

#[test]
fn many_who_begin_at_once_make_the_tables_once() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                // A process each, as far as the database can tell.
                let store = real::store(&schema.url, &schema.name, cache.path().into());
                store.append(Log::Ledger, &[b"{}".to_vec()]).unwrap();
            });
        }
    });
    let of = |what: &str| sql(&schema.url, &format!("SELECT {what}"))[0][0].clone().unwrap();
    assert_eq!(of(&format!("count(*) FROM \"{}\".migration", schema.name)), "2");
    assert_eq!(of(&format!("count(*) FROM \"{}\".atlas", schema.name)), "1");
    assert_eq!(of(&format!("count(*) FROM \"{}\".record", schema.name)), "8");
}

#[test]
fn tables_of_a_later_version_are_refused_and_left_alone() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let open = || real::store(&schema.url, &schema.name, cache.path().into());
    open().commit(Version::of(None), b"head").unwrap();
    sql(&schema.url, &format!("INSERT INTO \"{}\".migration VALUES (99)", schema.name));
    let refused = [
        open().head().map(drop).unwrap_err(),
        open().commit(Version::of(Some(b"head")), b"next").unwrap_err(),
        open().append(Log::Pages, &[b"{}".to_vec()]).unwrap_err(),
    ];
    for refused in refused {
        let why = refused.source().unwrap().to_string();
        assert!(why.contains("version 99") && why.contains("newer fingerpost"), "{why}");
    }
    let head = format!("SELECT convert_from(bytes, 'UTF8') FROM \"{}\".head", schema.name);
    assert_eq!(sql(&schema.url, &head)[0][0].as_deref(), Some("head"));
}

/// A role that may only read answers from what is there, and is told what it may not do.
#[test]
fn who_may_only_read_reads() {
    let Some(schema) = Schema::fresh() else { return };
    let cache = tempfile::tempdir().unwrap();
    let writer = real::store(&schema.url, &schema.name, cache.path().into());
    writer.commit(Version::of(None), b"head").unwrap();
    let (name, role) = (&schema.name, format!("{}_reader", schema.name));
    sql(
        &schema.url,
        &format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'reader';
         GRANT USAGE ON SCHEMA \"{name}\" TO {role};
         GRANT SELECT ON ALL TABLES IN SCHEMA \"{name}\" TO {role}"
        ),
    );
    let (_, place) = schema.url.split_once('@').unwrap();
    let url = format!("postgres://{role}:reader@{place}");
    let reader = real::store(&url, name, cache.path().into());
    assert_eq!(reader.head().unwrap().unwrap(), b"head");
    let refused = reader.commit(Version::of(Some(b"head")), b"next").unwrap_err();
    assert!(refused.is_unwritable(), "{refused}");
    drop(reader);
    sql(&schema.url, &format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}
