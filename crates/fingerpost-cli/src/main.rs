//! The `fingerpost` command: one file a verb, each converting arguments, calling the library and
//! printing what it answers.

mod args;
mod atlas;
mod compile;
mod diff;
mod doctor;
mod embedder;
mod encoder;
mod eval;
mod explain;
mod export;
mod follow;
mod hook;
mod import;
mod install;
mod lab;
mod label;
mod ledger;
mod live;
mod llm;
mod mcp;
mod model;
mod neighbors;
mod output;
mod page;
mod progress;
mod route;
mod schema;
mod search;
mod serve;
mod shell;
mod source;
mod table;
mod tour;
mod version;
mod watch;
mod worker;

use std::process::ExitCode;

use fingerpost::sections::FileError;

use crate::args::{Arguments, Verb};
use crate::output::Exit;

fn main() -> ExitCode {
    let mut arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && hook::is_asked_for() => {
            // Any other exit code stops the prompt that the hook was called for.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => error.exit(),
    };
    arguments.global.color.write_global();
    if let Some(threads) = arguments.global.threads {
        // The only way this fails is a pool that exists already, and none does yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
    }
    let mut done = run(&arguments);
    if done.as_ref().is_err_and(is_damage) {
        // Files are read as far as an answer needs them, so damage may show in the middle of it.
        // Nothing was printed yet: what is damaged is made again, and the answer too.
        arguments.global.heal = true;
        done = run(&arguments);
    }
    match done {
        Ok(exit) => exit.into(),
        Err(error) => output::report(&error),
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Some(verb) = &arguments.verb else { return tour::run(&arguments.global) };
    match verb {
        Verb::Compile(compile) => compile::run(compile, &arguments.global),
        Verb::Route(route) => route::run(route, &arguments.global),
        Verb::Explain(explain) => explain::run(explain, &arguments.global),
        Verb::Search(search) => search::run(search, &arguments.global),
        Verb::Neighbors(neighbors) => neighbors::run(neighbors, &arguments.global),
        Verb::Diff(diff) => diff::run(diff, &arguments.global),
        Verb::Atlas(verb) => atlas::run(verb, &arguments.global),
        Verb::Page(verb) => page::run(verb, &arguments.global),
        Verb::Export(export) => export::run(export, &arguments.global),
        Verb::Import(import) => import::run(import, &arguments.global),
        Verb::Eval(eval) => eval::run(eval, &arguments.global),
        Verb::Lab(verb) => lab::run(verb, &arguments.global),
        Verb::Ledger(ledger) => ledger::run(ledger, &arguments.global),
        Verb::Serve(serve) => serve::run(serve, &arguments.global),
        Verb::Doctor(doctor) => doctor::run(doctor, &arguments.global),
        Verb::Model(model) => model::run(model, &arguments.global),
        Verb::Mcp(mcp) => mcp::run(mcp, &arguments.global),
        Verb::Hook(verb) => Ok(hook::run(verb, &arguments.global)),
        Verb::Install(install) => install::run(install, &arguments.global),
        Verb::Uninstall(uninstall) => install::undo(uninstall, &arguments.global),
        Verb::Watch(watch) => watch::run(watch, &arguments.global),
        Verb::Worker(worker) => worker::run(worker, &arguments.global),
        Verb::Completions(completions) => shell::completions(completions),
        Verb::Schema(schema) => schema::run(schema),
        Verb::Man(manual) => shell::manual(manual, &arguments.global),
    }
}

/// Is a file of the atlas not what was written?
pub(crate) fn is_damage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<FileError>())
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
