//! The reliability plot: is a confidence of seven tenths right seven times in ten?

use std::path::Path;

use anyhow::{Context, anyhow};
use plotters::prelude::*;

use super::ask::Asked;
use super::fit::{Judgement, Judgements};
use super::tables::{BINS, SHOWN, by_fold, in_bin, right};

/// Colors that people who see few of them can still tell apart.
const COLORS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(128, 128, 0),
    RGBColor(140, 140, 140),
];

const INK: RGBColor = RGBColor(60, 60, 60);
const FONT: &str = "sans-serif";

/// Draws one line a fold, as SVG.
pub(super) fn draw(
    asked: &[Asked<'_>],
    judgements: &Judgements,
    file: &Path,
) -> anyhow::Result<()> {
    let area = SVGBackend::new(file, (760, 560)).into_drawing_area();
    (|| {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(18)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
        let percent = |share: &f64| format!("{:.0} %", share * 100.0);
        chart
            .configure_mesh()
            .x_desc("confidence of the route")
            .y_desc("of these, the right answer")
            .x_label_formatter(&percent)
            .y_label_formatter(&percent)
            .axis_desc_style((FONT, 16).into_font().color(&INK))
            .label_style((FONT, 13).into_font().color(&INK))
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.12))
            .axis_style(INK.mix(0.5))
            .draw()?;
        chart.draw_series(DashedLineSeries::new(
            [(0.0, 0.0), (1.0, 1.0)],
            6,
            5,
            INK.mix(0.7).stroke_width(1),
        ))?;
        for ((name, judged), color) in by_fold(asked, judgements).iter().zip(COLORS.iter().cycle())
        {
            let points = points(judged);
            let line = LineSeries::new(points.clone(), color.stroke_width(2));
            chart.draw_series(line)?.label(*name).legend(move |(x, y)| {
                PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3))
            });
            chart.draw_series(points.iter().map(|&at| Circle::new(at, 4, color.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .margin(14)
            .label_font((FONT, 14).into_font().color(&INK))
            .background_style(WHITE.mix(0.9))
            .border_style(INK.mix(0.2))
            .draw()?;
        area.present()
    })()
    .map_err(|error| anyhow!("{error}"))
    .with_context(|| format!("cannot draw {}", file.display()))
}

/// The mean confidence of each bin, and the share of right answers in it.
fn points(judged: &[&Judgement]) -> Vec<(f64, f64)> {
    let bin = |bin: usize| -> Vec<&Judgement> {
        judged.iter().copied().filter(|judged| in_bin(judged.confidence, bin)).collect()
    };
    (0..BINS)
        .map(bin)
        .filter(|inside| inside.len() >= SHOWN)
        .filter_map(|inside| {
            let all: f64 = inside.iter().map(|judged| judged.counts).sum();
            let sure: f64 = inside.iter().map(|judged| judged.counts * judged.confidence).sum();
            Some((sure / all, right(inside.into_iter())?))
        })
        .collect()
}
