//! Which requests are solved, and with which skills?
//!
//! Of the requests of a data set for which both arms chose from the same candidates, some on which they differ and
//! some on which they agree. Those are drawn by a hash of seed and request, so that a larger sample holds the
//! smaller one. Where the arms chose the same skill, one solution counts for both.

use std::collections::{BTreeMap, BTreeSet};

use crate::experiment::Experiment;
use crate::judge::Judge;
use crate::judged::{Judged, Places};
use crate::record::{Choices, RecordError};

use super::solved::Solutions;

/// The arms that are compared.
pub const ARMS: [&str; 2] = ["base", "boundary"];

/// What an arm is called where both chose the same.
pub const BOTH: &str = "both";

/// Do the arms choose the same skill?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Each its own.
    Differ,
    /// The same, or none both.
    Agree,
}

/// A request that was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// Its id.
    pub request: String,
    /// In which round it is solved.
    pub round: usize,
    /// Whether the arms agree on it.
    pub group: Group,
    /// What each arm chose.
    pub skills: [Option<String>; 2],
}

/// What was drawn of a data set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// Requests with choices in both arms.
    pub paired: usize,
    /// Of these, on which they differ.
    pub differ: usize,
    /// Those that are solved, in each round.
    pub drawn: Vec<Drawn>,
}

/// A solution that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wish {
    /// For which request.
    pub request: String,
    /// In which round.
    pub round: usize,
    /// With which skill; `None` for none.
    pub skill: Option<String>,
    /// Whose skill that is.
    pub arm: String,
}

/// What can be solved of a library, by data set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// By data set.
    pub sets: BTreeMap<String, Sample>,
    /// Data sets whose questions are about data that is not here, with their paired requests.
    pub without_data: BTreeMap<String, usize>,
}

/// The reader whose choices an executor works with: itself, or the first of the experiment's that has any.
pub fn chooser(
    executor: &str,
    experiment: &Experiment,
    judged: &Judged,
    places: &Places,
) -> Result<Option<(String, Choices)>, RecordError> {
    let readers = experiment.readers.iter().map(String::as_str);
    for reader in [executor].into_iter().chain(readers) {
        let choices = Choices::of(reader, places)?;
        if !choices.paired(&judged.name, &ARMS.map(str::to_owned)).is_empty() {
            return Ok(Some((reader.to_owned(), choices)));
        }
    }
    Ok(None)
}

impl Samples {
    /// Draws from what a reader chose.
    pub fn draw(
        choices: &Choices,
        judged: &Judged,
        experiment: &Experiment,
        places: &Places,
    ) -> Self {
        let paired = choices.paired(&judged.name, &ARMS.map(str::to_owned));
        let asked: BTreeSet<&str> = judged.queries.iter().map(|query| query.id.as_str()).collect();
        let mut rounds_chosen = 1;
        let mut sets: BTreeMap<String, Vec<Drawn>> = BTreeMap::new();
        // A reader may have been asked others than are asked here; all of them count, unless fewer are wanted.
        let is_wanted = |id: &str| experiment.requests == usize::MAX || asked.contains(id);
        for one in paired.iter().filter(|one| is_wanted(one.request)) {
            let dataset = judged.data_sets.get(one.request);
            let is_judged = judged.answers.contains_key(one.request);
            let Some(dataset) = dataset.filter(|set| is_judged && Judge::of(set).is_some()) else {
                continue;
            };
            rounds_chosen = rounds_chosen.max(one.round + 1);
            let skills = [0, 1].map(|arm: usize| one.choices[arm].choice.clone());
            let group = if skills[0] == skills[1] { Group::Agree } else { Group::Differ };
            let drawn = Drawn { request: one.request.to_owned(), round: one.round, group, skills };
            sets.entry(dataset.clone()).or_default().push(drawn);
        }
        let mut samples = Self::default();
        let has_data = places.tool_data(&judged.name).is_some();
        for (name, mut paired) in sets {
            if Judge::of(&name) == Some(Judge::ToolQa) && !has_data {
                samples.without_data.insert(name, paired.len());
                continue;
            }
            paired.sort_by_cached_key(|one| (lot(experiment.seed, &one.request), one.round));
            let differ = paired.iter().filter(|one| one.group == Group::Differ).count();
            let mut drawn = Vec::new();
            for round in 0..experiment.rounds.max(1) {
                // A reader that was asked once has chosen for all rounds.
                let of_this = || paired.iter().filter(|one| one.round == round % rounds_chosen);
                let groups = [(Group::Differ, experiment.differ), (Group::Agree, experiment.agree)];
                for (group, most) in groups {
                    let some = of_this().filter(|one| one.group == group).take(most);
                    drawn.extend(some.map(|one| Drawn { round, ..one.clone() }));
                }
            }
            samples.sets.insert(name, Sample { paired: paired.len(), differ, drawn });
        }
        samples
    }

