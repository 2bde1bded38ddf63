//! How does a language model write pages?
//!
//! For each skill of a neighborhood: ask, read, check; what is wrong goes back with the reason, a
//! bounded number of times; then the skill keeps its document. A neighborhood is one piece of work:
//! its calls follow each other, so that the server's cache is warm for all but the first, and a page
//! is checked against those before it whatever else is going on. Neighborhoods run side by side.
//!
//! A skill that could not be asked for (money, keys, network, Ctrl-C) is neither written nor a
//! fallback: it is pending, and the next run takes it up.

pub mod rows;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::check::{Failure, check_exclusive};
use super::prompt::{self, PromptConfig, Prompts};
use super::reply;
use super::write::judge;
use super::{Ground, Language, Page};
use crate::chat::{Chat, ChatError, Prompt, Reply};
use crate::prompt::{SHOWN_AGAIN, again};
use crate::protocol::{Against, Alone};
use crate::reply::{Parsed, ReplyError, Tally};
use crate::skill::{Skill, SkillId};

/// Calls in a row that fail in spite of the transport's patience; then the server is down.
const MAX_FAILURES: usize = 3;

/// What one call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// The page of one skill; the neighborhood is a prefix that the server caches.
    #[default]
    Focal,
    /// The pages of all members; fewer tokens, and less attention to each.
    Neighborhood,
}

/// How a model is asked for pages.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmConfig {
    /// What one call asks for.
    pub unit: Unit,
    /// What a prompt holds.
    pub prompt: PromptConfig,
    /// How often a page is asked for in all.
    pub attempts: u32,
    /// Neighborhoods under way at a time.
    pub concurrency: usize,
}

impl LlmConfig {
    /// Everything but the documents that decides a page: part of its key. How often and how many at
    /// a time does not.
    pub fn identity(&self, model: &str, against: Against) -> String {
        let PromptConfig {
            language,
            context_tokens,
            page_tokens,
            temperature,
            seed,
            alone,
            templates,
        } = &self.prompt;
        let unit = match (against, self.unit) {
            (Against::Rivals, _) => "rivals",
            (Against::Neighborhood, Unit::Focal) => "focal",
            (Against::Neighborhood, Unit::Neighborhood) => "neighborhood",
        };
        let (version, words) = (prompt::VERSION, templates.of_pages());
        let alone = match alone {
            Alone::Document => "",
            Alone::Imagined => ", boundaries imagined",
        };
        format!(
            "llm {model}, prompt {version} {words}, {unit}, {language}, {context_tokens}+{page_tokens} tokens, temperature {temperature}, seed {seed}{alone}"
        )
    }
}

/// A page before it is accepted.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// The neighborhood, in the order of the ids.
    pub members: &'a [&'a Skill],
    /// Whose page it is, as a place among the members.
    pub focal: usize,
    /// The page.
    pub page: &'a Page,
    /// The pages of the members that were accepted before it.
    pub accepted: &'a [Option<Page>],
    /// The code of the language asked for, where one is known.
    pub language: Option<&'a str>,
    /// What its boundary is made of, where the skill is alone.
    pub alone: Alone,
}

/// Judges a page; nothing to say means that it is accepted.
pub type Check<'a> = dyn Fn(&Draft<'_>) -> Vec<Failure> + Sync + 'a;

/// The rules and the audit that every page must pass, and a trigger that no neighbor has.
pub fn check(draft: &Draft<'_>) -> Vec<Failure> {
    let Draft { members, focal, page, accepted, language, alone } = *draft;
    let language = if language.is_some_and(|code| code.starts_with("zh")) {
        Language::Chinese
    } else {
        Language::English
    };
    let mut failures = judge(page, members[focal], members, language, alone);
    let mut triggers: Vec<Option<&str>> =
        accepted.iter().map(|page| page.as_ref().map(|page| page.trigger.as_str())).collect();
    triggers[focal] = Some(&page.trigger);
    let exclusive = check_exclusive(members, &triggers).into_iter();
    failures.extend(exclusive.filter(|(at, _)| *at == focal).map(|(_, failure)| failure));
    failures
}

