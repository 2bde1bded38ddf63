//! Where does one more skill belong, without moving anybody else?
//!
//! The rule is one step of average linkage: a new skill joins the neighborhood with the smallest
//! mean distance to it (neighborhoods of one among them), if that is below the threshold; else it
//! is alone. A neighborhood that grows past the limit is linked anew by itself and cut. One that
//! loses a member is linked anew by itself too: what only the lost one held together falls apart.
//! A changed skill leaves and comes again. No other neighborhood is touched, so their pages hold.

use rayon::prelude::*;

use super::linkage::mean_distance;
use super::split::{Limits, link_and_cut};
use super::{NeighborhoodIdx, Neighborhoods};
use crate::embedding::Vectors;
use crate::skill::SkillIdx;

/// The neighborhoods after a change of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// All of them.
    pub neighborhoods: Neighborhoods,
    /// Those with other members than any before, or with a changed member, in order.
    pub changed: Vec<NeighborhoodIdx>,
    /// How many of those before are no more.
    pub gone: usize,
}

/// Carries neighborhoods over to a library that has changed since. `came_from` says for every row
/// of the new library which row it was before, if it is unchanged; `vectors` are the new ones.
/// New and changed skills are placed in the order of rows.
///
/// `max_distance` is that of the last [`super::partition`]: calibrating again would move everybody.
///
/// # Panics
/// If two rows came from the same one, or there are not as many vectors as rows.
pub fn update(
    before: &Neighborhoods,
    came_from: &[Option<SkillIdx>],
    vectors: &Vectors,
    max_distance: f64,
    max_size: usize,
) -> Update {
    assert_eq!(came_from.len(), vectors.len(), "one vector a skill");
    let limits = Limits { max_size: max_size.max(1), max_distance };
    let mut now: Vec<Option<u32>> = vec![None; before.skills()];
    for (row, from) in (0..).zip(came_from) {
        if let Some(from) = from {
            assert_eq!(now[from.row()].replace(row), None, "a skill came from one row");
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for (_, members) in before.iter() {
        let rows: Vec<u32> = members.iter().filter_map(|skill| now[skill.row()]).collect();
        if rows.len() == members.len() {
            groups.push(Group { rows, is_new: false });
        } else if !rows.is_empty() {
            let parts = link_and_cut(vectors, &rows, limits);
            groups.extend(parts.into_iter().map(|rows| Group { rows, is_new: true }));
        }
    }
    for (row, from) in (0..).zip(came_from) {
        if from.is_none() {
            place(vectors, row, &mut groups, limits);
        }
    }
    let kept = groups.iter().filter(|group| !group.is_new).count();
    let mut new: Vec<u32> =
        groups.iter().filter(|group| group.is_new).map(|group| group.rows[0]).collect();
    let skills = |group: Group| group.rows.into_iter().map(SkillIdx).collect();
    let neighborhoods = Neighborhoods::new(groups.into_iter().map(skills).collect());
    new.sort_unstable();
    let mut changed: Vec<NeighborhoodIdx> =
        new.into_iter().map(|row| neighborhoods.of(SkillIdx(row))).collect();
    changed.sort_unstable();
    Update { neighborhoods, changed, gone: before.len() - kept }
}

struct Group {
    rows: Vec<u32>,
    is_new: bool,
}

fn place(vectors: &Vectors, row: u32, groups: &mut Vec<Group>, limits: Limits) {
    let without_vector = vectors.row(row as usize).iter().all(|&x| x == 0.0);
    let distances: Vec<f64> =
        groups.par_iter().map(|group| mean_distance(vectors, &[row], &group.rows)).collect();
    let nearest = distances
        .iter()
        .enumerate()
        // Equally near ones in the order of their first members.
        .min_by(|a, b| a.1.total_cmp(b.1).then(groups[a.0].rows[0].cmp(&groups[b.0].rows[0])));
    let joined = match nearest {
        Some((at, &distance)) if distance < limits.max_distance && !without_vector => at,
        _ => {
            groups.push(Group { rows: vec![row], is_new: true });
            return;
        }
    };
    let group = &mut groups[joined];
    group.is_new = true;
    group.rows.push(row);
    group.rows.sort_unstable();
    if group.rows.len() > limits.max_size {
        let whole = groups.swap_remove(joined).rows;
        let parts = link_and_cut(vectors, &whole, limits);
        groups.extend(parts.into_iter().map(|rows| Group { rows, is_new: true }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::linkage::tests::at_angles;
    use super::*;

    fn groups(of: &[&[u32]]) -> Neighborhoods {
        Neighborhoods::new(
            of.iter().map(|rows| rows.iter().copied().map(SkillIdx).collect()).collect(),
        )
    }

    fn from(rows: &[i64]) -> Vec<Option<SkillIdx>> {
        rows.iter().map(|&row| u32::try_from(row).ok().map(SkillIdx)).collect()
    }

    #[test]
    fn a_new_skill_joins_the_nearest_neighborhood_or_is_alone() {
        let before = groups(&[&[0, 1], &[2]]);
        let vectors = at_angles(&[0.0, 5.0, 8.0, 60.0]);
        let joined = update(&before, &from(&[0, 1, -1, 2]), &vectors, 0.15, 10);
        assert_eq!(joined.neighborhoods, groups(&[&[0, 1, 2], &[3]]));
        assert_eq!((joined.changed, joined.gone), (vec![NeighborhoodIdx(0)], 1));

        let paired =
            update(&before, &from(&[0, 1, 2, -1]), &at_angles(&[0.0, 5.0, 60.0, 70.0]), 0.15, 10);
        assert_eq!(paired.neighborhoods, groups(&[&[0, 1], &[2, 3]]));
        assert_eq!((paired.changed, paired.gone), (vec![NeighborhoodIdx(1)], 1));

        let alone =
            update(&before, &from(&[0, 1, 2, -1]), &at_angles(&[0.0, 5.0, 60.0, 170.0]), 0.15, 10);
        assert_eq!(alone.neighborhoods, groups(&[&[0, 1], &[2], &[3]]));
        assert_eq!((alone.changed, alone.gone), (vec![NeighborhoodIdx(2)], 0));
    }

    #[test]
    fn what_only_a_lost_skill_held_together_falls_apart() {
        let before = groups(&[&[0, 1, 2], &[3]]);
        let vectors = at_angles(&[0.0, 40.0, 90.0]);
        let lost = update(&before, &from(&[0, 2, 3]), &vectors, 0.15, 10);
        assert_eq!(lost.neighborhoods, groups(&[&[0], &[1], &[2]]));
        assert_eq!((lost.changed.len(), lost.gone), (2, 1));
    }

    #[test]
    fn a_full_neighborhood_is_cut_and_an_emptied_one_is_gone() {
        let before = groups(&[&[0, 1, 2], &[3]]);
        let vectors = at_angles(&[0.0, 1.0, 2.0, 3.0]);
        let cut = update(&before, &from(&[0, 1, 2, -1]), &vectors, 0.15, 3);
        assert_eq!(cut.neighborhoods.skills(), 4);
        assert!(cut.neighborhoods.largest() <= 3 && cut.neighborhoods.singletons() == 0);
        assert_eq!(cut.gone, 2);
    }

    #[test]
    fn the_first_skill_and_one_without_a_vector_are_alone() {
        let first = update(&Neighborhoods::default(), &from(&[-1]), &at_angles(&[3.0]), 0.15, 10);
        assert_eq!(first.neighborhoods, groups(&[&[0]]));
        let zeros = Vectors::new(2, vec![0.0; 4]);
        let second = update(&first.neighborhoods, &from(&[0, -1]), &zeros, 1.5, 10);
        assert_eq!(second.neighborhoods, groups(&[&[0], &[1]]));
    }
}
