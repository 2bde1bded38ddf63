//! What is answered, and how surely, by numbers that were fitted to other folds?

use std::collections::BTreeMap;

use fingerpost::route::none::{Rule, Rules, Signs};
use fingerpost::route::{ByKind, ENCODED, WEIGHTS};

use super::ask::{Asked, Found, Kind};
use super::logistic::{self, Row};
use super::manner::Manners;
use crate::choose::asked;
use crate::folds::Fold;
use crate::judged::Judged;

/// Shares of answerable requests that may be below zero by the rules against needless and foreign requests. Together
/// a third of what is aimed at, since libraries differ.
const LOST: [(Kind, f64); 2] = [(Kind::NoSkill, 0.005), (Kind::Foreign, 0.004)];

/// What the kinds of requests count where a confidence is fitted and judged: how they are mixed in life
/// nobody knows.
const MIX: [(Kind, f64); 3] =
    [(Kind::Own, 4.0 / 6.0), (Kind::NoSkill, 1.0 / 6.0), (Kind::Foreign, 1.0 / 6.0)];

/// Skills that the hook names where it is not sure.
pub(super) const NAMED: usize = 3;

/// All numbers.
pub(super) struct Numbers {
    pub(super) rules: Rules,
    /// Of a skill: for itself, for its lead, for the balance. One that is named has 1.
    pub(super) of_use: [f64; 3],
    /// Of none: for itself, for the balance.
    pub(super) of_none: [f64; 2],
}

/// What became of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judgement {
    pub(super) answered: bool,
    /// Is the answer right: the skill, or that there is none?
    pub(super) right: bool,
    /// Is a right skill among the first [`NAMED`] candidates?
    pub(super) near: bool,
    pub(super) confidence: f64,
    /// What it counts in the mix.
    pub(super) counts: f64,
}

