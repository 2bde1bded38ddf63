//! Is everything an answer reads of one generation, and never damaged, outdated or somebody else's?

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fingerpost::atlas::{Atlas, AtlasError, State};
use fingerpost::compile::{Event, Job};
use fingerpost::index::{IndexError, Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::kept::{KeptPage, Origin, Relative};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::page::{Page, Pages, Status};
use fingerpost::protocol::Protocol;
use fingerpost::skill::SkillId;
use fingerpost::snapshot::{LibraryMark, Snapshot, SnapshotError};
use fingerpost::store::{
    Blob, Claim, Folder, Log, Memory, Record, Records, Store, StoreError, Version,
};
use fingerpost::view::View;
use tempfile::TempDir;

use crate::data;

/// Two families of the example library, and an atlas in a folder, gone after the test.
struct Fixture {
    folder: TempDir,
    library: Library,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, library: family(&["qt-correction", "loans"]) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("atlas")
    }

    fn atlas(&self) -> Atlas {
        Atlas::new(Folder::at(self.path()))
    }

    fn compile(&self) -> Snapshot {
        self.atlas().compile(&self.library, &Protocol::ours()).unwrap().0
    }

    /// Compiles, and says what was found damaged.
    fn heal(&self) -> (Snapshot, Vec<String>) {
        let damaged = std::sync::Mutex::new(Vec::new());
        let on_event = |event: Event| {
            if let Event::Damaged(what) = event {
                damaged.lock().unwrap().push(what);
            }
        };
        let protocol = Protocol::ours();
        let job = Job { on_event: &on_event, ..Job::new(&self.library, &protocol) };
        let atlas = self.atlas();
        let (snapshot, _) = atlas.compile_as(&job, &atlas.claim().unwrap()).unwrap();
        (snapshot, damaged.into_inner().unwrap())
    }
}

fn family(names: &[&str]) -> Library {
    let roots = [Root::new(data::example_library())];
    let all = Library::load(&roots, LoadOptions::default()).unwrap().value;
    let of = |id: &SkillId| names.iter().any(|name| id.as_str().starts_with(name));
    let skills = all.skills().iter().filter(|skill| of(&skill.id)).cloned().collect();
    Library::from_skills(skills).value
}

const REQUEST: &str = "QT 380 at 72 bpm, correct it with the square root";

fn answer(snapshot: &Snapshot) -> Result<Vec<(String, String)>, SnapshotError> {
    let router = snapshot.router(snapshot.route_config(), 10);
    let hits = router.rank(REQUEST, 10, &mut Scratch::default());
    let hits = hits.unwrap_or_default();
    let rows = hits.iter().map(|hit| (snapshot.row(hit.skill), hit.score));
    let rows = rows.map(|(row, score)| (row.id.to_owned(), format!("{score:.4}"))).collect();
    snapshot.sound()?;
    Ok(rows)
}

#[test]
fn five_lines_from_a_library_to_a_route() {
    let library = family(&["qt-correction"]);
    let atlas = Atlas::in_memory();
    atlas.compile(&library, &Protocol::ours()).unwrap();
    let snapshot = atlas.snapshot().unwrap();
    let router = snapshot.router(snapshot.route_config(), 10);
    let (route, _) = router.route(REQUEST, &mut Scratch::default()).unwrap();
    assert_eq!(route.skill.as_deref(), Some("qt-correction/qtc-bazett"));
}

#[test]
fn what_is_opened_answers_like_what_was_compiled() {
    let fixture = Fixture::new();
    let compiled = fixture.compile();
    let opened = fixture.atlas().snapshot().unwrap();
    assert_eq!(answer(&compiled).unwrap(), answer(&opened).unwrap());
    assert_eq!((compiled.generation(), opened.generation()), (1, 1));
    assert_eq!(opened.library().unwrap().digest(), fixture.library.digest());
    assert_eq!(opened.vectors().unwrap(), compiled.vectors().unwrap());
    // The same library is the same generation.
    assert_eq!(fixture.compile().generation(), 1);
    // In memory it is the same too.
    let memory = Atlas::in_memory().compile(&fixture.library, &Protocol::ours()).unwrap().0;
    assert_eq!(answer(&memory).unwrap(), answer(&opened).unwrap());
    assert_eq!(memory.head().files, opened.head().files);
}

