//! 8. Are more tasks solved when the skill was chosen from cards with the boundary?
//!
//! The choices of both arms are those that a reader made among the same candidates; an executor solves a sample of
//! the requests with either skill, and the judge of the data set says whether that is right. Where the arms chose
//! the same skill, one solution counts for both.

use std::collections::BTreeMap;

use crate::experiment::Experiment;
use crate::interval::over_rounds;
use crate::judge::bigcodebench::Bench;
use crate::judge::{Judge, Verdict};
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Figure, Outcome, Plot, Series, Table, mark_better};
use crate::solve::sample::{ARMS, Group, Sample, Samples, chooser};
use crate::solve::solved::{Kept, Solutions, judged_again};
use crate::solve::weigh::{DataSet, Stratum, Weighed, arms, weigh};

const COLUMNS: [&str; 11] = [
    "library",
    "data set",
    "executor",
    "choices of",
    "requests paired",
    "arms differ",
    "solved and judged",
    "base",
    "boundary",
    "gain",
    "not judged, not solved yet",
];

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let mut table = Table::new("solving", "Solved requests, in percent", &COLUMNS);
    let mut all: Vec<Vec<DataSet>> = Vec::new();
    let mut gains = Vec::new();
    let bench = lab.bench()?;
    for opened in lab.data(experiment, &mut outcome)? {
        for executor in Solutions::executors(&lab.places) {
            let solutions = Solutions::of(&executor, &lab.places)?;
            let name = &opened.judged.name;
            if solutions.of_data(name).next().is_none() {
                continue;
            }
            judge_again(&opened, &executor, &solutions, bench.as_ref(), &mut outcome);
            let chooser = chooser(&executor, experiment, &opened.judged, &lab.places)?;
            let Some((reader, choices)) = chooser else { continue };
            let samples = Samples::draw(&choices, &opened.judged, experiment, &lab.places);
            let of = |dataset: &str| [name, dataset, &executor, &reader].map(Cell::from).to_vec();
            let mut sets = Vec::new();
            for (dataset, sample) in &samples.sets {
                let counted = Counted::of(name, sample, &solutions);
                let weighed = weigh(&[vec![counted.set(sample, None)]], experiment.seed);
                table.row(counted.row(of(dataset), sample, weighed));
                figures(&mut outcome, &format!("{name} {dataset} {executor}"), weighed);
                if let Some(weighed) = weighed {
                    gains.push((format!("{name}, {dataset}"), executor.clone(), weighed));
                    sets.push((sample, counted));
                }
            }
            for (dataset, requests) in &samples.without_data {
                outcome.note(format!("{name}, {dataset}: {requests} paired requests are about data that is not here, and are not solved."));
            }
            let whole: Vec<DataSet> =
                sets.iter().map(|(sample, counted)| counted.set(sample, None)).collect();
            if let Some(weighed) = weigh(std::slice::from_ref(&whole), experiment.seed) {
                table.row(summary(of("all"), weighed));
                figures(&mut outcome, &format!("{name} {executor}"), Some(weighed));
                rounds(name, &executor, &sets, experiment, &mut outcome);
                all.push(whole);
            }
        }
    }
    if let (2.., Some(weighed)) = (all.len(), weigh(&all, experiment.seed)) {
        table.row(summary(["all", "all", "all", "–"].map(Cell::from).to_vec(), weighed));
        figures(&mut outcome, "all", Some(weighed));
    }
    if table.rows.is_empty() {
        let mut row = vec![Cell::none(); COLUMNS.len()];
        row[0] = Cell::from(experiment.data.join(", "));
        row[2] = Cell::from("nobody has solved yet");
        table.row(row);
        lab.left_out(&mut outcome, "nobody has solved yet: name a model with --model");
    }
    outcome.tables.push(table);
    outcome.plots.extend(plot(&gains));
    outcome.note(format!(
        "Of each data set up to {} requests on which the arms differ and {} on which they agree, drawn by the seed {}; each group counts by its share among all paired requests. {} drawn at temperature {}, with the seeds {} and following.",
        experiment.differ,
        experiment.agree,
        experiment.seed,
        match experiment.rounds {
            1 => "One round".to_owned(),
            rounds => format!("{rounds} rounds"),
        },
        experiment.temperature,
        experiment.seed,
    ));
    Ok(outcome)
}

