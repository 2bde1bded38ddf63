//! Which skills are one and the same, and what does that cost at least?
//!
//! Two skills with the same document, or nearly so, cannot be contrasted: a boundary between them
//! would be invented. They are reported instead, for a person to merge or to tell apart.

use std::collections::BTreeSet;

use super::buckets::Buckets;
use super::graph::{Neighbor, graph};
use super::linkage::distance;
use crate::embedding::Vectors;
use crate::skill::SkillIdx;

/// Similarity above which two skills are duplicates.
pub const DUPLICATE: f64 = 0.98;

/// Buckets a skill looks for its duplicates in. They are so near that two are plenty.
const PROBES: usize = 2;

/// Groups of duplicates, in order: each skill in a group has a duplicate in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Duplicates {
    /// Members in order; a group may hold pairs that are only joined by others.
    pub groups: Vec<Vec<SkillIdx>>,
}

impl Duplicates {
    /// The pairs themselves. A library of a thousand copies has half a million, so they are not
    /// kept.
    pub fn pairs<'a, D: Eq>(
        &'a self,
        vectors: &'a Vectors,
        digests: &'a [D],
    ) -> impl Iterator<Item = DuplicatePair> + 'a {
        let in_group = |group: &'a Vec<SkillIdx>| {
            let after = move |at| group[at + 1..].iter().map(move |&second| (group[at], second));
            (0..group.len()).flat_map(after)
        };
        self.groups.iter().flat_map(in_group).filter_map(move |(first, second)| {
            let identical = digests[first.row()] == digests[second.row()];
            let near = distance(vectors, first.0, second.0) < 1.0 - DUPLICATE;
            (identical || near).then_some(DuplicatePair { first, second, identical })
        })
    }
}

/// Two skills that no reader of their documents can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicatePair {
    /// The first in order.
    pub first: SkillIdx,
    /// The second.
    pub second: SkillIdx,
    /// True if the documents are the same to the byte.
    pub identical: bool,
}

/// Finds skills with equal digests, or with vectors more similar than [`DUPLICATE`].
pub fn duplicates<D: Ord>(vectors: &Vectors, digests: &[D], buckets: &Buckets) -> Duplicates {
    assert_eq!(vectors.len(), digests.len(), "one digest a skill");
    let mut graph = graph(vectors, buckets, PROBES, 1.0 - DUPLICATE);
    let mut by_digest: Vec<u32> = (0..digests.len() as u32).collect();
    by_digest.sort_unstable_by_key(|&row| (&digests[row as usize], row));
    for pair in by_digest.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        if digests[a as usize] == digests[b as usize] {
            graph.neighbors[a as usize].push(Neighbor { row: b, distance: 0.0 });
            graph.neighbors[b as usize].push(Neighbor { row: a, distance: 0.0 });
        }
    }
    let skills = |piece: Vec<u32>| piece.into_iter().map(SkillIdx).collect();
    Duplicates { groups: graph.pieces().into_iter().map(skills).collect() }
}

/// The error that no scorer of the documents can avoid on a pair whose documents are the same.
///
/// Whoever reads only the documents must give both skills one score for a request. On a request
/// that one of them can serve and the other cannot, any score is off by a total of at least one
/// over the two, so by a half on average; on the others it need not be off at all. The least error
/// is therefore half the probability of the requests that exactly one can serve. Here requests are
/// those of a judged sample of this size, each as probable as the next, and the sets say which of
/// them each skill can serve.
pub fn document_imposed_error<R: Ord>(
    first: &BTreeSet<R>,
    second: &BTreeSet<R>,
    requests: usize,
) -> f64 {
    if requests == 0 {
        return 0.0;
    }
    0.5 * first.symmetric_difference(second).count() as f64 / requests as f64
}

#[cfg(test)]
mod tests {
    use super::super::linkage::tests::at_angles;
    use super::*;

    #[test]
    fn equal_digests_and_near_vectors_are_duplicates() {
        let vectors = at_angles(&[0.0, 5.0, 90.0, 40.0, 160.0, 45.0]);
        let digests = ["a", "b", "c", "d", "c", "e"];
        let found = duplicates(&vectors, &digests, &Buckets::fit(&vectors, 1, 1));
        let groups: Vec<Vec<u32>> =
            found.groups.iter().map(|group| group.iter().map(|skill| skill.0).collect()).collect();
        assert_eq!(groups, [[0, 1], [2, 4], [3, 5]]);
        let pairs = found.pairs(&vectors, &digests);
        let identical: Vec<bool> = pairs.map(|pair| pair.identical).collect();
        assert_eq!(identical, [false, true, false]);
    }

    #[test]
    fn the_unavoidable_error_is_half_of_what_one_alone_can_serve() {
        let (first, second) = (BTreeSet::from([1, 2, 3]), BTreeSet::from([3, 4]));
        assert_eq!(document_imposed_error(&first, &second, 10), 0.15);
        assert_eq!(document_imposed_error(&first, &first, 10), 0.0);
        assert_eq!(document_imposed_error::<u8>(&BTreeSet::new(), &BTreeSet::new(), 0), 0.0);
        // No score does better: try them all on the requests.
        let error = |score: f64| {
            let off = |served: bool| (f64::from(u8::from(served)) - score).abs();
            let both = |request| off(first.contains(&request)) + off(second.contains(&request));
            (0..10).map(both).sum::<f64>() / 20.0
        };
        assert!((0..=10).all(|tenth| error(f64::from(tenth) / 10.0) >= 0.15 - 1e-12));
    }
}
