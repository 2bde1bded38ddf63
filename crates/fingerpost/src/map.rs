//! What does a library look like from above?
//!
//! Every skill is a tile of the same area. A rectangle is cut in two again and again, each time
//! across its longer side, and the skills are dealt to the halves by their place on the first two
//! principal axes: first whole regions (buckets of like skills), then the neighborhoods of each,
//! then the skills of each. So what is alike lies together, neighborhoods are blocks of one color,
//! and sixteen thousand skills still have a place each. Grey tiles are skills without look-alikes.

use std::collections::BTreeMap;
use std::fmt::Write;

use rayon::prelude::*;

use crate::embedding::{Vectors, dot};
use crate::exclusion::without_exclusions;
use crate::neighborhood::{Buckets, Neighborhoods};
use crate::skill::SkillIdx;
use crate::snapshot::{SkillRow, Snapshot, SnapshotError};
use crate::text::{Tokenizer, for_each_term};

/// The picture's size in pixels; SVG scales it.
const WIDTH: f64 = 2000.0;
const HEIGHT: f64 = 1400.0;

/// Skills of a region, about; and the most regions there are room to label.
const REGION_SKILLS: usize = 40;
const MAX_REGIONS: usize = 120;

/// What is drawn of a generation.
struct Drawn<'a> {
    skills: Vec<SkillRow<'a>>,
    neighborhoods: &'a Neighborhoods,
    vectors: &'a Vectors,
    max_distance: f64,
}

/// Draws a compiled library as SVG.
pub fn draw(snapshot: &Snapshot, seed: u64) -> Result<String, SnapshotError> {
    let atlas = &Drawn {
        skills: snapshot.rows().map(|row| snapshot.row(row)).collect(),
        neighborhoods: snapshot.neighborhoods(),
        vectors: snapshot.vectors()?,
        max_distance: snapshot.head().calibration.max_distance,
    };
    let skills = atlas.skills.len();
    let regions = (skills / REGION_SKILLS).clamp(1, MAX_REGIONS);
    let buckets = Buckets::fit(atlas.vectors, regions, seed);
    // A neighborhood is drawn whole, in the region of its first member.
    let mut blocks: BTreeMap<u32, Vec<Vec<SkillIdx>>> = BTreeMap::new();
    let of = buckets.of(skills);
    for (_, members) in atlas.neighborhoods.iter() {
        let region = of[members[0].row()].unwrap_or(u32::MAX);
        blocks.entry(region).or_default().push(members.to_vec());
    }
    let regions: Vec<Vec<Vec<SkillIdx>>> = blocks.into_values().collect();
    let labels = labels(&regions, &atlas.skills);
    let centers: Vec<Vec<f32>> =
        regions.iter().map(|blocks| center(atlas.vectors, blocks.iter().flatten())).collect();
    let mut items: Vec<Item> = (0..)
        .zip(&regions)
        .zip(axes(&centers))
        .map(|((of, blocks), at)| Item { of, weight: blocks.iter().map(Vec::len).sum(), at })
        .collect();
    let margin = 12.0;
    let all =
        Rect { x: margin, y: 58.0, width: WIDTH - 2.0 * margin, height: HEIGHT - 58.0 - margin };
    let mut places = Vec::new();
    cut(all, &mut items, &mut places);
    places.sort_by_key(|&(region, _)| region);

    let drawn: Vec<String> = places
        .par_iter()
        .map(|&(region, rect)| draw_region(atlas, &regions[region], rect, &labels[region]))
        .collect();
    let groups = atlas.neighborhoods.len() - atlas.neighborhoods.singletons();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fbfaf7\"/>\n\
         <text x=\"{margin}\" y=\"38\" font-size=\"26\" font-weight=\"600\" fill=\"#2b2a27\">{skills} skills, {groups} neighborhoods</text>\n\
         <text x=\"{}\" y=\"38\" font-size=\"17\" fill=\"#77736a\" text-anchor=\"end\">a tile is a skill, a block of one color a neighborhood; grey: no look-alike nearer than {:.2}</text>\n",
        WIDTH - margin,
        atlas.max_distance,
    );
    drawn.iter().for_each(|region| svg.push_str(region));
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn draw_region(atlas: &Drawn<'_>, blocks: &[Vec<SkillIdx>], rect: Rect, label: &str) -> String {
    let mut svg = String::new();
    let inner = rect.inset(2.5);
    let centers: Vec<Vec<f32>> =
        blocks.iter().map(|block| center(atlas.vectors, block.iter())).collect();
    let mut items: Vec<Item> = (0..)
        .zip(blocks)
        .zip(axes(&centers))
        .map(|((of, block), at)| Item { of, weight: block.len(), at })
        .collect();
    let mut places = Vec::new();
    cut(inner, &mut items, &mut places);
    for (order, &(block, place)) in places.iter().enumerate() {
        let members = &blocks[block];
        let rows: Vec<Vec<f32>> =
            members.iter().map(|skill| atlas.vectors.row(skill.row()).to_vec()).collect();
        let mut items: Vec<Item> =
            (0..).zip(axes(&rows)).map(|(of, at)| Item { of, weight: 1, at }).collect();
        let mut tiles = Vec::new();
        cut(place.inset(0.6), &mut items, &mut tiles);
        // Blocks drawn one after another lie side by side, so their colors take turns.
        let fill = if members.len() == 1 {
            "#dedbd3".to_owned()
        } else {
            let turn = order % 4;
            let hue = 300.0 * (place.x + place.width / 2.0) / WIDTH + 16.0 * turn as f64;
            let light = 54.0 + 6.0 * turn as f64 + 8.0 * place.y / HEIGHT;
            format!("hsl({hue:.0} {}% {light:.0}%)", 52 + 6 * (turn % 2))
        };
        for (member, tile) in tiles {
            draw_tile(&mut svg, &atlas.skills[members[member].row()], tile.inset(0.35), &fill);
        }
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\" fill=\"none\" stroke=\"#fbfaf7\" stroke-width=\"3\"/>",
        rect.x, rect.y, rect.width, rect.height
    );
    draw_label(&mut svg, rect, label, blocks.iter().map(Vec::len).sum());
    svg
}