/// What the verdicts on a sample are.
struct Counted {
    /// Of a request, group and round: whether each arm solved it.
    judged: BTreeMap<(String, Group, usize), [f64; 2]>,
    not_judged: usize,
    missing: usize,
}

impl Counted {
    fn of(data: &str, sample: &Sample, solutions: &Solutions) -> Self {
        let mut counted = Self { judged: BTreeMap::new(), not_judged: 0, missing: 0 };
        for drawn in &sample.drawn {
            let find = |skill: &Option<String>| {
                solutions.find(data, &drawn.request, skill.as_deref(), drawn.round)
            };
            let [Some(base), Some(other)] = drawn.skills.each_ref().map(find) else {
                counted.missing += 1;
                continue;
            };
            let verdicts = [&base.verdict, &other.verdict];
            if verdicts.iter().all(|verdict| verdict.is_decided()) {
                let solved =
                    verdicts.map(|verdict| f64::from(u8::from(*verdict == Verdict::Right)));
                let key = (drawn.request.clone(), drawn.group, drawn.round);
                counted.judged.insert(key, solved);
            } else {
                counted.not_judged += 1;
            }
        }
        counted
    }

    /// The groups, of one round or of all.
    fn set(&self, sample: &Sample, round: Option<usize>) -> DataSet {
        let shares = [sample.differ, sample.paired - sample.differ];
        let strata = [Group::Differ, Group::Agree].into_iter().zip(shares).map(|(group, part)| {
            let mut requests: BTreeMap<&str, Vec<[f64; 2]>> = BTreeMap::new();
            for ((request, of, in_round), solved) in &self.judged {
                if *of == group && round.is_none_or(|round| round == *in_round) {
                    requests.entry(request).or_default().push(*solved);
                }
            }
            let mean = |rounds: Vec<[f64; 2]>| {
                [0, 1].map(|arm: usize| {
                    rounds.iter().map(|solved| solved[arm]).sum::<f64>() / rounds.len() as f64
                })
            };
            let solved = requests.into_values().map(mean).collect();
            Stratum { share: part as f64 / sample.paired.max(1) as f64, solved }
        });
        let strata: Vec<Stratum> = strata.collect();
        strata.try_into().expect("two groups")
    }

    fn row(&self, mut row: Vec<Cell>, sample: &Sample, weighed: Option<Weighed>) -> Vec<Cell> {
        row.push(Cell::count(sample.paired));
        row.push(Cell::share(sample.differ as f64 / sample.paired.max(1) as f64));
        row.push(Cell::count(self.judged.len()));
        row.extend(
            weighed
                .map_or([const { None }; 3], |weighed| cells(weighed).map(Some))
                .map(|cell| cell.unwrap_or_else(Cell::none)),
        );
        row.push(Cell::from(format!("{}, {}", self.not_judged, self.missing)));
        mark_better(&mut row, &[7, 8]);
        row
    }
}

fn cells(weighed: Weighed) -> [Cell; 3] {
    let gain = Figure::points(weighed.gain()).within(weighed.interval);
    [Cell::share(weighed.arms[0]), Cell::share(weighed.arms[1]), gain.into()]
}

fn summary(mut row: Vec<Cell>, weighed: Weighed) -> Vec<Cell> {
    row.extend([Cell::none(), Cell::none(), Cell::none()]);
    row.extend(cells(weighed));
    row.push(Cell::none());
    mark_better(&mut row, &[7, 8]);
    row
}

fn figures(outcome: &mut Outcome, name: &str, weighed: Option<Weighed>) {
    let Some(weighed) = weighed else { return };
    for (arm, solved) in ARMS.iter().zip(weighed.arms) {
        outcome.figure(format!("{name} {arm}"), 100.0 * solved);
    }
    outcome.figure(format!("{name} gain"), 100.0 * weighed.gain());
}

