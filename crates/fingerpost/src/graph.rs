//! Who sends which requests to whom?
//!
//! A boundary gives look-alike requests away, each to a named skill. Around one skill that makes a graph:
//! the skill, its rivals, and whoever sends requests to it. What stands out is what somebody should look at:
//! a request that is sent both ways, a skill that the library has no more, a rival that gives nothing back.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::contract::Freshness;
use crate::page::Page;
use crate::skill::SkillIdx;
use crate::snapshot::{Snapshot, SnapshotError};

/// The boundaries around one skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphAnswer {
    /// The skill in the middle.
    pub skill: String,
    /// It first; then its rivals, those that win most first; then the others by their ids.
    pub nodes: Vec<GraphNode>,
    /// In the order of the nodes.
    pub edges: Vec<GraphEdge>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A skill of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GraphNode {
    /// Its id.
    pub skill: String,
    /// Its name, or its id where the library has it no more.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The number of its neighborhood; absent where the library has it no more.
    pub neighborhood: Option<u32>,
    /// Has the library got it?
    pub exists: bool,
}

/// What one skill sends to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GraphEdge {
    /// Whose boundary it is.
    pub from: String,
    /// Whose the requests are, by that boundary.
    pub to: String,
    /// The requests, as the boundary says them.
    pub requests: Vec<String>,
    /// How it stands to what comes back.
    pub kind: EdgeKind,
}

/// How an edge stands to what comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// Each sends something to the other.
    Mutual,
    /// Nothing comes back.
    OneWay,
    /// The library has no such skill.
    Dangling,
    /// The same request comes back: one of the two boundaries is wrong.
    Contradictory,
}

impl GraphAnswer {
    /// The boundaries around a skill.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        skill: SkillIdx,
    ) -> Result<Self, SnapshotError> {
        let rows = snapshot.page_rows()?;
        let page = |skill: SkillIdx| rows[skill.row()].page.as_ref();
        let id = snapshot.row(skill).id;
        let mut known = vec![skill];
        known.extend(snapshot.rivals_of(skill)?.iter().map(|rival| rival.skill));
        let mut others: BTreeSet<SkillIdx> = BTreeSet::new();
        for (from, row) in snapshot.rows().zip(rows) {
            let page = row.page.as_ref();
            if page.is_some_and(|page| sends(page).any(|(to, _)| to == id)) {
                others.insert(from);
            }
        }
        let mut gone: BTreeSet<&str> = BTreeSet::new();
        for (to, _) in page(skill).into_iter().flat_map(sends) {
            match find(snapshot, to) {
                Some(to) => drop(others.insert(to)),
                None => drop(gone.insert(to)),
            }
        }
        others.retain(|other| !known.contains(other));
        known.extend(others);

        let pages = known.iter().filter_map(|&from| Some((snapshot.row(from).id, page(from)?)));
        let (ids, pages): (Vec<&str>, Vec<&Page>) = pages.unzip();
        let names = known.iter().map(|&from| snapshot.row(from).id).chain(gone.iter().copied());
        let names: Vec<&str> = names.collect();
        let edges = edges(&ids, &pages, &names, |to| find(snapshot, to).is_some());
        let node = |skill: SkillIdx| {
            let row = snapshot.row(skill);
            GraphNode {
                skill: row.id.to_owned(),
                name: row.name.to_owned(),
                description: row.description.to_owned(),
                neighborhood: Some(snapshot.neighborhoods().of(skill).0),
                exists: true,
            }
        };
        let lost = |id: &&str| GraphNode {
            skill: (*id).to_owned(),
            name: (*id).to_owned(),
            description: String::new(),
            neighborhood: None,
            exists: false,
        };
        let nodes = known.iter().copied().map(node).chain(gone.iter().map(lost)).collect();
        Ok(Self { skill: id.to_owned(), nodes, edges, freshness })
    }
}

