//! Where may the true mean of a few rounds lie?

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of several rounds, and two intervals of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverRounds {
    /// The mean.
    pub mean: f64,
    /// Two standard errors to either side.
    pub two_errors: [f64; 2],
    /// By Student's t, 95 times of 100.
    pub student: [f64; 2],
}

/// The mean of some rounds; nothing of fewer than two.
pub fn over_rounds(values: &[f64]) -> Option<OverRounds> {
    let n = values.len() as f64;
    if n < 2.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
    let around = |width: f64| [mean - width * error, mean + width * error];
    Some(OverRounds { mean, two_errors: around(2.0), student: around(t) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_match_a_table() {
        // scipy.stats.t.interval(0.95, 4, loc=3.0, scale=sem) of these five: 1.0368 to 4.9632.
        let over = over_rounds(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(over.mean, 3.0);
        assert!((over.student[0] - 1.036_76).abs() < 1e-4, "{over:?}");
        assert!((over.two_errors[1] - (3.0 + 2.0 * 0.5_f64.sqrt())).abs() < 1e-9);
        assert_eq!(over_rounds(&[1.0]), None);
    }
}