/// Everything that is told about.
pub(super) struct Judgements {
    /// Of each library, of each request, in their order.
    pub(super) of: Vec<Vec<Judgement>>,
    /// The rules, by the fold that was left out.
    pub(super) rules: Vec<(&'static Fold, Rules)>,
    /// What all folds together come to, with the chooser as it is: the numbers of the program.
    pub(super) all: Numbers,
}

/// Answers each request by numbers that were fitted to the other folds, and to the other half of the
/// requests that need no skill.
pub(super) fn leaving_out(asked: &[Asked<'_>], manners: &Manners, is_encoded: bool) -> Judgements {
    let shipped = if is_encoded { &ENCODED } else { &WEIGHTS };
    let mut of: Vec<Vec<Judgement>> = asked.iter().map(|_| Vec::new()).collect();
    let mut rules: Vec<(&'static Fold, Rules)> = Vec::new();
    for fold in folds(asked) {
        let weights = chooser(asked, |other| other != fold);
        let is_used = |other: &Fold| other != fold;
        // What has seen neither this fold nor the one that is fitted to.
        let signs = |asked: &Asked<'_>, found: &Found| found.signs(manners, fold, asked.fold);
        let halves = [false, true].map(|half| both(asked, is_used, Some(half), &signs));
        let balance = |asked: &Asked<'_>, found: &Found| {
            halves[usize::from(half(&found.id))].balance(&signs(asked, found))
        };
        let (of_use, of_none) = confidences(asked, is_used, &weights, &balance);
        let sizes = sizes(asked);
        for (asked, of) in asked.iter().zip(&mut of).filter(|(asked, _)| asked.fold == fold) {
            let judge = |found: &Found| {
                let (lead, right) = first(found, &weights);
                let is_named = found.pool.named.contains(&true);
                let balance = balance(asked, found);
                let answered = is_named || balance >= 0.0;
                let confidence = match answered {
                    true if is_named => 1.0,
                    true => share(of_use[0] + of_use[1] * lead + of_use[2] * balance),
                    false => share(of_none[0] + of_none[1] * balance),
                };
                Judgement {
                    answered,
                    right: if answered { right } else { found.kind != Kind::Own },
                    near: is_near(found, &weights),
                    confidence,
                    counts: counts(asked, found, &sizes),
                }
            };
            *of = asked.found.iter().map(judge).collect();
        }
        rules.push((fold, halves[0]));
    }
    let signs = |asked: &Asked<'_>, found: &Found| found.signs(manners, asked.fold, asked.fold);
    let all = both(asked, |_| true, None, &signs);
    let balance = |asked: &Asked<'_>, found: &Found| all.balance(&signs(asked, found));
    let (of_use, of_none) = confidences(asked, |_| true, shipped, &balance);
    Judgements { of, rules, all: Numbers { rules: all, of_use, of_none } }
}

fn folds(asked: &[Asked<'_>]) -> Vec<&'static Fold> {
    let mut folds: Vec<&'static Fold> = asked.iter().map(|asked| asked.fold).collect();
    folds.dedup();
    folds
}

/// Weights of the chooser, fitted to the folds that are used.
fn chooser(asked: &[Asked<'_>], is_used: impl Fn(&Fold) -> bool) -> ByKind {
    let used = asked.iter().filter(|asked| is_used(asked.fold));
    asked::weights(used.map(|asked| {
        // Its own requests come first, in the order of the judged ones.
        let own = asked.opened.judged.queries.len();
        let pools = asked.found[..own].iter().map(|found| &found.pool).collect();
        let judged: &Judged = &asked.opened.judged;
        (asked.fold, judged, pools)
    }))
}

/// How far the first is ahead by these weights, and whether it is right.
fn first(found: &Found, weights: &ByKind) -> (f64, bool) {
    let order = found.pool.order(weights);
    let total = |at: usize| order.get(at).map_or(0.0, |&(_, total)| total);
    (total(0) - total(1), order.first().is_some_and(|&(at, _)| found.right[at]))
}

fn is_near(found: &Found, weights: &ByKind) -> bool {
    found.pool.order(weights).iter().take(NAMED).any(|&(at, _)| found.right[at])
}

/// Which half of the requests that need no skill one belongs to.
fn half(id: &str) -> bool {
    blake3::hash(format!("none:{id}").as_bytes()).as_bytes()[0] & 1 == 0
}

/// The rules, fitted to the folds that are used, without one half of the requests that need no skill.
fn both(
    asked: &[Asked<'_>],
    is_used: impl Fn(&Fold) -> bool,
    without: Option<bool>,
    signs: &dyn Fn(&Asked<'_>, &Found) -> [f64; Signs::COUNT],
) -> Rules {
    let used = |asked: &&Asked<'_>| is_used(asked.fold) && !asked.is_again();
    let sizes = sizes(asked);
    let [needless, foreign] = LOST.map(|(against, lost)| {
        let mut rows: Vec<Row<{ Signs::COUNT }>> = Vec::new();
        for asked in asked.iter().filter(used) {
            for found in &asked.found {
                let is_own = found.kind == Kind::Own;
                let is_known = found.kind == Kind::NoSkill && without == Some(half(&found.id));
                if is_known || !is_own && found.kind != against {
                    continue;
                }
                // Here both sides count alike.
                let counts =
                    counts(asked, found, &sizes) / if is_own { MIX[0].1 } else { MIX[1].1 };
                let mut signs = signs(asked, found);
                if against == Kind::Foreign {
                    // What a request is by itself cannot tell which library it is meant for.
                    Signs::OF_ITSELF.iter().for_each(|&at| signs[at] = 0.0);
                }
                rows.push((signs, is_own, counts));
            }
        }
        rule(&rows, lost)
    });
    Rules { needless, foreign }
}

/// The rule that tells these best, with so many of the answerable requests below zero.
fn rule(rows: &[Row<{ Signs::COUNT }>], lost: f64) -> Rule {
    let (bias, weights) = logistic::fit(rows);
    let mut rule = Rule { bias, weights };
    let mut own: Vec<(f64, f64)> =
        rows.iter().filter(|row| row.1).map(|row| (rule.balance(&row.0), row.2)).collect();
    own.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = own.iter().map(|(_, counts)| counts).sum();
    let mut below = 0.0;
    let least = own.iter().find(|(_, counts)| {
        below += counts;
        below > lost * all
    });
    rule.bias -= least.map_or(0.0, |(balance, _)| *balance);
    rule
}

/// How a lead and a balance become confidences.
fn confidences(
    asked: &[Asked<'_>],
    is_used: impl Fn(&Fold) -> bool,
    weights: &ByKind,
    balance: &dyn Fn(&Asked<'_>, &Found) -> f64,
) -> ([f64; 3], [f64; 2]) {
    let sizes = sizes(asked);
    let (mut of_use, mut of_none): (Vec<Row<2>>, Vec<Row<1>>) = Default::default();
    for asked in asked.iter().filter(|asked| is_used(asked.fold) && !asked.is_again()) {
        for found in asked.found.iter().filter(|found| !found.pool.named.contains(&true)) {
            let counts = counts(asked, found, &sizes);
            if counts == 0.0 {
                continue;
            }
            let balance = balance(asked, found);
            let (lead, right) = first(found, weights);
            if balance >= 0.0 {
                of_use.push(([lead, balance], right, counts));
            } else {
                of_none.push(([balance], found.kind != Kind::Own, counts));
            }
        }
    }
    let (alone, [per_lead, per_balance]) = logistic::fit(&of_use);
    let (none_alone, [none_per_balance]) = logistic::fit(&of_none);
    ([alone, per_lead, per_balance], [none_alone, none_per_balance])
}

/// How many requests of each kind each library was asked, and how many libraries of a fold count.
type Sizes = (BTreeMap<(String, Kind), f64>, BTreeMap<&'static str, f64>);

fn sizes(asked: &[Asked<'_>]) -> Sizes {
    let mut sizes = Sizes::default();
    for asked in asked {
        for found in &asked.found {
            *sizes.0.entry((asked.name().to_owned(), found.kind)).or_default() += 1.0;
        }
        if !asked.is_again() {
            *sizes.1.entry(asked.fold.name).or_default() += 1.0;
        }
    }
    sizes
}

/// What a request counts: folds alike, and the libraries of one, and in a library the kinds as they are
/// mixed; nothing where it is of no kind of the mix.
fn counts(asked: &Asked<'_>, found: &Found, (requests, libraries): &Sizes) -> f64 {
    let mixed = MIX.iter().find(|(kind, _)| *kind == found.kind);
    let Some((_, share)) = mixed else { return 0.0 };
    let requests = requests[&(asked.name().to_owned(), found.kind)];
    let libraries = libraries.get(asked.fold.name).copied().unwrap_or(1.0);
    share / requests / libraries
}

fn share(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}
