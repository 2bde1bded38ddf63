//! Does a compiled library put look-alikes together?

use fingerpost::atlas::{Atlas, Compiled};
use fingerpost::compile::{CompileConfig, Vectorizer, compile};
use fingerpost::embedding::{FitConfig, dot};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::neighborhood::NeighborhoodConfig;
use fingerpost::page::local::LocalConfig;
use fingerpost::page::write::{Again, Writer};
use fingerpost::skill::SkillIdx;

use crate::data;

fn compiled_examples() -> (Library, Compiled) {
    let roots = [Root::new(data::example_library())];
    let library = Library::load(&roots, LoadOptions::default()).unwrap().value;
    let compiled = compile_again(&library, None);
    (library, compiled)
}

fn compile_again(library: &Library, before: Option<Compiled>) -> Compiled {
    let config = CompileConfig {
        neighborhood: NeighborhoodConfig::default(),
        rebuild: false,
        writer: Writer::Local(LocalConfig::default()),
        again: Again::Nothing,
    };
    let vectorizer = Vectorizer::Fit(FitConfig::default());
    compile(library, String::new(), before, &vectorizer, &config, &|_| {}).unwrap().0
}

/// Of the pairs of one family, at least 85 in 100 share a neighborhood, or one is among the five
/// nearest of the other.
#[test]
fn families_of_the_example_library_are_found() {
    let (_, compiled) = compiled_examples();
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

/// An atlas of the first format, from before there were pages and ledger: nothing of it is lost, and
/// what it lacks is made.
#[test]
fn an_atlas_of_the_first_format_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let atlas = Atlas::at(folder.path());
    let (library, compiled) = compiled_examples();
    atlas.keep(&compiled).unwrap();
    let catalog = rusqlite::Connection::open(folder.path().join("atlas.sqlite")).unwrap();
    catalog
        .execute_batch(
            "DROP TABLE pages; DROP TABLE calls; DROP TABLE endpoints; DROP TABLE batch_calls;
             DROP TABLE batches;
             DELETE FROM settings WHERE key IN ('embedder', 'none_below', 'tuning', 'writer');
             PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(catalog);

    let found = atlas.compiled().unwrap().expect("the atlas is still one");
    assert_eq!(found.skills, compiled.skills);
    assert_eq!(found.vectors, compiled.vectors);
    assert_eq!(found.neighborhoods, compiled.neighborhoods);
    assert!(found.pages.is_empty());
    let again = compile_again(&library, Some(found));
    assert_eq!(again.pages, compiled.pages);
    assert_eq!(again.neighborhoods, compiled.neighborhoods);
    assert!(atlas.ledger().unwrap().spend().unwrap().is_empty());
}
