//! What can be drawn?
//!
//! A few shapes in whole pixels. Straight lines are thin boxes, which are sharp at any place.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, FontTransform, IntoFont, RGBColor, TextStyle};

use super::MARGIN;
use super::color::{EDGE, INK, PAPER};
use crate::escape::plain;

/// What the drawing itself fails with.
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;
/// What every step of a drawing gives.
pub(super) type Drawn = Result<(), DrawError>;

/// The writing of the reader's own system.
const FAMILY: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
/// Plotters writes sizes smaller by this.
const PLOTTERS_EM: f64 = 1.24;

/// Where plots are drawn.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// How a text is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type {
    pub(super) size: f64,
    pub(super) color: RGBColor,
    pub(super) opacity: f64,
    pub(super) side: Side,
    pub(super) weight: Weight,
    pub(super) turn: Turn,
}

/// Which side of a text is at its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// How strong letters are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Weight {
    Normal,
    Bold,
}

/// Which way a text runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turn {
    Level,
    Upwards,
}

/// The form of a point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Type {
    /// Upright ink that begins at its place.
    pub(super) fn of(size: f64) -> Self {
        let (side, weight, turn) = (Side::Left, Weight::Normal, Turn::Level);
        Self { size, color: INK, opacity: 1.0, side, weight, turn }
    }

    pub(super) fn to(self, side: Side) -> Self {
        Self { side, ..self }
    }

    pub(super) fn soft(self) -> Self {
        Self { opacity: 0.72, ..self }
    }
}

/// How much of a drawing is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Crop {
    /// All of it, with its margins.
    Whole,
    /// What is between the margins, for a page that has margins and paper of its own.
    Inner,
}

/// Draws on a page of this size, and gives the SVG.
pub(super) fn page(
    (width, height): (i32, i32),
    crop: Crop,
    draw: impl FnOnce(&Canvas<'_>) -> Drawn,
) -> Result<String, DrawError> {
    let mut svg = String::new();
    let size = (width.unsigned_abs(), height.unsigned_abs());
    {
        let canvas = Canvas { area: SVGBackend::with_string(&mut svg, size).into_drawing_area() };
        if crop == Crop::Whole {
            canvas.area.fill(&PAPER)?;
        }
        draw(&canvas)?;
        canvas.area.present()?;
    }
    // What every element says is said once.
    let family = FAMILY.replace('\'', "&apos;");
    let svg = svg.replace(&format!(" font-family=\"{family}\""), "").replace(" opacity=\"1\"", "");
    let (_, body) = svg.split_once(">\n").unwrap_or_default();
    let cut = match crop {
        Crop::Whole => 0,
        Crop::Inner => MARGIN,
    };
    let (wide, high) = (width - 2 * cut, height - 2 * cut);
    Ok(format!(
        "<svg width=\"{wide}\" height=\"{high}\" viewBox=\"{cut} {cut} {wide} {high}\" \
         xmlns=\"http://www.w3.org/2000/svg\" font-family=\"{family}\">\n{body}"
    ))
}

impl Canvas<'_> {
    /// Writes at a place, which is its middle from above to below.
    pub(super) fn text(&self, text: &str, (x, y): (i32, i32), style: Type) -> Drawn {
        if text.is_empty() {
            return Ok(());
        }
        let font = (FAMILY, style.size * PLOTTERS_EM).into_font();
        let font = match style.weight {
            Weight::Normal => font,
            Weight::Bold => font.style(FontStyle::Bold),
        };
        let font = match style.turn {
            Turn::Level => font,
            Turn::Upwards => font.transform(FontTransform::Rotate270),
        };
        let side = match style.side {
            Side::Left => HPos::Left,
            Side::Middle => HPos::Center,
            Side::Right => HPos::Right,
        };
        let color = style.color.mix(style.opacity);
        let style = TextStyle::from(font).color(&color).pos(Pos::new(side, VPos::Center));
        self.area.draw_text(&plain(text), &style, (x, y))
    }

    /// Fills the box between two corners.
    pub(super) fn fill(
        &self,
        corners: [(i32, i32); 2],
        (color, opacity): (RGBColor, f64),
    ) -> Drawn {
        let [(x, y), (right, bottom)] = corners;
        let corners = [(x.min(right), y.min(bottom)), (x.max(right), y.max(bottom))];
        self.area.draw(&Rectangle::new(corners, color.mix(opacity).filled()))
    }

    /// A box with an edge, so that light colors are seen on white and dark ones on black.
    pub(super) fn edged(&self, corners: [(i32, i32); 2], color: (RGBColor, f64)) -> Drawn {
        let [(x, y), (right, bottom)] = corners;
        let (x, right) = (x.min(right), x.max(right));
        let (y, bottom) = (y.min(bottom), y.max(bottom));
        if right - x < 4 || bottom - y < 4 {
            return self.fill([(x, y), (right.max(x + 1), bottom.max(y + 1))], color);
        }
        self.fill([(x, y), (right, bottom)], (PAPER, 1.0))?;
        self.fill([(x, y), (right, bottom)], (INK, EDGE))?;
        let inner = [(x + 1, y + 1), (right - 1, bottom - 1)];
        if color.1 < 1.0 {
            self.fill(inner, (PAPER, 1.0))?;
        }
        self.fill(inner, color)
    }

    /// A line in any direction.
    pub(super) fn line(
        &self,
        ends: [(i32, i32); 2],
        color: RGBColor,
        opacity: f64,
        thick: u32,
    ) -> Drawn {
        self.area.draw(&PathElement::new(ends, color.mix(opacity).stroke_width(thick)))
    }

    /// A filled shape.
    pub(super) fn shape(
        &self,
        corners: Vec<(i32, i32)>,
        (color, opacity): (RGBColor, f64),
    ) -> Drawn {
        self.area.draw(&Polygon::new(corners, color.mix(opacity).filled()))
    }

    /// A point with an edge.
    pub(super) fn marker(&self, at: (i32, i32), marker: Marker, color: (RGBColor, f64)) -> Drawn {
        self.mark(at, marker, (PAPER, 1.0), 8)?;
        self.mark(at, marker, (INK, EDGE), 7)?;
        self.mark(at, marker, (PAPER, 1.0), 6)?;
        self.mark(at, marker, color, 6)
    }

    fn mark(&self, (x, y): (i32, i32), marker: Marker, color: (RGBColor, f64), r: i32) -> Drawn {
        match marker {
            Marker::Circle => {
                let style = color.0.mix(color.1).filled();
                self.area.draw(&Circle::new((x, y), r, style))
            }
            Marker::Square => self.fill([(x - r + 1, y - r + 1), (x + r - 1, y + r - 1)], color),
            Marker::Triangle => {
                self.shape(vec![(x - r - 1, y + r), (x + r + 1, y + r), (x, y - r - 1)], color)
            }
            Marker::Diamond => self
                .shape(vec![(x - r - 1, y), (x, y - r - 1), (x + r + 1, y), (x, y + r + 1)], color),
        }
    }
}
