//! `fingerpost neighbors`: who could be taken for this skill?

use std::io::Write;

use fingerpost::atlas::Compiled;
use fingerpost::embedding::dot;
use fingerpost::skill::SkillIdx;
use serde::Serialize;

use crate::args::{Global, LibraryArgs, Neighbors};
use crate::compile::{Settings, ensure};
use crate::output::{self, Exit, FAINT, STRONG, UsageError, cut, plain};
use crate::source;

#[derive(Serialize)]
struct Answer<'a> {
    skill: &'a str,
    neighborhood: u32,
    neighbors: Vec<Neighbor<'a>>,
}

#[derive(Serialize)]
struct Neighbor<'a> {
    skill: &'a str,
    name: &'a str,
    similarity: f32,
    /// In the same neighborhood?
    together: bool,
}

pub(crate) fn run(args: &Neighbors, global: &Global) -> anyhow::Result<Exit> {
    let compiled = open(&args.library, global)?;
    let skill = find(&compiled, &args.skill)?;
    let neighbors = nearest(&compiled, skill, args.k);
    let row = |&(other, similarity): &(SkillIdx, f32)| Neighbor {
        skill: &compiled.skill(other).id,
        name: &compiled.skill(other).name,
        similarity,
        together: compiled.neighborhoods.of(other) == compiled.neighborhoods.of(skill),
    };
    if global.json {
        let answer = Answer {
            skill: &compiled.skill(skill).id,
            neighborhood: compiled.neighborhoods.of(skill).0,
            neighbors: neighbors.iter().map(row).collect(),
        };
        output::print_json(&answer)?;
        return Ok(Exit::Done);
    }
    let mut out = anstream::stdout().lock();
    let members = compiled.neighborhoods.members(compiled.neighborhoods.of(skill)).len();
    let about = match members {
        1 => "alone: nobody is near enough to be taken for it".to_owned(),
        n => format!("in a neighborhood of {n}, marked ●"),
    };
    writeln!(out, "{STRONG}{}{STRONG:#} is {about}", plain(&compiled.skill(skill).id))?;
    let width = output::terminal_width();
    for (other, similarity) in &neighbors {
        let neighbor = compiled.skill(*other);
        let together = compiled.neighborhoods.of(*other) == compiled.neighborhoods.of(skill);
        let mark = if together { "●" } else { "○" };
        let id = cut(&neighbor.id, 44);
        let pad = " ".repeat(44 - output::console_width(&id));
        let blurb = cut(&neighbor.description, width.saturating_sub(56));
        writeln!(out, "{mark} {similarity:>6.3}  {id}{pad}  {FAINT}{blurb}{FAINT:#}")?;
    }
    Ok(Exit::Done)
}

/// Opens the atlas, compiling first what is not compiled yet.
pub(crate) fn open(library: &LibraryArgs, global: &Global) -> anyhow::Result<Compiled> {
    let roots = source::roots(library)?;
    let atlas = source::atlas(library, global);
    let options = source::options(library);
    let (compiled, _) = ensure(&atlas, &roots, options, &Settings::Kept, global)?;
    Ok(compiled)
}

/// The skill named, or an error that offers the likeliest ones.
pub(crate) fn find(compiled: &Compiled, name: &str) -> anyhow::Result<SkillIdx> {
    if let Some(skill) = compiled.find(name) {
        return Ok(skill);
    }
    let like: Vec<&str> = compiled
        .skills
        .iter()
        .filter(|skill| skill.id.contains(name) || skill.name.contains(name))
        .map(|skill| skill.id.as_str())
        .take(5)
        .collect();
    let hint = if like.is_empty() {
        "`fingerpost search` finds skills by what they do".to_owned()
    } else {
        format!("did you mean {}?", like.join(", "))
    };
    Err(UsageError::new(format!("there is no one skill '{name}'; {hint}")).into())
}

/// The `k` most similar skills, most similar first.
pub(crate) fn nearest(compiled: &Compiled, skill: SkillIdx, k: usize) -> Vec<(SkillIdx, f32)> {
    let row = compiled.vectors.row(skill.row());
    let mut all: Vec<(SkillIdx, f32)> = (0..)
        .map(SkillIdx)
        .zip(compiled.vectors.rows())
        .filter(|(other, _)| *other != skill)
        .map(|(other, vector)| (other, dot(row, vector)))
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}
