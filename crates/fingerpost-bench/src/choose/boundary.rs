//! What would the boundary change in the order of the candidates?
//!
//! Of the ways tried, this is the one that came nearest to helping: where the boundary of one
//! candidate gives a case to another, and the request is nearer to that case than to the trigger of
//! the one that gives it away, evidence moves from the one to the other.

use fingerpost::index::SparseIndex;
use fingerpost::request::Request;
use fingerpost::route::{Candidate, Evidence};

/// How much of the likeness moves.
const MOVED: f64 = 0.5;

pub(super) fn reorder(
    request: &Request<'_>,
    candidates: &[Candidate<'_>],
    evidence: &[Evidence],
    phrases: &SparseIndex,
) -> Vec<Evidence> {
    let mut evidence = evidence.to_vec();
    let asked = phrases.vector(&request.wanted);
    let likeness = |text: &str| -> f64 {
        let told = phrases.vector(text);
        let weight =
            |term| told.binary_search_by_key(&term, |&(term, _)| term).map(|at| told[at].1);
        asked.iter().map(|&(term, w)| f64::from(w * weight(term).unwrap_or(0.0))).sum()
    };
    let place = |id: &str| candidates.iter().position(|candidate| candidate.id == id);
    let mut moved = vec![0.0; candidates.len()];
    for (from, candidate) in candidates.iter().enumerate() {
        let Some(page) = candidate.page else { continue };
        let own = likeness(&page.trigger);
        for case in &page.boundary {
            let Some(to) = case.skill.as_ref().and_then(|skill| place(skill.as_str())) else {
                continue;
            };
            let more = (likeness(&case.request) - own).max(0.0);
            moved[from] -= MOVED * more;
            moved[to] += MOVED * more;
        }
    }
    for evidence in &mut evidence {
        evidence.total += moved[evidence.candidate];
    }
    evidence.sort_by(|a, b| {
        b.named.cmp(&a.named).then(b.total.total_cmp(&a.total)).then(a.candidate.cmp(&b.candidate))
    });
    evidence
}
