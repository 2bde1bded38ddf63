//! Is the index on disk the one that would be built, and never a damaged or outdated one?

use std::fs;
use std::path::{Path, PathBuf};

use fingerpost::atlas::{Atlas, Opened, Provenance};
use fingerpost::diagnostic::Diagnostic;
use fingerpost::index::{IndexError, Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::library::{LoadOptions, Root};
use tempfile::TempDir;

/// A small library and an atlas, gone after the test.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        fixture.write("bazett", "Corrects the QT interval by the square root of RR");
        fixture.write("rautaharju", "Corrects the QT interval by 120 plus heart rate");
        fixture
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("library")
    }

    fn write(&self, name: &str, description: &str) {
        let folder = self.library().join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nThe rule.\n");
        fs::write(folder.join("SKILL.md"), text).unwrap();
    }

    fn atlas(&self) -> PathBuf {
        self.folder.path().join("atlas")
    }

    fn open(&self) -> (Opened, Vec<Diagnostic>) {
        let roots = [Root::new(self.library())];
        let config = SparseConfig::default();
        let opened =
            Atlas::at(self.atlas()).sparse_index(&roots, LoadOptions::default(), &config).unwrap();
        (opened.value, opened.diagnostics)
    }
}

fn search(opened: &Opened, query: &str) -> Vec<String> {
    let index = &opened.index;
    let hits = index.search(query, 10, Zeros::Dropped, &mut Scratch::default()).unwrap();
    hits.iter().map(|hit| format!("{} {:.3}", index.id(hit.skill), hit.score)).collect()
}

#[test]
fn the_second_time_it_is_opened_and_answers_the_same() {
    let fixture = Fixture::new();
    let (first, _) = fixture.open();
    assert_eq!(first.provenance, Provenance::Built);
    let (second, _) = fixture.open();
    assert_eq!(second.provenance, Provenance::Opened);
    assert_eq!(first.index.bytes(), second.index.bytes());
    let query = "heart rate and 120";
    assert_eq!(search(&first, query), search(&second, query));
    assert!(search(&second, query)[0].starts_with("rautaharju"));
}

#[test]
fn a_changed_library_gets_a_new_index() {
    let fixture = Fixture::new();
    fixture.open();
    fixture.write("hodges", "Corrects the QT interval by adding 1.75 ms a beat");
    let (opened, _) = fixture.open();
    assert_eq!(opened.provenance, Provenance::Built);
    assert_eq!(opened.index.len(), 3);
    fs::remove_dir_all(fixture.library().join("hodges")).unwrap();
    // The library is the first one again, and its index is still there.
    let (opened, _) = fixture.open();
    assert_eq!((opened.provenance, opened.index.len()), (Provenance::Opened, 2));
}

#[test]
fn other_settings_have_a_file_of_their_own() {
    let fixture = Fixture::new();
    let (bm25, _) = fixture.open();
    let config = SparseConfig { model: SparseModel::Tfidf, ..SparseConfig::default() };
    let roots = [Root::new(fixture.library())];
    let tfidf = Atlas::at(fixture.atlas())
        .sparse_index(&roots, LoadOptions::default(), &config)
        .unwrap()
        .value;
    assert_ne!(bm25.file, tfidf.file);
    assert_eq!(tfidf.index.config().model, SparseModel::Tfidf);
}

/// Damages every byte of the file in turn (and every possible length of it): each time the damage
/// must be found, either when the file is opened or when the damaged postings are first used.
#[test]
fn no_damage_goes_unnoticed() {
    let fixture = Fixture::new();
    let (opened, _) = fixture.open();
    let sound = opened.index.bytes().to_vec();
    let query = "corrects the qt interval by square root of rr 120 plus heart rate rule";
    let expected = search(&opened, query);
    let copy = fixture.folder.path().join("copy");
    let open = |bytes: &[u8]| -> Result<SparseIndex, IndexError> {
        // A new file each time: a mapped one must not change.
        let _ = fs::remove_file(&copy);
        fs::write(&copy, bytes).unwrap();
        let file = fs::File::open(&copy).unwrap();
        // SAFETY: nobody else knows of this file.
        SparseIndex::open(unsafe { memmap2::Mmap::map(&file) }.unwrap())
    };
    let mut padding = 0;
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        let noticed = open(&bytes).and_then(|index| {
            index.search(query, 10, Zeros::Dropped, &mut Scratch::default()).map(|hits| {
                let shown = hits
                    .iter()
                    .map(|hit| format!("{} {:.3}", index.id(hit.skill), hit.score))
                    .collect::<Vec<_>>();
                assert_eq!(shown, expected, "byte {at} changed the answer unnoticed");
                padding += 1;
            })
        });
        assert!(noticed.is_ok() || !noticed.unwrap_err().to_string().is_empty());
    }
    // What may go unnoticed is only what nobody reads: the gaps between sections.
    assert!(padding < 64 * 11, "{padding} bytes are covered by no checksum");
    for length in (0..sound.len()).step_by(7) {
        if length > 0 {
            assert!(open(&sound[..length]).is_err(), "cut to {length} bytes");
        }
    }
}

#[test]
fn a_damaged_or_older_file_is_named_and_rebuilt() {
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let fixture = Fixture::new();
    let file = fixture.open().0.file.unwrap();
    let replace = |file: &Path, change: Change<'_>| {
        let mut bytes = fs::read(file).unwrap();
        change(&mut bytes);
        fs::remove_file(file).unwrap();
        fs::write(file, bytes).unwrap();
    };
    let changes: [(Change<'_>, &str); 3] = [
        (&|bytes| bytes[8] = 0, "has format 0"),
        (&|bytes| bytes.truncate(500), "is 500 bytes long"),
        (
            &|bytes| *bytes = b"something else altogether, but long enough".to_vec(),
            "no sparse index",
        ),
    ];
    for (change, reason) in changes {
        replace(&file, change);
        let (opened, diagnostics) = fixture.open();
        let Provenance::Rebuilt(why) = &opened.provenance else {
            panic!("{:?}", opened.provenance)
        };
        assert!(why.contains(reason), "{why}");
        assert_eq!((diagnostics.len(), diagnostics[0].file.as_path()), (1, file.as_path()));
        assert_eq!(opened.index.len(), 2);
        assert_eq!(fixture.open().0.provenance, Provenance::Opened);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_searched_from_memory() {
    let fixture = Fixture::new();
    // A file where the folder should be fails for every user, root included.
    fs::write(fixture.atlas(), "in the way").unwrap();
    let (opened, diagnostics) = fixture.open();
    assert_eq!((opened.file, opened.index.len()), (None, 2));
    assert_eq!(diagnostics[0].rule, "atlas-not-written");
    assert!(diagnostics[0].hint.contains("--atlas"));
}

#[test]
fn two_processes_may_build_at_once() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        let builders: Vec<_> =
            (0..4).map(|_| scope.spawn(|| fixture.open().0.index.len())).collect();
        assert!(builders.into_iter().all(|builder| builder.join().unwrap() == 2));
    });
    let left: Vec<_> = fs::read_dir(fixture.atlas().join("index")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left behind");
}
