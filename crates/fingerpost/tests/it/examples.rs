//! Is the example library what it promises to be?

use std::collections::{BTreeMap, BTreeSet};

use fingerpost::eval::{read_qrels, read_queries};
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};

use crate::data;

#[test]
fn families_are_confusable_and_queries_plenty() {
    let folder = data::example_library();
    let loaded = Library::load(&[Root::new(&folder)], LoadOptions::default()).unwrap();
    assert_eq!(loaded.diagnostics, [], "every example skill follows the specification");
    let skills = loaded.value;

    let mut families: BTreeMap<&str, usize> = BTreeMap::new();
    for skill in skills.skills() {
        let (family, _) = skill.id.as_str().split_once('/').expect("family/skill");
        *families.entry(family).or_default() += 1;
    }
    assert!(skills.skills().len() >= 90 && families.len() >= 18);
    assert!(families.values().all(|size| (3..=8).contains(size)), "{families:?}");

    let text = |name: &str| read_unpacked(&folder.join(name)).unwrap();
    let queries = read_queries(&text("queries.jsonl"), "queries.jsonl", "dataset").unwrap();
    let qrels = read_qrels(&text("qrels.tsv"), "qrels.tsv").unwrap();
    assert!(queries.len() >= 400);
    let ids: BTreeSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
    assert_eq!(ids.len(), queries.len(), "query ids are unique");
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for query in &queries {
        let kind = query.dataset.as_deref().unwrap();
        *kinds.entry(kind).or_default() += 1;
        assert_eq!(kind == "none", !qrels.contains_key(&query.id), "{}", query.id);
    }
    assert_eq!(
        kinds.keys().copied().collect::<Vec<_>>(),
        ["hijack", "narrative", "near-miss", "none", "plain"]
    );
    assert!(kinds["none"] >= 60, "{kinds:?}");
    let mut asked_for = BTreeSet::new();
    for (query, grades) in &qrels {
        assert!(ids.contains(query.as_str()), "{query} is judged but not asked");
        for skill in grades.keys() {
            assert!(skills.find(skill).is_some(), "{query} wants {skill}, which does not exist");
            asked_for.insert(skill.as_str());
        }
    }
    assert_eq!(asked_for.len(), skills.skills().len(), "every skill is wanted by some request");
}
