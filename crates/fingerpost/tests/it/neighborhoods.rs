//! Do neighborhoods hold what they promise, and what scikit-learn gives?

use std::collections::BTreeSet;
use std::process::Command;

use fingerpost::embedding::Vectors;
use fingerpost::neighborhood::{
    Buckets, NeighborhoodConfig, Neighborhoods, Probing, Threshold, calibrate, partition,
    partition_in, update,
};
use fingerpost::skill::SkillIdx;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::data;

const REPAIRED: Probing = Probing::Repaired { buckets: 4 };

fn config(max_distance: f64, probing: Probing) -> NeighborhoodConfig {
    let max_distance = Threshold::Fixed(max_distance);
    NeighborhoodConfig { max_distance, probing, ..NeighborhoodConfig::default() }
}

/// Families of `size` around random directions; a family's skills have a cosine of about 0.9.
fn planted(families: usize, size: usize, dimensions: usize, seed: u64) -> Vectors {
    let mut random = Pcg64::seed_from_u64(seed);
    // The sum of a few uniform draws is near enough to a normal one.
    let mut draw = || (0..4).map(|_| random.random::<f32>() - 0.5).sum::<f32>();
    let mut values = Vec::new();
    for _ in 0..families {
        let center: Vec<f32> = (0..dimensions).map(|_| draw()).collect();
        for _ in 0..size {
            values.extend(center.iter().map(|x| x + 0.33 * draw()));
        }
    }
    Vectors::new(dimensions, values)
}

fn rows(neighborhoods: &Neighborhoods) -> Vec<Vec<u32>> {
    let rows = |members: &[SkillIdx]| members.iter().map(|skill| skill.0).collect();
    neighborhoods.iter().map(|(_, members)| rows(members)).collect()
}

#[test]
fn planted_families_are_found_across_buckets() {
    let vectors = planted(300, 6, 48, 1);
    let (found, report) = partition(&vectors, &config(0.3, REPAIRED));
    assert!(report.buckets > 10);
    let families: Vec<Vec<u32>> =
        (0..300).map(|family| (family * 6..family * 6 + 6).collect()).collect();
    assert_eq!(rows(&found), families);
    assert_eq!(found.of(SkillIdx(13)), found.of(SkillIdx(17)));
    assert_eq!(found.look_alikes(SkillIdx(0), 2).count(), 5);
    assert_eq!(found.look_alikes(SkillIdx(0), 7).count(), 0);

    let (calibrated, report) = partition(&vectors, &NeighborhoodConfig::default());
    assert_eq!(rows(&calibrated), families, "{}", report.calibration);
}

#[test]
fn threads_never_show() {
    let vectors = planted(250, 7, 32, 2);
    for probing in [Probing::Plain, REPAIRED] {
        let config = NeighborhoodConfig { probing, ..NeighborhoodConfig::default() };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (Buckets::fit(&vectors, 20, 5), partition(&vectors, &config)))
        };
        assert_eq!(on(1), on(4));
    }
}

#[test]
fn the_smallest_libraries_and_empty_vectors() {
    for probing in [Probing::Plain, REPAIRED] {
        let config = NeighborhoodConfig { probing, ..NeighborhoodConfig::default() };
        assert!(partition(&Vectors::default(), &config).0.is_empty());
        let groups = |values: Vec<f32>| rows(&partition(&Vectors::new(2, values), &config).0);
        assert_eq!(groups(vec![1.0, 0.0]), [[0]]);
        assert_eq!(groups(vec![1.0, 0.0, 1.0, 0.05]), [[0, 1]]);
        assert_eq!(groups(vec![1.0, 0.0, 0.0, 1.0]), [[0], [1]]);
        assert_eq!(groups(vec![0.0; 6]), [[0], [1], [2]]);
        assert_eq!(groups(vec![1.0, 1.0, 0.0, 0.0, 1.0, 1.0]), [vec![0, 2], vec![1]]);
    }
}

#[test]
fn copies_of_one_skill_fill_neighborhoods() {
    for probing in [Probing::Plain, REPAIRED] {
        let vectors = Vectors::new(8, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0].repeat(1_001));
        let config = NeighborhoodConfig { probing, ..NeighborhoodConfig::default() };
        let (found, _) = partition(&vectors, &config);
        assert_eq!((found.skills(), found.singletons(), found.largest()), (1_001, 0, 10));
    }
}

