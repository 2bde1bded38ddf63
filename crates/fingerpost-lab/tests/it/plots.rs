//! Is everything that a plot says there, once, within the page, and apart from everything else?

use fingerpost_lab::outcome::{Path, Plot, Series};
use fingerpost_lab::plot::{PlotError, inline, inline_narrow, svg, themed};

use crate::sample::{self, HOSTILE, LIBRARIES, WAYS};

/// A text of a drawing, with the least room it needs in any common font.
#[derive(Debug, Clone)]
struct Text {
    text: String,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn number(tag: &str, name: &str) -> f64 {
    let value = attribute(tag, name).unwrap_or_else(|| panic!("{name} of {tag}"));
    value.parse().unwrap_or_else(|_| panic!("{name} of {tag}"))
}

fn texts(svg: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    for element in svg.split("<text").skip(1) {
        let (tag, rest) = element.split_once('>').expect("a tag ends");
        let text = rest.split_once("</text>").expect("a text ends").0.trim();
        let text =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
                .iter()
                .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain));
        let (x, y, size) = (number(tag, "x"), number(tag, "y"), number(tag, "font-size"));
        let wide = text.chars().count() as f64 * 0.5 * size;
        let start = match attribute(tag, "text-anchor") {
            Some("end") => -wide,
            Some("middle") => -wide / 2.0,
            _ => 0.0,
        };
        let (along, across) = ([start, start + wide], [-0.4 * size, 0.4 * size]);
        let [left, right, top, bottom] = match attribute(tag, "transform") {
            Some(_) => [x + across[0], x + across[1], y - along[1], y - along[0]],
            None => [x + along[0], x + along[1], y + across[0], y + across[1]],
        };
        texts.push(Text { text, left, top, right, bottom });
    }
    texts
}

/// Every text lies within the page and on no other one, in a file and on a page, wide and narrow.
fn check_layout(plot: &Plot) -> Vec<Text> {
    let file = svg(plot).expect("it can be drawn");
    assert_eq!(number(&file, "width"), 960.0);
    check_room(&inline(plot).expect("it can be drawn"), 0.0);
    if let Some(narrow) = inline_narrow(plot).expect("it can be drawn") {
        assert!(number(&narrow, "width") < 400.0);
        check_room(&narrow, 0.0);
    }
    check_room(&file, 8.0)
}

fn check_room(drawn: &str, margin: f64) -> Vec<Text> {
    let shown = attribute(drawn, "viewBox").expect("a box").split(' ');
    let shown: Vec<f64> = shown.map(|part| part.parse().expect("a number")).collect();
    let [left, top, wide, high] = shown[..] else { panic!("{shown:?}") };
    let texts = texts(drawn);
    for (at, one) in texts.iter().enumerate() {
        let inside = one.left >= left + margin && one.right <= left + wide - margin;
        let inside = inside && one.top >= top + margin && one.bottom <= top + high - margin;
        assert!(inside, "cut off: {one:?} in {shown:?}");
        for other in &texts[..at] {
            let apart = one.right <= other.left || other.right <= one.left;
            let apart = apart || one.bottom <= other.top || other.bottom <= one.top;
            assert!(apart, "on each other: {one:?} {other:?} in {shown:?}");
        }
    }
    texts
}

/// The same, and every label is there exactly once, in one piece or wrapped.
fn check(plot: &Plot, labels: &[&str]) {
    let texts: Vec<String> = check_layout(plot).into_iter().map(|text| text.text).collect();
    for label in labels {
        let mut found = 0;
        for start in 0..texts.len() {
            let mut rest = *label;
            for text in &texts[start..] {
                let Some(after) = rest.strip_prefix(text.as_str()) else { break };
                rest = after.trim_start();
                if rest.is_empty() {
                    found += 1;
                    break;
                }
            }
        }
        assert_eq!(found, 1, "{label} in {texts:?}");
    }
}

#[test]
fn bars_hold_their_labels_once_upright_and_lying() {
    for (groups, series) in [(1, 1), (4, 2), (5, 6), (8, 3), (10, 2), (14, 6)] {
        let plot = sample::bars(groups, series);
        let labels = LIBRARIES[..groups].iter().chain(&WAYS[..series]).copied();
        let labels: Vec<&str> = labels.chain([plot.title(), "R@10, percent"]).collect();
        check(&plot, &labels);
    }
    let labels = ["trigger", "full with boundary", "SRA", "difference of R@10 to raw, points"];
    check(&sample::differences(), &labels);
}

#[test]
fn points_hold_their_paths_once_and_every_word() {
    let plot = sample::points(6);
    let names: Vec<&str> =
        LIBRARIES[..6].iter().copied().chain(["R@10, percent", "right choice, percent"]).collect();
    check(&plot, &names);
    let words = check_layout(&sample::points(14));
    assert_eq!(words.iter().filter(|text| text.text == "+ encoder").count(), 14);
    let drawn = svg(&plot).expect("it can be drawn");
    assert_eq!(drawn.matches("<polyline").count(), 12, "a line from each point to the next");
}

#[test]
fn fields_hold_their_labels_and_numbers_once() {
    let Plot::Heat { rows, columns, .. } = sample::heat(5, 8) else { panic!("a field") };
    let labels: Vec<&str> = rows.iter().chain(&columns).map(String::as_str).collect();
    check(&sample::heat(5, 8), &labels);
    check_layout(&sample::heat(6, 20));
    let texts = check_layout(&sample::heat(5, 8));
    let numbers = texts.iter().filter(|text| text.text.starts_with(['+', '−']));
    assert_eq!(numbers.count(), 37, "three of forty cells are empty");
}

