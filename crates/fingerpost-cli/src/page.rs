//! `fingerpost page`: a skill's page, what the checks say of it, and a person's word over it.

pub(crate) mod edit;
mod forget;
pub(crate) mod pin;
mod review;
mod show;

use fingerpost::kept::{KeptPage, root_of};
use fingerpost::page::write::Company;
use fingerpost::protocol::Against;
use fingerpost::skill::{Skill, SkillIdx};

use crate::args::{Global, LibraryArgs, PageVerb};
use crate::output::Exit;
use crate::source::Reading;

pub(crate) fn run(verb: &PageVerb, global: &Global) -> anyhow::Result<Exit> {
    match verb {
        PageVerb::Show(show) => show::run(show, global),
        PageVerb::Review(review) => review::run(review, global),
        PageVerb::Edit(edit) => edit::run(edit, global),
        PageVerb::Pin(pin) => pin::pin(pin, global),
        PageVerb::Unpin(unpin) => pin::unpin(unpin, global),
        PageVerb::Forget(forget) => forget::run(forget, global),
    }
}

/// A skill and those that its page is written against, with their documents, in the order of their ids.
pub(crate) fn members(reading: &Reading, skill: SkillIdx) -> anyhow::Result<Vec<Skill>> {
    let rivals = reading.snapshot.rivals_of(skill)?;
    let mut members: Vec<SkillIdx> = rivals.iter().map(|rival| rival.skill).collect();
    members.push(skill);
    members.sort_unstable();
    Ok(members.iter().map(|&member| reading.snapshot.skill(member)).collect::<Result<_, _>>()?)
}

/// The same as the company in which the page is written.
pub(crate) fn company<'a>(reading: &Reading, of: &Skill, members: &'a [Skill]) -> Company<'a> {
    let focal = members.iter().position(|member| member.id == of.id);
    let focal = focal.filter(|_| reading.snapshot.against() == Against::Rivals);
    Company { focal, ..Company::of(members.iter().collect()) }
}

/// Keeps a page for good, then has the atlas take it in.
pub(crate) fn keep(
    reading: Reading,
    pages: Vec<KeptPage>,
    args: &LibraryArgs,
    global: &Global,
) -> anyhow::Result<Reading> {
    keep_only(&reading, pages)?;
    reading.again(args, global)
}

/// Keeps a page for good; it counts from the next compilation on.
pub(crate) fn keep_only(reading: &Reading, pages: Vec<KeptPage>) -> anyhow::Result<()> {
    let roots = &reading.snapshot.head().library.roots;
    let with_root = |page: KeptPage| {
        let found = reading.snapshot.find(page.skill.as_str());
        let path = found.map(|skill| reading.snapshot.row(skill).path);
        let root = path.and_then(|path| root_of(path.as_ref(), roots)).unwrap_or_default();
        KeptPage { root: root.to_owned(), ..page }
    };
    let pages: Vec<KeptPage> = pages.into_iter().map(with_root).collect();
    Ok(reading.source.atlas.keep(&pages)?)
}
