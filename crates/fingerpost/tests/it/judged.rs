//! Are the requests of every published layout read as they are, and does every error say where it is?

use std::collections::BTreeMap;
use std::fmt::Write;

use expect_test::{Expect, expect};
use fingerpost::eval::{
    Gold, JudgedError, JudgedRequests, Qrels, judged_requests, name_by_id, read_judged_queries,
};
use serde_json::{Value, json};

use crate::data;
use crate::library::{Fixture, zstandard};

fn requests(fixture: &Fixture) -> Result<Option<JudgedRequests>, JudgedError> {
    judged_requests(&fixture.path(""), "dataset")
}

/// One line a request: id, data set, text, skills and answer.
fn shown(judged: &JudgedRequests) -> String {
    let mut shown = String::new();
    for query in &judged.queries {
        let dataset = query.dataset.as_deref().unwrap_or("-");
        let skills: Vec<_> = judged.qrels.get(&query.id).into_iter().flatten().collect();
        write!(shown, "{} {dataset} {:?} {skills:?}", query.id, query.text).unwrap();
        match judged.answers.get(&query.id) {
            Some(answer) => writeln!(shown, " {answer}").unwrap(),
            None => writeln!(shown).unwrap(),
        }
    }
    shown
}

fn check(fixture: &Fixture, expect: Expect) {
    expect.assert_eq(&shown(&requests(fixture).unwrap().unwrap()));
}

/// What is wrong with a folder, without the path to it.
fn error(fixture: &Fixture) -> String {
    let error = requests(fixture).unwrap_err();
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    let said = format!("{error}{}", source.unwrap_or_default());
    said.replace(fixture.path("").to_str().unwrap(), "")
}

fn check_error(name: &str, text: &str, expect: Expect) {
    expect.assert_eq(&error(&Fixture::new().file(name, text)));
}

