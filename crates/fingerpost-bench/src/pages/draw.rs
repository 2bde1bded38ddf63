//! `pages --draw N`: pages of real skills, drawn by a seed, for a person to read.
//!
//! What a judge needs stands together: the document as far as it matters, whom it was written against, and the page.
//! The same seed draws the same skills from the same library, whatever is written about them.

use std::path::Path;

use anyhow::Context;
use fingerpost::atlas::Atlas;
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};
use fingerpost::page::Page;
use fingerpost::page::write::PageRow;
use fingerpost::skill::{Invocation, Origin, Skill, SkillId, SkillIdx};
use fingerpost::snapshot::Snapshot;

use crate::judged::compile;

/// Where skills can be drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum From {
    /// Skills of the web, with whole documents.
    Sra,
    /// Descriptions whose authors say what the skill is not for.
    Boundaries,
    /// Chinese skills, with whole documents.
    PoolZh,
    /// Short descriptions of tools.
    Metatool,
    /// Tools of servers, by their schemas.
    Livemcpbench,
    /// The project's own.
    Examples,
}

/// What is drawn.
pub(crate) struct Drawing<'a> {
    pub(crate) from: From,
    pub(crate) count: usize,
    pub(crate) seed: u64,
    pub(crate) data: &'a Path,
    /// Skills that the library is made of, at most: neighborhoods are of the whole.
    pub(crate) library: Option<usize>,
}

/// Characters of a document that are shown.
const SHOWN: usize = 1500;

pub(crate) fn run(drawing: &Drawing<'_>) -> anyhow::Result<()> {
    let Some(mut skills) = skills(drawing)? else {
        eprintln!("SKIPPED: {} has no such data", drawing.data.display());
        return Ok(());
    };
    skills.sort_by_key(|skill| place(&skill.id, drawing.seed));
    if let Some(most) = drawing.library {
        skills.truncate(most.max(drawing.count));
    }
    let drawn: Vec<SkillId> =
        skills.iter().take(drawing.count).map(|skill| skill.id.clone()).collect();
    let library = Library::from_skills(skills).value;
    let snapshot = compile(&Atlas::in_memory(), &library)?;
    println!(
        "# {} pages of {:?}, seed {}, of {} skills\n",
        drawn.len(),
        drawing.from,
        drawing.seed,
        library.skills().len()
    );
    for (number, id) in drawn.iter().enumerate() {
        let at = library.find(id.as_str()).context("a drawn skill is in the library")?;
        show(number + 1, &library.skills()[at.row()], at, &snapshot)?;
    }
    Ok(())
}

/// Where a skill stands in the order of a seed.
fn place(id: &SkillId, seed: u64) -> [u8; 32] {
    *blake3::hash(format!("{seed}:{id}").as_bytes()).as_bytes()
}

fn skills(drawing: &Drawing<'_>) -> anyhow::Result<Option<Vec<Skill>>> {
    let load = |folder: &Path| {
        anyhow::Ok(
            Library::load(&[Root::new(folder)], LoadOptions::default())?.value.skills().to_vec(),
        )
    };
    let folder = match drawing.from {
        From::Sra => drawing.data.join("sra"),
        From::Boundaries => drawing.data.join("boundaries"),
        From::PoolZh => drawing.data.join("pool-zh"),
        From::Metatool => drawing.data.join("metatool"),
        From::Livemcpbench => drawing.data.join("livemcpbench"),
        From::Examples => Path::new("examples/library").to_path_buf(),
    };
    if !folder.is_dir() {
        return Ok(None);
    }
    Ok(Some(match drawing.from {
        From::PoolZh | From::Metatool | From::Livemcpbench | From::Examples => load(&folder)?,
        From::Sra => {
            let mut skills = load(&folder)?;
            skills.retain(|skill| skill.id.as_str().starts_with("web_"));
            skills
        }
        From::Boundaries => described(&folder)?,
    }))
}

/// Records that have a description and no document.
fn described(folder: &Path) -> anyhow::Result<Vec<Skill>> {
    #[derive(serde::Deserialize)]
    struct Record {
        id: String,
        name: String,
        description: Option<String>,
    }
    let text = read_unpacked(&folder.join("natural.jsonl.zst"))?;
    let records = text.split('\n').filter(|line| !line.is_empty());
    let skill = |line: &str| {
        let record: Record = serde_json::from_str(line)?;
        Ok(Skill {
            id: SkillId::new(record.id),
            name: record.name,
            description: record.description.unwrap_or_default(),
            content: String::new(),
            fields: Default::default(),
            invocation: Invocation::Automatic,
            origin: Origin { file: folder.join("natural.jsonl.zst"), line: None },
        })
    };
    records.map(skill).collect()
}

fn show(number: usize, skill: &Skill, at: SkillIdx, snapshot: &Snapshot) -> anyhow::Result<()> {
    let row = snapshot.page_row(at)?;
    let neighborhoods = snapshot.neighborhoods();
    let neighbors: Vec<&str> = neighborhoods
        .members(neighborhoods.of(at))
        .iter()
        .filter(|&&other| other != at)
        .map(|&other| snapshot.row(other).name)
        .collect();
    let content: String = skill.content.chars().take(SHOWN).collect();
    println!("## {number}. {} ({})\n", skill.name, skill.id);
    println!("**Description:** {}\n", skill.description.trim());
    // Four spaces: what strangers wrote is shown as it is and ends no block of ours.
    println!("**Document:**\n\n{}\n", indented(content.trim()));
    println!(
        "**Neighbors:** {}\n",
        if neighbors.is_empty() { "none".into() } else { neighbors.join(", ") }
    );
    page(&row, snapshot);
    Ok(())
}

fn page(row: &PageRow, snapshot: &Snapshot) {
    let Some(Page { trigger, boundary, body }) = &row.page else {
        println!("**Page:** none\n");
        return notes(row);
    };
    let shown = |text: &str| if text.is_empty() { "–".to_owned() } else { text.to_owned() };
    println!("- **trigger:** {}", shown(trigger));
    if boundary.is_empty() {
        println!("- **boundary:** –");
    }
    for case in boundary {
        let to =
            case.skill.as_ref().map_or(String::new(), |id| format!(" → {}", snapshot.name_of(id)));
        println!("- **boundary:** {}{to}", case.request);
    }
    println!("- **body:** {}\n", shown(body));
    notes(row);
}

fn notes(row: &PageRow) {
    for finding in &row.findings {
        println!("  [{}] {}\n", finding.rule, finding.message);
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
