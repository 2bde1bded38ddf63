//! Which settings change a result?
//!
//! One value, recorded with every generation: two atlases of the same library and protocol are the
//! same. There are two by name, [`Protocol::ours`] and [`Protocol::paper`], and every setting can be
//! changed by itself. What belongs to compiling decides which files a generation has; what belongs to
//! choosing and solving is written down beside it, holds where nobody says otherwise, and has nothing
//! compiled again. Nothing in it says where a server is or how its key is called, and how a model was asked
//! for pages is part of each page's key.

mod settings;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::embedding::FitConfig;
use crate::neighborhood::{NeighborhoodConfig, Probing, Threshold};
use crate::numbers;
use crate::page::Language;
use crate::route::llm::{Answering, NamedSkill};
use crate::view::{Cards, ClusteringText, Extent};

/// Every setting that changes a result. What a head does not say is as it was before there was a choice, so
/// the defaults of the fields below never change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// What makes the vectors.
    pub embedder: EmbedderKind,
    /// How neighborhoods are made; holds the seed of everything that is drawn at random.
    pub neighborhood: NeighborhoodConfig,
    /// The language of pages without a model; `None` follows each document.
    pub language: Option<Language>,
    /// Keep skills that their authors reserve for explicit use.
    pub include_manual: bool,
    /// What a page is written against; atlases that do not say knew the neighborhood alone.
    #[serde(default)]
    pub against: Against,
    /// Version of the numbers that chooser, none and tuning work with.
    #[serde(default)]
    pub numbers: u32,
    /// What of a document counts where skills are compared for likeness.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clustering: ClusteringText,
    /// How much of document and page an index sees.
    #[serde(default, skip_serializing_if = "is_default")]
    pub indexed: Extent,
    /// How a model's pages are asked for and judged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writing: Writing,
    /// How a skill is chosen.
    #[serde(default, skip_serializing_if = "is_default")]
    pub choosing: Choosing,
    /// How a request is solved with the skill that was chosen.
    #[serde(default, skip_serializing_if = "is_default")]
    pub solving: Solving,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A protocol that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProtocolName {
    /// [`Protocol::ours`].
    #[default]
    Ours,
    /// [`Protocol::paper`].
    Paper,
}

impl ProtocolName {
    /// Both, in the order they are listed.
    pub const ALL: [ProtocolName; 2] = [ProtocolName::Ours, ProtocolName::Paper];

    /// Its settings.
    pub fn protocol(self) -> Protocol {
        match self {
            ProtocolName::Ours => Protocol::ours(),
            ProtocolName::Paper => Protocol::paper(),
        }
    }
}

impl fmt::Display for ProtocolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProtocolName::Ours => "ours",
            ProtocolName::Paper => "paper",
        })
    }
}

impl FromStr for ProtocolName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = ProtocolName::ALL.into_iter();
        let found = all.find(|protocol| protocol.to_string() == name);
        found.ok_or_else(|| format!("'{name}' is no protocol: use ours or paper"))
    }
}

/// How a model's pages are asked for and judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    /// What the boundary of a skill is that is compared with no other.
    pub alone: Alone,
    /// How often a page is asked for until it can be used; then the skill keeps its document.
    pub attempts: u32,
}

impl Default for Writing {
    fn default() -> Self {
        Self { alone: Alone::Document, attempts: 3 }
    }
}

/// What a model writes as the boundary of a skill that is compared with no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alone {
    /// What the document gives ground for; it may be empty.
    #[default]
    Document,
    /// Tasks that could be mistaken for the skill's, as the model imagines them: never empty, as in the paper.
    Imagined,
}

impl fmt::Display for Alone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Alone::Document => "document",
            Alone::Imagined => "imagined",
        })
    }
}

impl FromStr for Alone {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "document" => Ok(Alone::Document),
            "imagined" => Ok(Alone::Imagined),
            _ => Err(format!("'{name}' is no source of a boundary: use document or imagined")),
        }
    }
}

