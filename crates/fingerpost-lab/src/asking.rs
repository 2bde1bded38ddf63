//! How is a model asked what is not recorded yet?
//!
//! A reader is asked about one arm of one library at a time: ten candidates by BM25 over the full view, the same
//! in every arm ([`reading`]), and it picks one. A writer of requests is shown one document at a time. An executor solves one request
//! with one skill at a time. Whatever way answers come (a server, a file), each is in the ledger before it is used, and what is made of it is recorded at once.

mod reading;

use std::collections::BTreeMap;
use std::sync::Arc;

use fingerpost::atlas::{Atlas, Ledger, Replays, Spent};
use fingerpost::chat::ChatError;
use fingerpost::route::llm::ChooserConfig;
use fingerpost::store::{Folder, StoreError};
use fingerpost::view::{Cards, document};
use fingerpost_models::campaign::{
    AnswerFile, Answered, Campaign, CampaignError, Choices as Requests, Choosing, Errand, Ingested,
    Lines,
};

use self::reading::{Chosen, Reading, Unread, unread};
use crate::doc2query::{Expected, Writing};
use crate::experiment::{Experiment, Kind};
use crate::judge::bigcodebench::Bench;
use crate::judge::{Judge, Verdict};
use crate::lab::{Lab, LabError, Opened, failed};
use crate::record::{Choice, Choices};
use crate::sandbox::Sandbox;
use crate::solve::sample::{Samples, Wish, chooser};
use crate::solve::solved::{Kept, Solutions, Solved, judged};
use crate::solve::tools::{ToolData, Tools};
use crate::solve::{Drawing, Engine, Solving, Task};

/// Candidates of a request.
const POOL: usize = 10;

/// What a model is wanted for: one piece of work, of one library.
pub struct Wanted {
    /// The library.
    pub opened: Arc<Opened>,
    what: What,
}

enum What {
    /// Choices for requests.
    Choices { cards: Cards, missing: Vec<Unread> },
    /// Requests for skills, by their ids.
    Requests { missing: Vec<String> },
    /// Solutions, and how they are drawn.
    Solutions { missing: Vec<Wish>, temperature: f64, seed: u64, tools: Tools },
}

/// How answers come.
pub enum How {
    /// From a server, so many at a time.
    Server(usize),
    /// From files of answers to prompts that were written before.
    Files(Vec<AnswerFile>),
}

/// What came of asking.
pub struct Came {
    /// What is recorded now.
    pub recorded: usize,
    /// What is still to come.
    pub left: usize,
    /// What it cost.
    pub spent: Spent,
    /// What became of answers from files.
    pub ingested: Option<Ingested>,
    /// What ended it early.
    pub stopped: Option<ChatError>,
}

impl Lab {
    /// The ledger of everything that is asked here.
    pub fn ledger(&self) -> Result<Ledger, StoreError> {
        Atlas::new(Folder::at(self.out.join("ledger"))).ledger(Replays::All)
    }

    /// What a model has not answered yet of an experiment; nothing where none is asked.
    pub fn wanted(&self, experiment: &Experiment, reader: &str) -> Result<Vec<Wanted>, LabError> {
        let recorded = Choices::of(reader, &self.places)?;
        let mut wanted = Vec::new();
        for name in &experiment.data {
            // Of some data sets a few are asked: they are counted among all of the library.
            let requests =
                if experiment.datasets.is_empty() { experiment.requests } else { usize::MAX };
            let opened = self.open(name, requests, experiment.protocol)?;
            let of_this = match experiment.kind {
                Kind::Routing => experiment
                    .cards
                    .iter()
                    .map(|&cards| {
                        let missing = unread(experiment, &opened.judged, &recorded, cards);
                        What::Choices { cards, missing }
                    })
                    .collect(),
                Kind::Doc2query => {
                    let written = Expected::of(name, &self.places)?;
                    let missing = written.missing(&opened.judged.library);
                    vec![What::Requests {
                        missing: missing.into_iter().map(str::to_owned).collect(),
                    }]
                }
                Kind::Solving => self.unsolved(experiment, reader, &opened)?,
                _ => Vec::new(),
            };
            let some = of_this.into_iter().map(|what| Wanted { opened: Arc::clone(&opened), what });
            wanted.extend(some.filter(|wanted| !wanted.is_empty()));
        }
        Ok(wanted)
    }

