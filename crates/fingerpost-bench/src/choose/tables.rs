//! What do the figures look like, as Markdown?

use std::collections::BTreeMap;

use fingerpost::eval::{ComparisonConfig, Paired, Qrels, Query, Run, Scored, compare};
use fingerpost::route::ByKind;

use super::{Asked, MAX, Outcome};
use crate::folds::{AGAIN, Fold};
use crate::judged::K;
use crate::none::tables::{header, percent, row};

/// `shipped` are the weights of the program, for who takes part.
pub(super) fn print(
    asked: &[Asked],
    fitted: &[(&'static Fold, ByKind)],
    all: &ByKind,
    shipped: &ByKind,
) {
    first_places(asked);
    println!("\nWeights, by the fold that was left out\n");
    header(&["left out", "words", "phrases", "trigger", "meaning", "encoder"]);
    let shown = |name: &str, weights: &ByKind| {
        let weights = weights.to_array().map(|weight| format!("{weight:.2}"));
        row(&[vec![name.to_owned()], weights.to_vec()].concat());
    };
    fitted.iter().for_each(|(fold, weights)| shown(fold.name, weights));
    shown("none", all);
    shown("as shipped", shipped);
    println!("\nThe boundary in the order, Success@1, weights as shipped\n");
    header(&["library", "without", "with", "wins / losses", "p"]);
    for asked in asked {
        let tested = compared(asked, "Success@1", |o| &o.chosen, |o| &o.bounded);
        row(&[
            asked.judged.name.clone(),
            percent(tested.baseline),
            percent(tested.system),
            format!("{} / {}", tested.wins, tested.losses),
            p_value(tested.p_randomization),
        ]);
    }
    println!("\nSeveral skills, at most {MAX}: requests with more than one right\n");
    header(&["data set", "requests", "mean size", "recall", "top m, same size", "p", "top 3"]);
    asked.iter().for_each(sets);
}

/// The table that counts: each library by weights that were fitted to the other folds.
fn first_places(asked: &[Asked]) {
    println!(
        "Success@1 and R@{K}, means over data sets, weights fitted to the other folds; p: paired randomisation of that mean, two-sided. Folds are means over their libraries, without those that ask again what another one asks.\n"
    );
    header(&[
        "library",
        "requests",
        "`bm25 --view raw`",
        "`search`, `route --always`",
        "wins / losses",
        "p",
        "weights as shipped",
        "`route` as shipped",
        &format!("R@{K}, `bm25 --view raw`"),
        &format!("R@{K}, `search`"),
        "right one in the pool",
    ]);
    let mut of_folds: BTreeMap<&str, Vec<[f64; 7]>> = BTreeMap::new();
    for asked in asked {
        let first = compared(asked, "Success@1", |o| &o.plain, |o| &o.left_out);
        let recall = compared(asked, &format!("R@{K}"), |o| &o.plain, |o| &o.left_out);
        let shipped = compared(asked, "Success@1", |o| &o.chosen, |o| &o.answer);
        let pool = compared(asked, "Success@1000", |o| &o.chosen, |o| &o.chosen);
        let figures = [
            first.baseline,
            first.system,
            shipped.baseline,
            shipped.system,
            recall.baseline,
            recall.system,
            pool.system,
        ];
        if !AGAIN.contains(&asked.judged.name.as_str()) {
            of_folds.entry(asked.fold.name).or_default().push(figures);
        }
        let tested = format!("{} / {}", first.wins, first.losses);
        let p = p_value(first.p_randomization);
        shown(&asked.judged.name, &first.queries.to_string(), &figures, [&tested, &p]);
    }
    let means: Vec<[f64; 7]> = of_folds.values().map(|figures| mean(figures)).collect();
    shown("mean over folds", "", &mean(&means), ["", ""]);
}

fn shown(name: &str, requests: &str, figures: &[f64; 7], [tested, p]: [&str; 2]) {
    let [plain, left_out, chosen, answer, recall, of_search, pool] = figures.map(percent);
    let left_out = format!("**{left_out}**");
    let tested = [tested.to_owned(), p.to_owned()];
    let cells = [
        vec![name.to_owned(), requests.to_owned(), plain, left_out],
        tested.to_vec(),
        vec![chosen, answer, recall, of_search, pool],
    ];
    row(&cells.concat());
}

fn mean(figures: &[[f64; 7]]) -> [f64; 7] {
    std::array::from_fn(|at| {
        figures.iter().map(|figures| figures[at]).sum::<f64>() / figures.len().max(1) as f64
    })
}

/// One order of the candidates against another, over the requests of a library.
fn compared(
    asked: &Asked,
    measure: &str,
    baseline: impl Fn(&Outcome) -> &[String],
    system: impl Fn(&Outcome) -> &[String],
) -> Paired {
    let Asked { judged, outcomes, .. } = asked;
    let run = |of: &dyn Fn(&Outcome) -> &[String]| {
        run_of(judged.queries.iter().zip(outcomes.iter().map(of)))
    };
    tested(&run(&baseline), run(&system), measure, &judged.qrels, &judged.queries)
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

fn p_value(p: f64) -> String {
    if p < 0.0002 { "< .0002".into() } else { format!("{p:.4}").trim_start_matches('0').to_owned() }
}
