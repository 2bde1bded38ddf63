//! Discovery, always in a made-up home: the real one is nobody's test data.

use expect_test::{Expect, expect};
use fingerpost::library::{Surroundings, discover};

use super::Fixture;

fn around(fixture: &Fixture, working_folder: &str) -> Surroundings {
    Surroundings {
        working_folder: fixture.path(working_folder),
        home: Some(fixture.path("home")),
        claude_config: None,
        codex_home: None,
    }
}

/// Compares the roots found, then the skills and findings loaded from them.
fn check(fixture: &Fixture, around: &Surroundings, expect: Expect) {
    let mut roots = discover(around);
    // A machine may have system-wide skills; they are not the fixture's.
    roots.retain(|root| root.path.starts_with(fixture.path("")));
    let mut shown = String::new();
    for root in &roots {
        shown += &format!("{}\n", root.path.display());
    }
    shown += &fixture.shown(&super::load(&roots));
    expect.assert_eq(&fixture.without_folder(&shown));
}

/// A skill that says where it lies.
fn skill_at(fixture: Fixture, place: &str, name: &str) -> Fixture {
    let text = format!("---\nname: {name}\ndescription: In {place}.\n---\n");
    fixture.file(&format!("{place}/{name}/SKILL.md"), text)
}

#[test]
fn the_nearest_wins() {
    let places = [
        "work/repo/app/.agents/skills",
        "work/repo/app/.claude/skills",
        "work/repo/.codex/skills",
        "home/.claude/skills",
        "home/.config/opencode/skills",
    ];
    let made = places.iter().fold(Fixture::new(), |made, place| skill_at(made, place, "deploy"));
    let made = skill_at(made, "home/.agents/skills", "mine");
    // Above the repository nothing is the project's.
    let made = skill_at(made, "work/.claude/skills", "outside").file("work/repo/.git/HEAD", "");
    check(
        &made,
        &around(&made, "work/repo/app"),
        expect![[r#"
            $ROOT/work/repo/app/.agents/skills
            $ROOT/work/repo/app/.claude/skills
            $ROOT/work/repo/.codex/skills
            $ROOT/home/.agents/skills
            $ROOT/home/.claude/skills
            $ROOT/home/.config/opencode/skills
            deploy ["deploy", "In work/repo/app/.agents/skills.", ""]
            mine ["mine", "In home/.agents/skills.", ""]
            $ROOT/home/.claude/skills/deploy/SKILL.md: error[shadowed]: skill 'deploy' is hidden by $ROOT/work/repo/app/.agents/skills/deploy/SKILL.md; rename or remove one of the two; until then the other one is used
            $ROOT/home/.config/opencode/skills/deploy/SKILL.md: error[shadowed]: skill 'deploy' is hidden by $ROOT/work/repo/app/.agents/skills/deploy/SKILL.md; rename or remove one of the two; until then the other one is used
            $ROOT/work/repo/.codex/skills/deploy/SKILL.md: error[shadowed]: skill 'deploy' is hidden by $ROOT/work/repo/app/.agents/skills/deploy/SKILL.md; rename or remove one of the two; until then the other one is used
            $ROOT/work/repo/app/.claude/skills/deploy/SKILL.md: error[shadowed]: skill 'deploy' is hidden by $ROOT/work/repo/app/.agents/skills/deploy/SKILL.md; rename or remove one of the two; until then the other one is used
        "#]],
    );
}

#[test]
fn without_a_repository_only_the_working_folder_counts() {
    let made = skill_at(Fixture::new(), "work/.claude/skills", "outside");
    let made = skill_at(made, "work/app/.claude/skills", "inside");
    check(
        &made,
        &around(&made, "work/app"),
        expect![[r#"
            $ROOT/work/app/.claude/skills
            inside ["inside", "In work/app/.claude/skills.", ""]
        "#]],
    );
}

#[test]
fn nested_folders_and_commands() {
    let made = skill_at(Fixture::new(), "app/.claude/skills", "test");
    let made = skill_at(made, "app/packages/web/.claude/skills", "test");
    let made = skill_at(made, "app/packages/web/.claude/skills", "render");
    let made = skill_at(made, "app/node_modules/x/.claude/skills", "never")
        .file(
            "app/.claude/commands/ship.md",
            "---\nallowed-tools: Bash\n---\n# Ship the release\nNow.\n",
        )
        .file("app/.claude/commands/db/migrate.md", "---\ndescription: Migrate.\n---\nGo.\n")
        .file("app/.claude/commands/empty.md", "");
    check(
        &made,
        &around(&made, "app"),
        expect![[r##"
            $ROOT/app/.claude/skills
            $ROOT/app/.claude/commands
            $ROOT/app/packages/web/.claude/skills
            db/migrate ["migrate", "Migrate.", "Go."]
            render ["render", "In app/packages/web/.claude/skills.", ""]
            ship ["ship", "Ship the release", "# Ship the release\nNow."]
            test ["test", "In app/.claude/skills.", ""]
            $ROOT/app/.claude/commands/empty.md: error[empty-file]: the file is empty; write front matter with name and description, or remove it
            $ROOT/app/packages/web/.claude/skills/test/SKILL.md: error[shadowed]: skill 'test' is hidden by $ROOT/app/.claude/skills/test/SKILL.md; rename or remove one of the two; until then the other one is used
        "##]],
    );
}

/// Codex keeps its own skills in a hidden folder inside the user's; there they come last.
#[test]
fn hidden_folders_are_roots_of_their_own() {
    let made = skill_at(Fixture::new(), "home/.codex/skills", "plan");
    let made = skill_at(made, "home/.codex/skills/.system", "plan");
    let made = skill_at(made, "home/.codex/skills/.system", "install").file("app/x", "");
    check(
        &made,
        &around(&made, "app"),
        expect![[r#"
            $ROOT/home/.codex/skills
            $ROOT/home/.codex/skills/.system
            install ["install", "In home/.codex/skills/.system.", ""]
            plan ["plan", "In home/.codex/skills.", ""]
            $ROOT/home/.codex/skills/.system/plan/SKILL.md: error[shadowed]: skill 'plan' is hidden by $ROOT/home/.codex/skills/plan/SKILL.md; rename or remove one of the two; until then the other one is used
        "#]],
    );
}

#[test]
fn variables_move_the_user_folders() {
    let made = ["home/.claude", "home/.codex", "moved/claude", "moved/codex"]
        .iter()
        .fold(Fixture::new().file("app/x", ""), |made, place| {
            let name = place.replace(['/', '.'], "-");
            skill_at(made, &format!("{place}/skills"), &format!("in{name}"))
        })
        .file("home/.claude/commands/left.md", "Left behind.\n")
        .file("moved/claude/commands/moved.md", "Moved along.\n");
    let around = Surroundings {
        claude_config: Some(made.path("moved/claude")),
        codex_home: Some(made.path("moved/codex")),
        ..around(&made, "app")
    };
    check(
        &made,
        &around,
        expect![[r#"
            $ROOT/moved/claude/skills
            $ROOT/moved/codex/skills
            $ROOT/moved/claude/commands
            inmoved-claude ["inmoved-claude", "In moved/claude/skills.", ""]
            inmoved-codex ["inmoved-codex", "In moved/codex/skills.", ""]
            moved ["moved", "Moved along.", "Moved along."]
        "#]],
    );
}

/// Skills of plugins carry the plugin's name, so they neither hide others nor are hidden.
#[test]
fn installed_plugins() {
    let made = skill_at(Fixture::new(), "app/.claude/skills", "review");
    let made = skill_at(made, "home/.claude/plugins/cache/market/office/1.0.2/skills", "review");
    let made = skill_at(made, "home/.claude/plugins/cache/market/office/1.0.2/skills", "pdf");
    let made = skill_at(made, "home/.claude/plugins/plain/skills", "review");
    let made = skill_at(made, "home/.claude/plugins/plain/skills/review/skills", "inner");
    let made = skill_at(made, "home/.claude/plugins/folder/skills", "pdf")
        .file("home/.claude/plugins/folder/.claude-plugin/plugin.json", r#"{"name":"manifest"}"#);
    let made = skill_at(made, "home/.cursor/plugins/cache/org/cursor-tools/abc123/skills", "pdf");
    check(
        &made,
        &around(&made, "app"),
        expect![[r#"
            $ROOT/app/.claude/skills
            $ROOT/home/.claude/plugins/cache/market/office/1.0.2/skills
            $ROOT/home/.claude/plugins/folder/skills
            $ROOT/home/.claude/plugins/plain/skills
            $ROOT/home/.cursor/plugins/cache/org/cursor-tools/abc123/skills
            cursor-tools:pdf ["pdf", "In home/.cursor/plugins/cache/org/cursor", ""]
            manifest:pdf ["pdf", "In home/.claude/plugins/folder/skills.", ""]
            office:pdf ["pdf", "In home/.claude/plugins/cache/market/off", ""]
            office:review ["review", "In home/.claude/plugins/cache/market/off", ""]
            plain:review ["review", "In home/.claude/plugins/plain/skills.", ""]
            plain:review/skills/inner ["inner", "In home/.claude/plugins/plain/skills/rev", ""]
            review ["review", "In app/.claude/skills.", ""]
        "#]],
    );
}

#[test]
fn a_marketplace_stays_in_its_folder() {
    let manifest = r#"{
        "metadata": {"pluginRoot": "./plugins"},
        "plugins": [
            {"name": "listed", "source": "./listed", "skills": ["./special/one", "./../../../secret", "special/two"]},
            {"name": "usual", "source": "./usual/"},
            {"name": "single", "source": "./single", "skills": "./only"},
            {"name": "absolute", "source": "/etc"},
            {"name": "parent", "source": "./../../secret"},
            {"name": "remote", "source": {"source": "github", "repo": "a/b"}},
            {"nameless": true}
        ]
    }"#;
    let made = Fixture::new().file("app/.claude-plugin/marketplace.json", manifest);
    let made = skill_at(made, "app/plugins/listed/special", "one");
    let made = skill_at(made, "app/plugins/listed/special", "two");
    let made = skill_at(made, "app/plugins/usual/skills", "one");
    let made = skill_at(made, "app/plugins/single/only", "three");
    let made = skill_at(made, "app/plugins/skills", "not-the-remote-one");
    let made = skill_at(made, "secret", "key");
    let made = skill_at(made, "secret/skills", "key");
    check(
        &made,
        &around(&made, "app"),
        expect![[r#"
            $ROOT/app/plugins/listed/special/one
            $ROOT/app/plugins/usual/skills
            $ROOT/app/plugins/single/only
            listed:one ["one", "In app/plugins/listed/special.", ""]
            single:three ["three", "In app/plugins/single/only.", ""]
            usual:one ["one", "In app/plugins/usual/skills.", ""]
        "#]],
    );

    let manifest = r#"{"metadata":{"pluginRoot":"./../secret"},"plugins":[{"name":"out"}]}"#;
    let made = Fixture::new().file("app/.claude-plugin/marketplace.json", manifest);
    let made = skill_at(made, "app/skills", "one");
    let made = skill_at(made, "secret/skills", "key");
    check(&made, &around(&made, "app"), expect![[""]]);
}

/// One folder under two names holds its skills once.
#[test]
#[cfg(unix)]
fn linked_folders_are_one_root() {
    let made = skill_at(Fixture::new(), "app/.agents/skills", "one").file("app/.claude/x", "");
    super::link("../.agents/skills", made.path("app/.claude/skills"));
    check(
        &made,
        &around(&made, "app"),
        expect![[r#"
            $ROOT/app/.agents/skills
            one ["one", "In app/.agents/skills.", ""]
        "#]],
    );
}

/// What nobody asked for by name must not fail the loading: here, a folder gone since discovery.
#[test]
fn a_discovered_root_that_cannot_be_read_costs_only_itself() {
    let made = skill_at(Fixture::new(), "app/.agents/skills", "one");
    let made = skill_at(made, "app/.claude/skills", "two").file("app/.codex/skills/.keep", "");
    let roots = discover(&around(&made, "app"));
    std::fs::remove_dir_all(made.path("app/.claude")).unwrap();
    made.check_roots(&roots, expect![[r#"
        one ["one", "In app/.agents/skills.", ""]
        $ROOT/app/.claude/skills: warning[unreadable]: cannot be read: No such file or directory (os error 2); check its permissions; agents that look here find nothing either
    "#]]);
}
