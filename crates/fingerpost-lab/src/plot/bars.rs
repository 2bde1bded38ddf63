//! Bars side by side, in groups.
//!
//! They stand upright while their labels fit beneath them, and lie otherwise.

use plotters::style::RGBColor;

use super::canvas::{Canvas, DrawError, Drawn, Side, Type};
use super::color::{self, GRID, INK};
use super::head::{Head, Swatch};
use super::label::{widest, widest_piece, width, wrap};
use super::scale::{Scale, Sign, Ticks, decimals, text};
use super::{MARGIN, Sheet};
use crate::outcome::Series;

const LABEL: f64 = 13.0;
const LABEL_LINE: i32 = 17;
const TICK: f64 = 12.0;
const NUMBER: f64 = 11.0;
/// More groups than this are read from above to below.
const MOST_UPRIGHT: usize = 8;
/// How high upright bars can be.
const UPRIGHT_HEIGHT: i32 = 340;
/// The share of the width for labels beside lying bars.
const LABEL_ROOM: f64 = 0.27;
/// No upright bar is wider.
const WIDEST_BAR: f64 = 96.0;
/// Kept free at the end of a bar for its number.
const NUMBER_ROOM: i32 = 22;

/// Which way the bars go.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Direction {
    Up,
    Right,
}

/// Where the bars are.
struct Field<'a> {
    direction: Direction,
    series: &'a [Series],
    /// From values to pixels, along the bars.
    scale: Scale,
    /// Where the first group begins, across the bars.
    start: i32,
    /// How much room a group has, and how much of it is left free.
    group: f64,
    gap: f64,
    numbers: Option<Numbers>,
}

/// How the numbers of bars are written.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    decimals: usize,
    sign: Sign,
}

pub(super) fn draw(
    sheet: Sheet<'_>,
    axis: &str,
    groups: &[String],
    series: &[Series],
) -> Result<String, DrawError> {
    let names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
    let head = Head::new(sheet, &names, Swatch::Bar);
    let axis = wrap(axis, LABEL, head.inner(), 2);
    let ends = series.iter().flat_map(|one| one.intervals.iter().flatten().flatten());
    let values = || series.iter().flat_map(|one| one.values.iter().flatten());
    let (least, greatest) = values()
        .chain(ends)
        .fold((0.0, 0.0), |(least, greatest), &value| (value.min(least), value.max(greatest)));
    let amount = values().fold(0.0, |most: f64, value| most.max(value.abs()));
    let sign = if least < 0.0 { Sign::Both } else { Sign::Minus };
    let numbers = Numbers { decimals: decimals(amount), sign };
    // A narrow axis has room for fewer numbers.
    let most_ticks = if sheet.width < 600 { 4 } else { 5 };
    let ticks = if greatest > least {
        Ticks::around(least, greatest, most_ticks)
    } else {
        Ticks::around(0.0, 1.0, 5)
    };
    let widest_number = values()
        .map(|&value| width(&text(value, numbers.decimals, sign), NUMBER))
        .fold(0.0, f64::max);
    let plan = Plan { head, axis, groups, series, ticks, numbers, widest_number, least, greatest };
    match plan.upright_labels() {
        Some(labels) => plan.upright(&labels),
        None => plan.lying(),
    }
}

/// Everything that the layout depends on.
struct Plan<'a> {
    head: Head,
    axis: Vec<String>,
    groups: &'a [String],
    series: &'a [Series],
    ticks: Ticks,
    numbers: Numbers,
    widest_number: f64,
    least: f64,
    greatest: f64,
}

