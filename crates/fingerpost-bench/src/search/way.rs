//! What would the chooser and BM25 find if words were read in another way?
//!
//! An atlas holds one index of words. The chooser's other evidence does not depend on it, so that a way is
//! tried with an index of its own beside the compiled library.

use std::fmt;

use fingerpost::index::{Hit, Scratch, SparseConfig, SparseIndex};
use fingerpost::request::Request;
use fingerpost::route::none::evidence;
use fingerpost::route::{Evidence, Router, weigh};
use fingerpost::search::{Reading, Retriever, SearchError};
use fingerpost::snapshot::Snapshot;
use fingerpost::text::Tokenizer;
use fingerpost::view::{FieldWeights, View};

use crate::judged::{Judged, K, figures};

/// How words are read, and how often name and description count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Way {
    pub(super) tokenizer: Tokenizer,
    pub(super) fields: FieldWeights,
}

/// What a way is worth on a library, in percent: R@10 and Success@1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Worth {
    /// Of `search` without options, which is the order of `route`.
    pub(super) rank: [f64; 2],
    /// Of BM25 over the full view.
    pub(super) words: [f64; 2],
}

impl Way {
    /// As the program reads them.
    pub(super) const SHIPPED: Self =
        Self { tokenizer: Tokenizer::Auto, fields: FieldWeights { name: 1, description: 1 } };

    /// Every way that is tried.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for tokenizer in [Tokenizer::Auto, Tokenizer::Stems] {
            for name in [1, 2, 4] {
                for description in [1, 2] {
                    all.push(Self { tokenizer, fields: FieldWeights { name, description } });
                }
            }
        }
        all
    }

    pub(super) fn config(self) -> SparseConfig {
        let Self { tokenizer, fields } = self;
        SparseConfig { tokenizer, fields, view: View::Full, ..SparseConfig::default() }
    }

    /// What it is worth on the judged requests of a library.
    pub(super) fn worth(self, judged: &Judged, snapshot: &Snapshot) -> anyhow::Result<Worth> {
        let config = self.config();
        let words = snapshot.searcher(Retriever::Bm25, &config, None, Reading::Careful)?;
        let of_words = figures(judged, |request, scratch| words.search(request, K, scratch))?;
        let router = Router { finder: words, ..snapshot.router(snapshot.route_config(), K) };
        let rank = figures(judged, |request, scratch| rank(&router, request, scratch))?;
        Ok(Worth { rank, words: of_words })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FieldWeights { name, description } = self.fields;
        let endings = if self.tokenizer == Tokenizer::Stems { "no endings" } else { "endings" };
        write!(f, "{endings}, name × {name}, description × {description}")
    }
}

/// The order of the chooser where its words are those of the finder, as [`Router::rank`] gives it.
fn rank(
    router: &Router<'_>,
    request: &str,
    scratch: &mut Scratch,
) -> Result<Vec<Hit>, SearchError> {
    let request = Request::read(request);
    let hits = router.gather(&request, scratch)?;
    let pages = router.pages(&hits);
    let mut candidates = router.candidates(&request, &hits, &pages)?;
    let terms: &SparseIndex = &router.finder.sparse;
    let wanted = terms.ask(&terms.vector(&request.wanted))?;
    for candidate in &mut candidates {
        candidate.words = wanted.score(candidate.skill);
    }
    let asked = terms.ask(&terms.vector(request.text))?;
    let best = hits.iter().map(|hit| asked.score(hit.skill)).fold(0.0, f32::max);
    let fit = evidence(request.text, best, terms);
    let found = weigh(&request, &candidates, fit, router.snapshot.phrases())?;
    let hit = |found: &Evidence| Hit {
        skill: candidates[found.candidate].skill,
        score: found.total as f32,
    };
    Ok(found.iter().take(K).map(hit).collect())
}
