//! How are queries, judgements and runs written down?
//!
//! In: TREC run and qrels, BEIR queries and qrels, SR-Agents' result JSON, and our own JSON Lines;
//! which one it is shows in the first characters. Out: TREC, BEIR, SR-Agents JSON, JSON Lines. These
//! functions take text and give text: opening files is the caller's business.

use std::io::{self, Write};

use serde::Deserialize;
use serde_json::{Value, json};

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

/// Reads queries: JSON Lines with `id` (or `_id`) and `text`, or lines of `id<tab>text`. The data
/// set of a query is its field `group_by`, where it has one.
pub fn read_queries(text: &str, file: &str, group_by: &str) -> Result<Vec<Query>, FormatError> {
    let mut queries = Vec::new();
    for (line, content) in lines(text) {
        let wrong = |message: String| FormatError { file: file.to_owned(), line, message };
        if !content.starts_with('{') {
            let (id, text) = content.split_once('\t').ok_or_else(|| {
                wrong("a query is a JSON object with id and text, or id<tab>text".into())
            })?;
            queries.push(Query { id: id.to_owned(), text: text.to_owned(), dataset: None });
            continue;
        }
        let object: Value = serde_json::from_str(content).map_err(|e| wrong(e.to_string()))?;
        let field = |names: &[&str]| {
            names.iter().find_map(|name| match object.get(name)? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
        };
        let id = field(&["id", "_id", "query_id", "instance_id"]);
        let id = id.ok_or_else(|| wrong("the query has no id".into()))?;
        let text = field(&["text", "query", "question"]);
        let text = text.ok_or_else(|| wrong(format!("query '{id}' has no text")))?;
        queries.push(Query { id, text, dataset: field(&[group_by]) });
    }
    Ok(queries)
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
        let (query, skill, grade) = match columns[..] {
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
                qrels.entry(query.to_owned()).or_default().insert(skill.to_owned(), grade);
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
    let mut query_hits: Vec<(&str, Vec<Scored>)> = Vec::new();
    let mut position = std::collections::BTreeMap::new();
    for (line, content) in lines(text) {
        let wrong = |message: String| FormatError { file: file.to_owned(), line, message };
        let columns = columns(content);
        let [query, _, skill, _, score, ..] = columns[..] else {
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
        let at = *position.entry(query).or_insert_with(|| {
            query_hits.push((query, Vec::new()));
            query_hits.len() - 1
        });
        query_hits[at].1.push(Scored { skill: skill.to_owned(), score });
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

/// Writes a TREC run. An id with white space has no place in that format and is refused.
pub fn write_run_trec(run: &Run, tag: &str, out: &mut impl Write) -> io::Result<()> {
    for (query, hits) in run.iter() {
        for (at, hit) in hits.iter().enumerate() {
            without_space(query)?;
            let skill = without_space(&hit.skill)?;
            writeln!(out, "{query} Q0 {skill} {} {} {tag}", at + 1, hit.score)?;
        }
    }
    Ok(())
}

/// Writes judgements as TREC has them: `query 0 skill grade`.
pub fn write_qrels_trec(qrels: &Qrels, out: &mut impl Write) -> io::Result<()> {
    for (query, grades) in qrels {
        for (skill, grade) in grades {
            without_space(query)?;
            writeln!(out, "{query} 0 {} {grade}", without_space(skill)?)?;
        }
    }
    Ok(())
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

/// TREC parts its columns by white space, so no id may hold any.
fn without_space(id: &str) -> io::Result<&str> {
    if id.contains(char::is_whitespace) {
        let message = format!(
            "the id '{id}' holds white space, which TREC files cannot; write another format"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(id)
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
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)))
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Columns are parted by tabs where there are tabs, so that ids may hold spaces.
fn columns(line: &str) -> Vec<&str> {
    if line.contains('\t') {
        line.split('\t').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    }
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
    fn a_trec_run_refuses_ids_with_spaces() {
        let mut run = Run::default();
        run.insert("q", vec![Scored { skill: "my skill".into(), score: 1.0 }]);
        let error = write_run_trec(&run, "t", &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("'my skill'"), "{error}");
    }
}
