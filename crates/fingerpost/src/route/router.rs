//! From a request to a skill, end to end: search, candidates, choice.

use super::llm::{ChooseError, ChooserConfig, LlmChooser};
use super::none::evidence;
use super::{Candidate, Route, RouteConfig, route, wanted_score};
use crate::atlas::Compiled;
use crate::chat::Chat;
use crate::embedding::dot;
use crate::index::{DenseIndex, Hit, IndexError, Scratch, SparseIndex, Zeros};
use crate::reply::Tally;
use crate::request::Request;
use crate::search::{SearchError, Searcher};
use crate::skill::SkillId;

/// Everything that routes the requests of a library.
pub struct Router {
    /// The library, with its pages.
    pub compiled: Compiled,
    /// What finds the candidates.
    pub searcher: Searcher,
    /// Words and pairs of words over the full view.
    pub phrases: SparseIndex,
    /// What each skill means ([`Compiled::meanings`]).
    pub meanings: DenseIndex,
    /// BM25 over words as they suit the library, where the candidates are found by something else.
    pub suiting: Option<SparseIndex>,
    /// How the local chooser answers.
    pub config: RouteConfig,
    /// Candidates that each way of searching brings.
    pub pool: usize,
}

impl Router {
    /// The local chooser's answer, with the hits it was chosen from.
    pub fn route(
        &self,
        request: &str,
        scratch: &mut Scratch,
    ) -> Result<(Route, Vec<Hit>), SearchError> {
        let request = Request::read(request);
        let hits = self.gather(&request, scratch)?;
        let candidates = self.candidates(&request, &hits)?;
        let fit = self.fit(request.text, &hits, scratch)?;
        Ok((route(&request, &candidates, fit, &self.phrases, &self.config)?, hits))
    }

    /// What the local chooser chooses from: the best by the search, then those of the best by phrases and of
    /// the best by meaning that are not among them. Each brings others: among 16,000 skills the right one is
    /// then a candidate for 77 % of the requests, and for 53 % by the search alone.
    pub fn gather(
        &self,
        request: &Request<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SearchError> {
        let Router { searcher, phrases, meanings, pool, .. } = self;
        let mut hits = searcher.search(request.text, *pool, scratch)?;
        let last = hits.last().map_or(0.0, |hit| hit.score);
        let asked = searcher.sparse.vector(request.text);
        let by_phrases = phrases.search(&request.wanted, *pool, Zeros::Dropped, scratch)?;
        let by_meaning = meanings.search(&request.meaning, *pool);
        for found in by_phrases.into_iter().chain(by_meaning) {
            if hits.iter().any(|hit| hit.skill == found.skill) {
                continue;
            }
            // A fused score has no meaning outside its list: at most that of the last.
            let score = match searcher.retriever.is_dense() {
                true => last,
                false => searcher.sparse.score(&asked, found.skill)?,
            };
            hits.push(Hit { skill: found.skill, score });
        }
        Ok(hits)
    }

    /// What a model chooses from: the first hits, best first.
    pub fn hits(&self, request: &str, scratch: &mut Scratch) -> Result<Vec<Hit>, SearchError> {
        self.searcher.search(request, self.pool, scratch)
    }

    /// A model's answer, and what its answers were like.
    pub fn choose(
        &self,
        request: &str,
        hits: &[Hit],
        chat: &dyn Chat,
        config: &ChooserConfig,
    ) -> Result<(Route, Tally), ChooseError> {
        let name_of = |id: &SkillId| self.name_of(id);
        let chooser = LlmChooser { chat, config, name_of: &name_of };
        chooser.choose(request, &self.candidates(&Request::read(request), hits)?, &self.phrases)
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
        let name_of = |id: &SkillId| self.name_of(id);
        let chooser = LlmChooser { chat, config, name_of: &name_of };
        chooser.fall_back(
            request,
            &self.candidates(&Request::read(request), hits)?,
            &self.phrases,
            why,
        )
    }

    /// Hits with all that a chooser may read of them.
    pub fn candidates(
        &self,
        request: &Request<'_>,
        hits: &[Hit],
    ) -> Result<Vec<Candidate<'_>>, IndexError> {
        let words = wanted_score(request, self.terms());
        let candidate = |hit: &Hit| {
            let skill = self.compiled.skill(hit.skill);
            Ok(Candidate {
                skill: hit.skill,
                id: &skill.id,
                name: &skill.name,
                description: &skill.description,
                page: self.compiled.page(&skill.id),
                words: words(hit.skill)?,
                meaning: dot(&request.meaning, self.meanings.vectors().row(hit.skill.row())),
            })
        };
        hits.iter().map(candidate).collect()
    }

    /// The evidence that any skill fits: the best score that words as they suit give. Where they found
    /// the candidates, the best one is among these.
    pub fn fit(
        &self,
        request: &str,
        hits: &[Hit],
        scratch: &mut Scratch,
    ) -> Result<f64, IndexError> {
        let terms = self.terms();
        let best = if self.suiting.is_none() && !self.searcher.retriever.is_dense() {
            let asked = terms.vector(request);
            let mut scores = hits.iter().map(|hit| terms.score(&asked, hit.skill));
            scores.try_fold(0.0_f32, |best, score| Ok(best.max(score?)))?
        } else {
            let hits = terms.search(request, 1, Zeros::Dropped, scratch)?;
            hits.first().map_or(0.0, |hit| hit.score)
        };
        Ok(evidence(request, best, terms))
    }

    /// BM25 over words as they suit the library.
    fn terms(&self) -> &SparseIndex {
        self.suiting.as_ref().unwrap_or(&self.searcher.sparse)
    }

    /// What a reference is shown as: the skill's name, or its id if the library has it no more.
    fn name_of(&self, id: &SkillId) -> String {
        let skills = &self.compiled.skills;
        let found = skills.binary_search_by(|skill| skill.id.as_str().cmp(id.as_str()));
        found.map_or_else(|_| id.to_string(), |at| skills[at].name.clone())
    }
}
