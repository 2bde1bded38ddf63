//! 7. Does a reader choose better from cards with the boundary?
//!
//! Every reader saw the same ten candidates of a request in each arm, and one arm only at a time. The arms are
//! compared request by request: wins, losses, a randomisation test, and an interval by resampling; over rounds,
//! where there are several, also by two standard errors and by Student's t.

use fingerpost::eval::{ComparisonConfig, Measure, Paired as Tested, Run, Scored, compare};
use fingerpost::skill::SkillId;

use crate::experiment::Experiment;
use crate::interval::over_rounds;
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Figure, Outcome, Plot, Series, Table, mark_better};
use crate::record::{Choices, Paired};

/// Samples of the tests.
const RESAMPLES: usize = 10_000;

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let arms: Vec<String> = experiment.cards.iter().map(ToString::to_string).collect();
    let [base, others @ ..] = &arms[..] else {
        let why = "it names no cards".to_owned();
        return Err(LabError::Setting { experiment: experiment.name.clone(), why });
    };
    let mut outcome = Outcome::default();
    let mut table = table(&arms);
    let mut heat = Heat::default();
    for opened in lab.data(experiment, &mut outcome)? {
        for reader in &experiment.readers {
            let choices = Choices::of(reader, &lab.places)?;
            for arm in others {
                let arms = [base.clone(), arm.clone()];
                let paired = choices.paired(&opened.judged.name, &arms);
                if paired.is_empty() {
                    continue;
                }
                let compared = Compared::of(&opened, &paired, experiment.seed);
                table.row(compared.row(&opened, reader, arm));
                compared.note(&opened, reader, arm, &mut outcome);
                heat.add(&opened.judged.name, &format!("{reader}, {arm}"), &compared);
            }
        }
    }
    if table.rows.is_empty() {
        lab.left_out(&mut outcome, "no reader has chosen yet: name a model with --model");
    }
    outcome.tables.push(table);
    outcome.plots.extend(heat.plots());
    outcome.note("Each reader saw one arm at a time, no judgements and no other file; the ten candidates are the same in every arm.");
    Ok(outcome)
}

fn table(arms: &[String]) -> Table {
    let base = &arms[0];
    let columns = [
        "library".to_owned(),
        "pages".to_owned(),
        "reader".to_owned(),
        "arm".to_owned(),
        "requests".to_owned(),
        "right one among ten".to_owned(),
        "first by search".to_owned(),
        format!("{base} cards"),
        "this arm".to_owned(),
        "gain".to_owned(),
        "wins, losses".to_owned(),
        "p".to_owned(),
        "lost against its own boundary".to_owned(),
    ];
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    Table::new("routing", "Right choices, in percent", &columns)
}

/// Two arms on the same requests.
pub(super) struct Compared {
    pub(super) requests: usize,
    among: f64,
    first: f64,
    pub(super) test: Tested,
    /// Losses in which the right skill's own boundary names the one that was chosen.
    against: usize,
    /// Gain of each round, where there are several.
    rounds: Vec<f64>,
}

