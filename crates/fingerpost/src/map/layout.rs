//! Where on the map does each skill lie?
//!
//! A rectangle is cut in two again and again, each time across its longer side, and what has to be placed
//! is dealt to the halves by its place on the first two principal axes: first whole regions, then the
//! neighborhoods of each, then the skills of each.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::labels::labels;
use crate::embedding::{Vectors, dot};
use crate::neighborhood::Buckets;
use crate::skill::SkillIdx;
use crate::snapshot::{SkillRow, Snapshot, SnapshotError};

/// Skills of a region, about; and the most regions there are room to label.
const REGION_SKILLS: usize = 40;
const MAX_REGIONS: usize = 120;

/// A part of the map whose skills are alike.
pub(super) struct Region {
    pub(super) rect: Rect,
    /// Words that are most its own.
    pub(super) label: String,
    pub(super) blocks: Vec<Block>,
}

impl Region {
    pub(super) fn skills(&self) -> usize {
        self.blocks.iter().map(|block| block.tiles.len()).sum()
    }
}

/// A neighborhood on the map.
pub(super) struct Block {
    pub(super) rect: Rect,
    /// The skills, and the tile of each.
    pub(super) tiles: Vec<(SkillIdx, Rect)>,
}

/// Places all skills of a generation in a rectangle; of what is told one after another, likes lie side by
/// side.
pub(super) fn layout(
    snapshot: &Snapshot,
    seed: u64,
    all: Rect,
) -> Result<Vec<Region>, SnapshotError> {
    let skills: Vec<SkillRow<'_>> = snapshot.rows().map(|row| snapshot.row(row)).collect();
    let vectors = snapshot.vectors()?;
    let regions = (skills.len() / REGION_SKILLS).clamp(1, MAX_REGIONS);
    let buckets = Buckets::fit(vectors, regions, seed);
    // A neighborhood lies whole, in the region of its first member.
    let mut blocks: BTreeMap<u32, Vec<Vec<SkillIdx>>> = BTreeMap::new();
    let of = buckets.of(skills.len());
    for (_, members) in snapshot.neighborhoods().iter() {
        let region = of[members[0].row()].unwrap_or(u32::MAX);
        blocks.entry(region).or_default().push(members.to_vec());
    }
    let regions: Vec<Vec<Vec<SkillIdx>>> = blocks.into_values().collect();
    let labels = labels(&regions, &skills);
    let centers: Vec<Vec<f32>> =
        regions.iter().map(|blocks| center(vectors, blocks.iter().flatten())).collect();
    let mut items: Vec<Item> = (0..)
        .zip(&regions)
        .zip(axes(&centers))
        .map(|((of, blocks), at)| Item { of, weight: blocks.iter().map(Vec::len).sum(), at })
        .collect();
    let mut places = Vec::new();
    cut(all, &mut items, &mut places);
    places.sort_by_key(|&(region, _)| region);
    let region = |&(region, rect): &(usize, Rect)| Region {
        rect,
        label: labels[region].clone(),
        blocks: blocks_of(vectors, &regions[region], rect),
    };
    Ok(places.par_iter().map(region).collect())
}

fn blocks_of(vectors: &Vectors, blocks: &[Vec<SkillIdx>], rect: Rect) -> Vec<Block> {
    let centers: Vec<Vec<f32>> = blocks.iter().map(|block| center(vectors, block.iter())).collect();
    let mut items: Vec<Item> = (0..)
        .zip(blocks)
        .zip(axes(&centers))
        .map(|((of, block), at)| Item { of, weight: block.len(), at })
        .collect();
    let mut places = Vec::new();
    cut(rect.inset(2.5), &mut items, &mut places);
    let block = |&(block, rect): &(usize, Rect)| {
        let members = &blocks[block];
        let rows: Vec<Vec<f32>> =
            members.iter().map(|skill| vectors.row(skill.row()).to_vec()).collect();
        let mut items: Vec<Item> =
            (0..).zip(axes(&rows)).map(|(of, at)| Item { of, weight: 1, at }).collect();
        let mut tiles = Vec::new();
        cut(rect.inset(0.6), &mut items, &mut tiles);
        let tiles = tiles.into_iter().map(|(member, tile)| (members[member], tile)).collect();
        Block { rect, tiles }
    };
    places.iter().map(block).collect()
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    pub(super) fn inset(self, by: f64) -> Self {
        let by = by.min(self.width / 4.0).min(self.height / 4.0);
        Self {
            x: self.x + by,
            y: self.y + by,
            width: self.width - 2.0 * by,
            height: self.height - 2.0 * by,
        }
    }
}

