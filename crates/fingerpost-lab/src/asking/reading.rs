//! Which requests is a reader asked about, and among which candidates?
//!
//! Arms are compared on the same requests and the same candidates. What a reader has chosen for in one arm it is
//! asked about in the others first, among the candidates that it saw then, whatever a search would find today.

use std::collections::{BTreeMap, BTreeSet};

use fingerpost::chat::Chat;
use fingerpost::index::{Hit, Scratch};
use fingerpost::reply::Tally;
use fingerpost::route::llm::{ChooseError, ChooserConfig};
use fingerpost::route::{Route, Router};
use fingerpost::search::SearchError;
use fingerpost::snapshot::Snapshot;
use fingerpost::view::Cards;
use fingerpost_models::campaign::Choosing;

use crate::experiment::Experiment;
use crate::judged::{Judged, spread};
use crate::record::Choices;

/// A request that a reader has not chosen for yet in one arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    /// Its id.
    pub(super) request: String,
    /// What it asks.
    pub(super) text: String,
    /// The skills that the reader saw in another arm, in their order; none before it has chosen.
    pub(super) seen: Vec<String>,
}

/// The requests of an arm that are not chosen for, as many as the experiment asks.
pub(super) fn unread(
    experiment: &Experiment,
    judged: &Judged,
    recorded: &Choices,
    cards: Cards,
) -> Vec<Unread> {
    let Experiment { requests: most, datasets, .. } = experiment;
    let is_wanted = |id: &str| {
        let dataset = judged.data_sets.get(id);
        datasets.is_empty() || dataset.is_some_and(|dataset| datasets.contains(dataset))
    };
    let seen = recorded.seen(&judged.name);
    let known: Vec<&str> =
        seen.keys().copied().filter(|id| is_wanted(id) && judged.texts.contains_key(*id)).collect();
    let mut asked = spread(known, *most);
    let others = judged.queries.iter().map(|query| query.id.as_str());
    let others = spread(others.filter(|id| is_wanted(id)).collect(), *most);
    let known: BTreeSet<&str> = asked.iter().copied().collect();
    // In their order, not evenly spaced: so the same ones are left when some have been chosen for.
    let others = others.into_iter().filter(|id| !known.contains(id));
    asked.extend(others.take(most - known.len()));
    let arm = cards.to_string();
    let missing = asked.into_iter().filter(|id| !recorded.has(&judged.name, id, &arm, 0));
    missing
        .map(|id| Unread {
            request: id.to_owned(),
            text: judged.texts.get(id).cloned().unwrap_or_default(),
            seen: seen.get(id).map_or_else(Vec::new, |seen| seen.to_vec()),
        })
        .collect()
}

/// What a model chose, and among what.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) candidates: Vec<String>,
    pub(super) choice: Option<String>,
}

/// A reader at work on requests, each by its id.
pub(super) struct Reading<'a> {
    pub(super) router: &'a Router<'a>,
    pub(super) config: &'a ChooserConfig,
    pub(super) requests: BTreeMap<&'a str, &'a Unread>,
}

impl<'a> Reading<'a> {
    fn request(&self, id: &str) -> &'a Unread {
        self.requests.get(id).expect("requests of this list are asked about")
    }

    fn hits(&self, unread: &Unread, scratch: &mut Scratch) -> Result<Vec<Hit>, SearchError> {
        match hits(self.router.snapshot, &unread.seen) {
            Some(seen) => Ok(seen),
            None => self.router.hits(&unread.text, scratch),
        }
    }

    fn chosen(&self, hits: &[Hit], route: Route) -> Chosen {
        let id = |hit: &Hit| self.router.snapshot.row(hit.skill).id.to_owned();
        Chosen { candidates: hits.iter().map(id).collect(), choice: route.skill }
    }
}

/// Skills that were seen before as hits, the first one best; `None` where there are none, or one is gone.
fn hits(snapshot: &Snapshot, seen: &[String]) -> Option<Vec<Hit>> {
    let last = seen.len().checked_sub(1)?;
    let hit = |(at, id): (usize, &String)| {
        let skill = snapshot.find(id).filter(|&skill| snapshot.row(skill).id == id)?;
        Some(Hit { skill, score: (last - at) as f32 })
    };
    seen.iter().enumerate().map(hit).collect()
}

