//! Who ranks the skills, and what does each of them read?

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::ensure;
use bm25::{Document, Language, SearchEngine, SearchEngineBuilder};
use fingerpost::eval::{Run, Scored, rank_all, search_all};
use fingerpost::index::SparseConfig;
use fingerpost::library::Library;
use fingerpost::search::Retriever;
use fingerpost::skill::SkillIdx;
use fingerpost::view::{View, document};
use rayon::prelude::*;

use super::bm25s::Bm25s;
use super::minilm::MiniLm;
use crate::judged::{Judged, K};
use crate::search::searcher;

/// What a contestant does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    /// `search` without options, whose first is what `route --always` answers.
    Ours,
    /// The same once minilm was fetched.
    OursEncoded,
    /// `search --retriever bm25 --view raw`.
    OursRaw,
    /// bm25s with its defaults, over name, description and content.
    Bm25s,
    /// The same and the cosine of MiniLM over the same texts, fused by reciprocal ranks.
    Fused,
    /// The crate `bm25` with its defaults, over name and description.
    Crate,
}

impl Arm {
    /// Everybody, in the order of the columns.
    pub(crate) const ALL: [Arm; 6] =
        [Arm::Ours, Arm::OursEncoded, Arm::OursRaw, Arm::Bm25s, Arm::Fused, Arm::Crate];
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arm::Ours => "ours: `search`",
            Arm::OursEncoded => "ours: `search` with minilm",
            Arm::OursRaw => "ours: `bm25 --view raw`",
            Arm::Bm25s => "bm25s",
            Arm::Fused => "BM25 + MiniLM",
            Arm::Crate => "crate `bm25`",
        })
    }
}

/// Hits of one request, best first, equal ones in the order of ids.
pub(crate) type Ranking = Vec<(SkillIdx, f64)>;

/// How strongly reciprocal ranks flatten the first ones: what nearly everybody takes.
const FLATTENING: f64 = 60.0;

/// Hits of each ranking that are fused.
pub(crate) const DEPTH: usize = 100;

/// The arms that need something from outside, or why they cannot take part.
pub(crate) struct Arms {
    bm25s: Option<Bm25s>,
    minilm: Option<MiniLm>,
}

impl Arms {
    /// Looks for Python and for the model, which is fetched where it is not here; an arm that lacks
    /// what it needs is told of and left out.
    pub(crate) fn open(python: &Path, vectors: &Path) -> Self {
        fn or_told<T>(what: &str, opened: anyhow::Result<T>) -> Option<T> {
            opened.inspect_err(|error| eprintln!("going on without {what}: {error:#}")).ok()
        }
        Self {
            bm25s: or_told("bm25s, alone and with MiniLM", Bm25s::open(python)),
            minilm: or_told("MiniLM", MiniLm::open(vectors)),
        }
    }

    /// Which versions took part.
    pub(crate) fn versions(&self) -> String {
        let bm25s = self.bm25s.as_ref().map_or("no bm25s".into(), |peer| peer.version.clone());
        let minilm = self.minilm.as_ref().map_or("no MiniLM".into(), MiniLm::version);
        format!("{bm25s}; {minilm}.")
    }

