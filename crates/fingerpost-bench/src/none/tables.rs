//! What do the figures look like, as Markdown?

use std::collections::BTreeMap;

use fingerpost::route::none::Rules;

use super::ask::{Asked, Found, Kind};
use super::fit::{Judgement, Judgements};

/// Classes of length: up to so many words.
const LENGTHS: [(&str, usize); 5] =
    [("1–5", 5), ("6–10", 10), ("11–20", 20), ("21–40", 40), ("41 and more", usize::MAX)];

/// What is aimed at: so many of the answerable requests are answered.
const AIM: f64 = 0.97;

/// Classes of fewer requests are shown and not judged.
const FEWEST: usize = 100;

/// Bins of confidence.
pub(super) const BINS: usize = 10;

pub(super) fn print(asked: &[Asked<'_>], judgements: &Judgements) {
    println!(
        "Answerable requests that are answered, by words of the request: percent, 95 % interval, requests. **Bold**: significantly below {:.0} %, where there are {FEWEST} requests or more.\n",
        AIM * 100.0
    );
    header(&["library", "all", "1–5", "6–10", "11–20", "21–40", "41 and more"]);
    for (asked, of) in asked.iter().zip(&judgements.of) {
        answered(asked, of);
    }
    refused(asked, judgements);
    sorts(asked, judgements);
    reliability(asked, judgements);
    rules(judgements);
}

fn pairs<'a>(
    asked: &'a Asked<'_>,
    of: &'a [Judgement],
    kind: Kind,
) -> impl Iterator<Item = (&'a Found, &'a Judgement)> + Clone {
    asked.found.iter().zip(of).filter(move |(found, _)| found.kind == kind)
}

fn answered(asked: &Asked<'_>, of: &[Judgement]) {
    let own = pairs(asked, of, Kind::Own);
    let cell = |from: usize, to: usize, fewest: usize| {
        let inside = own.clone().filter(|(found, _)| (from..=to).contains(&found.words));
        let answered: Vec<bool> = inside.map(|(_, judged)| judged.answered).collect();
        let (all, yes) = (answered.len(), answered.iter().filter(|yes| **yes).count());
        if all == 0 {
            return String::new();
        }
        let (low, high) = interval(yes, all);
        let share = percent(yes as f64 / all as f64);
        let is_below = all >= fewest && high < AIM;
        let share = if is_below { format!("**{share}**") } else { share };
        format!("{share} ({}–{}) of {all}", percent(low), percent(high))
    };
    let mut cells = vec![format!("`{}`", asked.name()), cell(0, usize::MAX, 1)];
    let mut from = 0;
    for (_, to) in LENGTHS {
        cells.push(cell(from, to, FEWEST));
        from = to.saturating_add(1);
    }
    row(&cells);
}

