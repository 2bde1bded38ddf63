//! 10. How do neighborhoods change with the number of buckets and the threshold?

use fingerpost::neighborhood::{NeighborhoodConfig, SweepRow, sweep};

use crate::experiment::Experiment;
use crate::lab::{Lab, LabError};
use crate::outcome::{Cell, Figure, Outcome, Plot, Series, Table};

pub(super) fn run(experiment: &Experiment, lab: &Lab) -> Result<Outcome, LabError> {
    let mut outcome = Outcome::default();
    for opened in lab.data(experiment, &mut outcome)? {
        let name = &opened.judged.name;
        lab.doing(format!("{name}: partitioning with every setting"));
        let head = opened.snapshot.head();
        let config = NeighborhoodConfig { seed: experiment.seed, ..head.protocol.neighborhood };
        let rows =
            sweep(opened.snapshot.vectors()?, &experiment.buckets, &experiment.distances, &config);
        let skills = opened.snapshot.len();
        outcome.tables.push(table(name, skills, &rows));
        let grouped = |buckets: usize| {
            let of_this = rows.iter().filter(|row| row.buckets == buckets);
            of_this.map(|row| Some(100.0 * row.structure.grouped)).collect()
        };
        let series = experiment.buckets.iter().map(|&buckets| Series {
            name: format!("{buckets} buckets"),
            values: grouped(buckets),
            intervals: vec![],
        });
        outcome.plots.push(Plot::Bars {
            name: format!("{}-grouped", crate::lab::file_name(name)),
            title: format!("{name}: skills that have a neighbor"),
            axis: "of the skills, %".into(),
            groups: experiment.distances.iter().map(|distance| format!("{distance}")).collect(),
            series: series.collect(),
        });
        outcome.note(format!("{name}: vectors {}.", head.profile));
    }
    Ok(outcome)
}

fn table(name: &str, skills: usize, rows: &[SweepRow]) -> Table {
    let columns = [
        "buckets",
        "distance below",
        "neighborhoods of two and more",
        "alone",
        "grouped, %",
        "mean size",
        "largest",
        "similarity within",
        "nearest outside",
    ];
    let mut table =
        Table::new(&crate::lab::file_name(name), format!("{name}: {skills} skills"), &columns);
    for SweepRow { buckets, max_distance, structure } in rows {
        let groups = structure.neighborhoods - structure.singletons;
        let grouped = skills - structure.singletons;
        let largest = structure.sizes.iter().rposition(|&count| count > 0).map_or(0, |at| at + 1);
        table.row(vec![
            Cell::count(*buckets),
            Figure::number(*max_distance, 2).into(),
            Cell::count(groups),
            Cell::count(structure.singletons),
            Cell::share(structure.grouped),
            Figure::number(grouped as f64 / groups.max(1) as f64, 2).into(),
            Cell::count(largest),
            Figure::number(structure.within, 3).into(),
            Figure::number(structure.nearest_outside, 3).into(),
        ]);
    }
    table
}
