//! What does a plot look like?
//!
//! Every form is laid out first (labels are measured, wrapped and moved apart) and drawn afterwards, as SVG.
//! The file on disk has plain light colors. Three of them stand for ink, grid and paper, so that a page with
//! a dark side can put its own in their place.

use std::ops::Range;

use thiserror::Error;

use crate::escape;
use crate::outcome::Plot;

mod bars;
mod canvas;
mod color;
mod head;
mod heat;
mod label;
mod points;
mod scale;

use canvas::DrawError;

/// How wide a plot is, in pixels.
const WIDE: i32 = 960;
/// How wide it is on a phone.
const NARROW: i32 = 428;
/// Kept free around everything.
const MARGIN: i32 = 24;
/// Beyond this a value cannot be laid out, and means nothing on an axis.
const DRAWABLE: Range<f64> = -1e15..1e15;

/// Why a plot cannot be drawn.
#[derive(Debug, Error)]
pub enum PlotError {
    /// Nothing is in it.
    #[error("plot {plot}: there is nothing to draw")]
    Empty {
        /// Its name.
        plot: String,
    },
    /// Values are too few or too many.
    #[error("plot {plot}: {part} has {found} values where there should be {expected}")]
    Shape {
        /// Its name.
        plot: String,
        /// The series or row.
        part: String,
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A value has no place on an axis.
    #[error("plot {plot}: {part} holds {value}")]
    Value {
        /// Its name.
        plot: String,
        /// The series, path or row.
        part: String,
        /// The value.
        value: f64,
    },
    /// The drawing itself failed.
    #[error("plot {plot}: {reason}")]
    Draw {
        /// Its name.
        plot: String,
        /// What the backend says.
        reason: String,
    },
}

/// The plot with its title, in plain light colors: what is written to a file.
pub fn svg(plot: &Plot) -> Result<String, PlotError> {
    draw(plot, Sheet { title: Some(plot.title()), width: WIDE })
}

/// The plot as a part of a page that sets the title itself: in the colors of the page, and as an image with
/// a name to those who hear the page.
pub fn inline(plot: &Plot) -> Result<String, PlotError> {
    part(plot, WIDE)
}

/// The same for a phone, unless that has too little room for it.
pub fn inline_narrow(plot: &Plot) -> Result<Option<String>, PlotError> {
    let has_room = match plot {
        Plot::Bars { .. } => true,
        Plot::Points { paths, .. } => {
            paths.iter().map(|path| path.points.len()).sum::<usize>() <= 12
        }
        Plot::Heat { columns, .. } => columns.len() <= 5,
    };
    if has_room { part(plot, NARROW).map(Some) } else { Ok(None) }
}

/// Leaves ink, grid and paper to the page: `var(--ink)`, `var(--grid)` and `var(--paper)`.
pub fn themed(svg: &str) -> String {
    // Quotes within texts are escaped, so nothing but attributes can match.
    let parts = [(color::INK, "ink"), (color::GRID, "grid"), (color::PAPER, "paper")];
    parts.iter().fold(svg.to_owned(), |svg, (color, name)| {
        svg.replace(&format!("=\"{}\"", color::hex(*color)), &format!("=\"var(--{name})\""))
    })
}

/// What a plot is drawn on.
#[derive(Debug, Clone, Copy)]
struct Sheet<'a> {
    /// The title, unless somebody else sets it.
    title: Option<&'a str>,
    width: i32,
}

fn part(plot: &Plot, width: i32) -> Result<String, PlotError> {
    let drawn = themed(&draw(plot, Sheet { title: None, width })?);
    let label = escape::html(&escape::plain(plot.title()));
    Ok(drawn.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{label}\" "), 1))
}

fn draw(plot: &Plot, sheet: Sheet<'_>) -> Result<String, PlotError> {
    check(plot)?;
    let drawn = match plot {
        Plot::Bars { axis, groups, series, .. } => bars::draw(sheet, axis, groups, series),
        Plot::Points { x, y, paths, .. } => points::draw(sheet, x, y, paths),
        Plot::Heat { rows, columns, values, .. } => heat::draw(sheet, rows, columns, values),
    };
    drawn.map_err(|error: DrawError| PlotError::Draw {
        plot: plot.name().to_owned(),
        reason: error.to_string(),
    })
}

/// Is every value there, and drawable?
fn check(plot: &Plot) -> Result<(), PlotError> {
    let name = || plot.name().to_owned();
    let shape = |part: &str, found: usize, expected: usize| match found == expected {
        true => Ok(()),
        false => Err(PlotError::Shape { plot: name(), part: part.to_owned(), found, expected }),
    };
    let drawable = |part: &str, mut values: Box<dyn Iterator<Item = f64> + '_>| match values
        .find(|value| !DRAWABLE.contains(value))
    {
        Some(value) => Err(PlotError::Value { plot: name(), part: part.to_owned(), value }),
        None => Ok(()),
    };
    let is_empty = match plot {
        Plot::Bars { groups, series, .. } => {
            for one in series {
                shape(&one.name, one.values.len(), groups.len())?;
                drawable(&one.name, Box::new(one.values.iter().flatten().copied()))?;
                if !one.intervals.is_empty() {
                    shape(&one.name, one.intervals.len(), groups.len())?;
                }
                let ends = one.intervals.iter().flatten().flatten().copied();
                drawable(&one.name, Box::new(ends))?;
            }
            groups.is_empty() || series.is_empty()
        }
        Plot::Points { paths, .. } => {
            for path in paths {
                let places = path.points.iter().flat_map(|(_, x, y)| [*x, *y]);
                drawable(&path.name, Box::new(places))?;
            }
            paths.iter().all(|path| path.points.is_empty())
        }
        Plot::Heat { rows, columns, values, .. } => {
            shape("the plot", values.len(), rows.len())?;
            for (row, values) in rows.iter().zip(values) {
                shape(row, values.len(), columns.len())?;
                drawable(row, Box::new(values.iter().flatten().copied()))?;
            }
            rows.is_empty() || columns.is_empty()
        }
    };
    if is_empty { Err(PlotError::Empty { plot: name() }) } else { Ok(()) }
}
