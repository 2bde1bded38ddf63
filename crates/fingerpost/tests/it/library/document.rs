//! Single SKILL.md files. Beside each odd one lies a sound one, which must load in spite of it.

use expect_test::{Expect, expect};

use super::Fixture;

/// Loads a SKILL.md of this text in the folder `odd`, beside the sound skill `good`.
fn check(text: impl AsRef<[u8]>, expect: Expect) {
    let fixture = Fixture::new().skill("good").file("odd/SKILL.md", text);
    let loaded = fixture.load("");
    assert!(loaded.value.find("good").is_some(), "the sound skill was lost");
    let shown = fixture.shown(&loaded);
    expect.assert_eq(shown.strip_prefix("good [\"good\", \"About good.\", \"Body.\"]\n").unwrap());
}

#[test]
fn carriage_returns() {
    check(
        "---\r\nname: odd\r\ndescription: From Windows.\r\n---\r\nOne\r\ntwo\r\n",
        expect![[r#"
            odd ["odd", "From Windows.", "One\ntwo"]
            $ROOT/odd/SKILL.md:1: note[carriage-returns]: has Windows line ends; they were read as plain line ends; save with LF to keep digests equal everywhere
        "#]],
    );
}

#[test]
fn byte_order_mark() {
    check(
        "\u{feff}---\nname: odd\ndescription: From an editor.\n---\nBody.\n",
        expect![[r#"
            odd ["odd", "From an editor.", "Body."]
            $ROOT/odd/SKILL.md:1: note[byte-order-mark]: starts with a byte order mark; save the file as UTF-8 without one: strict readers do not see the front matter behind it
        "#]],
    );
}

#[test]
fn not_utf8_names_the_line() {
    check(
        b"---\nname: odd\ndescription: caf\xe9 au lait\n---\nBody \xff.\n",
        expect![[r#"
            odd ["odd", "caf� au lait", "Body �."]
            $ROOT/odd/SKILL.md:3: warning[not-utf8]: holds bytes that are not UTF-8; save the file as UTF-8; each stray byte was read as U+FFFD
        "#]],
    );
}

#[test]
fn empty_files() {
    check(
        "",
        expect![[r#"
            $ROOT/odd/SKILL.md: error[empty-file]: the file is empty; write front matter with name and description, or remove it
        "#]],
    );
    check(
        "\n \n",
        expect![[r#"
            $ROOT/odd/SKILL.md: error[empty-file]: the file is empty; write front matter with name and description, or remove it
        "#]],
    );
}

#[test]
fn without_front_matter() {
    check(
        "# Odd\n\nHow to be odd.\n",
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
        "#]],
    );
}

#[test]
fn unclosed_front_matter() {
    check(
        "---\nname: odd\ndescription: Never closed.\n\nBody.\n",
        expect![[r#"
            odd ["odd", "Never closed.", "Body."]
            $ROOT/odd/SKILL.md:1: warning[unclosed-front-matter]: no '---' line closes the front matter; put '---' on a line of its own after the last field
        "#]],
    );
}

#[test]
fn empty_front_matter() {
    check(
        "---\n---\nBody.\n",
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no description in the front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
        "#]],
    );
}

#[test]
fn missing_name() {
    check(
        "---\ndescription: Nameless.\n---\n",
        expect![[r#"
            odd ["odd", "Nameless.", ""]
            $ROOT/odd/SKILL.md:1: warning[no-name]: no name in the front matter; the folder's name 'odd' is used; add  name:  to the front matter
        "#]],
    );
}

#[test]
fn missing_description() {
    check(
        "---\nname: odd\n---\nBody.\n",
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no description in the front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
        "#]],
    );
    check(
        "---\nname: odd\ndescription: '  '\n---\nBody.\n",
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no description in the front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
        "#]],
    );
}

#[test]
fn unquoted_colon() {
    check(
        "---\nname: odd\ndescription: Use when: a form is odd\n---\nBody.\n",
        expect![[r#"
            odd ["odd", "Use when: a form is odd", "Body."]
            $ROOT/odd/SKILL.md:3: warning[broken-yaml]: the front matter is not valid YAML (mapping values are not allowed in this context) and was read line by line; quote the value, as in  description: "Use when: ..."
        "#]],
    );
}

#[test]
fn broken_yaml() {
    check(
        "---\nname: odd\ndescription: Odd.\nlicense: [MIT\n---\nBody.\n",
        expect![[r#"
            odd ["odd", "Odd.", "Body."]
            $ROOT/odd/SKILL.md:4: warning[broken-yaml]: the front matter is not valid YAML (unclosed bracket '[') and was read line by line; write  key: value  lines, with quotes around a value that YAML misreads
        "#]],
    );
    check(
        "---\nname: odd\nname: even\ndescription: Twice.\n---\n",
        expect![[r#"
            odd ["odd", "Twice.", ""]
            $ROOT/odd/SKILL.md:3: warning[broken-yaml]: the front matter is not valid YAML (duplicate mapping key: name not allowed here) and was read line by line; keep one of the two; the first was used
        "#]],
    );
    check(
        "---\n- a list\n- no map\n---\nBody.\n",
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no description in the front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
            $ROOT/odd/SKILL.md:2: warning[broken-yaml]: the front matter is not valid YAML (expected mapping start) and was read line by line; write  key: value  lines, with quotes around a value that YAML misreads
        "#]],
    );
    check(
        "---\nname: odd\ndescription: [not, text]\n---\nBody.\n",
        expect![[r#"
            odd ["odd", "[not, text]", "Body."]
            $ROOT/odd/SKILL.md:3: warning[broken-yaml]: the front matter is not valid YAML (expected string scalar) and was read line by line; write  key: value  lines, with quotes around a value that YAML misreads
        "#]],
    );
}

/// Ten levels of nine aliases each would be billions of values.
#[test]
fn alias_bomb() {
    let mut text = String::from("---\nname: odd\ndescription: Boom.\na: &a [x,x,x,x,x,x,x,x,x]\n");
    for (this, last) in "bcdefghijk".chars().zip("abcdefghij".chars()) {
        text += &format!("{this}: &{this} [{}]\n", vec![format!("*{last}"); 9].join(","));
    }
    check(
        text + "---\nBody.\n",
        expect![[r#"
            odd ["odd", "Boom.", "Body."]
            $ROOT/odd/SKILL.md:4: note[unknown-field]: fields no agent we know reads: a, b, c, d, e, f, g, h, i, j, k; put your own data below  metadata:
            $ROOT/odd/SKILL.md:8: warning[broken-yaml]: the front matter is not valid YAML (YAML document too large or too complex) and was read line by line; write  key: value  lines, with quotes around a value that YAML misreads
        "#]],
    );
}

#[test]
fn over_long_fields() {
    let name = "n".repeat(65);
    let description = "d".repeat(1025);
    let compatibility = "c".repeat(501);
    check(
        format!(
            "---\nname: {name}\ndescription: {description}\ncompatibility: {compatibility}\n---\n"
        ),
        expect![[r#"
            odd ["nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", "dddddddddddddddddddddddddddddddddddddddd", ""]
            $ROOT/odd/SKILL.md:2: warning[name-form]: the name 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…' is not 1 to 64 lower-case letters, digits and single hyphens; rename the skill and its folder
            $ROOT/odd/SKILL.md:2: warning[name-not-folder]: the name 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…' is not the folder's name 'odd'; rename one of them: agents that follow the specification expect both to be equal
            $ROOT/odd/SKILL.md:3: warning[long-description]: the description has 1025 characters, the limit is 1024; shorten it: agents cut or drop what is longer
            $ROOT/odd/SKILL.md:4: warning[compatibility-form]: compatibility is not a text of at most 500 characters; shorten it
        "#]],
    );
}

#[test]
fn limits_count_characters() {
    let description = "描".repeat(1024);
    check(
        format!("---\nname: odd\ndescription: {description}\n---\n"),
        expect![[r#"
            odd ["odd", "描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描描", ""]
        "#]],
    );
}

#[test]
fn names_against_the_specification() {
    check(
        "---\nname: even\ndescription: Elsewhere.\n---\n",
        expect![[r#"
            odd ["even", "Elsewhere.", ""]
            $ROOT/odd/SKILL.md:2: warning[name-not-folder]: the name 'even' is not the folder's name 'odd'; rename one of them: agents that follow the specification expect both to be equal
        "#]],
    );
    check(
        "---\nname: Odd--Skill\ndescription: Badly formed.\n---\n",
        expect![[r#"
            odd ["Odd--Skill", "Badly formed.", ""]
            $ROOT/odd/SKILL.md:2: warning[name-form]: the name 'Odd--Skill' is not 1 to 64 lower-case letters, digits and single hyphens; rename the skill and its folder
            $ROOT/odd/SKILL.md:2: warning[name-not-folder]: the name 'Odd--Skill' is not the folder's name 'odd'; rename one of them: agents that follow the specification expect both to be equal
        "#]],
    );
    check(
        "---\nname: claude-odd\ndescription: Reserved, <b>and</b> marked up.\n---\n",
        expect![[r#"
            odd ["claude-odd", "Reserved, <b>and</b> marked up.", ""]
            $ROOT/odd/SKILL.md:2: warning[name-not-folder]: the name 'claude-odd' is not the folder's name 'odd'; rename one of them: agents that follow the specification expect both to be equal
            $ROOT/odd/SKILL.md:2: warning[reserved-name]: names like 'claude-odd' are reserved by Anthropic; choose another prefix
            $ROOT/odd/SKILL.md:3: warning[angle-brackets]: the description holds '<' or '>'; some validators reject the skill: write the words instead
        "#]],
    );
}

/// Findings are lines on a terminal, whatever a name holds.
#[test]
fn control_characters_stay_out_of_findings() {
    check(
        "---\nname: \"o\\ndd\\e[31m\"\ndescription: Odd.\n---\n",
        expect![[r#"
            odd ["o\ndd\u{1b}[31m", "Odd.", ""]
            $ROOT/odd/SKILL.md:2: warning[name-form]: the name 'o\ndd\u{1b}[31m' is not 1 to 64 lower-case letters, digits and single hyphens; rename the skill and its folder
            $ROOT/odd/SKILL.md:2: warning[name-not-folder]: the name 'o\ndd\u{1b}[31m' is not the folder's name 'odd'; rename one of them: agents that follow the specification expect both to be equal
        "#]],
    );
}

#[test]
fn other_fields() {
    check(
        "---\nname: odd\ndescription: Odd.\nlicense: MIT\nversion: 2\nauthor: me\n---\n",
        expect![[r#"
            odd ["odd", "Odd.", ""]
            $ROOT/odd/SKILL.md:5: note[unknown-field]: fields no agent we know reads: author, version; put your own data below  metadata:
        "#]],
    );
    check(
        "---\nname: odd\ndescription: Odd.\nmetadata: a text\n---\n",
        expect![[r#"
            odd ["odd", "Odd.", ""]
            $ROOT/odd/SKILL.md:4: warning[metadata-form]: metadata is not a map from text to text; write one  key: value  per line below metadata
        "#]],
    );
    check(
        "---\nname: odd\ndescription: Odd.\nmetadata:\n  tags: [a, b]\n---\n",
        expect![[r#"
            odd ["odd", "Odd.", ""]
            $ROOT/odd/SKILL.md:4: warning[metadata-form]: metadata is not a map from text to text; write one  key: value  per line below metadata
        "#]],
    );
}

#[test]
fn block_scalars() {
    check(
        "---\nname: odd\ndescription: |\n  One: two.\n  Three.\n---\n",
        expect![[r#"
            odd ["odd", "One: two.\nThree.", ""]
        "#]],
    );
    check(
        "---\nname: odd\ndescription: >-\n  One\n  two.\n\n  Three.\n---\n",
        expect![[r#"
            odd ["odd", "One two.\nThree.", ""]
        "#]],
    );
}

/// The look for each field's line took time in the square of their number: an hour for this many.
#[test]
fn more_fields_than_anyone_writes() {
    let fields: String = (0..200_000).map(|at| format!("field-{at}: v\n")).collect();
    check(
        format!("---\n{fields}name: odd\ndescription: Odd.\n---\nBody.\n"),
        expect![[r#"
            odd ["odd", "Odd.", "Body."]
            $ROOT/odd/SKILL.md:1: warning[large-front-matter]: the front matter has 200002 fields and 3017 KiB; only name, description and what reserves the skill were read; keep it below 512 fields and 64 KiB: what agents need is name and description
        "#]],
    );
}

#[test]
fn more_front_matter_than_anyone_writes() {
    let license = "x".repeat(1 << 20);
    check(
        format!(
            "---\nname: odd\nlicense: {license}\ndescription: Odd.\ndisable-model-invocation: true\n---\nBody.\n"
        ),
        expect![[r#"
            withheld odd ["odd", "Odd.", "Body."]
            $ROOT/odd/SKILL.md:1: warning[large-front-matter]: the front matter has 4 fields and 1025 KiB; only name, description and what reserves the skill were read; keep it below 512 fields and 64 KiB: what agents need is name and description
        "#]],
    );
}

#[test]
fn a_finding_quotes_a_few_fields() {
    let name = "f".repeat(100);
    let fields: String = (0..400).map(|at| format!("{name}-{at:03}: v\n")).collect();
    let text = format!("---\nname: odd\ndescription: Odd.\n{fields}---\nBody.\n");
    let loaded = Fixture::new().file("odd/SKILL.md", text).load("");
    let [finding] = &loaded.diagnostics[..] else { panic!("{:?}", loaded.diagnostics) };
    assert_eq!((finding.rule, finding.line), ("unknown-field", Some(4)));
    assert!(finding.message.ends_with("f… and 380 more"), "{}", finding.message);
    assert!(finding.message.len() < 2000, "{}", finding.message.len());
}

/// Depth, aliases and separators without end: each is over after as many bytes as the parser needs
/// to see it, and the reading by lines keeps the skill.
#[test]
fn front_matter_without_end() {
    let endless = [
        format!("a: {}", "[".repeat(60_000)),
        format!("a: {}", "{b: ".repeat(15_000)),
        format!(
            "a:\n{}",
            (1..300).map(|depth| format!("{}-\n", " ".repeat(depth))).collect::<String>()
        ),
        format!("a:\n  {}", "? ".repeat(30_000)),
        format!("a: &a x\nb: [{}]", "*a,".repeat(20_000)),
        "a: &a [*a]\nb: *b".to_owned(),
        format!("a: {}", ": ".repeat(30_000)),
        format!("a: \"{}", "\\n".repeat(30_000)),
        format!("a: {}", "!x ".repeat(20_000)),
    ];
    for head in endless {
        let policy = format!("policy:\n  allow_implicit_invocation: false\n{head}\n");
        let text = format!("---\nname: odd\ndescription: Odd.\n{head}\n---\nBody.\n");
        let fixture = Fixture::new()
            .file("odd/SKILL.md", text)
            .skill("policy")
            .file("policy/agents/openai.yaml", policy);
        let loaded = fixture.load("");
        let shown = fixture.shown(&loaded);
        assert!(shown.contains("odd [\"odd\", \"Odd.\", \"Body.\"]\n"), "{shown}");
        assert!(shown.contains("warning[broken-yaml]"), "{shown}");
        assert!(shown.contains("warning[broken-policy]"), "{shown}");
        assert!(shown.len() < 2000, "{}", shown.len());
    }
}

/// A file of separators, and one that opens a head and never closes it.
#[test]
fn many_separators() {
    check(
        "---\n".repeat(1 << 20),
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no description in the front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
        "#]],
    );
    check(
        "---\nname: odd\ndescription: Odd.\n".to_owned() + &"- --\n".repeat(1 << 20),
        expect![[r#"
            odd ["odd", "Odd. - -- - -- - -- - -- - -- - -- - -- ", ""]
            $ROOT/odd/SKILL.md:1: warning[large-front-matter]: the front matter has 2 fields and 5121 KiB; only name, description and what reserves the skill were read; keep it below 512 fields and 64 KiB: what agents need is name and description
            $ROOT/odd/SKILL.md:1: warning[unclosed-front-matter]: no '---' line closes the front matter; put '---' on a line of its own after the last field
            $ROOT/odd/SKILL.md:3: warning[long-description]: the description has 5242884 characters, the limit is 1024; shorten it: agents cut or drop what is longer
        "#]],
    );
}

#[test]
fn a_name_of_a_megabyte() {
    let name = "n".repeat(1 << 20);
    let fixture =
        Fixture::new().file("odd/SKILL.md", format!("---\nname: {name}\ndescription: Odd.\n---\n"));
    let loaded = fixture.load("");
    assert_eq!(loaded.value.skills()[0].name, format!("{}…", &name[..255]));
    expect![[r#"
        odd ["nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", "Odd.", ""]
        $ROOT/odd/SKILL.md:1: warning[large-front-matter]: the front matter has 2 fields and 1025 KiB; only name, description and what reserves the skill were read; keep it below 512 fields and 64 KiB: what agents need is name and description
        $ROOT/odd/SKILL.md:2: warning[long-name]: a name of 1048576 characters, cut to 256; shorten it: the specification allows 64 characters
        $ROOT/odd/SKILL.md:2: warning[name-form]: the name 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…' is not 1 to 64 lower-case letters, digits and single hyphens; rename the skill and its folder
        $ROOT/odd/SKILL.md:2: warning[name-not-folder]: the name 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…' is not the folder's name 'odd'; rename one of them: agents that follow the specification expect both to be equal
    "#]]
    .assert_eq(&fixture.shown(&loaded));
}

/// What a text holds is kept as it is, except line ends; those who print it escape it.
#[test]
fn control_characters_in_the_text() {
    check(
        "---\nname: odd\ndescription: a\u{7f}b\u{85}c\n---\nNUL \0, escape \u{1b}[31m, bell \u{7}, return \r.\n",
        expect![[r#"
            odd ["odd", "a\u{7f}b\u{85}c", "NUL \0, escape \u{1b}[31m, bell \u{7}, return \r."]
            $ROOT/odd/SKILL.md:3: warning[broken-yaml]: the front matter is not valid YAML (unexpected character: `\u{7f}') and was read line by line; write  key: value  lines, with quotes around a value that YAML misreads
        "#]],
    );
    check(
        "---\nname: odd\ndescription: \"NUL \0\"\n---\n",
        expect![[r#"
            odd ["odd", "NUL \0", ""]
            $ROOT/odd/SKILL.md:3: warning[broken-yaml]: the front matter is not valid YAML (unexpected character: `\u{0}') and was read line by line; write  key: value  lines, with quotes around a value that YAML misreads
        "#]],
    );
    check(
        vec![0; 1000],
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
        "#]],
    );
}

#[test]
fn utf_16() {
    let text = "---\nname: odd\ndescription: From another editor.\n---\n";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    check(
        [vec![0xff, 0xfe], bytes].concat(),
        expect![[r#"
            $ROOT/odd/SKILL.md:1: error[no-description]: no front matter; add  description: what the skill does and when to use it  between two '---' lines at the top
            $ROOT/odd/SKILL.md:1: warning[not-utf8]: holds bytes that are not UTF-8; save the file as UTF-8; each stray byte was read as U+FFFD
        "#]],
    );
}
