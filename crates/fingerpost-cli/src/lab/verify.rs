//! `fingerpost lab verify`: somebody else's program computes the headline figures again, from the stored runs.

use std::collections::BTreeMap;
use std::io::Write;

use fingerpost_lab::files::Done;
use fingerpost_lab::verify::{Check, Differs, PACKAGE, Reference, checks};
use serde_json::json;

use super::VerifyArgs;
use crate::args::Global;
use crate::output::{self, CAUTION, Exit, UsageError, plain, plural};

pub(super) fn run(args: &VerifyArgs, global: &Global) -> anyhow::Result<Exit> {
    let mut done = Done::read_all(&args.places.out)?;
    if !args.names.is_empty() {
        done.retain(|done| args.names.contains(&done.name));
    }
    let lab = args.places.open(global);
    let mut wanted: BTreeMap<String, Check> = BTreeMap::new();
    for done in &done {
        for missing in checks(done, &lab, &mut wanted)? {
            output::say(global, &format!("{CAUTION}left out:{CAUTION:#} {}", plain(&missing)));
        }
    }
    if wanted.is_empty() {
        let message = format!(
            "no figure in {} can be computed again: its runs are made by `fingerpost lab run retrieval`",
            args.places.out.display()
        );
        return Err(UsageError::new(message).into());
    }
    let reference = match &args.python {
        Some(python) => Reference::of(python),
        None => {
            output::say(global, &format!("{PACKAGE} computes them"));
            Reference::install(&args.places.out.join("python"))?
        }
    };
    let differ = reference.differing(&wanted)?;
    if global.json {
        let differ: Vec<_> = differ
            .iter()
            .map(|Differs { figure, ours, theirs }| {
                json!({"figure": figure, "ours": ours, "theirs": theirs})
            })
            .collect();
        output::print_json(&json!({"checked": wanted.len(), "differ": differ}))?;
    } else {
        let mut out = anstream::stdout().lock();
        for Differs { figure, ours, theirs } in &differ {
            let theirs = theirs.map_or_else(|| "nothing".to_owned(), |theirs| theirs.to_string());
            let figure = plain(figure);
            writeln!(out, "{CAUTION}{figure}{CAUTION:#}: ours {ours}, ir_measures {theirs}")?;
        }
        let checked = plural(wanted.len(), "figure");
        writeln!(out, "{checked} computed again by ir_measures, {} differ", differ.len())?;
    }
    Ok(if differ.is_empty() { Exit::Done } else { Exit::Findings })
}
