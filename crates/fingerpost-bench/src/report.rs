//! What does a run look like on a terminal?

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::contest::{BM25S, OURS, Target, Task, Timing};
use crate::growth::Size;
use crate::sparse::Report;

pub(crate) fn print(report: &Report) {
    println!(
        "\nBM25 over {} skills, best {} of {} requests, median of {}, {} threads at most\n",
        thousands(report.skills as f64),
        report.k,
        thousands(report.queries as f64),
        report.repeats,
        report.threads,
    );
    println!("build: every text to a finished index, in seconds\n{}\n", build_table(report));
    println!("search: every request\n{}\n", search_table(report));
    println!("targets: their time by ours\n{}\n", target_table(&report.targets));
    let agreement = &report.agreement;
    match agreement.equal_to_bm25s {
        Some(equal) => println!(
            "same work: the first ten of {equal} out of {} requests are those of bm25s {}, up to ties",
            agreement.queries,
            report.bm25s_version.as_deref().unwrap_or_default(),
        ),
        None => println!("same work: not checked, bm25s did not take part"),
    }
    println!(
        "tantivy (its own k1, idf and rounded lengths): {:.1} % of our first ten are among its\n",
        agreement.overlap_with_tantivy * 100.0
    );
    println!(
        "growth: fingerpost, one thread, tokenizer auto; × is the figure by that of the first line\n{}",
        growth_table(&report.growth)
    );
}

fn build_table(report: &Report) -> Table {
    let timings = &report.timings;
    let mut table = table([
        "contestant",
        "threads",
        "tokenize",
        "index",
        "both",
        "min … max",
        "skills/s",
        "by ours",
    ]);
    for build in timings.of(Task::Build) {
        let part = |task| {
            let timing = timings.get(task, build.contestant, build.threads);
            timing.map_or("–".to_owned(), |timing| seconds(timing.median()))
        };
        let mut tokenize = part(Task::Tokenize);
        let mut index = part(Task::Index);
        if build.contestant == OURS {
            // Ours are interleaved; what tokenizing takes by itself is measured apart.
            tokenize = format!("({tokenize})");
            index = "–".into();
        }
        let ours = timings.get(Task::Build, OURS, build.threads);
        table.add_row([
            build.contestant.to_owned(),
            build.threads.to_string(),
            tokenize,
            index,
            seconds(build.median()),
            spread(build),
            thousands(report.skills as f64 / build.median()),
            times(ours.map(|ours| build.median() / ours.median())),
        ]);
    }
    table
}

fn search_table(report: &Report) -> Table {
    let timings = &report.timings;
    let mut table = table([
        "contestant",
        "threads",
        "seconds",
        "min … max",
        "queries/s",
        "µs/query",
        "by ours",
    ]);
    for task in [Task::Search, Task::SearchTokenized] {
        for search in timings.of(task) {
            let ours = timings.get(Task::Search, OURS, search.threads);
            let name = match task {
                Task::SearchTokenized => format!("{}, given terms", search.contestant),
                _ => search.contestant.to_owned(),
            };
            table.add_row([
                name,
                search.threads.to_string(),
                seconds(search.median()),
                spread(search),
                thousands(report.queries as f64 / search.median()),
                format!("{:.1}", search.median() * 1e6 / report.queries as f64),
                times(ours.map(|ours| search.median() / ours.median())),
            ]);
        }
    }
    table
}

fn target_table(targets: &[Target]) -> Table {
    let mut table = table(["work", "threads", "against", "ratio", "target", "verdict"]);
    for target in targets {
        let against = match (target.work, target.against) {
            ("build", BM25S) => "bm25s (one thread)".to_owned(),
            (_, against) => against.to_owned(),
        };
        table.add_row([
            target.work.to_owned(),
            target.threads.to_string(),
            against,
            times(Some(target.ratio)),
            format!("≥ {}", times(Some(target.at_least))),
            if target.met { "met" } else { "missed" }.to_owned(),
        ]);
    }
    table
}

fn growth_table(growth: &[Size]) -> Table {
    let mut table = table([
        "skills",
        "text MB",
        "terms",
        "index MB",
        "build s",
        "µs/skill",
        "×",
        "search s",
        "µs/query",
        "×",
        "ns/query/skill",
        "×",
    ]);
    for size in growth {
        let first = &growth[0];
        let (build, search) = (size.build_us_per_skill(), size.search_us_per_query());
        let per_skill = |size: &Size| size.search_us_per_query() * 1e3 / size.skills as f64;
        table.add_row([
            thousands(size.skills as f64),
            format!("{:.1}", size.text_bytes as f64 / 1e6),
            thousands(size.terms as f64),
            format!("{:.1}", size.index_bytes as f64 / 1e6),
            seconds(size.build_s),
            format!("{build:.0}"),
            format!("{:.2}", build / first.build_us_per_skill()),
            seconds(size.search_s),
            format!("{search:.1}"),
            format!("{:.2}", search / first.search_us_per_query()),
            format!("{:.2}", per_skill(size)),
            format!("{:.2}", per_skill(size) / per_skill(first)),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn table<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.3}")
}

fn spread(timing: &Timing) -> String {
    let low = timing.seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let high = timing.seconds.iter().copied().fold(0.0, f64::max);
    format!("{low:.3} … {high:.3}")
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.1}×"))
}

/// 16417 as 16,417.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([999.4, 1000.0, 1_234_567.0].map(thousands), ["999", "1,000", "1,234,567"]);
    }
}
