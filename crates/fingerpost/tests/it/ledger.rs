//! Is every answer on disk before it is used, paid for once, and within the limits?

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fingerpost::atlas::{Atlas, Budget, Ledger, Outbox, Recorded, Replays};
use fingerpost::chat::{
    Chat, ChatError, Finish, Message, Price, Prompt, Recording, Replay, Reply, Schema, Speaker,
    Usage,
};
use fingerpost::store::Folder;
use tempfile::TempDir;

/// Answers everything, and counts.
struct Model<'a> {
    asked: AtomicU64,
    /// Done while a call is under way.
    meanwhile: Box<dyn Fn() + Send + Sync + 'a>,
    fails: Mutex<Vec<ChatError>>,
}

impl Model<'_> {
    fn new() -> Self {
        Self::watching(|| ())
    }
}

impl<'a> Model<'a> {
    fn watching(meanwhile: impl Fn() + Send + Sync + 'a) -> Self {
        Self { asked: AtomicU64::new(0), meanwhile: Box::new(meanwhile), fails: Mutex::default() }
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Chat for Model<'_> {
    fn id(&self) -> &str {
        "model"
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        (self.meanwhile)();
        if let Some(error) = self.fails.lock().unwrap().pop() {
            return Err(error);
        }
        Ok(Reply {
            text: format!("answer to {}", prompt.messages[0].text),
            usage: Usage { input: 1000, cached: 400, written: 0, output: 200 },
            finish: Finish::Stop,
            model: "model-1".into(),
        })
    }
}

fn prompt(text: &str) -> Prompt {
    Prompt {
        system: String::new(),
        shared: String::new(),
        messages: vec![Message { role: Speaker::User, text: text.into() }],
        schema: None,
        max_output_tokens: 1000,
        temperature: 0.0,
        seed: 1,
        attempt: 0,
    }
}

fn atlas() -> (TempDir, Atlas) {
    let folder = tempfile::tempdir().unwrap();
    let atlas = Atlas::new(Folder::at(folder.path().join("atlas")));
    (folder, atlas)
}

const PRICE: Price = Price { input: 10.0, cached: 1.0, written: 10.0, output: 100.0 };

fn recorded<'a>(chat: &'a dyn Chat, ledger: &'a Ledger, budget: Budget) -> Recorded<'a> {
    Recorded::new(chat, ledger, "here", Some(PRICE), budget)
}

#[test]
fn an_answer_is_paid_for_once() {
    let (_folder, atlas) = atlas();
    let model = Model::new();
    let first = {
        let ledger = atlas.ledger(Replays::All).unwrap();
        recorded(&model, &ledger, Budget::default()).complete(&prompt("a")).unwrap()
    };
    let ledger = atlas.ledger(Replays::All).unwrap();
    let again = recorded(&model, &ledger, Budget::default());
    assert_eq!(again.complete(&prompt("a")).unwrap(), first);
    assert_eq!(model.asked(), 1);
    let spent = again.spent();
    assert_eq!((spent.calls, spent.known, spent.cost), (0, 1, 0.0));
    // Another attempt is another call.
    again.complete(&Prompt { attempt: 1, ..prompt("a") }).unwrap();
    assert_eq!(model.asked(), 2);
    assert!((again.spent().cost - 0.0264).abs() < 1e-9, "{:?}", again.spent());
}

#[test]
fn a_call_is_written_down_before_it_is_made() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    // As another process sees it.
    let unfinished = || atlas.ledger(Replays::All).unwrap().spend().unwrap()[0].unfinished;
    let seen = AtomicU64::new(0);
    let model = Model::watching(|| seen.store(unfinished(), Ordering::SeqCst));
    recorded(&model, &ledger, Budget::default()).complete(&prompt("a")).unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    let spend = atlas.ledger(Replays::All).unwrap().spend().unwrap();
    assert_eq!((spend[0].calls, spend[0].unfinished, spend[0].model.as_str()), (1, 0, "model"));
    assert_eq!(spend[0].usage, Usage { input: 1000, cached: 400, written: 0, output: 200 });
    assert!((spend[0].cost_usd - 0.0264).abs() < 1e-9);
}

#[test]
fn purposes_are_told_apart() {
    let (_folder, atlas) = atlas();
    let model = Model::new();
    let form = |name: &str| Some(Schema { name: name.into(), schema: serde_json::Value::Null });
    let ledger = atlas.ledger(Replays::All).unwrap();
    let chat = recorded(&model, &ledger, Budget::default());
    chat.complete(&Prompt { schema: form("choice"), ..prompt("b") }).unwrap();
    chat.complete(&Prompt { schema: form("page"), ..prompt("c") }).unwrap();
    ledger.embedded("texts", "model", "here", 100, None).unwrap();
    ledger.embedded("texts", "model", "here", 50, None).unwrap();
    let spend = atlas.ledger(Replays::All).unwrap().spend().unwrap();
    let rows: Vec<(&str, u64)> = spend.iter().map(|row| (&*row.purpose, row.calls)).collect();
    assert_eq!(rows, [("choice", 1), ("embedding", 1), ("page", 1)]);
    assert_eq!(spend[1].usage.input, 150, "what was embedded twice was paid twice");
}

/// The ledger of an atlas that somebody else made is shown, and its answers are not believed.
#[test]
fn a_strangers_answers_are_not_taken_for_paid_ones() {
    let (_folder, atlas) = atlas();
    let model = Model::new();
    {
        let ledger = atlas.ledger(Replays::All).unwrap();
        recorded(&model, &ledger, Budget::default()).complete(&prompt("a")).unwrap();
    }
    let ledger = atlas.ledger(Replays::OwnOnly).unwrap();
    assert_eq!(ledger.withheld().unwrap(), 1);
    let chat = recorded(&model, &ledger, Budget::default());
    assert_eq!(ledger.reply(&prompt("a").key("model")).unwrap(), None);
    chat.complete(&prompt("b")).unwrap();
    chat.complete(&prompt("b")).unwrap();
    assert_eq!(model.asked(), 2, "an answer of this run counts");
    assert_eq!(ledger.spend().unwrap()[0].calls, 2);
}