#[test]
fn instances_as_published() {
    let champ = r#"[
  {
    "instance_id": "champ_00000",
    "dataset": "champ",
    "question": "How many strings?",
    "skill_annotations": ["champ_012", "champ_016"],
    "eval_data": {"answer": "239"}
  }
]"#;
    let toolqa = r#"[{"instance_id": "toolqa_1", "question": "Which flight?", "skill_annotations": ["toolqa_000"], "eval_data": {"answer": "AA1", "domain": "flights"}}]"#;
    let fixture = Fixture::new()
        .file("instances/champ.json", champ)
        .file("instances/toolqa.json.zst", zstandard(toolqa.as_bytes()))
        .file("instances/._champ.json", "not ours")
        .file("instances/README.md", "not ours");
    check(
        &fixture,
        expect![[r#"
            champ_00000 champ "How many strings?" [("champ_012", 1), ("champ_016", 1)] {"answer":"239"}
            toolqa_1 toolqa "Which flight?" [("toolqa_000", 1)] {"answer":"AA1","domain":"flights"}
        "#]],
    );
    let judged = requests(&fixture).unwrap().unwrap();
    assert_eq!(judged.gold, Gold::Requests);
    assert_eq!(judged.judged_by, fixture.path("instances"));
}

#[test]
fn every_spelling_of_id_question_and_skills() {
    let golds = [
        json!({"gold_skill_ids": ["s"]}),
        json!({"skill_annotations": ["s"]}),
        json!({"skill_ids": ["s"]}),
        json!({"gold_skills": [{"skill_id": "s", "name": "S"}]}),
        json!({"gold_skills": {"id": "s"}}),
        json!({"relevant": ["s"]}),
        json!({"relevant": "s"}),
        json!({"positive": "s"}),
        json!({"gold": ["s"]}),
        json!({"source_skill": "s"}),
        json!({"skill_id": "s"}),
        json!({"expected_skill": "s"}),
        json!({"gold_skill_ids": null, "skill_id": "s"}),
    ];
    let texts = [
        json!({"question": "t"}),
        json!({"query": "t"}),
        json!({"instruction": "t"}),
        json!({"intent": "t"}),
        json!({"text": "t"}),
        json!({"input": {"question": "t"}}),
        json!({"input": {"instruction": "t", "context": "c"}}),
        json!({"input": "t"}),
    ];
    let ids = ["instance_id", "query_id", "id", "_id"].map(|name| json!({name: "q"}));
    let merged = |parts: [&Value; 3]| {
        let fields = parts.into_iter().flat_map(|part| part.as_object().unwrap().clone());
        Value::Object(fields.collect())
    };
    let entries = golds.iter().map(|gold| merged([&ids[0], &texts[0], gold]));
    let entries = entries.chain(texts.iter().map(|text| merged([&ids[0], text, &golds[0]])));
    let entries: Vec<Value> =
        entries.chain(ids.iter().map(|id| merged([id, &texts[0], &golds[0]]))).collect();
    let expected = Qrels::from([("q".to_owned(), BTreeMap::from([("s".to_owned(), 1)]))]);
    for entry in entries {
        for name in ["instances/set.json", "queries.jsonl", "queries.json"] {
            let text = if name.ends_with("l") { entry.to_string() } else { format!("[{entry}]") };
            let judged = requests(&Fixture::new().file(name, text)).unwrap().unwrap();
            assert_eq!(judged.qrels, expected, "{name}: {entry}");
            assert_eq!((&*judged.queries[0].id, &*judged.queries[0].text), ("q", "t"), "{entry}");
        }
    }
}

#[test]
fn every_form_of_a_file() {
    let entry = json!({"id": 7, "query": "t", "relevant": [3, "s"]});
    let keyed = json!({"7": {"query": "t", "relevant": [3, "s"]}});
    let forms = [
        format!("{entry}\n"),
        format!("\u{feff}  {entry}\r\n\r\n"),
        serde_json::to_string_pretty(&entry).unwrap(),
        json!([entry]).to_string(),
        serde_json::to_string_pretty(&json!({"meta": {"seed": 1}, "queries": [entry]})).unwrap(),
        json!({"instances": [entry]}).to_string(),
        keyed.to_string(),
        serde_json::to_string_pretty(&keyed).unwrap(),
    ];
    for text in forms {
        let judged = read_judged_queries(&text, "q", "dataset").unwrap().unwrap();
        let expected = "7 - \"t\" [(\"3\", 1), (\"s\", 1)]\n";
        assert_eq!(shown(&judged), expected, "{text}");
    }
}

#[test]
fn intents_with_their_skill_and_requests_that_nothing_fits() {
    let queries = concat!(
        r#"{"query_id": "q1", "query": "put three papers into one", "type": "intent", "source_skill": "pdf-merge", "realism_score": 5}"#,
        "\n\n",
        r#"{"query_id": "q2", "query": "hello", "type": "talk", "source_skill": []}"#,
        "\n",
    );
    let fixture = Fixture::new().file("queries.jsonl", queries);
    check(
        &fixture,
        expect![[r#"
            q1 - "put three papers into one" [("pdf-merge", 1)]
            q2 - "hello" []
        "#]],
    );
    let judged = requests(&fixture).unwrap().unwrap();
    assert!(judged.qrels.contains_key("q2"), "judged, and nothing fits");
    let judged = judged_requests(&fixture.path(""), "type").unwrap().unwrap();
    assert_eq!(judged.queries[0].dataset.as_deref(), Some("intent"));
}

#[test]
fn judgements_of_their_own_come_first() {
    let fixture = Fixture::new()
        .file("queries.jsonl", "{\"id\":\"q1\",\"text\":\"t\",\"skill_id\":\"x\",\"eval_data\":1}\nq2\tu\n")
        .file("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t2\n")
        .file(
            "answers.jsonl.zst",
            zstandard(b"{\"id\":\"q2\",\"eval_data\":{\"answer\":\"7\"}}\n{\"id\":\"q1\",\"note\":\"none\"}\n"),
        );
    check(
        &fixture,
        expect![[r#"
            q1 - "t" [("a", 2)] 1
            q2 - "u" [] {"answer":"7"}
        "#]],
    );
    let judged = requests(&fixture).unwrap().unwrap();
    assert_eq!((judged.gold, judged.judged_by), (Gold::Qrels, fixture.path("qrels/test.tsv")));
    let array = "[{\"id\":\"q1\",\"text\":\"t\"}]";
    let fixture = Fixture::new().file("queries.json", array).file("qrels.tsv", "q1\ta\t1\n");
    check(
        &fixture,
        expect![[r#"
        q1 - "t" [("a", 1)]
    "#]],
    );
}

#[test]
fn what_stands_for_the_data_of_an_evaluation() {
    let fixture = Fixture::new().file(
        "instances/a.json",
        r#"[{"id": 1, "question": "t", "skill_id": "s", "answer": 4, "answer_type": "integer", "extra": 0},
            {"id": 2, "question": "u", "skill_id": "s", "answer": 4, "eval_data": {"test": "assert"}}]"#,
    );
    check(
        &fixture,
        expect![[r#"
            1 a "t" [("s", 1)] {"answer":4,"answer_type":"integer"}
            2 a "u" [("s", 1)] {"test":"assert"}
        "#]],
    );
}

#[test]
fn folders_without_requests() {
    let fixture =
        Fixture::new().skill("one").file("instances", "a file").file("other/x.json", "{}");
    assert_eq!(requests(&fixture).unwrap(), None);
    let empty = Fixture::new().file("instances/README.md", "");
    assert_eq!(requests(&empty).unwrap(), None);
}

#[test]
fn broken_instances_are_named_with_file_and_index() {
    let name = "instances/set.json";
    let sound = r#"{"id": "a", "question": "t", "skill_id": "s"}"#;
    let cases = [
        (
            format!("[\n{sound},\n{{\"question\": \"t\"}}\n]"),
            expect![
                "instances/set.json:3: entry [1] has no id: write it as one of instance_id, query_id, id, _id"
            ],
        ),
        (
            format!("[\n{sound},\n{{\"id\": \"b\", \"input\": {{\"ask\": \"t\"}}}}\n]"),
            expect![
                "instances/set.json:3: request 'b' (entry [1]) has no text: write it as one of question, query, instruction, intent, text"
            ],
        ),
        (
            format!(
                "[\n{sound},\n\n{{\"id\": \"b\", \"question\": \"t\", \"wanted\": [\"s\"]}}\n]"
            ),
            expect![
                "instances/set.json:4: request 'b' (entry [1]) names no skill: write its skills as one of gold_skill_ids, skill_annotations, skill_ids, gold_skills, relevant, positive, gold, source_skill, skill_id, expected_skill; [] if no skill fits"
            ],
        ),
        (
            format!("[{sound}, {{\"id\": \"b\", \"question\": \"t\", \"relevant\": [true]}}]"),
            expect![
                "instances/set.json:1: request 'b' (entry [1]): relevant is [true], and neither the id of a skill nor a list of ids"
            ],
        ),
        (
            format!("[\n{sound},\n{sound}]"),
            expect![
                "instances/set.json:3: request 'a' (entry [1]) is in instances/set.json:2 already: give each an id of its own"
            ],
        ),
        (
            format!("[\n{sound},\n7]"),
            expect![
                "instances/set.json:3: entry [1] is no JSON object with id, text and skills: invalid type: integer `7`, expected a map"
            ],
        ),
        (
            format!("[\n{sound},\n{{\"id\": \"b\","),
            expect![
                "instances/set.json:3: broken JSON: EOF while parsing an object; mend the file, or fetch it again"
            ],
        ),
        (
            "{\n\"a\": {\"question\": \"t\", \"skill_id\": \"s\"},\n\"b\": {\"question\": \"t\"}\n}".into(),
            expect![
                "instances/set.json:3: request 'b' (entry 'b') names no skill: write its skills as one of gold_skill_ids, skill_annotations, skill_ids, gold_skills, relevant, positive, gold, source_skill, skill_id, expected_skill; [] if no skill fits"
            ],
        ),
    ];
    for (text, expect) in cases {
        check_error(name, &text, expect);
    }
    let twice = Fixture::new()
        .file("instances/a.json", format!("[{sound}]"))
        .file("instances/b.json", format!("[{sound}]"));
    expect!["instances/b.json:1: request 'a' (entry [0]) is in instances/a.json:1 already: give each an id of its own"]
        .assert_eq(&error(&twice));
    let odd = Fixture::new().file("instances/a.json", b"[\n\"caf\xe9\"]");
    expect!["cannot read instances/a.json: line 2 is not UTF-8"].assert_eq(&error(&odd));
}

#[test]
fn queries_must_all_name_their_skills_or_none_of_them() {
    check_error(
        "queries.jsonl",
        "{\"id\":\"a\",\"query\":\"t\",\"relevant\":\"s\"}\n{\"id\":\"b\",\"query\":\"t\"}\n",
        expect![
            "queries.jsonl:2: request 'b' (entry [1]) names no skill: write its skills as one of gold_skill_ids, skill_annotations, skill_ids, gold_skills, relevant, positive, gold, source_skill, skill_id, expected_skill; [] if no skill fits"
        ],
    );
    let unjudged = expect![
        "queries.jsonl names no skills: give each request its skills (gold_skill_ids, skill_annotations, skill_ids, gold_skills, relevant, positive, gold, source_skill, skill_id, expected_skill), or put judgements into qrels.tsv beside it"
    ];
    for text in ["{\"id\":\"a\",\"query\":\"t\"}\n", "a\tt\n", ""] {
        unjudged.assert_eq(&error(&Fixture::new().file("queries.jsonl", text)));
    }
    check_error(
        "queries.jsonl",
        "{\"id\":\"a\",\"query\":\"t\",\"relevant\":\"s\"}\n{\"id\":\"b\",\n",
        expect![
            "queries.jsonl:2: entry [1] is no JSON object with id, text and skills: EOF while parsing a value"
        ],
    );
}

#[test]
fn skills_that_are_called_by_their_folder() {
    let qrels =
        |skill: &str| Qrels::from([("q".to_owned(), BTreeMap::from([(skill.to_owned(), 1)]))]);
    let ids = ["a/pdf", "b/pdf", "merge", "skills/merge", "skills/fill"];
    for (called, meant) in
        [("fill", "skills/fill"), ("merge", "merge"), ("pdf", "pdf"), ("gone", "gone")]
    {
        assert_eq!(name_by_id(&qrels(called), ids), qrels(meant), "{called}");
    }
}

/// The same requests in the layout of the benchmark and in ours.
#[test]
fn real_requests_in_two_layouts_are_the_same() {
    let Some(folder) = data::folder("sra") else { return };
    let ours = judged_requests(&folder, "dataset").unwrap().unwrap();
    assert_eq!((ours.queries.len(), ours.qrels.len(), ours.answers.len()), (5400, 5400, 5400));
    let mut sets: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for query in &ours.queries {
        let skills: Vec<&String> = ours.qrels[&query.id].keys().collect();
        sets.entry(query.dataset.as_deref().unwrap()).or_default().push(json!({
            "instance_id": query.id,
            "question": query.text,
            "skill_annotations": skills,
            "eval_data": ours.answers[&query.id],
        }));
    }
    let mut fixture = Fixture::new();
    for (name, instances) in sets {
        let text = serde_json::to_string_pretty(&instances).unwrap();
        fixture = fixture.file(&format!("instances/{name}.json"), text);
    }
    let theirs = requests(&fixture).unwrap().unwrap();
    assert_eq!((&theirs.qrels, &theirs.answers), (&ours.qrels, &ours.answers));
    let sorted = |judged: JudgedRequests| {
        let mut queries = judged.queries;
        queries.sort_by(|a, b| a.id.cmp(&b.id));
        queries
    };
    assert_eq!(sorted(theirs), sorted(ours));
}
