//! 3. Would requests written from the document alone do as well as a page?
//!
//! The document, the document with five requests by a model, the same with sentences that the document itself
//! holds (no model), and the document with its page.

use fingerpost::eval::Measure;
use fingerpost::view::View;

use super::{finders, if_usable};
use crate::doc2query::{EACH, Expected};
use crate::experiment::Experiment;
use crate::judged::Judged;
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Outcome, Table, mark_better};
use crate::retriever::Finder;

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let columns = [
        "library",
        "pages",
        "retriever",
        "measure",
        "document",
        "+ its own sentences",
        "+ requests by a model",
        "+ page",
    ];
    let mut table =
        Table::new("doc2query", "By what the index sees beside the document, in percent", &columns);
    for opened in lab.data(experiment, &mut outcome)? {
        let name = &opened.judged.name;
        let expected = asked(lab, &opened, &mut outcome)?;
        for finder in finders(experiment)? {
            let measures = &experiment.measures;
            let found = measured(lab, &opened, expected.as_ref(), &finder, measures, &mut outcome);
            let found = if_usable(found, name, &finder, lab, &mut outcome)?;
            let Some(found) = found else { continue };
            for (at, measure) in experiment.measures.iter().enumerate() {
                let mut row = vec![
                    Cell::from(name.as_str()),
                    Cell::from(opened.judged.writer),
                    Cell::from(finder.to_string()),
                    Cell::from(measure.to_string()),
                ];
                let share = |means: &Option<Vec<f64>>| {
                    means.as_ref().map_or(Cell::none(), |means| Cell::share(means[at]))
                };
                row.extend(found.iter().map(share));
                mark_better(&mut row, &[4, 5, 6, 7]);
                table.row(row);
            }
        }
    }
    outcome.tables.push(table);
    outcome.note(format!(
        "Requests by a model: {EACH} a skill, by a strong model that saw one document at a time, no neighbor, no request and no judgement. Its own sentences: what the local writer takes for requests, without a model."
    ));
    Ok(outcome)
}

/// The library with requests in the place of pages, if they were written for all of its skills.
fn asked(lab: &Lab, opened: &Opened, outcome: &mut Outcome) -> Result<Option<Opened>, LabError> {
    let Judged { name, library, .. } = &opened.judged;
    let expected = Expected::of(name, &lab.places)?;
    let missing = expected.missing(library).len();
    if missing > 0 {
        let all = library.skills().len();
        let why = format!(
            "{name}, requests by a model: {missing} of {all} skills have none; name a model with --model"
        );
        lab.left_out(outcome, why);
        return Ok(None);
    }
    let judged =
        opened.judged.variant("doc2query", library.skills().to_vec(), expected.pages(library));
    let snapshot = judged.compile()?;
    Ok(Some(Opened { judged, snapshot }))
}

/// One figure a column and measure.
fn measured(
    lab: &Lab,
    opened: &Opened,
    asked: Option<&Opened>,
    finder: &Finder,
    measures: &[Measure],
    outcome: &mut Outcome,
) -> Result<[Option<Vec<f64>>; 4], LabError> {
    let mut of = |opened: &Opened, view| lab.measure(opened, finder, view, measures, outcome);
    let raw = of(opened, View::Raw)?;
    let own = of(opened, View::Doc2query)?;
    let by_model = asked.map(|asked| of(asked, View::Trigger)).transpose()?;
    Ok([Some(raw), Some(own), by_model, Some(of(opened, View::Full)?)])
}