/// Skills to be contrasted with each other, in the order of their ids.
#[derive(Debug, Clone)]
pub struct Neighborhood<'a> {
    /// The skills.
    pub members: Vec<&'a Skill>,
    /// What is wanted of each.
    pub wanted: Vec<Wanted>,
    /// The one that is asked for, if the others are its rivals and not all are contrasted with each other.
    pub focal: Option<usize>,
}

impl<'a> Neighborhood<'a> {
    /// Pages of all members are wanted.
    pub fn new(members: Vec<&'a Skill>) -> Self {
        let wanted = vec![Wanted::Page; members.len()];
        Self { members, wanted, focal: None }
    }
}

/// What is wanted of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A page.
    Page,
    /// A better page than this one, of which this is to be mended.
    Better(Page, Vec<Failure>),
    /// Nothing: it has its page, or is to have none.
    Nothing(Option<Page>),
}

/// What became of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// Nothing was wanted.
    Kept,
    /// A page that passed the checks, and how often it was asked for.
    Page(Page, u32),
    /// The attempts are used up: these are the reasons against the last one.
    Fallback(Vec<Failure>),
    /// It was not asked for, or not answered.
    Pending,
}

/// What became of all.
#[derive(Debug)]
pub struct Outcome {
    /// For each neighborhood, for each member.
    pub written: Vec<Vec<Written>>,
    /// What the answers were like.
    pub tally: Tally,
    /// What ended the run before all was done.
    pub stopped: Option<ChatError>,
}

/// Writes pages with a model.
pub struct LlmWriter<'a> {
    /// The model.
    pub chat: &'a dyn Chat,
    /// How it is asked.
    pub config: &'a LlmConfig,
    /// What a page must pass.
    pub check: &'a Check<'a>,
    /// Set by whoever wants an end.
    pub cancel: &'a AtomicBool,
}

/// Why there is no page.
enum Missed {
    /// There will be none.
    Never(Vec<Failure>),
    /// The server would not take the prompt of this key, for this reason.
    Rejected(String, String),
    /// There may be one next time.
    NotNow,
}

/// A skill whose prompt was rejected. Whether that is the prompt's fault is known at the end of the run:
/// a server that answers nobody says nothing about this one.
struct Rejected {
    neighborhood: usize,
    focal: usize,
    key: String,
}

/// What the threads of one run share.
#[derive(Default)]
struct Run {
    rejected: Mutex<Vec<Rejected>>,
    stopped: Mutex<Option<ChatError>>,
    ended: AtomicBool,
    failures: AtomicUsize,
    tally: Mutex<Tally>,
}

impl Run {
    /// The first reason counts.
    fn end(&self, why: ChatError) {
        self.ended.store(true, Ordering::Relaxed);
        lock(&self.stopped).get_or_insert(why);
    }

