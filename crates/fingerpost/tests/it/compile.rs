//! Does a compiled library put look-alikes together?

use fingerpost::atlas::Atlas;
use fingerpost::embedding::dot;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::protocol::Protocol;
use fingerpost::skill::SkillIdx;
use fingerpost::snapshot::Snapshot;

use crate::data;

fn compiled_examples() -> Snapshot {
    let roots = [Root::new(data::example_library())];
    let library = Library::load(&roots, LoadOptions::default()).unwrap().value;
    Atlas::in_memory().compile(&library, &Protocol::ours()).unwrap().0
}

/// Of the pairs of one family, at least 85 in 100 share a neighborhood, or one is among the five
/// nearest of the other.
#[test]
fn families_of_the_example_library_are_found() {
    let compiled = compiled_examples();
    let (vectors, neighborhoods) = (compiled.vectors().unwrap(), compiled.neighborhoods());
    let family = |skill: SkillIdx| compiled.row(skill).id.split_once('/').unwrap().0.to_owned();
    let rows: Vec<SkillIdx> = compiled.rows().collect();
    let nearest: Vec<Vec<SkillIdx>> = rows
        .iter()
        .map(|&skill| {
            let score = |other: &SkillIdx| dot(vectors.row(skill.row()), vectors.row(other.row()));
            let mut others: Vec<SkillIdx> = rows.iter().copied().filter(|&o| o != skill).collect();
            others.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
            others.truncate(5);
            others
        })
        .collect();
    let (mut pairs, mut found) = (0, 0);
    for (at, &a) in rows.iter().enumerate() {
        for &b in &rows[at + 1..] {
            if family(a) == family(b) {
                pairs += 1;
                let together = neighborhoods.of(a) == neighborhoods.of(b);
                let near = nearest[a.row()].contains(&b) || nearest[b.row()].contains(&a);
                found += usize::from(together || near);
            }
        }
    }
    let share = f64::from(found as u32) / f64::from(pairs);
    assert!(share >= 0.85, "{found} of {pairs} pairs: {share:.3}");
    assert!(neighborhoods.largest() <= 10);
}
