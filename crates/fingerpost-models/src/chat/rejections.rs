//! Was a prompt rejected, or is everybody?
//!
//! A server that has no credit left, or dislikes a parameter, answers every prompt as it answers one that
//! is too long: with status 400. What tells the two apart is whether it answers others. Three rejections
//! with no answer between them, of prompts about more than one neighborhood (the prompts of one share
//! their documents, which may be what is wrong), are no fault of the prompts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use fingerpost::chat::{ChatError, Doubt, Prompt};

/// Rejections without an answer between them that end everything.
const MOST: usize = 3;

/// Of these, how many may be about the same documents.
const OF_ONE: usize = 2;

/// What a server rejected since it last answered.
#[derive(Default)]
pub(super) struct Rejections {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Numbers of the calls under way; rejections are quicker than answers.
    under_way: BTreeSet<u64>,
    answered: bool,
    ended: bool,
    /// The documents and the key of each.
    since: Vec<([u8; 32], String)>,
    message: String,
}

impl Rejections {
    /// A call of this number begins.
    pub(super) fn begin(&self, call: u64) {
        self.state().under_way.insert(call);
    }

    /// It ended, without a word on the prompt.
    pub(super) fn end(&self, call: u64) {
        self.state().under_way.remove(&call);
    }

    /// It was answered.
    pub(super) fn answered(&self, call: u64) {
        let mut state = self.state();
        state.under_way.remove(&call);
        state.answered = true;
        if !state.ended {
            state.since.clear();
        }
    }

    /// Its prompt was rejected; an error if that makes too many.
    pub(super) fn rejected(
        &self,
        call: u64,
        prompt: &Prompt,
        key: String,
        message: &str,
    ) -> Option<ChatError> {
        let mut state = self.state();
        state.under_way.remove(&call);
        let documents = if prompt.shared.is_empty() { &key } else { &prompt.shared };
        let documents = *blake3::hash(documents.as_bytes()).as_bytes();
        state.since.push((documents, key));
        message.clone_into(&mut state.message);
        // Whoever asked before this one may still be answered.
        let alone = state.under_way.range(..call).next().is_none();
        if !alone || state.weight() < MOST {
            return None;
        }
        state.ended = true;
        let count = state.since.len();
        let message =
            format!("{message}; {count} prompts in a row were rejected, so it is not the prompt");
        Some(ChatError::Refused { message })
    }

    /// The rejections that need not be the prompts' fault, if all ended now.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        let state = self.state();
        let doubtful = !state.answered || state.since.len() >= MOST;
        let keys: BTreeSet<String> = state.since.iter().map(|(_, key)| key.clone()).collect();
        (doubtful && !keys.is_empty()).then(|| Doubt { keys, message: state.message.clone() })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }
}

impl State {
    fn weight(&self) -> usize {
        let mut of_documents: BTreeMap<&[u8; 32], usize> = BTreeMap::new();
        self.since
            .iter()
            .for_each(|(documents, _)| *of_documents.entry(documents).or_default() += 1);
        of_documents.values().map(|&count| count.min(OF_ONE)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::limits::tests::prompt;

    fn rejected(rejections: &Rejections, call: u64, documents: &str) -> bool {
        let prompt = Prompt { shared: documents.into(), ..prompt() };
        rejections.begin(call);
        rejections.rejected(call, &prompt, format!("k{call}"), "bad").is_some()
    }

    fn doubted(rejections: &Rejections) -> usize {
        rejections.doubt().map_or(0, |doubt| doubt.keys.len())
    }

    #[test]
    fn three_in_a_row_of_two_neighborhoods_are_nobodys_fault() {
        let rejections = Rejections::default();
        let ended = [(1, "a"), (2, "a"), (3, "a"), (4, "b")]
            .map(|(call, documents)| rejected(&rejections, call, documents));
        assert_eq!(ended, [false, false, false, true]);
        assert_eq!(doubted(&rejections), 4);
        rejections.answered(5);
        assert_eq!(doubted(&rejections), 4, "what has ended stays so");
    }

    #[test]
    fn an_answer_clears_those_before_it() {
        let rejections = Rejections::default();
        assert!(!rejected(&rejections, 1, "") && !rejected(&rejections, 2, ""));
        assert_eq!(doubted(&rejections), 2, "nobody was answered");
        rejections.answered(3);
        assert_eq!(doubted(&rejections), 0);
        assert!(!rejected(&rejections, 4, "") && !rejected(&rejections, 5, ""));
        assert_eq!(doubted(&rejections), 0, "two of many");
        assert!(rejected(&rejections, 6, ""));
        assert_eq!(doubted(&rejections), 3);
    }

    #[test]
    fn whoever_asked_before_is_waited_for() {
        let rejections = Rejections::default();
        rejections.begin(1);
        let ended = [2, 3, 4].map(|call| rejected(&rejections, call, ""));
        assert_eq!(ended, [false; 3]);
        rejections.answered(1);
        assert_eq!(doubted(&rejections), 0);
    }
}
