//! States that change under the eyes of whoever asks.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::FAMILIES;
use crate::folder::Fixture;
use crate::server::Server;

#[test]
fn no_request_fails_while_states_change() {
    let fixture = Fixture::new(&FAMILIES);
    let server = Server::start(&fixture, &[]);
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let first = server.json("/v1/library")["generation"].as_u64().unwrap();
    let paths = [
        "/v1/search?q=QT%20by%20the%20square%20root",
        "/v1/search?q=QT%20by%20the%20square%20root&retriever=bm25&view=raw",
        "/v1/route?q=QT%20by%20the%20square%20root",
        "/v1/pages/qtc-bazett",
        "/v1/graph/qtc-bazett",
        "/v1/map",
        "/v1/skills",
    ];
    thread::scope(|scope| {
        for start in 0..3 {
            let (server, stop, answered) = (&server, &stop, &answered);
            scope.spawn(move || {
                let mut last = 0;
                for at in (start..).step_by(2) {
                    let answer = server.get(paths[at % paths.len()]);
                    assert_eq!(answer.status, 200, "{answer:?}");
                    let generation = answer.json()["generation"].as_u64().unwrap();
                    assert!(generation >= last, "time goes one way");
                    last = generation;
                    answered.fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        // Whatever fails here, the others are to end.
        let _guard = Stop(&stop);
        for _ in 0..5 {
            let before = server.json("/v1/library")["generation"].as_u64().unwrap();
            fixture.change("qt-correction/qtc-bazett");
            let begun = std::time::Instant::now();
            while server.json("/v1/library")["generation"].as_u64().unwrap() == before {
                assert!(begun.elapsed().as_secs() < 120, "no new state came");
                thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    });
    assert!(server.json("/v1/library")["generation"].as_u64().unwrap() >= first + 5);
    assert!(answered.load(Ordering::Relaxed) > 20);
    let metrics = server.get("/metrics").text;
    let swaps =
        metrics.lines().find_map(|line| line.strip_prefix("fingerpost_snapshot_swaps_total "));
    assert!(swaps.unwrap().parse::<u64>().unwrap() >= 5, "{metrics}");
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