impl Plan<'_> {
    fn tick_room(&self) -> i32 {
        widest(&self.ticks.texts(), TICK).ceil() as i32 + 10
    }

    /// The room of a group between the axis and the right margin.
    fn upright_group(&self) -> f64 {
        (self.head.inner() - f64::from(self.tick_room())) / self.groups.len() as f64
    }

    /// The labels as they stand beneath upright bars, if they do.
    fn upright_labels(&self) -> Option<Vec<Vec<String>>> {
        let room = self.upright_group() - 12.0;
        let fits = self.groups.len() <= MOST_UPRIGHT
            && room / self.series.len() as f64 >= 7.0
            && self.groups.iter().all(|name| widest_piece(name, LABEL) <= room);
        let labels: Vec<_> =
            self.groups.iter().map(|name| wrap(name, LABEL, room, usize::MAX)).collect();
        (fits && labels.iter().all(|lines| lines.len() <= 3)).then_some(labels)
    }

    /// Pixels kept free for numbers before the least and after the greatest value.
    fn number_rooms(&self, numbers: Option<Numbers>, room: i32) -> [i32; 2] {
        let room = |is_needed: bool| if is_needed && numbers.is_some() { room } else { 0 };
        [room(self.least < 0.0), room(self.greatest > 0.0)]
    }

    fn upright(&self, labels: &[Vec<String>]) -> Result<String, DrawError> {
        let group = self.upright_group();
        let count = self.series.len() as f64;
        let bar = ((group - (group * 0.22).max(8.0)) / count).min(WIDEST_BAR);
        let gap = group - bar * count;
        let numbers = (self.widest_number <= bar).then_some(self.numbers);
        let [below, above] = self.number_rooms(numbers, NUMBER_ROOM);
        let left = MARGIN + self.tick_room();
        let axis_room = LABEL_LINE * self.axis.len() as i32 + 12;
        let top = self.head.height + axis_room + above;
        let bottom = top + UPRIGHT_HEIGHT;
        let lines = labels.iter().map(Vec::len).max().unwrap_or(0) as i32;
        let height = bottom + below + 10 + lines * LABEL_LINE + MARGIN;
        let scale = Scale::new(self.ticks.ends(), [bottom, top]);
        self.head.page(height, |canvas| {
            lines_of(canvas, &self.axis, (MARGIN, self.head.height), Side::Left)?;
            for (&value, text) in self.ticks.values.iter().zip(self.ticks.texts()) {
                let y = scale.at(value);
                canvas.fill([(left, y), (self.head.right(), y + 1)], (GRID, 1.0))?;
                canvas.text(&text, (left - 8, y), Type::of(TICK).to(Side::Right).soft())?;
            }
            let field = Field {
                direction: Direction::Up,
                series: self.series,
                scale,
                start: left,
                group,
                gap,
                numbers,
            };
            field.draw(canvas)?;
            let zero = scale.at(0.0);
            canvas.fill([(left, zero), (self.head.right(), zero + 1)], (INK, 1.0))?;
            for (place, lines) in labels.iter().enumerate() {
                let middle = f64::from(left) + group * (place as f64 + 0.5);
                lines_of(canvas, lines, (middle as i32, bottom + below + 10), Side::Middle)?;
            }
            Ok(())
        })
    }

    fn lying(&self) -> Result<String, DrawError> {
        let bar = match self.series.len() {
            1 | 2 => 16.0,
            3 | 4 => 14.0,
            _ => 10.0,
        };
        let numbers = (bar >= 14.0).then_some(self.numbers);
        let labels: Vec<Vec<String>> = self
            .groups
            .iter()
            .map(|name| wrap(name, LABEL, LABEL_ROOM * self.head.inner(), 4))
            .collect();
        let lines = labels.iter().map(Vec::len).max().unwrap_or(0) as i32;
        let room = labels.iter().map(|lines| widest(lines, LABEL)).fold(0.0, f64::max);
        let bars = bar * self.series.len() as f64;
        let group = (bars + 14.0).max(f64::from(lines * LABEL_LINE + 8));
        let number_room = self.widest_number.ceil() as i32 + 8;
        let [before, after] = self.number_rooms(numbers, number_room);
        let left = MARGIN + room.ceil() as i32 + 14;
        let right = self.head.right() - after.max(self.tick_room() / 2);
        let axis_room = LABEL_LINE * self.axis.len() as i32 + 10;
        let top = self.head.height + axis_room + 24;
        let bottom = top + (group * self.groups.len() as f64).round() as i32;
        let scale = Scale::new(self.ticks.ends(), [left + before, right]);
        self.head.page(bottom + 26 + MARGIN, |canvas| {
            let fits = widest(&self.axis, LABEL) <= f64::from(self.head.right() - left);
            let start = if fits { left } else { MARGIN };
            lines_of(canvas, &self.axis, (start, self.head.height), Side::Left)?;
            for (value, text) in self.ticks.level(scale, TICK) {
                let x = scale.at(value);
                canvas.fill([(x, top), (x + 1, bottom)], (GRID, 1.0))?;
                // Whoever reads the last groups should not have to look up.
                let ends = [top - 12, bottom + 14];
                let shown = if bottom - top > UPRIGHT_HEIGHT { &ends[..] } else { &ends[1..] };
                for &y in shown {
                    canvas.text(&text, (x, y), Type::of(TICK).to(Side::Middle).soft())?;
                }
            }
            for (place, lines) in labels.iter().enumerate() {
                let start = f64::from(top) + group * place as f64;
                if place > 0 {
                    let y = start.round() as i32;
                    canvas.fill([(MARGIN, y), (self.head.right(), y + 1)], (GRID, 0.7))?;
                }
                let room = (group - f64::from(LABEL_LINE) * lines.len() as f64) / 2.0;
                lines_of(canvas, lines, (left - 14, (start + room) as i32), Side::Right)?;
            }
            let field = Field {
                direction: Direction::Right,
                series: self.series,
                scale,
                start: top,
                group,
                gap: group - bars,
                numbers,
            };
            field.draw(canvas)?;
            let zero = scale.at(0.0);
            canvas.fill([(zero, top), (zero + 1, bottom)], (INK, 1.0))
        })
    }
}

