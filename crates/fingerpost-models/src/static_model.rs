//! How does a table of token vectors embed texts?
//!
//! No network of neurons runs: a text's vector is the mean of its tokens' vectors, which a
//! distillation has prepared. Thousands of times faster than an encoder, and blind to order.

use std::path::Path;

use fingerpost::embedding::{EmbedError, Embedder, Profile, Role, Vectors};

use crate::settings::{ModelSettings, SettingsError};
use crate::window::{MAX_CHARACTERS, first_characters};

/// Static token vectors, as Model2Vec keeps them.
pub struct StaticModel {
    profile: Profile,
    model: model2vec_rs::model::StaticModel,
    lowercase: bool,
}

impl StaticModel {
    /// Loads the table, its tokenizer and its `config.json`.
    pub fn open(folder: &Path, settings: ModelSettings) -> Result<Self, SettingsError> {
        let table = ModelSettings::bytes(folder, &settings.model)?;
        let words = ModelSettings::bytes(folder, &settings.tokenizer)?;
        let config = ModelSettings::bytes(folder, Path::new("config.json"))?;
        let wrong = |message| {
            let file = folder.join(&settings.model).display().to_string();
            SettingsError::Wrong { file, message }
        };
        let model =
            model2vec_rs::model::StaticModel::from_bytes(&words, &table, &config, Some(true))
                .map_err(|error| wrong(format!("{error:#}")))?;
        if model.dim() != settings.dimensions {
            let message = format!(
                "the table has vectors of length {} and its settings say {}; correct `dimensions`",
                model.dim(),
                settings.dimensions
            );
            return Err(wrong(message));
        }
        let profile = Profile {
            weights: settings.digest(&[&table, &words, &config]),
            name: settings.name,
            engine: "model2vec-rs 0.4".into(),
            dimensions: settings.dimensions,
            max_tokens: settings.max_tokens,
            pooling: settings.pooling,
            query_prefix: settings.query_prefix,
            document_prefix: settings.document_prefix,
        };
        Ok(Self { profile, model, lowercase: settings.lowercase })
    }
}

impl Embedder for StaticModel {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        let prefix = self.profile.prefix(role);
        let texts: Vec<String> = texts
            .iter()
            .map(|text| {
                let text = format!("{prefix}{}", first_characters(text, MAX_CHARACTERS));
                if self.lowercase { text.to_lowercase() } else { text }
            })
            .collect();
        // The crate spreads texts over rayon's pool; each is summed by one thread, in token order.
        let values = self.model.encode_flat_with_args(&texts, Some(self.profile.max_tokens));
        Ok(Vectors::new(self.profile.dimensions, values))
    }
}