impl Choosing for Reading<'_> {
    type State = Scratch;
    type Answer = Chosen;
    type Error = AskError;

    fn choose(
        &self,
        id: &str,
        chat: &dyn Chat,
        scratch: &mut Scratch,
    ) -> Result<Result<(Chosen, Tally), ChooseError>, AskError> {
        let unread = self.request(id);
        let hits = self.hits(unread, scratch)?;
        let chosen = self.router.choose(&unread.text, &hits, chat, self.config);
        Ok(chosen.map(|(route, tally)| (self.chosen(&hits, route), tally)))
    }

    fn without(
        &self,
        id: &str,
        chat: &dyn Chat,
        why: &str,
        scratch: &mut Scratch,
    ) -> Result<Chosen, AskError> {
        let unread = self.request(id);
        let hits = self.hits(unread, scratch)?;
        let route = self.router.fall_back(&unread.text, &hits, chat, self.config, why);
        Ok(self.chosen(&hits, route.map_err(|error| AskError::Choose(error.into()))?))
    }
}

/// Why candidates could not be found or chosen among.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Choose(#[from] ChooseError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::EXAMPLES;
    use crate::judged::tests::here;
    use crate::record::Choice;

    fn experiment(more: &str) -> Experiment {
        let text = format!(
            "number = 7\ntitle = ''\nquestion = ''\nkind = 'routing'\ndata = ['examples']\n{more}"
        );
        Experiment::parse("mine", &text).unwrap()
    }

    fn ids(unread: &[Unread]) -> Vec<&str> {
        unread.iter().map(|unread| unread.request.as_str()).collect()
    }

    #[test]
    fn what_was_chosen_for_in_one_arm_is_asked_first_in_another_among_the_same_candidates() {
        let judged = Judged::open(EXAMPLES, &here()).unwrap();
        let skills: Vec<String> =
            judged.library.skills()[3..6].iter().rev().map(|skill| skill.id.to_string()).collect();
        let chosen = judged.queries[7].id.clone();
        let choice = Choice {
            data: EXAMPLES.into(),
            request: chosen.clone(),
            arm: "base".into(),
            round: 0,
            candidates: skills.clone(),
            choice: None,
        };
        let recorded = Choices::from_iter([choice]);
        let four = experiment("requests = 4");
        let first = unread(&four, &judged, &recorded, Cards::Ids);
        assert_eq!((first.len(), &first[0].request, &first[0].seen), (4, &chosen, &skills));
        assert!(first[1..].iter().all(|unread| unread.seen.is_empty() && unread.request != chosen));
        assert_eq!(first[0].text, judged.queries[7].text);
        // In the arm that it has chosen in, the other three are left.
        let others = unread(&four, &judged, &recorded, Cards::Base);
        assert_eq!(ids(&others), ids(&first[1..]));

        let snapshot = judged.compile().unwrap();
        let found = hits(&snapshot, &first[0].seen).unwrap();
        let found: Vec<&str> = found.iter().map(|hit| snapshot.row(hit.skill).id).collect();
        assert_eq!(found, skills);
        assert!(hits(&snapshot, &["gone".to_owned()]).is_none() && hits(&snapshot, &[]).is_none());
    }

    #[test]
    fn requests_of_some_data_sets_can_be_asked_alone() {
        let mut judged = Judged::open(EXAMPLES, &here()).unwrap();
        let some: Vec<String> = judged.queries[20..30].iter().map(|q| q.id.clone()).collect();
        judged.data_sets = some.iter().map(|id| (id.clone(), "some".to_owned())).collect();
        let recorded = Choices::default();
        let asked = |more: &str| unread(&experiment(more), &judged, &recorded, Cards::Base).len();
        assert_eq!(asked("datasets = ['some']"), 10);
        assert_eq!(asked("datasets = ['some']\nrequests = 4"), 4);
        assert_eq!(asked("datasets = ['other']"), 0);
        assert_eq!(asked(""), judged.queries.len());
    }
}
