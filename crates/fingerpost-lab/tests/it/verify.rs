//! Does somebody else's program find the figures of docs/lab, as far as their data is part of the project?

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use fingerpost_lab::files::Done;
use fingerpost_lab::judged::Places;
use fingerpost_lab::lab::Lab;
use fingerpost_lab::retriever::Models;
use fingerpost_lab::verify::{Differs, Reference, ReferenceError, checks};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A Python that has ir_measures: the one that CI makes, or that of the machine.
fn reference() -> Option<Reference> {
    let made = root().join("target/lab-python/bin/python");
    let found = [made, "python3".into()].map(Reference::of).into_iter().find(Reference::is_usable);
    if found.is_none() {
        // Past the test runner's capture: a skipped test must not look like a passed one.
        let said =
            "SKIPPED: figures by ir_measures: no Python here has it (`cargo xtask verify`)\n";
        let _ = std::io::stderr().write_all(said.as_bytes());
    }
    found
}

#[test]
fn ir_measures_finds_the_figures_of_the_examples() {
    let Some(reference) = reference() else { return };
    let out = root().join("docs/lab");
    let places = Places { data: root().join("no-such-folder"), project: root() };
    let lab = Lab::new(places, out.clone(), Models::new(out.join("vectors"), |_| ()), |_| ());
    let mut wanted = BTreeMap::new();
    for done in Done::read_all(&out).unwrap() {
        checks(&done, &lab, &mut wanted).unwrap();
    }
    let of_examples = |figure: &&String| figure.starts_with("examples-strong bm25 full ");
    assert!(wanted.keys().filter(of_examples).count() >= 3, "{:?}", wanted.keys());
    assert_eq!(reference.differing(&wanted).unwrap(), []);

    // What is a hundredth of a point off is told.
    let (figure, check) = wanted.iter_mut().next().unwrap();
    let theirs = check.value;
    check.value += 0.01;
    let (figure, ours) = (figure.clone(), check.value);
    let [differs] = &reference.differing(&wanted).unwrap()[..] else { panic!("{figure}") };
    let Differs { figure: found, ours: said, theirs: computed } = differs;
    assert_eq!((found, *said), (&figure, ours));
    assert!((computed.unwrap() - theirs).abs() < 1e-3);
}

#[test]
fn a_python_without_ir_measures_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = Reference::of(folder.path().join("bin/python"));
    assert!(!nothing.is_usable());
    let error = nothing.differing(&BTreeMap::new()).unwrap_err();
    assert!(matches!(error, ReferenceError::Talk { .. }), "{error}");
}