    /// The solutions that are not there yet, each once, in the order of requests. One that could not be judged
    /// is wanted again: what it lacked may be here now.
    pub fn missing(&self, data: &str, solutions: &Solutions) -> Vec<Wish> {
        let mut wishes = BTreeSet::new();
        for drawn in self.sets.values().flat_map(|sample| &sample.drawn) {
            for (arm, skill) in ARMS.iter().zip(&drawn.skills) {
                let found = solutions.find(data, &drawn.request, skill.as_deref(), drawn.round);
                if found.is_some_and(|solved| solved.verdict.is_decided()) {
                    continue;
                }
                let arm = if drawn.group == Group::Agree { BOTH } else { arm };
                wishes.insert(Wish {
                    request: drawn.request.clone(),
                    round: drawn.round,
                    skill: skill.clone(),
                    arm: arm.to_owned(),
                });
            }
        }
        wishes.into_iter().collect()
    }
}

impl Wish {
    /// What it is called among the tasks of a library.
    pub fn name(&self) -> String {
        format!("{}\t{}\t{}", self.request, self.skill.as_deref().unwrap_or_default(), self.round)
    }
}

/// A place in a line that a seed puts requests into.
fn lot(seed: u64, request: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(request.as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::TOOLS;
    use crate::judged::tests::here;
    use crate::record::Choice;
    use crate::solve::solved::tests::solved;

    fn experiment(differ: usize, agree: usize, rounds: usize) -> Experiment {
        let text = format!(
            "number = 1\ntitle = ''\nquestion = ''\nkind = 'solving'\ndata = ['a']\ndiffer = {differ}\nagree = {agree}\nrounds = {rounds}"
        );
        Experiment::parse("mine", &text).unwrap()
    }

    /// Base chooses the first skill always, boundary for the first five requests.
    fn choices(places: &Places) -> Choices {
        let mut choices = Choices::default();
        let choice = |at: usize, arm: &str| Choice {
            data: TOOLS.into(),
            request: format!("tool_{at:02}"),
            arm: arm.into(),
            round: 0,
            candidates: vec!["a".into(), "b".into()],
            choice: Some(if arm == "base" || at <= 5 { "a".into() } else { "b".into() }),
        };
        let rows = (1..=12).flat_map(|at| ARMS.map(|arm| choice(at, arm)));
        choices.keep(rows, "r", places).unwrap();
        choices
    }

    #[test]
    fn a_larger_sample_holds_the_smaller_one_and_agreement_is_solved_once() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { project: folder.path().into(), ..here() };
        let choices = choices(&places);
        let judged = Judged::open(TOOLS, &here()).unwrap();
        let draw = |differ, agree, rounds| {
            let experiment = experiment(differ, agree, rounds);
            Samples::draw(&choices, &judged, &experiment, &here()).sets["toolqa"].clone()
        };
        let all = draw(40, 20, 1);
        assert_eq!((all.paired, all.differ, all.drawn.len()), (12, 7, 12));
        let some = draw(3, 2, 1);
        assert_eq!(some.drawn.len(), 5);
        assert!(some.drawn.iter().all(|one| draw(5, 4, 1).drawn.contains(one)));
        assert_eq!(draw(3, 2, 4).drawn.len(), 20);

        let samples = Samples::draw(&choices, &judged, &experiment(3, 2, 1), &here());
        let mut solutions = Solutions::default();
        let missing = samples.missing(TOOLS, &solutions);
        assert_eq!(missing.len(), 3 * 2 + 2, "two for each difference, one for each agreement");
        let done = solved(TOOLS, &missing[0].request, missing[0].skill.as_deref());
        solutions.keep([done], "r", &places).unwrap();
        assert_eq!(samples.missing(TOOLS, &solutions), missing[1..]);
    }

    #[test]
    fn questions_about_data_that_is_not_here_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { project: folder.path().into(), data: folder.path().into() };
        let choices = choices(&places);
        let judged = Judged::open(TOOLS, &here()).unwrap();
        let samples = Samples::draw(&choices, &judged, &experiment(3, 2, 1), &places);
        assert!(samples.sets.is_empty());
        assert_eq!(samples.without_data["toolqa"], 12);
    }
}
