//! Does the report hold everything, and obey nothing of it?

use fingerpost_lab::report::html;

use crate::sample;

/// The tags of a page, opening and closing, each with its attributes.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default()).collect()
}

#[test]
fn every_element_is_closed_and_every_id_is_there_once() {
    let page = html(&sample::results());
    let empty = ["!doctype", "meta", "br", "rect", "line", "circle", "polygon", "polyline"];
    let mut open: Vec<&str> = Vec::new();
    let mut ids = Vec::new();
    for tag in tags(&page) {
        let name = tag.split([' ', '\n', '/']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "in order"),
            None if empty.contains(&name) => {}
            None => open.push(name),
        }
        if let Some((_, rest)) = tag.split_once(" id=\"") {
            ids.push(rest.split('"').next().unwrap_or_default());
        }
    }
    assert_eq!(open, [""; 0], "nothing stays open");
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), ids.len(), "{ids:?}");
    for link in page.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap_or_default();
        assert!(ids.contains(&target), "{target}");
    }
}

#[test]
fn names_are_text_and_nothing_comes_from_elsewhere() {
    let mut results = sample::results();
    let hostile = "\"><script>alert(1)</script><img src=x onerror=alert(1)>{{experiments}}";
    let result = &mut results[1];
    result.name = hostile.to_owned();
    result.title = hostile.to_owned();
    result.question = hostile.to_owned();
    result.paper = Some(hostile.to_owned());
    result.differs = Some(hostile.to_owned());
    result.unexpected = vec![hostile.to_owned()];
    result.outcome.note(hostile);
    result.outcome.figure(hostile, 1.0);
    result.outcome.tables[0].title = hostile.to_owned();
    result.outcome.tables[0].columns[0] = hostile.to_owned();
    result.outcome.tables[0].rows[0][0] = hostile.into();
    for text in [
        &mut result.provenance.command,
        &mut result.provenance.commit,
        &mut result.provenance.machine,
        &mut result.provenance.date,
        &mut result.provenance.version,
    ] {
        *text = hostile.to_owned();
    }
    let page = html(&results);
    for tag in tags(&page) {
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
        assert!(!["script", "img", "link", "iframe", "object"].contains(&name), "{tag}");
        let attributes: Vec<&str> = tag.split('"').step_by(2).collect();
        assert!(!attributes.iter().any(|part| part.contains(" on")), "{tag}");
        assert!(!tag.contains(" src=") && !tag.contains(" href=\"http"), "{tag}");
    }
    assert!(!page.contains("url(") && !page.contains("@import"));
    assert!(page.contains("{{experiments}}"), "what looks like a part of the page stays a text");
    assert_eq!(page.matches("<section ").count(), 3);
}

#[test]
fn everything_is_said() {
    let page = html(&sample::results());
    for part in [
        "<h2 id=\"main--title\"><span class=\"number\">1</span> Pages and search</h2>",
        "<th scope=\"col\" class=\"n\">bm25 raw</th>",
        "<th scope=\"row\">SRA</th>",
        "<h3>Differs from the paper</h3>",
        "<h3>Not as expected</h3>",
        "★</span>51.1<span class=\"unseen\"> (better)</span></b> <span class=\"interval\">48.7 to 54.0</span>",
        "and <code>raw</code> its documents",
        "fingerpost lab run main --data sra --seed 7",
        "plot nothing: there is nothing to draw",
        "3 experiments, 18 headline figures, 1 not as expected.",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let odd = "<dt>SRA bm25 raw R@10</dt><dd><span class=\"value\">38.0</span><span class=\"odd\">";
    assert_eq!(page.matches("≠ not as expected").count(), 1);
    assert!(page.contains(odd));
    assert_eq!(page.matches("<figure>").count(), 10);
    assert_eq!(
        page.matches("class=\"narrow\"").count(),
        6,
        "bars, and nothing too large for a phone"
    );
    assert_eq!(page.matches("<caption").count(), 2);
    assert_eq!(html(&[]).matches("<section ").count(), 0);
}
