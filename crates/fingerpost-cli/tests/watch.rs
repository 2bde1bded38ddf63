//! Watching while skills are edited, as editors do it.

mod folder;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use folder::Fixture;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);

struct Watch {
    child: Child,
    said: Receiver<String>,
}

impl Watch {
    fn start(fixture: &Fixture, options: &[&str]) -> Self {
        let mut command = fixture.command(&[&["watch", "library"], options].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, said) = channel();
        let (out, talk) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        for lines in [Box::new(out) as Box<dyn std::io::Read + Send>, Box::new(talk)] {
            let send = send.clone();
            thread::spawn(move || {
                for line in BufReader::new(lines).lines() {
                    let _ = send.send(line.unwrap());
                }
            });
        }
        let watch = Self { child, said };
        watch.wait_for(|line| line.starts_with("Watching "));
        watch
    }

    fn wait_for(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut heard = Vec::new();
        loop {
            let line = self.said.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("never said: {heard:?}"));
            if wanted(&line) {
                return line;
            }
            heard.push(line);
        }
    }

    /// Waits until a change of a skill is told.
    fn wait_for_change(&self, what: &str, skill: &str) -> Value {
        let is_it = |line: &str| {
            serde_json::from_str::<Value>(line)
                .is_ok_and(|change| change["what"] == what && change["skill"] == skill)
        };
        serde_json::from_str(&self.wait_for(is_it)).unwrap()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// The page of the atlas as it is, with nothing compiled for it.
fn served(fixture: &Fixture, skill: &str) -> String {
    let shown = fixture.json(&["search", skill, "-k", "1", "--library", "library"]);
    shown["hits"][0]["skill"].as_str().unwrap_or_default().to_owned()
}

fn edit(file: &Path, words: &str) -> String {
    fs::read_to_string(file).unwrap() + words + "\n"
}

#[test]
fn every_way_in_which_editors_save_is_noticed() {
    let fixture = Fixture::with_atlas(&["qt-correction"]);
    let watch = Watch::start(&fixture, &["--json"]);
    let bazett = fixture.library().join("qt-correction/qtc-bazett/SKILL.md");
    let changed = |watch: &Watch| watch.wait_for_change("changed", "qt-correction/qtc-bazett");

    // In place: emptied, then written.
    fs::write(&bazett, edit(&bazett, "Written in place.")).unwrap();
    let first = changed(&watch);
    // A new file over the old one.
    fs::write(bazett.with_extension("tmp"), edit(&bazett, "Renamed over.")).unwrap();
    fs::rename(bazett.with_extension("tmp"), &bazett).unwrap();
    changed(&watch);
    // The old one put away first.
    let text = edit(&bazett, "Put away first.");
    fs::rename(&bazett, bazett.with_extension("md~")).unwrap();
    fs::write(&bazett, text).unwrap();
    fs::remove_file(bazett.with_extension("md~")).unwrap();
    let last = changed(&watch);
    assert!(last["generation"].as_u64() > first["generation"].as_u64());

    // A skill more, and one less.
    fixture.add("pdf-tools/pdf-merge");
    watch.wait_for_change("added", "pdf-tools/pdf-merge");
    fs::remove_dir_all(fixture.library().join("pdf-tools")).unwrap();
    watch.wait_for_change("removed", "pdf-tools/pdf-merge");

    // The whole folder replaced by another one of its name, as a checkout does it.
    folder::copy(&fixture.library(), &fixture.path("next"));
    let hodges = fixture.path("next/qt-correction/qtc-hodges/SKILL.md");
    fs::write(&hodges, edit(&hodges, "In the next folder.")).unwrap();
    fs::rename(fixture.library(), fixture.path("last")).unwrap();
    fs::rename(fixture.path("next"), fixture.library()).unwrap();
    watch.wait_for_change("changed", "qt-correction/qtc-hodges");
    // And in that one changes are noticed too.
    fs::write(&bazett, edit(&bazett, "After that.")).unwrap();
    changed(&watch);
    assert_eq!(served(&fixture, "qtc-bazett"), "qt-correction/qtc-bazett");
}

#[cfg(unix)]
#[test]
fn it_ends_when_it_is_asked_to() {
    for signal in ["-INT", "-TERM"] {
        let fixture = Fixture::with_atlas(&["qt-correction"]);
        let mut watch = Watch::start(&fixture, &["--json"]);
        let id = watch.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(watch.child.wait().unwrap().code(), Some(0), "{signal}");
        // What it leaves is whole.
        let answer =
            fixture.json(&["route", "QT 380 at 72 bpm, square root", "--library", "library"]);
        assert_eq!(answer["skill"], json!("qt-correction/qtc-bazett"));
    }
}

#[test]
fn plain_lines_are_for_people() {
    let fixture = Fixture::with_atlas(&["qt-correction"]);
    let watch = Watch::start(&fixture, &[]);
    fixture.change("qt-correction/qtc-hodges");
    let line = watch.wait_for(|line| line.starts_with("changed "));
    assert_eq!(line, "changed qt-correction/qtc-hodges (generation 2)");
}
