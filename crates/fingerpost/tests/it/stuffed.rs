//! Does a skill win requests by stuffing its description with their words?

use std::collections::{BTreeMap, BTreeSet};

use fingerpost::atlas::Atlas;
use fingerpost::eval::{Query, read_queries};
use fingerpost::index::Scratch;
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};
use fingerpost::protocol::Protocol;
use fingerpost::text::{Tokenizer, for_each_term};

use crate::data;

/// Requests that are counted; every skill is meant by some of them.
const EVERY: usize = 3;

/// First places that chance may give to a skill that had hardly any.
const FLOOR: usize = 4;

fn first_places(library: &Library, queries: &[Query], id: &str) -> usize {
    let snapshot = Atlas::in_memory().compile(library, &Protocol::ours()).unwrap().0;
    let router = snapshot.router(snapshot.route_config(), 10);
    let mut scratch = Scratch::default();
    let is_first = |query: &&Query| {
        let hits = router.rank(&query.text, 1, &mut scratch).unwrap();
        hits.first().is_some_and(|hit| snapshot.row(hit.skill).id == id)
    };
    queries.iter().step_by(EVERY).filter(is_first).count()
}

#[test]
fn the_words_of_all_requests_win_few_of_them() {
    let folder = data::example_library();
    let library = Library::load(&[Root::new(&folder)], LoadOptions::default()).unwrap().value;
    let text = read_unpacked(&folder.join("queries.jsonl")).unwrap();
    let queries = read_queries(&text, "queries.jsonl", "dataset").unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for query in &queries {
        let mut words = BTreeSet::new();
        for_each_term(&query.text, Tokenizer::Auto, |word| {
            words.insert(word.to_owned());
        });
        words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|(word, count), (other, more)| more.cmp(count).then(word.cmp(other)));
    let words: Vec<&str> = words.iter().take(300).map(|(word, _)| word.as_str()).collect();
    for id in ["flights/flight-counts", "loans/loan-payment", "tax-forms/form-1099-k"] {
        let honest = first_places(&library, &queries, id);
        for times in [1, 3] {
            let mut skills = library.skills().to_vec();
            let skill = skills.iter_mut().find(|skill| skill.id.as_str() == id).unwrap();
            for _ in 0..times {
                skill.description.push(' ');
                skill.description.push_str(&words.join(" "));
            }
            let stuffed = first_places(&Library::from_skills(skills).value, &queries, id);
            assert!(stuffed <= (2 * honest).max(FLOOR), "{id}: {honest}, then {stuffed}");
        }
    }
}
