//! Trees of SKILL.md folders: ids, links, what is passed over and what is kept back.

use expect_test::expect;
use fingerpost::library::{Library, LoadOptions};

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
