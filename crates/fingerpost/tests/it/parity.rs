//! Do our rankings equal those of the reference implementations?

use std::collections::BTreeMap;

use fingerpost::eval::{self, Measure, Query, Run, Scored};
use fingerpost::index::{Bm25, Hit, Idf, Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};
use fingerpost::page::Pages;
use fingerpost::skill::{Invocation, Origin, Skill, SkillId, SkillIdx};
use fingerpost::text::{Tokenizer, terms};
use fingerpost::view::document;

use crate::data;

const DEPTH: usize = 50;

fn reference_config(model: SparseModel) -> SparseConfig {
    SparseConfig { model, tokenizer: Tokenizer::Reference, ..SparseConfig::default() }
}

fn reference_models() -> [(&'static str, SparseModel); 2] {
    let bm25 = Bm25::new(1.5, 0.75, Idf::Reference).unwrap();
    [("bm25", SparseModel::Bm25(bm25)), ("tfidf", SparseModel::Tfidf)]
}

fn search_all(index: &SparseIndex, library: &Library, queries: &[Query]) -> Run {
    let mut scratch = Scratch::default();
    let mut run = Run::default();
    for query in queries {
        let hits = index.search(&query.text, DEPTH, Zeros::Kept, &mut scratch).unwrap();
        let scored = |hit: &Hit| Scored {
            skill: library.skills()[hit.skill.row()].id.to_string(),
            score: f64::from(hit.score),
        };
        run.insert(&query.id, hits.iter().map(scored).collect());
    }
    run
}

/// R@10 of the benchmark's own toolkit on this library, in per cent.
const REFERENCE_RECALL: [(&str, f64, f64); 6] = [
    ("theoremqa", 58.77, 54.75),
    ("logicbench", 66.18, 68.42),
    ("toolqa", 61.19, 65.59),
    ("medcalcbench", 58.91, 66.55),
    ("champ", 11.10, 23.69),
    ("bigcodebench", 31.63, 51.49),
];

#[test]
fn sra_rankings_equal_the_reference_runs() {
    let Some(folder) = data::folder("sra") else { return };
    let library = Library::load(&[Root::new(&folder)], LoadOptions::default()).unwrap();
    // Its only findings are names that several skills share.
    assert!(library.diagnostics.iter().all(|found| found.rule == "duplicate-name"));
    let library = library.value;
    assert_eq!(library.skills().len(), 16_417);
    let text = |name: &str| read_unpacked(&folder.join(name)).unwrap();
    let queries = eval::read_queries(&text("queries.jsonl.zst"), "queries", "dataset").unwrap();
    let qrels = eval::read_qrels(&text("qrels.tsv"), "qrels").unwrap();
    let recall: Measure = "R@10".parse().unwrap();

    for (at, (name, model)) in reference_models().into_iter().enumerate() {
        let index = SparseIndex::build(&library, &Pages::default(), &reference_config(model));
        let ours = search_all(&index, &library, &queries);
        let file = format!("reference/{name}.run.zst");
        let theirs = eval::read_run(&text(&file), &file).unwrap();
        assert_eq!(ours.len(), theirs.len());
        for query in &queries {
            same_ranking(&query.id, ours.get(&query.id).unwrap(), theirs.get(&query.id).unwrap());
        }
        let figures = eval::evaluate(&ours, &qrels, Some(&queries), &[recall]);
        for (dataset, bm25, tfidf) in REFERENCE_RECALL {
            let expected = [bm25, tfidf][at];
            let got = figures.datasets[dataset].means["R@10"].as_f64().unwrap() * 100.0;
            assert!((got - expected).abs() <= 0.01, "{name} {dataset}: {got} and not {expected}");
        }
    }
}

/// Same scores, and the same skills except between equal scores, where the reference's order is
/// arbitrary: also at the cut, where it may have kept another skill of the last score.
fn same_ranking(query: &str, ours: &[Scored], theirs: &[Scored]) {
    assert_eq!(ours.len(), theirs.len(), "{query}");
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-4 * a.abs().max(b.abs()) + 1e-6;
    let scores: BTreeMap<&str, f64> =
        ours.iter().map(|hit| (hit.skill.as_str(), hit.score)).collect();
    let last = ours.last().map_or(0.0, |hit| hit.score);
    for (rank, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!(close(a.score, b.score), "{query}: rank {rank}: {a:?} and {b:?}");
        match scores.get(b.skill.as_str()) {
            Some(&score) => assert!(close(score, b.score), "{query}: {b:?} scores {score} here"),
            None => assert!(close(b.score, last), "{query}: {b:?} is missing here"),
        }
    }
}

#[derive(serde::Deserialize)]
struct Golden {
    digests: BTreeMap<String, String>,
    queries: Vec<GoldenQuery>,
}

#[derive(serde::Deserialize)]
struct GoldenQuery {
    id: String,
    text: String,
    tokens: Vec<String>,
    bm25: Vec<(String, f64)>,
    tfidf: Vec<(String, f64)>,
}

/// `tools/golden/sparse.py` asked bm25s and gensim about our own example library.
#[test]
fn example_rankings_equal_those_of_bm25s_and_gensim() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/sparse.json")).unwrap();
    let library = example_library();
    let again = "run tools/golden/sparse.py again";
    assert_eq!(library.skills().len(), golden.digests.len(), "skills came or went: {again}");
    for skill in library.skills() {
        let digest = blake3::hash(document(skill).as_bytes()).to_hex().to_string();
        assert_eq!(digest, golden.digests[skill.id.as_str()], "{} changed: {again}", skill.id);
    }
    for (at, (_, model)) in reference_models().into_iter().enumerate() {
        let index = SparseIndex::build(&library, &Pages::default(), &reference_config(model));
        let mut scratch = Scratch::default();
        for query in &golden.queries {
            assert_eq!(terms(&query.text, Tokenizer::Reference), query.tokens, "{}", query.id);
            let theirs = [&query.bm25, &query.tfidf][at];
            let hits = index.search(&query.text, 20, Zeros::Dropped, &mut scratch).unwrap();
            let scored = |hit: &Hit| Scored {
                skill: library.skills()[hit.skill.row()].id.to_string(),
                score: f64::from(hit.score),
            };
            let ours: Vec<Scored> = hits.iter().map(scored).collect();
            let theirs: Vec<Scored> = theirs
                .iter()
                .map(|(skill, score)| Scored { skill: skill.clone(), score: *score })
                .collect();
            same_ranking(&query.id, &ours, &theirs);
        }
    }
}

