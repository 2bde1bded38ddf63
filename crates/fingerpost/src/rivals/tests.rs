//! Are rivals those that would win, few, and steady?

use super::*;
use crate::library::{LoadOptions, Root};
use crate::page::name::tests::skill;
use crate::skill::SkillId;

fn examples() -> Library {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library");
    Library::load(&[Root::new(root)], LoadOptions::default()).unwrap().value
}

fn ids<'a>(library: &'a Library, rivals: &Rivals, of: &str) -> Vec<&'a str> {
    let of = library.find(of).unwrap();
    let id = |rival: &Rival| library.skills()[rival.skill.row()].id.as_str();
    rivals.of(of).iter().map(id).collect()
}

fn library(skills: &[(&str, &str, &str)]) -> Library {
    let skill =
        |&(id, description, content): &(&str, &str, &str)| skill(id, id, description, content);
    Library::from_skills(skills.iter().map(skill).collect()).value
}

#[test]
fn each_skill_has_its_own_list_the_nearest_first() {
    let library = examples();
    let rivals = find(&library);
    assert_eq!(rivals.len(), library.skills().len());
    for row in (0..library.skills().len() as u32).map(SkillIdx) {
        let list = rivals.of(row);
        assert!(!list.is_empty() && list.len() <= MOST, "{row:?}");
        assert!(list.iter().all(|rival| rival.skill != row && rival.weight > 0.0));
        assert!(list.windows(2).all(|pair| pair[0].weight >= pair[1].weight));
    }
    let nearest = ids(&library, &rivals, "qtc-bazett");
    assert!(nearest[..3].contains(&"qt-correction/qtc-fridericia"), "{nearest:?}");
}

#[test]
fn a_page_has_no_part_in_it() {
    // Rivals are found in documents alone, so that pages written against them do not change them.
    let (a, b) = (find(&examples()), find(&examples()));
    assert_eq!(a, b);
}

/// What a vendor puts into every document makes no rivals.
#[test]
fn boilerplate_is_left_out_of_requests() {
    let vendor = "Provided by the Acme Ninja Cloud Platform under contract.";
    let subjects = [
        "tides", "opals", "kites", "wasps", "looms", "flutes", "ferns", "comets", "canoes", "dyes",
        "quilts", "bridges",
    ];
    let told = |subject: &str| format!("Lists {subject}. {vendor}");
    let mut skills: Vec<Skill> = subjects
        .iter()
        .map(|subject| skill(&format!("acme/{subject}"), subject, &told(subject), ""))
        .collect();
    skills.push(skill("other/moon", "moon", "Says when tides are high at a harbour.", ""));
    let library = Library::from_skills(skills).value;
    let boilerplate = Boilerplate::of(library.skills());
    assert_eq!(boilerplate.without(&told("tides")), "Lists tides");
    let nearest = ids(&library, &find(&library), "acme/tides");
    assert_eq!(nearest.first(), Some(&"other/moon"), "{nearest:?}");
}

/// Copies are told of, and the places are for others.
#[test]
fn copies_are_set_apart() {
    let text = "Turns a table of measurements into a chart with bars and saves it as a picture.";
    let names: Vec<String> = (0..60).map(|at| format!("copy/{at:02}")).collect();
    let mut skills: Vec<(&str, &str, &str)> =
        names.iter().map(|name| (name.as_str(), text, "Read the table. Draw the bars.")).collect();
    let others = ["pie", "line", "area", "dot"].map(|kind| {
        (format!("chart/{kind}"), format!("Turns a table of measurements into a {kind} chart."))
    });
    skills.extend(others.iter().map(|(id, text)| (id.as_str(), text.as_str(), "Draw it.")));
    let library = library(&skills);
    let rivals = find(&library);
    let first = library.find("copy/00").unwrap();
    assert!(!rivals.copies(first).is_empty());
    let nearest = ids(&library, &rivals, "copy/00");
    assert_eq!(nearest.len(), 4, "{nearest:?}");
    assert!(nearest.iter().all(|id| id.starts_with("chart/")), "{nearest:?}");

    // One that says something else by now is a copy no more, and one that says it again is.
    let second = library.find("copy/01").unwrap();
    assert!(rivals.copies(first).contains(&second));
    let mut skills = library.skills().to_vec();
    skills[second.row()].description = "Weighs parcels and looks up their postage.".into();
    let other = Library::from_skills(skills).value;
    let Update { rivals: apart, .. } = changed(&library, &rivals, &other);
    assert!(apart.copies(second).is_empty() && !apart.copies(first).contains(&second));
    let Update { rivals: again, .. } = changed(&other, &apart, &library);
    assert!(again.copies(second).contains(&first) && again.copies(first).contains(&second));
}

