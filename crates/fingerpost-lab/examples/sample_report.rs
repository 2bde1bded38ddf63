//! Writes the report and the plots of a sample, to be looked at: `cargo run --example sample_report -- FOLDER`.

#[path = "../tests/it/sample.rs"]
mod sample;

use std::error::Error;
use std::{env, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args().nth(1).ok_or("which folder?")?);
    fs::create_dir_all(&folder)?;
    let results = sample::results();
    fs::write(folder.join("report.html"), fingerpost_lab::report::html(&results))?;
    for result in &results {
        for plot in &result.outcome.plots {
            if let Ok(svg) = fingerpost_lab::plot::svg(plot) {
                fs::write(folder.join(format!("{}-{}.svg", result.name, plot.name())), svg)?;
            }
        }
    }
    Ok(())
}
