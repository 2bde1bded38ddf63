//! What is a table in a file that people read as text, and in one that programs read?

use crate::escape;
use crate::outcome::{Cell, Table};

/// The table in GitHub's Markdown: figures to the right, the better value bold.
pub fn table(table: &Table) -> String {
    let headings: Vec<String> = table.columns.iter().map(|name| escape::markdown(name)).collect();
    let rules: Vec<&str> = (0..headings.len())
        .map(|column| if table.has_figures(column) { "---:" } else { "---" })
        .collect();
    let mut text = line(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    text.push_str(&line(&rules));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        text.push_str(&line(&cells.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text
}

/// The table as RFC 4180 has it, with values in full.
///
/// A column with intervals is followed by the columns `<column> low` and `<column> high`; where nothing
/// is to be shown, the field is empty.
pub fn csv(table: &Table) -> String {
    let has_interval =
        |column: usize| table.rows.iter().any(|row| row.get(column).and_then(interval).is_some());
    let with_interval: Vec<bool> = (0..table.columns.len()).map(has_interval).collect();
    let mut heading = Vec::new();
    for (name, &with_interval) in table.columns.iter().zip(&with_interval) {
        heading.push(field(name));
        if with_interval {
            heading.extend(["low", "high"].map(|end| field(&format!("{name} {end}"))));
        }
    }
    let mut text = record(&heading);
    for row in &table.rows {
        let mut fields = Vec::new();
        for (cell, &with_interval) in row.iter().zip(&with_interval) {
            fields.push(match cell {
                Cell::Figure(figure) => figure.value.to_string(),
                _ if *cell == Cell::none() => String::new(),
                Cell::Text(text) => field(text),
            });
            if with_interval {
                let ends = interval(cell).map(|ends| ends.map(|end| end.to_string()));
                fields.extend(ends.unwrap_or_default());
            }
        }
        text.push_str(&record(&fields));
    }
    text
}

fn line(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn cell(cell: &Cell) -> String {
    let Cell::Figure(figure) = cell else { return escape::markdown(&cell.text()) };
    let value = if figure.better { format!("**{}**", figure.text()) } else { figure.text() };
    match figure.interval_text() {
        Some(interval) => format!("{value} ({interval})"),
        None => value,
    }
}

fn interval(cell: &Cell) -> Option<[f64; 2]> {
    match cell {
        Cell::Figure(figure) => figure.interval,
        Cell::Text(_) => None,
    }
}

fn record(fields: &[String]) -> String {
    format!("{}\r\n", fields.join(","))
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::outcome::Figure;

    fn sample() -> Table {
        let mut table = Table::new("t", "A table", &["library", "queries", "R@10, \"full\""]);
        let better = Figure { better: true, ..Figure::share(0.47959).within([0.45, 0.501]) };
        table.row(vec!["<img onerror>|x".into(), Cell::count(500), better.into()]);
        table.row(vec!["two\nlines, \"quoted\"".into(), Cell::none(), Cell::share(1.0 / 3.0)]);
        table
    }

    /// A reader of RFC 4180, written apart from the writer.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let mut records = vec![vec![String::new()]];
        let mut quoted = false;
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            let record = records.last_mut().expect("there is always one");
            let field = record.last_mut().expect("there is always one");
            match character {
                '"' if quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => record.push(String::new()),
                '\r' if !quoted => {
                    assert_eq!(rest.next(), Some('\n'), "a record ends with CRLF");
                    records.push(vec![String::new()]);
                }
                other => field.push(other),
            }
        }
        assert_eq!(records.pop(), Some(vec![String::new()]), "the last record ends too");
        records
    }

    #[test]
    fn figures_stand_to_the_right_and_names_are_only_names() {
        expect![[r#"
            | library | queries | R@10, "full" |
            | --- | ---: | ---: |
            | &lt;img onerror&gt;\|x | 500 | **48.0** (45.0 to 50.1) |
            | two lines, "quoted" | – | 33.3 |
        "#]]
        .assert_eq(&table(&sample()));
    }

    #[test]
    fn a_program_reads_the_same_values() {
        let table = sample();
        let records = parse(&csv(&table));
        let heading =
            ["library", "queries", "R@10, \"full\"", "R@10, \"full\" low", "R@10, \"full\" high"];
        assert_eq!(records[0], heading);
        assert_eq!(records[1][..2], ["<img onerror>|x", "500"]);
        assert_eq!(records[2][..2], ["two\nlines, \"quoted\"", ""]);
        let figures = [(1, 2, 100.0 * 0.47959), (1, 3, 45.0), (1, 4, 100.0 * 0.501)];
        for (row, column, value) in figures.into_iter().chain([(2, 2, 100.0 * (1.0 / 3.0))]) {
            let read: f64 = records[row][column].parse().expect("a figure");
            assert_eq!(read.to_bits(), f64::to_bits(value), "row {row}, column {column}");
        }
        assert_eq!(records[2][3..], ["", ""]);
    }
}