/// A skill by its id: a reference is never a name.
fn find(snapshot: &Snapshot, id: &str) -> Option<SkillIdx> {
    snapshot.find(id).filter(|&skill| snapshot.row(skill).id == id)
}

/// The requests that a page gives to named skills.
fn sends(page: &Page) -> impl Iterator<Item = (&str, &str)> {
    page.boundary.iter().filter_map(|case| Some((case.skill.as_ref()?.as_str(), &*case.request)))
}

/// All that these pages send to these skills. `exists` says whether the library has one.
fn edges(
    ids: &[&str],
    pages: &[&Page],
    names: &[&str],
    exists: impl Fn(&str) -> bool,
) -> Vec<GraphEdge> {
    let mut sent: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (from, page) in ids.iter().zip(pages) {
        for (to, request) in sends(page) {
            sent.entry((from, to)).or_default().push(request);
        }
    }
    let kind = |from: &str, to: &str, requests: &[&str]| {
        if !exists(to) {
            return EdgeKind::Dangling;
        }
        let Some(back) = sent.get(&(to, from)) else { return EdgeKind::OneWay };
        let same = requests.iter().any(|a| back.iter().any(|b| are_the_same(a, b)));
        if same { EdgeKind::Contradictory } else { EdgeKind::Mutual }
    };
    let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (*from, *to)));
    let edge = |(from, to): (&str, &str)| {
        let requests = sent.get(&(from, to))?;
        Some(GraphEdge {
            from: from.to_owned(),
            to: to.to_owned(),
            requests: requests.iter().map(|&request| request.to_owned()).collect(),
            kind: kind(from, to, requests),
        })
    };
    pairs.filter_map(edge).collect()
}

/// Do two requests say the same, by their letters and digits?
fn are_the_same(a: &str, b: &str) -> bool {
    let said = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let a = said(a);
    !a.is_empty() && a == said(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Case;
    use crate::skill::SkillId;

    fn page(cases: &[(&str, &str)]) -> Page {
        let case = |(request, to): &(&str, &str)| Case::new(*request, Some(SkillId::new(*to)));
        let boundary = cases.iter().map(case).collect();
        Page { trigger: String::new(), boundary, body: String::new() }
    }

    fn kinds(pages: &[(&str, Page)]) -> Vec<(String, String, EdgeKind)> {
        let ids: Vec<&str> = pages.iter().map(|(id, _)| *id).collect();
        let of: Vec<&Page> = pages.iter().map(|(_, page)| page).collect();
        let names: Vec<&str> = ids.iter().copied().chain(["gone"]).collect();
        let found = edges(&ids, &of, &names, |id| ids.contains(&id));
        found.into_iter().map(|edge| (edge.from, edge.to, edge.kind)).collect()
    }

    #[test]
    fn every_kind_of_edge_is_told_apart() {
        let found = kinds(&[
            ("a", page(&[("A cube root", "b"), ("Reading it aloud", "gone"), ("One more", "b")])),
            ("b", page(&[("A square root", "a"), ("A logarithm.", "c")])),
            ("c", page(&[("a logarithm", "b")])),
            ("d", page(&[("A sum", "a")])),
        ]);
        let expected = [
            ("a", "b", EdgeKind::Mutual),
            ("a", "gone", EdgeKind::Dangling),
            ("b", "a", EdgeKind::Mutual),
            ("b", "c", EdgeKind::Contradictory),
            ("c", "b", EdgeKind::Contradictory),
            ("d", "a", EdgeKind::OneWay),
        ];
        let expected = expected.map(|(from, to, kind)| (from.to_owned(), to.to_owned(), kind));
        assert_eq!(found, expected);
    }

    #[test]
    fn requests_are_compared_by_what_they_say() {
        assert!(are_the_same("QTcF, the cube root", "qtcf the CUBE root."));
        assert!(!are_the_same("a cube root", "a square root"));
        assert!(!are_the_same("…", "!"));
        assert!(are_the_same("年终奖单独计税", "年终奖，单独计税。"));
    }
}