/// Something that takes area, and where it would like to lie.
#[derive(Debug, Clone, Copy)]
struct Item {
    of: usize,
    weight: usize,
    at: [f64; 2],
}

/// Cuts the rectangle into one for each item, areas as their weights, likes near likes.
fn cut(rect: Rect, items: &mut [Item], places: &mut Vec<(usize, Rect)>) {
    if let [item] = items {
        places.push((item.of, rect));
        return;
    }
    let Some(total) = Some(items.iter().map(|item| item.weight).sum::<usize>()).filter(|&t| t > 0)
    else {
        return;
    };
    let axis = usize::from(rect.height > rect.width);
    items.sort_by(|a, b| a.at[axis].total_cmp(&b.at[axis]).then(a.of.cmp(&b.of)));
    // The cut that comes nearest to half the weight, with something on both sides.
    let (mut before, mut split, mut best) = (0, 1, usize::MAX);
    for (at, item) in items.iter().enumerate().take(items.len() - 1) {
        before += item.weight;
        let off = (2 * before).abs_diff(total);
        if off < best {
            (best, split) = (off, at + 1);
        }
    }
    let (first, second) = items.split_at_mut(split);
    let share = first.iter().map(|item| item.weight).sum::<usize>() as f64 / total as f64;
    let (mut a, mut b) = (rect, rect);
    if axis == 0 {
        a.width = rect.width * share;
        (b.x, b.width) = (rect.x + a.width, rect.width - a.width);
    } else {
        a.height = rect.height * share;
        (b.y, b.height) = (rect.y + a.height, rect.height - a.height);
    }
    cut(a, first, places);
    cut(b, second, places);
}

fn center<'a>(vectors: &Vectors, skills: impl Iterator<Item = &'a SkillIdx>) -> Vec<f32> {
    let mut sum = vec![0.0; vectors.dimensions()];
    for skill in skills {
        sum.iter_mut().zip(vectors.row(skill.row())).for_each(|(sum, x)| *sum += x);
    }
    crate::embedding::normalise(&mut sum);
    sum
}

/// Each row's place on the first two principal axes, by power iteration.
fn axes(rows: &[Vec<f32>]) -> Vec<[f64; 2]> {
    const ROUNDS: usize = 40;
    let mut places = vec![[0.0; 2]; rows.len()];
    let Some(width) = rows.first().map(Vec::len).filter(|_| rows.len() > 2) else {
        return places;
    };
    let mut mean = vec![0.0_f32; width];
    for row in rows {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / rows.len() as f32);
    }
    let mut rows: Vec<Vec<f32>> =
        rows.iter().map(|row| row.iter().zip(&mean).map(|(x, m)| x - m).collect()).collect();
    for axis in 0..2 {
        // Starting from the row that is farthest out, the axis does not depend on chance.
        let far = rows.iter().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
        let mut direction = far.cloned().unwrap_or_default();
        for _ in 0..ROUNDS {
            crate::embedding::normalise(&mut direction);
            let mut next = vec![0.0_f32; width];
            for row in &rows {
                let along = dot(row, &direction);
                next.iter_mut().zip(row).for_each(|(next, x)| *next += along * x);
            }
            direction = next;
        }
        crate::embedding::normalise(&mut direction);
        for (place, row) in places.iter_mut().zip(&mut rows) {
            let along = dot(row, &direction);
            place[axis] = f64::from(along);
            row.iter_mut().zip(&direction).for_each(|(x, d)| *x -= along * d);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_as_weights_and_nothing_overlaps() {
        let rect = Rect { x: 0.0, y: 0.0, width: 40.0, height: 30.0 };
        let item =
            |of: usize| Item { of, weight: 1 + of % 5, at: [of as f64, (of * 7 % 11) as f64] };
        let mut items: Vec<Item> = (0..23).map(item).collect();
        let total: usize = items.iter().map(|item| item.weight).sum();
        let mut places = Vec::new();
        cut(rect, &mut items, &mut places);
        assert_eq!(places.len(), 23);
        for &(of, place) in &places {
            let share = (1 + of % 5) as f64 / total as f64;
            assert!((place.width * place.height - share * 1200.0).abs() < 1e-6);
        }
        for (at, &(_, a)) in places.iter().enumerate() {
            for &(_, b) in &places[at + 1..] {
                let apart = a.x + a.width <= b.x + 1e-9
                    || b.x + b.width <= a.x + 1e-9
                    || a.y + a.height <= b.y + 1e-9
                    || b.y + b.height <= a.y + 1e-9;
                assert!(apart);
            }
        }
    }
}
