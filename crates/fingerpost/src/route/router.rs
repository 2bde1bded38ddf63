//! From a request to a skill, end to end: search, candidates, choice.

use std::sync::Arc;

use super::encoder::Encoder;
use super::llm::{ChooseError, ChooserConfig, LlmChooser};
use super::none::{Signs, evidence};
use super::{Candidate, Route, RouteConfig, route, weigh};
use crate::chat::Chat;
use crate::embedding::EmbedError;
use crate::index::{Hit, IndexError, Scratch, SparseIndex, Zeros};
use crate::page::Page;
use crate::reply::Tally;
use crate::request::Request;
use crate::search::{SearchError, Searcher};
use crate::skill::SkillId;
use crate::snapshot::Snapshot;

/// Everything that routes the requests of a library, all of one generation.
pub struct Router<'a> {
    /// The library, with its pages and indexes.
    pub snapshot: &'a Snapshot,
    /// What finds the candidates.
    pub finder: Searcher<'a>,
    /// How the local chooser answers.
    pub config: RouteConfig,
    /// Candidates that each way of searching brings.
    pub pool: usize,
    /// What also tells how near skills are: an encoder that the user has; else the library's own vectors, where
    /// the program's word vectors cannot read its language.
    pub encoder: Option<Arc<Encoder>>,
}

