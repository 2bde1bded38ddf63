//! The map as data: for a reader that draws it itself.

use schemars::JsonSchema;
use serde::Serialize;

use super::layout::{Rect, layout};
use crate::contract::Freshness;
use crate::neighborhood::NeighborhoodIdx;
use crate::skill::SkillIdx;
use crate::snapshot::{Snapshot, SnapshotError};

/// Both sides of the map have so many steps; whoever draws it stretches them to the aspect.
const STEPS: f64 = 10_000.0;

/// Where the map is laid out: as wide as the picture, so that both have every skill in the same place.
const AREA: Rect = Rect { x: 12.0, y: 58.0, width: 1976.0, height: 1330.0 };

/// The whole library from above, in columns: the values at one place belong to one skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MapAnswer {
    /// How many skills there are.
    pub skills: usize,
    /// Width of the map by its height.
    pub aspect: f64,
    /// Ids, in their order.
    pub ids: Vec<String>,
    /// Names.
    pub names: Vec<String>,
    /// Left edge of each skill's tile, of 10,000.
    pub x: Vec<u16>,
    /// Upper edge, of 10,000.
    pub y: Vec<u16>,
    /// Width of each tile.
    pub w: Vec<u16>,
    /// Height of each tile.
    pub h: Vec<u16>,
    /// The number of each skill's neighborhood.
    pub neighborhood: Vec<u32>,
    /// By the number of a neighborhood: how hard its skills are to tell apart, 0 to 100.
    pub hardness: Vec<u8>,
    /// Were judged requests counted?
    pub judged: bool,
    /// Parts of the map whose skills are alike.
    pub regions: Vec<MapRegion>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A part of the map whose skills are alike.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MapRegion {
    /// Left edge, of 10,000.
    pub x: u16,
    /// Upper edge.
    pub y: u16,
    /// Width.
    pub w: u16,
    /// Height.
    pub h: u16,
    /// Words that are most its own; empty where nothing is.
    pub label: String,
}

impl MapAnswer {
    /// Lays out a generation. `lost` says of each neighborhood which share of its judged requests another
    /// member wins, where that is known.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        seed: u64,
        lost: Option<&dyn Fn(NeighborhoodIdx) -> Option<f64>>,
    ) -> Result<Self, SnapshotError> {
        let regions = layout(snapshot, seed, AREA)?;
        let skills = snapshot.len();
        let mut tiles = vec![[0; 4]; skills];
        for region in &regions {
            for (skill, tile) in region.blocks.iter().flat_map(|block| &block.tiles) {
                tiles[skill.row()] = steps(*tile);
            }
        }
        let column = |of: usize| tiles.iter().map(|tile| tile[of]).collect();
        let rows = || snapshot.rows().map(|skill| snapshot.row(skill));
        let neighborhoods = snapshot.neighborhoods();
        let hardness = neighborhoods
            .iter()
            .map(|(number, members)| {
                let near = nearness(snapshot, members)?;
                let hard = match lost.and_then(|lost| lost(number)) {
                    Some(lost) => (near + lost.clamp(0.0, 1.0)) / 2.0,
                    None => near,
                };
                Ok((hard * 100.0).round() as u8)
            })
            .collect::<Result<_, SnapshotError>>()?;
        Ok(Self {
            skills,
            aspect: AREA.width / AREA.height,
            ids: rows().map(|row| row.id.to_owned()).collect(),
            names: rows().map(|row| row.name.to_owned()).collect(),
            x: column(0),
            y: column(1),
            w: column(2),
            h: column(3),
            neighborhood: snapshot.rows().map(|skill| neighborhoods.of(skill).0).collect(),
            hardness,
            judged: lost.is_some(),
            regions: regions
                .into_iter()
                .map(|region| {
                    let [x, y, w, h] = steps(region.rect);
                    MapRegion { x, y, w, h, label: region.label }
                })
                .collect(),
            freshness,
        })
    }
}

/// Whole steps from edge to edge, so that tiles that touch still do.
fn steps(rect: Rect) -> [u16; 4] {
    let across = |x: f64| ((x - AREA.x) / AREA.width * STEPS).round().clamp(0.0, STEPS) as u16;
    let down = |y: f64| ((y - AREA.y) / AREA.height * STEPS).round().clamp(0.0, STEPS) as u16;
    let (left, right) = (across(rect.x), across(rect.x + rect.width));
    let (top, bottom) = (down(rect.y), down(rect.y + rect.height));
    [left, top, (right - left).max(1), (bottom - top).max(1)]
}

/// How near the members of a neighborhood are, from 0 at the threshold of look-alikes to 1 for the same.
fn nearness(snapshot: &Snapshot, members: &[SkillIdx]) -> Result<f64, SnapshotError> {
    if members.len() < 2 {
        return Ok(0.0);
    }
    let vectors = snapshot.vectors()?;
    let (mut sum, mut pairs) = (0.0, 0);
    for (at, &a) in members.iter().enumerate() {
        for &b in &members[at + 1..] {
            sum += f64::from(vectors.similarity(a, b));
            pairs += 1;
        }
    }
    let distance = 1.0 - sum / f64::from(pairs);
    let farthest = snapshot.head().calibration.max_distance.max(1e-9);
    Ok((1.0 - distance / farthest).clamp(0.0, 1.0))
}
