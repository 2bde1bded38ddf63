//! `fingerpost page edit`: a person writes a page, and it is pinned.

use std::io::Read;
use std::process::Command;

use anyhow::Context;
use fingerpost::kept::{KeptPage, Origin};
use fingerpost::page::write::{PageRow, adopt};
use fingerpost::page::{Case, Page, Status};
use fingerpost::skill::{Skill, SkillId};

use super::pin::done;
use super::{company, members};
use crate::args::{Global, PageEdit};
use crate::output::{Exit, UsageError};
use crate::source::{self, Reading};

pub(super) fn run(args: &PageEdit, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let skill = reading.find(&args.skill)?;
    // All that is needed is read before a person begins to write.
    let (members, of) = (members(&reading, skill)?, reading.snapshot.skill(skill)?);
    let now = reading.snapshot.page_row(skill)?.page;
    let empty = Page { trigger: String::new(), boundary: Vec::new(), body: String::new() };
    let now = now.unwrap_or(empty);
    let known: Vec<SkillId> = now.boundary.iter().filter_map(|case| case.skill.clone()).collect();
    let by_options = args.trigger.is_some() || args.body.is_some() || !args.boundary.is_empty();
    let page = if by_options {
        Page {
            trigger: args.trigger.clone().unwrap_or(now.trigger),
            boundary: match &args.boundary[..] {
                [] => now.boundary,
                cases => cases.iter().map(|case| parse_case(case)).collect(),
            },
            body: args.body.clone().unwrap_or(now.body),
        }
    } else {
        let text = match &args.from {
            Some(file) if file.as_os_str() == "-" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
                text
            }
            Some(file) => source::text(file)?,
            None => in_editor(&render(&now))?,
        };
        parse(&text)?
    };
    let page = resolved(page, &known, &reading)?;
    let row = by_hand(&reading, page, &of, &members);
    done(reading, KeptPage::of(&row, Origin::Hand), &args.library, global)
}

/// A page as a person wrote it, pinned; `members` are those that it stands beside.
pub(crate) fn by_hand(reading: &Reading, page: Page, of: &Skill, members: &[Skill]) -> PageRow {
    let company = company(reading, of, members);
    let alone = reading.snapshot.head().protocol.writing.alone;
    adopt(page, of, &company, Status::Pinned, "a person", alone)
}

/// References may be typed as names; kept are ids. Those that the page had stay, whether or not the
/// library has their skills now.
pub(crate) fn resolved(
    mut page: Page,
    known: &[SkillId],
    reading: &Reading,
) -> anyhow::Result<Page> {
    for case in &mut page.boundary {
        if let Some(id) = case.skill.as_ref().filter(|id| !known.contains(id)) {
            let found = reading.find(id.as_str())?;
            case.skill = Some(SkillId::new(reading.snapshot.row(found).id));
        }
    }
    Ok(page)
}

/// A page as a person edits it.
fn render(page: &Page) -> String {
    let mut text = String::from(
        "# A page: one trigger, any number of boundary cases, one body. Lines that start with # are left out.\n",
    );
    text.push_str(&format!("trigger: {}\n", page.trigger));
    for Case { request, skill, .. } in &page.boundary {
        let to = skill.as_ref().map_or(String::new(), |id| format!(" -> {id}"));
        text.push_str(&format!("boundary: {request}{to}\n"));
    }
    text.push_str(&format!("body: {}\n", page.body));
    text
}

/// Reads what [`render`] wrote; a line without a field's name continues the one before.
fn parse(text: &str) -> anyhow::Result<Page> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let named = ["trigger", "boundary", "body"].into_iter().find_map(|name| {
            Some((name, line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
        });
        match (named, fields.last_mut()) {
            (Some(field), _) => fields.push(field),
            (None, Some((_, value))) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (None, None) if line.trim().is_empty() => {}
            (None, None) => {
                let message = format!(
                    "'{line}' belongs to no field: start with trigger:, boundary: or body:"
                );
                return Err(UsageError::new(message).into());
            }
        }
    }
    let value = |wanted: &str| {
        let found = fields.iter().find(|(name, _)| *name == wanted);
        found.map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let cases =
        fields.iter().filter(|(name, value)| *name == "boundary" && !value.trim().is_empty());
    Ok(Page {
        trigger: value("trigger"),
        boundary: cases.map(|(_, case)| parse_case(case)).collect(),
        body: value("body"),
    })
}

fn parse_case(text: &str) -> Case {
    match text.rsplit_once("->") {
        Some((request, skill)) => Case::new(request.trim(), Some(SkillId::new(skill.trim()))),
        None => Case::new(text.trim(), None),
    }
}

fn in_editor(text: &str) -> anyhow::Result<String> {
    let editor = std::env::var("VISUAL").or_else(|_| std::env::var("EDITOR")).map_err(|_| {
        UsageError::new(
            "there is no $EDITOR; set it, or give --trigger, --boundary, --body or --from",
        )
    })?;
    let file = std::env::temp_dir().join(format!("fingerpost-page-{}.txt", std::process::id()));
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(&file).status();
    let edited = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    let status = status.with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        return Err(UsageError::new(format!("{program} gave up; the page is as it was")).into());
    }
    Ok(edited?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_was_shown() {
        let page = Page {
            trigger: "QT by a square root".into(),
            boundary: vec![
                parse_case("A cube root -> qt/fridericia"),
                parse_case("Reading an ECG"),
            ],
            body: "QT / sqrt(RR)".into(),
        };
        assert_eq!(parse(&render(&page)).unwrap(), page);
        let wrapped = "trigger: QT by\n  a square root\nboundary: A cube root -> qt/fridericia\n# a remark\nboundary: Reading an ECG\nbody: QT / sqrt(RR)\n";
        assert_eq!(parse(wrapped).unwrap(), page);
        assert!(parse("nonsense").unwrap_err().to_string().contains("belongs to no field"));
    }
}
