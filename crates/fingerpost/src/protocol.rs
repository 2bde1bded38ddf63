//! Which settings change a result?
//!
//! One value, recorded with every generation: two atlases of the same library and protocol are the
//! same. Nothing in it says where a server is or how its key is called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::embedding::FitConfig;
use crate::neighborhood::NeighborhoodConfig;
use crate::numbers;
use crate::page::Language;

/// Every setting that changes what is compiled from a library.
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
}

/// What a page is written against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
