//! What stands above the values: the title, and which color means what.

use super::canvas::{Canvas, Crop, DrawError, Drawn, Marker, Type, Weight, page};
use super::color;
use super::label::{width, wrap};
use super::{MARGIN, Sheet};

const TITLE: f64 = 19.0;
const TITLE_LINE: i32 = 26;
const ENTRY: f64 = 13.0;
const ENTRY_LINE: i32 = 24;
/// From the left of a swatch to its name.
const SWATCH: i32 = 21;
/// Between one entry and the next.
const APART: i32 = 24;

/// How a legend shows a color.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Swatch {
    Bar,
    Point,
}

/// Title and legend, laid out.
pub(super) struct Head {
    title: Vec<String>,
    entries: Vec<Entry>,
    swatch: Swatch,
    /// How wide the whole is.
    pub(super) width: i32,
    /// Where the values begin.
    pub(super) height: i32,
}

struct Entry {
    name: String,
    place: (i32, i32),
}

impl Head {
    /// Lays out what is to be said.
    pub(super) fn new(sheet: Sheet<'_>, names: &[&str], swatch: Swatch) -> Self {
        let inner = sheet.width - 2 * MARGIN;
        // Bold letters are a little wider.
        let most = f64::from(inner) * 0.9;
        let title = sheet.title.map_or(Vec::new(), |title| wrap(title, TITLE, most, 4));
        let mut y = MARGIN + TITLE_LINE * title.len() as i32;
        if !title.is_empty() {
            y += 10;
        }
        let mut x = MARGIN;
        let mut entries = Vec::new();
        for name in names {
            let name = wrap(name, ENTRY, f64::from(inner - SWATCH), 1).concat();
            let needed = SWATCH + width(&name, ENTRY).ceil() as i32;
            if x > MARGIN && x + needed > sheet.width - MARGIN {
                x = MARGIN;
                y += ENTRY_LINE;
            }
            entries.push(Entry { name, place: (x, y) });
            x += needed + APART;
        }
        let height = if entries.is_empty() { y } else { y + ENTRY_LINE + 10 };
        Self { title, entries, swatch, width: sheet.width, height }
    }

    /// Where the right margin begins.
    pub(super) fn right(&self) -> i32 {
        self.width - MARGIN
    }

    /// The pixels between the margins.
    pub(super) fn inner(&self) -> f64 {
        f64::from(self.width - 2 * MARGIN)
    }

    /// Draws a page of this height with the head above the rest.
    pub(super) fn page(
        &self,
        height: i32,
        rest: impl FnOnce(&Canvas<'_>) -> Drawn,
    ) -> Result<String, DrawError> {
        // Who sets the title has margins too.
        let crop = if self.title.is_empty() { Crop::Inner } else { Crop::Whole };
        page((self.width, height), crop, |canvas| {
            self.draw(canvas)?;
            rest(canvas)
        })
    }

    fn draw(&self, canvas: &Canvas<'_>) -> Drawn {
        for (line, text) in (0..).zip(&self.title) {
            let bold = Type { weight: Weight::Bold, ..Type::of(TITLE) };
            canvas.text(text, (MARGIN, MARGIN + TITLE_LINE * line + TITLE_LINE / 2 - 3), bold)?;
        }
        for (place, entry) in self.entries.iter().enumerate() {
            let (x, y) = (entry.place.0, entry.place.1 + ENTRY_LINE / 2);
            let color = color::series(place);
            match self.swatch {
                Swatch::Bar => canvas.edged([(x, y - 7), (x + 14, y + 7)], color)?,
                Swatch::Point => canvas.marker((x + 7, y), marker(place), color)?,
            }
            canvas.text(&entry.name, (x + SWATCH, y), Type::of(ENTRY))?;
        }
        Ok(())
    }
}

/// The form of the points of this path: with the color it is the only one among 28.
pub(super) fn marker(place: usize) -> Marker {
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond][place % 4]
}
