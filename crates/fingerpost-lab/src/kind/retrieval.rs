//! 1. Do pages help a retriever to find the right skill?
//!
//! Every retriever over documents and over documents with pages, by every measure, for each library and for
//! each data set of a library that has several.

use fingerpost::eval::{Measure, evaluate};
use fingerpost::view::View;

use super::{finders, if_usable, mean};
use crate::experiment::Experiment;
use crate::lab::{Lab, LabError, Opened};
use crate::outcome::{Cell, Outcome, Plot, Series, Table, mark_better};
use crate::retriever::Finder;

/// The two views that are compared.
const VIEWS: [View; 2] = [View::Raw, View::Full];

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    let (finders, measures) = (finders(experiment)?, &experiment.measures);
    let mut by_set = by_data_set();
    let mut gains: Vec<Series> =
        finders.iter().map(|finder| Series::new(finder.to_string())).collect();
    let mut groups = Vec::new();
    let mut all = Vec::new();
    let data = lab.data(experiment, &mut outcome)?;
    for opened in &data {
        let name = &opened.judged.name;
        groups.push(name.clone());
        let mut table = table(opened, measures);
        for (finder, gain) in finders.iter().zip(&mut gains) {
            let found = pair(lab, opened, finder, measures, &mut outcome);
            let found = if_usable(found, name, finder, lab, &mut outcome)?;
            let Some([raw, full]) = found else {
                gain.values.push(None);
                continue;
            };
            table.row(row(finder, &raw, &full));
            gain.values.push(Some(100.0 * (full[0] - raw[0])));
            all.push(Found { finder: finder.clone(), raw, full });
            add_data_sets(lab, opened, finder, measures[0], &mut by_set)?;
        }
        outcome.tables.push(table);
    }
    if data.len() > 1 {
        outcome.tables.insert(0, means(&all, &finders, measures, data.len()));
    }
    outcome.tables.push(by_set);
    gains.retain(|series| series.values.iter().any(Option::is_some));
    outcome.plots.push(Plot::Bars {
        name: "gain".into(),
        title: format!("What pages add to {}", measures[0]),
        axis: format!("{}, points", measures[0]),
        groups,
        series: gains,
    });
    Ok(outcome)
}

/// A retriever over both views.
fn pair(
    lab: &Lab,
    opened: &Opened,
    finder: &Finder,
    measures: &[Measure],
    outcome: &mut Outcome,
) -> Result<[Vec<f64>; 2], LabError> {
    let [raw, full] = VIEWS.map(|view| lab.measure(opened, finder, view, measures, outcome));
    Ok([raw?, full?])
}

/// The columns of a measure over documents, and over documents with pages.
fn columns(measures: &[Measure]) -> Vec<String> {
    let both =
        |measure: &Measure| [format!("{measure}, document"), format!("{measure}, with page")];
    ["retriever".to_owned()].into_iter().chain(measures.iter().flat_map(both)).collect()
}

fn table(opened: &Opened, measures: &[Measure]) -> Table {
    let judged = &opened.judged;
    let title = format!(
        "{}: {} skills, {} requests, pages: {}",
        judged.name,
        judged.library.skills().len(),
        judged.queries.len(),
        judged.writer
    );
    let columns = columns(measures);
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    Table::new(&crate::lab::file_name(&judged.name), title, &columns)
}

fn row(finder: &Finder, raw: &[f64], full: &[f64]) -> Vec<Cell> {
    let mut row = vec![Cell::from(finder.to_string())];
    for (raw, full) in raw.iter().zip(full) {
        row.extend([Cell::share(*raw), Cell::share(*full)]);
        let end = row.len();
        mark_better(&mut row, &[end - 2, end - 1]);
    }
    row
}

/// What a retriever found in one library, one mean a measure.
struct Found {
    finder: Finder,
    raw: Vec<f64>,
    full: Vec<f64>,
}

/// Means over libraries.
fn means(found: &[Found], finders: &[Finder], measures: &[Measure], libraries: usize) -> Table {
    let columns = columns(measures);
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = format!("Mean over {libraries} libraries, each by its data sets");
    let mut table = Table::new("mean", title, &columns);
    for finder in finders {
        let of_this: Vec<&Found> = found.iter().filter(|found| found.finder == *finder).collect();
        // A mean over fewer libraries is another figure.
        if of_this.len() < libraries {
            continue;
        }
        let over = |which: fn(&Found) -> &[f64]| -> Vec<f64> {
            let at = |at: usize| of_this.iter().map(|found| which(found)[at]).collect::<Vec<_>>();
            (0..measures.len()).filter_map(|measure| mean(&at(measure))).collect()
        };
        table.row(row(finder, &over(|found| &found.raw), &over(|found| &found.full)));
    }
    table
}

fn by_data_set() -> Table {
    let columns = ["library", "data set", "requests", "retriever", "document", "with page", "gain"];
    Table::new("data-sets", "By data set, the first measure", &columns)
}

/// The first measure for each data set of a library that has several.
fn add_data_sets(
    lab: &Lab,
    opened: &Opened,
    finder: &Finder,
    measure: Measure,
    table: &mut Table,
) -> Result<(), LabError> {
    let judged = &opened.judged;
    let mut sets = Vec::new();
    for view in VIEWS {
        let run = lab.run(opened, finder, view, measure.cutoff().unwrap_or(10).max(10))?;
        sets.push(evaluate(&run, &judged.qrels, Some(&judged.queries), &[measure]).datasets);
    }
    if sets[0].len() < 2 {
        return Ok(());
    }
    for (set, raw) in &sets[0] {
        let value = |set: &fingerpost::eval::Dataset| {
            set.means.values().next().and_then(serde_json::Value::as_f64).unwrap_or(0.0)
        };
        let (before, after) = (value(raw), sets[1].get(set).map_or(0.0, value));
        let mut row = vec![
            Cell::from(judged.name.as_str()),
            Cell::from(set.as_str()),
            Cell::count(raw.queries),
            Cell::from(finder.to_string()),
            Cell::share(before),
            Cell::share(after),
            Cell::points(after - before),
        ];
        mark_better(&mut row, &[4, 5]);
        table.row(row);
    }
    Ok(())
}