    fn unsolved(
        &self,
        experiment: &Experiment,
        executor: &str,
        opened: &Opened,
    ) -> Result<Vec<What>, LabError> {
        let judged = &opened.judged;
        let chooser = chooser(executor, experiment, judged, &self.places)?;
        let Some((_, choices)) = chooser else { return Ok(Vec::new()) };
        let solutions = Solutions::of(executor, &self.places)?;
        let samples = Samples::draw(&choices, judged, experiment, &self.places);
        let missing = samples.missing(&judged.name, &solutions);
        let open = |folder: std::path::PathBuf| {
            ToolData::open(&folder).map_err(|why| failed(&folder, why))
        };
        let data = self.places.tool_data(&judged.name).map(open).transpose()?;
        let tools = Tools { data, sandbox: Sandbox::find().ok() };
        let Experiment { temperature, seed, .. } = *experiment;
        Ok(vec![What::Solutions { missing, temperature, seed, tools }])
    }

    /// Where programs are tried, if they can be.
    pub(crate) fn bench(&self) -> Result<Option<Bench>, LabError> {
        let Some(environment) = &self.environment else { return Ok(None) };
        let sandbox = Sandbox::find().map_err(|error| LabError::Model(error.to_string()))?;
        let bench = Bench::new(sandbox, environment);
        bench.map(Some).map_err(|error| LabError::Model(error.to_string()))
    }
}

impl Wanted {
    /// How many answers.
    pub fn len(&self) -> usize {
        match &self.what {
            What::Choices { missing, .. } => missing.len(),
            What::Requests { missing } => missing.len(),
            What::Solutions { missing, .. } => missing.len(),
        }
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// In words.
    pub fn name(&self) -> String {
        let data = &self.opened.judged.name;
        match &self.what {
            What::Choices { cards, .. } => format!("{data}, choices from {cards} cards"),
            What::Requests { .. } => format!("{data}, requests from documents"),
            What::Solutions { .. } => format!("{data}, solutions"),
        }
    }

    /// The prompts that the ledger cannot answer, as lines of a file.
    pub fn lines(
        &self,
        campaign: &Campaign<'_>,
        config: &ChooserConfig,
    ) -> Result<Lines, LabError> {
        match &self.what {
            What::Choices { cards, missing } => {
                let asked = |asked: &Requests<'_, Reading<'_>>| lines(asked, config.attempts);
                self.choices(campaign, config, *cards, missing, asked)
            }
            What::Requests { missing } => {
                let choosing = &self.writing(config);
                let requests = missing.iter().map(String::as_str).collect();
                lines(&Requests { campaign, choosing, requests }, config.attempts)
            }
            What::Solutions { missing, temperature, seed, tools } => {
                let tasks = &self.tasks(missing);
                let drawing = drawing(config, *temperature, *seed);
                let choosing = &Solving { tasks, tools, drawing };
                let requests = tasks.keys().map(String::as_str).collect();
                lines(&Requests { campaign, choosing, requests }, config.attempts)
            }
        }
    }

    /// Asks, and records what is answered.
    pub fn ask(
        &self,
        campaign: &Campaign<'_>,
        config: &ChooserConfig,
        how: &How,
        lab: &Lab,
    ) -> Result<Came, LabError> {
        let Opened { judged, .. } = &*self.opened;
        let (made, came) = match &self.what {
            What::Choices { cards, missing } => {
                let asked = |asked: &Requests<'_, Reading<'_>>| carry(asked, how, config.attempts);
                let Carried { answers, came } =
                    self.choices(campaign, config, *cards, missing, asked)?;
                let choice = |(unread, chosen): (&Unread, Chosen)| Choice {
                    data: judged.name.clone(),
                    request: unread.request.clone(),
                    arm: cards.to_string(),
                    round: 0,
                    candidates: chosen.candidates,
                    choice: chosen.choice,
                };
                let made =
                    missing.iter().zip(answers).filter_map(|(one, answer)| Some((one, answer?)));
                let made: Vec<Choice> = made.map(choice).collect();
                let (count, reader) = (made.len(), campaign.model());
                Choices::of(reader, &lab.places)?.keep(made, reader, &lab.places)?;
                (count, came)
            }
            What::Requests { missing } => {
                let choosing = &self.writing(config);
                let requests = missing.iter().map(String::as_str).collect();
                let asked = Requests { campaign, choosing, requests };
                let Carried { answers, came } = carry(&asked, how, config.attempts)?;
                let made = missing.iter().cloned().zip(answers);
                let made: Vec<_> = made.filter_map(|(id, answer)| Some((id, answer?))).collect();
                let count = made.len();
                Expected::of(&judged.name, &lab.places)?.keep(made, &judged.name, &lab.places)?;
                (count, came)
            }
            What::Solutions { missing, temperature, seed, tools } => {
                let tasks = &self.tasks(missing);
                let drawing = drawing(config, *temperature, *seed);
                let choosing = &Solving { tasks, tools, drawing };
                let names: Vec<String> = missing.iter().map(Wish::name).collect();
                let requests = names.iter().map(String::as_str).collect();
                let asked = Requests { campaign, choosing, requests };
                let Carried { answers, came } = carry(&asked, how, config.attempts)?;
                let bench = lab.bench()?;
                let made = missing.iter().zip(&names).zip(answers);
                let made = made.filter_map(|((wish, name), answer)| {
                    Some(self.solved(wish, &tasks[name], &answer?, bench.as_ref()))
                });
                let made: Vec<Solved> = made.collect();
                let (count, executor) = (made.len(), campaign.model());
                Solutions::of(executor, &lab.places)?.keep(made, executor, &lab.places)?;
                (count, came)
            }
        };
        Ok(Came { recorded: made, left: self.len() - made, ..came })
    }

    /// What is to be solved, by name.
    fn tasks(&self, missing: &[Wish]) -> BTreeMap<String, Task> {
        let judged = &self.opened.judged;
        let task = |wish: &Wish| {
            let dataset = judged.data_sets.get(&wish.request).cloned().unwrap_or_default();
            let row = wish.skill.as_ref().and_then(|skill| judged.library.find(skill));
            let engine = match Judge::of(&dataset) {
                Some(Judge::ToolQa) => Engine::React,
                _ => Engine::Direct,
            };
            let task = Task {
                request: judged.texts.get(&wish.request).cloned().unwrap_or_default(),
                document: row.map(|row| document(&judged.library.skills()[row.row()])),
                dataset,
                round: wish.round,
                engine,
            };
            (wish.name(), task)
        };
        missing.iter().map(task).collect()
    }

    fn solved(&self, wish: &Wish, task: &Task, answer: &str, bench: Option<&Bench>) -> Solved {
        let Opened { judged: library, .. } = &*self.opened;
        let judging = Judge::of(&task.dataset).zip(library.answers.get(&wish.request));
        let verdict = match judging {
            Some((judging, gold)) => judged(judging, gold, answer, bench),
            None => Verdict::NotRunnable { why: "nobody knows the answer".to_owned() },
        };
        let (kept, answer) = Kept::of(answer);
        Solved {
            data: library.name.clone(),
            request: wish.request.clone(),
            arm: wish.arm.clone(),
            skill: wish.skill.clone(),
            round: wish.round,
            engine: task.engine,
            kept,
            answer,
            verdict,
        }
    }

    fn writing(&self, config: &ChooserConfig) -> Writing<'_> {
        let ChooserConfig { attempts, seed, .. } = *config;
        Writing { library: &self.opened.judged.library, attempts, seed }
    }

