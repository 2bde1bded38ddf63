//! How are queries, judgements and runs written down?
//!
//! In: TREC run and qrels, BEIR queries and qrels, SR-Agents' result JSON, and our own JSON Lines;
//! which one it is shows in the first characters. Out: TREC, BEIR, SR-Agents JSON, JSON Lines. These
//! functions take text and give text: opening files is the caller's business.
//!
//! TREC parts its columns by white space, so an id that holds some is written percent-encoded: each white
//! space by its bytes ("my skill" as `my%20skill`), and `%` as `%25`. An id that looks encoded already is
//! written so too, others are not touched. What is read from columns parted by white space is decoded
//! where it holds `%25` or an encoded white space; columns parted by tabs may hold spaces and are taken as
//! they are.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use super::entries::{Entry, entries, reason};
use super::{Evaluation, Qrels, Query, Run, Scored};

/// A line that does not have the form it should have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct FormatError {
    /// The file, as the user named it.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// Our run in JSON Lines: one query a line, so that "no hits" can be said.
#[derive(Deserialize)]
struct RunLine {
    query: String,
    hits: Vec<HitLine>,
}

#[derive(Deserialize)]
struct HitLine {
    skill: String,
    score: f64,
}

/// SR-Agents' result file.
#[derive(Deserialize)]
struct SrAgents {
    results: Vec<SrResult>,
}

#[derive(Deserialize)]
struct SrResult {
    instance_id: String,
    #[serde(default)]
    gold_skill_ids: Vec<String>,
    #[serde(default)]
    retrieved: Vec<SrRetrieved>,
}

#[derive(Deserialize)]
struct SrRetrieved {
    skill_id: String,
    score: f64,
}

/// Spellings of a query's id.
pub(super) const QUERY_ID: [&str; 4] = ["id", "_id", "query_id", "instance_id"];

/// Reads queries: JSON Lines, or an array, of objects with `id` (or `_id`) and `text`; or lines of
/// `id<tab>text`. The data set of a query is its field `group_by`, where it has one. No two may have the
/// same id: a run and the qrels could not tell them apart.
pub fn read_queries(text: &str, file: &str, group_by: &str) -> Result<Vec<Query>, FormatError> {
    let mut queries = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries(text, file)? {
        let line = entry.line;
        let wrong = |message: String| FormatError { file: file.to_owned(), line, message };
        let query = read_query(&entry, group_by).map_err(wrong)?;
        if let Some(first) = seen.insert(query.id.clone(), line) {
            let message = format!("query '{}' is in line {first} already", query.id);
            return Err(wrong(message));
        }
        queries.push(query);
    }
    Ok(queries)
}