fn without(library: &Library, id: &str) -> Library {
    let skills = library.skills().iter().filter(|skill| skill.id.as_str() != id);
    Library::from_skills(skills.cloned().collect()).value
}

/// The rows that the skills of one library have in another, if they are there with the same document.
fn came_from(now: &Library, before: &Library) -> Vec<Option<SkillIdx>> {
    let same = |skill: &Skill| {
        let row = before.skills().binary_search_by(|other| other.id.cmp(&skill.id)).ok()?;
        (before.skills()[row].digest() == skill.digest()).then_some(SkillIdx(row as u32))
    };
    now.skills().iter().map(same).collect()
}

fn changed(before: &Library, rivals: &Rivals, now: &Library) -> Update {
    let row = |row: SkillIdx| now.find(before.skills()[row.row()].id.as_str());
    update(rivals, &came_from(now, before), row, now)
}

#[test]
fn one_more_skill_touches_ten_at_most() {
    let all = examples();
    let anew = find(&all);
    for skill in all.skills().iter().step_by(19) {
        let before = without(&all, skill.id.as_str());
        let known = find(&before);
        let Update { rivals, touched } = changed(&before, &known, &all);
        let new = all.find(skill.id.as_str()).unwrap();
        assert!(
            touched.contains(&new) && touched.len() <= MOST + 1,
            "{} touches {}",
            skill.id,
            touched.len()
        );
        assert_eq!(rivals.of(new), anew.of(new), "its own list is what it would be anyway");
        for (row, from) in (0..).map(SkillIdx).zip(came_from(&all, &before)) {
            let Some(from) = from else { continue };
            let then: Vec<&SkillId> =
                known.of(from).iter().map(|rival| &before.skills()[rival.skill.row()].id).collect();
            let now: Vec<&SkillId> =
                rivals.of(row).iter().map(|rival| &all.skills()[rival.skill.row()].id).collect();
            assert_eq!(then != now, touched.contains(&row), "{}", all.skills()[row.row()].id);
            assert!(now.len() <= MOST);
        }
    }
}

#[test]
fn who_loses_a_rival_gets_another() {
    let all = examples();
    let known = find(&all);
    let gone = all.find("qtc-fridericia").unwrap();
    let now = without(&all, all.skills()[gone.row()].id.as_str());
    let Update { rivals, touched } = changed(&all, &known, &now);
    let had = |row: &SkillIdx| {
        let row = all.find(now.skills()[row.row()].id.as_str()).unwrap();
        known.of(row).iter().any(|rival| rival.skill == gone)
    };
    assert!(!touched.is_empty() && touched.iter().all(had), "{touched:?}");
    let anew = find(&now);
    assert!(touched.iter().all(|&row| rivals.of(row) == anew.of(row)));
    // And nothing at all changes where nothing has.
    let same = changed(&all, &known, &all);
    assert_eq!((same.rivals, same.touched), (known, Vec::new()));
}

#[test]
fn a_changed_document_touches_those_that_are_written_against_it() {
    let all = examples();
    let known = find(&all);
    let at = all.find("qtc-fridericia").unwrap();
    let mut skills = all.skills().to_vec();
    skills[at.row()].content.push_str("\nOne more line.");
    let now = Library::from_skills(skills).value;
    let Update { rivals, touched } = changed(&all, &known, &now);
    for row in (0..all.skills().len() as u32).map(SkillIdx) {
        let has = rivals.of(row).iter().any(|rival| rival.skill == at);
        assert_eq!(touched.contains(&row), has || row == at, "{row:?}");
    }
}