    fn count(&self, add: impl FnOnce(&mut Tally)) {
        add(&mut lock(&self.tally));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while holding it")
}

impl LlmWriter<'_> {
    /// Writes the pages of neighborhoods. The result depends on the answers alone, not on the number
    /// of threads. `on_page` hears of every skill as it is done.
    pub fn write(
        &self,
        neighborhoods: &[Neighborhood<'_>],
        on_page: &(dyn Fn(&SkillId, &Written) + Sync),
    ) -> Outcome {
        let run = Run::default();
        let next = AtomicUsize::new(0);
        let done = Mutex::new(vec![Vec::new(); neighborhoods.len()]);
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(neighborhood) = neighborhoods.get(at) else { break };
                let written = self.neighborhood(at, neighborhood, &run, on_page);
                lock(&done)[at] = written;
            }
        };
        let threads = self.config.concurrency.clamp(1, neighborhoods.len().max(1));
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let mut written = done.into_inner().expect("no thread panicked");
        let mut stopped = run.stopped.into_inner().expect("no thread panicked");
        let doubt = self.chat.doubt();
        let mut rejected = run.rejected.into_inner().expect("no thread panicked");
        rejected.sort_by_key(|rejected| (rejected.neighborhood, rejected.focal));
        for Rejected { neighborhood, focal, key } in rejected {
            let became = &mut written[neighborhood][focal];
            if let Some(doubt) = doubt.as_ref().filter(|doubt| doubt.keys.contains(&key)) {
                *became = Written::Pending;
                stopped
                    .get_or_insert_with(|| ChatError::Refused { message: doubt.message.clone() });
            }
            on_page(&neighborhoods[neighborhood].members[focal].id, became);
        }
        Outcome { written, tally: *lock(&run.tally), stopped }
    }

    fn neighborhood(
        &self,
        at: usize,
        neighborhood: &Neighborhood<'_>,
        run: &Run,
        on_page: &(dyn Fn(&SkillId, &Written) + Sync),
    ) -> Vec<Written> {
        let Neighborhood { members, wanted, focal: of } = neighborhood;
        let prompts = match *of {
            None => Prompts::new(members, &self.config.prompt),
            Some(focal) => Prompts::against_rivals(members, focal, &self.config.prompt),
        };
        // From here on skills have the ids and names that the model sees.
        let shown = prompts.shown();
        let skills = shown.skills();
        let strangers = strangers(members, &skills);
        let all = wanted.iter().all(|wanted| *wanted == Wanted::Page);
        let together = match self.config.unit {
            Unit::Neighborhood if members.len() > 1 && all && of.is_none() => {
                let read = |reply: &Reply| reply::pages(reply, &skills);
                let ask = Ask { first: &prompts.all(), strangers: &strangers };
                match self.answer(&ask, None, run, read, |_| Vec::new()) {
                    Ok((pages, _)) => Some(pages),
                    Err(Missed::NotNow) => return vec![Written::Pending; members.len()],
                    // What is too much at once may do one by one.
                    Err(Missed::Never(_) | Missed::Rejected(..)) => None,
                }
            }
            _ => None,
        };
        let PromptConfig { language, alone, .. } = &self.config.prompt;
        let (language, alone) = (language.code(prompts.speakers(members)), *alone);
        let is_imagined = members.len() == 1 && alone == Alone::Imagined;
        let kept = |wanted: &Wanted| match wanted {
            Wanted::Nothing(page) => page.as_ref().map(|page| shown.page(page)),
            Wanted::Page | Wanted::Better(..) => None,
        };
        let mut accepted: Vec<Option<Page>> = wanted.iter().map(kept).collect();
        let mut written = Vec::with_capacity(members.len());
        for (focal, skill) in members.iter().enumerate() {
            let judge = |page: &Page| {
                let (members, accepted) = (&skills, &accepted);
                let page = &grounded(page, is_imagined);
                (self.check)(&Draft { members, focal, page, accepted, language, alone })
            };
            let ask = |bad| {
                let ask = Ask { first: &prompts.focal(focal), strangers: &strangers };
                self.answer(&ask, bad, run, reply::page, judge)
            };
            let bad = |page: &Page, failures: &[Failure]| {
                Some((json(&grounded(page, false)), messages(failures)))
            };
            let result = match (&wanted[focal], &together) {
                (Wanted::Nothing(_), _) => {
                    written.push(Written::Kept);
                    continue;
                }
                (Wanted::Better(page, failures), _) => ask(bad(&shown.page(page), failures)),
                (Wanted::Page, None) => ask(None),
                (Wanted::Page, Some(pages)) => match judge(&pages[focal]) {
                    failures if failures.is_empty() => Ok((pages[focal].clone(), 1)),
                    failures => ask(bad(&pages[focal], &failures)),
                },
            };
            let became = match result {
                Ok((page, attempts)) => {
                    let page = grounded(&page, is_imagined);
                    let restored = shown.restored(&page);
                    accepted[focal] = Some(page);
                    Written::Page(restored, attempts)
                }
                Err(Missed::Never(reasons)) => Written::Fallback(reasons),
                Err(Missed::Rejected(key, message)) => {
                    lock(&run.rejected).push(Rejected { neighborhood: at, focal, key });
                    written.push(Written::Fallback(vec![Failure::new("rejected", message)]));
                    continue;
                }
                Err(Missed::NotNow) => Written::Pending,
            };
            on_page(&skill.id, &became);
            written.push(became);
        }
        written
    }

    /// Asks until an answer can be read and passes `judge`, or the attempts are used up. `bad` is an
    /// earlier answer and what was wrong with it.
    fn answer<T: Serialize>(
        &self,
        ask: &Ask<'_>,
        bad: Option<(String, Vec<String>)>,
        run: &Run,
        read: impl Fn(&Reply) -> Result<Parsed<T>, ReplyError>,
        judge: impl Fn(&T) -> Vec<Failure>,
    ) -> Result<(T, u32), Missed> {
        let templates = &self.config.prompt.templates;
        let again = |answer: &str, reasons: &[String]| {
            again(ask.first, answer, reasons, ask.strangers, templates)
        };
        let mut prompt = match bad {
            Some((answer, reasons)) => again(&answer, &reasons),
            None => ask.first.clone(),
        };
        let mut reasons = Vec::new();
        for attempt in 0..self.config.attempts.max(1) {
            prompt.attempt = attempt;
            let reply = self.ask(&prompt, run)?;
            let room = prompt.max_output_tokens;
            match read(&reply) {
                Ok(Parsed { value, repaired }) => {
                    run.count(|tally| tally.repaired += usize::from(repaired));
                    reasons = judge(&value);
                    if reasons.is_empty() {
                        return Ok((value, attempt + 1));
                    }
                    run.count(|tally| tally.unchecked += 1);
                    prompt = again(&json(&value), &messages(&reasons));
                    prompt.max_output_tokens = room;
                }
                Err(error) => {
                    run.count(|tally| tally.misread(&error));
                    if error == ReplyError::Truncated {
                        prompt.max_output_tokens = room.saturating_mul(2);
                    } else if error.is_instructive() {
                        let shown: String = reply.text.chars().take(SHOWN_AGAIN).collect();
                        prompt = again(&shown, &[error.to_string()]);
                        prompt.max_output_tokens = room;
                    }
                    reasons = vec![Failure::new("reply", error.to_string())];
                }
            }
        }
        Err(Missed::Never(reasons))
    }

    /// One call, unless the run has ended; what ends it is remembered.
    fn ask(&self, prompt: &Prompt, run: &Run) -> Result<Reply, Missed> {
        if self.cancel.load(Ordering::Relaxed) {
            run.end(ChatError::Cancelled);
        }
        if run.ended.load(Ordering::Relaxed) {
            return Err(Missed::NotNow);
        }
        match self.chat.complete(prompt) {
            Ok(reply) => {
                run.failures.store(0, Ordering::Relaxed);
                run.count(|tally| tally.answers += 1);
                Ok(reply)
            }
            Err(ChatError::Rejected { message }) => {
                Err(Missed::Rejected(prompt.key(self.chat.id()), message))
            }
            Err(ChatError::Deferred) => Err(Missed::NotNow),
            Err(error) => {
                let failures = run.failures.fetch_add(1, Ordering::Relaxed) + 1;
                if error.ends_run() || failures >= MAX_FAILURES {
                    run.end(error);
                }
                Err(Missed::NotNow)
            }
        }
    }
}

/// What a model is asked at first, and the strangers' words that reasons against its answer may quote.
struct Ask<'a> {
    first: &'a Prompt,
    strangers: &'a [&'a str],
}

/// Ids and names of a neighborhood, as they are and as they are shown.
fn strangers<'a>(members: &[&'a Skill], shown: &[&'a Skill]) -> Vec<&'a str> {
    let skills = members.iter().chain(shown);
    skills.flat_map(|skill| [skill.id.as_str(), skill.name.as_str()]).collect()
}

/// A page whose cases say what they rest on. A model is not asked to say so: of a skill that is alone it is
/// known, and the form has no place for it.
fn grounded(page: &Page, is_imagined: bool) -> Page {
    let mut page = page.clone();
    for case in &mut page.boundary {
        let imagined = is_imagined && case.skill.is_none();
        case.ground = if imagined { Ground::Imagined } else { Ground::Document };
    }
    page
}

fn messages(failures: &[Failure]) -> Vec<String> {
    failures.iter().map(|failure| failure.message.clone()).collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

#[cfg(test)]
pub(crate) mod tests;
