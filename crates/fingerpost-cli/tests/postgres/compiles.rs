//! Is nothing lost and nothing made twice, whoever compiles, and whoever dies?

use std::thread;
use std::time::{Duration, Instant};

use crate::folder::{Fixture, err};
use crate::machine::{FAMILIES, Machine, atlas, atlas_at};
use crate::real;

#[test]
fn of_two_machines_that_compile_at_once_one_waits() {
    let Some(url) = atlas() else { return };
    let machines = [Machine::new(&url, &FAMILIES), Machine::new(&url, &FAMILIES)];
    thread::scope(|scope| {
        for machine in &machines {
            scope.spawn(|| machine.compile());
        }
    });
    let stats = machines[0].json(&["atlas", "stats"]);
    assert_eq!(stats["skills"], machines[0].json(&["doctor", "library"])["skills"]);
    // The one that came second may have seen its own paths: that is another head, and no other answer.
    assert!(stats["generation"].as_u64().unwrap() <= 2, "{stats}");
    assert_eq!(machines[1].json(&["atlas", "stats"])["generation"], stats["generation"]);
}

/// At several moments of a compilation; each time the next one neither waits long nor answers otherwise.
#[test]
fn a_compilation_that_was_killed_is_done_again() {
    let Some(url) = real::url() else { return };
    let quiet = Fixture::with_atlas(&FAMILIES);
    quiet.run(&["compile", "library"]);
    let pages = quiet.run(&["export"]).stdout;
    for after in [0, 20, 60] {
        let machine = Machine::new(&atlas_at(&url), &FAMILIES);
        let mut killed = machine.begin_to_compile();
        thread::sleep(Duration::from_millis(after));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let begun = Instant::now();
        machine.compile();
        // A claim of the dead runs out by itself.
        assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
        let output = machine.run(&["export"]);
        assert!(output.status.success(), "{}", err(&output));
        assert_eq!(output.stdout, pages, "after {after} ms");
    }
}