fn example_library() -> Library {
    let roots = [Root::new(data::example_library())];
    Library::load(&roots, LoadOptions::default()).unwrap().value
}

#[test]
fn the_index_does_not_depend_on_the_number_of_threads() {
    let library = example_library();
    let build = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            SparseIndex::build(&library, &Pages::default(), &SparseConfig::default())
                .bytes()
                .to_vec()
        })
    };
    assert_eq!(build(1), build(4));
}

#[test]
fn an_explanation_adds_up_to_the_score() {
    let library = example_library();
    let query = "corrected QT by the Bazett square root, heart rate 72";
    for model in [SparseModel::default(), SparseModel::Tfidf] {
        let config = SparseConfig { model, ..SparseConfig::default() };
        let index = SparseIndex::build(&library, &Pages::default(), &config);
        for hit in index.search(query, 5, Zeros::Dropped, &mut Scratch::default()).unwrap() {
            let why = index.explain(query, hit.skill).unwrap();
            assert!((why.score - hit.score).abs() <= 1e-5 * hit.score);
            let shares: f32 = why.terms.iter().map(|term| term.share).sum();
            assert!((shares - 1.0).abs() < 1e-4, "{shares}");
            assert!(why.terms.is_sorted_by(|a, b| a.contribution >= b.contribution));
        }
    }
}

#[test]
fn zero_scores_come_only_when_asked_for() {
    let index = SparseIndex::build(&example_library(), &Pages::default(), &SparseConfig::default());
    let mut scratch = Scratch::default();
    let nonsense = "xyzzyplugh";
    assert_eq!(index.search(nonsense, 10, Zeros::Dropped, &mut scratch).unwrap(), []);
    let padded = index.search(nonsense, 3, Zeros::Kept, &mut scratch).unwrap();
    let rows: Vec<SkillIdx> = padded.iter().map(|hit| hit.skill).collect();
    assert_eq!(rows, [0, 1, 2].map(SkillIdx));
    assert!(padded.iter().all(|hit| hit.score == 0.0));
}

