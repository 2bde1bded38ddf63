//! What do the figures look like, as Markdown?

use std::collections::BTreeMap;

use fingerpost::eval::{ComparisonConfig, Paired, Qrels, Query, Run, Scored, compare};
use fingerpost::route::{ByKind, WEIGHTS};

use crate::judged::{EXAMPLES, STRONG, UNSEEN, UNSEEN_STRONG};

use super::{Asked, Half, MAX, Outcome, fit, fitted};

pub(super) fn print(asked: &[Asked]) {
    println!(
        "Success@1, mean over data sets; p: paired randomisation of that mean, two-sided; p over requests: t test, all counting alike\n"
    );
    header(&[
        "library",
        "requests",
        "rank 1, words as they are",
        "rank 1, as they suit",
        "rank 1, default search",
        "chooser, weights of the other half",
        "wins / losses",
        "p",
        "p over requests",
        "p, default search",
        "as shipped",
        "in pool",
    ]);
    let groups = groups(asked);
    for (name, group) in &groups {
        let all = |measure, of: fn(&Outcome) -> &[String], than: fn(&Outcome) -> &[String]| {
            compared(group, &Half::BOTH, measure, than, of)
        };
        let tested = all("Success@1", |o| &o.crossed, |o| &o.retrieved);
        let default = all("Success@1", |o| &o.crossed, |o| &o.default);
        row(&[
            name.clone(),
            tested.queries.to_string(),
            percent(all("Success@1", |o| &o.plain, |o| &o.plain).system),
            percent(tested.baseline),
            percent(default.baseline),
            format!("**{}**", percent(tested.system)),
            format!("{} / {}", tested.wins, tested.losses),
            p_value(tested.p_randomization),
            p_value(tested.p_t.unwrap_or(1.0)),
            p_value(default.p_randomization),
            percent(all("Success@1", |o| &o.chosen, |o| &o.chosen).system),
            percent(all("Success@1000", |o| &o.chosen, |o| &o.chosen).system),
        ]);
    }
    println!("\nBy half\n");
    header(&[
        "library",
        "half",
        "requests",
        "rank 1",
        "chooser",
        "wins / losses",
        "p",
        "p over requests",
    ]);
    for ((name, group), half) in
        groups.iter().flat_map(|group| Half::BOTH.map(|half| (group, half)))
    {
        let tested = compared(group, &[half], "Success@1", |o| &o.retrieved, |o| &o.crossed);
        row(&[
            name.clone(),
            half.name().into(),
            tested.queries.to_string(),
            percent(tested.baseline),
            percent(tested.system),
            format!("{} / {}", tested.wins, tested.losses),
            p_value(tested.p_randomization),
            p_value(tested.p_t.unwrap_or(1.0)),
        ]);
    }
    println!("\nWeights, by the half they were fitted to\n");
    header(&["half", "words", "phrases", "trigger", "meaning"]);
    let fitted_to = |name: &str, weights: ByKind| {
        let weights = weights.to_array().map(|weight| format!("{weight:.2}"));
        row(&[vec![name.to_owned()], weights.to_vec()].concat());
    };
    for half in Half::BOTH {
        fitted_to(half.name(), fitted(asked, |of| of == half));
    }
    fitted_to("both", fitted(asked, |_| true));
    fitted_to("as shipped", WEIGHTS);
    println!("\nThe boundary in the order, Success@1\n");
    header(&["library", "half", "base", "boundary", "wins / losses", "p"]);
    for (asked, half) in halves(asked) {
        let tested = compared(&[asked], &[half], "Success@1", |o| &o.chosen, |o| &o.bounded);
        row(&[
            asked.judged.name.clone(),
            half.name().into(),
            percent(tested.baseline),
            percent(tested.system),
            format!("{} / {}", tested.wins, tested.losses),
            p_value(tested.p_randomization),
        ]);
    }
    println!("\nNone: requests that no skill fits, and those that one does\n");
    header(&[
        "library",
        "threshold",
        "answered, tune",
        "report",
        "right if answered",
        "right if not",
        "none precision",
        "none recall",
    ]);
    asked.iter().for_each(none);
    println!("\nSeveral skills, at most {MAX}: requests of both halves with more than one right\n");
    header(&["data set", "requests", "mean size", "recall", "top m, same size", "p", "top 3"]);
    asked.iter().for_each(sets);
    println!("\nConfidence and how many were right (answered requests of the report half)\n");
    reliability(asked);
    let seen = asked.iter().filter(|asked| !asked.judged.name.starts_with(UNSEEN));
    let leads: Vec<(f64, bool, f64)> = seen.flat_map(leads).collect();
    let [a, b] = fit::confidence(&leads);
    println!("\nFitted to the tune halves: 1 / (1 + exp({a:.2} - {b:.2} · lead))");
}

/// How far the first was ahead, and whether it was right, for each answered request of the tune half.
fn leads(asked: &Asked) -> Vec<(f64, bool, f64)> {
    let answered: Vec<_> = asked.of(Half::Tune).filter(|(_, outcome)| outcome.answered).collect();
    let counts = 1.0 / answered.len().max(1) as f64;
    let told = |(query, outcome): &(&Query, &Outcome)| {
        let first = outcome.chosen.first();
        let right = first.is_some_and(|skill| asked.judged.is_right(query, skill));
        (outcome.lead, right, counts)
    };
    answered.iter().map(told).collect()
}

