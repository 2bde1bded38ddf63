//! What do a searcher and the local chooser answer to all requests of an evaluation?

use rayon::prelude::*;

use super::{Query, Run, Scored};
use crate::embedding::EmbedError;
use crate::index::Scratch;
use crate::request::Request;
use crate::route::{Decision, Route, Router};
use crate::search::{SearchError, Searcher};

/// The best `depth` hits of every request. All requests are embedded together, which is what servers and
/// models are good at.
pub fn search_all(
    searcher: &Searcher<'_>,
    queries: &[Query],
    depth: usize,
) -> Result<Run, SearchError> {
    let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    let vectors = searcher.embed(&texts)?;
    let found = queries
        .par_iter()
        .enumerate()
        .map_init(Scratch::default, |scratch, (at, query)| {
            let vector = vectors.as_ref().map(|vectors| vectors.row(at));
            let hits = searcher.search_embedded(&query.text, vector, depth, scratch)?;
            let scored = hits.iter().map(|hit| Scored {
                skill: searcher.snapshot.row(hit.skill).id.to_owned(),
                score: f64::from(hit.score),
            });
            Ok(scored.collect())
        })
        .collect::<Result<Vec<Vec<Scored>>, SearchError>>()?;
    Ok(run_of(queries, found))
}

/// The best `depth` skills for every request, in the order of the local chooser.
pub fn rank_all(router: &Router<'_>, queries: &[Query], depth: usize) -> Result<Run, SearchError> {
    let requests = read_all(router, queries)?;
    let rank = |scratch: &mut Scratch, request: &Request<'_>| -> Result<Vec<Scored>, SearchError> {
        let hits = router.rank_read(request, depth, scratch)?;
        let scored = hits.iter().map(|hit| Scored {
            skill: router.snapshot.row(hit.skill).id.to_owned(),
            score: f64::from(hit.score),
        });
        Ok(scored.collect())
    };
    let found = requests.par_iter().map_init(Scratch::default, rank).collect::<Result<_, _>>()?;
    Ok(run_of(queries, found))
}

fn run_of(queries: &[Query], found: Vec<Vec<Scored>>) -> Run {
    let mut run = Run::default();
    for (query, hits) in queries.iter().zip(found) {
        run.insert(query.id.as_str(), hits);
    }
    run
}

/// The local chooser's answer to every request, in their order.
pub fn choose_all(router: &Router<'_>, queries: &[Query]) -> Result<Vec<Route>, SearchError> {
    let requests = read_all(router, queries)?;
    let choose =
        |scratch: &mut Scratch, request: &Request<'_>| Ok(router.route_read(request, scratch)?.0);
    requests.par_iter().map_init(Scratch::default, choose).collect()
}

fn read_all<'q>(router: &Router<'_>, queries: &'q [Query]) -> Result<Vec<Request<'q>>, EmbedError> {
    let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    router.read_all(&texts)
}

/// The run that routes make, one for each request: the chosen skills first, then the others in the order
/// in which they came near; nothing where the answer is none.
pub fn run_of_routes(queries: &[Query], routes: Vec<Route>) -> Run {
    let mut run = Run::default();
    for (query, route) in queries.iter().zip(routes) {
        let others = route.rejected.into_iter().map(|rejected| rejected.skill);
        let ranked: Vec<String> = match route.decision {
            Decision::None => vec![],
            Decision::Use => route.skills.into_iter().chain(others).collect(),
        };
        let scored = (1..).zip(ranked);
        let scored = scored.map(|(rank, skill)| Scored { skill, score: 1.0 / f64::from(rank) });
        run.insert(query.id.as_str(), scored.collect());
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atlas::Atlas;
    use crate::index::SparseConfig;
    use crate::library::Library;
    use crate::page::name::tests::skill;
    use crate::protocol::Protocol;
    use crate::search::{Reading, Retriever};

    fn query(id: &str, text: &str) -> Query {
        Query { id: id.into(), text: text.into(), dataset: None }
    }

    #[test]
    fn every_request_is_searched_for() {
        let skills = [
            ("forms", "Fills in PDF forms."),
            ("merge", "Merges PDF files."),
            ("post", "Weighs parcels."),
        ];
        let skills = skills.map(|(id, description)| skill(id, id, description, ""));
        let library = Library::from_skills(skills.into()).value;
        let atlas = Atlas::in_memory();
        let snapshot = atlas.compile(&library, &Protocol::ours()).unwrap().0;
        let config = SparseConfig::default();
        let searcher = snapshot.searcher(Retriever::Bm25, &config, None, Reading::Careful).unwrap();
        let queries = [query("a", "weighs parcels"), query("b", "xyzzy"), query("c", "merges PDF")];
        let run = search_all(&searcher, &queries, 1).unwrap();
        let first = |id: &str| run.get(id).unwrap().first().map(|hit| hit.skill.as_str());
        assert_eq!([first("a"), first("b"), first("c")], [Some("post"), None, Some("merge")]);
        assert_eq!(run.get("c").unwrap().len(), 1, "as deep as asked for");
        let deeper = search_all(&searcher, &queries, 9).unwrap();
        assert_eq!(deeper.get("c").unwrap().len(), 2);
    }
}
