//! 0. What goes wrong where the first hit is not the right one?
//!
//! The right skill was not among the ten; or it was, and lost to a skill of its own neighborhood, which a
//! boundary may tell apart from it; or to one outside.

use fingerpost::eval::Run;
use fingerpost::view::View;

use super::finders;
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Figure, Outcome, Plot, Series, Table};

/// What became of the requests of a library.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    right: usize,
    not_found: usize,
    inside: usize,
    outside: usize,
}

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let columns = [
        "library",
        "pages",
        "retriever",
        "view",
        "requests",
        "right, %",
        "not among ten, %",
        "lost inside its neighborhood, %",
        "lost to one outside, %",
    ];
    let mut table =
        Table::new("failures", "What becomes of the requests that some skill serves", &columns);
    let parts = ["right", "lost inside its neighborhood", "lost to one outside", "not among ten"];
    let mut series: Vec<Series> = parts.iter().map(|&name| Series::new(name)).collect();
    let mut groups = Vec::new();
    for opened in lab.data(experiment, &mut outcome)? {
        for finder in finders(experiment)? {
            for &view in &experiment.views {
                let run = lab.run(&opened, &finder, view, 10)?;
                let counts = count(&opened, &run);
                let all = counts.right + counts.not_found + counts.inside + counts.outside;
                let share = |count: usize| count as f64 / all.max(1) as f64;
                let judged = &opened.judged;
                table.row(vec![
                    Cell::from(judged.name.as_str()),
                    Cell::from(if view == View::Raw { "–" } else { judged.writer }),
                    Cell::from(finder.to_string()),
                    Cell::from(view.to_string()),
                    Cell::count(all),
                    Figure::share(share(counts.right)).into(),
                    Cell::share(share(counts.not_found)),
                    Cell::share(share(counts.inside)),
                    Cell::share(share(counts.outside)),
                ]);
                groups.push(format!("{}, {finder}, {view}", judged.name));
                let counts = [counts.right, counts.inside, counts.outside, counts.not_found];
                for ((series, count), part) in series.iter_mut().zip(counts).zip(parts) {
                    series.values.push(Some(100.0 * share(count)));
                    let name = format!("{} {finder} {view} {part}", judged.name);
                    outcome.figure(name, 100.0 * share(count));
                }
            }
        }
    }
    outcome.tables.push(table);
    outcome.plots.push(Plot::Bars {
        name: "failures".into(),
        title: "Where requests are won and lost".into(),
        axis: "of the requests, %".into(),
        groups,
        series,
    });
    outcome.note("Neighborhoods are those of the local compile; what a boundary can tell apart is a loss inside a neighborhood.");
    Ok(outcome)
}

fn count(opened: &Opened, run: &Run) -> Counts {
    let Opened { judged, snapshot } = opened;
    let neighborhoods = snapshot.neighborhoods();
    let place = |id: &str| snapshot.find(id).map(|skill| neighborhoods.of(skill));
    let mut counts = Counts::default();
    for query in judged.queries.iter().filter(|query| judged.is_answerable(query)) {
        let hits = run.get(&query.id).unwrap_or_default();
        let right = hits.iter().position(|hit| judged.is_right(query, &hit.skill));
        let count = match right {
            None => &mut counts.not_found,
            Some(0) => &mut counts.right,
            Some(at) if place(&hits[at].skill) == place(&hits[0].skill) => &mut counts.inside,
            Some(_) => &mut counts.outside,
        };
        *count += 1;
    }
    counts
}
