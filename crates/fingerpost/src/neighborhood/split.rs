//! What becomes of a cluster that no page writer could read at once?
//!
//! A cluster above the limit falls apart along its own merges, last one first, until every part
//! fits. A tree of merges often peels off one skill after another, and that would leave skills
//! alone that do have look-alikes. So small parts of the same cluster are put together again while
//! they fit and are below the threshold on average, and a skill still alone joins the nearest part;
//! if that one is full, the eleven become two halves.

use std::collections::BTreeMap;

use super::linkage::{Merges, average_linkage, distance, mean_distance};
use crate::embedding::Vectors;

/// What a part must satisfy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_size: usize,
    pub(super) max_distance: f64,
}

/// The clusters of these merges, each cut to size; singles among them. The second is how many
/// clusters had to be cut.
pub(super) fn cut_to_size(
    vectors: &Vectors,
    rows: &[u32],
    merges: &Merges,
    limits: Limits,
) -> (Vec<Vec<u32>>, usize) {
    let (sizes, roots) = (merges.sizes(), merges.roots());
    // What each label still has to give to the label above it.
    let mut open: Vec<Vec<u32>> = rows.iter().map(|&row| vec![row]).collect();
    let mut parts = BTreeMap::<u32, Vec<Vec<u32>>>::new();
    for (at, &(a, b)) in merges.pairs.iter().enumerate() {
        let label = merges.leaves + at;
        let [a, b] = [a, b].map(|label| std::mem::take(&mut open[label as usize]));
        let fit = a.len() + b.len() <= limits.max_size;
        let whole = sizes[label] <= limits.max_size;
        if whole || fit && mean_distance(vectors, &a, &b) < limits.max_distance {
            open.push([a, b].concat());
        } else {
            let (larger, smaller) = if b.len() > a.len() { (b, a) } else { (a, b) };
            parts.entry(roots[label]).or_default().push(larger);
            open.push(smaller);
        }
    }
    let cut = parts.len();
    for (label, rest) in open.into_iter().enumerate() {
        if !rest.is_empty() {
            parts.entry(roots[label]).or_default().push(rest);
        }
    }
    let of_cluster = |mut parts: Vec<Vec<u32>>| {
        if parts.len() > 1 {
            house_the_single(vectors, &mut parts, limits);
        }
        parts
    };
    let mut all: Vec<Vec<u32>> = parts.into_values().flat_map(of_cluster).collect();
    all.iter_mut().for_each(|part| part.sort_unstable());
    all.sort_unstable();
    (all, cut)
}

/// Links these rows anew, as if nobody else were there.
pub(super) fn link_and_cut(vectors: &Vectors, rows: &[u32], limits: Limits) -> Vec<Vec<u32>> {
    let merges = average_linkage(vectors, rows, limits.max_distance);
    cut_to_size(vectors, rows, &merges, limits).0
}

/// Gives every skill that the cut left alone a place in the nearest part below the threshold.
fn house_the_single(vectors: &Vectors, parts: &mut Vec<Vec<u32>>, limits: Limits) {
    if limits.max_size < 2 {
        return;
    }
    let mut singles: Vec<u32> =
        parts.iter().filter(|part| part.len() == 1).map(|part| part[0]).collect();
    singles.sort_unstable();
    for single in singles {
        // An earlier one may have joined it meanwhile.
        let Some(own) = parts.iter().position(|part| *part == [single]) else { continue };
        let nearest = (0..parts.len())
            .filter(|&at| at != own)
            .map(|at| (mean_distance(vectors, &[single], &parts[at]), at))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Some((distance, at)) = nearest else { continue };
        if distance < limits.max_distance {
            parts[at].push(single);
            if parts[at].len() > limits.max_size {
                let (one, other) = halve(vectors, std::mem::take(&mut parts[at]));
                parts[at] = one;
                parts[own] = other;
            } else {
                parts.swap_remove(own);
            }
        }
    }
}

/// Two halves around the two that are furthest apart.
fn halve(vectors: &Vectors, mut rows: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    rows.sort_unstable();
    let pairs =
        rows.iter().enumerate().flat_map(|(at, &a)| rows[at + 1..].iter().map(move |&b| (a, b)));
    let furthest = pairs.map(|(a, b)| (distance(vectors, a, b), a, b)).max_by(|x, y| {
        // Of equally far pairs the first.
        x.0.total_cmp(&y.0).then((y.1, y.2).cmp(&(x.1, x.2)))
    });
    let Some((_, a, b)) = furthest else { return (rows, Vec::new()) };
    let side = |row: u32| distance(vectors, row, a) - distance(vectors, row, b);
    rows.sort_by(|&x, &y| side(x).total_cmp(&side(y)).then(x.cmp(&y)));
    let other = rows.split_off(rows.len().div_ceil(2));
    (rows, other)
}

#[cfg(test)]
mod tests {
    use super::super::linkage::tests::at_angles;
    use super::*;

    fn parts(vectors: &Vectors, max_size: usize) -> Vec<Vec<u32>> {
        let rows: Vec<u32> = (0..vectors.len() as u32).collect();
        link_and_cut(vectors, &rows, Limits { max_size, max_distance: 0.15 })
    }

    #[test]
    fn a_cluster_falls_apart_along_its_merges() {
        let vectors = at_angles(&[0.0, 1.0, 2.0, 12.0, 13.0, 80.0]);
        assert_eq!(parts(&vectors, 10), [vec![0, 1, 2, 3, 4], vec![5]]);
        assert_eq!(parts(&vectors, 3), [vec![0, 1, 2], vec![3, 4], vec![5]]);
    }

    #[test]
    fn nobody_with_look_alikes_is_left_alone() {
        let alike = Vectors::new(2, [1.0, 2.0].repeat(41));
        let sizes: Vec<usize> = parts(&alike, 10).iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 41);
        assert!(sizes.iter().all(|size| (2..=10).contains(size)), "{sizes:?}");
        // Ten and one more: two halves.
        let mut degrees: Vec<f64> = (0..11).map(f64::from).collect();
        degrees[10] = 14.0;
        let sizes: Vec<usize> = parts(&at_angles(&degrees), 10).iter().map(Vec::len).collect();
        assert!(sizes.iter().all(|size| (2..=10).contains(size)), "{sizes:?}");
    }

    #[test]
    fn a_limit_of_one_leaves_everyone_alone() {
        assert_eq!(parts(&at_angles(&[0.0, 1.0, 2.0]), 1), [[0], [1], [2]]);
    }
}