#[test]
fn the_threshold_fits_the_library() {
    // Nothing alike: nearly nobody has a neighbor.
    let strangers = planted(140, 1, 64, 3);
    let chosen = calibrate(&strangers, 10, 1);
    assert!(chosen.measured.unwrap().grouped <= 0.1, "{chosen}");
    // All alike: nearly everybody has.
    let alike = Vectors::new(64, {
        let center = planted(1, 1, 64, 4).row(0).to_vec();
        let noise = planted(140, 1, 64, 5);
        noise.rows().flat_map(|row| center.iter().zip(row).map(|(x, y)| x + 0.15 * y)).collect()
    });
    let chosen = calibrate(&alike, 10, 1);
    assert!(chosen.measured.unwrap().grouped >= 0.9, "{chosen}");
    // Families among strangers: found, at any size of library.
    for families in [4, 8, 30, 120] {
        let vectors = planted(families, 5, 64, 6);
        let (found, report) = partition(&vectors, &NeighborhoodConfig::default());
        assert_eq!(found.len(), families, "{families}: {}", report.calibration);
    }
}

/// How far two partitions agree beyond chance: one if they are the same, zero for random ones.
fn adjusted_rand_index(a: &Neighborhoods, b: &Neighborhoods) -> f64 {
    let pairs = |count: usize| (count * count.saturating_sub(1)) as f64 / 2.0;
    let together =
        |of: &Neighborhoods| of.iter().map(|(_, members)| pairs(members.len())).sum::<f64>();
    let mut both = 0.0;
    for (_, members) in a.iter() {
        let mut others: Vec<_> = members.iter().map(|&skill| b.of(skill)).collect();
        others.sort_unstable();
        both += others.chunk_by(|x, y| x == y).map(|same| pairs(same.len())).sum::<f64>();
    }
    let (in_a, in_b) = (together(a), together(b));
    let expected = in_a * in_b / pairs(a.skills());
    (both - expected) / ((in_a + in_b) / 2.0 - expected)
}

#[test]
fn many_single_additions_stay_close_to_a_full_partition() {
    let vectors = planted(100, 5, 32, 7);
    let (full, _) = partition(&vectors, &config(0.3, REPAIRED));
    // Every tenth is left out at first, and added afterwards one at a time.
    let mut present: Vec<u32> = (0..500).filter(|row| row % 10 != 0).collect();
    let chosen = |rows: &[u32]| {
        Vectors::new(32, rows.iter().flat_map(|&row| vectors.row(row as usize)).copied().collect())
    };
    let mut grown = partition(&chosen(&present), &config(0.3, REPAIRED)).0;
    for row in (0..500).filter(|row| row % 10 == 0) {
        let at = present.partition_point(|&other| other < row);
        let mut came_from: Vec<Option<SkillIdx>> =
            (0..present.len() as u32).map(|row| Some(SkillIdx(row))).collect();
        came_from.insert(at, None);
        present.insert(at, row);
        grown = update(&grown, &came_from, &chosen(&present), 0.3, 10).neighborhoods;
    }
    assert!(adjusted_rand_index(&full, &grown) > 0.99);
}

fn any_vectors(most: usize) -> impl Strategy<Value = Vectors> {
    // Few distinct values: equal, opposite and zero vectors are common.
    let value = prop_oneof![Just(0.0_f32), Just(1.0), Just(-1.0), 0.0_f32..1.0];
    prop::collection::vec(prop::collection::vec(value, 4), 0..most).prop_map(|rows| {
        if rows.is_empty() { Vectors::default() } else { Vectors::new(4, rows.concat()) }
    })
}

