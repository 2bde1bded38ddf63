//! Does an atlas follow its protocol, the paper's where that is asked for, and ours as before?

use fingerpost::atlas::Atlas;
use fingerpost::compile::CompileReport;
use fingerpost::index::{Scratch, Zeros};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::neighborhood::{Buckets, Threshold};
use fingerpost::page::write::judge;
use fingerpost::page::{Case, Ground, Language, Page};
use fingerpost::protocol::{Alone, Protocol};
use fingerpost::route::llm::Answering;
use fingerpost::search::Reading;
use fingerpost::skill::{Invocation, Origin, Skill, SkillId};
use fingerpost::snapshot::{Head, Snapshot};
use fingerpost::view::{Cards, Extent, View};

use crate::data;

fn examples() -> Library {
    let roots = [Root::new(data::example_library())];
    Library::load(&roots, LoadOptions::default()).unwrap().value
}

fn compile(library: &Library, protocol: &Protocol) -> (Snapshot, CompileReport) {
    Atlas::in_memory().compile(library, protocol).unwrap()
}

fn skill(id: &str, description: &str, content: &str) -> Skill {
    Skill {
        id: SkillId::new(id),
        name: id.into(),
        description: description.into(),
        content: content.into(),
        fields: Default::default(),
        invocation: Invocation::Automatic,
        origin: Origin { file: "test".into(), line: None },
    }
}

#[test]
fn buckets_are_in_proportion() {
    let counts = [26_262, 13_131, 6_184, 146, 1].map(Buckets::count_for);
    assert_eq!(counts, [200, 100, 47, 1, 1]);
    let (snapshot, report) = compile(&examples(), &Protocol::paper());
    assert_eq!(report.partition.unwrap().buckets, 1);
    assert_eq!(snapshot.head().protocol, Protocol::paper(), "it is written down");
}

/// Two skills that look alike have each other as neighbors from two members on, and nobody from three.
#[test]
fn pairs_are_contrasted_as_the_protocol_says() {
    let library = examples();
    let paired = |min_contrast: usize| {
        let mut protocol = Protocol::paper();
        protocol.neighborhood.min_contrast = min_contrast;
        protocol.neighborhood.max_distance = Threshold::Fixed(0.6);
        let (snapshot, _) = compile(&library, &protocol);
        let (mut pairs, mut references, mut larger) = (0, 0, 0);
        for (_, members) in snapshot.neighborhoods().iter().filter(|(_, all)| all.len() > 1) {
            pairs += usize::from(members.len() == 2);
            let pages = members.iter().filter_map(|&skill| snapshot.page_row(skill).unwrap().page);
            let named: usize = pages.map(|page| page.references().len()).sum();
            *if members.len() == 2 { &mut references } else { &mut larger } += named;
        }
        assert!(pairs > 3 && larger > 10, "{pairs} pairs, {larger} references elsewhere");
        references
    };
    assert_eq!(paired(3), 0);
    assert!(paired(2) > 0);
}

/// What stands at the end of a long description is found where the whole of it counts, by words and by
/// vectors.
#[test]
fn the_index_has_whole_descriptions() {
    let long =
        format!("Joins files. {} zebrafinch", "and joins more files of all kinds ".repeat(30));
    let others = ["one", "two", "three"].map(|id| skill(id, "Counts files.", "Text of files."));
    let mut skills = others.to_vec();
    skills.push(skill("long", &long, "The text."));
    let library = Library::from_skills(skills).value;
    let found = |protocol: &Protocol| {
        let (snapshot, _) = compile(&library, protocol);
        let extent = snapshot.head().extent(View::Full);
        assert_eq!(snapshot.terms().config().extent, extent);
        assert_eq!(snapshot.phrases().config().extent, extent);
        assert_eq!(snapshot.head().extent(View::Raw), Extent::New);
        let scratch = &mut Scratch::default();
        let hits = snapshot.terms().search("zebrafinch", 10, Zeros::Dropped, scratch).unwrap();
        hits.len()
    };
    assert_eq!((found(&Protocol::ours()), found(&Protocol::paper())), (0, 1));
}