/// A library of so many skills with these descriptions.
fn described(count: u32, description: impl Fn(u32) -> String) -> Library {
    let skills = (0..count).map(|n| Skill {
        id: SkillId::new(format!("{n:06}")),
        name: format!("s{n}"),
        description: description(n),
        content: String::new(),
        fields: Default::default(),
        invocation: Invocation::Automatic,
        origin: Origin { file: "records".into(), line: Some(u64::from(n)) },
    });
    Library::from_skills(skills.collect()).value
}

/// Rows of a segment of the index.
const SEAM: u32 = 1 << 16;

/// Most skills are out of reach of the best before the common terms are added, and those terms are
/// not given to them: the best must be the same as if they had been.
#[test]
fn what_is_passed_over_was_not_among_the_best() {
    // A third has each common word, one in fifty each rare one; lengths differ.
    let has = |n: u32, word: u32, of: u32| {
        (n ^ word.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b) >> 16 < 65_536 / of
    };
    let library = described(SEAM + 3000, |n| {
        let common = (0..6).filter(|&word| has(n, word, 3)).map(|word| format!("common{word}"));
        let rare = (0..8).filter(|&word| has(n, 100 + word, 50)).map(|word| format!("rare{word}"));
        common.chain(rare).collect::<Vec<_>>().join(" ")
    });
    for (_, model) in reference_models() {
        let index = SparseIndex::build(&library, &Pages::default(), &reference_config(model));
        for query in [
            "rare0 rare1 rare2 common0",
            "rare3 common1 common2 common3 common4 common5",
            "rare4 rare5 rare6 rare7 common0 common1 s12 s65600",
            "common0 common1 common2",
        ] {
            let asked = index.ask(&index.vector(query)).unwrap();
            let mut all: Vec<f32> =
                (0..index.len() as u32).map(|row| asked.score(SkillIdx(row))).collect();
            let hits = index.search(query, DEPTH, Zeros::Dropped, &mut Scratch::default()).unwrap();
            assert_eq!(hits.len(), DEPTH);
            let near = |a: f32, b: f32| (a - b).abs() <= 1e-5 * b;
            for hit in &hits {
                assert!(near(hit.score, all[hit.skill.row()]), "{query}: {hit:?}");
            }
            all.sort_by(|a, b| b.total_cmp(a));
            for (hit, &score) in hits.iter().zip(&all) {
                assert!(near(hit.score, score), "{query}: {hit:?} where {score} is due");
            }
        }
    }
}

/// Rows are kept in two bytes, segment by segment: nothing may be lost or doubled at the seam.
#[test]
fn a_library_of_more_than_one_segment() {
    let library = described(SEAM + 40, |n| {
        let near = if n.abs_diff(SEAM) <= 2 { "seam" } else { "" };
        format!("{near} parity{}", n % 2)
    });
    let index = SparseIndex::build(&library, &Pages::default(), &SparseConfig::default());
    let search = |query: &str| -> Vec<u32> {
        let hits = index.search(query, 10, Zeros::Dropped, &mut Scratch::default()).unwrap();
        hits.iter().map(|hit| hit.skill.0).collect()
    };
    assert_eq!(search("seam"), [SEAM - 2, SEAM - 1, SEAM, SEAM + 1, SEAM + 2]);
    assert_eq!(search("s65575 s3"), [3, SEAM + 39]);
    let why = index.explain("seam s65537", SkillIdx(SEAM + 1)).unwrap();
    assert!(why.terms.iter().all(|term| term.contribution > 0.0), "{why:?}");
}

/// In a library of short descriptions "please" is rarer than what a request is about.
#[test]
fn words_of_asking_count_little_unless_the_reference_is_asked_for() {
    let library = described(20, |n| match n {
        0 => "please wait for the lift".to_owned(),
        1..=4 => format!("merge files number{n}"),
        _ => format!("some other tool number{n}"),
    });
    let first = |tokenizer| {
        let config = SparseConfig { tokenizer, ..SparseConfig::default() };
        let index = SparseIndex::build(&library, &Pages::default(), &config);
        let request = "please merge";
        let hits = index.search(request, 9, Zeros::Dropped, &mut Scratch::default()).unwrap();
        assert_eq!(hits.len(), 5, "they still count");
        library.skills()[hits[0].skill.row()].id.to_string()
    };
    assert_eq!(first(Tokenizer::Reference), "000000");
    assert_eq!(first(Tokenizer::Auto), "000001");
}
