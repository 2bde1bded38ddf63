//! `fingerpost export`: all pages as sorted JSON Lines.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::Context;
use fingerpost::page::write::PageRow;
use fingerpost::page::{Case, Page, Status};
use fingerpost::skill::SkillId;
use serde::{Deserialize, Serialize};

use crate::args::{Export, Global};
use crate::output::{self, Exit, plural};
use crate::source;

/// A line of the file. Its fields are a promise to whoever keeps such files.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) skill: SkillId,
    pub(crate) trigger: String,
    pub(crate) boundary: Vec<Case>,
    pub(crate) body: String,
    pub(crate) status: Status,
    pub(crate) writer: String,
    /// Digest of the document that the page was written for.
    pub(crate) document: String,
    pub(crate) key: String,
}

impl Line {
    fn of(row: &PageRow) -> Option<Self> {
        let Page { trigger, boundary, body } = row.page.clone()?;
        let PageRow { skill, status, writer, document, key, .. } = row.clone();
        Some(Self { skill, trigger, boundary, body, status, writer, document, key })
    }
}

pub(crate) fn run(args: &Export, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let mut out: Box<dyn Write> = match &args.out {
        Some(file) => {
            let file =
                File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(BufWriter::new(std::io::stdout())),
    };
    let lines: Vec<Line> = reading.snapshot.page_rows()?.iter().filter_map(Line::of).collect();
    reading.snapshot.sound()?;
    for line in &lines {
        serde_json::to_writer(&mut out, line).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    if let Some(file) = &args.out {
        output::say(
            global,
            &format!("Wrote {} to {}", plural(lines.len(), "page"), file.display()),
        );
    }
    Ok(Exit::Done)
}
