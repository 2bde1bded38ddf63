//! Does the stamp of a library change with everything it is loaded from, and with nothing else?

use std::fs::{self, File};

use fingerpost::library::{Root, stamp};

use super::Fixture;

fn stamp_of(fixture: &Fixture, below: &str) -> blake3::Hash {
    stamp(&[fixture.root(below)]).unwrap()
}

/// Stamps what lies at `library` before and after each change, and compares.
#[track_caller]
fn changes(fixture: &Fixture, change: impl FnOnce()) -> bool {
    let before = stamp_of(fixture, "library");
    assert_eq!(stamp_of(fixture, "library"), before, "it changes by itself");
    change();
    stamp_of(fixture, "library") != before
}

#[test]
fn it_follows_the_files_of_a_tree() {
    let made = Fixture::new().skill("library/a").skill("library/b").file("library/notes.txt", "");
    let at = |below: &str| made.path("library").join(below);
    assert!(changes(&made, || fs::write(at("a/SKILL.md"), "another text").unwrap()));
    assert!(changes(&made, || fs::rename(at("a"), at("c")).unwrap()));
    assert!(changes(&made, || fs::remove_file(at("b/SKILL.md")).unwrap()));
    assert!(changes(&made, || fs::write(at("b/skill.md"), "new").unwrap()));
    assert!(changes(&made, || {
        fs::create_dir(at("b/agents")).unwrap();
        fs::write(at("b/agents/openai.yaml"), "policy:").unwrap();
    }));
    assert!(changes(&made, || fs::write(at("b/agents/openai.yaml"), "policy").unwrap()));
    assert!(!changes(&made, || fs::write(at("notes.txt"), "no skill").unwrap()));
    assert!(!changes(&made, || fs::create_dir(at("empty")).unwrap()));
}

#[test]
fn it_follows_a_file_of_records() {
    let made = Fixture::new().file("library/corpus.jsonl.gz", "one").file("library/x.txt", "");
    let at = |below: &str| made.path("library").join(below);
    assert!(changes(&made, || fs::write(at("corpus.jsonl.gz"), "two").unwrap()));
    assert!(changes(&made, || fs::write(at("corpus.jsonl"), "two").unwrap()), "it comes first");
    assert!(!changes(&made, || fs::write(at("corpus.jsonl.gz"), "three").unwrap()));
}

/// Ids begin at the root, and what two equal names mean depends on who named it.
#[test]
fn it_follows_the_roots() {
    let made = Fixture::new().skill("library/deep/a");
    let root = |below: &str| made.root(below);
    let roots = [
        vec![root("library")],
        vec![root("library/deep")],
        vec![root("library"), root("library/deep")],
        vec![Root { discovered: true, ..root("library") }],
        vec![Root { prefix: Some(String::new()), ..root("library") }],
        vec![Root { prefix: Some("p".into()), ..root("library") }],
    ];
    let stamps = roots.map(|roots| stamp(&roots).unwrap());
    for (at, one) in stamps.iter().enumerate() {
        assert!(!stamps[..at].contains(one), "{at}");
    }
}

/// Editors and version control write a text of the same length within a tick of the clock, which is
/// the same time to a file system.
#[test]
fn it_follows_changes_that_come_fast() {
    let made = Fixture::new().skill("library/a");
    let mut last = stamp_of(&made, "library");
    for round in 0..25 {
        fs::write(made.path("library/a/SKILL.md"), format!("{round:03}")).unwrap();
        let next = stamp_of(&made, "library");
        assert_ne!(next, last, "round {round}");
        last = next;
    }
}

/// `touch -d`, `rsync --times` and unpacked archives set the time of a file to what it was.
#[test]
#[cfg(unix)]
fn it_follows_a_text_of_the_same_size_and_time() {
    use std::os::unix::fs::PermissionsExt;

    let made = Fixture::new().file("library/a/SKILL.md", "one").file("library/b.md", "two");
    let file = made.path("library/a/SKILL.md");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let restore = || File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert!(changes(&made, || {
        fs::write(&file, "two").unwrap();
        restore();
    }));
    assert!(changes(&made, || {
        fs::rename(made.path("library/b.md"), &file).unwrap();
        restore();
    }));
    // A document that could not be read, and now can, is new to the library.
    let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    assert!(changes(&made, || mode(0o400)));
}

/// What is loaded once is stamped once, on the same path.
#[test]
#[cfg(unix)]
fn it_walks_as_loading_does() {
    let made = Fixture::new().skill("elsewhere/a").file("library/x", "");
    let library = made.path("library");
    super::link(made.path("elsewhere/a"), library.join("one"));
    assert!(!changes(&made, || super::link(made.path("elsewhere/a"), library.join("two"))));
    assert!(changes(&made, || fs::write(made.path("elsewhere/a/SKILL.md"), "new").unwrap()));
    assert!(changes(&made, || fs::remove_file(library.join("one")).unwrap()));
    assert_eq!(super::ids(&made.load("library").value), Vec::<&str>::new(), "no front matter");
}
