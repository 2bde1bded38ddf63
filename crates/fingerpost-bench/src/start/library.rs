//! How does a library become as large as one likes, and what is it asked?
//!
//! `sra` comes first, then `pool-zh`, then copies of `sra` in which one word in ten is another skill's. So
//! the larger library holds the smaller one, and its words are as many and as frequent as real ones.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::skill::Skill;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::judged::Judged;

/// What `start` asks of itself.
#[derive(Debug, Args)]
pub(crate) struct LibraryArgs {
    /// Folder of the real data.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Where the libraries go.
    folder: PathBuf,
    /// Skills in each.
    skills: Vec<usize>,
}

impl LibraryArgs {
    /// One library of so many skills.
    pub(crate) fn of(data: &Path, folder: &Path, skills: usize) -> Self {
        Self { data: data.to_owned(), folder: folder.to_owned(), skills: vec![skills] }
    }
}

pub(super) const SHORT: &str = "short";
pub(super) const LONG: &str = "long";

/// Requests of `sra`: one in twenty is shorter, one in twenty longer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Requests {
    short: String,
    long: String,
}

impl Requests {
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = Self::file(folder);
        let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Each with its name.
    pub(super) fn named(&self) -> [(&'static str, &str); 2] {
        [(SHORT, &self.short), (LONG, &self.long)]
    }

    pub(super) fn text(&self, name: &str) -> &str {
        if name == SHORT { &self.short } else { &self.long }
    }

    fn file(folder: &Path) -> PathBuf {
        folder.join("requests.json")
    }

    fn of(judged: &Judged) -> anyhow::Result<Self> {
        let mut texts: Vec<(usize, &str)> = judged
            .queries
            .iter()
            .map(|query| (query.text.split_whitespace().count(), query.text.as_str()))
            .collect();
        texts.sort_unstable();
        let at = |place: usize| {
            let found = texts.get(place).context("sra has no requests")?;
            anyhow::Ok(found.1.to_owned())
        };
        Ok(Self { short: at(texts.len() / 20)?, long: at(texts.len() * 19 / 20)? })
    }
}

/// The library of so many skills.
pub(crate) fn file(folder: &Path, skills: usize) -> PathBuf {
    folder.join(format!("{skills}.jsonl"))
}

/// Makes the libraries that are not there yet.
pub(crate) fn run(arguments: &LibraryArgs) -> anyhow::Result<()> {
    let LibraryArgs { data, folder, skills } = arguments;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let sra = crate::judged::open("sra", data)?;
    let sra = sra.with_context(|| format!("{} has no sra", data.display()))?;
    fs::write(Requests::file(folder), serde_json::to_vec(&Requests::of(&sra)?)?)?;
    let chinese = Library::load(&[Root::new(data.join("pool-zh"))], LoadOptions::default())?.value;
    let (sra, chinese) = (sra.library.skills(), chinese.skills());
    let ids: BTreeSet<&str> = sra.iter().chain(chinese).map(|skill| skill.id.as_str()).collect();
    ensure!(ids.len() == sra.len() + chinese.len(), "sra and pool-zh share ids");
    for &count in skills {
        let file = file(folder, count);
        if file.exists() {
            continue;
        }
        eprintln!("making a library of {count} skills");
        let unfinished = file.with_extension("unfinished");
        let mut out = BufWriter::new(File::create(&unfinished)?);
        for record in records(sra, chinese).take(count) {
            serde_json::to_writer(&mut out, &record)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        fs::rename(unfinished, file)?;
    }
    Ok(())
}

/// A skill as it is written.
#[derive(Debug, PartialEq, Serialize)]
struct Record {
    id: String,
    name: String,
    description: String,
    content: String,
}

/// The skills of any library, without end.
fn records<'a>(sra: &'a [Skill], chinese: &'a [Skill]) -> impl Iterator<Item = Record> + 'a {
    let real = sra.iter().chain(chinese).map(|skill| Record {
        id: skill.id.to_string(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        content: skill.content.clone(),
    });
    let mut random = Pcg64::seed_from_u64(7);
    let copies = (2..).flat_map(|copy: usize| sra.iter().map(move |skill| (skill, copy)));
    real.chain(copies.map(move |(skill, copy)| {
        let other = &sra[random.random_range(0..sra.len())];
        perturbed(skill, copy, other, &mut random)
    }))
}

/// A skill with some words of another one in the place of its own.
fn perturbed(skill: &Skill, copy: usize, other: &Skill, random: &mut Pcg64) -> Record {
    const SWAPPED: f64 = 0.1;
    let words: Vec<&str> = other.content.split(' ').collect();
    let mut swapped = |text: &str| -> String {
        let swap = |word| match random.random_bool(SWAPPED) {
            true => words[random.random_range(0..words.len())],
            false => word,
        };
        text.split(' ').map(swap).collect::<Vec<_>>().join(" ")
    };
    Record {
        // No id of the data has this mark, so none is met twice.
        id: format!("{}~{copy}", skill.id),
        name: format!("{}-{copy}", skill.name),
        description: swapped(&skill.description),
        content: swapped(&skill.content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_library_holds_the_smaller_one_and_no_skill_twice() {
        let library = |folder: &str| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
            Library::load(&[Root::new(root)], LoadOptions::default()).unwrap().value
        };
        let examples = library("examples/library");
        let (most, rest) = examples.skills().split_at(examples.skills().len() - 5);
        let made = |count| records(most, rest).take(count).collect::<Vec<_>>();
        let (small, large) = (made(10), made(3 * most.len() + 5));
        assert_eq!(small, large[..10]);
        let ids: BTreeSet<&str> = large.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(ids.len(), large.len());
        // Copies are like the skill, but neither it nor each other.
        let own = &most[0].content;
        let [first, second] = [5, 5 + most.len()].map(|at| &large[most.len() + at].content);
        let kept = |copy: &str| {
            let same = copy.split(' ').zip(own.split(' ')).filter(|(a, b)| a == b).count();
            same as f64 / own.split(' ').count() as f64
        };
        assert!(first != own && second != own && first != second);
        assert!((0.8..0.97).contains(&kept(first)), "{}", kept(first));
    }
}
