//! `cargo xtask ci doors`: do clients and test suites that others wrote get on with our doors?
//!
//! What they need is installed into target/doors. Where a registry does not answer, the steps that need it are
//! left out, and a line that begins with SKIPPED says so; anything else that goes wrong is a failure. A new
//! step is a row of [`STEPS`].

mod conformance;
mod kit;
mod web;

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

use self::kit::{Kit, Missing, Need};

/// One client or test suite.
struct Step {
    name: &'static str,
    needs: &'static [Need],
    run: fn(&Kit) -> anyhow::Result<()>,
}

/// All of them, in their order.
const STEPS: [Step; 7] = [
    Step { name: "MCP: the official Python client", needs: &[Need::Python], run: python_client },
    Step { name: "MCP: the TypeScript SDK", needs: &[Need::Node], run: typescript_client },
    Step { name: "MCP: the inspector", needs: &[Need::Node], run: inspector },
    Step { name: "MCP: the conformance suite", needs: &[Need::Node], run: conformance::run },
    Step { name: "HTTP: schemathesis", needs: &[Need::Python], run: schemathesis },
    Step { name: "page: the committed files", needs: &[Need::Node, Need::Page], run: web::fresh },
    Step {
        name: "page: a browser",
        needs: &[Need::Node, Need::Page, Need::Browser],
        run: web::browser,
    },
];

/// Runs those whose names have one of these words in them; all, if there are none.
pub(crate) fn run(words: &[String]) -> anyhow::Result<()> {
    let start = Instant::now();
    let kit = Kit::make()?;
    let mut skipped = Vec::new();
    let is_meant = |step: &&Step| {
        words.is_empty() || words.iter().any(|word| step.name.to_lowercase().contains(word))
    };
    for step in STEPS.iter().filter(is_meant) {
        eprintln!("\n== {}", step.name);
        let needed = step.needs.iter().try_for_each(|need| kit.have(*need));
        match needed {
            Ok(()) => (step.run)(&kit).with_context(|| format!("{} failed", step.name))?,
            Err(Missing::Unreachable(why)) => {
                eprintln!("SKIPPED: {}: {why}", step.name);
                skipped.push(step.name);
            }
            Err(Missing::Broken(error)) => return Err(error),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    match skipped.is_empty() {
        true => eprintln!("\nall doors green after {seconds:.0} s"),
        false => eprintln!(
            "\nSKIPPED: {}; the other doors are green after {seconds:.0} s",
            skipped.join(", ")
        ),
    }
    Ok(())
}

/// The library that clients talk about.
const LIBRARY: &str = "examples/library";

fn python_client(kit: &Kit) -> anyhow::Result<()> {
    let server = kit.serve(LIBRARY)?;
    let mut command = Command::new(kit.python()?);
    command.args(["-W", "ignore", "tests/doors/client.py"]).arg(&kit.program).arg(LIBRARY);
    well(command.arg(server.mcp()))
}

fn typescript_client(kit: &Kit) -> anyhow::Result<()> {
    let server = kit.serve(LIBRARY)?;
    let mut command = kit.node()?;
    command.arg(kit.root.join("tests/doors/client.mjs")).arg(&kit.program);
    well(command.arg(kit.root.join(LIBRARY)).arg(server.mcp()))
}

/// Requests that nobody would think of, made from the server's own description.
fn schemathesis(kit: &Kit) -> anyhow::Result<()> {
    let mut command = Command::new(kit.python()?);
    command.arg(kit.root.join("tests/doors/schemathesis_run.py")).arg(&kit.program);
    well(command.arg(kit.root.join(LIBRARY)))
}

/// What people look at a server with: it must list and call.
fn inspector(kit: &Kit) -> anyhow::Result<()> {
    let asked: [(&[&str], &str); 4] = [
        (&["--method", "tools/list"], "\"search_skills\""),
        (
            &[
                "--method",
                "tools/call",
                "--tool-name",
                "route_skill",
                "--tool-arg",
                "request=QT 380 at 72 bpm, square root",
            ],
            "qt-correction/qtc-bazett",
        ),
        (&["--method", "resources/list"], "skill://qt-correction/qtc-bazett/SKILL.md"),
        (&["--method", "prompts/list"], "choose_skill"),
    ];
    for (arguments, expected) in asked {
        let mut command = kit.node()?;
        command.args([
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
            "--cli",
        ]);
        command.arg(&kit.program).args(["mcp", "--library"]).arg(kit.root.join(LIBRARY));
        command.arg("--atlas").arg(kit.folder.join("inspector-atlas")).args(arguments);
        let output = command.output().context("cannot start the inspector")?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.contains(expected) {
            let talk = String::from_utf8_lossy(&output.stderr);
            bail!("{}: no {expected} in {said}\n{talk}", arguments.join(" "));
        }
        eprintln!("  {}", arguments[1]);
    }
    Ok(())
}

fn well(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}
