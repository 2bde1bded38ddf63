//! 13. What do compiling a library, and changing one skill of it, take?
//!
//! Without a model it is measured: seconds, and pages written. With a model it is the plan of what would be asked,
//! before any answer has to be asked for again: calls, tokens, and the price of a model that has one.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fingerpost::atlas::{Atlas, Budget, Replays};
use fingerpost::compile::{Job, Model, Writer};
use fingerpost::library::Library;
use fingerpost::page::llm::{LlmConfig, Neighborhood, Unit};
use fingerpost::page::prompt::{LanguageChoice, PromptConfig};
use fingerpost::prompt::Templates;
use fingerpost::protocol::{Against, Protocol};
use fingerpost_models::campaign::{Campaign, Errand, PageWork, Plan};
use fingerpost_models::{Api, ChatConfig, Prices};

use crate::experiment::Experiment;
use crate::judged::JudgedError;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Figure, Outcome, Table};

/// A model whose price is known.
const PRICED: &str = "gpt-4o-mini";

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let columns = [
        "library",
        "skills",
        "local: seconds",
        "after one change: seconds",
        "pages written anew",
        "by a model: calls",
        "input tokens, thousands",
        "output tokens, thousands",
        "US dollars",
    ];
    let title = "Compiling without a model, changing one skill, and what a model would be asked";
    let mut table = Table::new("cost", title, &columns);
    for name in &experiment.data {
        let judged = match crate::judged::Judged::open(name, &lab.places) {
            Ok(judged) => judged,
            Err(missing @ JudgedError::Missing { .. }) => {
                lab.left_out(&mut outcome, missing.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        lab.doing(format!("{name}: compiling {} skills", judged.library.skills().len()));
        let costs = costs(&judged.library, experiment.seed)?;
        let thousands = |tokens: u64| Figure::number(tokens as f64 / 1000.0, 0).into();
        table.row(vec![
            Cell::from(name.as_str()),
            Cell::count(judged.library.skills().len()),
            Figure::number(costs.seconds, 1).into(),
            Figure::number(costs.update_seconds, 1).into(),
            Cell::count(costs.rewritten),
            Cell::count(costs.plan.calls),
            thousands(costs.plan.usage.input),
            thousands(costs.plan.usage.output),
            costs.plan.cost.map_or(Cell::none(), |cost| Figure::number(cost, 2).into()),
        ]);
        outcome.figure(format!("{name} calls"), costs.plan.calls as f64);
        outcome.figure(format!("{name} pages rewritten"), costs.rewritten as f64);
    }
    outcome.tables.push(table);
    outcome.note(format!(
        "Times are of this machine and this build. A model is asked one prompt a skill; tokens of answers are what pages take as a rule, without reasoning; dollars are those of {PRICED} by the built-in table of prices."
    ));
    Ok(outcome)
}

struct Costs {
    seconds: f64,
    update_seconds: f64,
    rewritten: usize,
    plan: Plan,
}

fn costs(library: &Library, seed: u64) -> Result<Costs, LabError> {
    let atlas = Atlas::in_memory();
    let protocol = Protocol::ours();
    let begun = Instant::now();
    atlas.compile(library, &protocol).map_err(JudgedError::from)?;
    let seconds = begun.elapsed().as_secs_f64();
    let plan = plan(&atlas, library, seed)?;
    let mut skills = library.skills().to_vec();
    let middle = skills.len() / 2;
    skills[middle].description.push_str(" It also tells how long that took.");
    let begun = Instant::now();
    let changed = Library::from_skills(skills).value;
    let (_, report) = atlas.compile(&changed, &protocol).map_err(JudgedError::from)?;
    let update_seconds = begun.elapsed().as_secs_f64();
    Ok(Costs { seconds, update_seconds, rewritten: report.written, plan })
}

/// What a model would be asked for all pages.
fn plan(atlas: &Atlas, library: &Library, seed: u64) -> Result<Plan, LabError> {
    let told = |error: &dyn std::fmt::Display| LabError::Model(error.to_string());
    let chat = ChatConfig::new(Api::OpenAi, PRICED.to_owned());
    let price = Prices::at(&chat.base_url, PRICED, None);
    let ledger = atlas.ledger(Replays::All).map_err(|error| told(&error))?;
    let budget = Budget { max_cost: None, max_calls: None };
    let campaign =
        Campaign::new(chat, price, budget, ledger, Arc::new(AtomicBool::new(false)), |_| {})
            .map_err(|error| told(&error))?;
    let protocol = Protocol::ours();
    let config = LlmConfig {
        unit: Unit::Focal,
        prompt: PromptConfig {
            language: LanguageChoice::default(),
            context_tokens: 16_000,
            page_tokens: 2_000,
            temperature: 0.2,
            seed,
            alone: protocol.writing.alone,
            templates: Templates::ours(),
        },
        attempts: 1,
        concurrency: 4,
    };
    let identity = config.identity(PRICED, Against::Neighborhood);
    let planned = RefCell::new(None);
    let write = |neighborhoods: &[Neighborhood<'_>], _: &(dyn Fn(&_, &_) + Sync)| {
        let pages = PageWork {
            campaign: &campaign,
            config: config.clone(),
            neighborhoods,
            on_page: &|_, _| (),
        };
        let errand = Errand { campaign: &campaign, attempts: 1, pass: &|| pages.pass() };
        *planned.borrow_mut() = Some(errand.plan(4, false));
    };
    let job = Job {
        writer: Writer::Model(Model { identity, write: &write }),
        ..Job::new(library, &protocol)
    };
    let claim = atlas.claim().map_err(|error| told(&error))?;
    atlas.compile_as(&job, &claim).map_err(JudgedError::from)?;
    let planned = planned.into_inner().ok_or_else(|| told(&"nothing was to be written"))?;
    planned.map_err(|error| told(&error))
}
