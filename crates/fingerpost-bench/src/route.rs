//! `route`: what does one request cost in a process that goes on running, as a server does?
//!
//! The libraries of the real data, together, are compiled by the local writer; then their requests
//! are asked one at a time on one thread. Reading, compiling and indexing are not in the figures.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use comfy_table::{Table, presets};
use fingerpost::atlas::Atlas;
use fingerpost::embedding::Role;
use fingerpost::eval::Query;
use fingerpost::index::{Scratch, Zeros};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::search::Dense;
use fingerpost::view::View;

use crate::judged::{compile, spread};
use crate::ours;
use crate::search::dense;

/// What `route` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// Folder of the real data, with `sra` and `pool-zh` in it.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Requests, evenly spaced.
    #[arg(long, value_name = "N", default_value_t = 500)]
    requests: usize,
}

const POOL: usize = 10;

pub(crate) fn run(arguments: &RouteArgs) -> anyhow::Result<()> {
    let Some(judged) = crate::judged::open("sra", &arguments.data)? else {
        eprintln!("SKIPPED: {} has no sra", arguments.data.display());
        return Ok(());
    };
    let queries = spread(judged.queries, arguments.requests);
    let roots = ["sra", "pool-zh"].map(|name| Root::new(arguments.data.join(name)));
    let library = Library::load(&roots, LoadOptions::default())?.value;
    eprintln!("compiling {} skills", library.skills().len());
    let snapshot = compile(&Atlas::in_memory(), &library)?;
    let Dense { index: dense, embedder } = dense(&snapshot, View::Full)?;
    let router = snapshot.router(snapshot.route_config(), POOL);
    let scratch = &mut Scratch::default();
    let pool = ours::pool(1)?;
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["", "median ms", "95 % below"]);
    let mut time = |name: &str, work: &mut (dyn FnMut(&Query) -> anyhow::Result<()> + Send)| {
        let mut ms = Vec::with_capacity(queries.len());
        for query in &queries {
            let start = Instant::now();
            pool.install(|| work(query))?;
            ms.push(start.elapsed().as_secs_f64() * 1e3);
        }
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| format!("{:.2}", ms[(ms.len() as f64 * share) as usize]);
        table.add_row([name.to_owned(), at(0.5), at(0.95)]);
        anyhow::Ok(())
    };
    time("search by words", &mut |query| {
        router.finder.search(&query.text, POOL, scratch)?;
        Ok(())
    })?;
    time("embed the request (fit)", &mut |query| {
        embedder.embed(&[&query.text], Role::Query)?;
        Ok(())
    })?;
    let asked: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    let asked = embedder.embed(&asked, Role::Query)?;
    let mut rows = asked.rows();
    time("search by its vector", &mut |_| {
        rows.next().map(|row| dense.search(row, POOL));
        Ok(())
    })?;
    time("search by phrases", &mut |query| {
        snapshot.phrases().search(&query.text, POOL, Zeros::Dropped, scratch)?;
        Ok(())
    })?;
    time("route, local chooser", &mut |query| {
        router.route(&query.text, scratch)?;
        Ok(())
    })?;
    println!(
        "{} skills, {} requests of {} words in the mean, one thread\n{table}",
        library.skills().len(),
        queries.len(),
        queries.iter().map(|query| query.text.split_whitespace().count()).sum::<usize>()
            / queries.len().max(1),
    );
    Ok(())
}
