//! `fingerpost page pin` and `unpin`: a person's word over a writer's.

use fingerpost::contract::PageAnswer;
use fingerpost::kept::{KeptPage, Origin};
use fingerpost::page::Status;
use fingerpost::skill::{SkillId, SkillIdx};

use super::keep;
use super::show::print;
use crate::args::{Global, LibraryArgs, PageShow};
use crate::output::{self, Exit, UsageError};
use crate::source::{self, Reading};

pub(super) fn pin(args: &PageShow, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let skill = reading.find(&args.skill)?;
    let page = pinned(&reading, skill)?;
    done(reading, page, &args.library, global)
}

/// The page of a skill as a person approves it.
pub(crate) fn pinned(reading: &Reading, skill: SkillIdx) -> anyhow::Result<KeptPage> {
    let mut row = reading.snapshot.page_row(skill)?;
    if row.page.is_none() {
        let message =
            format!("'{}' has no page to pin; write one with `fingerpost page edit`", row.skill);
        return Err(UsageError::new(message).into());
    }
    row.status = Status::Pinned;
    // Whoever pins a page has read it beside the document as it is now.
    row.document = reading.snapshot.digest(skill);
    Ok(KeptPage::of(&row, Origin::Hand))
}

pub(super) fn unpin(args: &PageShow, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let skill = reading.find(&args.skill)?;
    let page = unpinned(&reading, skill)?;
    done(reading, page, &args.library, global)
}

/// The pin of a skill's page as a person gives it back.
pub(crate) fn unpinned(reading: &Reading, skill: SkillIdx) -> anyhow::Result<KeptPage> {
    let row = reading.snapshot.page_row(skill)?;
    if row.status != Status::Pinned {
        let message = format!("the page of '{}' is not pinned", row.skill);
        return Err(UsageError::new(message).into());
    }
    Ok(KeptPage::released(&row))
}

/// Keeps a page and shows what became of it.
pub(super) fn done(
    reading: Reading,
    page: KeptPage,
    args: &LibraryArgs,
    global: &Global,
) -> anyhow::Result<Exit> {
    let id: SkillId = page.skill.clone();
    let reading = keep(reading, vec![page], args, global)?;
    // The library may have changed meanwhile; what was kept stays, and says so when it is back.
    let Some(skill) = reading.snapshot.find(id.as_str()) else {
        output::note(global, &format!("'{id}' is not in the library now; its page is kept for it"));
        return Ok(Exit::Findings);
    };
    let row = reading.snapshot.page_row(skill)?;
    if global.json {
        output::print_json(&PageAnswer::new(&reading.snapshot, reading.freshness(), &row))?;
    } else {
        print(&row, skill, &reading.snapshot)?;
    }
    Ok(Exit::Done)
}
