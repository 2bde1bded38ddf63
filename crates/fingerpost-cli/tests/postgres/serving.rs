//! Do nodes that serve one database see what is committed, at once?

use std::thread;
use std::time::{Duration, Instant};

use crate::machine::{FAMILIES, Machine, atlas};
use crate::server::Server;

fn generation(server: &Server) -> u64 {
    server.json("/v1/library")["generation"].as_u64().unwrap()
}

#[test]
fn two_nodes_see_a_new_snapshot_within_a_second() {
    let Some(url) = atlas() else { return };
    let compiler = Machine::new(&url, &FAMILIES);
    compiler.compile();
    let nodes = [Machine::new(&url, &[]), Machine::new(&url, &[])];
    let servers = nodes.each_ref().map(Machine::serve);
    let search = "/v1/search?q=QT%20by%20the%20square%20root";
    for _ in 0..3 {
        let before = generation(&servers[0]);
        compiler.fixture.change("qt-correction/qtc-bazett");
        let now = compiler.compile()["generation"].as_u64().unwrap();
        let committed = Instant::now();
        assert!(now > before);
        for server in &servers {
            while generation(server) != now {
                let late = committed.elapsed();
                assert!(late < Duration::from_secs(1), "not seen after {late:?}");
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(server.json(search)["generation"].as_u64().unwrap(), now);
        }
    }
    let hits = servers.each_ref().map(|server| server.json(search)["hits"].clone());
    assert_eq!(hits[0], hits[1]);
    assert!(!hits[0].as_array().unwrap().is_empty());
}

/// What a node keeps is a copy: where it is damaged or gone, it is fetched again.
#[test]
fn a_damaged_cache_is_fetched_again() {
    let Some(url) = atlas() else { return };
    let compiler = Machine::new(&url, &FAMILIES);
    compiler.compile();
    let machine = Machine::new(&url, &[]);
    let question = ["search", "QT by the square root"];
    let right = machine.json(&question);
    let cache = machine.fixture.path(".cache/fingerpost/postgres/blobs");
    let blobs = || {
        let entries = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    assert!(blobs().len() >= 5, "{:?}", blobs());
    for blob in blobs() {
        let length = blob.metadata().unwrap().len() as usize;
        std::fs::write(&blob, vec![7; length]).unwrap();
    }
    assert_eq!(machine.json(&question), right);
    for blob in blobs() {
        std::fs::write(&blob, "cut").unwrap();
    }
    assert_eq!(machine.json(&question), right);
    std::fs::remove_dir_all(&cache).unwrap();
    assert_eq!(machine.json(&question), right);
}
