//! Which rows of a table meet some conditions, and what do they say?
//!
//! A search is one line: `flights where Origin = DEN and Date >= 2024-01-03 select Flight, Departure`.

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;

use super::{File, ROWS, ToolData};

/// Rows that are shown of a table when nothing is asked.
const FIRST: usize = 3;

/// What separates the parts of a search.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?is)^\s*(?P<table>.*?)(?:\s+where\s+(?P<where>.*?))?(?:\s+select\s+(?P<select>.*?))?\s*$")
        .expect("a valid pattern")
});

static AND: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\s+and\s+").expect("a valid pattern"));

static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?is)^\s*(?P<column>.+?)\s*(?P<sign>!=|<=|>=|==|=|<|>|\bcontains\b)\s*(?P<value>.*?)\s*$",
    )
    .expect("a valid pattern")
});

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:(?P<count>count)(?:\s*\(?\*?\)?)|(?P<how>sum|mean|min|max)\s*\(?\s*(?P<column>[^()]+?)\s*\)?)$")
        .expect("a valid pattern")
});

struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

struct Condition {
    column: usize,
    sign: String,
    value: String,
}

pub(super) fn look(data: &ToolData, input: &str) -> Result<String, String> {
    let parts = PARTS.captures(input).ok_or("the search cannot be read")?;
    let part = |name: &str| parts.name(name).map(|part| part.as_str());
    let name = part("table").unwrap_or_default();
    if name.is_empty() {
        let line = |file: &File| {
            let table = Table::read(file)?;
            Ok(format!("{}: {}", file.name, table.columns.join(", ")))
        };
        let lines: Result<Vec<String>, String> = data.ending("csv").map(line).collect();
        return Ok(lines?.join("\n"));
    }
    let table = Table::read(data.find(name, "csv")?)?;
    let conditions: Vec<Condition> = match part("where") {
        None => Vec::new(),
        Some(text) => AND.split(text).map(|one| table.condition(one)).collect::<Result<_, _>>()?,
    };
    let meets = |row: &&Vec<String>| conditions.iter().all(|condition| condition.is_met(row));
    let rows: Vec<&Vec<String>> = table.rows.iter().filter(meets).collect();
    let asks_nothing = part("where").is_none() && part("select").is_none();
    let most = if asks_nothing { FIRST } else { ROWS };
    let all: Vec<usize> = (0..table.columns.len()).collect();
    match part("select").map(str::trim) {
        None | Some("" | "*") => Ok(table.shown(&rows, &all, most)),
        Some(select) => match SUMMARY.captures(select) {
            Some(summary) => table.summary(&rows, &summary),
            None => {
                let columns: Result<Vec<usize>, String> =
                    select.split(',').map(|name| table.column(name)).collect();
                Ok(table.shown(&rows, &columns?, most))
            }
        },
    }
}

impl Table {
    fn read(file: &File) -> Result<Self, String> {
        let mut rows = cells(&file.read()?);
        if rows.is_empty() {
            return Err(format!("{} is empty", file.name));
        }
        let columns = rows.remove(0);
        rows.iter_mut().for_each(|row| row.resize(columns.len(), String::new()));
        Ok(Self { columns, rows })
    }

    fn column(&self, name: &str) -> Result<usize, String> {
        let name = name.trim().trim_matches(['"', '\'', '`']);
        let found = self.columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            format!("there is no column '{name}': the columns are {}", self.columns.join(", "))
        })
    }

    fn condition(&self, text: &str) -> Result<Condition, String> {
        let found = CONDITION.captures(text);
        let found = found.ok_or_else(|| format!("'{text}' compares nothing"))?;
        let column = self.column(&found["column"])?;
        let value = found["value"].trim_matches(['"', '\'']).to_owned();
        Ok(Condition { column, sign: found["sign"].to_ascii_lowercase(), value })
    }

    fn shown(&self, rows: &[&Vec<String>], columns: &[usize], most: usize) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<&str> = columns.iter().map(|&column| cells[column].as_str()).collect();
            cells.join(" | ")
        };
        let mut lines = vec![format!("{} rows", rows.len()), line(&self.columns)];
        lines.extend(rows.iter().take(most).map(|row| line(row)));
        if rows.len() > most {
            lines.push(format!("[…] {} more", rows.len() - most));
        }
        lines.join("\n")
    }

    fn summary(
        &self,
        rows: &[&Vec<String>],
        summary: &regex::Captures<'_>,
    ) -> Result<String, String> {
        let Some(how) = summary.name("how") else { return Ok(rows.len().to_string()) };
        let column = self.column(&summary["column"])?;
        let values: Vec<f64> = rows.iter().filter_map(|row| row[column].parse().ok()).collect();
        let count = values.len();
        if count == 0 {
            return Err(format!("no row has a number in '{}'", self.columns[column]));
        }
        let value = match how.as_str().to_ascii_lowercase().as_str() {
            "sum" => values.iter().sum::<f64>(),
            "mean" => values.iter().sum::<f64>() / count as f64,
            "min" => values.iter().copied().fold(f64::INFINITY, f64::min),
            _ => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        Ok(format!("{value} over {count} rows with a value"))
    }
}

impl Condition {
    fn is_met(&self, row: &[String]) -> bool {
        let (cell, value) = (row[self.column].to_lowercase(), self.value.to_lowercase());
        if self.sign == "contains" {
            return cell.contains(&value);
        }
        // Numbers compare as numbers, and all else as text: dates and times are written so that this is right.
        let order = match (cell.parse::<f64>(), value.parse::<f64>()) {
            (Ok(cell), Ok(value)) => cell.total_cmp(&value),
            _ => cell.cmp(&value),
        };
        match self.sign.as_str() {
            "!=" => order != Ordering::Equal,
            "<" => order == Ordering::Less && !cell.is_empty(),
            "<=" => order != Ordering::Greater && !cell.is_empty(),
            ">" => order == Ordering::Greater,
            ">=" => order != Ordering::Less,
            _ => order == Ordering::Equal,
        }
    }
}

/// The cells of a CSV file; quoted ones may hold commas, line ends and doubled quotes.
fn cells(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let (mut row, mut cell) = (Vec::new(), String::new());
    let mut quoted = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, quoted) {
            ('"', true) if rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            ('"', true) => quoted = false,
            ('"', false) if cell.is_empty() => quoted = true,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            ('\r', false) => {}
            (c, _) => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_quoted() {
        let rows = cells("a,b\r\n\"1, \"\"2\"\"\nx\",\n\nlast,4");
        assert_eq!(rows, [vec!["a", "b"], vec!["1, \"2\"\nx", ""], vec!["last", "4"]]);
    }
}