/// A snapshot goes on answering while the atlas changes, and files that nobody uses go.
#[test]
fn a_snapshot_never_changes_and_the_atlas_does_not_grow() {
    let mut fixture = Fixture::new();
    let first = fixture.compile();
    let before = answer(&first).unwrap();
    let size = || -> u64 {
        let files = fs::read_dir(fixture.folder.path().join("atlas/blobs")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    let at_first = size();
    for change in 0..12 {
        let mut skills = fixture.library.skills().to_vec();
        skills[change % 5].content.push_str(&format!("\nChange {change}.\n"));
        fixture.library = Library::from_skills(skills).value;
        let next = fixture.atlas().compile(&fixture.library, &Protocol::ours()).unwrap().0;
        assert_eq!(next.generation(), change as u64 + 2);
    }
    assert_eq!(answer(&first).unwrap(), before);
    let files = fs::read_dir(fixture.path().join("blobs")).unwrap().count();
    assert_eq!(files, 6, "those of one generation");
    let size: u64 = fs::read_dir(fixture.path().join("blobs"))
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(size < at_first * 11 / 10, "{size} bytes, {at_first} at first");
}

/// Each file of the atlas is flipped, cut, emptied and removed in turn: no answer is wrong, nothing
/// panics, the file is named, and one more compilation heals it.
#[test]
fn damage_anywhere_heals_and_is_named() {
    let fixture = Fixture::new();
    let expected = answer(&fixture.compile()).unwrap();
    let mut files = vec![fixture.path().join("head")];
    files.extend(fs::read_dir(fixture.path().join("blobs")).unwrap().map(|e| e.unwrap().path()));
    files.sort();
    for file in &files {
        let sound = fs::read(file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let flip = |at: usize| {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x20;
            Some(bytes)
        };
        let middle = sound.len() / 2;
        let damages = [
            flip(0),
            flip(middle),
            flip(sound.len() - 70),
            Some(sound[..middle].to_vec()),
            Some(Vec::new()),
            None,
        ];
        for (number, damage) in damages.into_iter().enumerate() {
            // A new file, as damage to a disk would be seen by who opens it now.
            fs::remove_file(file).unwrap();
            if let Some(bytes) = damage {
                fs::write(file, bytes).unwrap();
            }
            let answered = fixture.atlas().snapshot().and_then(|snapshot| answer(&snapshot));
            match answered {
                Ok(rows) => assert_eq!(rows, expected, "{name}, damage {number}"),
                Err(error) => {
                    assert!(error.heals(), "{name}, damage {number}: {error}");
                    let missing = matches!(error, SnapshotError::Empty { .. });
                    assert!(missing || error.to_string().contains(name), "{name}: {error}");
                }
            }
            let (healed, _) = fixture.heal();
            assert_eq!(answer(&healed).unwrap(), expected, "{name}, damage {number}");
            let again = fixture.atlas().snapshot().unwrap();
            assert_eq!(answer(&again).unwrap(), expected, "{name}, damage {number}");
            if name != "head" {
                assert!(fs::read(file).unwrap() == sound, "{name} is as it was");
            }
        }
    }
}

/// What a person wrote outlives the loss of everything that can be made again.
#[test]
fn kept_pages_outlive_the_rest() {
    let fixture = Fixture::new();
    let snapshot = fixture.compile();
    let skill = snapshot.find("loan-payment").unwrap();
    let mut row = snapshot.page_row(skill).unwrap();
    row.status = Status::Pinned;
    row.page.as_mut().unwrap().trigger = "What I say about loans.".into();
    fixture.atlas().keep(&[KeptPage::of(&row, Origin::Hand)]).unwrap();
    let trigger = |snapshot: &Snapshot| {
        let skill = snapshot.find("loan-payment")?;
        snapshot.page_row(skill).unwrap().page.map(|page| page.trigger)
    };
    assert_eq!(trigger(&fixture.compile()).as_deref(), Some("What I say about loans."));
    for gone in ["head", "blobs"] {
        let path = fixture.path().join(gone);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        assert_eq!(trigger(&fixture.compile()).as_deref(), Some("What I say about loans."));
    }
    // The skill goes, and comes back with another document.
    let all = fixture.library.skills().to_vec();
    let without: Vec<_> = all.iter().filter(|s| s.name != "loan-payment").cloned().collect();
    let without = Library::from_skills(without).value;
    let gone = fixture.atlas().compile(&without, &Protocol::ours()).unwrap().0;
    assert_eq!(trigger(&gone), None);
    let mut changed = all.clone();
    changed.iter_mut().find(|s| s.name == "loan-payment").unwrap().content.push_str(" More.");
    let changed = Library::from_skills(changed).value;
    let back = fixture.atlas().compile(&changed, &Protocol::ours()).unwrap().0;
    assert_eq!(trigger(&back).as_deref(), Some("What I say about loans."));
    let row = back.page_row(back.find("loan-payment").unwrap()).unwrap();
    assert!(row.is_stale() && row.status == Status::Pinned, "{row:?}");
    assert_eq!(back.head().pages.stale, 1);
}

/// A page that a model was paid for is not given up for a local draft because a document changed.
#[test]
fn a_paid_page_is_served_and_flagged_when_its_document_changes() {
    let fixture = Fixture::new();
    let snapshot = fixture.compile();
    let skill = snapshot.find("loan-payment").unwrap();
    let mut row = snapshot.page_row(skill).unwrap();
    row.writer = "llm some-model, prompt 1, focal, zh".into();
    row.page =
        Some(Page {
            trigger: "等额本息贷款的月供".into(), boundary: vec![], body: "按月".into()
        });
    fixture.atlas().keep(&[KeptPage::of(&row, Origin::Model)]).unwrap();
    fixture.compile();
    let mut skills = fixture.library.skills().to_vec();
    for skill in skills.iter_mut().filter(|skill| skill.id.as_str().starts_with("loans/")) {
        skill.content.push_str("\nOne more line.\n");
    }
    let changed = Library::from_skills(skills).value;
    let after = fixture.atlas().compile(&changed, &Protocol::ours()).unwrap().0;
    let row = after.page_row(after.find("loan-payment").unwrap()).unwrap();
    assert_eq!(row.page.as_ref().unwrap().trigger, "等额本息贷款的月供");
    assert!(row.is_stale() && row.writer.starts_with("llm "), "{row:?}");
    // Asked for, it goes: then the local writer has its turn again.
    assert_eq!(fixture.atlas().forget(&[row.skill]).unwrap(), 1);
    let after = fixture.atlas().compile(&changed, &Protocol::ours()).unwrap().0;
    let row = after.page_row(after.find("loan-payment").unwrap()).unwrap();
    assert!(row.writer.starts_with("local "), "{row:?}");
}

/// Forgetting takes what is meant and nothing beside it: not the page of another root's skill of the
/// same id, and not what a later version wrote.
#[test]
fn forgetting_takes_nothing_else() {
    let fixture = Fixture::new();
    let snapshot = fixture.compile();
    let row = snapshot.page_row(snapshot.find("loan-payment").unwrap()).unwrap();
    let of_root = |root: &str| {
        let page = KeptPage { root: root.into(), ..KeptPage::of(&row, Origin::Hand) };
        serde_json::to_vec(&page).unwrap()
    };
    let near = Folder::at(fixture.path());
    let far: Arc<dyn Store> = Arc::new(Memory::new());
    let later = b"{\"of\":\"a later version\"}".to_vec();
    near.append(Log::Pages, &[of_root("/here"), later.clone()]).unwrap();
    far.append(Log::Pages, &[of_root("/here"), of_root("/there"), later.clone()]).unwrap();
    let relative = Relative { store: Arc::clone(&far), root: "/here".into(), whole: false };
    let atlas = fixture.atlas().with_relatives(vec![relative]);
    assert_eq!(atlas.forget(std::slice::from_ref(&row.skill)).unwrap(), 2);
    let left = |store: &dyn Store| -> Vec<Vec<u8>> {
        store.records(Log::Pages, 0).unwrap().records.into_iter().map(|r| r.bytes).collect()
    };
    assert_eq!(left(&near), std::slice::from_ref(&later));
    let there = left(far.as_ref());
    assert_eq!((there.len(), &there[1]), (2, &later));
    assert!(String::from_utf8_lossy(&there[0]).contains("/there"), "it is another root's");
}

/// What is kept while a compilation is under way is seen to be missing from it.
#[test]
fn an_edit_beside_a_compilation_is_noticed() {
    let fixture = Fixture::new();
    let protocol = Protocol::ours();
    let atlas = fixture.atlas();
    let edited = std::sync::Once::new();
    let on_event = |event: Event| {
        if event == Event::Indexing {
            edited.call_once(|| {
                let snapshot = Atlas::in_memory();
                let (snapshot, _) = snapshot.compile(&fixture.library, &protocol).unwrap();
                let skill = snapshot.find("loan-payment").unwrap();
                let row = snapshot.page_row(skill).unwrap();
                fixture.atlas().keep(&[KeptPage::of(&row, Origin::Hand)]).unwrap();
            });
        }
    };
    let mark = LibraryMark { stamp: "as it is".into(), ..LibraryMark::default() };
    let job = Job { mark, on_event: &on_event, ..Job::new(&fixture.library, &protocol) };
    atlas.compile_as(&job, &atlas.claim().unwrap()).unwrap();
    assert_eq!(atlas.state("as it is"), State::Changed);
    atlas.compile_as(&job, &atlas.claim().unwrap()).unwrap();
    assert_eq!(atlas.state("as it is"), State::Current);
    assert_eq!(atlas.state("changed"), State::Changed);
}

#[test]
fn another_library_is_refused_and_a_moved_one_is_not() {
    let fixture = Fixture::new();
    let atlas = fixture.atlas();
    let protocol = Protocol::ours();
    let mark = |root: &str| LibraryMark { roots: vec![root.into()], ..LibraryMark::default() };
    let compile = |library: &Library, root: &str| {
        let job = Job { mark: mark(root), ..Job::new(library, &protocol) };
        atlas.compile_as(&job, &atlas.claim().unwrap()).map(|(snapshot, _)| snapshot.len())
    };
    let all = compile(&fixture.library, "/skills").unwrap();
    let other = family(&["pdf-tools", "flights"]);
    let refused = compile(&other, "/others").unwrap_err();
    let AtlasError::OtherLibrary { theirs, given, .. } = &refused else { panic!("{refused}") };
    assert_eq!((theirs.as_str(), given.as_str()), ("/skills", "/others"));
    assert_eq!(atlas.snapshot().unwrap().len(), all, "nothing was touched");
    let empty = Library::from_skills(vec![]).value;
    assert!(matches!(compile(&empty, "/skills"), Err(AtlasError::NoSkills { .. })));
    // The same skills elsewhere are the same library.
    let fewer = family(&["loans"]);
    assert_eq!(compile(&fewer, "/moved/skills").unwrap(), fewer.skills().len());
    // At the same place it may become quite another one.
    assert_eq!(compile(&other, "/moved/skills").unwrap(), other.skills().len());
}

/// An interrupted compilation goes on where it was: what was put aside is used, and gone after.
#[test]
fn what_was_done_before_an_interruption_is_not_done_again() {
    struct Interrupted(Folder);
    let fixture = Fixture::new();
    let folder = || Folder::at(fixture.path());
    impl Store for Interrupted {
        fn name(&self) -> String {
            self.0.name()
        }
        fn head(&self) -> Result<Option<Vec<u8>>, StoreError> {
            self.0.head()
        }
        fn commit(&self, _: Version, _: &[u8]) -> Result<(), StoreError> {
            Err(StoreError::Failed {
                action: "go on with",
                subject: "the work".into(),
                source: std::io::Error::other("killed"),
            })
        }
        fn get(&self, blob: &str) -> Result<Option<Blob>, StoreError> {
            self.0.get(blob)
        }
        fn put(&self, blob: &str, bytes: &[u8]) -> Result<(), StoreError> {
            self.0.put(blob, bytes)
        }
        fn blobs(&self) -> Result<Vec<String>, StoreError> {
            self.0.blobs()
        }
        fn remove(&self, blob: &str) -> Result<(), StoreError> {
            self.0.remove(blob)
        }
        fn claim(&self, work: &str, lease: std::time::Duration) -> Result<Claim, StoreError> {
            self.0.claim(work, lease)
        }
        fn append(&self, log: Log, records: &[Vec<u8>]) -> Result<(), StoreError> {
            self.0.append(log, records)
        }
        fn records(&self, log: Log, from: u64) -> Result<Records, StoreError> {
            self.0.records(log, from)
        }
        fn rewrite(
            &self,
            log: Log,
            keep: &mut dyn FnMut(&Record) -> bool,
        ) -> Result<usize, StoreError> {
            self.0.rewrite(log, keep)
        }
        fn mark(&self, log: Log) -> Result<u64, StoreError> {
            self.0.mark(log)
        }
    }
    let killed = Atlas::new(Interrupted(folder()));
    assert!(killed.compile(&fixture.library, &Protocol::ours()).is_err());
    let aside = |store: &dyn Store| -> Vec<String> {
        let blobs = store.blobs().unwrap();
        blobs.into_iter().filter(|blob| blob.starts_with("work-")).collect()
    };
    let left = aside(&folder());
    assert!(left.iter().any(|name| name.starts_with("work-vectors")), "{left:?}");
    assert!(left.iter().any(|name| name.starts_with("work-pages")), "{left:?}");
    // A page that was put aside is taken as it is: no other could have been written.
    let snapshot = fixture.compile();
    let whole = Atlas::in_memory().compile(&fixture.library, &Protocol::ours()).unwrap().0;
    assert_eq!(snapshot.head().files, whole.head().files);
    assert_eq!(aside(&folder()), [""; 0]);
}

#[test]
fn an_index_that_nobody_has_made_yet_is_made_and_can_be_kept() {
    let fixture = Fixture::new();
    let snapshot = fixture.compile();
    let config = SparseConfig { model: SparseModel::Tfidf, ..SparseConfig::default() };
    assert!(snapshot.index_at_hand(&config).unwrap().is_none());
    let made = snapshot.index(&config).unwrap();
    snapshot.keep_index(&made).unwrap();
    let again = fixture.atlas().snapshot().unwrap();
    let kept = again.index_at_hand(&config).unwrap().expect("it was kept");
    assert_eq!(kept.bytes(), made.bytes());
    assert!(Arc::ptr_eq(&again.index(again.terms().config()).unwrap(), again.terms()));
    // It stays with its generation, and goes with it.
    fixture.compile();
    assert!(again.index_at_hand(&config).unwrap().is_some());
    let raw = SparseConfig { view: View::Full, ..config };
    assert!(again.index_at_hand(&raw).unwrap().is_none(), "another view is another index");
}

/// Damages every byte of an index in turn (and every possible length of it): each time the damage
/// must be found, either when it is opened or when the damaged part is first used.
#[test]
fn no_damage_of_an_index_goes_unnoticed() {
    let skill = |name: &str, description: &str| {
        let mut skills = family(&["loans"]).skills()[..1].to_vec();
        skills[0].id = SkillId::new(name);
        skills[0].name = name.into();
        skills[0].description = description.into();
        skills[0].content = "The rule.".into();
        skills.remove(0)
    };
    let skills = vec![
        skill("bazett", "Corrects the QT interval by the square root of RR"),
        skill("rautaharju", "Corrects the QT interval by 120 plus heart rate"),
    ];
    let library = Library::from_skills(skills).value;
    let sound = SparseIndex::build(&library, &Pages::default(), &SparseConfig::default());
    let query = "corrects the qt interval by square root of rr 120 plus heart rate rule";
    let search = |index: &SparseIndex| -> Result<Vec<String>, IndexError> {
        let hits = index.search(query, 10, Zeros::Dropped, &mut Scratch::default())?;
        let shown = |hit: &fingerpost::index::Hit| format!("{:?} {:.3}", hit.skill, hit.score);
        let shown = hits.iter().map(shown).collect();
        index.sound()?;
        Ok(shown)
    };
    let expected = search(&sound).unwrap();
    let bytes = sound.bytes().to_vec();
    let mut unnoticed = 0;
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        if let Ok(found) = SparseIndex::open(Blob::of(&damaged)).and_then(|index| search(&index)) {
            assert_eq!(found, expected, "byte {at} changed the answer unnoticed");
            unnoticed += 1;
        }
    }
    assert_eq!(unnoticed, 0, "bytes that no checksum covers");
    for length in (1..bytes.len()).step_by(7) {
        assert!(SparseIndex::open(Blob::of(&bytes[..length])).is_err(), "cut to {length} bytes");
    }
}

/// A stranger's atlas with sound checksums and senseless content does no harm either.
#[test]
fn a_head_that_names_other_files_is_refused() {
    let fixture = Fixture::new();
    let first = fixture.compile();
    let text = fs::read_to_string(fixture.path().join("head")).unwrap();
    let body = text.split_once('\n').unwrap().1;
    let forge = |body: &str| {
        let head = format!("{}\n{body}", blake3::hash(body.as_bytes()).to_hex());
        fs::write(fixture.path().join("head"), head).unwrap();
        fixture.atlas().snapshot().and_then(|snapshot| answer(&snapshot))
    };
    let (terms, phrases) = (&first.head().files["terms"], &first.head().files["phrases"]);
    let swapped = body
        .replace(terms, "x")
        .replace(phrases, terms)
        .replace("\"x\"", &format!("\"{phrases}\""));
    let other_library = body.replace(&first.head().library.digest, &"0".repeat(64));
    let outside = body.replace(terms, "../../../../etc/passwd");
    for (what, body) in [("another library", other_library), ("outside", outside)] {
        let error = forge(&body).unwrap_err();
        assert!(matches!(error, SnapshotError::Damaged { .. }), "{what}: {error}");
    }
    // Words where pairs of words should be: no panic, and no wrong skill without a word.
    let _ = forge(&swapped);
    let later = body.replace("\"format\": 7", "\"format\": 8");
    let error = forge(&later).unwrap_err();
    assert!(!error.heals() && error.to_string().contains("format 8"), "{error}");
    assert!(Path::new(&fixture.path()).is_dir());
}
