//! How is the question of an experiment answered?

mod bound;
mod boundary;
mod contrast;
mod cost;
mod doc2query;
mod failures;
mod fields;
mod pool;
mod preservation;
mod retrieval;
mod routing;
mod solving;
mod sweep;
mod transfer;

use std::str::FromStr;

use crate::experiment::{Experiment, Kind};
use crate::lab::{Lab, LabError};
use crate::outcome::Outcome;
use crate::retriever::{FindError, Finder};

/// Does an experiment.
pub fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    match experiment.kind {
        Kind::Failures => failures::run(experiment, lab),
        Kind::Retrieval => retrieval::run(experiment, lab),
        Kind::Boundary => boundary::run(experiment, lab),
        Kind::Doc2query => doc2query::run(experiment, lab),
        Kind::Fields => fields::run(experiment, lab),
        Kind::Preservation => preservation::run(experiment, lab),
        Kind::Pool => pool::run(experiment, lab),
        Kind::Routing => routing::run(experiment, lab),
        Kind::Transfer => transfer::run(experiment, lab),
        Kind::Sweep => sweep::run(experiment, lab),
        Kind::Bound => bound::run(experiment, lab),
        Kind::Contrast => contrast::run(experiment, lab),
        Kind::Solving => solving::run(experiment, lab),
        Kind::Cost => cost::run(experiment, lab),
    }
}

/// The retrievers that an experiment names.
fn finders(experiment: &Experiment) -> Result<Vec<Finder>, LabError> {
    let named = experiment.retrievers.iter().map(|name| Finder::from_str(name));
    let setting = |why| LabError::Setting { experiment: experiment.name.clone(), why };
    named.collect::<Result<_, _>>().map_err(setting)
}

/// What a retriever found, if it can be used here; else says that it is left out.
fn if_usable<T>(
    found: Result<T, LabError>,
    data: &str,
    finder: &Finder,
    lab: &Lab,
    outcome: &mut Outcome,
) -> Result<Option<T>, LabError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(LabError::Find(error @ FindError::Model { .. })) => {
            lab.left_out(outcome, format!("{data}, {finder}: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The mean of some numbers; nothing of none.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
