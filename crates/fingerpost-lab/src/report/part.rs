//! What are the parts of an experiment on the page?

use super::Provenance;
use crate::escape;
use crate::outcome::{Cell, Plot, Table};
use crate::plot::{self, PlotError};

/// A box beside the flow of the text.
pub(super) fn callout(title: &str, class: &str, content: &str) -> String {
    format!("<div class=\"callout{class}\" role=\"note\">\n<h3>{title}</h3>\n{content}</div>\n")
}

/// Sentences as items of a list.
pub(super) fn items(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("<li>{}</li>\n", prose(sentence))).collect()
}

/// A sentence, with what stands between backticks as code.
pub(super) fn prose(text: &str) -> String {
    let text = escape::html(text);
    let parts: Vec<&str> = text.split('`').collect();
    let mut prose = String::new();
    for (place, part) in parts.iter().enumerate() {
        let is_code = place % 2 == 1;
        match is_code {
            true if place + 1 < parts.len() => prose.push_str(&format!("<code>{part}</code>")),
            // The last backtick has no other one: it is nothing but itself.
            true => prose.push_str(&format!("`{part}")),
            false => prose.push_str(part),
        }
    }
    prose
}

/// A table that scrolls within its own box.
pub(super) fn table(id: &str, table: &Table) -> String {
    let class = |column: usize| if table.has_figures(column) { " class=\"n\"" } else { "" };
    let heading = |(column, name): (usize, &String)| {
        format!("<th scope=\"col\"{}>{}</th>", class(column), escape::html(name))
    };
    let headings: String = table.columns.iter().enumerate().map(heading).collect();
    let mut rows = String::new();
    for row in &table.rows {
        rows.push_str("<tr>");
        for (column, one) in row.iter().enumerate() {
            let (class, content) = (class(column), cell(one));
            rows.push_str(&match column {
                0 => format!("<th scope=\"row\"{class}>{content}</th>"),
                _ => format!("<td{class}>{content}</td>"),
            });
        }
        rows.push_str("</tr>\n");
    }
    format!(
        "<div class=\"table scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{id}\">\n\
         <table>\n<caption id=\"{id}\"><span>{}</span></caption>\n\
         <thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
        escape::html(&table.title),
    )
}

fn cell(cell: &Cell) -> String {
    let Cell::Figure(figure) = cell else { return escape::html(&cell.text()) };
    let value = match figure.better {
        true => format!(
            "<b class=\"better\"><span class=\"mark\" aria-hidden=\"true\">★</span>{}\
             <span class=\"unseen\"> (better)</span></b>",
            figure.text()
        ),
        false => figure.text(),
    };
    match figure.interval_text() {
        Some(interval) => format!("{value} <span class=\"interval\">{interval}</span>"),
        None => value,
    }
}

/// A plot, or why there is none.
pub(super) fn figure(one: &Plot) -> String {
    let title = escape::html(one.title());
    let content = drawings(one).unwrap_or_else(|error| {
        let reason = format!("<p>{}</p>\n", escape::html(&error.to_string()));
        callout("Not drawn", " warm", &reason)
    });
    format!("<figure>\n<figcaption>{title}</figcaption>\n{content}</figure>\n")
}

/// The drawing for a wide page, which a phone scrolls, unless there is one for a phone too.
fn drawings(one: &Plot) -> Result<String, PlotError> {
    let label = escape::html(one.title());
    let scroll = |class: &str, svg: &str| {
        format!(
            "<div class=\"scroll{class}\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">\n{svg}</div>\n"
        )
    };
    let wide = plot::inline(one)?;
    Ok(match plot::inline_narrow(one)? {
        Some(narrow) => {
            scroll(" wide", &wide) + &format!("<div class=\"narrow\">\n{narrow}</div>\n")
        }
        None => scroll("", &wide),
    })
}

/// How it was made, folded away.
pub(super) fn provenance(made: &Provenance) -> String {
    let seconds = match made.seconds {
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds if seconds < 600.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    };
    let rows: String = [
        ("Command", format!("<code>{}</code>", escape::html(&made.command))),
        ("Commit", format!("<code>{}</code>", escape::html(&made.commit))),
        ("Version", escape::html(&made.version)),
        ("Machine", escape::html(&made.machine)),
        ("Date", escape::html(&made.date)),
        ("Took", seconds),
    ]
    .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"))
    .concat();
    format!(
        "<details>\n<summary>How it was made</summary>\n<dl class=\"made\">\n{rows}</dl>\n</details>\n"
    )
}