/// Each library with each half.
fn halves(asked: &[Asked]) -> impl Iterator<Item = (&Asked, Half)> {
    asked.iter().flat_map(|asked| Half::BOTH.map(|half| (asked, half)))
}

/// Each library by itself, and the two sets of requests of the example library as one.
fn groups(asked: &[Asked]) -> Vec<(String, Vec<&Asked>)> {
    let mut groups: Vec<(String, Vec<&Asked>)> =
        asked.iter().map(|asked| (asked.judged.name.clone(), vec![asked])).collect();
    for both in [[EXAMPLES, UNSEEN], [STRONG, UNSEEN_STRONG]] {
        let found = asked.iter().filter(|asked| both.contains(&asked.judged.name.as_str()));
        let found: Vec<&Asked> = found.collect();
        if found.len() == both.len() {
            groups.push((both.join(" and "), found));
        }
    }
    groups
}

/// One order of the candidates against another, over the requests of these halves.
fn compared(
    asked: &[&Asked],
    halves: &[Half],
    measure: &str,
    baseline: impl Fn(&Outcome) -> &[String],
    system: impl Fn(&Outcome) -> &[String],
) -> Paired {
    let pairs = asked.iter().flat_map(|asked| halves.iter().flat_map(|&half| asked.of(half)));
    let (queries, outcomes): (Vec<Query>, Vec<&Outcome>) =
        pairs.map(|(query, outcome)| (query.clone(), outcome)).unzip();
    let run = |of: &dyn Fn(&Outcome) -> &[String]| {
        run_of(queries.iter().zip(outcomes.iter().map(|&outcome| of(outcome))))
    };
    let qrels = asked.iter().flat_map(|asked| asked.judged.qrels.clone()).collect();
    tested(&run(&baseline), run(&system), measure, &qrels, &queries)
}

impl Asked {
    /// The requests of a half, with what became of them.
    fn of(&self, half: Half) -> impl Iterator<Item = (&Query, &Outcome)> {
        let all = self.judged.queries.iter().zip(&self.outcomes);
        all.filter(move |(query, _)| Half::of(query) == half)
    }
}

fn run_of<'a>(answers: impl Iterator<Item = (&'a Query, &'a [String])>) -> Run {
    let mut run = Run::default();
    for (query, skills) in answers {
        let scored = skills
            .iter()
            .zip(1..)
            .map(|(skill, rank)| Scored { skill: skill.clone(), score: 1.0 / f64::from(rank) });
        run.insert(query.id.as_str(), scored.collect());
    }
    run
}

fn tested(baseline: &Run, system: Run, measure: &str, qrels: &Qrels, queries: &[Query]) -> Paired {
    let config = ComparisonConfig {
        measures: vec![measure.parse().expect("a measure")],
        resamples: 10_000,
        confidence: 0.95,
        seed: 42,
    };
    let systems = [(String::new(), system)];
    let mut compared = compare(baseline, &systems, qrels, Some(queries), &config);
    compared.swap_remove(0).measures.swap_remove(0)
}

fn none(asked: &Asked) {
    let answered = |half| {
        let answerable = asked.of(half).filter(|(query, _)| asked.judged.is_answerable(query));
        share(answerable.map(|(_, outcome)| outcome.answered))
    };
    let all = || asked.judged.queries.iter().zip(&asked.outcomes);
    // Of the answerable requests: would the choice be right?
    let right = |answered: bool| {
        let those = all().filter(|(query, outcome)| {
            outcome.answered == answered && asked.judged.is_answerable(query)
        });
        share(those.map(|(query, outcome)| {
            outcome.chosen.first().is_some_and(|skill| asked.judged.is_right(query, skill))
        }))
    };
    let refused = all().filter(|(_, outcome)| !outcome.answered);
    let unfit = all().filter(|(query, _)| !asked.judged.is_answerable(query));
    let has_none = unfit.clone().next().is_some();
    let shown = |value: f64| if has_none { percent(value) } else { "–".into() };
    row(&[
        asked.judged.name.clone(),
        format!("{:.2}", asked.none_below),
        percent(answered(Half::Tune)),
        percent(answered(Half::Report)),
        percent(right(true)),
        percent(right(false)),
        shown(share(refused.map(|(query, _)| !asked.judged.is_answerable(query)))),
        shown(share(unfit.map(|(_, outcome)| !outcome.answered))),
    ]);
}