fn draw_tile(svg: &mut String, skill: &SkillRow<'_>, tile: Rect, fill: &str) {
    let Rect { x, y, width, height } = tile;
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"1.5\" fill=\"{fill}\"><title>{}</title></rect>",
        escape(skill.id)
    );
    // Where there is room for it, the name stands on the tile.
    let font = 11.0;
    let room = (width / (font * 0.56)) as usize;
    if height > 1.6 * font && room >= 8 {
        let name = shorten(skill.name, room);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{font}\" fill=\"#2b2a27\" pointer-events=\"none\">{}</text>",
            x + 3.0,
            y + height / 2.0 + 4.0,
            escape(&name)
        );
    }
}

/// The region's terms, as large as its rectangle allows, readable on any color. A map that shows
/// the names of skills needs none.
fn draw_label(svg: &mut String, rect: Rect, label: &str, skills: usize) {
    if label.is_empty() || rect.width * rect.height / skills as f64 > 2600.0 {
        return;
    }
    let columns: usize = label.chars().map(columns).sum();
    let font = (rect.width * 0.92 / (columns as f64 * 0.54)).clamp(8.5, 17.0);
    let room = (rect.width * 0.96 / (font * 0.54)) as usize;
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{font:.1}\" font-weight=\"600\" fill=\"#22211e\" stroke=\"#fbfaf7\" stroke-width=\"3.2\" stroke-linejoin=\"round\" paint-order=\"stroke\" text-anchor=\"middle\" pointer-events=\"none\">{}</text>",
        rect.x + rect.width / 2.0,
        rect.y + rect.height / 2.0 + font * 0.35,
        escape(&shorten(label, room))
    );
}

/// For each region the three terms of its names and descriptions that are most its own.
fn labels(regions: &[Vec<Vec<SkillIdx>>], skills: &[SkillRow<'_>]) -> Vec<String> {
    let counts: Vec<BTreeMap<String, f64>> = regions
        .par_iter()
        .map(|blocks| {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            for skill in blocks.iter().flatten() {
                let SkillRow { name, description, .. } = &skills[skill.row()];
                let mut seen = std::collections::BTreeSet::new();
                let text = format!("{name}\n{}", without_exclusions(description));
                for_each_term(&text, Tokenizer::Auto, |term| {
                    // One character of Chinese or English names nothing.
                    if term.chars().count() > 1 && !term.chars().all(|c| c.is_ascii_digit()) {
                        seen.insert(term.to_owned());
                    }
                });
                seen.into_iter().for_each(|term| *counts.entry(term).or_default() += 1.0);
            }
            counts
        })
        .collect();
    let mut total: BTreeMap<&str, f64> = BTreeMap::new();
    for (term, count) in counts.iter().flatten() {
        *total.entry(term).or_default() += count;
    }
    let all = skills.len() as f64;
    counts
        .iter()
        .zip(regions)
        .map(|(counts, blocks)| {
            let size: f64 = blocks.iter().map(|block| block.len() as f64).sum();
            // How much more often here than elsewhere, weighed by how often here.
            let score = |term: &str, count: f64| {
                let elsewhere = (total[term] - count + 0.5) / (all - size + 1.0);
                count / size * ((count + 0.5) / (size + 1.0) / elsewhere).ln()
            };
            let mut terms: Vec<(f64, &str)> =
                counts.iter().map(|(term, &count)| (score(term, count), term.as_str())).collect();
            terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
            let mut chosen: Vec<&str> = Vec::new();
            for (score, term) in terms {
                // What an eighth of all skills say names no region.
                if total[term] > all / 8.0 {
                    continue;
                }
                let known = chosen.iter().any(|c| c.contains(term) || term.contains(c));
                if chosen.len() == 3 || score <= 0.0 {
                    break;
                }
                if !known {
                    chosen.push(term);
                }
            }
            chosen.join(" · ")
        })
        .collect()
}

#[derive(Debug, Clone, Copy)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rect {
    fn inset(self, by: f64) -> Self {
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

fn columns(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

fn shorten(text: &str, room: usize) -> String {
    if text.chars().map(columns).sum::<usize>() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let kept = text.chars().take_while(|&c| {
        let fits = columns(c) <= left;
        left = left.saturating_sub(columns(c));
        fits
    });
    kept.chain(['…']).collect()
}

/// Names are other people's text: markup in them must stay text, and what XML cannot hold goes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
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

    #[test]
    fn names_cannot_break_the_picture() {
        assert_eq!(escape("<script>&\"\u{1b}"), "&lt;script&gt;&amp;&quot;\u{fffd}");
        assert_eq!(shorten("年终奖金计税", 8), "年终奖…");
        assert_eq!(shorten("abc", 8), "abc");
    }
}