fn any_probing() -> impl Strategy<Value = Probing> {
    prop_oneof![
        Just(Probing::Plain),
        (1_usize..5).prop_map(|buckets| Probing::Repaired { buckets })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_skill_is_in_one_neighborhood_of_allowed_size(
        vectors in any_vectors(60),
        probing in any_probing(),
        max_distance in prop_oneof![Just(Threshold::Calibrated), (0.0_f64..1.5).prop_map(Threshold::Fixed)],
        max_size in 1_usize..12,
        buckets in 1_usize..6,
    ) {
        let config = NeighborhoodConfig {
            buckets: Some(buckets), max_distance, max_size, probing, ..NeighborhoodConfig::default()
        };
        // `Neighborhoods` itself refuses a skill that is missing or there twice.
        let (found, report) = partition(&vectors, &config);
        prop_assert_eq!(found.skills(), vectors.len());
        prop_assert!(found.largest() <= max_size);
        for (_, members) in found.iter() {
            for &skill in members {
                let zero = vectors.row(skill.row()).iter().all(|&x| x == 0.0);
                prop_assert!(members.len() == 1 || !zero);
                // Whoever is in a group has somebody near in it.
                let near = |&other: &SkillIdx| {
                    other != skill
                        && 1.0 - f64::from(vectors.similarity(skill, other)) < report.calibration.max_distance + 1e-6
                };
                prop_assert!(members.len() == 1 || members.iter().any(near));
            }
        }
    }

    #[test]
    fn a_change_touches_only_what_it_must(
        vectors in any_vectors(40),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        came in prop::collection::vec(prop::collection::vec(0.0_f32..1.0, 4), 0..3),
        max_size in 2_usize..6,
    ) {
        let before = partition(&vectors, &NeighborhoodConfig { max_size, ..config(0.2, REPAIRED) }).0;
        let lost: BTreeSet<usize> =
            if vectors.is_empty() { BTreeSet::new() } else { lost.iter().map(|at| at.index(vectors.len())).collect() };
        let mut came_from: Vec<Option<SkillIdx>> = (0..vectors.len())
            .filter(|row| !lost.contains(row)).map(|row| Some(SkillIdx(row as u32))).collect();
        let mut values: Vec<f32> =
            came_from.iter().flatten().flat_map(|skill| vectors.row(skill.row())).copied().collect();
        came_from.extend(came.iter().map(|_| None));
        values.extend(came.iter().flatten());
        let new = if values.is_empty() { Vectors::default() } else { Vectors::new(4, values) };
        let after = update(&before, &came_from, &new, 0.2, max_size);
        prop_assert_eq!(after.neighborhoods.skills(), new.len());
        prop_assert!(after.neighborhoods.largest() <= max_size);
        let mut gone: BTreeSet<_> = before.iter().map(|(number, _)| number).collect();
        for (number, members) in after.neighborhoods.iter() {
            let old: Option<Vec<SkillIdx>> = members.iter().map(|skill| came_from[skill.row()]).collect();
            let same = old.filter(|old| before.members(before.of(old[0])) == &old[..]);
            // Exactly those that are not as before are said to have changed.
            if after.changed.binary_search(&number).is_err() {
                prop_assert!(same.is_some());
                gone.remove(&before.of(same.unwrap()[0]));
            }
        }
        prop_assert_eq!(gone.len(), after.gone);
        // Each arrival changes one neighborhood, or the parts of one; each loss the same.
        prop_assert!(gone.len() <= lost.len() + came.len() * 2);
    }
}

#[derive(serde::Deserialize)]
struct Golden {
    dimensions: usize,
    values: Vec<f32>,
    buckets: Vec<GoldenBuckets>,
}

#[derive(serde::Deserialize)]
struct GoldenBuckets {
    mean_cosine: f64,
    of: Vec<u32>,
    cuts: Vec<GoldenCut>,
}

#[derive(serde::Deserialize)]
struct GoldenCut {
    max_distance: f64,
    labels: Vec<u32>,
}

/// The same partition inside the same buckets, and buckets as good.
fn check_parity(golden: &Golden, vectors: &Vectors) {
    for theirs in &golden.buckets {
        let count = theirs.of.iter().collect::<BTreeSet<_>>().len();
        let ours = Buckets::fit(vectors, count, 42).mean_cosine;
        assert!(ours >= 0.995 * theirs.mean_cosine, "{ours} and not {}", theirs.mean_cosine);
        let buckets = Buckets::given(vectors, &theirs.of);
        for cut in &theirs.cuts {
            let config = NeighborhoodConfig {
                max_size: usize::MAX,
                ..config(cut.max_distance, Probing::Plain)
            };
            let found = partition_in(vectors, &buckets, &config).0;
            let mut groups = vec![Vec::new(); vectors.len()];
            for (row, &label) in (0..).zip(&cut.labels) {
                groups[label as usize].push(row);
            }
            groups.retain(|group: &Vec<u32>| !group.is_empty());
            groups.sort_unstable();
            assert_eq!(rows(&found), groups, "{count} buckets, {}", cut.max_distance);
        }
    }
}

/// `tools/golden/neighborhoods.py` asked scikit-learn.
#[test]
fn linkage_and_buckets_equal_those_of_scikit_learn() {
    let golden: Golden =
        serde_json::from_str(include_str!("../golden/neighborhoods.json")).unwrap();
    let vectors = Vectors::new(golden.dimensions, golden.values.clone());
    check_parity(&golden, &vectors);
}

#[test]
fn linkage_and_buckets_equal_those_of_the_installed_scikit_learn() {
    let Some(python) = data::python("sklearn") else { return };
    let vectors = planted(300, 8, 24, 8);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vectors.f32");
    let bytes: Vec<u8> = vectors.values().iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(&file, bytes).unwrap();
    let script = data::repository().join("tools/golden/neighborhoods.py");
    let asked =
        Command::new(python).arg(script).arg("--live").arg(&file).arg("24").output().unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let golden: Golden = serde_json::from_slice(&asked.stdout).unwrap();
    check_parity(&golden, &vectors);
}
