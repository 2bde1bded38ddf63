//! The reliability plot: is a confidence of seven tenths right seven times in ten?

use std::path::Path;

use anyhow::{Context, anyhow};
use plotters::prelude::*;

use super::Asked;
use super::tables::{BINS, in_bin, judged};

/// Fewer requests than this say nothing about a share.
const FEWEST: usize = 10;

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

/// Draws one line a library, as SVG.
pub(super) fn draw(asked: &[Asked], file: &Path) -> anyhow::Result<()> {
    let area = SVGBackend::new(file, (760, 560)).into_drawing_area();
    (|| {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(18)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d(0.2..1.0, 0.0..1.0)?;
        let percent = |share: &f64| format!("{:.0} %", share * 100.0);
        chart
            .configure_mesh()
            .x_desc("confidence of the route")
            .y_desc("of these, the right skill")
            .x_label_formatter(&percent)
            .y_label_formatter(&percent)
            .axis_desc_style((FONT, 16).into_font().color(&INK))
            .label_style((FONT, 13).into_font().color(&INK))
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.12))
            .axis_style(INK.mix(0.5))
            .draw()?;
        chart.draw_series(DashedLineSeries::new(
            [(0.2, 0.2), (1.0, 1.0)],
            6,
            5,
            INK.mix(0.7).stroke_width(1),
        ))?;
        for (asked, color) in asked.iter().zip(COLORS.iter().cycle()) {
            let points = points(&judged(asked));
            let line = LineSeries::new(points.clone(), color.stroke_width(2));
            chart.draw_series(line)?.label(asked.judged.name.clone()).legend(move |(x, y)| {
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
fn points(judged: &[(f64, bool)]) -> Vec<(f64, f64)> {
    (0..BINS)
        .map(|bin| judged.iter().filter(|(sure, _)| in_bin(*sure, bin)).collect::<Vec<_>>())
        .filter(|inside| inside.len() >= FEWEST)
        .map(|inside| {
            let mean = |of: &dyn Fn(&(f64, bool)) -> f64| {
                inside.iter().map(|at| of(at)).sum::<f64>() / inside.len() as f64
            };
            (mean(&|at| at.0), mean(&|at| f64::from(at.1)))
        })
        .collect()
}