impl Field<'_> {
    fn draw(&self, canvas: &Canvas<'_>) -> Drawn {
        let bar = (self.group - self.gap) / self.series.len() as f64;
        for (place, series) in self.series.iter().enumerate() {
            let color = color::series(place);
            for (group, value) in series.values.iter().enumerate() {
                let first = f64::from(self.start) + self.group * group as f64 + self.gap / 2.0;
                let across = [place, place + 1].map(|at| (first + bar * at as f64).round() as i32);
                let interval = series.intervals.get(group).copied().flatten();
                match *value {
                    Some(value) => self.bar(canvas, across, value, interval, color)?,
                    None => self.write(canvas, across, 0.0, "–", End::After)?,
                }
            }
        }
        Ok(())
    }

    fn bar(
        &self,
        canvas: &Canvas<'_>,
        across: [i32; 2],
        value: f64,
        interval: Option<[f64; 2]>,
        color: (RGBColor, f64),
    ) -> Drawn {
        // One pixel between two bars keeps them apart.
        let across = [across[0], if across[1] - across[0] > 6 { across[1] - 1 } else { across[1] }];
        canvas
            .edged(self.corners(across, [0.0, value].map(|value| self.scale.at(value))), color)?;
        if let Some(interval) = interval {
            let middle = (across[0] + across[1]) / 2;
            let cap = ((across[1] - across[0]) / 4).clamp(2, 6);
            let ends = interval.map(|end| self.scale.at(end));
            canvas.fill(self.corners([middle, middle + 1], ends), (INK, 1.0))?;
            for end in ends {
                canvas.fill(
                    self.corners([middle - cap, middle + cap + 1], [end, end + 1]),
                    (INK, 1.0),
                )?;
            }
        }
        let Some(numbers) = self.numbers else { return Ok(()) };
        let (low, high) =
            interval.map_or((value, value), |[low, high]| (low.min(value), high.max(value)));
        let (outer, end) =
            if value < 0.0 { (low.min(0.0), End::Before) } else { (high, End::After) };
        self.write(canvas, across, outer, &text(value, numbers.decimals, numbers.sign), end)
    }

    /// Writes beyond the end of a bar.
    fn write(
        &self,
        canvas: &Canvas<'_>,
        across: [i32; 2],
        value: f64,
        text: &str,
        end: End,
    ) -> Drawn {
        let middle = (across[0] + across[1]) / 2;
        let along = self.scale.at(value);
        let style = Type::of(NUMBER);
        match (self.direction, end) {
            (Direction::Up, End::After) => {
                canvas.text(text, (middle, along - 9), style.to(Side::Middle))
            }
            (Direction::Up, End::Before) => {
                canvas.text(text, (middle, along + 10), style.to(Side::Middle))
            }
            (Direction::Right, End::After) => canvas.text(text, (along + 5, middle), style),
            (Direction::Right, End::Before) => {
                canvas.text(text, (along - 5, middle), style.to(Side::Right))
            }
        }
    }

    fn corners(&self, across: [i32; 2], along: [i32; 2]) -> [(i32, i32); 2] {
        match self.direction {
            Direction::Up => [(across[0], along[0]), (across[1], along[1])],
            Direction::Right => [(along[0], across[0]), (along[1], across[1])],
        }
    }
}

/// On which side of a value a text stands.
#[derive(Debug, Clone, Copy)]
enum End {
    Before,
    After,
}

/// Lines from this height downwards.
fn lines_of(canvas: &Canvas<'_>, lines: &[String], (x, top): (i32, i32), side: Side) -> Drawn {
    for (place, line) in (0..).zip(lines) {
        let y = top + LABEL_LINE * place + LABEL_LINE / 2;
        canvas.text(line, (x, y), Type::of(LABEL).to(side))?;
    }
    Ok(())
}