    /// What each arm finds for the requests of a library, in the order of [`Arm::ALL`].
    pub(crate) fn runs(&self, judged: &Judged) -> anyhow::Result<[Option<Run>; Arm::ALL.len()]> {
        let Judged { library, queries, .. } = judged;
        let snapshot = judged.compile()?;
        let mut router = snapshot.router(snapshot.route_config(), K);
        let alone = rank_all(&router, queries, K)?;
        router.set_encoder(self.minilm.as_ref().map(|peer| peer.encoder(&snapshot)).transpose()?);
        let encoded = self.minilm.is_some().then(|| rank_all(&router, queries, K)).transpose()?;
        let raw = SparseConfig { view: View::Raw, ..SparseConfig::default() };
        let raw = searcher(&snapshot, Retriever::Bm25, &raw)?;

        let texts: Vec<String> = library.skills().iter().map(document).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let requests: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
        let by_words = self.bm25s.as_ref().map(|peer| peer.rank(&texts, &requests)).transpose()?;
        let fused = match (&by_words, &self.minilm) {
            (Some(by_words), Some(peer)) => {
                let by_vectors = peer.rank(&texts, &requests)?;
                let pairs = by_words.iter().zip(&by_vectors);
                Some(pairs.map(|(words, vectors)| fuse([words, vectors])).collect())
            }
            _ => None,
        };
        let of_peer = |rankings: Option<Vec<Ranking>>| {
            rankings.map(|rankings| run_of(judged, rankings)).transpose()
        };
        let runs = [
            Some(alone),
            encoded,
            Some(search_all(&raw, queries, K)?),
            of_peer(by_words)?,
            of_peer(fused)?,
            of_peer(Some(name_and_description(library, &requests)))?,
        ];
        for (arm, run) in Arm::ALL.iter().zip(&runs) {
            let Some(run) = run else { continue };
            let answered = queries.iter().filter(|query| run.get(&query.id).is_some()).count();
            ensure!(
                answered == queries.len() && run.len() == queries.len(),
                "{arm} was asked other requests than the rest: it answers {answered} of {}",
                queries.len()
            );
        }
        Ok(runs)
    }
}

/// The run of a peer that answered the requests in their order.
fn run_of(judged: &Judged, rankings: Vec<Ranking>) -> anyhow::Result<Run> {
    ensure!(
        rankings.len() == judged.queries.len(),
        "{} requests were asked and {} answered",
        judged.queries.len(),
        rankings.len()
    );
    let mut run = Run::default();
    for (query, ranking) in judged.queries.iter().zip(rankings) {
        let scored = |(skill, score): (SkillIdx, f64)| Scored {
            skill: judged.library.skills()[skill.row()].id.to_string(),
            score,
        };
        run.insert(query.id.as_str(), ranking.into_iter().take(K).map(scored).collect());
    }
    Ok(run)
}

/// Reciprocal ranks, each ranking with the same weight.
fn fuse(rankings: [&Ranking; 2]) -> Ranking {
    let mut scores: BTreeMap<SkillIdx, f64> = BTreeMap::new();
    for ranking in rankings {
        for (rank, (skill, _)) in (1..=DEPTH).zip(ranking) {
            *scores.entry(*skill).or_default() += 1.0 / (FLATTENING + rank as f64);
        }
    }
    in_order(scores.into_iter().collect())
}

/// The crate `bm25` as Codex calls it for the tools it searches.
fn name_and_description(library: &Library, requests: &[&str]) -> Vec<Ranking> {
    let documents =
        library.skills().iter().zip(0_u32..).map(|(skill, row)| {
            Document::new(row, format!("{} {}", skill.name, skill.description))
        });
    let engine: SearchEngine<u32> =
        SearchEngineBuilder::with_documents(Language::English, documents).build();
    let rank = |request: &&str| {
        // All hits: those with equal scores come in the order of a hash map, which differs between runs.
        let hits = engine.search(request, None);
        in_order(hits.iter().map(|hit| (SkillIdx(hit.document.id), f64::from(hit.score))).collect())
    };
    requests.par_iter().map(rank).collect()
}

/// Best first, equal ones in the order of ids.
pub(crate) fn in_order(mut hits: Ranking) -> Ranking {
    hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits
}

#[cfg(test)]
mod tests {
    use fingerpost::eval::{Qrels, Query};
    use fingerpost::library::{LoadOptions, Root};
    use fingerpost::skill::{Skill, SkillId};

    use super::*;

    fn ranking(rows: impl IntoIterator<Item = u32>) -> Ranking {
        rows.into_iter().zip(0..).map(|(row, at)| (SkillIdx(row), 100.0 - f64::from(at))).collect()
    }

