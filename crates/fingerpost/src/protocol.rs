//! Which settings change a result?
//!
//! One value, recorded with every generation: two atlases of the same library and protocol are the
//! same. Nothing in it says where a server is or how its key is called.

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
    /// Version of the numbers that chooser, none and tuning work with.
    #[serde(default)]
    pub numbers: u32,
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
