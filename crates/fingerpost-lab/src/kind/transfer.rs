//! 9. Do pages help in another language, with everything else as it is?
//!
//! The whole document, the name and description alone, those with the body of the page, and with body and trigger.

use fingerpost::skill::Skill;
use fingerpost::view::View;

use super::{finders, if_usable};
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Outcome, Table, mark_better};

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let measure = experiment.measures[0];
    let columns = [
        "library",
        "pages",
        "retriever",
        "document",
        "description",
        "description + body",
        "description + body + trigger",
        "document + body + trigger",
    ];
    let mut table = Table::new(
        "transfer",
        format!("Mean {measure} by what the index sees, in percent"),
        &columns,
    );
    for opened in lab.data(experiment, &mut outcome)? {
        let brief = described(&opened)?;
        for finder in finders(experiment)? {
            let seen = [
                (&*opened, View::Raw),
                (&brief, View::Raw),
                (&brief, View::Body),
                (&brief, View::Full),
                (&*opened, View::Full),
            ];
            let mut measured =
                |(opened, view)| lab.measure(opened, &finder, view, &[measure], &mut outcome);
            let found: Result<Vec<Vec<f64>>, LabError> =
                seen.into_iter().map(&mut measured).collect();
            let found = if_usable(found, &opened.judged.name, &finder, lab, &mut outcome)?;
            let Some(found) = found else { continue };
            let mut row = vec![
                Cell::from(opened.judged.name.as_str()),
                Cell::from(opened.judged.writer),
                Cell::from(finder.to_string()),
            ];
            row.extend(found.iter().map(|means| Cell::share(means[0])));
            mark_better(&mut row, &[3, 4, 5, 6, 7]);
            table.row(row);
        }
    }
    outcome.tables.push(table);
    Ok(outcome)
}

/// The library without what stands below the head of a document; its pages stay, which were written from all of it.
fn described(opened: &Opened) -> Result<Opened, LabError> {
    let brief = |skill: &Skill| Skill { content: String::new(), ..skill.clone() };
    let skills = opened.judged.library.skills().iter().map(brief).collect();
    let judged = opened.judged.variant("described", skills, opened.snapshot.pages()?);
    let snapshot = judged.compile()?;
    Ok(Opened { judged, snapshot })
}
