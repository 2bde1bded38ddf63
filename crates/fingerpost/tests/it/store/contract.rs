//! Does every store keep what it was given, as the facade expects it?
//!
//! One set of tests for all stores. The file is part of the tests of each crate that has one: `super::stores` gives
//! a fresh and empty store of each kind, and what must live as long: a folder in which it alone keeps files, if
//! it does.

use std::time::Duration;

use fingerpost::store::{Log, StoreError, Version};

use super::stores;

const LEASE: Duration = Duration::from_secs(60);

#[test]
fn a_store_that_nobody_wrote_to_is_empty_and_reading_makes_nothing() {
    for (store, folder) in stores() {
        assert!(store.head().unwrap().is_none());
        assert!(store.get("skills-1").unwrap().is_none());
        assert!(store.blobs().unwrap().is_empty());
        assert!(store.records(Log::Pages, 0).unwrap().records.is_empty());
        assert_eq!(store.mark(Log::Ledger).unwrap(), 0);
        let left = folder.map(|folder| folder.path().read_dir().unwrap().count());
        assert_eq!(left.unwrap_or(0), 0, "{}", store.name());
    }
}

#[test]
fn a_head_takes_the_place_of_the_one_that_was_seen() {
    for (store, _folder) in stores() {
        let none = Version::of(None);
        store.commit(none, b"first").unwrap();
        assert_eq!(store.head().unwrap().unwrap(), b"first");
        let seen = Version::of(Some(b"first"));
        store.commit(seen, b"second").unwrap();
        for before in [none, seen] {
            let refused = store.commit(before, b"third").unwrap_err();
            assert!(matches!(refused, StoreError::Overtaken { .. }), "{refused}");
        }
        assert_eq!(store.head().unwrap().unwrap(), b"second");
    }
}

/// Of many who commit at once on the same head, one does.
#[test]
fn of_two_who_commit_at_once_one_is_told() {
    for (store, _folder) in stores() {
        for round in 0..20_u32 {
            let before = store.head().unwrap();
            let version = Version::of(before.as_deref());
            let committed: usize = std::thread::scope(|scope| {
                let commit = |by: u32| {
                    let store = &store;
                    move || {
                        usize::from(
                            store.commit(version, format!("{round} {by}").as_bytes()).is_ok(),
                        )
                    }
                };
                let all: Vec<_> = (0..4).map(|by| scope.spawn(commit(by))).collect();
                all.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(committed, 1);
        }
    }
}

#[test]
fn a_blob_is_whole_and_stays_with_those_who_have_it_open() {
    for (store, _folder) in stores() {
        let bytes: Vec<u8> = (0..100_000).map(|n| n as u8).collect();
        store.put("terms-1", &bytes).unwrap();
        store.put("beside-2", b"other").unwrap();
        let open = store.get("terms-1").unwrap().unwrap();
        assert_eq!(open.as_ptr() as usize % 64, 0, "aligned");
        assert_eq!(store.blobs().unwrap(), ["beside-2", "terms-1"]);
        store.put("terms-1", b"again").unwrap();
        store.remove("terms-1").unwrap();
        store.remove("terms-1").unwrap();
        assert!(store.get("terms-1").unwrap().is_none());
        assert!(*open == *bytes, "whoever has it open keeps it");
    }
}

#[test]
fn a_name_from_a_strangers_head_leads_nowhere() {
    for (store, folder) in stores() {
        if let Some(folder) = &folder {
            std::fs::write(folder.path().join("secret"), "secret").unwrap();
        }
        for name in ["../secret", "/etc/passwd", "a/../../../secret", ".gitignore", "", "a\0b"] {
            assert!(store.get(name).unwrap().is_none(), "{name}");
        }
    }
}

#[test]
fn work_is_done_by_one_at_a_time() {
    for (store, _folder) in stores() {
        let claim = store.claim("compile", LEASE).unwrap();
        let refused = store.claim("compile", LEASE).unwrap_err();
        assert!(matches!(&refused, StoreError::Claimed { work, .. } if work == "compile"));
        store.claim("other", LEASE).unwrap();
        drop(claim);
        store.claim("compile", LEASE).unwrap();
    }
}

#[test]
fn records_are_in_the_order_in_which_they_came_and_none_is_lost() {
    for (store, _folder) in stores() {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..25 {
                        let record = format!("{{\"thread\":{thread},\"n\":{n}}}").into_bytes();
                        store.append(Log::Ledger, &[record]).unwrap();
                    }
                });
            }
        });
        let all = store.records(Log::Ledger, 0).unwrap();
        assert_eq!((all.records.len(), all.damaged.len()), (100, 0));
        assert!(all.records.is_sorted_by(|a, b| a.number < b.number));
        for thread in 0..4 {
            let mark = format!("{{\"thread\":{thread},");
            let of = all.records.iter().map(|r| String::from_utf8(r.bytes.clone()).unwrap());
            let of: Vec<String> = of.filter(|text| text.starts_with(&mark)).collect();
            let expected: Vec<String> = (0..25).map(|n| format!("{mark}\"n\":{n}}}")).collect();
            assert_eq!(of, expected);
        }
        let later = store.records(Log::Ledger, all.records[60].number).unwrap().records;
        assert_eq!(later, all.records[60..]);
        assert!(store.records(Log::Pages, 0).unwrap().records.is_empty(), "another log");
    }
}

#[test]
fn records_go_only_when_they_are_told_to_and_the_mark_says_so() {
    for (store, _folder) in stores() {
        let append = |text: &str| store.append(Log::Pages, &[text.as_bytes().to_vec()]).unwrap();
        let mut marks = vec![store.mark(Log::Pages).unwrap()];
        for text in ["a", "b", "c"] {
            append(text);
            marks.push(store.mark(Log::Pages).unwrap());
        }
        let last = store.records(Log::Pages, 0).unwrap().records[2].number;
        assert_eq!(store.rewrite(Log::Pages, &mut |record| record.bytes == b"b").unwrap(), 2);
        marks.push(store.mark(Log::Pages).unwrap());
        append("d");
        let left = store.records(Log::Pages, 0).unwrap().records;
        let texts: Vec<&[u8]> = left.iter().map(|record| &record.bytes[..]).collect();
        assert_eq!(texts, [b"b", b"d"]);
        assert!(left[1].number > last, "no number is used twice");
        let distinct: std::collections::BTreeSet<u64> = marks.iter().copied().collect();
        assert_eq!(distinct.len(), marks.len(), "{marks:?}");
    }
}