fn read_query(entry: &Entry<'_>, group_by: &str) -> Result<Query, String> {
    if !entry.text.starts_with('{') {
        let (id, text) = entry
            .text
            .split_once('\t')
            .ok_or("a query is a JSON object with id and text, or id<tab>text")?;
        return Ok(Query { id: id.to_owned(), text: text.to_owned(), dataset: None });
    }
    let object: Value = serde_json::from_str(entry.text).map_err(|error| reason(&error))?;
    let field = |names: &[&str]| {
        names.iter().find_map(|name| match object.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let id = field(&QUERY_ID).or_else(|| entry.key.clone());
    let id = id.ok_or("the query has no id")?;
    let text = field(&["text", "query", "question"]);
    let text = text.ok_or_else(|| format!("query '{id}' has no text"))?;
    Ok(Query { id, text, dataset: field(&[group_by]) })
}

/// Reads judgements: TREC (`query iteration skill grade`), BEIR and ours (`query skill grade`,
/// tab-separated, a header allowed), or the gold skills of an SR-Agents result file.
pub fn read_qrels(text: &str, file: &str) -> Result<Qrels, FormatError> {
    let mut qrels = Qrels::new();
    if text.trim_start().starts_with('{') {
        for result in sr_agents(text, file)?.results {
            let grades = qrels.entry(result.instance_id).or_default();
            grades.extend(result.gold_skill_ids.into_iter().map(|skill| (skill, 1)));
        }
        return Ok(qrels);
    }
    for (line, content) in lines(text) {
        let columns = columns(content);
        let (query, skill, grade) = match &columns[..] {
            [query, skill, grade] | [query, _, skill, grade] => (query, skill, grade),
            _ => {
                let message = format!(
                    "{} columns, where 'query skill grade' or 'query iteration skill grade' is expected",
                    columns.len()
                );
                return Err(FormatError { file: file.to_owned(), line, message });
            }
        };
        match grade.parse::<i32>() {
            Ok(grade) => {
                qrels.entry(query.to_string()).or_default().insert(skill.to_string(), grade);
            }
            // BEIR files have a header line.
            Err(_) if line == 1 => {}
            Err(_) => {
                let message = format!("the grade '{grade}' is no whole number");
                return Err(FormatError { file: file.to_owned(), line, message });
            }
        }
    }
    Ok(qrels)
}

/// Reads a run: TREC (`query Q0 skill rank score tag`), our JSON Lines, or SR-Agents' JSON.
/// Ranks are not looked at: scores decide, and ids between equal scores.
pub fn read_run(text: &str, file: &str) -> Result<Run, FormatError> {
    let mut run = Run::default();
    if text.trim_start().starts_with('{') {
        return read_run_json(text, file);
    }
    let mut query_hits: BTreeMap<Cow<'_, str>, Vec<Scored>> = BTreeMap::new();
    for (line, content) in lines(text) {
        let wrong = |message: String| FormatError { file: file.to_owned(), line, message };
        let mut columns = columns(content);
        let [query, _, skill, _, score, ..] = &mut columns[..] else {
            let message = format!(
                "{} columns, where 'query Q0 skill rank score tag' is expected",
                columns.len()
            );
            return Err(wrong(message));
        };
        let score: f64 = score
            .parse()
            .ok()
            .filter(|score: &f64| !score.is_nan())
            .ok_or_else(|| wrong(format!("the score '{score}' is no number")))?;
        let hits = query_hits.entry(std::mem::take(query)).or_default();
        hits.push(Scored { skill: skill.to_string(), score });
    }
    for (query, hits) in query_hits {
        run.insert(query, hits);
    }
    Ok(run)
}

fn read_run_json(text: &str, file: &str) -> Result<Run, FormatError> {
    let mut run = Run::default();
    // An SR-Agents file is one object; ours is one object a line.
    if let Ok(whole) = serde_json::from_str::<SrAgents>(text) {
        for result in whole.results {
            let hits = result.retrieved.into_iter();
            let hits = hits.map(|hit| Scored { skill: hit.skill_id, score: hit.score });
            run.insert(result.instance_id, hits.collect());
        }
        return Ok(run);
    }
    for (line, content) in lines(text) {
        let parsed: RunLine = serde_json::from_str(content).map_err(|error| FormatError {
            file: file.to_owned(),
            line,
            message: format!("not a line of a run ({error}): expected {{\"query\", \"hits\": [{{\"skill\", \"score\"}}]}}"),
        })?;
        let hits = parsed.hits.into_iter();
        let hits = hits.map(|hit| Scored { skill: hit.skill, score: hit.score });
        run.insert(parsed.query, hits.collect());
    }
    Ok(run)
}

fn sr_agents(text: &str, file: &str) -> Result<SrAgents, FormatError> {
    serde_json::from_str(text).map_err(|error| FormatError {
        file: file.to_owned(),
        line: error.line(),
        message: format!("not an SR-Agents result file ({error})"),
    })
}

/// Writes a TREC run, and tells how many ids had to be encoded.
pub fn write_run_trec(run: &Run, tag: &str, out: &mut impl Write) -> io::Result<usize> {
    let mut encoded = BTreeSet::new();
    for (query, hits) in run.iter() {
        for (at, hit) in hits.iter().enumerate() {
            let [query, skill] = [query, &hit.skill].map(|id| column(id, &mut encoded));
            writeln!(out, "{query} Q0 {skill} {} {} {tag}", at + 1, hit.score)?;
        }
    }
    Ok(encoded.len())
}

/// Writes judgements as TREC has them, `query 0 skill grade`, and tells how many ids had to be encoded.
pub fn write_qrels_trec(qrels: &Qrels, out: &mut impl Write) -> io::Result<usize> {
    let mut encoded = BTreeSet::new();
    for (query, grades) in qrels {
        for (skill, grade) in grades {
            let [query, skill] = [query, skill].map(|id| column(id, &mut encoded));
            writeln!(out, "{query} 0 {skill} {grade}")?;
        }
    }
    Ok(encoded.len())
}

/// Writes judgements as BEIR has them: tab-separated, with a header.
pub fn write_qrels_beir(qrels: &Qrels, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "query-id\tcorpus-id\tscore")?;
    for (query, grades) in qrels {
        for (skill, grade) in grades {
            writeln!(out, "{query}\t{skill}\t{grade}")?;
        }
    }
    Ok(())
}

/// An id as a column of a TREC file; `encoded` collects those that are written otherwise than they are.
fn column<'a>(id: &'a str, encoded: &mut BTreeSet<&'a str>) -> Cow<'a, str> {
    if !id.contains(char::is_whitespace) && !looks_encoded(id) {
        return Cow::Borrowed(id);
    }
    encoded.insert(id);
    let mut column = String::with_capacity(id.len() + 8);
    for c in id.chars() {
        if c == '%' || c.is_whitespace() {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                column.push_str(&format!("%{byte:02X}"));
            }
        } else {
            column.push(c);
        }
    }
    Cow::Owned(column)
}

