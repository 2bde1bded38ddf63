//! Which skills could be taken for each other?
//!
//! A neighborhood is a set of at most ten skills whose vectors are near each other: they are
//! contrasted in one go. Spherical k-means cuts the library into buckets, average linkage joins
//! what is nearer than the threshold, and what is too large falls apart again. Skills without a
//! look-alike are neighborhoods of one.
//!
//! With [`Probing::Plain`], linkage runs inside each bucket, as in the paper, and look-alikes on
//! two sides of a border are lost to each other. With [`Probing::Repaired`] each skill is also
//! compared with the next nearest buckets, and linkage runs over the whole library along the pairs
//! below the threshold. Where these are all of them, and no skill has more than 32, the result is
//! average linkage of all skills without any buckets.

mod assign;
mod buckets;
mod calibrate;
mod duplicates;
mod graph;
mod kmeans;
mod linkage;
mod products;
mod sparse;
mod split;
mod structure;

pub use assign::{Update, update};
pub use buckets::Buckets;
pub use calibrate::{Because, Calibration, Measured, calibrate};
pub use duplicates::{DUPLICATE, DuplicatePair, Duplicates, document_imposed_error, duplicates};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use structure::{Structure, SweepRow, structure, sweep};

use self::split::Limits;
use crate::embedding::{Profile, Vectors};
use crate::skill::SkillIdx;

/// Everything that decides the neighborhoods of given vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NeighborhoodConfig {
    /// How many buckets; by default as many as hold about 130 skills each.
    pub buckets: Option<usize>,
    /// How near look-alikes are.
    pub max_distance: Threshold,
    /// Members of a neighborhood at most.
    pub max_size: usize,
    /// Smaller neighborhoods are not contrasted: their skills are treated as if alone. The paper
    /// says three in one place and two in another; a real neighbor beats an imagined one.
    pub min_contrast: usize,
    /// Decides what k-means starts from and which pairs calibration looks at.
    pub seed: u64,
    /// What is done about look-alikes in different buckets.
    pub probing: Probing,
}

impl Default for NeighborhoodConfig {
    fn default() -> Self {
        Self {
            buckets: None,
            max_distance: Threshold::Calibrated,
            max_size: 10,
            min_contrast: 2,
            seed: 42,
            probing: Probing::default(),
        }
    }
}

/// How near look-alikes are, as a cosine distance that they stay strictly below.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// This near.
    Fixed(f64),
    /// The encoder's own, if it has one; else measured in the library: see [`calibrate()`].
    Calibrated,
}

impl Threshold {
    /// The paper's value, which belongs to its encoder.
    pub const PAPER: Self = Self::Fixed(0.15);

    /// The same for vectors of this profile: an encoder whose distance is known needs no measuring.
    #[must_use]
    pub fn for_profile(self, profile: &Profile) -> Self {
        let name = profile.name.to_lowercase();
        match self {
            Self::Calibrated if name.contains("qwen3-embedding") => Self::PAPER,
            threshold => threshold,
        }
    }
}

/// What is done about look-alikes in different buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probing {
    /// Nothing: linkage inside each bucket alone, as in the paper.
    Plain,
    /// Every skill is compared with this many nearest buckets, its own included.
    Repaired {
        /// How many.
        buckets: usize,
    },
}

impl Default for Probing {
    fn default() -> Self {
        // Measured on 16,417 real skills: one loses 10 % of the pairs, two 1.4 %, four 0.2 %.
        Self::Repaired { buckets: 4 }
    }
}

/// A neighborhood's number: they are in the order of their first members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeighborhoodIdx(pub u32);

/// A library's skills, each in one neighborhood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Neighborhoods {
    groups: Vec<Vec<SkillIdx>>,
    of: Vec<NeighborhoodIdx>,
}

impl Neighborhoods {
    /// Takes groups in any order.
    ///
    /// # Panics
    /// If they do not hold every row from zero up exactly once.
    pub fn new(mut groups: Vec<Vec<SkillIdx>>) -> Self {
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups.sort_unstable();
        let skills = groups.iter().map(Vec::len).sum();
        let mut of = vec![None; skills];
        for (number, group) in (0..).zip(&groups) {
            assert!(!group.is_empty(), "a neighborhood has members");
            for skill in group {
                let before = of[skill.row()].replace(NeighborhoodIdx(number));
                assert_eq!(before, None, "a skill is in one neighborhood");
            }
        }
        let of = of.into_iter().map(|of| of.expect("as many places as skills")).collect();
        Self { groups, of }
    }

    /// How many there are, neighborhoods of one included.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// How many skills they hold.
    pub fn skills(&self) -> usize {
        self.of.len()
    }

