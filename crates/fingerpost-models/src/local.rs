//! How does a model in a folder embed texts in this process?

use std::path::Path;

use fingerpost::embedding::{EmbedError, Embedder, Pooling, Profile, Role, Vectors};
use tokenizers::Tokenizer;

use crate::engine::{Engine, EngineKind, Output};
use crate::settings::{ModelSettings, SettingsError};
use crate::static_model::StaticModel;
use crate::window::{MAX_CHARACTERS, first_characters, fit_window, tokenizer};
use crate::work::{in_order, longest_first};

/// Opens the model in a folder, whatever its kind.
pub fn open(folder: &Path, engine: EngineKind) -> Result<Box<dyn Embedder>, SettingsError> {
    let settings = ModelSettings::read(folder)?;
    Ok(if settings.is_static() {
        Box::new(StaticModel::open(folder, settings)?)
    } else {
        Box::new(LocalModel::open(folder, settings, engine)?)
    })
}

/// An ONNX encoder and its tokenizer.
pub struct LocalModel {
    settings: ModelSettings,
    profile: Profile,
    tokenizer: Tokenizer,
    engine: Engine,
    workers: usize,
}

impl LocalModel {
    /// Loads the files of a folder, for as many threads as rayon's pool has.
    pub fn open(
        folder: &Path,
        settings: ModelSettings,
        engine: EngineKind,
    ) -> Result<Self, SettingsError> {
        Self::with_workers(folder, settings, engine, rayon::current_num_threads())
    }

    /// Loads the files of a folder, to embed so many texts at a time.
    pub fn with_workers(
        folder: &Path,
        settings: ModelSettings,
        engine: EngineKind,
        workers: usize,
    ) -> Result<Self, SettingsError> {
        let wrong = |file: &Path| {
            let file = folder.join(file).display().to_string();
            move |message: String| SettingsError::Wrong { file, message }
        };
        let model = ModelSettings::bytes(folder, &settings.model)?;
        let words = ModelSettings::bytes(folder, &settings.tokenizer)?;
        let profile = Profile {
            name: settings.name.clone(),
            engine: engine.label().into(),
            weights: settings.digest(&[&model, &words]),
            dimensions: settings.dimensions,
            max_tokens: settings.max_tokens,
            pooling: settings.pooling,
            query_prefix: settings.query_prefix.clone(),
            document_prefix: settings.document_prefix.clone(),
        };
        let tokenizer =
            tokenizer(&words, settings.max_tokens).map_err(wrong(&settings.tokenizer))?;
        let workers = workers.max(1);
        let engine = Engine::load(engine, model, settings.output.as_deref(), workers)
            .map_err(wrong(&settings.model))?;
        Ok(Self { settings, profile, tokenizer, engine, workers })
    }

    /// Its tokenizer, for [`fit_window`].
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// A document and what a page adds to it as one text: where the model reads less than both, the
    /// document is cut and the page is not.
    pub fn fit(&self, head: &str, tail: &str) -> String {
        let prefix = &self.profile.document_prefix;
        let taken = self.tokenizer.encode_fast(prefix.as_str(), false);
        let taken = taken.map_or(0, |encoded| encoded.len());
        fit_window(head, tail, self.settings.max_tokens.saturating_sub(taken), &self.tokenizer)
    }

    fn embed_one(&self, worker: usize, text: &str, prefix: &str) -> Result<Vec<f32>, String> {
        let mut text = format!("{prefix}{}", first_characters(text, MAX_CHARACTERS));
        if self.settings.lowercase {
            text = text.to_lowercase();
        }
        let encoded = self.tokenizer.encode_fast(text, true).map_err(|error| error.to_string())?;
        let tokens = encoded.get_ids();
        if tokens.is_empty() {
            // Without special tokens an empty text has nothing to run.
            return Ok(vec![0.0; self.settings.dimensions]);
        }
        pool(self.engine.run(worker, tokens)?, &self.settings)
    }
}

impl Embedder for LocalModel {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn fit(&self, document: &str, page: &str) -> String {
        LocalModel::fit(self, document, page)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        let prefix = self.profile.prefix(role);
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let rows = in_order(self.workers, &longest_first(&lengths), |worker, item| {
            self.embed_one(worker, texts[item], prefix)
        });
        let rows = rows
            .map_err(|message| EmbedError::Model { model: self.profile.name.clone(), message })?;
        Ok(Vectors::new(self.settings.dimensions, rows.concat()))
    }
}

/// The vectors of a text's tokens become one.
fn pool(output: Output, settings: &ModelSettings) -> Result<Vec<f32>, String> {
    let Output { values, columns } = output;
    if columns != settings.dimensions || values.is_empty() {
        return Err(format!(
            "the graph gives vectors of length {columns} and its settings say {}; correct `dimensions` or `output`",
            settings.dimensions
        ));
    }
    let mut rows = values.chunks_exact(columns);
    let row = match settings.pooling {
        Pooling::Mean => {
            let mut mean = vec![0.0_f32; columns];
            for row in rows.by_ref() {
                mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            let scale = columns as f32 / values.len() as f32;
            mean.iter_mut().for_each(|sum| *sum *= scale);
            mean
        }
        Pooling::Cls | Pooling::Model => values[..columns].to_vec(),
        Pooling::LastToken => rows.next_back().expect("not empty").to_vec(),
    };
    if row.iter().all(|value| value.is_finite()) {
        Ok(row)
    } else {
        Err("the graph gave a vector that is not a number; try another engine or the unquantised model".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_takes_the_right_rows() {
        let check = |pooling: Pooling, expected: [f32; 2]| {
            let settings = ModelSettings { pooling, ..settings() };
            let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 9.0];
            assert_eq!(pool(Output { values, columns: 2 }, &settings).unwrap(), expected);
        };
        check(Pooling::Mean, [3.0, 5.0]);
        check(Pooling::Cls, [1.0, 2.0]);
        check(Pooling::LastToken, [5.0, 9.0]);
    }

    #[test]
    fn a_vector_of_another_length_or_without_value_is_an_error() {
        let error =
            |values: Vec<f32>, columns| pool(Output { values, columns }, &settings()).unwrap_err();
        assert!(error(vec![1.0; 3], 3).contains("length 3"));
        assert!(error(vec![f32::NAN; 2], 2).contains("not a number"));
    }

    fn settings() -> ModelSettings {
        let text = "name = \"m\"\ndimensions = 2\nmax_tokens = 8\npooling = \"mean\"\n";
        ModelSettings::parse(text).unwrap()
    }
}
