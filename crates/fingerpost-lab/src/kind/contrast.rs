//! 12. Against which skills should a page be written?
//!
//! The paper groups skills into neighborhoods and writes each page against its neighborhood. A skill's rivals are
//! those that would win requests meant for it. Which of the two holds more of the real confusions, and does a
//! reader choose better with boundaries of the one or the other?

use super::routing::Compared;
use crate::contention::{Coverage, Scope, coverage};
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Figure, Outcome, Plot, Series, Table, mark_better};
use crate::record::Choices;

/// What readers were shown: no boundary, one against the neighborhood, one against rivals.
const ARMS: [&str; 3] = ["base", "boundary", "rivals"];

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let columns = [
        "library",
        "contended requests",
        "between copies",
        "neighborhood",
        "nearest by TF-IDF",
        "rivals",
        "named, by neighborhood",
        "named, by rivals",
    ];
    let title = "Contended requests whose two skills know each other, in percent; boundaries of the local writer";
    let mut covered = Table::new("coverage", title, &columns);
    let mut series = ["neighborhood", "nearest by TF-IDF", "rivals"].map(|name| Series {
        name: name.into(),
        values: vec![],
        intervals: vec![],
    });
    let mut groups = Vec::new();
    let data = lab.data(experiment, &mut outcome)?;
    for opened in &data {
        let name = &opened.judged.name;
        lab.doing(format!("{name}: who wins whose requests"));
        let found = coverage(&opened.judged, Scope::All)?;
        covered.row(row(name, &found));
        groups.push(name.clone());
        let shares = [found.neighborhood, found.nearest, found.rivals];
        for (series, share) in series.iter_mut().zip(shares) {
            outcome.figure(format!("{name} {}", series.name), 100.0 * share);
            series.values.push(Some(100.0 * share));
        }
    }
    outcome.tables.push(covered);
    outcome.plots.push(Plot::Bars {
        name: "coverage".into(),
        title: "Contended requests whose two skills know each other".into(),
        axis: "of the contended requests, %".into(),
        groups,
        series: series.into(),
    });

    let columns = [
        "library",
        "reader",
        "requests",
        "compared",
        "right, first",
        "right, second",
        "gain",
        "wins, losses",
        "p",
    ];
    let mut chosen = Table::new("choices", "Right choices of readers, in percent", &columns);
    for opened in &data {
        for reader in &experiment.readers {
            let choices = Choices::of(reader, &lab.places)?;
            for (first, second) in [(0, 1), (0, 2), (1, 2)] {
                let arms = [ARMS[first].to_owned(), ARMS[second].to_owned()];
                let paired = choices.paired(&opened.judged.name, &arms);
                if paired.is_empty() {
                    continue;
                }
                let compared = Compared::of(opened, &paired, experiment.seed);
                let test = &compared.test;
                let mut row = vec![
                    Cell::from(opened.judged.name.as_str()),
                    Cell::from(reader.as_str()),
                    Cell::count(compared.requests),
                    Cell::from(format!("{} and {}", arms[0], arms[1])),
                    Cell::share(test.baseline),
                    Cell::share(test.system),
                    Figure::points(test.difference).within(test.interval).into(),
                    Cell::from(format!("{}, {}", test.wins, test.losses)),
                    Figure::number(test.p_randomization, 3).into(),
                ];
                mark_better(&mut row, &[4, 5]);
                chosen.row(row);
                let name = format!("{} {reader} {} over {}", opened.judged.name, arms[1], arms[0]);
                outcome.figure(name, 100.0 * test.difference);
            }
        }
    }
    if !chosen.rows.is_empty() {
        outcome.tables.push(chosen);
        outcome.note("Boundaries of the second table are a strong model's, written blind; each reader saw one arm and no judgements.");
    }
    Ok(outcome)
}

fn row(name: &str, found: &Coverage) -> Vec<Cell> {
    let mut row = vec![Cell::from(name), Cell::count(found.contended), Cell::count(found.copies)];
    let shares = [
        found.neighborhood,
        found.nearest,
        found.rivals,
        found.named_by_neighborhood,
        found.named_by_rivals,
    ];
    row.extend(shares.map(Cell::share));
    mark_better(&mut row, &[3, 4, 5]);
    mark_better(&mut row, &[6, 7]);
    row
}
