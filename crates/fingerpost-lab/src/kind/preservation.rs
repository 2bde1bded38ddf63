//! 5. Do pages keep the first places that documents have?

use fingerpost::eval::{ComparisonConfig, compare};
use fingerpost::view::View;

use super::{finders, if_usable};
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Figure, Outcome, Table};

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let columns =
        ["library", "pages", "retriever", "requests", "first by document", "kept, %", "new", "net"];
    let title =
        "Requests whose first hit is right: by document, and what pages keep, add and change";
    let mut table = Table::new("preservation", title, &columns);
    for opened in lab.data(experiment, &mut outcome)? {
        let judged = &opened.judged;
        for finder in finders(experiment)? {
            let [raw, full] =
                [View::Raw, View::Full].map(|view| lab.run(&opened, &finder, view, 10));
            let both = raw.and_then(|raw| Ok((raw, full?)));
            let both = if_usable(both, &judged.name, &finder, lab, &mut outcome)?;
            let Some((raw, full)) = both else { continue };
            let config = ComparisonConfig {
                measures: vec![],
                resamples: 0,
                confidence: 0.95,
                seed: experiment.seed,
            };
            let systems = [("full".to_owned(), full)];
            let queries = Some(&judged.queries[..]);
            let hits = compare(&raw, &systems, &judged.qrels, queries, &config).remove(0).hits;
            let kept = hits.preserved.map_or(Cell::none(), Cell::share);
            table.row(vec![
                Cell::from(judged.name.as_str()),
                Cell::from(judged.writer),
                Cell::from(finder.to_string()),
                Cell::count(judged.queries.len()),
                Cell::count(hits.baseline),
                kept,
                Cell::count(hits.new),
                Figure { signed: true, ..Figure::number(hits.net as f64, 0) }.into(),
            ]);
            let name = |what: &str| format!("{} {finder} {what}", judged.name);
            outcome.figure(name("first by document"), hits.baseline as f64);
            outcome.figure(name("net"), hits.net as f64);
            if let Some(kept) = hits.preserved {
                outcome.figure(name("kept"), 100.0 * kept);
            }
        }
    }
    outcome.tables.push(table);
    Ok(outcome)
}
