//! `fingerpost page`: a skill's page, what the checks say of it, and a person's word over it.

mod edit;
mod pin;
mod review;
mod show;

use fingerpost::atlas::{Atlas, Compiled};
use fingerpost::library::Library;
use fingerpost::page::Page;
use fingerpost::page::write::PageRow;
use fingerpost::skill::{Skill, SkillIdx};

use crate::args::{Global, LibraryArgs, PageVerb};
use crate::neighbors::open;
use crate::output::Exit;
use crate::source;

pub(crate) fn run(verb: &PageVerb, global: &Global) -> anyhow::Result<Exit> {
    match verb {
        PageVerb::Show(show) => show::run(show, global),
        PageVerb::Review(review) => review::run(review, global),
        PageVerb::Edit(edit) => edit::run(edit, global),
        PageVerb::Pin(pin) => pin::pin(pin, global),
        PageVerb::Unpin(unpin) => pin::unpin(unpin, global),
    }
}

/// A compiled library with its documents, for verbs that write.
pub(crate) struct Desk {
    pub(crate) atlas: Atlas,
    pub(crate) compiled: Compiled,
    pub(crate) library: Library,
}

impl Desk {
    pub(crate) fn open(args: &LibraryArgs, global: &Global) -> anyhow::Result<Self> {
        let compiled = open(args, global)?;
        let library = Library::load(&source::roots(args)?, source::options(args))?.value;
        Ok(Self { atlas: source::atlas(args, global), compiled, library })
    }

    /// The members of a skill's neighborhood, with their rows.
    pub(crate) fn neighborhood(&self, skill: SkillIdx) -> (Vec<&Skill>, Vec<Option<&PageRow>>) {
        let members = self.compiled.neighborhoods.members(self.compiled.neighborhoods.of(skill));
        let skills = members.iter().map(|member| &self.library.skills()[member.row()]).collect();
        let rows = members.iter().map(|member| self.compiled.pages.get(member.row())).collect();
        (skills, rows)
    }
}

/// A page's boundary as it is read: names, not ids.
pub(crate) fn boundary_text(page: &Page, compiled: &Compiled) -> String {
    page.boundary_text(|id| {
        let skill = compiled.find(id.as_str()).map(|skill| compiled.skill(skill));
        skill.map_or_else(|| id.to_string(), |skill| skill.name.clone())
    })
}
