//! Which weights make the right candidates likeliest?
//!
//! A candidate is as likely as the exponential of its evidence, among the candidates of its request. The
//! weights that make the right ones likeliest are found by gradient descent; none is below zero, since
//! evidence speaks for a candidate. Only their proportions matter to an order.

use fingerpost::route::ByKind;

const N: usize = ByKind::COUNT;

/// What keeps a weight from growing without bound where little speaks against it.
const RIDGE: f64 = 0.003;

/// A request that some, not all, of its candidates answer.
pub(crate) struct Example<'a> {
    /// The evidence for each candidate, unweighted.
    pub(super) kinds: &'a [[f64; N]],
    /// Which candidates are right.
    pub(super) right: Vec<bool>,
    /// What the request counts.
    pub(super) counts: f64,
}

/// The best weights, that of words being 1.
pub(super) fn weights(examples: &[Example<'_>]) -> ByKind {
    let loss = |weights: &[f64; N]| {
        let mut gradient = weights.map(|weight| 2.0 * RIDGE * weight);
        let mut loss = weights.iter().map(|weight| RIDGE * weight * weight).sum::<f64>();
        for Example { kinds, right, counts } in examples {
            let score = |kinds: &[f64; N]| kinds.iter().zip(weights).map(|(k, w)| k * w).sum();
            let scores: Vec<f64> = kinds.iter().map(score).collect();
            let largest = scores.iter().copied().fold(f64::MIN, f64::max);
            let likely: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
            let all: f64 = likely.iter().sum();
            let of_right: f64 = likely.iter().zip(right).filter(|(_, r)| **r).map(|(l, _)| l).sum();
            loss -= counts * (of_right / all).ln();
            for ((kinds, likely), right) in kinds.iter().zip(&likely).zip(right) {
                let wanted = if *right { likely / of_right } else { 0.0 };
                let pull = counts * (likely / all - wanted);
                gradient.iter_mut().zip(kinds).for_each(|(g, kind)| *g += pull * kind);
            }
        }
        (loss, gradient)
    };
    let found = minimise([1.0; N], loss, 0.0);
    ByKind::from_array(found.map(|weight| weight / found[0].max(f64::MIN_POSITIVE)))
}

/// The place of the least value, by steps downhill that are shortened until they help.
fn minimise<const M: usize>(
    start: [f64; M],
    loss: impl Fn(&[f64; M]) -> (f64, [f64; M]),
    least: f64,
) -> [f64; M] {
    const STEPS: usize = 3000;
    const ENOUGH: f64 = 1e-9;
    let (mut at, mut step) = (start, 1.0);
    let (mut here, mut gradient) = loss(&at);
    for _ in 0..STEPS {
        let mut next = at;
        next.iter_mut().zip(gradient).for_each(|(x, g)| *x = (*x - step * g).max(least));
        let (there, downhill) = loss(&next);
        if there < here {
            let gained = here - there;
            (at, here, gradient) = (next, there, downhill);
            step *= 1.5;
            if gained < ENOUGH {
                break;
            }
        } else {
            step /= 2.0;
            if step < ENOUGH {
                break;
            }
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_right_from_wrong_gets_the_weight() {
        // Words say nothing here, triggers are right three times in four.
        let with = |word: f64, trigger: f64| {
            ByKind { words: word, trigger, ..ByKind::default() }.to_array()
        };
        let pool = [with(1.0, 0.2), with(1.0, 0.9)];
        let example = |right: usize| Example {
            kinds: &pool,
            right: (0..2).map(|at| at == right).collect(),
            counts: 0.25,
        };
        let found = weights(&[example(1), example(1), example(1), example(0)]);
        // What decides nothing is held by nothing but the ridge: it goes to zero, words too.
        for nothing in [found.words, found.phrases, found.meaning] {
            assert!(found.trigger > 10.0 * nothing, "{found:?}");
        }
    }
}
