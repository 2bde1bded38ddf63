//! Which figures can somebody else compute again, and from what?

mod reference;

use std::collections::BTreeMap;

use fingerpost::eval::{Qrels, read_run};
use fingerpost::library::read_unpacked;

pub use self::reference::{Differs, PACKAGE, Reference, ReferenceError};
use crate::files::Done;
use crate::judged::{Judged, spread};
use crate::lab::{Lab, LabError};
use crate::outcome::Proof;

/// All that it takes to compute one figure.
pub struct Check {
    /// What we say it is, in percent.
    pub value: f64,
    /// The measure, as `ir_measures` calls it.
    pub measure: String,
    /// Request to skill to a score that says its rank.
    pub run: BTreeMap<String, BTreeMap<String, f64>>,
    /// Request to skill to grade, for every request that was asked.
    pub qrels: Qrels,
    /// The data set of each request.
    pub sets: BTreeMap<String, String>,
}

/// Adds the figures of an experiment, and says of those that cannot be computed why not.
pub fn checks(
    done: &Done,
    lab: &Lab,
    wanted: &mut BTreeMap<String, Check>,
) -> Result<Vec<String>, LabError> {
    let mut missing = Vec::new();
    let mut opened: BTreeMap<&str, Option<Judged>> = BTreeMap::new();
    for (figure, Proof { run, data, requests, measure }) in &done.outcome.proofs {
        let Some(&value) = done.outcome.figures.get(figure) else { continue };
        let judged = opened.entry(data).or_insert_with(|| match Judged::open(data, &lab.places) {
            Ok(judged) => Some(judged),
            Err(error) => {
                missing.push(error.to_string());
                None
            }
        });
        let Some(judged) = judged else { continue };
        let file = lab.out.join("runs").join(run);
        let Ok(text) = read_unpacked(&file) else {
            missing.push(format!(
                "{} is not here: `fingerpost lab run {}` makes it",
                file.display(),
                done.name
            ));
            continue;
        };
        let stored = read_run(&text, &file.display().to_string())?;
        let mut check = Check {
            value,
            measure: measure.clone(),
            run: BTreeMap::new(),
            qrels: Qrels::new(),
            sets: BTreeMap::new(),
        };
        for query in spread(judged.queries.clone(), *requests) {
            let hits = stored.get(&query.id).unwrap_or_default().iter();
            // Ties are ours to break, by id; whoever measures gets the order as it is.
            let hits = hits.zip(1..).map(|(hit, rank)| (hit.skill.clone(), 1.0 / f64::from(rank)));
            let hits = hits.collect();
            check.run.insert(query.id.clone(), hits);
            let grades = judged.qrels.get(&query.id).cloned().unwrap_or_default();
            check.qrels.insert(query.id.clone(), grades);
            check.sets.insert(query.id, query.dataset.unwrap_or_default());
        }
        wanted.insert(figure.clone(), check);
    }
    missing.dedup();
    Ok(missing)
}
