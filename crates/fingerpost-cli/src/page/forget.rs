//! `fingerpost page forget`: what a person or a model wrote for a skill is deleted, for good.

use std::io::Write;

use fingerpost::kept::KeptPage;
use fingerpost::skill::SkillId;
use serde_json::json;

use crate::args::{Global, PageForget};
use crate::output::{self, Exit, UsageError, plain, plural};
use crate::source;

pub(super) fn run(args: &PageForget, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let kept = reading.source.atlas.kept()?;
    // Skills that are gone have no row, but what is kept of them has their ids.
    let skills: Vec<SkillId> = args
        .skills
        .iter()
        .map(|name| match reading.snapshot.find(name) {
            Some(skill) => SkillId::new(reading.snapshot.row(skill).id),
            None => SkillId::new(name.as_str()),
        })
        .collect();
    let found: Vec<&KeptPage> = kept.pages().filter(|page| skills.contains(&page.skill)).collect();
    if found.is_empty() {
        output::say(global, "Nothing is kept of these skills.");
        return Ok(Exit::Findings);
    }
    let records = plural(found.len(), "record");
    let ids: Vec<_> = skills.iter().map(|id| plain(id.as_str()).into_owned()).collect();
    if !args.yes && !output::confirm(&format!("Delete {records} of {} for good?", ids.join(", ")))?
    {
        return Err(UsageError::new("nothing was deleted; --yes deletes without asking").into());
    }
    let gone = reading.source.atlas.forget(&skills)?;
    reading.again(&args.library, global)?;
    if global.json {
        output::print_json(&json!({"forgotten": gone, "skills": skills}))?;
    } else {
        writeln!(anstream::stdout(), "{} deleted", plural(gone, "record"))?;
    }
    Ok(Exit::Done)
}
