//! Do our vectors agree with those of Python's onnxruntime and of the table itself?

use fingerpost::embedding::{Embedder, Role, Vectors, dot};
use fingerpost_models::{EngineKind, LocalModel, ModelSettings, open};
use serde::Deserialize;

use crate::data;

#[derive(Deserialize)]
struct Golden {
    scale: f32,
    texts: Vec<String>,
    models: Vec<GoldenModel>,
}

#[derive(Deserialize)]
struct GoldenModel {
    name: String,
    precision: String,
    dimensions: usize,
    rows: Vec<GoldenRow>,
}

#[derive(Deserialize)]
struct GoldenRow {
    text: usize,
    role: String,
    vector: Vec<i32>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/vectors.json")).unwrap()
}

#[cfg(not(feature = "ort"))]
fn engines() -> Vec<EngineKind> {
    vec![EngineKind::Rten]
}

#[cfg(feature = "ort")]
fn engines() -> Vec<EngineKind> {
    if std::env::var_os("ORT_DYLIB_PATH").is_some() {
        return vec![EngineKind::Rten, EngineKind::Ort];
    }
    data::say("SKIPPED: ort (set ORT_DYLIB_PATH to libonnxruntime)");
    vec![EngineKind::Rten]
}

fn check(name: &str) {
    let golden = golden();
    let model = golden.models.iter().find(|model| model.name == name).unwrap();
    let Some(folder) = data::model(name) else { return };
    let floor = if model.precision == "fp32" { 0.999 } else { 0.99 };
    for engine in engines() {
        let embedder = open(&folder, engine).unwrap();
        assert_eq!(embedder.profile().dimensions, model.dimensions);
        let mut worst = 1.0_f32;
        for (role, label) in [(Role::Query, "query"), (Role::Document, "document")] {
            let rows: Vec<&GoldenRow> = model.rows.iter().filter(|row| row.role == label).collect();
            let texts: Vec<&str> = rows.iter().map(|row| golden.texts[row.text].as_str()).collect();
            let ours = embedder.embed(&texts, role).unwrap();
            let values = rows.iter().flat_map(|row| &row.vector);
            let values = values.map(|&value| value as f32 / golden.scale).collect();
            let theirs = Vectors::new(model.dimensions, values);
            for (at, (a, b)) in ours.rows().zip(theirs.rows()).enumerate() {
                let nothing = a.iter().chain(b).all(|&value| value == 0.0);
                let cosine = if nothing { 1.0 } else { dot(a, b) };
                assert!(cosine > floor, "{name}, {engine:?}: {cosine} for {:?}", texts[at]);
                worst = worst.min(cosine);
            }
        }
        data::say(&format!("{name} by {}: worst cosine {worst:.6}", embedder.profile().engine));
    }
}

#[test]
fn gte_small() {
    check("gte-small");
}

#[test]
fn minilm_in_full_precision() {
    check("minilm-fp32");
}

#[test]
fn minilm_in_8_bits() {
    check("minilm");
}

#[test]
fn bge_small_zh() {
    check("bge-small-zh");
}

#[test]
fn potion() {
    check("potion-8m");
}

#[test]
fn a_vector_depends_on_its_text_alone() {
    let Some(folder) = data::model("minilm") else { return };
    let golden = golden();
    let texts: Vec<&str> = golden.texts.iter().take(8).map(String::as_str).collect();
    let settings = ModelSettings::read(&folder).unwrap();
    let embed = |workers: usize, texts: &[&str]| {
        let model =
            LocalModel::with_workers(&folder, settings.clone(), EngineKind::Rten, workers).unwrap();
        model.embed(texts, Role::Document).unwrap()
    };
    let together = embed(3, &texts);
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    let backwards = embed(2, &reversed);
    for (at, text) in texts.iter().enumerate() {
        let alone = embed(1, &[text]);
        assert_eq!(alone.row(0), together.row(at), "{text}");
        assert_eq!(alone.row(0), backwards.row(texts.len() - 1 - at), "{text}");
    }
}
