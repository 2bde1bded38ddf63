//! 11. What can nobody tell from documents alone, and what do scorers really lose there?
//!
//! Two skills with the same document get the same score from whoever reads nothing else: on a request that only
//! one of them serves, the error is one half on the mean, whatever the scorer. Measured in two ways: on copies that
//! a library has by nature, and on pairs of neighbors that are given one document, which is that of both
//! together. Then pages, written from the documents as they were, tell them apart again, or do not.

use fingerpost::eval::{Query, Run};
use fingerpost::page::check::are_twins;
use fingerpost::skill::{Skill, SkillIdx};
use fingerpost::view::View;

use super::{finders, mean};
use crate::experiment::Experiment;
use crate::judged::Judged;
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Outcome, Table};
use crate::retriever::Finder;

/// Two skills that are to be told apart.
type Pair = (SkillIdx, SkillIdx);

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let columns = [
        "library",
        "pages",
        "pairs",
        "requests",
        "retriever",
        "bound for documents",
        "error by document",
        "error with page",
    ];
    let title = "Error on requests that one of two skills serves: 0 if it scores higher, 1 if the other does, one half if they are equal; in percent";
    let mut natural = Table::new("copies", format!("Copies by nature. {title}"), &columns);
    let mut planted =
        Table::new("planted", format!("Neighbors given one document. {title}"), &columns);
    for opened in lab.data(experiment, &mut outcome)? {
        let name = opened.judged.name.clone();
        lab.doing(format!("{name}: skills that nobody can tell apart"));
        let copies = copies(&opened);
        let (merged, pairs) = merged(&opened)?;
        for finder in finders(experiment)? {
            for (opened, pairs, table) in
                [(&*opened, &copies, &mut natural), (&merged, &pairs, &mut planted)]
            {
                let Some(errors) = errors(lab, opened, pairs, &finder)? else { continue };
                let [document, page] = errors.error;
                table.row(vec![
                    Cell::from(name.as_str()),
                    Cell::from(opened.judged.writer),
                    Cell::count(pairs.len()),
                    Cell::count(errors.requests),
                    Cell::from(finder.to_string()),
                    Cell::share(0.5),
                    Cell::share(document),
                    Cell::share(page),
                ]);
                let of = |what: &str| format!("{name} {} {finder} {what}", table.name);
                outcome.figure(of("document"), 100.0 * document);
                outcome.figure(of("page"), 100.0 * page);
            }
        }
    }
    outcome.tables.extend([natural, planted]);
    outcome.note("Copies by nature say the same in other bytes, so that a scorer may be a little above or below one half on them; documents that are the same to the letter give one half exactly.");
    Ok(outcome)
}

/// Skills whose documents say the same.
fn copies(opened: &Opened) -> Vec<Pair> {
    let skills = opened.judged.library.skills();
    let neighborhoods = opened.snapshot.neighborhoods();
    let mut pairs = Vec::new();
    for (_, members) in neighborhoods.iter() {
        for (at, &first) in members.iter().enumerate() {
            let others = members[at + 1..].iter().copied();
            let same = others.filter(|other| are_twins(&skills[first.row()], &skills[other.row()]));
            pairs.extend(same.map(|other| (first, other)));
        }
    }
    pairs
}

/// The library with the document of both in the place of each, for as many pairs of likest neighbors as can be
/// made of it; pages stay as they were.
fn merged(opened: &Opened) -> Result<(Opened, Vec<Pair>), LabError> {
    let library = &opened.judged.library;
    let (vectors, neighborhoods) = (opened.snapshot.vectors()?, opened.snapshot.neighborhoods());
    let mut candidates: Vec<(f32, Pair)> = Vec::new();
    for (_, members) in neighborhoods.iter() {
        for (at, &first) in members.iter().enumerate() {
            let others = members[at + 1..].iter();
            candidates
                .extend(others.map(|&other| (vectors.similarity(first, other), (first, other))));
        }
    }
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut skills: Vec<Skill> = library.skills().to_vec();
    let mut is_taken = vec![false; skills.len()];
    let mut pairs = Vec::new();
    for (_, (first, second)) in candidates {
        if is_taken[first.row()] || is_taken[second.row()] {
            continue;
        }
        (is_taken[first.row()], is_taken[second.row()]) = (true, true);
        let [a, b] = [first, second].map(|skill| &library.skills()[skill.row()]);
        for skill in [first, second] {
            let both = |field: fn(&Skill) -> &str| format!("{}\n{}", field(a), field(b));
            let own = &mut skills[skill.row()];
            own.name = both(|skill| &skill.name);
            own.description = both(|skill| &skill.description);
            own.content = both(|skill| &skill.content);
        }
        pairs.push((first, second));
    }
    let judged = opened.judged.variant("merged", skills, opened.snapshot.pages()?);
    let snapshot = judged.compile()?;
    Ok((Opened { judged, snapshot }, pairs))
}

/// What a scorer loses.
struct Errors {
    requests: usize,
    /// By document, and with page.
    error: [f64; 2],
}

fn errors(
    lab: &Lab,
    opened: &Opened,
    pairs: &[Pair],
    finder: &Finder,
) -> Result<Option<Errors>, LabError> {
    let judged = &opened.judged;
    // All skills: whoever is not found has the lowest score.
    let depth = judged.library.skills().len();
    let mut error = [0.0; 2];
    let mut requests = 0;
    for (error, view) in error.iter_mut().zip([View::Raw, View::Full]) {
        let run = finder.find(&opened.snapshot, view, &judged.queries, depth, &lab.models)?;
        let errors: Vec<f64> = judged
            .queries
            .iter()
            .flat_map(|query| pairs.iter().filter_map(|&pair| one(judged, &run, query, pair)))
            .collect();
        let Some(mean) = mean(&errors) else { return Ok(None) };
        (*error, requests) = (mean, errors.len());
    }
    Ok(Some(Errors { requests, error }))
}

/// The error on a request, if just one of two skills serves it.
fn one(judged: &Judged, run: &Run, query: &Query, (first, second): Pair) -> Option<f64> {
    let [a, b] = [first, second].map(|skill| judged.library.skills()[skill.row()].id.as_str());
    let (right, wrong) = match (judged.is_right(query, a), judged.is_right(query, b)) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return None,
    };
    let hits = run.get(&query.id).unwrap_or_default();
    let score = |id: &str| {
        hits.iter().find(|hit| hit.skill == id).map_or(f64::NEG_INFINITY, |hit| hit.score)
    };
    let (right, wrong) = (score(right), score(wrong));
    Some(match right.total_cmp(&wrong) {
        std::cmp::Ordering::Greater => 0.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 1.0,
    })
}