    /// All in order, each with its members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NeighborhoodIdx, &[SkillIdx])> {
        (0..self.groups.len()).map(|at| (NeighborhoodIdx(at as u32), &self.groups[at][..]))
    }

    /// The members of one, in order.
    pub fn members(&self, neighborhood: NeighborhoodIdx) -> &[SkillIdx] {
        &self.groups[neighborhood.0 as usize]
    }

    /// Where a skill is.
    pub fn of(&self, skill: SkillIdx) -> NeighborhoodIdx {
        self.of[skill.row()]
    }

    /// Whom a skill is to be contrasted with: the others of its neighborhood, unless that is
    /// smaller than [`NeighborhoodConfig::min_contrast`].
    pub fn look_alikes(
        &self,
        skill: SkillIdx,
        min_contrast: usize,
    ) -> impl Iterator<Item = SkillIdx> {
        let members = self.members(self.of(skill));
        let members = if members.len() < min_contrast { &[] } else { members };
        members.iter().copied().filter(move |&other| other != skill)
    }

    /// How many skills are alone.
    pub fn singletons(&self) -> usize {
        self.groups.iter().filter(|group| group.len() == 1).count()
    }

    /// Size of the largest.
    pub fn largest(&self) -> usize {
        self.groups.iter().map(Vec::len).max().unwrap_or(0)
    }
}

/// How the neighborhoods came about.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The threshold and why it is that.
    pub calibration: Calibration,
    /// Buckets made.
    pub buckets: usize,
    /// Size of the largest.
    pub largest_bucket: usize,
    /// Mean cosine of a skill and its bucket's center.
    pub mean_cosine: f64,
    /// Rounds of k-means over all skills.
    pub rounds: usize,
    /// Clusters above the maximal size, which were cut.
    pub cut: usize,
    /// Skills with more look-alikes than linkage follows (repaired only).
    pub crowded: usize,
    /// Skills without a vector, which are alone.
    pub without_vector: usize,
}

/// Groups the library's skills. The same vectors and settings give the same neighborhoods, on any
/// number of threads.
pub fn partition(vectors: &Vectors, config: &NeighborhoodConfig) -> (Neighborhoods, Report) {
    let count = config.buckets.unwrap_or_else(|| Buckets::count_for(vectors.len()));
    let buckets = Buckets::fit(vectors, count, config.seed);
    partition_in(vectors, &buckets, config)
}

/// The same in buckets that exist already.
pub fn partition_in(
    vectors: &Vectors,
    buckets: &Buckets,
    config: &NeighborhoodConfig,
) -> (Neighborhoods, Report) {
    let calibration = match config.max_distance {
        Threshold::Fixed(max_distance) => {
            Calibration { max_distance, because: Because::Given, measured: None }
        }
        Threshold::Calibrated => calibrate(vectors, config.max_size, config.seed),
    };
    let limits =
        Limits { max_size: config.max_size.max(1), max_distance: calibration.max_distance };
    let (mut groups, cut, crowded) = match config.probing {
        Probing::Plain => in_buckets(vectors, buckets, limits),
        Probing::Repaired { buckets: probes } => along_graph(vectors, buckets, probes, limits),
    };
    let mut alone = vec![true; vectors.len()];
    groups.iter().flatten().for_each(|&row| alone[row as usize] = false);
    groups.extend((0..).zip(&alone).filter(|(_, alone)| **alone).map(|(row, _)| vec![row]));
    let skills = |group: Vec<u32>| group.into_iter().map(SkillIdx).collect();
    let report = Report {
        calibration,
        buckets: buckets.len(),
        largest_bucket: buckets.largest(),
        mean_cosine: buckets.mean_cosine,
        rounds: buckets.rounds,
        cut,
        crowded,
        without_vector: vectors.len() - buckets::nonzero(vectors).len(),
    };
    (Neighborhoods::new(groups.into_iter().map(skills).collect()), report)
}

type Groups = (Vec<Vec<u32>>, usize, usize);

fn in_buckets(vectors: &Vectors, buckets: &Buckets, limits: Limits) -> Groups {
    let in_bucket = |rows: &Vec<u32>| {
        let merges = linkage::average_linkage(vectors, rows, limits.max_distance);
        split::cut_to_size(vectors, rows, &merges, limits)
    };
    let (groups, cut): (Vec<_>, Vec<usize>) = buckets.members.par_iter().map(in_bucket).unzip();
    (groups.into_iter().flatten().collect(), cut.into_iter().sum(), 0)
}

fn along_graph(vectors: &Vectors, buckets: &Buckets, probes: usize, limits: Limits) -> Groups {
    let graph = graph::graph(vectors, buckets, probes, limits.max_distance);
    let in_piece = |rows: &Vec<u32>| {
        let merges = sparse::linkage_along(vectors, &graph, rows, limits.max_distance);
        split::cut_to_size(vectors, rows, &merges, limits)
    };
    let (groups, cut): (Vec<_>, Vec<usize>) = graph.pieces().par_iter().map(in_piece).unzip();
    (groups.into_iter().flatten().collect(), cut.into_iter().sum(), graph.crowded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::Pooling;

    #[test]
    fn the_papers_distance_is_for_its_encoder() {
        let of = |name: &str, threshold: Threshold| {
            threshold.for_profile(&Profile {
                name: name.into(),
                engine: String::new(),
                weights: String::new(),
                dimensions: 8,
                max_tokens: 512,
                pooling: Pooling::Mean,
                query_prefix: String::new(),
                document_prefix: String::new(),
            })
        };
        assert_eq!(of("Qwen3-Embedding-8B", Threshold::Calibrated), Threshold::PAPER);
        assert_eq!(of("gte-small", Threshold::Calibrated), Threshold::Calibrated);
        assert_eq!(of("qwen3-embedding-0.6b", Threshold::Fixed(0.2)), Threshold::Fixed(0.2));
    }
}