    fn choices<T>(
        &self,
        campaign: &Campaign<'_>,
        config: &ChooserConfig,
        cards: Cards,
        missing: &[Unread],
        work: impl FnOnce(&Requests<'_, Reading<'_>>) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        let snapshot = &self.opened.snapshot;
        let config = ChooserConfig { cards, ..config.clone() };
        let router = snapshot.router(snapshot.route_config(), POOL);
        let ids = || missing.iter().map(|unread| unread.request.as_str());
        let by_id = ids().zip(missing).collect();
        let choosing = &Reading { router: &router, config: &config, requests: by_id };
        let requests = ids().collect();
        work(&Requests { campaign, choosing, requests })
    }
}

/// Tokens of an answer that may work step by step.
const STEPS: u32 = 2_000;

fn drawing(config: &ChooserConfig, temperature: f64, seed: u64) -> Drawing {
    let answer_tokens = config.answer_tokens.max(STEPS);
    Drawing { temperature, seed, answer_tokens, attempts: config.attempts }
}

/// Answers, and how they came.
struct Carried<A> {
    answers: Vec<Option<A>>,
    came: Came,
}

fn carry<C: Choosing>(
    asked: &Requests<'_, C>,
    how: &How,
    attempts: u32,
) -> Result<Carried<C::Answer>, LabError> {
    let (answered, spent, ingested) = match how {
        How::Server(threads) => {
            let (answered, spent) = asked.run(*threads).map_err(told)?;
            (answered, spent, None)
        }
        How::Files(files) => {
            let errand = Errand { campaign: asked.campaign, attempts, pass: &|| asked.pass() };
            let ingest = errand.ingest(files).map_err(told)?;
            (ingest.pass.outcome, ingest.spent, Some(ingest.ingested))
        }
    };
    let Answered { answers, stopped, .. } = answered;
    Ok(Carried { answers, came: Came { recorded: 0, left: 0, spent, ingested, stopped } })
}

fn lines<C: Choosing>(asked: &Requests<'_, C>, attempts: u32) -> Result<Lines, LabError> {
    let errand = Errand { campaign: asked.campaign, attempts, pass: &|| asked.pass() };
    errand.lines().map_err(told)
}

fn told<E: std::fmt::Debug + std::fmt::Display>(error: CampaignError<E>) -> LabError {
    LabError::Model(error.to_string())
}
