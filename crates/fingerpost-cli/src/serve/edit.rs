//! How does a person overrule a page over HTTP?
//!
//! As with `page edit`, `pin` and `unpin`: what was written is on disk first, then the library is compiled, and
//! what is answered is the page as it is served from then on.

use std::sync::Arc;

use fingerpost::contract::{Freshness, PageAnswer};
use fingerpost::kept::{KeptPage, Origin};
use fingerpost::page::check::Failure;
use fingerpost::page::{Case, Page, Status};
use fingerpost::skill::SkillId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::endpoint::{Call, Nothing};
use super::find::find;
use super::problem::Problem;
use crate::live::Open;
use crate::page::edit::{by_hand, resolved};
use crate::page::pin::{pinned, unpinned};
use crate::page::{keep_only, members};

/// A page as a person writes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PageBody {
    /// Requests that should select the skill.
    #[schemars(length(max = 400))]
    trigger: String,
    /// Look-alike requests that belong elsewhere.
    #[schemars(length(max = 50))]
    boundary: Vec<CaseBody>,
    /// The rule that makes it itself.
    #[schemars(length(max = 600))]
    body: String,
}

/// A kind of request that a skill gives away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseBody {
    /// The request, in words.
    #[schemars(length(min = 1, max = 400), regex(pattern = r"\S"))]
    request: String,
    /// Whose it is, by id or name; absent where it is no skill's.
    #[serde(default)]
    skill: Option<String>,
}

/// Characters in all and cases at most, before any rule is tried: rules take time for each.
const LONGEST: usize = 4000;
const MOST_CASES: usize = 50;

/// `PUT /v1/pages/{id}`.
pub(super) fn put(call: &mut Call<'_>, body: PageBody) -> Result<PageAnswer, Problem> {
    let open = call.open()?;
    let skill = find(&open, call.id)?;
    let reading = &open.reading;
    let cases = body.boundary.iter().map(|case| case.request.chars().count());
    let length = body.trigger.chars().count() + body.body.chars().count() + cases.sum::<usize>();
    if length > LONGEST || body.boundary.len() > MOST_CASES {
        let detail = format!(
            "a page has at most {} characters of trigger, {} of boundary and {} of body",
            Page::MAX_TRIGGER,
            Page::MAX_BOUNDARY,
            Page::MAX_BODY
        );
        return Err(Problem::unprocessable(detail));
    }
    if body.boundary.iter().any(|case| case.request.trim().is_empty()) {
        return Err(Problem::unprocessable("a case of the boundary says nothing; leave it out"));
    }
    let now = reading.snapshot.page_row(skill)?.page;
    let cases = now.iter().flat_map(|page| &page.boundary);
    let known: Vec<SkillId> = cases.filter_map(|case| case.skill.clone()).collect();
    let case = |case: CaseBody| {
        let skill = case.skill.filter(|skill| !skill.is_empty()).map(SkillId::new);
        Case::new(case.request.trim(), skill)
    };
    let page = Page {
        trigger: body.trigger.trim().to_owned(),
        boundary: body.boundary.into_iter().map(case).collect(),
        body: body.body.trim().to_owned(),
    };
    let page = resolved(page, &known, reading)?;
    let (of, members) = (reading.snapshot.skill(skill)?, members(reading, skill)?);
    let row = by_hand(reading, page, &of, &members);
    // A writer knows only the skills that it was shown; a person may name any of the library.
    let breaks = |found: &&Failure| found.breaks() && found.rule != "unknown-reference";
    let broken: Vec<Failure> = row.findings.iter().filter(breaks).cloned().collect();
    if !broken.is_empty() {
        let detail = "the page breaks a rule, and was not kept";
        let hint =
            "mend what the checks say; `fingerpost page edit` keeps a page whatever they say";
        return Err(Problem::unprocessable(detail).hint(hint).checks(broken));
    }
    keep(call, &open, KeptPage::of(&row, Origin::Hand))
}

/// `POST /v1/pages/{id}/pin`.
pub(super) fn pin(call: &mut Call<'_>, _: Nothing) -> Result<PageAnswer, Problem> {
    let open = call.open()?;
    let skill = find(&open, call.id)?;
    if open.reading.snapshot.page_row(skill)?.page.is_none() {
        let detail = format!("'{}' has no page that could be pinned", call.id);
        return Err(Problem::conflict(detail).hint("write one: PUT /v1/pages/{id}"));
    }
    keep(call, &open, pinned(&open.reading, skill)?)
}

/// `POST /v1/pages/{id}/unpin`.
pub(super) fn unpin(call: &mut Call<'_>, _: Nothing) -> Result<PageAnswer, Problem> {
    let open = call.open()?;
    let skill = find(&open, call.id)?;
    if open.reading.snapshot.page_row(skill)?.status != Status::Pinned {
        return Err(Problem::conflict(format!("the page of '{}' is not pinned", call.id)));
    }
    keep(call, &open, unpinned(&open.reading, skill)?)
}

/// `POST /v1/pages/{id}/rewrite`. The local writer writes the same from the same documents, so this brings
/// a page up to date, and tells where it may not.
pub(super) fn rewrite(call: &mut Call<'_>, _: Nothing) -> Result<PageAnswer, Problem> {
    let open = call.open()?;
    let skill = find(&open, call.id)?;
    let row = open.reading.snapshot.page_row(skill)?;
    if row.status == Status::Pinned {
        let detail = format!("the page of '{}' is pinned: no writer changes it", call.id);
        return Err(Problem::conflict(detail).hint("unpin it first: POST /v1/pages/{id}/unpin"));
    }
    let kept = open.reading.source.atlas.kept().map_err(anyhow::Error::from)?;
    let is_kept = kept.pages().any(|page| page.skill == row.skill && page.page.is_some());
    if is_kept && row.page.is_some() && !row.writer.starts_with("local") {
        let detail = format!("the page of '{}' was written by {}: it is kept", call.id, row.writer);
        let hint = "`fingerpost page forget` deletes it for good; then the local writer writes one";
        return Err(Problem::conflict(detail).hint(hint));
    }
    call.app.live.look();
    served(call, &row.skill, None)
}

/// Keeps a page, has it compiled, and answers it as it is served.
fn keep(call: &mut Call<'_>, open: &Arc<Open>, page: KeptPage) -> Result<PageAnswer, Problem> {
    let id = page.skill.clone();
    let wanted = page.pinned.then(|| page.page.clone()).flatten();
    keep_only(&open.reading, vec![page])?;
    call.app.live.look();
    served(call, &id, wanted.as_ref())
}

/// The page that is served now; it must be this one, if one is given.
fn served(call: &mut Call<'_>, id: &SkillId, wanted: Option<&Page>) -> Result<PageAnswer, Problem> {
    call.now = call.app.live.now();
    let open = call.open()?;
    let snapshot = &open.reading.snapshot;
    let failed = call.app.live.status().borrow().failed.clone();
    let row = snapshot.find(id.as_str()).map(|skill| snapshot.page_row(skill)).transpose()?;
    let served = row.filter(|row| wanted.is_none_or(|wanted| row.page.as_ref() == Some(wanted)));
    match (served, failed) {
        (Some(row), None) => {
            let freshness: Freshness = open.reading.freshness();
            Ok(PageAnswer::new(snapshot, freshness, &row))
        }
        (_, Some(why)) => {
            let detail =
                format!("the page is kept, and counts as soon as the library compiles: {why}");
            Err(Problem::unavailable(detail, 5))
        }
        (None, None) => {
            let detail = format!("'{id}' has changed meanwhile; what was written is kept for it");
            Err(Problem::conflict(detail))
        }
    }
}