/// Does a column hold what [`column`] writes for white space or for a percent sign?
fn looks_encoded(column: &str) -> bool {
    decoded(column).is_some_and(|id| id.contains(['%']) || id.contains(char::is_whitespace))
}

/// A column with what is percent-encoded in it decoded; `None` if nothing is, or it is no text.
fn decoded(column: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(column.len());
    let mut rest = column.as_bytes();
    let mut found = false;
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
                found = true;
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|_| found)
}

/// Writes our JSON Lines, one query a line.
pub fn write_run_jsonl(run: &Run, out: &mut impl Write) -> io::Result<()> {
    for (query, hits) in run.iter() {
        let hits: Vec<Value> =
            hits.iter().map(|hit| json!({"skill": hit.skill, "score": hit.score})).collect();
        writeln!(out, "{}", json!({"query": query, "hits": hits}))?;
    }
    Ok(())
}

/// Writes SR-Agents' result JSON.
pub fn write_run_sr_agents(
    run: &Run,
    qrels: &Qrels,
    evaluation: &Evaluation,
    tag: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    let gold = |query: &str| -> Vec<&str> {
        let grades = qrels.get(query).into_iter().flatten();
        grades.filter(|&(_, &grade)| grade > 0).map(|(skill, _)| skill.as_str()).collect()
    };
    let results: Vec<Value> = run
        .iter()
        .map(|(query, hits)| {
            let retrieved: Vec<Value> =
                hits.iter().map(|hit| json!({"skill_id": hit.skill, "score": hit.score})).collect();
            json!({"instance_id": query, "gold_skill_ids": gold(query), "retrieved": retrieved})
        })
        .collect();
    let whole = json!({
        "metadata": {"tool": "fingerpost", "tag": tag},
        "metrics": evaluation.macro_mean,
        "results": results,
    });
    writeln!(out, "{whole}")
}

