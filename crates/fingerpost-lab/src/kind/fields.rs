//! 4. Which field of a page helps to find its skill?
//!
//! The document alone, with the trigger, with the body, and with both. What a field adds is what is lost when
//! it is left out of the whole.

use fingerpost::view::View;

use super::finders;
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Outcome, Plot, Series, Table, mark_better};
use crate::retriever::FindError;

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
    let series = |name: &str| Series { name: name.into(), values: vec![], intervals: vec![] };
    let mut margins = [series("trigger"), series("body")];
    for opened in lab.data(experiment, &mut outcome)? {
        for finder in finders(experiment)? {
            let judged = &opened.judged;
            let mut found = Vec::new();
            for view in VIEWS {
                match lab.measure(&opened, &finder, view, &[measure], &mut outcome) {
                    Ok(means) => found.push(means[0]),
                    Err(LabError::Find(error @ FindError::Model { .. })) => {
                        lab.left_out(&mut outcome, format!("{}, {finder}: {error}", judged.name));
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            let [raw, trigger, body, full] = found[..] else { continue };
            let mut row = vec![
                Cell::from(judged.name.as_str()),
                Cell::from(judged.writer),
                Cell::from(format!("`{finder}`")),
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
