//! How sure must an answer be for the hook to speak?
//!
//! The hook puts skills before a model that nobody asked for any: where it is wrong it costs attention,
//! and where it is silent nothing is lost. It names the one it would choose, and, unless it is sure, those that come
//! next too, for the model reads their boundaries. So the share of needless requests on which it speaks comes first,
//! and how often it names the right skill second. For each fold the threshold is the smallest by which the
//! hook speaks on so many of the other folds' needless requests at most.
//! Nothing else is fitted here: confidences are those of the other tables.

use super::ask::{Asked, Kind};
use super::fit::{Judgement, Judgements, NAMED};
use super::tables::{header, over_folds, percent, row};

/// On so many of the requests that need no skill the hook may speak: less than the tenth that is aimed at, since
/// libraries differ.
const MOST: f64 = 0.07;

/// Thresholds that are tried, in hundredths.
const TRIED: std::ops::RangeInclusive<u32> = 0..=99;

/// Those that are shown.
const SHOWN: [u32; 10] = [0, 20, 30, 40, 50, 60, 70, 80, 90, 95];

/// What the hook does on one library with one threshold.
#[derive(Debug, Clone, Copy, Default)]
struct Spoken {
    /// Share of the requests that need no skill on which it speaks.
    needless: Option<f64>,
    /// The same of requests that were meant for other libraries.
    foreign: Option<f64>,
    /// Share of the answerable requests for which it names the right skill first, or names it at all, or names
    /// others only.
    right: Option<f64>,
    named: Option<f64>,
    wrong: Option<f64>,
}

/// So sure that one skill is named and no more.
const SURE: f64 = 0.8;

impl Spoken {
    fn of(asked: &Asked<'_>, judged: &[Judgement], least: f64) -> Self {
        let share = |kinds: &[Kind], is_counted: &dyn Fn(&Judgement) -> bool| {
            let of =
                asked.found.iter().zip(judged).filter(|(found, _)| kinds.contains(&found.kind));
            let (counted, all) = of.fold((0, 0), |(counted, all), (_, judgement)| {
                (counted + usize::from(is_counted(judgement)), all + 1)
            });
            (all > 0).then(|| f64::from(counted as u32) / f64::from(all))
        };
        let speaks = |judged: &Judgement| judged.answered && judged.confidence >= least;
        let names = |judged: &Judgement| judged.right || (judged.near && judged.confidence < SURE);
        Self {
            needless: share(&[Kind::NoSkill, Kind::Sealed], &speaks),
            foreign: share(&[Kind::Foreign], &speaks),
            right: share(&[Kind::Own], &|judged| speaks(judged) && judged.right),
            named: share(&[Kind::Own], &|judged| speaks(judged) && names(judged)),
            wrong: share(&[Kind::Own], &|judged| speaks(judged) && !names(judged)),
        }
    }

    fn cells(self) -> [String; 5] {
        [self.needless, self.foreign, self.right, self.named, self.wrong]
            .map(|share| share.map_or("–".to_owned(), percent))
    }
}

/// Means over the folds that are used.
fn mean(asked: &[Asked<'_>], of: &[Spoken], is_used: impl Fn(&Asked<'_>) -> bool) -> Spoken {
    let column = |figure: fn(&Spoken) -> Option<f64>| {
        let used = asked.iter().zip(of);
        let figures: Vec<Option<f64>> =
            used.map(|(asked, spoken)| figure(spoken).filter(|_| is_used(asked))).collect();
        over_folds(asked, &figures)
    };
    Spoken {
        needless: column(|spoken| spoken.needless),
        foreign: column(|spoken| spoken.foreign),
        right: column(|spoken| spoken.right),
        named: column(|spoken| spoken.named),
        wrong: column(|spoken| spoken.wrong),
    }
}

pub(super) fn print(asked: &[Asked<'_>], judgements: &Judgements) {
    let at = |hundredths: u32| -> Vec<Spoken> {
        let least = f64::from(hundredths) / 100.0;
        asked.iter().zip(&judgements.of).map(|(asked, of)| Spoken::of(asked, of, least)).collect()
    };
    let all: Vec<Vec<Spoken>> = TRIED.map(at).collect();
    println!(
        "\nThe hook by its threshold, percent, means over folds; {NAMED} skills are named where it is less than {SURE} sure, the last three columns are of the answerable requests\n"
    );
    header(&[
        "--min-confidence",
        "speaks, no skill needed",
        "speaks, foreign",
        "right skill first",
        "right skill named",
        "others only",
    ]);
    for hundredths in SHOWN {
        let spoken = mean(asked, &all[hundredths as usize], |_| true);
        let name = format!("{:.2}", f64::from(hundredths) / 100.0);
        row(&[&[name][..], &spoken.cells()].concat());
    }

    // The smallest threshold that keeps to the limit on the folds that are used.
    let least = |is_used: &dyn Fn(&Asked<'_>) -> bool| {
        let keeps = |spoken: &Vec<Spoken>| {
            mean(asked, spoken, is_used).needless.is_none_or(|share| share <= MOST)
        };
        all.iter().position(keeps).unwrap_or(all.len() - 1)
    };
    println!(
        "\nThe hook on each fold, percent, with the smallest threshold that speaks on {:.0} % of the needless requests of the other folds at most\n",
        MOST * 100.0
    );
    header(&[
        "fold left out",
        "threshold",
        "speaks, no skill needed",
        "speaks, foreign",
        "right skill first",
        "right skill named",
        "others only",
    ]);
    let mut folds: Vec<&str> = asked.iter().map(|asked| asked.fold.name).collect();
    folds.dedup();
    let mut left_out = vec![Spoken::default(); asked.len()];
    for fold in folds {
        let threshold = least(&|asked| asked.fold.name != fold);
        for (at, asked) in asked.iter().enumerate().filter(|(_, asked)| asked.fold.name == fold) {
            left_out[at] = Spoken::of(asked, &judgements.of[at], threshold as f64 / 100.0);
        }
        let spoken = mean(asked, &left_out, |asked| asked.fold.name == fold);
        let names = [format!("`{fold}`"), format!("{:.2}", threshold as f64 / 100.0)];
        row(&[&names[..], &spoken.cells()].concat());
    }
    let spoken = mean(asked, &left_out, |_| true);
    row(&[&["**mean**".to_owned(), String::new()][..], &spoken.cells()].concat());
    let threshold = least(&|_| true);
    let spoken = mean(asked, &all[threshold], |_| true);
    let names = ["of all folds".to_owned(), format!("**{:.2}**", threshold as f64 / 100.0)];
    row(&[&names[..], &spoken.cells()].concat());
}
