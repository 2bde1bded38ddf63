//! Where on the page does a value lie, and which values are written at an axis?

use super::label::widest;

/// From values to pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    values: [f64; 2],
    pixels: [f64; 2],
}

/// Round values along an axis, from below the least to above the greatest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ticks {
    pub(super) values: Vec<f64>,
    decimals: usize,
}

impl Scale {
    pub(super) fn new(values: [f64; 2], pixels: [i32; 2]) -> Self {
        Self { values, pixels: pixels.map(f64::from) }
    }

    /// The pixel nearest to a value.
    pub(super) fn at(&self, value: f64) -> i32 {
        let share = (value - self.values[0]) / (self.values[1] - self.values[0]);
        (self.pixels[0] + share * (self.pixels[1] - self.pixels[0])).round() as i32
    }
}

impl Ticks {
    /// About so many round values around these.
    pub(super) fn around(least: f64, greatest: f64, about: usize) -> Self {
        let (least, greatest) = match greatest - least {
            0.0 => (least - 0.5, greatest + 0.5),
            _ => (least, greatest),
        };
        let rough = (greatest - least) / about.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let rounds = [1.0, 2.0, 2.5, 5.0, 10.0];
        let step = rounds.iter().map(|round| round * power).find(|&step| step >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let first = (least / step + 1e-9).floor();
        let count = ((greatest / step - 1e-9).ceil() - first).max(1.0) as usize;
        let values: Vec<f64> = (0..=count).map(|tick| (first + tick as f64) * step).collect();
        let is_exact = |decimals: &usize| {
            let scaled = step * 10f64.powi(*decimals as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        };
        Self { values, decimals: (0..12).find(is_exact).unwrap_or(12) }
    }

    /// Those that lie between these ends.
    pub(super) fn within(mut self, [from, to]: [f64; 2]) -> Self {
        self.values.retain(|&value| from <= value && value <= to);
        self
    }

    /// The first and the last of them.
    pub(super) fn ends(&self) -> [f64; 2] {
        [self.values[0], self.values[self.values.len() - 1]]
    }

    /// Each with its text along a level axis, as many as have room beside each other.
    pub(super) fn level(&self, scale: Scale, size: f64) -> Vec<(f64, String)> {
        let texts = self.texts();
        let apart = match self.values[..] {
            [first, second, ..] => (scale.at(second) - scale.at(first)).abs().max(1),
            _ => i32::MAX,
        };
        let every = ((widest(&texts, size) + 8.0) / f64::from(apart)).ceil().max(1.0) as usize;
        // Where nought is on the axis, it is written.
        let nought = self.values.iter().position(|&value| value == 0.0).unwrap_or(0);
        let is_written = |place: usize| place.abs_diff(nought).is_multiple_of(every);
        let ticks = self.values.iter().zip(texts).enumerate();
        ticks
            .map(|(place, (&value, text))| {
                (value, if is_written(place) { text } else { String::new() })
            })
            .collect()
    }

    /// Each as it is written.
    pub(super) fn texts(&self) -> Vec<String> {
        self.values.iter().map(|&value| text(value, self.decimals, Sign::Minus)).collect()
    }
}

/// Which signs a number has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sign {
    /// A minus where it is less than nought.
    Minus,
    /// A plus too: it is a difference.
    Both,
}

/// A number as it is written into a plot.
pub(super) fn text(value: f64, decimals: usize, sign: Sign) -> String {
    let amount = format!("{:.decimals$}", value.abs());
    let is_nought = amount.chars().all(|digit| matches!(digit, '0' | '.'));
    match sign {
        _ if is_nought => amount,
        _ if value < 0.0 => format!("−{amount}"),
        Sign::Both => format!("+{amount}"),
        Sign::Minus => amount,
    }
}

/// Decimals by which numbers of this amount are told apart.
pub(super) fn decimals(greatest: f64) -> usize {
    match greatest {
        amount if amount >= 1000.0 => 0,
        amount if amount >= 5.0 => 1,
        amount if amount >= 0.5 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let check = |least: f64, greatest: f64, expected: &[&str]| {
            let ticks = Ticks::around(least, greatest, 5);
            assert_eq!(ticks.texts(), expected, "{least} to {greatest}");
            let [first, last] = ticks.ends();
            assert!(first <= least + 1e-9 && last >= greatest - 1e-9);
        };
        check(0.0, 48.0, &["0", "10", "20", "30", "40", "50"]);
        check(-3.2, 9.9, &["−5", "0", "5", "10"]);
        check(0.0, 0.004, &["0.000", "0.001", "0.002", "0.003", "0.004"]);
        check(7.0, 7.0, &["6.4", "6.6", "6.8", "7.0", "7.2", "7.4", "7.6"]);
        check(0.0, 2.4e6, &["0", "500000", "1000000", "1500000", "2000000", "2500000"]);
    }

    #[test]
    fn a_sign_stands_where_there_is_a_difference() {
        assert_eq!(text(4.14, 1, Sign::Both), "+4.1");
        assert_eq!(text(-4.15, 0, Sign::Minus), "−4");
        assert_eq!(text(-0.01, 1, Sign::Both), "0.0");
        assert_eq!(text(12.0, 1, Sign::Minus), "12.0");
    }
}
