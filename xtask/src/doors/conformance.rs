//! The conformance suite of MCP against our server over HTTP.
//!
//! Some scenarios ask for things by the names of the suite's own test server. Where ours has the like, a relay
//! renames what is asked for (tests/doors/relay.mjs) and the answers are judged as they are; the
//! others do not apply, and are listed with the reason.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context, bail};

use super::kit::Kit;

/// Scenarios that any server can be asked.
const DIRECT: [&str; 11] = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "logging-set-level",
    "resources-subscribe",
    "resources-unsubscribe",
    "server-sse-multiple-streams",
    "server-sse-polling",
    "dns-rebinding-protection",
];

/// Scenarios that are asked through the relay.
const RELAYED: [&str; 4] = [
    "resources-read-text",
    "resources-templates-read",
    "prompts-get-with-args",
    "completion-complete",
];

/// The others, and why not.
const NOT_OURS: [(&str, &str); 3] = [
    (
        "tools-call-* (simple-text, image, audio, embedded-resource, mixed-content, with-logging, error, with-progress, sampling, elicitation), elicitation-sep1034-defaults, elicitation-sep1330-enums",
        "they call tools of the suite's own test server; ours never asks the client for anything",
    ),
    (
        "json-schema-2020-12",
        "it looks at one tool of the suite's own; the Python client checks the schemas of all of ours against the same draft",
    ),
    (
        "resources-read-binary, prompts-get-simple, prompts-get-embedded-resource, prompts-get-with-image",
        "they read a resource and prompts of the suite's own, without arguments or with pictures",
    ),
];

/// The skills that the relayed scenarios ask for: the file of each, and its text.
const SKILLS: [(&str, &str); 4] = [
    (
        "static-text/SKILL.md",
        "---\nname: static-text\ndescription: Reads a text that stays as it is.\n---\n# Static\n",
    ),
    (
        "template/123/SKILL.md",
        "---\nname: \"123\"\ndescription: Fills in the template number 123.\n---\n# Template\n",
    ),
    ("template/123/data", "data of 123\n"),
    (
        "testvalue1/SKILL.md",
        "---\nname: testvalue1\ndescription: Puts test values into their places.\n---\n# Values\n",
    ),
];

pub(super) fn run(kit: &Kit) -> anyhow::Result<()> {
    let library = "target/doors/conformance";
    for (file, text) in SKILLS {
        let path = kit.root.join(library).join(file);
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(path, text)?;
    }
    let server = kit.serve(library)?;
    for scenario in DIRECT {
        ask(kit, scenario, &server.mcp())?;
    }
    let relay = Relay::start(kit, &server.mcp())?;
    for scenario in RELAYED {
        ask(kit, scenario, &relay.url)?;
    }
    for (scenarios, why) in NOT_OURS {
        eprintln!("  not asked: {scenarios}: {why}");
    }
    Ok(())
}

fn ask(kit: &Kit, scenario: &str, url: &str) -> anyhow::Result<()> {
    let mut command = kit.node()?;
    command.args(["node_modules/@modelcontextprotocol/conformance/dist/index.js", "server"]);
    command.args(["--url", url, "--scenario", scenario]);
    let output = command.output().context("cannot start the suite")?;
    if !output.status.success() {
        let [said, talk] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        bail!("{scenario}: {said}\n{talk}");
    }
    eprintln!("  {scenario}");
    Ok(())
}

/// A relay, until dropped.
struct Relay {
    child: Child,
    url: String,
}

impl Relay {
    fn start(kit: &Kit, target: &str) -> anyhow::Result<Self> {
        let mut command = kit.node()?;
        command.arg(kit.root.join("tests/doors/relay.mjs")).arg(target);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        let output = child.stdout.take().context("its output is a pipe")?;
        BufReader::new(output).read_line(&mut url)?;
        Ok(Self { child, url: url.trim().to_owned() })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
