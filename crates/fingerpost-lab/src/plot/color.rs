//! Which colors does a plot have?

use plotters::style::RGBColor;

/// Stands for the color of writing.
pub(super) const INK: RGBColor = RGBColor(0x1d, 0x1f, 0x23);
/// Stands for the color of lines behind the values.
pub(super) const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xd9);
/// Stands for the color of the page.
pub(super) const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xfe);
/// How much of the ink is in the edge of a bar or a point.
pub(super) const EDGE: f64 = 0.6;
/// White on strong colors, on any page.
pub(super) const WHITE: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// Okabe and Ito's, which people who see few colors can tell apart, without the yellow that is lost on white,
/// and with gray for black, which is lost on a dark page.
pub(super) const SERIES: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x87, 0x87, 0x87),
];

/// How much of the grid's color lies under every cell, so that a value of nought has an edge.
pub(super) const UNDER_CELLS: f64 = 0.35;
/// More than nought, in a field of cells.
const MORE: RGBColor = RGBColor(0x00, 0x66, 0xa1);
/// Less than nought, in a field of cells.
const LESS: RGBColor = RGBColor(0xa8, 0x48, 0x00);
/// How much of a color covers the page, from the least amounts to the greatest. Before the last two there is a
/// step, in which lies the lightness on which neither dark nor light writing could be read.
const SHADES: [f64; 8] = [0.0, 0.1, 0.2, 0.32, 0.44, 0.58, 0.86, 1.0];

/// The color of a cell, how much of it covers the page, and what is written on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shade {
    pub(super) color: RGBColor,
    pub(super) opacity: f64,
    pub(super) ink: RGBColor,
}

/// The color of the series that stands in this place. Past the last one they begin again, and are lighter.
pub(super) fn series(place: usize) -> (RGBColor, f64) {
    let opacity = if place < SERIES.len() { 1.0 } else { 0.5 };
    (SERIES[place % SERIES.len()], opacity)
}

/// The shade of a value whose greatest neighbor, by its amount, is `greatest`.
pub(super) fn shade(value: f64, greatest: f64) -> Shade {
    let share = if greatest > 0.0 { (value / greatest).abs() } else { 0.0 };
    let opacity = SHADES[(share * (SHADES.len() - 1) as f64).round() as usize];
    let color = if value < 0.0 { LESS } else { MORE };
    let ink = if opacity > 0.6 { WHITE } else { INK };
    Shade { color, opacity, ink }
}

/// As SVG has it.
pub(super) fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page's own colors, on its light and on its dark side.
    fn sides() -> [impl Fn(&str) -> RGBColor; 2] {
        let style = include_str!("../report/style.css");
        let sides: Vec<&str> = style.split("prefers-color-scheme: dark").collect();
        assert_eq!(sides.len(), 2, "one light and one dark side");
        [sides[0], sides[1]].map(|side| {
            move |name: &str| {
                let (_, rest) = side.split_once(&format!("--{name}: #")).expect("it is set");
                let part = |at| u8::from_str_radix(&rest[at..at + 2], 16).expect("six digits");
                RGBColor(part(0), part(2), part(4))
            }
        })
    }

    fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
        let linear = |part: u8| match f64::from(part) / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(one: RGBColor, other: RGBColor) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn over(top: RGBColor, opacity: f64, under: RGBColor) -> RGBColor {
        let mix = |top: u8, under: u8| {
            (f64::from(top) * opacity + f64::from(under) * (1.0 - opacity)).round() as u8
        };
        RGBColor(mix(top.0, under.0), mix(top.1, under.1), mix(top.2, under.2))
    }

    #[test]
    fn numbers_can_be_read_on_every_shade_of_a_light_and_a_dark_page() {
        for side in sides() {
            let under = over(side("grid"), UNDER_CELLS, side("paper"));
            for step in -20..=20 {
                let shade = shade(f64::from(step), 20.0);
                let ink = if shade.ink == INK { side("ink") } else { shade.ink };
                let contrast = contrast(ink, over(shade.color, shade.opacity, under));
                assert!(contrast >= 4.5, "step {step} on {}: {contrast:.2}", hex(under));
            }
        }
    }

    #[test]
    fn writing_can_be_read_on_paper_and_in_boxes() {
        for side in sides() {
            for (ink, paper) in ["ink", "soft", "accent", "warm"]
                .into_iter()
                .flat_map(|ink| ["paper", "panel"].map(|paper| (ink, paper)))
            {
                let contrast = contrast(side(ink), side(paper));
                assert!(contrast >= 4.5, "{ink} on {paper} {}: {contrast:.2}", hex(side(paper)));
            }
            // A bar has an edge of ink; between it and the paper the difference must be seen.
            let edge = over(side("ink"), EDGE, side("paper"));
            for color in SERIES {
                let seen = contrast(color, side("paper")).max(contrast(edge, side("paper")));
                assert!(seen >= 3.0, "{} on {}: {seen:.2}", hex(color), hex(side("paper")));
            }
        }
    }

    #[test]
    fn no_color_of_a_value_is_taken_for_one_of_the_page() {
        let page = [INK, GRID, PAPER];
        assert!(SERIES.iter().chain(&[MORE, LESS, WHITE]).all(|color| !page.contains(color)));
    }
}
