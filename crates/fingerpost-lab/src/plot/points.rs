//! Points, and arrows from one to the next of a path.

use plotters::style::RGBColor;

use super::canvas::{Canvas, DrawError, Drawn, Side, Type};
use super::color::{self, GRID, INK, PAPER};
use super::head::{Head, Swatch, marker};
use super::label::{widest, width, wrap};
use super::scale::{Scale, Ticks};
use super::{MARGIN, Sheet};
use crate::outcome::Path;

mod place;

use place::{Rect, Word, place};

const LABEL: f64 = 13.0;
const LABEL_LINE: i32 = 17;
const WORD: f64 = 12.0;
const TICK: f64 = 12.0;
/// How high the field is, and how high at least, by its width.
const HEIGHT: f64 = 0.55;
const LEAST_HEIGHT: i32 = 380;
/// From the middle of a point to the tip of an arrow.
const CLEAR: f64 = 9.0;
/// An arrow's head is so long.
const ARROW: f64 = 11.0;
/// A word beside a point is not longer.
const WORD_ROOM: f64 = 220.0;
/// From here on a thin line leads from the word to its point.
const LED: f64 = 26.0;

pub(super) fn draw(
    sheet: Sheet<'_>,
    x: &str,
    y: &str,
    paths: &[Path],
) -> Result<String, DrawError> {
    let names: Vec<&str> = paths.iter().map(|path| path.name.as_str()).collect();
    let head = Head::new(sheet, &names, Swatch::Point);
    let [x, y] = [x, y].map(|name| wrap(name, LABEL, head.inner(), 2));
    let points = || paths.iter().flat_map(|path| &path.points);
    let (x_ends, x_ticks) =
        axis(points().map(|point| point.1), if sheet.width < 600 { 4 } else { 7 });
    let (y_ends, y_ticks) = axis(points().map(|point| point.2), 6);
    let left = MARGIN + widest(&y_ticks.texts(), TICK).ceil() as i32 + 10;
    let right = head.right() - widest(&x_ticks.texts(), TICK).ceil() as i32 / 2;
    let top = head.height + LABEL_LINE * y.len() as i32 + 14;
    let bottom = top + LEAST_HEIGHT.max((HEIGHT * head.inner()) as i32);
    let across = Scale::new(x_ends, [left, right]);
    let upwards = Scale::new(y_ends, [bottom, top]);
    let pixels: Vec<Vec<(i32, i32)>> = paths
        .iter()
        .map(|path| path.points.iter().map(|(_, x, y)| (across.at(*x), upwards.at(*y))).collect())
        .collect();
    let words = words(paths, &pixels, WORD_ROOM.min(0.35 * head.inner()));
    let room = Rect { left, top, right, bottom };
    let placed = place(&words, &pixels, room);
    head.page(bottom + 32 + LABEL_LINE * x.len() as i32 + MARGIN, |canvas| {
        for (line, text) in (0..).zip(&y) {
            let at = (MARGIN, head.height + LABEL_LINE * line + LABEL_LINE / 2);
            canvas.text(text, at, Type::of(LABEL))?;
        }
        for (line, text) in (0..).zip(&x) {
            let at = (right, bottom + 32 + LABEL_LINE * line + LABEL_LINE / 2);
            canvas.text(text, at, Type::of(LABEL).to(Side::Right))?;
        }
        for (&value, text) in y_ticks.values.iter().zip(y_ticks.texts()) {
            let y = upwards.at(value);
            canvas.fill([(left, y), (right, y + 1)], (GRID, 1.0))?;
            canvas.text(&text, (left - 8, y), Type::of(TICK).to(Side::Right).soft())?;
        }
        for (value, text) in x_ticks.level(across, TICK) {
            let x = across.at(value);
            canvas.fill([(x, top), (x + 1, bottom)], (GRID, 1.0))?;
            canvas.text(&text, (x, bottom + 16), Type::of(TICK).to(Side::Middle).soft())?;
        }
        for (place, path) in pixels.iter().enumerate() {
            for pair in path.windows(2) {
                arrow(canvas, pair[0], pair[1], color::series(place))?;
            }
        }
        for (word, spot) in words.iter().zip(&placed) {
            let (x, y) = spot.nearest(word.point);
            let far = f64::from(x - word.point.0).hypot(f64::from(y - word.point.1));
            if far > LED {
                canvas.line([word.point, (x, y)], INK, 0.5, 1)?;
            }
        }
        for (place, path) in pixels.iter().enumerate() {
            for &point in path {
                canvas.marker(point, marker(place), color::series(place))?;
            }
        }
        for (word, spot) in words.iter().zip(&placed) {
            canvas
                .fill([(spot.left, spot.top + 2), (spot.right, spot.bottom - 2)], (PAPER, 0.75))?;
            canvas.text(&word.text, spot.middle(), Type::of(WORD).to(Side::Middle))?;
        }
        Ok(())
    })
}

/// The words beside the points, in the order of the points.
fn words(paths: &[Path], pixels: &[Vec<(i32, i32)>], room: f64) -> Vec<Word> {
    let points = paths.iter().flat_map(|path| &path.points);
    let words = points.zip(pixels.iter().flatten()).map(|((text, _, _), &point)| {
        let text = wrap(text, WORD, room, 1).concat();
        let wide = width(&text, WORD).ceil() as i32 + 4;
        Word { text, point, size: (wide, LABEL_LINE) }
    });
    words.filter(|word| !word.text.is_empty()).collect()
}

/// From where to where an axis goes around all of these, with some air, and the round values on it.
fn axis(values: impl Iterator<Item = f64> + Clone, about: usize) -> ([f64; 2], Ticks) {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let greatest = values.fold(f64::NEG_INFINITY, f64::max);
    if least == greatest {
        let ticks = Ticks::around(least, greatest, about);
        return (ticks.ends(), ticks);
    }
    let air = (greatest - least) * 0.07;
    // A share is not less than nought, and no axis should say so.
    let from = if least >= 0.0 { (least - air).max(0.0) } else { least - air };
    let ends = [from, greatest + air];
    (ends, Ticks::around(ends[0], ends[1], about).within(ends))
}

/// A line from one point to the next that ends in a head, where there is room for it.
fn arrow(canvas: &Canvas<'_>, from: (i32, i32), to: (i32, i32), color: (RGBColor, f64)) -> Drawn {
    let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
    let length = dx.hypot(dy);
    if length < CLEAR + ARROW {
        return canvas.line([from, to], color.0, color.1, 2);
    }
    let (dx, dy) = (dx / length, dy / length);
    let along = |back: f64, aside: f64| {
        let x = f64::from(to.0) - back * dx - aside * dy;
        let y = f64::from(to.1) - back * dy + aside * dx;
        (x.round() as i32, y.round() as i32)
    };
    canvas.line([from, along(CLEAR + ARROW - 1.0, 0.0)], color.0, color.1, 2)?;
    let back = CLEAR + ARROW;
    canvas.shape(vec![along(CLEAR, 0.0), along(back, 5.0), along(back, -5.0)], color)
}