#[test]
fn zero_is_where_the_bars_begin() {
    let series = Series {
        name: "s".to_owned(),
        values: vec![Some(-10.0), Some(0.0), Some(20.0), None],
        intervals: vec![Some([-12.0, -8.0]), None, Some([18.0, 22.0]), None],
    };
    let plot = Plot::Bars {
        name: "b".to_owned(),
        title: "B".to_owned(),
        axis: "a".to_owned(),
        groups: ["p", "q", "r", "s-"].map(str::to_owned).to_vec(),
        series: vec![series],
    };
    let texts = check_layout(&plot);
    let y = |text: &str| {
        let of = |one: &&Text| one.text == text;
        let text = texts.iter().find(of).unwrap_or_else(|| panic!("{text} in {texts:?}"));
        (text.top + text.bottom) / 2.0
    };
    let bars: Vec<(f64, f64)> = svg(&plot)
        .expect("it can be drawn")
        .lines()
        .filter(|line| line.starts_with("<rect") && line.contains("fill=\"#0072B2\""))
        .map(|line| (number(line, "y"), number(line, "y") + number(line, "height")))
        .collect();
    // The swatch of the legend comes first.
    let [_, below, nought, above] = bars[..] else { panic!("{bars:?}") };
    let zero = y("0");
    // An edge of one pixel is around each.
    assert_eq!((below.0 - 1.0, below.1 + 1.0), (zero, y("−10")));
    assert_eq!((above.0 - 1.0, above.1 + 1.0), (y("20"), zero));
    assert!((nought.0 - zero).abs() <= 1.0 && nought.1 - nought.0 <= 1.0, "{nought:?} at {zero}");
    assert_eq!(texts.iter().filter(|text| text.text == "–").count(), 1, "one has no value");
}

#[test]
fn odd_values_and_names_are_drawn_too() {
    let long = "a-very-long-name-of-a-library ".repeat(12);
    let names = ["數字技能庫 技能", "", long.as_str(), "x\u{0}\u{202E}y", "Ω≈ç√∫˜µ≤≥÷"];
    for scale in [0.0, 1e-6, 1.0, 1e9] {
        let series = |at: usize| Series {
            name: names[at].to_owned(),
            values: (0..5).map(|group| Some(scale * (group as f64 - at as f64))).collect(),
            intervals: Vec::new(),
        };
        let groups: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        check_layout(&Plot::Bars {
            name: "b".to_owned(),
            title: long.clone(),
            axis: long.clone(),
            groups: groups.clone(),
            series: (0..5).map(series).collect(),
        });
        let point = |at: usize| (names[at].to_owned(), scale * at as f64, scale * 2.0);
        let path =
            |at: usize| Path { name: names[at].to_owned(), points: vec![point(at), point(0)] };
        let plot = Plot::Points {
            name: "p".to_owned(),
            title: "P".to_owned(),
            x: long.clone(),
            y: long.clone(),
            paths: (0..5).map(path).collect(),
        };
        check_layout(&plot);
        check_layout(&Plot::Heat {
            name: "h".to_owned(),
            title: "H".to_owned(),
            rows: groups.clone(),
            columns: groups,
            values: vec![vec![Some(scale), None, Some(-scale), Some(0.0), None]; 5],
        });
    }
}

#[test]
fn what_cannot_be_drawn_is_named() {
    let broken = |change: fn(&mut Vec<String>, &mut Vec<Series>)| {
        let Plot::Bars { name, title, axis, mut groups, mut series } = sample::bars(4, 2) else {
            panic!("bars")
        };
        change(&mut groups, &mut series);
        svg(&Plot::Bars { name, title, axis, groups, series }).expect_err("it cannot be drawn")
    };
    let error = broken(|_, series| series[1].values[2] = Some(f64::NAN));
    assert_eq!(error.to_string(), "plot recall: tf-idf holds NaN");
    let error = broken(|_, series| series[0].intervals[0] = Some([0.0, f64::INFINITY]));
    assert_eq!(error.to_string(), "plot recall: bm25 holds inf");
    let error = broken(|groups, _| groups.truncate(3));
    let expected = "plot recall: bm25 has 4 values where there should be 3";
    assert_eq!(error.to_string(), expected);
    assert!(matches!(broken(|_, series| series.clear()), PlotError::Empty { .. }));
}

#[test]
fn a_page_puts_its_own_colors_in() {
    for plot in [sample::bars(14, 6), sample::points(6), sample::heat(5, 8)] {
        let plain = svg(&plot).expect("it can be drawn");
        assert!(!plain.contains("var(--"), "a file has plain colors");
        for color in ["#1D1F23", "#DDDDD9", "#FFFFFE"] {
            assert!(plain.contains(&format!("\"{color}\"")), "{color} in {}", plot.name());
        }
        let part = inline(&plot).expect("it can be drawn");
        for themed in [themed(&plain), part] {
            for color in ["#1D1F23", "#DDDDD9", "#FFFFFE"] {
                assert!(!themed.contains(color), "{color} in {}", plot.name());
            }
            assert!(themed.contains("\"var(--ink)\"") && themed.contains("\"var(--grid)\""));
        }
    }
    let named = Plot::Heat {
        name: "h".to_owned(),
        title: "=\"#1D1F23\"".to_owned(),
        rows: vec![HOSTILE.to_owned()],
        columns: vec!["c".to_owned()],
        values: vec![vec![Some(1.0)]],
    };
    let drawn = themed(&svg(&named).expect("it can be drawn"));
    assert!(drawn.contains("=&quot;#1D1F23&quot;"), "a text keeps its words");
    assert!(!drawn.contains("<img"), "a name is no element");
}
