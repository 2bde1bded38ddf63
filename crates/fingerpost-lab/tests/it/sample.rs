//! What do results look like that were not measured, as large as real ones get?

use fingerpost_lab::files::{Done, Provenance};
use fingerpost_lab::outcome::{Cell, Figure, Outcome, Path, Plot, Series, Table, mark_better};

/// A name that no page may obey.
pub(crate) const HOSTILE: &str = "<img src=x onerror=alert(1)>|{{style}}";

/// Libraries, with names as long as people give them.
pub(crate) const LIBRARIES: [&str; 14] = [
    "SRA",
    "SkillRouter",
    "GraSP",
    "examples",
    "examples, unseen requests",
    "ToolBench (retrieval subset)",
    "anthropic-agent-skills-community-collection",
    "wild: 1,402 skills of 61 authors",
    "TheoremQA",
    "LogicBench",
    "MedCalc-Bench",
    "CHAMP",
    "BigCodeBench",
    HOSTILE,
];

/// Ways to search.
pub(crate) const WAYS: [&str; 6] =
    ["bm25", "tf-idf", "minilm", "bge-large-en-v1.5", "hybrid", "search"];

/// A share that looks measured: it depends on its places and on nothing else.
fn share(row: usize, column: usize) -> f64 {
    let wave = (row as f64 * 1.7 + column as f64 * 0.9).sin() * 0.11;
    0.38 + wave + column as f64 * 0.045 + (row % 5) as f64 * 0.04
}

/// Bars: so many groups, so many series, with intervals.
pub(crate) fn bars(groups: usize, series: usize) -> Plot {
    let one = |column: usize| Series {
        name: WAYS[column].to_owned(),
        values: (0..groups)
            .map(|row| (row + column != 9).then(|| 100.0 * share(row, column)))
            .collect(),
        intervals: (0..groups)
            .map(|row| Some([-2.4, 2.9].map(|far| 100.0 * share(row, column) + far)))
            .collect(),
    };
    Plot::Bars {
        name: "recall".to_owned(),
        title: "Recall among the first ten, by library and way to search".to_owned(),
        axis: "R@10, percent".to_owned(),
        groups: LIBRARIES[..groups].iter().map(|&name| name.to_owned()).collect(),
        series: (0..series).map(one).collect(),
    }
}

/// Bars on both sides of nought.
pub(crate) fn differences() -> Plot {
    let names = ["trigger", "body", "full", "full with boundary"];
    let one = |(column, name): (usize, &str)| Series {
        name: name.to_owned(),
        values: (0..5).map(|row| Some(100.0 * (share(row, column) - 0.48))).collect(),
        intervals: Vec::new(),
    };
    Plot::Bars {
        name: "gain".to_owned(),
        title: "What each part of a page adds to the document".to_owned(),
        axis: "difference of R@10 to raw, points".to_owned(),
        groups: LIBRARIES[..5].iter().map(|&name| name.to_owned()).collect(),
        series: names.into_iter().enumerate().map(one).collect(),
    }
}

/// Paths of three points each.
pub(crate) fn points(paths: usize) -> Plot {
    let path = |row: usize| Path {
        name: LIBRARIES[row].to_owned(),
        points: [("raw", 0), ("full", 2), ("+ encoder", 5)]
            .map(|(word, column)| {
                (word.to_owned(), 100.0 * share(row, column), 100.0 * share(row + 1, column) - 8.0)
            })
            .to_vec(),
    };
    Plot::Points {
        name: "both".to_owned(),
        title: "Found among ten, and chosen".to_owned(),
        x: "R@10, percent".to_owned(),
        y: "right choice, percent".to_owned(),
        paths: (0..paths).map(path).collect(),
    }
}

/// A field of cells, one of them empty.
pub(crate) fn heat(rows: usize, columns: usize) -> Plot {
    let value = |row: usize, column: usize| {
        (row * 3 + column != 10).then(|| 100.0 * (share(row, column % 6) - 0.52))
    };
    Plot::Heat {
        name: "moved".to_owned(),
        title: "Difference of R@10 after pages, by library and retriever".to_owned(),
        rows: LIBRARIES[LIBRARIES.len() - rows..].iter().map(|&name| name.to_owned()).collect(),
        columns: (0..columns).map(|at| format!("{} k={}", WAYS[at % 6], at + 1)).collect(),
        values: (0..rows)
            .map(|row| (0..columns).map(|column| value(row, column)).collect())
            .collect(),
    }
}

