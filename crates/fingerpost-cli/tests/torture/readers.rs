//! Readers beside compilers of a library that changes twice a second, against an undisturbed replay.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::folder::{self, Fixture};
use super::{REQUESTS, rounds, size, told, whole};

const FAMILIES: [&str; 3] = ["loans", "qt-correction", "weather"];

/// One step of a library that does not keep still, in one rename: nobody sees half of it.
fn step(fixture: &Fixture, number: usize) {
    let file = fixture.library().join("loans/loan-payment/SKILL.md");
    let guest = (fixture.library().join("qt-correction"), fixture.path("aside"));
    match number % 4 {
        1 => fs::rename(&guest.0, &guest.1).unwrap(),
        3 => fs::rename(&guest.1, &guest.0).unwrap(),
        _ => {
            let of = folder::examples().join("loans/loan-payment/SKILL.md");
            let text = fs::read_to_string(of).unwrap();
            let next = fixture.path("next.md");
            let turn = number % 12;
            fs::write(&next, format!("{text}\nThe payment of turn {turn} of a loan.\n")).unwrap();
            fs::rename(&next, &file).unwrap();
        }
    }
}

/// Generation and library of a head, read as it lies there.
fn head(atlas: &Path) -> Option<(u64, String)> {
    let bytes = fs::read(atlas.join("head")).ok()?;
    let head: Value = serde_json::from_slice(bytes.get(65..)?).ok()?;
    Some((head["generation"].as_u64()?, head["library"]["digest"].as_str()?.to_owned()))
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn readers_beside_compilers_get_whole_answers() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let atlas = fixture.path("atlas");
    fixture.json(&["compile", "library"]);
    let fresh = size(&atlas);
    let wanted = rounds() * 20 / 3;
    let (asked, going) = (AtomicUsize::new(0), AtomicBool::new(true));
    let (states, largest) = (Mutex::new(BTreeMap::new()), AtomicUsize::new(0));
    let answers = Mutex::new(Vec::new());
    let steps = std::thread::scope(|scope| {
        scope.spawn(|| {
            while going.load(Ordering::Relaxed) {
                states.lock().unwrap().extend(head(&atlas));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let compiler = scope.spawn(|| {
            let mut number = 0;
            while asked.load(Ordering::Relaxed) < wanted {
                let turn = Instant::now();
                step(&fixture, number);
                number += 1;
                let output = fixture.run(&["compile", "library", "-q"]);
                whole(&output, "compile");
                largest.fetch_max(size(&atlas), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(500).saturating_sub(turn.elapsed()));
            }
            number
        });
        for reader in 0..2 {
            let (fixture, asked, answers) = (&fixture, &asked, &answers);
            scope.spawn(move || {
                loop {
                    let number = asked.fetch_add(1, Ordering::Relaxed);
                    if number >= wanted {
                        break;
                    }
                    let request = number % REQUESTS.len();
                    let mut arguments = vec!["route", REQUESTS[request], "--json", "-q"];
                    if reader == 0 {
                        arguments.extend(["--library", "library"]);
                    }
                    let output = fixture.run(&arguments);
                    whole(&output, &format!("route {number}"));
                    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
                    let generation = answer["generation"].as_u64().unwrap();
                    answers.lock().unwrap().push((generation, request, told(&answer)));
                }
            });
        }
        let steps = compiler.join().unwrap();
        going.store(false, Ordering::Relaxed);
        steps
    });
    let (states, answers) = (states.into_inner().unwrap(), answers.into_inner().unwrap());
    let stale = answers.iter().map(|(generation, ..)| generation).collect::<BTreeSet<_>>().len();
    eprintln!(
        "readers: {} routes of {stale} generations, {steps} changes, {} generations in all",
        answers.len(),
        states.len()
    );
    let largest = largest.into_inner();
    assert!(largest < 4 * fresh, "{largest} bytes at most, {fresh} at first");

    // The same states again, one after the other, and nobody beside.
    fs::remove_dir_all(fixture.library()).unwrap();
    fs::remove_dir_all(&atlas).unwrap();
    let _ = fs::remove_dir_all(fixture.path("aside"));
    FAMILIES.iter().for_each(|family| fixture.add(family));
    let digest = || {
        fixture.json(&["compile", "library", "--atlas", "probe"]);
        head(&fixture.path("probe")).unwrap().1
    };
    let mut replayed: BTreeMap<(u64, usize), Value> = BTreeMap::new();
    let (mut number, mut now) = (0, digest());
    for (&generation, library) in &states {
        // Steps that nobody compiled are gone through without.
        while now != *library {
            assert!(number < steps, "generation {generation} is of no state that was: {library}");
            step(&fixture, number);
            (number, now) = (number + 1, digest());
        }
        fixture.json(&["compile", "library"]);
        for (request, text) in REQUESTS.iter().enumerate() {
            let answer = told(&fixture.json(&["route", text]));
            replayed.insert((generation, request), answer);
        }
    }
    let mut wrong = Vec::new();
    for (generation, request, answer) in &answers {
        let expected = replayed.get(&(*generation, *request));
        if expected != Some(answer) {
            wrong.push((generation, REQUESTS[*request], answer, expected));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ: {:?}", wrong.len(), answers.len(), wrong[0]);
}
