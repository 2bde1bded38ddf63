//! What do all experiments look like on one page?
//!
//! The page needs nothing beside itself: no script, no font, no picture from elsewhere, and its policy
//! forbids them. Everything that is text is escaped.

use std::collections::BTreeSet;

use crate::escape;
use crate::files::{Done, Provenance};

mod headline;
mod part;

use headline::Headline;
use part::{callout, items, prose};

const PAGE: &str = include_str!("report/page.html");
const STYLE: &str = include_str!("report/style.css");
/// Figures of an experiment that the contents show.
const HEADLINES: usize = 3;

/// One page of all experiments.
pub fn html(results: &[Done]) -> String {
    let anchors = anchors(results);
    let numbered = || anchors.iter().zip(results);
    let contents: String = numbered().map(|(anchor, result)| entry(anchor, result)).collect();
    let contents = format!("<ol>\n{contents}</ol>\n");
    let experiments: String = numbered().map(|(anchor, result)| section(anchor, result)).collect();
    fill(
        PAGE,
        &[
            ("style", STYLE),
            ("summary", &summary(results)),
            ("contents", &contents),
            ("experiments", &experiments),
        ],
    )
}

/// Puts parts where the page names them. Each is looked at once, so that no text is taken for a name.
fn fill(page: &str, parts: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("page.html closes what it opens");
        let part = parts.iter().find(|(part, _)| *part == name);
        filled.push_str(before);
        filled.push_str(part.expect("page.html names only parts that there are").1);
        rest = after;
    }
    filled + rest
}

/// A name for the place of each experiment, none twice.
fn anchors(results: &[Done]) -> Vec<String> {
    let mut taken = BTreeSet::from(["contents".to_owned(), "contents-heading".to_owned()]);
    let mut anchors = Vec::with_capacity(results.len());
    for result in results {
        let word = |character: char| match character {
            'a'..='z' | '0'..='9' => character,
            'A'..='Z' => character.to_ascii_lowercase(),
            _ => '-',
        };
        let name: String = result.name.chars().map(word).collect();
        let numbered = (2..).map(|count| format!("{name}-{count}"));
        let free = std::iter::once(name.clone()).chain(numbered);
        let anchor = free.filter(|name| !name.is_empty()).find(|name| !taken.contains(name));
        let anchor = anchor.expect("some number is free");
        taken.insert(anchor.clone());
        anchors.push(anchor);
    }
    anchors
}

fn summary(results: &[Done]) -> String {
    let counted = |count: usize, one: &str, many: &str| {
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let figures = results.iter().map(|result| result.outcome.figures.len()).sum();
    let unexpected = results.iter().map(|result| result.unexpected.len()).sum();
    let verdict = match unexpected {
        0 => "all of them as expected".to_owned(),
        1 => "1 not as expected".to_owned(),
        _ => format!("{unexpected} not as expected"),
    };
    let figures = match figures {
        0 => "no headline figure".to_owned(),
        _ => format!("{}, {verdict}", counted(figures, "headline figure", "headline figures")),
    };
    let commits: BTreeSet<&str> =
        results.iter().map(|result| result.provenance.commit.as_str()).collect();
    let commit = match commits.first() {
        Some(commit) if commits.len() == 1 && !commit.is_empty() => {
            format!(" Made at commit <code>{}</code>.", escape::html(commit))
        }
        _ => String::new(),
    };
    format!("{}, {figures}.{commit}", counted(results.len(), "experiment", "experiments"))
}

/// A line of the contents: what is asked, and the first figures, those that surprise before others.
fn entry(anchor: &str, result: &Done) -> String {
    let mut figures = headline::figures(result);
    // After those, the ones that the experiment itself puts first.
    let place = |name: &str| result.headline.iter().position(|headline| headline == name);
    figures.sort_by_key(|figure| (figure.odd, place(figure.name).unwrap_or(usize::MAX)));
    // Saying that there is one more takes as much room as showing it.
    let shown = if figures.len() == HEADLINES + 1 { figures.len() } else { HEADLINES };
    let lines: String = figures.iter().take(shown).map(Headline::line).collect();
    let more = match figures.len().saturating_sub(shown) {
        0 => String::new(),
        more => format!("<li class=\"more\">and {more} more</li>\n"),
    };
    let list = match lines.is_empty() {
        true => String::new(),
        false => format!("<ul aria-label=\"Headline figures\">\n{lines}{more}</ul>\n"),
    };
    format!(
        "<li>\n<span class=\"number\">{}</span>\n<div><a href=\"#{anchor}\">{}</a>\n\
         <p class=\"question\">{}</p></div>\n{list}</li>\n",
        result.number,
        escape::html(&result.title),
        prose(&result.question),
    )
}

fn section(anchor: &str, result: &Done) -> String {
    let outcome = &result.outcome;
    let mut parts = vec![format!(
        "<section class=\"experiment\" id=\"{anchor}\" aria-labelledby=\"{anchor}--title\">\n\
         <a class=\"back\" href=\"#contents\">Contents</a>\n\
         <h2 id=\"{anchor}--title\"><span class=\"number\">{}</span> {}</h2>\n\
         <p class=\"question\">{}</p>\n",
        result.number,
        escape::html(&result.title),
        prose(&result.question),
    )];
    if let Some(paper) = &result.paper {
        parts.push(format!("<p class=\"paper\">In the paper: {}</p>\n", prose(paper)));
    }
    if let Some(differs) = &result.differs {
        parts.push(callout("Differs from the paper", "", &format!("<p>{}</p>\n", prose(differs))));
    }
    if !result.unexpected.is_empty() {
        let list = format!("<ul>\n{}</ul>\n", items(&result.unexpected));
        parts.push(callout("Not as expected", " warm", &list));
    }
    parts.push(headline::list(&headline::figures(result)));
    for (place, one) in (1..).zip(&outcome.tables) {
        parts.push(part::table(&format!("{anchor}--table-{place}"), one));
    }
    parts.extend(outcome.plots.iter().map(part::figure));
    if !outcome.notes.is_empty() {
        parts.push(format!(
            "<h3>Notes</h3>\n<ul class=\"notes\">\n{}</ul>\n",
            items(&outcome.notes)
        ));
    }
    parts.push(part::provenance(&result.provenance));
    parts.push("</section>\n".to_owned());
    parts.concat()
}