/// A row a library, with intervals and the better value marked.
pub(crate) fn wide_table() -> Table {
    let columns = [
        "library",
        "skills",
        "requests",
        "bm25 raw",
        "bm25 full",
        "tf-idf raw",
        "tf-idf full",
        "minilm raw",
        "minilm full",
        "bge raw",
        "bge full",
        "difference",
        "pages by",
    ];
    let mut table =
        Table::new("main", "Recall among the first ten, before and after pages", &columns);
    for (row, library) in LIBRARIES.into_iter().enumerate() {
        let mut cells = vec![library.into(), Cell::count(1402 * row + 146), Cell::count(500)];
        for column in 0..8 {
            let share = share(row, column % 6);
            cells.push(Figure::share(share).within([share - 0.024, share + 0.029]).into());
        }
        let gain = share(row, 4) - 0.5;
        cells.push(Figure::points(gain).within([gain - 0.02, gain + 0.02]).into());
        cells.push(if row % 4 == 3 { Cell::none() } else { "local".into() });
        for pair in [[3, 4], [5, 6], [7, 8], [9, 10]] {
            mark_better(&mut cells, &pair);
        }
        table.row(cells);
    }
    table
}

/// A small table without intervals.
fn small_table() -> Table {
    let columns = ["view", "R@1", "R@10", "MRR", "seconds"];
    let mut table = Table::new("views", "Views of one library", &columns);
    for (row, view) in ["raw", "trigger", "body", "full", "full-boundary"].into_iter().enumerate() {
        let mut cells: Vec<Cell> = vec![view.into()];
        cells.extend([0, 2, 4].map(|column| {
            Cell::from(Figure { better: row == 3, ..Figure::share(share(row, column)) })
        }));
        cells.push(Figure::number(0.0123 * (row + 1) as f64, 3).into());
        table.row(cells);
    }
    table
}

/// Three experiments, one of them with everything.
pub(crate) fn results() -> Vec<Done> {
    let mut main = Outcome {
        tables: vec![wide_table()],
        plots: vec![bars(14, 6), points(6), heat(5, 8)],
        ..Outcome::default()
    };
    for (row, library) in LIBRARIES.into_iter().enumerate() {
        main.figure(format!("{library} bm25 raw R@10"), 100.0 * share(row, 0));
    }
    main.note("Pages are those of the local writer; no model was asked.");
    main.note(format!(
        "The library {HOSTILE} is a stranger's, and `raw` its documents as they are."
    ));
    let mut views = Outcome {
        tables: vec![small_table()],
        plots: vec![differences(), bars(4, 2), points(4), heat(3, 5)],
        ..Outcome::default()
    };
    for (column, way) in WAYS.into_iter().enumerate().take(4) {
        views.figure(format!("sra {way} R@10"), 100.0 * share(0, column));
    }
    let broken = Plot::Heat {
        name: "nothing".to_owned(),
        title: "A plot of nothing".to_owned(),
        rows: Vec::new(),
        columns: Vec::new(),
        values: Vec::new(),
    };
    let last = Outcome { plots: vec![bars(10, 2), heat(6, 20), broken], ..Outcome::default() };
    vec![
        page(
            1,
            "main",
            "Pages and search",
            "Do pages make the right skill easier to find, whatever searches?",
            main,
        ),
        page(
            2,
            "views",
            "Which part of a page helps?",
            "What do trigger, body and both add to the document, and what does the boundary take away when it is indexed?",
            views,
        ),
        page(3, "rest", "Everything else", "How far does it hold?", last),
    ]
}

fn page(number: u32, name: &str, title: &str, question: &str, outcome: Outcome) -> Done {
    let (differs, unexpected) = match number {
        1 => (
            Some(
                "Ours writes pages without a model, and reads 500 requests a library where the paper reads all of them.",
            ),
            vec!["SRA bm25 raw R@10: 38.0, and 41.2 was expected".to_owned()],
        ),
        _ => (None, Vec::new()),
    };
    Done {
        name: name.to_owned(),
        number,
        title: title.to_owned(),
        question: question.to_owned(),
        paper: (number < 3).then(|| "Table 2 and section 4.1".to_owned()),
        differs: differs.map(str::to_owned),
        headline: Vec::new(),
        outcome,
        provenance: Provenance {
            command: format!("fingerpost lab run {name} --data sra --seed 7"),
            commit: "8364d41".to_owned(),
            machine: "2 cores, 8 GB, Linux".to_owned(),
            date: "2026-11-30".to_owned(),
            seconds: 73.4,
            version: "0.1.0".to_owned(),
        },
        unexpected,
    }
}
