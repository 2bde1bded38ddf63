//! 2. What does the boundary do in an index?
//!
//! The boundary says what a skill is not for, in the words of those requests. The full view with and without it.

use fingerpost::view::View;

use super::{finders, if_usable};
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Outcome, Plot, Series, Table};

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let measures = &experiment.measures;
    let mut columns = vec!["library".to_owned(), "pages".to_owned(), "retriever".to_owned()];
    for measure in measures {
        columns.extend([format!("{measure}, full"), format!("{measure}, change")]);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table =
        Table::new("boundary", "The full view, and what the boundary in it changes", &columns);
    let finders = finders(experiment)?;
    let mut series: Vec<Series> =
        finders.iter().map(|finder| Series::new(finder.to_string())).collect();
    let mut groups = Vec::new();
    for opened in lab.data(experiment, &mut outcome)? {
        let judged = &opened.judged;
        groups.push(judged.name.clone());
        for (finder, series) in finders.iter().zip(&mut series) {
            let measured = [View::Full, View::FullBoundary]
                .map(|view| lab.measure(&opened, finder, view, measures, &mut outcome));
            let [full, with] = measured;
            let both = full.and_then(|full| Ok((full, with?)));
            let both = if_usable(both, &judged.name, finder, lab, &mut outcome)?;
            let Some((full, with)) = both else {
                series.values.push(None);
                continue;
            };
            let mut row = vec![
                Cell::from(judged.name.as_str()),
                Cell::from(judged.writer),
                Cell::from(finder.to_string()),
            ];
            for (full, with) in full.iter().zip(&with) {
                row.extend([Cell::share(*full), Cell::points(with - full)]);
            }
            table.row(row);
            series.values.push(Some(100.0 * (with[0] - full[0])));
        }
    }
    outcome.tables.push(table);
    series.retain(|series| series.values.iter().any(Option::is_some));
    outcome.plots.push(Plot::Bars {
        name: "change".into(),
        title: format!("What the boundary in the index changes in {}", measures[0]),
        axis: format!("{}, points", measures[0]),
        groups,
        series,
    });
    Ok(outcome)
}
