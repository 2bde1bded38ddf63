//! `fingerpost page pin` and `unpin`: a person's word over a writer's.

use fingerpost::page::Status;
use fingerpost::page::local::LocalConfig;
use fingerpost::page::write::{Again, PageRow, STALE, WriteConfig, Writer, write_pages};

use super::Desk;
use super::show::{answer, print};
use crate::args::{Global, PageShow};
use crate::neighbors::find;
use crate::output::{self, Exit, UsageError};

pub(super) fn pin(args: &PageShow, global: &Global) -> anyhow::Result<Exit> {
    let desk = Desk::open(&args.library, global)?;
    let skill = find(&desk.compiled, &args.skill)?;
    let mut row = desk.compiled.pages[skill.row()].clone();
    if row.page.is_none() {
        let message =
            format!("'{}' has no page to pin; write one with `fingerpost page edit`", row.skill);
        return Err(UsageError::new(message).into());
    }
    row.status = Status::Pinned;
    // Whoever pins a page has read it beside the document as it is now.
    row.document = desk.library.skills()[skill.row()].digest().to_hex().to_string();
    row.findings.retain(|finding| finding.rule != STALE);
    done(&desk, &[row], skill.row(), global)
}

pub(super) fn unpin(args: &PageShow, global: &Global) -> anyhow::Result<Exit> {
    let desk = Desk::open(&args.library, global)?;
    let skill = find(&desk.compiled, &args.skill)?;
    let row = &desk.compiled.pages[skill.row()];
    if row.status != Status::Pinned {
        let message = format!("the page of '{}' is not pinned", row.skill);
        return Err(UsageError::new(message).into());
    }
    let known: Vec<PageRow> =
        desk.compiled.pages.iter().filter(|other| other.skill != row.skill).cloned().collect();
    let config = WriteConfig {
        writer: Writer::Local(LocalConfig::default()),
        again: Again::Nothing,
        min_contrast: desk.compiled.config.min_contrast,
    };
    let written =
        write_pages(&desk.library, &desk.compiled.neighborhoods, &known, &config, &|_| {});
    done(&desk, &written.rows, skill.row(), global)
}

/// Keeps the rows and shows the one that was asked for.
pub(super) fn done(
    desk: &Desk,
    rows: &[PageRow],
    skill: usize,
    global: &Global,
) -> anyhow::Result<Exit> {
    let _lock = desk.atlas.lock()?;
    desk.atlas.keep_pages(rows)?;
    let id = &desk.compiled.pages[skill].skill;
    let row = rows.iter().find(|row| row.skill == *id).expect("the row that was changed");
    if global.json {
        output::print_json(&answer(row, &desk.compiled))?;
    } else {
        let members = desk
            .compiled
            .neighborhoods
            .members(desk.compiled.neighborhoods.of(fingerpost::skill::SkillIdx(skill as u32)));
        print(row, members.len() - 1, &desk.compiled)?;
    }
    Ok(Exit::Done)
}