/// For each data set whose requests have several right skills: the set that the request was said to
/// need, against as many from the top for every request. Where their mean is no whole number, as
/// many requests as it takes get one more, evenly spaced.
fn sets(asked: &Asked) {
    let Asked { judged, outcomes, .. } = asked;
    let mut datasets: BTreeMap<&str, Vec<(&Query, &Outcome)>> = BTreeMap::new();
    for (query, outcome) in judged.queries.iter().zip(outcomes) {
        let right = judged.qrels.get(&query.id);
        let right = right.map_or(0, |grades| grades.values().filter(|&&grade| grade > 0).count());
        if right > 1 {
            datasets
                .entry(query.dataset.as_deref().unwrap_or("all"))
                .or_default()
                .push((query, outcome));
        }
    }
    for (dataset, answers) in datasets {
        if answers.len() < 20 {
            continue;
        }
        let queries: Vec<Query> = answers.iter().map(|(query, _)| (*query).clone()).collect();
        let taken: usize = answers.iter().map(|(_, outcome)| outcome.set.len()).sum();
        let run = |of: &dyn Fn(usize, &Outcome) -> usize, sets: bool| {
            run_of(answers.iter().enumerate().map(|(at, (query, outcome))| {
                let skills = if sets { &outcome.set } else { &outcome.chosen };
                (*query, &skills[..of(at, outcome).min(skills.len())])
            }))
        };
        let even =
            |at: usize, _: &Outcome| (at + 1) * taken / answers.len() - at * taken / answers.len();
        let set = run(&|_, outcome| outcome.set.len(), true);
        let against = tested(&run(&even, false), set, "R@3", &judged.qrels, &queries);
        let all = run(&|_, _| MAX, false);
        let all = tested(&all.clone(), all, "R@3", &judged.qrels, &queries);
        row(&[
            format!("{} in {}", dataset, judged.name),
            answers.len().to_string(),
            format!("{:.2}", taken as f64 / answers.len() as f64),
            percent(against.system),
            percent(against.baseline),
            p_value(against.p_randomization),
            percent(all.system),
        ]);
    }
}

/// Bins of confidence.
pub(super) const BINS: usize = 10;

/// Is this confidence in that bin?
pub(super) fn in_bin(sure: f64, bin: usize) -> bool {
    ((sure * BINS as f64) as usize).min(BINS - 1) == bin
}

/// The confidence of each request of the report half that was answered, and whether it was right.
pub(super) fn judged(asked: &Asked) -> Vec<(f64, bool)> {
    let answered = asked.of(Half::Report).filter(|(_, outcome)| outcome.answered);
    let right = |(query, outcome): (&Query, &Outcome)| {
        let first = outcome.chosen.first();
        (outcome.confidence, first.is_some_and(|skill| asked.judged.is_right(query, skill)))
    };
    answered.map(right).collect()
}

fn reliability(asked: &[Asked]) {
    let names = asked.iter().map(|asked| asked.judged.name.as_str());
    header(&["confidence"].into_iter().chain(names).chain(["all", ""]).collect::<Vec<_>>());
    let figures: Vec<Vec<(f64, bool)>> = asked.iter().map(judged).collect();
    for bin in 0..BINS {
        let inside = |&&(sure, _): &&(f64, bool)| in_bin(sure, bin);
        let right = |figures: &[(f64, bool)]| -> Vec<bool> {
            figures.iter().filter(inside).map(|&(_, right)| right).collect()
        };
        let shown = |right: Vec<bool>| match right.len() {
            0 => String::new(),
            count => format!("{} of {count}", percent(share(right.into_iter()))),
        };
        let range = format!("{:.1}–{:.1}", bin as f64 / 10.0, (bin + 1) as f64 / 10.0);
        // Libraries count alike in the mean, whatever their number of requests.
        let shares: Vec<f64> = figures
            .iter()
            .map(|figures| right(figures))
            .filter(|right| right.len() >= 10)
            .map(|right| share(right.into_iter()))
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        let mut cells = vec![range];
        cells.extend(figures.iter().map(|figures| shown(right(figures))));
        cells.push(if shares.is_empty() { String::new() } else { percent(mean) });
        cells.push("█".repeat((mean * 20.0).round() as usize));
        row(&cells);
    }
    let means = |of: &dyn Fn(&(f64, bool)) -> f64| {
        figures
            .iter()
            .map(move |figures| {
                percent(figures.iter().map(of).sum::<f64>() / figures.len().max(1) as f64)
            })
            .collect::<Vec<_>>()
    };
    let empty = || [String::new(), String::new()];
    row(&["mean confidence".into()]
        .into_iter()
        .chain(means(&|f| f.0))
        .chain(empty())
        .collect::<Vec<_>>());
    row(&["right".into()]
        .into_iter()
        .chain(means(&|f| f64::from(f.1)))
        .chain(empty())
        .collect::<Vec<_>>());
}

fn share(of: impl Iterator<Item = bool>) -> f64 {
    let (mut yes, mut all) = (0_usize, 0_usize);
    for is in of {
        yes += usize::from(is);
        all += 1;
    }
    yes as f64 / all.max(1) as f64
}

fn header(cells: &[&str]) {
    row(&cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
    println!("|{}", "---|".repeat(cells.len()));
}

fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

fn percent(value: f64) -> String {
    format!("{:.1}", value * 100.0)
}

fn p_value(p: f64) -> String {
    if p < 0.0002 { "< .0002".into() } else { format!("{p:.4}").trim_start_matches('0').to_owned() }
}
