//! Does a campaign tell what happens, end when it must, and go on where it ended?

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fingerpost::atlas::{Atlas, Budget, Replays};
use fingerpost::chat::{Chat, ChatError};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::page::llm::{LlmConfig, Neighborhood, Unit, Written};
use fingerpost::page::prompt::{LanguageChoice, PromptConfig};
use fingerpost::prompt::Templates;
use fingerpost::protocol::Alone;
use fingerpost::skill::Skill;
use fingerpost::store::Folder;
use fingerpost_models::Api;
use fingerpost_models::campaign::{AnswerFile, Ingest, Lines};
use fingerpost_models::campaign::{Campaign, CampaignError, Errand, Event, PageWork, Pass};

use crate::chat::{config, prompt, status};
use crate::chat_server::{Server, page_for};

fn library() -> Library {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library/qt-correction");
    Library::load(&[Root::new(examples)], LoadOptions::default()).unwrap().value
}

fn writing(concurrency: usize) -> LlmConfig {
    LlmConfig {
        unit: Unit::Focal,
        prompt: PromptConfig {
            language: LanguageChoice::Auto,
            context_tokens: 8000,
            page_tokens: 500,
            temperature: 0.0,
            seed: 1,
            alone: Alone::Document,
            templates: Templates::ours(),
        },
        attempts: 2,
        concurrency,
    }
}

/// A campaign at a server, with the ledger in a folder.
fn campaign<'a>(
    server: &Server,
    folder: &tempfile::TempDir,
    max_calls: Option<u64>,
    cancel: &Arc<AtomicBool>,
    on_event: impl Fn(Event<'_>) + Send + Sync + 'a,
) -> Campaign<'a> {
    let ledger = Atlas::new(Folder::at(folder.path().join("atlas"))).ledger(Replays::All).unwrap();
    let budget = Budget { max_cost: None, max_calls };
    let config = config(server, Api::OpenAi);
    Campaign::new(config, None, budget, ledger, Arc::clone(cancel), on_event).unwrap()
}

#[test]
fn what_happens_is_told_and_what_is_answered_is_kept() {
    let library = library();
    let skills: Vec<&Skill> = library.skills().iter().collect();
    let work = [Neighborhood::new(skills.clone())];
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![status(503, "", "busy")]);
    let cancel = Arc::new(AtomicBool::new(false));
    let told = Mutex::new((0, Vec::new()));
    let first = campaign(&server, &folder, Some(3), &cancel, |event| match event {
        Event::Retry(retry) => {
            assert!(retry.why.contains("busy") && retry.attempt == 2);
            told.lock().unwrap().0 += 1;
        }
        Event::Progress { done, all, spent } => {
            told.lock().unwrap().1.push((done, all, spent.requests));
        }
        event => panic!("{event:?}"),
    });
    let pages = PageWork {
        campaign: &first,
        config: writing(1),
        neighborhoods: &work,
        on_page: &|_, _| (),
    };
    let (outcome, spent) = pages.run().unwrap();
    assert!(matches!(outcome.stopped, Some(ChatError::Budget { .. })), "{:?}", outcome.stopped);
    assert_eq!((spent.requests, spent.calls, server.asked().len()), (3, 2, 3));
    drop(first);
    let (retries, progress) = told.into_inner().unwrap();
    assert_eq!(retries, 1);
    assert!(progress.iter().all(|(done, all, sent)| done <= all && *sent <= 3), "{progress:?}");

    // Somebody wants an end after the first page.
    let stop = Arc::clone(&cancel);
    let second =
        campaign(&server, &folder, None, &cancel, move |_| stop.store(true, Ordering::Relaxed));
    let pages = PageWork {
        campaign: &second,
        config: writing(1),
        neighborhoods: &work,
        on_page: &|_, _| (),
    };
    let (outcome, _) = pages.run().unwrap();
    assert_eq!(outcome.stopped, Some(ChatError::Cancelled));
    cancel.store(false, Ordering::Relaxed);

    let before = server.asked().len();
    let third = campaign(&server, &folder, None, &cancel, |_| ());
    let pages = PageWork {
        campaign: &third,
        config: writing(4),
        neighborhoods: &work,
        on_page: &|_, _| (),
    };
    let (outcome, spent) = pages.run().unwrap();
    assert_eq!(outcome.stopped, None);
    assert!(outcome.written[0].iter().all(|written| *written != Written::Pending));
    assert!(spent.known >= 2, "{spent:?}");
    assert_eq!(spent.calls as usize, server.asked().len() - before);
}

#[test]
fn prompts_leave_as_lines_and_come_back_as_answers() {
    let library = library();
    let work = [Neighborhood::new(library.skills().iter().collect())];
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![]);
    let campaign = campaign(&server, &folder, None, &Arc::default(), |_| ());
    let pages = PageWork {
        campaign: &campaign,
        config: writing(1),
        neighborhoods: &work,
        on_page: &|_, _| (),
    };
    let pass = || pages.pass();
    let errand = Errand { campaign: &campaign, attempts: 2, pass: &pass };
    let plan = errand.plan(2, false).unwrap();
    assert_eq!((plan.calls, plan.known, plan.cost), (pages.wanted(), 0, None));
    let Lines { text, prompts, .. } = errand.lines().unwrap();
    assert_eq!(prompts, plan.calls);
    let answer = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let body =
            serde_json::json!({"choices": [{"message": {"content": page_for(&line["body"])}}]});
        serde_json::json!({"custom_id": line["custom_id"], "response": {"body": body}}).to_string()
    };
    let answers: Vec<String> = text.lines().map(answer).collect();
    let file = AnswerFile { name: "answers".into(), text: answers.join("\n") + "\nnonsense" };
    let Ingest { pass, ingested, spent } = errand.ingest(&[file]).unwrap();
    assert_eq!((ingested.accepted, ingested.rejected.len()), (prompts, 1));
    assert_eq!((ingested.rejected[0].line, ingested.missing), (prompts + 1, 0));
    assert!(spent.usage.input > 1000, "a server that counts nothing is counted for: {spent:?}");
    assert!(pass.outcome.written[0].iter().any(|written| matches!(written, Written::Page(..))));
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn the_same_prompt_is_in_a_batch_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![]);
    let told = Mutex::new(Vec::new());
    let campaign = campaign(&server, &folder, None, &Arc::default(), |event| {
        if let Event::Submitted { prompts, .. } = event {
            told.lock().unwrap().push(prompts);
        }
    });
    let ledger = Atlas::new(Folder::at(folder.path().join("atlas"))).ledger(Replays::All).unwrap();
    let pass = || {
        let outbox = fingerpost::atlas::Outbox::new("fake", &ledger);
        let answers = [(); 3].map(|()| outbox.complete(&prompt()).ok());
        let known = outbox.known();
        Ok::<_, CampaignError>(Pass { outcome: answers, waiting: outbox.into_waiting(), known })
    };
    let errand = Errand { campaign: &campaign, attempts: 1, pass: &pass };
    let batched = errand.batch(std::time::Duration::from_millis(10)).unwrap();
    assert_eq!((batched.spent.calls, batched.stopped), (1, None));
    assert!(batched.pass.outcome.iter().all(Option::is_some));
    assert_eq!(*told.lock().unwrap(), [1]);
}