/// Lines end at `\n` only; a carriage return before it and blank lines are dropped.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)))
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Columns are parted by tabs where there are tabs, so that ids may hold spaces; else such ids are encoded.
fn columns(line: &str) -> Vec<Cow<'_, str>> {
    if line.contains('\t') {
        return line.split('\t').map(|column| Cow::Borrowed(column.trim())).collect();
    }
    let column = |column| match looks_encoded(column) {
        true => Cow::Owned(decoded(column).expect("it looks encoded")),
        false => Cow::Borrowed(column),
    };
    line.split_whitespace().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_run_formats_say_the_same() {
        let trec = "q1 Q0 b 1 2.5 t\nq1 Q0 a 2 2.5 t\nq2 Q0 c 1 -1 t\n";
        let jsonl = "{\"query\":\"q1\",\"hits\":[{\"skill\":\"a\",\"score\":2.5},{\"skill\":\"b\",\"score\":2.5}]}\n{\"query\":\"q2\",\"hits\":[{\"skill\":\"c\",\"score\":-1}]}\n";
        let agents = r#"{"metadata":{},"results":[
            {"instance_id":"q1","gold_skill_ids":["a"],"retrieved":[{"skill_id":"a","score":2.5},{"skill_id":"b","score":2.5}]},
            {"instance_id":"q2","retrieved":[{"skill_id":"c","score":-1}]}]}"#;
        let run = read_run(trec, "t").unwrap();
        assert_eq!(run.get("q1").unwrap()[0].skill, "a", "equal scores are ordered by id");
        assert_eq!(read_run(jsonl, "j").unwrap(), run);
        assert_eq!(read_run(agents, "s").unwrap(), run);
        assert_eq!(read_qrels(agents, "s").unwrap()["q1"]["a"], 1);

        let mut written = Vec::new();
        write_run_trec(&run, "t", &mut written).unwrap();
        assert_eq!(read_run(std::str::from_utf8(&written).unwrap(), "w").unwrap(), run);
        written.clear();
        write_run_jsonl(&run, &mut written).unwrap();
        assert_eq!(read_run(std::str::from_utf8(&written).unwrap(), "w").unwrap(), run);
        written.clear();
        let qrels = read_qrels(agents, "s").unwrap();
        let evaluation = super::super::evaluate(&run, &qrels, None, &[]);
        write_run_sr_agents(&run, &qrels, &evaluation, "t", &mut written).unwrap();
        let written = std::str::from_utf8(&written).unwrap();
        assert_eq!(read_run(written, "w").unwrap(), run);
        assert_eq!(read_qrels(written, "w").unwrap()["q1"], qrels["q1"]);
    }

    #[test]
    fn qrels_with_and_without_header_and_iteration() {
        let trec = read_qrels("q1 0 a 2\nq1 0 b 0\n", "t").unwrap();
        let beir = read_qrels("query-id\tcorpus-id\tscore\nq1\ta\t2\r\nq1\tb\t0\n", "b").unwrap();
        assert_eq!(trec, beir);
        let mut written = Vec::new();
        write_qrels_trec(&trec, &mut written).unwrap();
        assert_eq!(read_qrels(std::str::from_utf8(&written).unwrap(), "w").unwrap(), trec);
        written.clear();
        write_qrels_beir(&trec, &mut written).unwrap();
        assert_eq!(read_qrels(std::str::from_utf8(&written).unwrap(), "w").unwrap(), trec);
        assert_eq!(read_qrels("q1\ta b\t1\n", "t").unwrap()["q1"]["a b"], 1);
    }

    #[test]
    fn errors_name_file_and_line() {
        let error = |result: Result<(), FormatError>| result.unwrap_err().to_string();
        let message = error(read_qrels("q a 1\nq b x\n", "gold.tsv").map(drop));
        assert_eq!(message, "gold.tsv:2: the grade 'x' is no whole number");
        let message = error(read_run("q Q0 a 1\n", "a.run").map(drop));
        assert!(message.starts_with("a.run:1: 4 columns"), "{message}");
        let message = error(read_run("q Q0 a 1 NaN t\n", "a.run").map(drop));
        assert!(message.contains("'NaN' is no number"), "{message}");
        let message = error(read_queries("{\"id\":\"q7\"}\n", "q.jsonl", "dataset").map(drop));
        assert_eq!(message, "q.jsonl:1: query 'q7' has no text");
    }

    #[test]
    fn line_separators_inside_a_text_do_not_end_its_line() {
        let queries =
            read_queries("{\"id\":\"a\",\"text\":\"x\u{2028}y\"}\n", "q", "dataset").unwrap();
        assert_eq!(queries[0].text, "x\u{2028}y");
    }

    #[test]
    fn ids_with_white_space_survive_a_trec_file() {
        let ids = [
            "my skill",
            "100%",
            "100% wool",
            "a%20b",
            "a%25b",
            "tab\there",
            "年 终\u{3000}奖",
            "%",
            "%zz",
            "é%C3",
        ];
        let mut run = Run::default();
        let mut qrels = Qrels::new();
        for query in ids {
            run.insert(query, ids.map(|id| Scored { skill: id.into(), score: 1.0 }).into());
            qrels.insert(query.into(), ids.map(|id| (id.to_owned(), 1)).into());
        }
        let mut written = Vec::new();
        let encoded = write_run_trec(&run, "t", &mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(encoded, 6, "the others are written as they are: {written}");
        assert!(
            written.contains("\nmy%20skill Q0 100% ") && written.contains(" 100%25%20wool "),
            "{written}"
        );
        assert_eq!(read_run(&written, "w").unwrap(), run);
        let mut written = Vec::new();
        assert_eq!(write_qrels_trec(&qrels, &mut written).unwrap(), 6);
        assert_eq!(read_qrels(std::str::from_utf8(&written).unwrap(), "w").unwrap(), qrels);
    }

    #[test]
    fn a_query_that_is_there_twice_is_an_error() {
        let text = "q1\tone\n\nq2\ttwo\nq1\tthree\n";
        let message = read_queries(text, "q.tsv", "dataset").unwrap_err().to_string();
        assert_eq!(message, "q.tsv:4: query 'q1' is in line 1 already");
    }
}
