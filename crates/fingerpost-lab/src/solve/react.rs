//! How does a model work turn by turn with tools?
//!
//! Each turn is one JSON object: a thought, an action and its input. What an action gives is a stranger's text and
//! is shown between marks. A turn that cannot be read is told so, and counts as one.

use fingerpost::chat::{Chat, Message, Schema, Speaker};
use fingerpost::prompt::{fill, free_word, object, one_line};
use fingerpost::reply::{self, Parsed, Tally};
use fingerpost::route::llm::ChooseError;
use minijinja::context;
use serde::Deserialize;
use serde_json::json;

use super::tools::{Action, ROWS, Tools};
use super::{Drawing, Task, asked};

/// Turns that a model may take.
pub const TURNS: usize = 12;

/// Characters of a turn that stay in the conversation.
const REMEMBERED: usize = 4_000;

/// Characters of a reason against a turn.
const REASON: usize = 300;

/// What came of the turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worked {
    /// The answer; empty if the model did not finish.
    pub answer: String,
    /// Turns taken.
    pub turns: usize,
    /// Of these, turns that could not be read.
    pub bad: usize,
    /// What the turns were like.
    pub tally: Tally,
}

#[derive(Deserialize)]
struct Turn {
    #[serde(default)]
    #[expect(dead_code, reason = "a model thinks better when it may say what it thinks")]
    thought: String,
    action: Action,
    #[serde(default)]
    input: Input,
}

/// Small models write numbers and lists where text is asked for.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Input {
    #[default]
    Nothing,
    Text(String),
    Other(serde_json::Value),
}

impl Input {
    fn text(self) -> String {
        match self {
            Self::Nothing | Self::Other(serde_json::Value::Null) => String::new(),
            Self::Text(text) => text,
            Self::Other(value) => value.to_string(),
        }
    }
}

/// Solves a task with tools.
pub fn solve(
    task: &Task,
    tools: &Tools,
    drawing: &Drawing,
    chat: &dyn Chat,
) -> Result<Worked, ChooseError> {
    let system = fill(include_str!("react.md"), context! { turns => TURNS, rows => ROWS });
    let form = format!("Begin. You have {TURNS} turns.");
    let mut prompt = drawing.prompt(task.round, system, task.text(&form));
    let text = json!({ "type": "string" });
    let actions = json!({ "type": "string", "enum": Action::NAMES });
    let schema = object(vec![("thought", text.clone()), ("action", actions), ("input", text)]);
    prompt.schema = Some(Schema { name: "turn".into(), schema });
    let mut worked = Worked { answer: String::new(), turns: 0, bad: 0, tally: Tally::default() };
    while worked.turns < TURNS {
        let reply = asked(&prompt, chat)?;
        worked.turns += 1;
        worked.tally.answers += 1;
        let turn = reply::object(&reply).and_then(|Parsed { value, repaired }| {
            worked.tally.repaired += usize::from(repaired);
            reply::form::<Turn>(value)
        });
        let (said, shown) = match turn {
            Ok(Turn { action: Action::Finish, input, .. }) => {
                worked.answer = format!("Final answer: {}", input.text().trim());
                break;
            }
            Ok(Turn { action, input, .. }) => match tools.act(action, &input.text()) {
                Ok(shown) => (format!("You used {action}."), shown),
                // What cannot be done repeats words of the model and of the data.
                Err(why) => (format!("{action} could not do that."), why),
            },
            Err(error) => {
                worked.tally.misread(&error);
                worked.bad += 1;
                let why = one_line(&error.to_string(), REASON);
                (format!("That turn cannot be read and counts as one: {why}."), String::new())
            }
        };
        let nonce = free_word([shown.as_bytes()].into_iter(), &[&shown]);
        let left = TURNS - worked.turns;
        let seen = fill(include_str!("seen.md"), context! { said, shown, nonce, left });
        prompt.messages.push(Message { role: Speaker::Assistant, text: remembered(&reply.text) });
        prompt.messages.push(Message { role: Speaker::User, text: seen });
    }
    Ok(worked)
}

/// A turn as it stays in the conversation; servers refuse empty ones.
fn remembered(text: &str) -> String {
    match text.trim() {
        "" => "(nothing)".to_owned(),
        text => text.chars().take(REMEMBERED).collect(),
    }
}