    fn rows(ranking: &Ranking) -> Vec<u32> {
        ranking.iter().map(|(skill, _)| skill.0).collect()
    }

    /// A part of the examples with their requests.
    fn judged() -> Judged {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/library");
        let library = Library::load(&[Root::new(root)], LoadOptions::default()).unwrap().value;
        let library = Library::from_skills(library.skills()[..12].to_vec()).value;
        let query = |(skill, at): (&Skill, usize)| Query {
            id: format!("request {at}"),
            text: skill.description.clone(),
            dataset: None,
        };
        let mut queries: Vec<Query> = library.skills().iter().zip(0..).map(query).collect();
        // Nobody finds anything for this one, and still nobody may pass over it.
        queries.push(Query { id: "nothing".into(), text: "xyzzy".into(), dataset: None });
        Judged {
            name: String::new(),
            asks: String::new(),
            library,
            queries,
            texts: Default::default(),
            data_sets: Default::default(),
            qrels: Qrels::default(),
            answers: Default::default(),
            theirs: None,
            writer: "",
        }
    }

    #[test]
    fn ranks_count_and_scores_do_not() {
        // Skill 7 is first in one ranking only; skill 3 is far down, but in both.
        let words = ranking([7].into_iter().chain(100..128).chain([3]));
        let vectors = ranking((200..239).chain([3]));
        let fused = fuse([&words, &vectors]);
        assert_eq!(rows(&fused)[..3], [3, 7, 200]);
        assert_eq!(fused[0].1, 1.0 / 90.0 + 1.0 / 100.0);
        assert_eq!(fused[1].1, 1.0 / 61.0);
        // Equal sums are in the order of ids, and nothing below the depth counts.
        assert_eq!(rows(&fuse([&ranking([5, 2]), &ranking([2, 5])])), [2, 5]);
        let deep = fuse([&ranking(0..DEPTH as u32 + 1), &Vec::new()]);
        assert_eq!(deep.len(), DEPTH);
    }

    #[test]
    fn every_arm_is_asked_the_same_requests() {
        let judged = judged();
        let runs = Arms { bm25s: None, minilm: None }.runs(&judged).unwrap();
        let took_part = runs.each_ref().map(Option::is_some);
        assert_eq!(took_part, [true, false, true, false, false, true]);
        let ids = |run: &Run| -> Vec<String> { run.iter().map(|(id, _)| id.to_owned()).collect() };
        let mut asked: Vec<String> = judged.queries.iter().map(|query| query.id.clone()).collect();
        asked.sort_unstable();
        for run in runs.iter().flatten() {
            assert_eq!(ids(run), asked);
            assert!(run.iter().all(|(_, hits)| hits.len() <= K));
        }
    }

    #[test]
    fn a_peer_that_leaves_a_request_out_is_found_out() {
        let judged = judged();
        let mut rankings: Vec<Ranking> = judged.queries.iter().map(|_| ranking([1])).collect();
        assert!(run_of(&judged, rankings.clone()).is_ok());
        rankings.pop();
        let error = run_of(&judged, rankings).unwrap_err().to_string();
        assert_eq!(error, "13 requests were asked and 12 answered");
    }

    #[test]
    fn the_crate_reads_names_and_descriptions_only() {
        let skill = |id: &str, description: &str, content: &str| Skill {
            name: id.to_owned(),
            description: description.to_owned(),
            content: content.to_owned(),
            ..judged().library.skills()[0].clone()
        };
        let skills = [
            skill("forms", "Fills in PDF forms.", "Weigh parcels."),
            skill("parcels", "Weighs them.", ""),
        ];
        let skills = skills.map(|skill| Skill { id: SkillId::new(skill.name.as_str()), ..skill });
        let library = Library::from_skills(skills.into()).value;
        let found = name_and_description(&library, &["weigh parcels", "a PDF form", "xyzzy"]);
        assert_eq!(found.iter().map(rows).collect::<Vec<_>>(), [vec![1], vec![0], vec![]]);
    }
}
