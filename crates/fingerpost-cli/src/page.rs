//! `fingerpost page`: a skill's page, what the checks say of it, and a person's word over it.

mod edit;
mod forget;
mod pin;
mod review;
mod show;

use fingerpost::kept::{KeptPage, root_of};
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

/// The members of a skill's neighborhood, with their documents.
pub(crate) fn members(reading: &Reading, skill: SkillIdx) -> anyhow::Result<Vec<Skill>> {
    let neighborhoods = reading.snapshot.neighborhoods();
    let members = neighborhoods.members(neighborhoods.of(skill)).iter();
    Ok(members.map(|&member| reading.snapshot.skill(member)).collect::<Result<_, _>>()?)
}

/// Keeps a page for good, then has the atlas take it in.
pub(crate) fn keep(
    reading: Reading,
    pages: Vec<KeptPage>,
    args: &LibraryArgs,
    global: &Global,
) -> anyhow::Result<Reading> {
    let roots = &reading.snapshot.head().library.roots;
    let with_root = |page: KeptPage| {
        let found = reading.snapshot.find(page.skill.as_str());
        let path = found.map(|skill| reading.snapshot.row(skill).path);
        let root = path.and_then(|path| root_of(path.as_ref(), roots)).unwrap_or_default();
        KeptPage { root: root.to_owned(), ..page }
    };
    let pages: Vec<KeptPage> = pages.into_iter().map(with_root).collect();
    reading.source.atlas.keep(&pages)?;
    reading.again(args, global)
}
