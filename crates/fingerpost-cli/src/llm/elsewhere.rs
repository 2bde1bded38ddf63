//! Prompts that are answered elsewhere, or not at all: `--dry-run`, `--emit`, `--ingest`, `--batch`.

use std::fmt::{Debug, Display};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fingerpost_models::campaign::{
    AnswerFile, Batched, Errand, Ingest, Ingested, Lines, Plan, RejectedLine,
};
use serde::Serialize;
use serde_json::json;

use super::args::{ElsewhereArgs, ModelArgs};
use super::model::{Model, told};
use crate::args::Global;
use crate::follow::{Follower, Told};
use crate::output::{self, FAINT, STRONG, UsageError, cut, plain, plural, thousands};
use crate::progress::time;

/// Bad lines that are shown one by one.
const SHOWN: usize = 10;

/// Work for a model, and how the arguments want it answered.
pub(crate) struct Elsewhere<'a, T, E: Debug + Display> {
    pub(crate) errand: Errand<'a, T, E>,
    pub(crate) model: &'a Model,
    pub(crate) server: &'a ModelArgs,
    pub(crate) how: &'a ElsewhereArgs,
    pub(crate) global: &'a Global,
    /// Who follows it, where that is nobody at a terminal.
    pub(crate) follower: Option<&'a Arc<Follower>>,
    /// What is wanted: a "page" or a "request" to be answered, and how many.
    pub(crate) noun: &'static str,
    pub(crate) wanted: usize,
    /// Whose pages are wanted.
    pub(crate) whose: Vec<&'a str>,
}

/// The contract of `--dry-run --json`.
#[derive(Serialize)]
struct PlanAnswer<'a> {
    model: &'a str,
    calls: usize,
    known: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<usize>,
    /// Whose pages are wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skills: Vec<&'a str>,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    /// `None` if the model has no price.
    cost_usd: Option<f64>,
    seconds: f64,
}

impl<T, E: Debug + Display + Into<anyhow::Error>> Elsewhere<'_, T, E> {
    /// Says what would be asked, or writes it to a file, if no more is wanted.
    pub(crate) fn tell_or_emit(&self) -> anyhow::Result<()> {
        match &self.how.emit {
            Some(file) => self.emit(file),
            None => self.tell_plan(),
        }
    }

    /// Writes what the ledger cannot answer, one prompt a line.
    fn emit(&self, file: &Path) -> anyhow::Result<()> {
        let Lines { text, prompts, known } = self.errand.lines().map_err(told)?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
        if self.global.json {
            let file = file.display().to_string();
            return output::print_json(&json!({"emitted": prompts, "known": known, "file": file}));
        }
        let prompts = plural(prompts, "prompt");
        let line = format!(
            "wrote {prompts} to {}; bring the answers back with --ingest ({known} are here already)",
            file.display()
        );
        output::say(self.global, &line);
        Ok(())
    }

    fn tell_plan(&self) -> anyhow::Result<()> {
        let concurrency = self.server.concurrency.get() as usize;
        let plan = self.errand.plan(concurrency, self.how.batch.is_some()).map_err(told)?;
        if let Some(follower) = self.follower {
            follower.tell(Told::Plan(&plan));
            return Ok(());
        }
        let Plan { calls, known, usage, cost, seconds } = plan;
        let model = self.model.campaign.model();
        if self.global.json {
            let wanted = |noun: &str| (self.noun == noun).then_some(self.wanted);
            return output::print_json(&PlanAnswer {
                model,
                calls,
                known,
                pages: wanted("page"),
                requests: wanted("request"),
                skills: self.whose.clone(),
                input_tokens: usage.input,
                cached_tokens: usage.cached,
                output_tokens: usage.output,
                cost_usd: cost,
                seconds,
            });
        }
        let mut out = anstream::stdout().lock();
        let (calls, wanted) = (plural(calls, "call"), plural(self.wanted, self.noun));
        writeln!(out, "{STRONG}{calls}{STRONG:#} to {model} for {wanted}")?;
        if !self.whose.is_empty() {
            let shown: Vec<String> =
                self.whose.iter().take(SHOWN).map(|id| cut(id, 60).to_string()).collect();
            let more = match self.whose.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {} more", thousands(more)),
            };
            writeln!(out, "  pages   {}{more}", shown.join(", "))?;
        }
        if known > 0 {
            let known = thousands(known as usize);
            writeln!(out, "  known   {known} answers are in the ledger already")?;
        }
        let [input, cached, written] =
            [usage.input, usage.cached, usage.output].map(|tokens| thousands(tokens as usize));
        writeln!(
            out,
            "  input   about {input} tokens, {cached} of them from the server's cache, if it has one"
        )?;
        writeln!(out, "  output  about {written} tokens")?;
        match cost {
            Some(cost) => writeln!(out, "  price   about ${cost:.4}")?,
            None => writeln!(out, "  price   not known; --prices names a file that knows it")?,
        }
        writeln!(out, "  time    about {}", time(seconds))?;
        writeln!(
            out,
            "{FAINT}Answers that fail their checks are asked for again, at most {} times in all; nothing was asked now.{FAINT:#}",
            self.errand.attempts
        )?;
        Ok(())
    }

    /// Takes answers from files, then does what can be done.
    pub(crate) fn ingest(&self) -> anyhow::Result<Ingest<T>> {
        let read = |file: &std::path::PathBuf| {
            let name = file.display().to_string();
            match fs::read_to_string(file) {
                Ok(text) => Ok(AnswerFile { name, text }),
                Err(error) => Err(UsageError::new(format!("cannot read {name}: {error}"))),
            }
        };
        let files = self.how.ingest.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let ingest = self.errand.ingest(&files).map_err(told)?;
        tell_ingested(&ingest.ingested, self.global);
        Ok(ingest)
    }

    /// Has a batch service answer.
    pub(crate) fn batch(&self) -> anyhow::Result<Batched<T>> {
        let poll = Duration::try_from_secs_f64(self.how.poll).unwrap_or(Duration::ZERO);
        let poll = poll.clamp(Duration::from_millis(50), Duration::from_secs(3600));
        let batched = self.errand.batch(poll).map_err(told);
        self.model.teller.finish();
        batched
    }
}

fn tell_ingested(ingested: &Ingested, global: &Global) {
    let say = |line: &str| output::say(global, line);
    let Ingested { accepted, again, missing, next, rejected } = ingested;
    say(&format!("{} taken, {again} were here already", plural(*accepted, "answer")));
    for RejectedLine { file, line, why } in rejected.iter().take(SHOWN) {
        say(&format!("  {file}:{line} was not taken: {}", plain(why)));
    }
    if rejected.len() > SHOWN {
        say(&format!("  and {} more", rejected.len() - SHOWN));
    }
    if *missing > 0 {
        say(&format!("{} still missing", plural(*missing, "answer")));
    }
    if *next > 0 {
        let answers = plural(*next, "answer");
        say(&format!("{answers} failed the checks: --emit writes the prompts of another round"));
    }
}
