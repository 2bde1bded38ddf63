//! Which requests does a skill lose, and to whom?
//!
//! Where there are judged requests, each is searched for by words, and whoever comes first wins it. Where
//! there are none, the rivals tell who would.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::contract::Freshness;
use crate::index::{Scratch, Zeros};
use crate::neighborhood::NeighborhoodIdx;
use crate::search::SearchError;
use crate::skill::SkillIdx;
use crate::snapshot::{Snapshot, SnapshotError};

/// A request, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// Its id.
    pub query: String,
    /// What it says.
    pub text: String,
    /// The skills that are right for it, in their order.
    pub owners: Vec<SkillIdx>,
}

/// Who wins each judged request of a library.
#[derive(Debug, Clone, Default)]
pub struct Contest {
    requests: Vec<(Owned, Option<SkillIdx>)>,
    /// By skill, the places of its requests.
    of: BTreeMap<SkillIdx, Vec<usize>>,
}

/// `losses` of one skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LossesAnswer {
    /// The skill.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// Judged requests that belong to it.
    pub requests: usize,
    /// Of these, how many it wins, or another skill that is right for them too.
    pub won: usize,
    /// Who wins the others, the one that wins most first; without judged requests, who would.
    pub lost: Vec<LostTo>,
    /// Is this from judged requests?
    pub judged: bool,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A skill that wins requests of another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LostTo {
    /// Its id.
    pub to: String,
    /// Its name.
    pub name: String,
    /// The requests.
    pub requests: Vec<LostRequest>,
    /// How nearly it wins requests meant for the other: its weight as a rival, 0 if it is none.
    pub weight: f32,
}

/// A judged request that another skill wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostRequest {
    /// Its id.
    pub query: String,
    /// What it says.
    pub text: String,
}

impl Contest {
    /// Has every request searched for.
    pub fn of(snapshot: &Snapshot, requests: Vec<Owned>) -> Result<Self, SearchError> {
        use rayon::prelude::*;
        let winner = |scratch: &mut Scratch, request: &Owned| {
            let hits = snapshot.terms().search(&request.text, 1, Zeros::Dropped, scratch)?;
            Ok(hits.first().map(|hit| hit.skill))
        };
        let winners: Vec<Option<SkillIdx>> = requests
            .par_iter()
            .map_init(Scratch::default, winner)
            .collect::<Result<_, SearchError>>()?;
        let mut of: BTreeMap<SkillIdx, Vec<usize>> = BTreeMap::new();
        for (at, request) in requests.iter().enumerate() {
            for &owner in &request.owners {
                of.entry(owner).or_default().push(at);
            }
        }
        Ok(Self { requests: requests.into_iter().zip(winners).collect(), of })
    }

    /// The share of a neighborhood's requests that another member of it wins; `None` if it has none.
    pub fn lost_within(&self, snapshot: &Snapshot, neighborhood: NeighborhoodIdx) -> Option<f64> {
        let members = snapshot.neighborhoods().members(neighborhood);
        let (mut all, mut lost) = (0, 0);
        for at in members.iter().filter_map(|member| self.of.get(member)).flatten() {
            let (request, winner) = &self.requests[*at];
            all += 1;
            let within =
                |winner: &SkillIdx| !request.owners.contains(winner) && members.contains(winner);
            lost += usize::from(winner.as_ref().is_some_and(within));
        }
        (all > 0).then(|| f64::from(lost as u32) / f64::from(all))
    }

    /// Does it know of no request?
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

impl LossesAnswer {
    /// What a skill loses, by a contest, or by its rivals where there was none.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        skill: SkillIdx,
        contest: Option<&Contest>,
    ) -> Result<Self, SnapshotError> {
        let rivals = snapshot.rivals_of(skill)?;
        let weight = |of: SkillIdx| {
            rivals.iter().find(|rival| rival.skill == of).map_or(0.0, |rival| rival.weight)
        };
        let lost_to = |to: SkillIdx, requests: Vec<LostRequest>| {
            let row = snapshot.row(to);
            let (id, name) = (row.id.to_owned(), row.name.to_owned());
            LostTo { to: id, name, requests, weight: weight(to) }
        };
        let row = snapshot.row(skill);
        let (id, name) = (row.id.to_owned(), row.name.to_owned());
        let Some(contest) = contest else {
            let lost = rivals.iter().map(|rival| lost_to(rival.skill, Vec::new())).collect();
            let (requests, won, judged) = (0, 0, false);
            return Ok(Self { skill: id, name, requests, won, lost, judged, freshness });
        };
        let own = contest.of.get(&skill).map_or(&[][..], Vec::as_slice);
        let mut by_winner: BTreeMap<SkillIdx, Vec<LostRequest>> = BTreeMap::new();
        let mut won = 0;
        for &at in own {
            let (Owned { query, text, owners }, winner) = &contest.requests[at];
            match winner {
                Some(winner) if owners.contains(winner) => won += 1,
                Some(winner) => {
                    let request = LostRequest { query: query.clone(), text: text.clone() };
                    by_winner.entry(*winner).or_default().push(request);
                }
                None => {}
            }
        }
        let mut lost: Vec<LostTo> =
            by_winner.into_iter().map(|(to, requests)| lost_to(to, requests)).collect();
        // Stable: of equals, the one whose id comes first.
        lost.sort_by_key(|lost| std::cmp::Reverse(lost.requests.len()));
        let requests = own.len();
        Ok(Self { skill: id, name, requests, won, lost, judged: true, freshness })
    }
}
