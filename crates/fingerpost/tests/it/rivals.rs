//! Are pages written against rivals, and only those again that a change touches?

use fingerpost::atlas::Atlas;
use fingerpost::compile::CompileReport;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::page::write::PageRow;
use fingerpost::protocol::{Against, Protocol};
use fingerpost::rivals::{MOST, find};
use fingerpost::skill::SkillIdx;
use fingerpost::snapshot::Snapshot;

use crate::data;

fn examples() -> Library {
    let roots = [Root::new(data::example_library())];
    Library::load(&roots, LoadOptions::default()).unwrap().value
}

fn compile(atlas: &Atlas, library: &Library, against: Against) -> (Snapshot, CompileReport) {
    let protocol = Protocol { against, ..Protocol::ours() };
    atlas.compile(library, &protocol).unwrap()
}

fn without(library: &Library, row: SkillIdx) -> Library {
    let mut skills = library.skills().to_vec();
    skills.remove(row.row());
    Library::from_skills(skills).value
}

#[test]
fn a_boundary_names_rivals_alone() {
    let (library, atlas) = (examples(), Atlas::in_memory());
    let (snapshot, report) = compile(&atlas, &library, Against::Rivals);
    assert_eq!(snapshot.against(), Against::Rivals);
    assert_eq!(report.written, library.skills().len(), "one page a skill");
    let found = find(&library);
    let mut named = 0;
    for skill in snapshot.rows() {
        let rivals = snapshot.rivals_of(skill).unwrap();
        assert_eq!(rivals, found.of(skill), "what is kept is what was found");
        let ids: Vec<&str> = rivals.iter().map(|rival| snapshot.row(rival.skill).id).collect();
        let row = snapshot.page_row(skill).unwrap();
        let Some(page) = row.page else { continue };
        for id in page.references() {
            assert!(ids.contains(&id.as_str()), "{} names {id}", row.skill);
            named += 1;
        }
    }
    assert!(named > library.skills().len(), "{named}");

    let (same, report) = compile(&atlas, &library, Against::Rivals);
    assert_eq!((report.written, report.touched), (0, 0));
    assert_eq!(same.generation(), snapshot.generation(), "nothing has changed");
}

#[test]
fn a_new_skill_has_ten_pages_written_at_most() {
    let all = examples();
    let new = all.find("qtc-fridericia").unwrap();
    let (before, atlas) = (without(&all, new), Atlas::in_memory());
    let (then, _) = compile(&atlas, &before, Against::Rivals);
    let (now, report) = compile(&atlas, &all, Against::Rivals);
    assert!(report.partition.is_none(), "placed, and not computed anew");
    assert!((2..=MOST + 1).contains(&report.written), "{}", report.written);
    assert_eq!(report.written, report.touched);
    let pages = |snapshot: &Snapshot| -> Vec<PageRow> { snapshot.page_rows().unwrap().to_vec() };
    let (then, rows) = (pages(&then), pages(&now));
    let same = then.iter().filter(|row| rows.iter().any(|other| row.key == other.key));
    assert_eq!(same.count(), then.len() - (report.written - 1), "the others are what they were");
    let own = now.rivals_of(new).unwrap();
    let taken = own
        .iter()
        .filter(|rival| now.rivals_of(rival.skill).unwrap().iter().any(|rival| rival.skill == new));
    assert_eq!(taken.count(), report.written - 1, "who has it now is who it has");
}

/// The paper's way is one switch away, and the same from either side.
#[test]
fn neighborhoods_are_as_they_were() {
    let (library, atlas) = (examples(), Atlas::in_memory());
    let pages = |snapshot: Snapshot| snapshot.page_rows().unwrap().to_vec();
    let (plain, _) = compile(&Atlas::in_memory(), &library, Against::Neighborhood);
    assert_eq!(plain.against(), Against::Neighborhood);
    let (neighborhoods, skill) = (plain.neighborhoods(), SkillIdx(0));
    let members = neighborhoods.members(neighborhoods.of(skill));
    let rivals = plain.rivals_of(skill).unwrap();
    assert_eq!(rivals.len(), members.len() - 1);
    assert!(rivals.iter().all(|rival| members.contains(&rival.skill)));

    let (rivals, _) = compile(&atlas, &library, Against::Rivals);
    let (back, report) = compile(&atlas, &library, Against::Neighborhood);
    assert!(report.partition.is_none() && report.embedded == 0, "vectors stay");
    assert_ne!(pages(rivals), pages(plain));
    let (plain, _) = compile(&Atlas::in_memory(), &library, Against::Neighborhood);
    assert_eq!(pages(back), pages(plain));
}
