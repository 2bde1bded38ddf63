//! Who gets other rivals when a library changes?
//!
//! Few: each of them is a page to be written again, perhaps for money. A new skill, or one whose document
//! changed, gets its own list; so does one that lost a rival, whose page names a skill that is gone. Into
//! the lists of others a new one comes only where it is near enough to matter to both: it must have the
//! other among its own nine, and beat the weakest of the other's nine by a margin. So one new skill touches at
//! most ten: itself, and its rivals.

use rayon::prelude::*;

use super::{Finder, MOST, Rival, Rivals, by_weight};
use crate::index::Scratch;
use crate::library::Library;
use crate::skill::SkillIdx;

/// How much nearer a new rival must come than the weakest there is: less is not worth another page.
const MARGIN: f32 = 0.1;

/// Rivals after a change of the library.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The rivals.
    pub rivals: Rivals,
    /// The skills with other rivals than before, or with one whose document changed.
    pub touched: Vec<SkillIdx>,
}

/// Places what changed among the rivals of before. `came_from` gives for each skill the row that it had with
/// the same document, and `now` the row of a skill of before, whatever its document is by now.
pub fn update(
    before: &Rivals,
    came_from: &[Option<SkillIdx>],
    now: impl Fn(SkillIdx) -> Option<SkillIdx>,
    library: &Library,
) -> Update {
    let moved: Vec<Option<Moved>> =
        came_from.iter().map(|from| from.map(|from| Moved::of(before, from, &now))).collect();
    let is_same = |moved: &Option<Moved>| moved.as_ref().is_some_and(|moved| !moved.lost);
    if moved.iter().all(is_same) {
        return settled(moved, came_from);
    }
    let finder = Finder::new(library);
    let sought: Vec<SkillIdx> =
        (0..).map(SkillIdx).zip(&moved).filter(|(_, m)| !is_same(m)).map(|(row, _)| row).collect();
    let found: Vec<_> = sought
        .par_iter()
        .map_init(Scratch::default, |scratch, &row| finder.find(row, scratch))
        .collect();
    let mut rivals = Rivals { lists: Vec::new(), copies: Vec::new() };
    for moved in moved {
        let Moved { list, copies, .. } = moved.unwrap_or_default();
        rivals.lists.push(list);
        rivals.copies.push(copies);
    }
    let mut touched = vec![false; came_from.len()];
    for (&row, found) in sought.iter().zip(found) {
        rivals.lists[row.row()] = found.rivals;
        rivals.copies[row.row()] = found.copies;
        touched[row.row()] = true;
    }
    // What a skill says now may not be what another one says any more.
    let own = rivals.copies.clone();
    for (row, copies) in (0..).map(SkillIdx).zip(&mut rivals.copies) {
        let says_so =
            |copy: &SkillIdx| came_from[copy.row()].is_some() || own[copy.row()].contains(&row);
        copies.retain(says_so);
    }
    for &new in sought.iter().filter(|row| came_from[row.row()].is_none()) {
        for copy in rivals.copies[new.row()].clone() {
            let copies = &mut rivals.copies[copy.row()];
            if let Err(at) = copies.binary_search(&new) {
                copies.insert(at, new);
            }
        }
        for rival in rivals.lists[new.row()].clone() {
            let list = &mut rivals.lists[rival.skill.row()];
            // One that was sought as well has looked at all skills already.
            if touched[rival.skill.row()] || list.iter().any(|known| known.skill == new) {
                continue;
            }
            let weight = finder.toward(rival.skill, new);
            let weakest = list.last().map_or(0.0, |weakest| weakest.weight);
            if list.len() == MOST && weight <= weakest * (1.0 + MARGIN) || weight <= 0.0 {
                continue;
            }
            list.truncate(MOST - 1);
            list.push(Rival { skill: new, weight });
            list.sort_by(by_weight);
            touched[rival.skill.row()] = true;
        }
    }
    // Whoever has one whose document changed is written against another document.
    for (at, list) in rivals.lists.iter().enumerate() {
        touched[at] |= list.iter().any(|rival| came_from[rival.skill.row()].is_none());
    }
    let touched = (0..).map(SkillIdx).zip(touched).filter(|(_, touched)| *touched);
    let touched = touched.map(|(row, _)| row).collect();
    Update { rivals, touched }
}

/// One skill's rivals, in the rows of now.
#[derive(Default)]
struct Moved {
    list: Vec<Rival>,
    copies: Vec<SkillIdx>,
    /// Is one of the rivals gone?
    lost: bool,
}

impl Moved {
    fn of(before: &Rivals, from: SkillIdx, now: &impl Fn(SkillIdx) -> Option<SkillIdx>) -> Self {
        let old = before.of(from);
        let list: Vec<Rival> = old
            .iter()
            .filter_map(|rival| Some(Rival { skill: now(rival.skill)?, ..*rival }))
            .collect();
        let copies = before.copies(from).iter().filter_map(|&copy| now(copy)).collect();
        Self { lost: list.len() < old.len(), list, copies }
    }
}

/// Nothing that matters has changed.
fn settled(moved: Vec<Option<Moved>>, came_from: &[Option<SkillIdx>]) -> Update {
    debug_assert!(came_from.iter().all(Option::is_some));
    let moved = moved.into_iter().map(Option::unwrap_or_default);
    let (lists, copies) = moved.map(|moved| (moved.list, moved.copies)).unzip();
    Update { rivals: Rivals { lists, copies }, touched: Vec::new() }
}