impl Compared {
    pub(super) fn of(opened: &Opened, paired: &[Paired<'_>], seed: u64) -> Self {
        let judged = &opened.judged;
        // A round is a request of its own, so that every choice counts.
        let id = |paired: &Paired<'_>| format!("{}\t{}", paired.request, paired.round);
        let mut queries = Vec::new();
        let mut qrels = fingerpost::eval::Qrels::new();
        let mut runs = [Run::default(), Run::default()];
        let (mut among, mut first, mut against) = (0, 0, 0);
        let is_right = |request: &str, skill: &str| {
            let grade = judged.qrels.get(request).and_then(|grades| grades.get(skill));
            grade.is_some_and(|&grade| grade > 0)
        };
        for paired in paired {
            let request = paired.request;
            let dataset = judged.data_sets.get(request).cloned();
            queries.push(fingerpost::eval::Query { id: id(paired), text: String::new(), dataset });
            qrels.insert(id(paired), judged.qrels.get(request).cloned().unwrap_or_default());
            let candidates = &paired.choices[0].candidates;
            among += usize::from(candidates.iter().any(|skill| is_right(request, skill)));
            first += usize::from(candidates.first().is_some_and(|skill| is_right(request, skill)));
            for (run, choice) in runs.iter_mut().zip(&paired.choices) {
                let hit =
                    choice.choice.iter().map(|skill| Scored { skill: skill.clone(), score: 1.0 });
                run.insert(id(paired), hit.collect());
            }
            let chosen: Vec<Option<&str>> =
                paired.choices.iter().map(|choice| choice.choice.as_deref()).collect();
            if let [Some(right), Some(wrong)] = chosen[..]
                && is_right(request, right)
                && !is_right(request, wrong)
            {
                against += usize::from(gives_away(opened, right, wrong));
            }
        }
        let measure: Measure = "Success@1".parse().expect("a measure");
        let config = ComparisonConfig {
            measures: vec![measure],
            resamples: RESAMPLES,
            confidence: 0.95,
            seed,
        };
        let [baseline, system] = runs;
        let systems = [(String::new(), system)];
        let mut compared = compare(&baseline, &systems, &qrels, Some(&queries), &config);
        let test = compared.remove(0).measures.remove(0);
        let count = paired.len();
        let share = |part: usize| part as f64 / count.max(1) as f64;
        let rounds = rounds(paired, &is_right);
        Self { requests: count, among: share(among), first: share(first), test, against, rounds }
    }

    fn row(&self, opened: &Opened, reader: &str, arm: &str) -> Vec<Cell> {
        let Tested {
            baseline, system, difference, interval, wins, losses, p_randomization, ..
        } = &self.test;
        let mut row = vec![
            Cell::from(opened.judged.name.as_str()),
            Cell::from(opened.judged.writer),
            Cell::from(reader),
            Cell::from(arm),
            Cell::count(self.requests),
            Cell::share(self.among),
            Cell::share(self.first),
            Cell::share(*baseline),
            Cell::share(*system),
            Figure::points(*difference).within(*interval).into(),
            Cell::from(format!("{wins}, {losses}")),
            Figure::number(*p_randomization, 3).into(),
            Cell::from(format!("{} of {losses}", self.against)),
        ];
        mark_better(&mut row, &[7, 8]);
        row
    }

    fn note(&self, opened: &Opened, reader: &str, arm: &str, outcome: &mut Outcome) {
        let name = |what: &str| format!("{} {reader} {arm} {what}", opened.judged.name);
        outcome.figure(name("base"), 100.0 * self.test.baseline);
        outcome.figure(name("right"), 100.0 * self.test.system);
        outcome.figure(name("gain"), 100.0 * self.test.difference);
        if let Some(over) = over_rounds(&self.rounds) {
            outcome.note(format!(
                "{}, {reader}, {arm}: {} rounds, gain {:+.1} points, two standard errors {:+.1} to {:+.1}, Student's t {:+.1} to {:+.1}.",
                opened.judged.name,
                self.rounds.len(),
                over.mean,
                over.two_errors[0],
                over.two_errors[1],
                over.student[0],
                over.student[1],
            ));
        }
    }
}

/// Does the boundary of one skill send requests to the other?
fn gives_away(opened: &Opened, right: &str, chosen: &str) -> bool {
    let Some(row) = opened.snapshot.find(right) else { return false };
    let page = opened.snapshot.page_row(row).ok().and_then(|row| row.page);
    page.is_some_and(|page| page.references().contains(&&SkillId::new(chosen)))
}

/// The gain of each round in points, over its requests.
fn rounds(paired: &[Paired<'_>], is_right: &dyn Fn(&str, &str) -> bool) -> Vec<f64> {
    let last = paired.iter().map(|paired| paired.round).max().unwrap_or(0);
    let right = |paired: &Paired<'_>, arm: usize| {
        let chosen = paired.choices[arm].choice.as_deref();
        f64::from(u8::from(chosen.is_some_and(|skill| is_right(paired.request, skill))))
    };
    let gain = |round: usize| {
        let of_this: Vec<_> = paired.iter().filter(|paired| paired.round == round).collect();
        let gains = of_this.iter().map(|paired| right(paired, 1) - right(paired, 0));
        100.0 * gains.sum::<f64>() / of_this.len().max(1) as f64
    };
    (0..=last).map(gain).collect()
}

/// Gains by reader and library.
#[derive(Default)]
struct Heat {
    rows: Vec<String>,
    columns: Vec<String>,
    gains: Vec<(String, String, f64, [f64; 2])>,
}

impl Heat {
    fn add(&mut self, data: &str, reader: &str, compared: &Compared) {
        for (names, name) in [(&mut self.columns, data), (&mut self.rows, reader)] {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let gain = 100.0 * compared.test.difference;
        let interval = compared.test.interval.map(|end| 100.0 * end);
        self.gains.push((reader.to_owned(), data.to_owned(), gain, interval));
    }

    fn plots(self) -> Vec<Plot> {
        if self.gains.is_empty() {
            return Vec::new();
        }
        let find = |row: &str, column: &str| {
            self.gains.iter().find(|(reader, data, ..)| reader == row && data == column)
        };
        let values = self.rows.iter().map(|row| {
            self.columns
                .iter()
                .map(|column| find(row, column).map(|&(_, _, gain, _)| gain))
                .collect()
        });
        let values = values.collect();
        let series = self.rows.iter().map(|row| Series {
            name: row.clone(),
            values: self
                .columns
                .iter()
                .map(|column| find(row, column).map(|found| found.2))
                .collect(),
            intervals: self
                .columns
                .iter()
                .map(|column| find(row, column).map(|found| found.3))
                .collect(),
        });
        let bars = Plot::Bars {
            name: "gain".into(),
            title: "What the boundary adds to right choices".into(),
            axis: "points, with the 95 % interval".into(),
            groups: self.columns.clone(),
            series: series.collect(),
        };
        let heat = Plot::Heat {
            name: "readers".into(),
            title: "Gain in points, reader by library".into(),
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            values,
        };
        vec![bars, heat]
    }
}