/// How a skill is chosen among the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Choosing {
    /// Candidates that the search brings.
    pub pool: usize,
    /// What a card shows beside name and description.
    pub cards: Cards,
    /// What becomes of a request that names one of the candidates.
    pub named: NamedSkill,
    /// May the answer be none?
    pub answering: Answering,
    /// How often a model is asked, with the candidates rotated.
    pub rotate: usize,
    /// How often one answer is asked for until it can be used; then the first candidate is taken.
    pub attempts: u32,
    /// How freely the model draws.
    pub temperature: f64,
}

impl Default for Choosing {
    fn default() -> Self {
        Self {
            pool: 10,
            cards: Cards::Boundary,
            named: NamedSkill::Taken,
            answering: Answering::OrNone,
            rotate: 1,
            attempts: 3,
            temperature: 0.0,
        }
    }
}

/// How a request is solved with the skill that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Solving {
    /// How freely the model draws.
    pub temperature: f64,
    /// How often every request is solved: the rounds are averaged.
    pub rounds: usize,
}

impl Default for Solving {
    fn default() -> Self {
        Self { temperature: 0.7, rounds: 5 }
    }
}

/// What a page is written against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The neighborhood of its skill, as in the paper: the same skills for all of its members.
    #[default]
    Neighborhood,
    /// The rivals of its skill: those that would win requests meant for it.
    Rivals,
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Against::Neighborhood => "neighborhood",
            Against::Rivals => "rivals",
        })
    }
}

impl FromStr for Against {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "neighborhood" => Ok(Against::Neighborhood),
            "rivals" => Ok(Against::Rivals),
            _ => Err(format!("pages are not written against '{name}': use neighborhood or rivals")),
        }
    }
}

/// What makes vectors, as far as an atlas may say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum EmbedderKind {
    /// The library itself.
    #[default]
    Fit,
    /// A model by a name that the program knows.
    Model {
        /// Its name.
        name: String,
    },
    /// A folder or a server that only its user can name; this says what was there.
    Elsewhere {
        /// What its vectors were called.
        profile: String,
    },
}

impl Protocol {
    /// Ours: what holds where nobody says otherwise.
    pub fn ours() -> Self {
        Self {
            embedder: EmbedderKind::Fit,
            neighborhood: NeighborhoodConfig::default(),
            language: None,
            include_manual: false,
            against: Against::Neighborhood,
            numbers: numbers::VERSION,
            clustering: ClusteringText::default(),
            indexed: Extent::default(),
            writing: Writing::default(),
            choosing: Choosing::default(),
            solving: Solving::default(),
        }
    }

    /// The paper's, as far as a program can follow it. Where it says two things, the first is taken: a skill
    /// is contrasted from three members on (its prompts say two: [`NeighborhoodConfig::min_contrast`]).
    /// Buckets are as many for a library of any size as 200 are for its 26,262 skills; the distance below
    /// which skills are look-alikes is its 0.15 for its own encoder, and measured for any other.
    pub fn paper() -> Self {
        Self {
            neighborhood: NeighborhoodConfig {
                buckets: None,
                max_distance: Threshold::Calibrated,
                max_size: 10,
                min_contrast: 3,
                probing: Probing::Plain,
                ..NeighborhoodConfig::default()
            },
            against: Against::Neighborhood,
            clustering: ClusteringText::Document,
            indexed: Extent::PAPER,
            writing: Writing { alone: Alone::Imagined, attempts: 3 },
            choosing: Choosing {
                pool: 10,
                cards: Cards::Boundary,
                named: NamedSkill::Asked,
                answering: Answering::Always,
                rotate: 1,
                attempts: 3,
                temperature: 0.0,
            },
            solving: Solving { temperature: 0.7, rounds: 5 },
            ..Self::ours()
        }
    }

    /// How vectors are fitted to the library.
    pub fn fit(&self) -> FitConfig {
        FitConfig { seed: self.neighborhood.seed, ..FitConfig::default() }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self::ours()
    }
}