/// Where a share lies with 95 % confidence, by Wilson.
fn interval(yes: usize, all: usize) -> (f64, f64) {
    const Z: f64 = 1.96;
    let (n, p) = (all as f64, yes as f64 / all as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (middle - half, middle + half)
}

/// The mean over folds of a figure of their libraries; of those that ask something of their own.
pub(super) fn over_folds(asked: &[Asked<'_>], figures: &[Option<f64>]) -> Option<f64> {
    let mut folds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (asked, figure) in asked.iter().zip(figures).filter(|(asked, _)| !asked.is_again()) {
        folds.entry(asked.fold.name).or_default().extend(figure);
    }
    let means: Vec<f64> = folds
        .values()
        .filter(|figures| !figures.is_empty())
        .map(|figures| figures.iter().sum::<f64>() / figures.len() as f64)
        .collect();
    (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
}

fn refused(asked: &[Asked<'_>], judgements: &Judgements) {
    println!(
        "\nRefused, percent: requests that need no skill, and those meant for other libraries\n"
    );
    header(&[
        "library",
        "answerable, answered",
        "no skill needed",
        "the same, sealed",
        "foreign",
        "own without an answer",
    ]);
    let kinds = [Kind::Own, Kind::NoSkill, Kind::Sealed, Kind::Foreign, Kind::Near];
    let mut columns: Vec<Vec<Option<f64>>> = kinds.iter().map(|_| Vec::new()).collect();
    for (asked, of) in asked.iter().zip(&judgements.of) {
        let mut cells = vec![format!("`{}`", asked.name())];
        for (kind, column) in kinds.into_iter().zip(&mut columns) {
            let told: Vec<bool> = pairs(asked, of, kind)
                .map(|(_, judged)| judged.answered == (kind == Kind::Own))
                .collect();
            let share = told.iter().filter(|yes| **yes).count() as f64 / told.len() as f64;
            let figure = (!told.is_empty()).then_some(share);
            cells.push(
                figure
                    .map_or("–".into(), |share| format!("{} of {}", percent(share), told.len())),
            );
            column.push(figure);
        }
        row(&cells);
    }
    let mut cells = vec!["mean over folds".to_owned()];
    for column in &columns {
        let mean = over_folds(asked, column);
        cells.push(mean.map_or("–".into(), |mean| format!("**{}**", percent(mean))));
    }
    row(&cells);
}

fn sorts(asked: &[Asked<'_>], judgements: &Judgements) {
    println!("\nThe same by what is said, means over libraries\n");
    header(&["", "looked at", "sealed"]);
    let mut sorts: BTreeMap<&str, [Vec<bool>; 2]> = BTreeMap::new();
    for (asked, of) in asked.iter().zip(&judgements.of).filter(|(asked, _)| !asked.is_again()) {
        for (at, kind) in [Kind::NoSkill, Kind::Sealed].into_iter().enumerate() {
            for (found, judged) in pairs(asked, of, kind) {
                sorts.entry(&found.sort).or_default()[at].push(!judged.answered);
            }
        }
    }
    for (sort, refused) in sorts {
        let share = |refused: &Vec<bool>| match refused.len() {
            0 => "–".to_owned(),
            all => percent(refused.iter().filter(|yes| **yes).count() as f64 / all as f64),
        };
        row(&[sort.to_owned(), share(&refused[0]), share(&refused[1])]);
    }
}

/// Is this confidence in that bin?
pub(super) fn in_bin(sure: f64, bin: usize) -> bool {
    ((sure * BINS as f64) as usize).min(BINS - 1) == bin
}

/// The judgements of the libraries of each fold that ask something of their own.
pub(super) fn by_fold<'a>(
    asked: &[Asked<'_>],
    judgements: &'a Judgements,
) -> Vec<(&'static str, Vec<&'a Judgement>)> {
    let mut folds: Vec<(&'static str, Vec<&Judgement>)> = Vec::new();
    for (asked, of) in asked.iter().zip(&judgements.of).filter(|(asked, _)| !asked.is_again()) {
        let counted = of.iter().filter(|judged| judged.counts > 0.0);
        match folds.last_mut().filter(|(name, _)| *name == asked.fold.name) {
            Some((_, all)) => all.extend(counted),
            None => folds.push((asked.fold.name, counted.collect())),
        }
    }
    folds
}

/// The share of right ones, by what each counts.
pub(super) fn right<'a>(judged: impl Iterator<Item = &'a Judgement>) -> Option<f64> {
    let (mut right, mut all) = (0.0, 0.0);
    for judged in judged {
        all += judged.counts;
        right += if judged.right { judged.counts } else { 0.0 };
    }
    (all > 0.0).then(|| right / all)
}

/// A share of fewer is not shown.
pub(super) const SHOWN: usize = 10;

fn reliability(asked: &[Asked<'_>], judgements: &Judgements) {
    println!(
        "\nConfidence and how many were right, none among them; two thirds of the requests answerable, a sixth each without need of a skill and foreign\n"
    );
    let folds = by_fold(asked, judgements);
    let all: Vec<&Judgement> =
        folds.iter().flat_map(|(_, judged)| judged.iter().copied()).collect();
    let columns: Vec<&[&Judgement]> =
        folds.iter().map(|(_, judged)| &judged[..]).chain([&all[..]]).collect();
    header(
        &["confidence"]
            .into_iter()
            .chain(folds.iter().map(|fold| fold.0))
            .chain(["all"])
            .collect::<Vec<_>>(),
    );
    let line = |name: String, is_in: &dyn Fn(&Judgement) -> bool| {
        let mut cells = vec![name];
        for column in &columns {
            let inside: Vec<&Judgement> =
                column.iter().copied().filter(|judged| is_in(judged)).collect();
            let count = inside.len();
            let share = right(inside.into_iter()).filter(|_| count >= SHOWN);
            cells.push(
                share.map_or(String::new(), |share| format!("{} of {count}", percent(share))),
            );
        }
        row(&cells);
    };
    for bin in 0..BINS {
        let range = format!("{:.1}–{:.1}", bin as f64 / 10.0, (bin + 1) as f64 / 10.0);
        line(range, &|judged| in_bin(judged.confidence, bin));
    }
    line("0.9 and more, a skill".into(), &|judged| judged.answered && judged.confidence >= 0.9);
    line("0.9 and more, none".into(), &|judged| !judged.answered && judged.confidence >= 0.9);
    line("all".into(), &|_| true);
    let reach = |name: &str, is_one: &dyn Fn(&Judgement) -> bool| {
        let mut cells = vec![name.to_owned()];
        for column in &columns {
            let (mut sure, mut all) = (0.0, 0.0);
            for judged in column.iter().filter(|judged| judged.right && is_one(judged)) {
                all += judged.counts;
                sure += if judged.confidence >= 0.9 { judged.counts } else { 0.0 };
            }
            cells.push(percent(sure / f64::max(all, f64::MIN_POSITIVE)));
        }
        row(&cells);
    };
    reach("of the right answers, 0.9 and more", &|_| true);
    reach("of the right skills, 0.9 and more", &|judged| judged.answered);
}

fn rules(judgements: &Judgements) {
    let all = [("none", judgements.all.rules)];
    let each = judgements.rules.iter().map(|(fold, rules)| (fold.name, *rules));
    let each: Vec<(&str, Rules)> = each.chain(all).collect();
    let names = ["requests that need no skill", "those meant for another library"];
    let both = |rules: &Rules| [rules.needless, rules.foreign];
    for (at, against) in names.iter().enumerate() {
        println!("\nThe rule against {against}, by the fold that was left out\n");
        header(&[
            "left out", "bias", "words", "phrases", "meaning", "weight", "encoder", "talk",
            "manner",
        ]);
        for (name, rules) in &each {
            let rule = both(rules)[at];
            let numbers = [rule.bias].into_iter().chain(rule.weights);
            let cells = [(*name).to_owned()]
                .into_iter()
                .chain(numbers.map(|number| format!("{number:.2}")));
            row(&cells.collect::<Vec<_>>());
        }
    }
    println!(
        "\nConfidence fitted to all: a skill {:.2?} (alone, lead, balance), none {:.2?} (alone, balance)",
        judgements.all.of_use, judgements.all.of_none
    );
}

pub(crate) fn header(cells: &[&str]) {
    row(&cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
    println!("|{}", "---|".repeat(cells.len()));
}

pub(crate) fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

pub(crate) fn percent(value: f64) -> String {
    format!("{:.1}", value * 100.0)
}
