//! 4. Which field of a page helps to find its skill?
//!
//! The document alone, with the trigger, with the body, and with both. What a field adds is what is lost when
//! it is left out of the whole.

use fingerpost::view::View;

use super::{finders, if_usable};
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Outcome, Plot, Series, Table, mark_better};

/// The variants, in the order of the columns.
const VIEWS: [View; 4] = [View::Raw, View::Trigger, View::Body, View::Full];

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let measure = experiment.measures[0];
    let columns = [
        "library",
        "pages",
        "retriever",
        "document",
        "+ trigger",
        "+ body",
        "full",
        "trigger adds",
        "body adds",
        "page adds",
    ];
    let mut table = Table::new("fields", format!("{measure} by what the index sees"), &columns);
    let mut groups = Vec::new();
    let series = |name: &str| Series::new(name);
    let mut margins = [series("trigger"), series("body")];
    for opened in lab.data(experiment, &mut outcome)? {
        for finder in finders(experiment)? {
            let judged = &opened.judged;
            let mut measured = |view| lab.measure(&opened, &finder, view, &[measure], &mut outcome);
            let found: Result<Vec<Vec<f64>>, LabError> =
                VIEWS.into_iter().map(&mut measured).collect();
            let found = if_usable(found, &judged.name, &finder, lab, &mut outcome)?;
            let Some(found) = found else { continue };
            let [raw, trigger, body, full] = [0, 1, 2, 3].map(|view: usize| found[view][0]);
            let mut row = vec![
                Cell::from(judged.name.as_str()),
                Cell::from(judged.writer),
                Cell::from(finder.to_string()),
            ];
            row.extend([raw, trigger, body, full].map(Cell::share));
            mark_better(&mut row, &[3, 4, 5, 6]);
            row.extend([full - body, full - trigger, full - raw].map(Cell::points));
            table.row(row);
            groups.push(format!("{}, {finder}", judged.name));
            margins[0].values.push(Some(100.0 * (full - body)));
            margins[1].values.push(Some(100.0 * (full - trigger)));
        }
    }
    outcome.tables.push(table);
    outcome.plots.push(Plot::Bars {
        name: "margins".into(),
        title: format!("What is lost in {measure} when a field is left out"),
        axis: format!("{measure}, points"),
        groups,
        series: margins.into(),
    });
    Ok(outcome)
}