/// The gain of each round, where there are several.
fn rounds(
    name: &str,
    executor: &str,
    sets: &[(&Sample, Counted)],
    experiment: &Experiment,
    outcome: &mut Outcome,
) {
    let gain = |round: usize| {
        let sets = sets.iter().map(|(sample, counted)| counted.set(sample, Some(round))).collect();
        arms(&[sets]).map(|[base, other]| 100.0 * (other - base))
    };
    let gains: Vec<f64> = (0..experiment.rounds).filter_map(gain).collect();
    if let Some(over) = over_rounds(&gains) {
        outcome.note(format!(
            "{name}, {executor}: {} rounds, gain {:+.1} points, two standard errors {:+.1} to {:+.1}, Student's t {:+.1} to {:+.1}.",
            gains.len(),
            over.mean,
            over.two_errors[0],
            over.two_errors[1],
            over.student[0],
            over.student[1],
        ));
    }
}

/// The judges look at what is kept of the answers; where they say something else now, that is told. What could
/// not be judged is told by its reason.
fn judge_again(
    opened: &Opened,
    executor: &str,
    solutions: &Solutions,
    bench: Option<&Bench>,
    outcome: &mut Outcome,
) {
    let judged = &opened.judged;
    let (mut looked, mut alike, mut by_final_words, mut programs) = (0, 0, 0, 0);
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for solved in solutions.of_data(&judged.name) {
        if let Verdict::NotRunnable { why } = &solved.verdict {
            *reasons.entry(why).or_default() += 1;
            continue;
        }
        let dataset = judged.data_sets.get(&solved.request);
        let judging = dataset.and_then(|dataset| Judge::of(dataset));
        let (Some(judging), Some(gold)) = (judging, judged.answers.get(&solved.request)) else {
            continue;
        };
        if let Some(verdict) = judged_again(judging, gold, solved, bench) {
            looked += 1;
            by_final_words += usize::from(solved.kept == Kept::Final);
            let is_right = |verdict: &Verdict| *verdict == Verdict::Right;
            alike += usize::from(is_right(&verdict) == is_right(&solved.verdict));
        } else {
            programs += usize::from(judging == Judge::BigCodeBench);
        }
    }
    let name = &judged.name;
    if looked > 0 {
        outcome.note(format!("{name}, {executor}: of {looked} answers that were judged again by what is kept of them, {alike} are judged alike."));
        if by_final_words > 0 {
            outcome.note(format!("{name}, {executor}: {by_final_words} of them were recorded when nothing but the final words was kept."));
        }
        outcome.figure(
            format!("{name} {executor} judged alike"),
            100.0 * f64::from(alike as u32) / f64::from(looked as u32),
        );
    }
    if programs > 0 {
        outcome.note(format!("{name}, {executor}: {programs} programs are not judged again: they are not kept, or there is no Python environment to try them in (--bigcodebench)."));
    }
    for (why, count) in reasons {
        outcome.note(format!("{name}, {executor}: {count} not judged: {why}."));
    }
}

fn plot(gains: &[(String, String, Weighed)]) -> Option<Plot> {
    let mut groups: Vec<String> = Vec::new();
    let mut executors: Vec<String> = Vec::new();
    for (group, executor, _) in gains {
        for (names, name) in [(&mut groups, group), (&mut executors, executor)] {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    let find = |group: &String, executor: &String| {
        let found = gains.iter().find(|(g, e, _)| g == group && e == executor);
        found.map(|(.., weighed)| *weighed)
    };
    let series = executors.iter().map(|executor| {
        let of: Vec<Option<Weighed>> = groups.iter().map(|group| find(group, executor)).collect();
        Series {
            name: executor.clone(),
            values: of.iter().map(|found| found.map(|weighed| 100.0 * weighed.gain())).collect(),
            intervals: of
                .iter()
                .map(|found| found.map(|weighed| weighed.interval.map(|end| 100.0 * end)))
                .collect(),
        }
    });
    let series = series.collect();
    (!gains.is_empty()).then(|| Plot::Bars {
        name: "gain".into(),
        title: "What the boundary adds to solved requests".into(),
        axis: "points, with the 95 % interval".into(),
        groups: groups.clone(),
        series,
    })
}
