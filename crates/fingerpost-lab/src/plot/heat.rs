//! A field of colored cells, each with its number.

use super::canvas::{Canvas, DrawError, Drawn, Side, Turn, Type};
use super::color::{self, GRID, INK, UNDER_CELLS};
use super::head::{Head, Swatch};
use super::label::{widest, widest_piece, width, wrap};
use super::scale::{Sign, decimals, text};
use super::{MARGIN, Sheet};

const LABEL: f64 = 13.0;
const LABEL_LINE: i32 = 17;
const NUMBER: f64 = 13.0;
/// The share of the width for labels of rows, at most.
const ROW_ROOM: f64 = 0.26;
/// The room for labels of columns that stand upright, at most.
const UPRIGHT_ROOM: f64 = 220.0;
/// No cell is wider: three columns need not fill the page.
const WIDEST_CELL: f64 = 150.0;
/// Between two strokes of an empty cell.
const HATCH: i32 = 9;

pub(super) fn draw(
    sheet: Sheet<'_>,
    rows: &[String],
    columns: &[String],
    values: &[Vec<Option<f64>>],
) -> Result<String, DrawError> {
    let head = Head::new(sheet, &[], Swatch::Bar);
    let row_labels: Vec<_> =
        rows.iter().map(|name| wrap(name, LABEL, ROW_ROOM * head.inner(), 4)).collect();
    let room = row_labels.iter().map(|lines| widest(lines, LABEL)).fold(0.0, f64::max);
    let left = MARGIN + room.ceil() as i32 + 12;
    let cell = (f64::from(head.right() - left) / columns.len() as f64).min(WIDEST_CELL);
    let labels = ColumnLabels::new(columns, cell);
    let lines = row_labels.iter().map(Vec::len).max().unwrap_or(0) as i32;
    let cell_height = (lines * LABEL_LINE + 12).max(44);
    let top = head.height + labels.height() + 10;
    let bottom = top + cell_height * rows.len() as i32;
    let all = || values.iter().flatten().flatten();
    let greatest = all().fold(0.0, |most: f64, value| most.max(value.abs()));
    let sign = if all().any(|&value| value < 0.0) { Sign::Both } else { Sign::Minus };
    let number = |value: f64| text(value, decimals(greatest), sign);
    let widest_number = all().map(|&value| width(&number(value), NUMBER)).fold(0.0, f64::max);
    // A number that has no room is smaller, down to what can still be read.
    let size = (NUMBER * ((cell - 6.0) / widest_number.max(1.0)).min(1.0)).max(8.0);
    let corners = |row: usize, column: usize| {
        let x = |column: usize| left + (cell * column as f64).round() as i32;
        let y = |row: usize| top + cell_height * row as i32;
        [(x(column), y(row)), (x(column + 1) - 2, y(row + 1) - 2)]
    };
    head.page(bottom + MARGIN, |canvas| {
        labels.draw(canvas, |column| corners(0, column), top - 8)?;
        for (row, lines) in row_labels.iter().enumerate() {
            let [(_, y), (_, below)] = corners(row, 0);
            let first = (y + below) / 2 - LABEL_LINE * (lines.len() as i32 - 1) / 2;
            for (place, line) in (0..).zip(lines) {
                let at = (left - 12, first + LABEL_LINE * place);
                canvas.text(line, at, Type::of(LABEL).to(Side::Right))?;
            }
            for (column, value) in values[row].iter().enumerate() {
                let corners = corners(row, column);
                let Some(value) = *value else {
                    hatch(canvas, corners)?;
                    continue;
                };
                let [(x, y), (right, below)] = corners;
                let shade = color::shade(value, greatest);
                canvas.fill(corners, (GRID, UNDER_CELLS))?;
                canvas.fill(corners, (shade.color, shade.opacity))?;
                let style = Type { color: shade.ink, ..Type::of(size).to(Side::Middle) };
                canvas.text(&number(value), ((x + right) / 2, (y + below) / 2), style)?;
            }
        }
        Ok(())
    })
}

/// Names of columns, level where they fit and upright where they do not.
enum ColumnLabels {
    Level(Vec<Vec<String>>),
    Upright(Vec<Vec<String>>),
}

impl ColumnLabels {
    fn new(columns: &[String], cell: f64) -> Self {
        let room = cell - 8.0;
        let level: Vec<_> =
            columns.iter().map(|name| wrap(name, LABEL, room, usize::MAX)).collect();
        let fits = columns.iter().all(|name| widest_piece(name, LABEL) <= room)
            && level.iter().all(|lines| lines.len() <= 4);
        if fits {
            return Self::Level(level);
        }
        let lines = ((cell / f64::from(LABEL_LINE)) as usize).clamp(1, 3);
        Self::Upright(columns.iter().map(|name| wrap(name, LABEL, UPRIGHT_ROOM, lines)).collect())
    }

    fn height(&self) -> i32 {
        match self {
            Self::Level(labels) => {
                labels.iter().map(Vec::len).max().unwrap_or(0) as i32 * LABEL_LINE
            }
            Self::Upright(labels) => {
                labels.iter().map(|lines| widest(lines, LABEL)).fold(0.0, f64::max).ceil() as i32
            }
        }
    }

    /// Writes them so that they end at this height.
    fn draw(
        &self,
        canvas: &Canvas<'_>,
        cell: impl Fn(usize) -> [(i32, i32); 2],
        end: i32,
    ) -> Drawn {
        let (Self::Level(labels) | Self::Upright(labels)) = self;
        for (column, lines) in labels.iter().enumerate() {
            let [(x, _), (right, _)] = cell(column);
            let middle = (x + right) / 2;
            let count = lines.len() as i32;
            for (place, line) in (0..).zip(lines) {
                let at = LABEL_LINE * place + LABEL_LINE / 2;
                match self {
                    Self::Level(_) => {
                        let at = (middle, end - LABEL_LINE * count + at);
                        canvas.text(line, at, Type::of(LABEL).to(Side::Middle))?;
                    }
                    Self::Upright(_) => {
                        let at = (middle - LABEL_LINE * count / 2 + at, end);
                        let turned = Type { turn: Turn::Upwards, ..Type::of(LABEL) };
                        canvas.text(line, at, turned)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Strokes from below to above, which say that there is no value.
fn hatch(canvas: &Canvas<'_>, [(x, y), (right, below)]: [(i32, i32); 2]) -> Drawn {
    canvas.fill([(x, y), (right, below)], (GRID, UNDER_CELLS))?;
    let (wide, high) = (right - x, below - y);
    for offset in (HATCH..wide + high).step_by(HATCH as usize) {
        // The stroke runs where the distances from the left and from the top add up to the offset.
        let from = (x + (offset - high).max(0), y + offset.min(high));
        let to = (x + offset.min(wide), y + (offset - wide).max(0));
        canvas.line([from, to], INK, 0.22, 1)?;
    }
    Ok(())
}
