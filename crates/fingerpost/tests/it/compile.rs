//! Does a compiled library put look-alikes together?

use fingerpost::compile::{CompileConfig, Vectorizer, compile};
use fingerpost::embedding::{FitConfig, dot};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::neighborhood::NeighborhoodConfig;
use fingerpost::page::local::LocalConfig;
use fingerpost::page::write::{Again, Writer};
use fingerpost::skill::SkillIdx;

use crate::data;

/// Of the pairs of one family, at least 85 in 100 share a neighborhood, or one is among the five
/// nearest of the other.
#[test]
fn families_of_the_example_library_are_found() {
    let roots = [Root::new(data::example_library())];
    let library = Library::load(&roots, LoadOptions::default()).unwrap().value;
    let config = CompileConfig {
        neighborhood: NeighborhoodConfig::default(),
        rebuild: false,
        writer: Writer::Local(LocalConfig::default()),
        again: Again::Nothing,
    };
    let vectorizer = Vectorizer::Fit(FitConfig::default());
    let (compiled, _) =
        compile(&library, String::new(), None, &vectorizer, &config, &|_| {}).unwrap();
    let family = |skill: SkillIdx| {
        let id = compiled.skill(skill).id.as_str();
        id.split_once('/').unwrap().0.to_owned()
    };
    let rows: Vec<SkillIdx> = (0..compiled.skills.len() as u32).map(SkillIdx).collect();
    let nearest: Vec<Vec<SkillIdx>> = rows
        .iter()
        .map(|&skill| {
            let score = |other: &SkillIdx| {
                dot(compiled.vectors.row(skill.row()), compiled.vectors.row(other.row()))
            };
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
                let together = compiled.neighborhoods.of(a) == compiled.neighborhoods.of(b);
                let near = nearest[a.row()].contains(&b) || nearest[b.row()].contains(&a);
                found += usize::from(together || near);
            }
        }
    }
    let share = f64::from(found as u32) / f64::from(pairs);
    assert!(share >= 0.85, "{found} of {pairs} pairs: {share:.3}");
    assert!(compiled.neighborhoods.largest() <= 10);
}
