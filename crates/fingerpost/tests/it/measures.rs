//! Do our measures equal those of trec_eval and ir_measures?
//!
//! The golden file was made by `tools/golden/measures.py` from random runs full of ties. Where the
//! packages are installed, they are asked again, on other random runs.

use std::collections::BTreeMap;
use std::process::Command;

use fingerpost::eval::{Measure, Qrels, Run, Scored, evaluate};

use crate::data;

#[derive(serde::Deserialize)]
struct Golden {
    measures: Vec<String>,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    qrels: Qrels,
    run: BTreeMap<String, BTreeMap<String, f64>>,
    /// One value per measure, where equal scores are ordered by id ascending, as we do.
    expected_our_ties: BTreeMap<String, Vec<f64>>,
}

fn check(golden: &Golden) -> usize {
    let measures: Vec<Measure> = golden.measures.iter().map(|m| m.parse().unwrap()).collect();
    let mut compared = 0;
    for (number, case) in golden.cases.iter().enumerate() {
        let mut run = Run::default();
        for (query, hits) in &case.run {
            let hits = hits.iter().map(|(skill, &score)| Scored { skill: skill.clone(), score });
            run.insert(query, hits.collect());
        }
        let evaluation = evaluate(&run, &case.qrels, None, &measures);
        let unfit = case.qrels.values().filter(|grades| grades.values().all(|&g| g <= 0)).count();
        assert_eq!(evaluation.none.queries, unfit, "case {number}");
        assert_eq!(evaluation.queries + unfit, case.qrels.len(), "case {number}");
        for query in &evaluation.per_query {
            let expected = &case.expected_our_ties[&query.query];
            for ((name, got), expected) in golden.measures.iter().zip(&query.scores).zip(expected) {
                let same = (got - expected).abs() < 1e-9;
                assert!(same, "case {number}, {}, {name}: {got} and not {expected}", query.query);
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn golden_values() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/measures.json")).unwrap();
    assert!(check(&golden) > 2000);
}

/// The same against the packages themselves, with a seed of its own.
#[test]
fn values_of_the_installed_packages() {
    let script = data::repository().join("tools/golden/measures.py");
    let Some(python) = data::python("ir_measures, pytrec_eval") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("measures.json");
    let made = Command::new(python).arg(script).arg(&file).args(["--seed", "7"]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let golden = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(check(&golden) > 2000);
}