impl Router<'_> {
    /// Takes the encoder that the user has, if there is one, in the place of the library's own vectors.
    pub fn set_encoder(&mut self, encoder: Option<Arc<Encoder>>) {
        self.encoder = encoder.or(self.encoder.take());
    }

    /// The local chooser's answer, with the hits it was chosen from.
    pub fn route(
        &self,
        request: &str,
        scratch: &mut Scratch,
    ) -> Result<(Route, Vec<Hit>), SearchError> {
        self.route_read(&self.read(request)?, scratch)
    }

    /// A request, read as everything here wants it.
    pub fn read<'r>(&self, request: &'r str) -> Result<Request<'r>, EmbedError> {
        let mut requests = self.read_all(&[request])?;
        Ok(requests.pop().expect("one request was read"))
    }

    /// Many requests; an encoder reads them together.
    pub fn read_all<'r>(&self, requests: &[&'r str]) -> Result<Vec<Request<'r>>, EmbedError> {
        let mut requests: Vec<Request<'r>> =
            requests.iter().map(|text| Request::read(text)).collect();
        if let Some(encoder) = &self.encoder {
            encoder.read(&mut requests)?;
        }
        Ok(requests)
    }

    /// [`route`](Self::route) for a request that was [read](Self::read) before.
    pub fn route_read(
        &self,
        request: &Request<'_>,
        scratch: &mut Scratch,
    ) -> Result<(Route, Vec<Hit>), SearchError> {
        let hits = self.gather(request, scratch)?;
        let pages = self.pages(&hits);
        let candidates = self.candidates(request, &hits, &pages)?;
        let signs = self.signs(request.text, &hits, scratch)?;
        let route = route(request, &candidates, signs, self.phrases(), &self.config)?;
        Ok((route, hits))
    }

    /// The best `k` skills in the order of the local chooser, so that the first is the one it would
    /// choose. Scores are what it added up.
    pub fn rank(
        &self,
        request: &str,
        k: usize,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SearchError> {
        self.rank_read(&self.read(request)?, k, scratch)
    }

    /// [`rank`](Self::rank) for a request that was [read](Self::read) before.
    pub fn rank_read(
        &self,
        request: &Request<'_>,
        k: usize,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SearchError> {
        let hits = self.gather(request, scratch)?;
        let pages = self.pages(&hits);
        let candidates = self.candidates(request, &hits, &pages)?;
        let fit = self.fit(request.text, &hits, scratch)?;
        let evidence = weigh(request, &candidates, fit, self.phrases())?;
        let hit = |found: &super::Evidence| Hit {
            skill: candidates[found.candidate].skill,
            score: found.total as f32,
        };
        Ok(evidence.iter().take(k).map(hit).collect())
    }

    /// What the local chooser chooses from: the best by the search, then those of the best by phrases and of
    /// the best by meaning that are not among them; with an encoder, its best too. Each brings others: among 16,000 skills the right one is
    /// then a candidate for 77 % of the requests, and for 53 % by the search alone.
    pub fn gather(
        &self,
        request: &Request<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SearchError> {
        let Router { finder, pool, snapshot, .. } = self;
        let mut hits = finder.search(request.text, *pool, scratch)?;
        let last = hits.last().map_or(0.0, |hit| hit.score);
        let asked = finder.sparse.ask(&finder.sparse.vector(request.text))?;
        let by_phrases = self.phrases().search(&request.wanted, *pool, Zeros::Dropped, scratch)?;
        let by_meaning = snapshot.meanings().search(&request.meaning, *pool);
        let by_encoder = self.encoder.as_ref().zip(request.vector());
        let by_encoder = by_encoder.map(|(encoder, encoded)| encoder.search(encoded, *pool));
        let others =
            by_phrases.into_iter().chain(by_meaning).chain(by_encoder.into_iter().flatten());
        for found in others {
            if hits.iter().any(|hit| hit.skill == found.skill) {
                continue;
            }
            // A fused score has no meaning outside its list: at most that of the last.
            let score = match finder.retriever.is_dense() {
                true => last,
                false => asked.score(found.skill),
            };
            hits.push(Hit { skill: found.skill, score });
        }
        Ok(hits)
    }

    /// What a model chooses from: the first hits, best first.
    pub fn hits(&self, request: &str, scratch: &mut Scratch) -> Result<Vec<Hit>, SearchError> {
        self.finder.search(request, self.pool, scratch)
    }

    /// A model's answer, and what its answers were like.
    pub fn choose(
        &self,
        request: &str,
        hits: &[Hit],
        chat: &dyn Chat,
        config: &ChooserConfig,
    ) -> Result<(Route, Tally), ChooseError> {
        let name_of = |id: &SkillId| self.snapshot.name_of(id);
        let chooser = LlmChooser { chat, config, name_of: &name_of };
        let pages = self.pages(hits);
        let candidates = self.candidates(&Request::read(request), hits, &pages)?;
        chooser.choose(request, &candidates, self.phrases())
    }

    /// The first hit, because the model gave no answer for this reason.
    pub fn fall_back(
        &self,
        request: &str,
        hits: &[Hit],
        chat: &dyn Chat,
        config: &ChooserConfig,
        why: &str,
    ) -> Result<Route, IndexError> {
        let name_of = |id: &SkillId| self.snapshot.name_of(id);
        let chooser = LlmChooser { chat, config, name_of: &name_of };
        let pages = self.pages(hits);
        let candidates = self.candidates(&Request::read(request), hits, &pages)?;
        chooser.fall_back(request, &candidates, self.phrases(), why)
    }

    /// The pages of hits, in their order.
    pub fn pages(&self, hits: &[Hit]) -> Vec<Option<Page>> {
        hits.iter().map(|hit| self.snapshot.page(hit.skill)).collect()
    }

    /// Hits with all that a chooser may read of them.
    pub fn candidates<'b>(
        &'b self,
        request: &Request<'_>,
        hits: &[Hit],
        pages: &'b [Option<Page>],
    ) -> Result<Vec<Candidate<'b>>, IndexError> {
        let terms = self.snapshot.terms();
        // What somebody refuses is no evidence for a skill.
        let wanted = terms.ask(&terms.vector(&request.wanted))?;
        let encoder = self.encoder.as_ref().zip(request.vector());
        let candidate = |(hit, page): (&Hit, &'b Option<Page>)| {
            let row = self.snapshot.row(hit.skill);
            Candidate {
                skill: hit.skill,
                id: row.id,
                name: row.name,
                description: row.description,
                page: page.as_ref(),
                words: wanted.score(hit.skill),
                meaning: self.snapshot.meanings().score(hit.skill, &request.meaning),
                encoder: encoder.map_or(0.0, |(encoder, read)| encoder.score(hit.skill, read)),
            }
        };
        Ok(hits.iter().zip(pages).map(candidate).collect())
    }

    /// The evidence that any skill fits: the best score that words give. Where they found
    /// the candidates, the best one is among these.
    pub fn fit(
        &self,
        request: &str,
        hits: &[Hit],
        scratch: &mut Scratch,
    ) -> Result<f64, IndexError> {
        let terms = self.snapshot.terms();
        let best = if Arc::ptr_eq(terms, &self.finder.sparse) && !self.finder.retriever.is_dense() {
            let asked = terms.ask(&terms.vector(request))?;
            hits.iter().map(|hit| asked.score(hit.skill)).fold(0.0, f32::max)
        } else {
            let hits = terms.search(request, 1, Zeros::Dropped, scratch)?;
            hits.first().map_or(0.0, |hit| hit.score)
        };
        Ok(evidence(request, best, terms))
    }

    /// What the request itself tells about whether any skill fits.
    pub fn signs(
        &self,
        request: &str,
        hits: &[Hit],
        scratch: &mut Scratch,
    ) -> Result<Signs, IndexError> {
        let fit = self.fit(request, hits, scratch)?;
        Ok(Signs::of(request, fit, self.snapshot.terms()))
    }

    fn phrases(&self) -> &SparseIndex {
        self.snapshot.phrases()
    }
}
