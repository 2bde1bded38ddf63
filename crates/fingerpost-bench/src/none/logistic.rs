//! Which weights make what happened likeliest?
//!
//! Logistic regression by Newton's method, on features brought to one scale; a small ridge keeps a weight
//! from growing where little speaks against it.

const RIDGE: f64 = 1e-3;
const STEPS: usize = 50;

/// One observation: the features, what happened, and what it counts.
pub(super) type Row<const N: usize> = ([f64; N], bool, f64);

/// The bias, and a weight for each feature.
pub(super) fn fit<const N: usize>(rows: &[Row<N>]) -> (f64, [f64; N]) {
    let all: f64 = rows.iter().map(|row| row.2).sum();
    let mean = |of: &dyn Fn(&Row<N>) -> f64| -> f64 {
        rows.iter().map(|row| row.2 * of(row)).sum::<f64>() / all.max(f64::MIN_POSITIVE)
    };
    let means: [f64; N] = std::array::from_fn(|at| mean(&|row| row.0[at]));
    let spreads: [f64; N] =
        std::array::from_fn(|at| mean(&|row| (row.0[at] - means[at]).powi(2)).sqrt().max(1e-9));
    let size = N + 1;
    let mut weights = vec![0.0; size];
    for _ in 0..STEPS {
        let mut gradient: Vec<f64> = weights.iter().map(|weight| RIDGE * weight).collect();
        let mut curvature = vec![vec![0.0; size]; size];
        (0..size).for_each(|at| curvature[at][at] = RIDGE);
        for (features, happened, counts) in rows {
            let mut scaled = vec![1.0; size];
            for at in 0..N {
                scaled[at + 1] = (features[at] - means[at]) / spreads[at];
            }
            let odds: f64 = scaled.iter().zip(&weights).map(|(x, w)| x * w).sum();
            let likely = 1.0 / (1.0 + (-odds).exp());
            let pull = counts * (likely - f64::from(*happened));
            let bend = counts * likely * (1.0 - likely);
            for a in 0..size {
                gradient[a] += pull * scaled[a];
                for b in 0..size {
                    curvature[a][b] += bend * scaled[a] * scaled[b];
                }
            }
        }
        let step = solve(curvature, gradient);
        weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight -= step);
        if step.iter().all(|step| step.abs() < 1e-8) {
            break;
        }
    }
    let found: [f64; N] = std::array::from_fn(|at| weights[at + 1] / spreads[at]);
    let shift: f64 = found.iter().zip(means).map(|(weight, mean)| weight * mean).sum();
    (weights[0] - shift, found)
}

/// Gaussian elimination with the largest pivot.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for at in 0..size {
        let pivot = (at..size)
            .max_by(|&a, &b| matrix[a][at].abs().total_cmp(&matrix[b][at].abs()))
            .unwrap_or(at);
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        let above = matrix[at].clone();
        for below in at + 1..size {
            let share = matrix[below][at] / above[at];
            let row = matrix[below].iter_mut().zip(&above).skip(at);
            row.for_each(|(value, above)| *value -= share * above);
            right[below] -= share * right[at];
        }
    }
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size).map(|column| matrix[at][column] * right[column]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_found_again() {
        // Without the sign one in five, with it four in five; the other feature says nothing.
        let rows: Vec<Row<2>> = (0..40)
            .map(|n| {
                let sign = f64::from(n / 20);
                ([sign, f64::from(n % 2)], (n % 5 == 0) != (n >= 20), 1.0)
            })
            .collect();
        let (bias, [sign, nothing]) = fit(&rows);
        let share = |odds: f64| 1.0 / (1.0 + (-odds).exp());
        assert!((share(bias + nothing / 2.0) - 0.2).abs() < 0.01, "{bias} {sign} {nothing}");
        assert!((share(bias + sign + nothing / 2.0) - 0.8).abs() < 0.01, "{bias} {sign} {nothing}");
        assert!(nothing.abs() < 0.01, "{nothing}");
    }
}
