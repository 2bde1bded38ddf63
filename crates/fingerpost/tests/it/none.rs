//! Requests that need no skill get none, short ones that a skill serves get it.

use std::path::Path;

use fingerpost::atlas::Atlas;
use fingerpost::index::Scratch;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::protocol::Protocol;
use fingerpost::route::{Decision, Route, RouteConfig};
use fingerpost::skill::{Skill, SkillId};
use fingerpost::snapshot::Snapshot;

/// The example library, without the skills of these names and with some others.
fn examples(without: &[&str], others: &[(&str, &str)]) -> Snapshot {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/library");
    let library = Library::load(&[Root::new(root)], LoadOptions::default()).unwrap().value;
    let mut skills: Vec<Skill> = library.skills().to_vec();
    let like = skills[0].clone();
    skills.retain(|skill| !without.contains(&skill.name.as_str()));
    assert_eq!(skills.len(), library.skills().len() - without.len());
    for &(name, description) in others {
        skills.push(Skill {
            id: SkillId::new(name),
            name: name.to_owned(),
            description: description.to_owned(),
            content: String::new(),
            ..like.clone()
        });
    }
    let library = Library::from_skills(skills).value;
    Atlas::in_memory().compile(&library, &Protocol::ours()).unwrap().0
}

fn route(snapshot: &Snapshot, request: &str, config: RouteConfig) -> Route {
    snapshot.router(config, 10).route(request, &mut Scratch::default()).unwrap().0
}

#[test]
fn what_needs_no_skill_gets_none_and_short_requests_get_theirs() {
    let currency = (
        "convert-currency",
        "Converts an amount from one currency to another, such as EUR to USD, by the rate of a day.",
    );
    let snapshot = examples(&["text-translate"], &[currency]);
    let chosen = |request: &str| route(&snapshot, request, snapshot.route_config()).skill;
    for request in [
        "thanks, that worked!",
        "what's 17 times 23",
        "make it shorter",
        "good morning, how are you?",
        "who was the first person on the moon?",
        "谢谢，辛苦了",
        "还是用第一版吧",
        "half of three quarters",
        "20% off 80",
        "12乘以8",
        "can you undo what you did to the second paragraph",
        "why do cats purr",
        "我老板今天又没回我消息，我该直接去找他吗",
        "write a haiku about my cat",
    ] {
        assert_eq!(chosen(request), None, "{request}");
    }
    for (request, skill) in [
        ("convert EUR to USD", "convert-currency"),
        ("merge two PDFs", "pdf-tools/pdf-merge"),
        ("thanks! now merge these PDFs", "pdf-tools/pdf-merge"),
        ("18 inches in cm", "unit-conversion/convert-length"),
        ("年终奖怎么计税", "geren-suodeshui/iit-nianzhongjiang"),
    ] {
        assert_eq!(chosen(request).as_deref(), Some(skill), "{request}");
    }
    // One skill here translates SQL: near in words, and told to be unsure.
    let letter = "translate this letter into Portuguese";
    let answer = route(&snapshot, letter, snapshot.route_config());
    assert!(answer.skill.is_none() || answer.confidence < 0.3, "{answer:?}");
    // With a skill for it, the same words get it.
    let snapshot = examples(&[], &[]);
    let translated = route(&snapshot, letter, snapshot.route_config());
    assert_eq!(translated.skill.as_deref(), Some("text-rewriting/text-translate"));
}

#[test]
fn below_the_confidence_that_is_asked_for_the_answer_is_none() {
    let snapshot = examples(&[], &[]);
    let config = |min_confidence: f64| RouteConfig { min_confidence, ..snapshot.route_config() };
    let request = "correct the QT interval for the heart rate";
    let answer = route(&snapshot, request, config(0.0));
    assert!(answer.skill.is_some() && answer.confidence < 0.9, "{answer:?}");
    let below = route(&snapshot, request, config(answer.confidence));
    assert_eq!(below.skill, answer.skill);
    let none = route(&snapshot, request, config(0.95));
    assert_eq!((none.decision, &none.skill, none.skills.len()), (Decision::None, &None, 0));
    assert!(none.reason.contains("95 % is asked for"), "{}", none.reason);
    // The less a request has of any skill, the surer is none.
    let confidence = |request: &str| route(&snapshot, request, config(0.0)).confidence;
    assert!(confidence("thanks, that worked!") > 0.9);
    assert!(confidence("thanks, that worked!") > none.confidence);
}
