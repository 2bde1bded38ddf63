//! What does a folder of model files say about itself?
//!
//! ONNX and tokenizer files do not tell how token vectors become one, what goes before a request
//! or how much the model reads. A small `fingerpost-model.toml` beside them does.

use std::fs;
use std::path::{Component, Path, PathBuf};

use fingerpost::embedding::Pooling;
use serde::{Deserialize, Serialize};

/// The file beside a model that says how to use it.
pub const SETTINGS_FILE: &str = "fingerpost-model.toml";

/// How to use the files of one folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// What the model is called.
    pub name: String,
    /// The weights: `.onnx`, or `.safetensors` for static token vectors.
    #[serde(default = "default_model")]
    pub model: PathBuf,
    /// The tokenizer, as the `tokenizers` library keeps it.
    #[serde(default = "default_tokenizer")]
    pub tokenizer: PathBuf,
    /// Length of a vector.
    pub dimensions: usize,
    /// Tokens the model reads, special ones counted; the rest of a text is cut.
    pub max_tokens: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a request.
    #[serde(default)]
    pub query_prefix: String,
    /// Put before a document.
    #[serde(default)]
    pub document_prefix: String,
    /// The output to take; by default the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Lower a text's case first, for a vocabulary without capitals whose tokenizer forgets to.
    #[serde(default)]
    pub lowercase: bool,
    /// Vectors always leave here with length one; the field exists to be honest about it.
    #[serde(default = "yes")]
    pub normalise: bool,
}

/// Why a folder cannot be used as a model.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file is missing or unreadable.
    #[error(
        "cannot read {file}: {cause}; a model folder holds {SETTINGS_FILE}, the weights and tokenizer.json"
    )]
    Read {
        /// Which file.
        file: String,
        /// Why not.
        cause: std::io::Error,
    },
    /// The settings make no sense.
    #[error("{file}: {message}")]
    Wrong {
        /// Which file.
        file: String,
        /// What is wrong, and what would be right.
        message: String,
    },
}

impl ModelSettings {
    /// Reads and checks the settings of a folder.
    pub fn read(folder: &Path) -> Result<Self, SettingsError> {
        let file = folder.join(SETTINGS_FILE);
        let name = file.display().to_string();
        let text = fs::read_to_string(&file)
            .map_err(|cause| SettingsError::Read { file: name.clone(), cause })?;
        Self::parse(&text).map_err(|message| SettingsError::Wrong { file: name, message })
    }

    /// Settings as text; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let settings: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let complaint = if !is_plain_name(&settings.name) {
            "name must be made of letters, digits, '.', '_' and '-', and not start with '.'"
        } else if ![&settings.model, &settings.tokenizer].iter().all(|file| is_inside(file)) {
            "model and tokenizer must be files of this folder"
        } else if settings.dimensions == 0 {
            "dimensions must be the length of the model's vectors"
        } else if settings.max_tokens < 3 {
            "max_tokens must leave room for a token between two special ones"
        } else if !settings.normalise {
            "normalise must be true: vectors are compared by inner product, so all have length one"
        } else {
            return Ok(settings);
        };
        Err(complaint.into())
    }

    /// The text of a settings file.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("plain data")
    }

    /// True for a table of token vectors, false for an ONNX graph.
    pub fn is_static(&self) -> bool {
        self.model.extension().is_some_and(|ending| ending == "safetensors")
    }

    /// Reads a file of the folder.
    pub(crate) fn bytes(folder: &Path, file: &Path) -> Result<Vec<u8>, SettingsError> {
        let file = folder.join(file);
        fs::read(&file)
            .map_err(|cause| SettingsError::Read { file: file.display().to_string(), cause })
    }

    /// What the files and every setting that [`fingerpost::embedding::Profile`] has no field for
    /// hash to.
    pub(crate) fn digest(&self, files: &[&[u8]]) -> String {
        let mut hasher = blake3::Hasher::new();
        for file in files {
            hasher.update(&(file.len() as u64).to_le_bytes());
            hasher.update(file);
        }
        let rest = serde_json::to_string(&(&self.output, self.lowercase)).expect("plain data");
        hasher.update(rest.as_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

/// Can a model be called so? A name is a folder's too, so it leads nowhere else.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(is_plain)
}

/// Does a path stay in the folder that it is taken from?
fn is_inside(file: &Path) -> bool {
    let mut parts = file.components();
    parts.clone().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn default_model() -> PathBuf {
    "model.onnx".into()
}

fn default_tokenizer() -> PathBuf {
    "tokenizer.json".into()
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "name = \"m\"\ndimensions = 4\nmax_tokens = 8\npooling = \"last-token\"\n";

    #[test]
    fn the_short_form_is_enough() {
        let settings = ModelSettings::parse(SMALL).unwrap();
        assert_eq!(settings.pooling, Pooling::LastToken);
        assert_eq!(settings.model, PathBuf::from("model.onnx"));
        assert_eq!(ModelSettings::parse(&settings.to_text()).unwrap(), settings);
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        let check = |from: &str, to: &str, expected: &str| {
            let error = ModelSettings::parse(&SMALL.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("\"m\"", "\"../m\"", "name must");
        for file in ["../m.onnx", "/etc/passwd", "a/../../b", "", "."] {
            let to = format!("dimensions = 4\nmodel = \"{file}\"");
            check("dimensions = 4", &to, "files of this folder");
        }
        check("dimensions = 4", "dimensions = 0", "length of the model's vectors");
        check("last-token", "median", "unknown variant");
        check("max_tokens", "max_token", "unknown field");
        check("max_tokens = 8", "max_tokens = 8\nnormalise = false", "length one");
    }

    #[test]
    fn the_digest_knows_file_borders_and_settings() {
        let settings = ModelSettings::parse(SMALL).unwrap();
        let lower = ModelSettings { lowercase: true, ..settings.clone() };
        assert_ne!(settings.digest(&[b"ab", b"c"]), settings.digest(&[b"a", b"bc"]));
        assert_ne!(settings.digest(&[b"ab"]), lower.digest(&[b"ab"]));
    }
}