#[test]
fn what_belongs_to_compiling_is_compiled_again_and_what_does_not_is_not() {
    let (library, atlas) = (examples(), Atlas::in_memory());
    let (ours, _) = atlas.compile(&library, &Protocol::ours()).unwrap();
    let text = serde_json::to_string(ours.head()).unwrap();
    for new in ["clustering", "indexed", "writing", "choosing", "solving"] {
        assert!(!text.contains(&format!("\"{new}\"")), "ours does not say {new}");
    }

    let mut protocol = Protocol::ours();
    protocol.choosing.cards = Cards::Base;
    protocol.choosing.answering = Answering::Always;
    protocol.solving.rounds = 1;
    let (choosing, report) = atlas.compile(&library, &protocol).unwrap();
    assert_eq!((report.embedded, report.written, report.partition), (0, 0, None));
    let Head { protocol: recorded, files, .. } = choosing.head();
    assert_eq!((recorded, files), (&protocol, &ours.head().files));
    let config = choosing.route_config();
    assert_eq!((config.cards, config.none_below), (Cards::Base, 0.0));

    let (indexed, report) =
        atlas.compile(&library, &Protocol { indexed: Extent::PAPER, ..protocol.clone() }).unwrap();
    assert_eq!((report.embedded, report.written), (0, 0));
    let differing = |part: &str| indexed.head().files[part] != ours.head().files[part];
    assert_eq!(
        ["terms", "phrases", "vectors", "skills"].map(differing),
        [true, true, false, false]
    );

    let (paper, report) = atlas.compile(&library, &Protocol::paper()).unwrap();
    assert_eq!(report.embedded, library.skills().len(), "other texts are compared");
    assert!(report.partition.is_some());
    // Back again, all is as it was, but for the number of the generation.
    let (back, _) = atlas.compile(&library, &Protocol::ours()).unwrap();
    assert!(back.generation() > paper.generation());
    let without = |snapshot: &Snapshot| Head { generation: 0, ..snapshot.head().clone() };
    assert_eq!(without(&back), without(&ours));
}

#[test]
fn a_named_skill_is_a_candidate_like_any_other() {
    let library = examples();
    let request = "the tax on a bonus, with the help of `qtc-bazett`";
    let score = |protocol: &Protocol| {
        let (snapshot, _) = compile(&library, protocol);
        let reading = snapshot.reading();
        let router = snapshot.router(snapshot.route_config(), 10);
        let hits = router.hits(request, &mut Scratch::default()).unwrap();
        (reading, hits[0].score)
    };
    let (ours, paper) = (score(&Protocol::ours()), score(&Protocol::paper()));
    assert!(ours.0 == Reading::Careful && paper.0 == Reading::ToTheLetter);
    assert!(ours.1 > 1e5 && paper.1 < 1e5, "{ours:?} {paper:?}");
}

#[test]
fn only_a_skill_alone_may_be_given_what_is_imagined() {
    let one = skill("one", "Counts files of all kinds.", "The text about files of all kinds.");
    let two = skill("two", "Joins rows of tables.", "The text about rows of tables.");
    let page = |boundary: Vec<Case>| Page {
        trigger: "Files of all kinds are to be counted".into(),
        boundary,
        body: "The number of files, hidden ones included".into(),
    };
    let rules = |page: &Page, members: &[&Skill], alone: Alone| -> Vec<String> {
        let failures = judge(page, &one, members, Language::English, alone);
        failures.into_iter().map(|failure| failure.rule).collect()
    };
    let read = Case::new("Counting rows", None);
    let imagined = Case { ground: Ground::Imagined, ..read.clone() };
    let (alone, pair) = ([&one], [&one, &two]);
    let none: [&str; 0] = [];
    assert_eq!(rules(&page(vec![imagined.clone()]), &alone, Alone::Imagined), none);
    assert_eq!(rules(&page(vec![imagined.clone()]), &alone, Alone::Document), ["imagined"]);
    let beside = vec![imagined, Case::new("Joining rows", Some(two.id.clone()))];
    assert_eq!(rules(&page(beside), &pair, Alone::Imagined), ["imagined"]);
    assert_eq!(rules(&page(vec![]), &alone, Alone::Imagined), ["no-case"]);
    assert_eq!(rules(&page(vec![]), &alone, Alone::Document), none);
    assert_eq!(rules(&page(vec![read]), &alone, Alone::Imagined), none, "a person's word");
}
