//! 6. Being among the ten, or being first: which of the two do pages change?
//!
//! What a chooser could do at most is the share of requests whose right skill is among its candidates; what the
//! search does alone is the share of first places. The distance between the two is left to a chooser.

use fingerpost::eval::Measure;
use fingerpost::view::View;

use super::{finders, if_usable};
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Outcome, Path, Plot, Table, mark_better};

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let measures: Vec<Measure> =
        ["Success@10", "Success@1"].map(|measure| measure.parse().expect("a measure")).into();
    let columns = [
        "library",
        "pages",
        "retriever",
        "among ten, document",
        "among ten, with page",
        "first, document",
        "first, with page",
        "left to a chooser, with page",
    ];
    let title = "Requests whose right skill is among the first ten, and first, in percent";
    let mut table = Table::new("pool", title, &columns);
    let mut paths = Vec::new();
    for opened in lab.data(experiment, &mut outcome)? {
        let judged = &opened.judged;
        for finder in finders(experiment)? {
            let measured = [View::Raw, View::Full]
                .map(|view| lab.measure(&opened, &finder, view, &measures, &mut outcome));
            let [raw, full] = measured;
            let both = raw.and_then(|raw| Ok((raw, full?)));
            let both = if_usable(both, &judged.name, &finder, lab, &mut outcome)?;
            let Some((raw, full)) = both else { continue };
            let mut row = vec![
                Cell::from(judged.name.as_str()),
                Cell::from(judged.writer),
                Cell::from(finder.to_string()),
            ];
            row.extend([raw[0], full[0], raw[1], full[1]].map(Cell::share));
            mark_better(&mut row, &[3, 4]);
            mark_better(&mut row, &[5, 6]);
            row.push(Cell::share(full[0] - full[1]));
            table.row(row);
            paths.push(Path {
                name: format!("{}, {finder}", judged.name),
                points: vec![
                    ("document".into(), 100.0 * raw[1], 100.0 * raw[0]),
                    ("with page".into(), 100.0 * full[1], 100.0 * full[0]),
                ],
            });
        }
    }
    outcome.tables.push(table);
    outcome.plots.push(Plot::Points {
        name: "pool".into(),
        title: "From the document to the document with its page".into(),
        x: "right skill first, %".into(),
        y: "right skill among ten, %".into(),
        paths,
    });
    Ok(outcome)
}
