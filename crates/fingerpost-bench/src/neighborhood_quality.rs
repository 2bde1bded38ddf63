//! What do buckets lose, and how far do single additions drift, on real vectors?

use std::path::Path;
use std::time::Instant;

use fingerpost::embedding::Vectors;
use fingerpost::neighborhood::{
    Buckets, NeighborhoodConfig, Neighborhoods, Probing, Threshold, calibrate, partition,
    partition_in, structure, update,
};
use fingerpost::skill::SkillIdx;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

/// Skills whose true neighbors are looked up.
const SAMPLED: usize = 2_000;
const NEAREST: usize = 10;

/// Prints it all; writes the neighborhoods as lists of rows, to be read by a person.
pub(crate) fn run(vectors: &Vectors, groups: Option<&Path>) -> anyhow::Result<()> {
    let calibration = calibrate(vectors, 10, 42);
    println!("calibrated: {calibration}\n{:?}", calibration.measured);
    for seed in 0..4 {
        println!("  seed {seed}: {:.3}", calibrate(vectors, 10, seed).max_distance);
    }
    let start = Instant::now();
    let buckets = Buckets::fit(vectors, Buckets::count_for(vectors.len()), 42);
    println!(
        "{} buckets, largest {}, mean cosine {:.4}: {:.2} s",
        buckets.len(),
        buckets.largest(),
        buckets.mean_cosine,
        start.elapsed().as_secs_f64()
    );
    for max_distance in [0.15, calibration.max_distance] {
        lost_pairs(vectors, &buckets, max_distance);
        variants(vectors, &buckets, max_distance);
    }
    additions(vectors, calibration.max_distance);
    if let Some(file) = groups {
        let found = partition(vectors, &NeighborhoodConfig::default()).0;
        let rows = |members: &[SkillIdx]| members.iter().map(|skill| skill.0).collect::<Vec<_>>();
        let lists: Vec<Vec<u32>> = found.iter().map(|(_, members)| rows(members)).collect();
        std::fs::write(file, serde_json::to_string(&lists)?)?;
    }
    Ok(())
}

fn config(max_distance: f64, probing: Probing) -> NeighborhoodConfig {
    let max_distance = Threshold::Fixed(max_distance);
    NeighborhoodConfig { max_distance, probing, ..NeighborhoodConfig::default() }
}

/// How many of the nearest ten below the threshold are never compared.
fn lost_pairs(vectors: &Vectors, buckets: &Buckets, max_distance: f64) {
    let mut random = Pcg64::seed_from_u64(1);
    let count = SAMPLED.min(vectors.len());
    let sampled: Vec<u32> =
        (0..count).map(|_| random.random_range(0..vectors.len() as u32)).collect();
    let pairs: Vec<(u32, u32)> = sampled
        .par_iter()
        .flat_map_iter(|&row| {
            let mut near: Vec<(u32, f32)> = (0..vectors.len() as u32)
                .filter(|&other| other != row)
                .map(|other| (other, vectors.similarity(SkillIdx(row), SkillIdx(other))))
                .filter(|&(_, similarity)| 1.0 - f64::from(similarity) < max_distance)
                .collect();
            near.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            near.truncate(NEAREST);
            near.into_iter().map(move |(other, _)| (row, other))
        })
        .collect();
    let of = buckets.of(vectors.len());
    println!("below {max_distance}: {} of the nearest {NEAREST} of {count} skills", pairs.len());
    for probes in [1, 2, 3, 4, 6, 8, 12] {
        let probed = buckets.probed(vectors, probes);
        let meets =
            |a: u32, b: u32| of[b as usize].is_some_and(|b| probed[a as usize].contains(&b));
        let lost = pairs.iter().filter(|&&(a, b)| !meets(a, b) && !meets(b, a)).count();
        println!(
            "  {probes} buckets probed: {:.2} % lost",
            100.0 * lost as f64 / pairs.len().max(1) as f64
        );
    }
}

fn variants(vectors: &Vectors, buckets: &Buckets, max_distance: f64) {
    let everywhere = Probing::Repaired { buckets: usize::MAX };
    let (exact, _) = partition_in(vectors, buckets, &config(max_distance, everywhere));
    for probing in
        [Probing::Plain, Probing::Repaired { buckets: 3 }, Probing::default(), everywhere]
    {
        let start = Instant::now();
        let (found, report) = partition_in(vectors, buckets, &config(max_distance, probing));
        let seconds = start.elapsed().as_secs_f64();
        let index = adjusted_rand_index(&found, &exact);
        println!(
            "  {probing:?}: {seconds:.2} s, ARI to exact {index:.4}, cut {}, crowded {}",
            report.cut, report.crowded
        );
        println!("    {:?}", structure(vectors, &found, 1));
    }
}

/// A tenth of the skills, one at a time in random order, after a partition of the rest.
fn additions(vectors: &Vectors, max_distance: f64) {
    let settings = config(max_distance, Probing::default());
    let (full, _) = partition(vectors, &settings);
    let mut random = Pcg64::seed_from_u64(2);
    let mut order: Vec<u32> = (0..vectors.len() as u32).collect();
    for at in 0..order.len() {
        let other = random.random_range(at..order.len());
        order.swap(at, other);
    }
    let late = order.split_off(order.len() - order.len() / 10);
    order.sort_unstable();
    let chosen = |rows: &[u32]| {
        let values = rows.iter().flat_map(|&row| vectors.row(row as usize)).copied().collect();
        Vectors::new(vectors.dimensions(), values)
    };
    let mut grown = partition(&chosen(&order), &settings).0;
    let early = grown.clone();
    let early_rows = order.clone();
    let (mut changed, mut seconds) = (0, 0.0);
    for &row in &late {
        let at = order.partition_point(|&other| other < row);
        let mut came_from: Vec<Option<SkillIdx>> =
            (0..order.len() as u32).map(|row| Some(SkillIdx(row))).collect();
        came_from.insert(at, None);
        order.insert(at, row);
        let vectors = chosen(&order);
        let start = Instant::now();
        let step = update(&grown, &came_from, &vectors, max_distance, 10);
        seconds += start.elapsed().as_secs_f64();
        changed += step.changed.len();
        grown = step.neighborhoods;
    }
    let late_count = late.len().max(1) as f64;
    println!(
        "{} single additions: ARI to a full partition {:.4}; {:.2} neighborhoods changed and {:.1} ms each",
        late.len(),
        adjusted_rand_index(&grown, &full),
        changed as f64 / late_count,
        1e3 * seconds / late_count
    );
    // How far the two partitions they are measured by differ on the skills that both have.
    let mut shared = vec![Vec::new(); full.len()];
    for (at, &row) in (0..).zip(&early_rows) {
        shared[full.of(SkillIdx(row)).0 as usize].push(SkillIdx(at));
    }
    shared.retain(|members| !members.is_empty());
    let shared = Neighborhoods::new(shared);
    println!(
        "  before the additions, on the skills there were: {:.4}",
        adjusted_rand_index(&early, &shared)
    );
    let rest = partition(vectors, &NeighborhoodConfig { seed: 7, ..settings }).0;
    println!("  for comparison, another seed: {:.4}", adjusted_rand_index(&rest, &full));
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
