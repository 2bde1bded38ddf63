//! Trees of SKILL.md folders: ids, links, what is passed over and what is kept back.

use expect_test::expect;
use fingerpost::library::{Layout, Library, LoadOptions, Root};

use super::Fixture;

#[test]
fn ids_are_paths_below_the_root() {
    let fixture = Fixture::new()
        .skill("a")
        .skill("deep/er/b")
        .file("lower/skill.md", "---\nname: lower\ndescription: Lower-case file name.\n---\n")
        .file("a/references/notes.md", "No skill.\n")
        .skill("node_modules/package/c");
    fixture.check(
        "",
        expect![[r#"
            a ["a", "About a.", "Body."]
            deep/er/b ["b", "About b.", "Body."]
            lower ["lower", "Lower-case file name.", ""]
        "#]],
    );
}

/// A root is often named by `.` or `..`, and sometimes it is the document itself.
#[test]
fn a_root_may_be_a_skill() {
    let fixture = Fixture::new().skill("one").skill("one/references/two");
    fixture.check(
        "one",
        expect![[r#"
            one ["one", "About one.", "Body."]
            references/two ["two", "About two.", "Body."]
        "#]],
    );
    fixture.check(
        "one/references/..",
        expect![[r#"
            one ["one", "About one.", "Body."]
            references/two ["two", "About two.", "Body."]
        "#]],
    );
    fixture.check(
        "one/SKILL.md",
        expect![[r#"
            one ["one", "About one.", "Body."]
        "#]],
    );
}

/// These names are skipped below a root because of what they usually hold.
#[test]
fn a_root_or_skill_called_target_is_no_build_folder() {
    let fixture = Fixture::new()
        .skill("target/release")
        .skill("shops/target")
        .skill("crate/target/doc")
        .file("crate/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    fixture.check(
        "",
        expect![[r#"
            shops/target ["target", "About target.", "Body."]
            target/release ["release", "About release.", "Body."]
        "#]],
    );
    fixture.check(
        "target",
        expect![[r#"
            release ["release", "About release.", "Body."]
        "#]],
    );
    fixture.check(
        "crate/target",
        expect![[r#"
            doc ["doc", "About doc.", "Body."]
        "#]],
    );
}

#[test]
fn chinese() {
    let text = "---\nname: 合同审查\ndescription: 审查合同条款，标出风险。\n---\n逐条阅读。\n";
    Fixture::new().file("法务/合同审查/SKILL.md", text).check(
        "",
        expect![[r#"
            法务/合同审查 ["合同审查", "审查合同条款，标出风险。", "逐条阅读。"]
        "#]],
    );
}

#[test]
fn reserved_for_explicit_use() {
    let fixture = Fixture::new()
        .skill("good")
        .file(
            "by-claude/SKILL.md",
            "---\nname: by-claude\ndescription: A.\ndisable-model-invocation: true\n---\n",
        )
        .file(
            "by-metadata/SKILL.md",
            "---\nname: by-metadata\ndescription: A.\nmetadata:\n  internal: true\n---\n",
        )
        // The reservation must survive an unquoted colon elsewhere in the front matter.
        .file(
            "by-broken/SKILL.md",
            "---\nname: by-broken\ndescription: A: b.\nmetadata:\n  internal: true\n---\n",
        )
        .skill("by-codex")
        .file("by-codex/agents/openai.yaml", "policy:\n  allow_implicit_invocation: false\n")
        .skill("allowed")
        .file(
            "allowed/agents/openai.yaml",
            "interface:\n  display_name: Allowed\npolicy:\n  allow_implicit_invocation: true\n",
        )
        .skill("unsaid")
        .file("unsaid/agents/openai.yaml", "# nothing\n")
        .skill("unclear")
        .file("unclear/agents/openai.yaml", "policy:\n  allow_implicit_invocation: [\n");
    fixture.check("", expect![[r#"
        allowed ["allowed", "About allowed.", "Body."]
        good ["good", "About good.", "Body."]
        unclear ["unclear", "About unclear.", "Body."]
        unsaid ["unsaid", "About unsaid.", "Body."]
        withheld by-broken ["by-broken", "A: b.", ""]
        withheld by-claude ["by-claude", "A.", ""]
        withheld by-codex ["by-codex", "About by-codex.", "Body."]
        withheld by-metadata ["by-metadata", "A.", ""]
        $ROOT/by-broken/SKILL.md:3: warning[broken-yaml]: the front matter is not valid YAML (mapping values are not allowed in this context) and was read line by line; quote the value, as in  description: "Use when: ..."
        $ROOT/unclear/agents/openai.yaml:2: warning[broken-policy]: not read: expected string scalar; mend the file; until then the skill may be chosen automatically
    "#]]);
    let options = LoadOptions { include_manual: true };
    let all = Library::load(&[fixture.root("")], options).unwrap().value;
    assert_eq!(all.skills().len(), 8);
    assert!(all.withheld().is_empty());
}

#[test]
fn too_large() {
    let fixture = Fixture::new().skill("good").file("large/SKILL.md", "");
    // The file has no blocks on disk; only its length matters.
    std::fs::File::create(fixture.path("large/SKILL.md")).unwrap().set_len(9 << 20).unwrap();
    fixture.check("", expect![[r#"
        good ["good", "About good.", "Body."]
        $ROOT/large/SKILL.md: error[too-large]: larger than 8 MiB, not read; move reference material into files beside SKILL.md
    "#]]);
}

#[test]
fn skills_among_many_files() {
    let fixture = Fixture::new().skill("a").skill("b/c").skill("z").file("b/notes.txt", "");
    for number in 1..20_000 {
        // A further name for one file costs less than a file.
        let name = fixture.path(&format!("b/notes-{number}.txt"));
        std::fs::hard_link(fixture.path("b/notes.txt"), name).unwrap();
    }
    fixture.check(
        "",
        expect![[r#"
            a ["a", "About a.", "Body."]
            b/c ["c", "About c.", "Body."]
            z ["z", "About z.", "Body."]
        "#]],
    );
}

#[test]
#[cfg(unix)]
fn links() {
    let fixture = Fixture::new().skill("good").skill("elsewhere/linked").file("library/x", "");
    super::link(fixture.path("good"), fixture.path("library/good"));
    super::link(fixture.path("elsewhere"), fixture.path("library/more"));
    super::link(fixture.path("library"), fixture.path("library/loop"));
    super::link(fixture.path("nowhere"), fixture.path("library/dangling"));
    fixture.check("library", expect![[r#"
        good ["good", "About good.", "Body."]
        more/linked ["linked", "About linked.", "Body."]
        $ROOT/library/dangling: warning[unreadable]: cannot be read: No such file or directory (os error 2); check its permissions, or whether the link has a target
        $ROOT/library/loop: note[symlink-loop]: this link leads back to $ROOT/library; the link is not followed; remove it, or point it elsewhere
    "#]]);
}

/// Two links in each of fifteen folders are 32,768 paths to one document.
#[test]
#[cfg(unix)]
fn links_that_multiply() {
    let mut fixture = Fixture::new().skill("f15");
    for at in 0..15 {
        fixture = fixture.file(&format!("f{at}/x"), "");
        for name in ["a", "b"] {
            let target = fixture.path(&format!("f{}", at + 1));
            super::link(target, fixture.path(&format!("f{at}/{name}")));
        }
    }
    let loaded = fixture.load("f0");
    let id = vec!["a"; 15].join("/");
    assert_eq!(super::ids(&loaded.value), [id]);
    let notes: Vec<_> = loaded.diagnostics.iter().filter(|d| d.rule == "read-once").collect();
    assert_eq!(notes.len(), 15);
    let first = fixture.without_folder(&notes[14].to_string());
    expect!["$ROOT/f0/b: note[read-once]: is the same as $ROOT/f0/a, which was read already; it is one skill, on the path read first; remove the link to be rid of this note"].assert_eq(&first);
    // Named as a whole, each folder is its own shortest path.
    assert_eq!(super::ids(&fixture.load("").value), ["f15"]);
}

/// Of several paths to one document the shortest wins, then the first in order, whoever is the link.
#[test]
#[cfg(unix)]
fn one_document_is_one_skill() {
    let fixture = Fixture::new()
        .skill("library/deep/er/one")
        .skill("library/m/two")
        .skill("library/three")
        .file("library/z/x", "");
    let at = |below: &str| fixture.path("library").join(below);
    super::link("deep/er/one", at("short"));
    super::link("m", at("b"));
    super::link("../three", at("z/three"));
    super::link("../three/SKILL.md", at("z/SKILL.md"));
    // A link to a folder without skills is nobody's concern.
    super::link("z", at("zz"));
    fixture.check(
        "library",
        expect![[r#"
            b/two ["two", "About two.", "Body."]
            short ["one", "About one.", "Body."]
            three ["three", "About three.", "Body."]
            $ROOT/library/deep/er/one: note[read-once]: is the same as $ROOT/library/short, which was read already; it is one skill, on the path read first; remove the link to be rid of this note
            $ROOT/library/m: note[read-once]: is the same as $ROOT/library/b, which was read already; it is one skill, on the path read first; remove the link to be rid of this note
            $ROOT/library/short/SKILL.md:2: warning[name-not-folder]: the name 'one' is not the folder's name 'short'; rename one of them: agents that follow the specification expect both to be equal
            $ROOT/library/z/SKILL.md: note[read-once]: is the same as $ROOT/library/three/SKILL.md, which was read already; it is one skill, on the path read first; remove the link to be rid of this note
            $ROOT/library/z/three: note[read-once]: is the same as $ROOT/library/three, which was read already; it is one skill, on the path read first; remove the link to be rid of this note
        "#]],
    );
}

/// A file with two names is no link: each name has its own folder, and is a skill.
#[test]
fn hard_links_are_files() {
    let fixture = Fixture::new().skill("a").file("b/x", "");
    std::fs::hard_link(fixture.path("a/SKILL.md"), fixture.path("b/SKILL.md")).unwrap();
    assert_eq!(super::ids(&fixture.load("").value), ["a", "b"]);
}

#[test]
#[cfg(unix)]
fn a_root_may_be_a_link() {
    let fixture =
        Fixture::new().skill("library/a").file("records.jsonl", r#"{"id":"r","text":"t"}"#);
    super::link("library", fixture.path("folder"));
    super::link("library/a/SKILL.md", fixture.path("document.md"));
    super::link("records.jsonl", fixture.path("file.jsonl"));
    for (root, id) in [("folder", "a"), ("file.jsonl", "r"), ("folder/a", "a")] {
        let loaded = fixture.load(root);
        assert_eq!(super::ids(&loaded.value), [id], "{root}");
        assert!(loaded.diagnostics.is_empty(), "{root}");
    }
    assert_eq!(fixture.load("document.md").value.skills().len(), 1);
}

/// The parent of the library lies inside it, by a link: nothing is read twice.
#[test]
#[cfg(unix)]
fn a_link_to_the_parent() {
    let fixture = Fixture::new().skill("library/a").skill("beside");
    super::link("..", fixture.path("library/up"));
    fixture.check(
        "library",
        expect![[r#"
            a ["a", "About a.", "Body."]
            up/beside ["beside", "About beside.", "Body."]
            $ROOT/library/up/library: note[read-once]: is the same as $ROOT/library, which was read already; it is one skill, on the path read first; remove the link to be rid of this note
        "#]],
    );
}

/// `plugin` with a name of a megabyte: the id is bounded, prefix included.
#[test]
fn ids_are_bounded() {
    let folder = "f".repeat(200);
    let fixture = Fixture::new().skill(&format!("{folder}/{folder}/{folder}/a")).skill("b");
    let prefix = Some("p".repeat(1 << 20));
    let root = Root { prefix, ..fixture.root("") };
    for (root, lengths) in [(fixture.root(""), [1, 512]), (root, [512, 512])] {
        let loaded = super::load(&[root]);
        let mut found: Vec<usize> = super::ids(&loaded.value).iter().map(|id| id.len()).collect();
        found.sort();
        assert_eq!(found, lengths);
        assert!(loaded.diagnostics.iter().any(|finding| finding.rule == "long-id"));
        assert!(loaded.diagnostics.iter().all(|finding| finding.message.len() < 1000));
    }
}

/// Every skill says where it was read.
#[test]
fn origins() {
    let fixture = Fixture::new()
        .skill("tree/deep/a")
        .skill("tree/b")
        .file("commands/c.md", "Do it.\n")
        .file("lines.jsonl", "\n{\"id\":\"d\",\"text\":\"t\"}\n")
        .file("array.json", "[\n\n{\"id\":\"e\",\"text\":\"t\"},{\"id\":\"f\",\"text\":\"t\"}]")
        .file("one.json", "{\n\"id\":\"g\",\n\"text\":\"t\"}")
        .file("beir/corpus.jsonl.zst", super::zstandard(b"{\"id\":\"h\",\"text\":\"t\"}\n"));
    let names = ["tree", "commands", "lines.jsonl", "array.json", "one.json", "beir"];
    let mut roots = names.map(|name| fixture.root(name));
    roots[1].layout = Layout::Commands;
    let library = super::load(&roots).value;
    let origins: String =
        library.skills().iter().map(|skill| format!("{} {}\n", skill.id, skill.origin)).collect();
    expect![[r#"
        b $ROOT/tree/b/SKILL.md
        c $ROOT/commands/c.md
        d $ROOT/lines.jsonl:2
        deep/a $ROOT/tree/deep/a/SKILL.md
        e $ROOT/array.json:3
        f $ROOT/array.json:3
        g $ROOT/one.json:1
        h $ROOT/beir/corpus.jsonl.zst:1
    "#]]
    .assert_eq(&fixture.without_folder(&origins));
}

#[test]
#[cfg(unix)]
fn unreadable_files() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    let fixture = Fixture::new().skill("good").skill("locked").skill("closed/inside");
    let lock = |path: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(fixture.path(path), mode).unwrap();
    };
    lock("locked/SKILL.md", 0);
    if std::fs::File::open(fixture.path("locked/SKILL.md")).is_ok() {
        // Written past the test runner's capture: a skipped test must not look like a passed one.
        let note = "SKIPPED: no file is unreadable to the user that runs the tests\n";
        let _ = std::io::stderr().write_all(note.as_bytes());
        return;
    }
    lock("closed", 0);
    let shown = fixture.shown(&fixture.load(""));
    // Otherwise the folder could not be removed.
    lock("closed", 0o700);
    expect![[r#"
        good ["good", "About good.", "Body."]
        $ROOT/closed: warning[unreadable]: cannot be read: Permission denied (os error 13); check its permissions, or whether the link has a target
        $ROOT/locked/SKILL.md: error[unreadable]: cannot be read: Permission denied (os error 13); check its permissions
    "#]]
    .assert_eq(&shown);
}
