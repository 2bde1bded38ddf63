//! The map as a picture.

use std::fmt::Write;

use rayon::prelude::*;

use super::layout::{Rect, Region, layout};
use crate::snapshot::{SkillRow, Snapshot, SnapshotError};

/// The picture's size in pixels; SVG scales it.
const WIDTH: f64 = 2000.0;
const HEIGHT: f64 = 1400.0;

/// Draws a compiled library as SVG.
pub fn draw(snapshot: &Snapshot, seed: u64) -> Result<String, SnapshotError> {
    let margin = 12.0;
    let all =
        Rect { x: margin, y: 58.0, width: WIDTH - 2.0 * margin, height: HEIGHT - 58.0 - margin };
    let regions = layout(snapshot, seed, all)?;
    let drawn: Vec<String> =
        regions.par_iter().map(|region| draw_region(snapshot, region)).collect();
    let (skills, neighborhoods) = (snapshot.len(), snapshot.neighborhoods());
    let groups = neighborhoods.len() - neighborhoods.singletons();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fbfaf7\"/>\n\
         <text x=\"{margin}\" y=\"38\" font-size=\"26\" font-weight=\"600\" fill=\"#2b2a27\">{skills} skills, {groups} neighborhoods</text>\n\
         <text x=\"{}\" y=\"38\" font-size=\"17\" fill=\"#77736a\" text-anchor=\"end\">a tile is a skill, a block of one color a neighborhood; grey: no look-alike nearer than {:.2}</text>\n",
        WIDTH - margin,
        snapshot.head().calibration.max_distance,
    );
    drawn.iter().for_each(|region| svg.push_str(region));
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn draw_region(snapshot: &Snapshot, region: &Region) -> String {
    let Region { rect, label, blocks } = region;
    let mut svg = String::new();
    for (order, block) in blocks.iter().enumerate() {
        let place = block.rect;
        // Blocks drawn one after another lie side by side, so their colors take turns.
        let fill = if block.tiles.len() == 1 {
            "#dedbd3".to_owned()
        } else {
            let turn = order % 4;
            let hue = 300.0 * (place.x + place.width / 2.0) / WIDTH + 16.0 * turn as f64;
            let light = 54.0 + 6.0 * turn as f64 + 8.0 * place.y / HEIGHT;
            format!("hsl({hue:.0} {}% {light:.0}%)", 52 + 6 * (turn % 2))
        };
        for &(member, tile) in &block.tiles {
            draw_tile(&mut svg, &snapshot.row(member), tile.inset(0.35), &fill);
        }
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\" fill=\"none\" stroke=\"#fbfaf7\" stroke-width=\"3\"/>",
        rect.x, rect.y, rect.width, rect.height
    );
    draw_label(&mut svg, *rect, label, region.skills());
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
    fn names_cannot_break_the_picture() {
        assert_eq!(escape("<script>&\"\u{1b}"), "&lt;script&gt;&amp;&quot;\u{fffd}");
        assert_eq!(shorten("年终奖金计税", 8), "年终奖…");
        assert_eq!(shorten("abc", 8), "abc");
    }
}