#[test]
fn old_calls_go_only_when_they_are_told_to() {
    let (_folder, atlas) = atlas();
    let model = Model::new();
    let ledger = atlas.ledger(Replays::All).unwrap();
    recorded(&model, &ledger, Budget::default()).complete(&prompt("a")).unwrap();
    assert_eq!(ledger.prune(0).unwrap(), 0);
    assert_eq!(ledger.spend().unwrap()[0].calls, 1);
    assert_eq!(ledger.prune(i64::MAX).unwrap(), 2);
    assert!(ledger.spend().unwrap().is_empty());
    assert!(atlas.ledger(Replays::All).unwrap().spend().unwrap().is_empty());
}

#[test]
fn a_failed_call_is_told_and_made_again() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    let model = Model::new();
    model.fails.lock().unwrap().push(ChatError::Failed { message: "no route".into() });
    let chat = recorded(&model, &ledger, Budget::default());
    assert!(chat.complete(&prompt("a")).is_err());
    assert_eq!(ledger.spend().unwrap()[0].failed, 1);
    chat.complete(&prompt("a")).unwrap();
    let spend = ledger.spend().unwrap();
    assert_eq!((spend[0].calls, spend[0].failed), (1, 0));
    assert_eq!((chat.spent().calls, chat.spent().failed), (1, 1));
}

#[test]
fn limits_hold_with_many_threads() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    let model = Model::new();
    let run = |budget: Budget, from: usize| {
        let chat = recorded(&model, &ledger, budget);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let chat = &chat;
                scope.spawn(move || {
                    for call in 0..20 {
                        let text = format!("{from} {thread} {call}");
                        match chat.complete(&prompt(&text)) {
                            Ok(_) => {}
                            Err(ChatError::Budget { .. }) => break,
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        chat.spent()
    };
    let spent = run(Budget { max_calls: Some(13), max_cost: None }, 0);
    assert_eq!((spent.calls, model.asked()), (13, 13));
    let spent = run(Budget { max_calls: None, max_cost: Some(1.0) }, 1);
    assert!(spent.cost <= 1.0, "{spent:?}");
    // A call costs 0.0264 and may cost 0.1 and a little: the limit is not reached by far less.
    assert!(spent.cost > 0.85, "{spent:?}");
}

#[test]
fn a_limit_on_cost_needs_a_price() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    let model = Model::new();
    let budget = Budget { max_cost: Some(1.0), max_calls: None };
    let chat = Recorded::new(&model, &ledger, "here", None, budget);
    assert!(matches!(chat.complete(&prompt("a")), Err(ChatError::Budget { .. })));
    assert_eq!(model.asked(), 0);
}

#[test]
fn a_recording_of_the_ledger_can_be_replayed() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    let model = Model::new();
    let chat = recorded(&model, &ledger, Budget::default());
    let answers = ["b", "a"].map(|text| chat.complete(&prompt(text)).unwrap());
    let recordings = ledger.recordings("model").unwrap();
    assert!(recordings.is_sorted_by(|a: &Recording, b| a.key < b.key));
    let lines: Vec<String> =
        recordings.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    let replay = Replay::from_lines("model", &lines.join("\n")).unwrap();
    assert_eq!(["b", "a"].map(|text| replay.complete(&prompt(text)).unwrap()), answers);
    assert!(ledger.recordings("other").unwrap().is_empty());
}

#[test]
fn an_outbox_gathers_what_is_not_known() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    let model = Model::new();
    recorded(&model, &ledger, Budget::default()).complete(&prompt("a")).unwrap();
    let outbox = Outbox::new("model", &ledger);
    assert!(outbox.complete(&prompt("a")).is_ok());
    assert_eq!(outbox.complete(&prompt("b")), Err(ChatError::Deferred));
    assert_eq!(outbox.known(), 1);
    let waiting = outbox.into_waiting();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0], (prompt("b").key("model"), prompt("b")));
}

#[test]
fn batches_are_found_again_until_they_are_closed() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    let keys = ["k1".to_owned(), "k2".to_owned()];
    let batch = ledger.submitting("here", "model", "tag", &keys).unwrap();
    let reopened = atlas.ledger(Replays::All).unwrap();
    let open = reopened.open_batches("here", "model").unwrap();
    assert_eq!((open[0].id.as_deref(), &open[0].keys[..]), (None, &keys[..]));
    ledger.submitted(&batch, "batch_1").unwrap();
    assert_eq!(ledger.open_batches("here", "model").unwrap()[0].id.as_deref(), Some("batch_1"));
    assert!(ledger.open_batches("there", "model").unwrap().is_empty());
    ledger.close(&batch, true).unwrap();
    assert!(ledger.open_batches("here", "model").unwrap().is_empty());
}

#[test]
fn what_a_server_refuses_is_remembered() {
    let (_folder, atlas) = atlas();
    let ledger = atlas.ledger(Replays::All).unwrap();
    assert_eq!(ledger.dialect("here", "model").unwrap(), None);
    ledger.learn("here", "model", "plain").unwrap();
    ledger.learn("here", "model", "plainer").unwrap();
    assert_eq!(
        atlas.ledger(Replays::All).unwrap().dialect("here", "model").unwrap().unwrap(),
        "plainer"
    );
}
