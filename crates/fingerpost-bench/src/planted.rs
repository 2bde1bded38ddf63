//! What would the vectors of a large library look like?
//!
//! Topics of a hundred skills or so, families of one to twelve look-alikes in each, and members a
//! little apart, each level a direction drawn at random: a cosine of 0.9 or so in a family, 0.5 in
//! a topic, 0.1 between topics (all share a direction, as encoders' vectors do).

use std::fmt;
use std::str::FromStr;

use anyhow::Context;
use fingerpost::embedding::Vectors;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Rows and dimensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) dimensions: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.dimensions)
    }
}

impl FromStr for Shape {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (rows, dimensions) = text.split_once('x').context("rows x dimensions, as 16384x384")?;
        Ok(Self { rows: rows.parse()?, dimensions: dimensions.parse()? })
    }
}

/// Seeded vectors; each `copies` times, a little perturbed.
pub(crate) fn plant(shape: Shape, copies: usize) -> Vectors {
    let mut random = Pcg64::seed_from_u64(7);
    let Shape { rows, dimensions } = shape;
    let base = direction(&mut random, dimensions);
    let mut values: Vec<f32> = Vec::with_capacity(rows * dimensions);
    let distinct = rows.div_ceil(copies) * dimensions;
    while values.len() < distinct {
        let topic = mixed(&base, 0.35, &direction(&mut random, dimensions), 0.65);
        let skills = values.len() + random.random_range(40..160) * dimensions;
        while values.len() < skills.min(distinct) {
            let family = mixed(&topic, 0.8, &direction(&mut random, dimensions), 0.65);
            let spread = random.random_range(0.15..0.5);
            for _ in 0..random.random_range(1..=12) {
                let own = direction(&mut random, dimensions);
                values.extend(mixed(&family, 1.0, &own, spread));
            }
        }
    }
    values.truncate(distinct);
    while values.len() < rows * dimensions {
        let at = values.len() - distinct;
        let copied =
            mixed(&values[at..at + dimensions], 1.0, &direction(&mut random, dimensions), 0.2);
        values.extend(copied);
    }
    values.truncate(rows * dimensions);
    Vectors::new(dimensions, values)
}

/// A random vector of length one or so.
fn direction(random: &mut Pcg64, dimensions: usize) -> Vec<f32> {
    // Three uniform draws are near enough to a normal one; each has a variance of 1/12.
    let scale = 2.0 / (dimensions as f32).sqrt();
    let mut draw = || (0..3).map(|_| random.random::<f32>() - 0.5).sum::<f32>() * scale;
    (0..dimensions).map(|_| draw()).collect()
}

fn mixed(a: &[f32], share_a: f32, b: &[f32], share_b: f32) -> Vec<f32> {
    let mut sum: Vec<f32> = a.iter().zip(b).map(|(x, y)| share_a * x + share_b * y).collect();
    fingerpost::embedding::normalise(&mut sum);
    sum
}
