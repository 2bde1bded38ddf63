//! 9. Do pages help in another language, with everything else as it is?
//!
//! The whole document, the name and description alone, those with the body of the page, and with body and trigger.

use fingerpost::skill::Skill;
use fingerpost::view::View;

use super::finders;
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Outcome, Table, mark_better};
use crate::retriever::FindError;

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
            let mut found = Vec::new();
            for (opened, view) in seen {
                match lab.measure(opened, &finder, view, &[measure], &mut outcome) {
                    Ok(means) => found.push(means[0]),
                    Err(LabError::Find(error @ FindError::Model { .. })) => {
                        lab.left_out(
                            &mut outcome,
                            format!("{}, {finder}: {error}", opened.judged.name),
                        );
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            if found.len() < seen.len() {
                continue;
            }
            let mut row = vec![
                Cell::from(opened.judged.name.as_str()),
                Cell::from(opened.judged.writer),
                Cell::from(format!("`{finder}`")),
            ];
            row.extend(found.iter().map(|&share| Cell::share(share)));
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
