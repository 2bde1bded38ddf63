//! What does a generation know of each skill?
//!
//! A file of [`Sections`], read a row at a time: what a request does not touch is not even mapped
//! into memory. Documents are packed, some hundred kilobytes together, because they are read
//! seldom and are most of the bytes; pages, which every route reads, a few together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::packed::{Packed, PackedParts, Place};
use crate::library::Library;
use crate::neighborhood::Neighborhoods;
use crate::page::write::PageRow;
use crate::sections::{Draft, FileError, Format, Sections, Texts};
use crate::skill::{
    Fields, Invocation, Origin, Skill, SkillId, SkillIdx, find_id, first_not, only,
};
use crate::store::Blob;

const FORMAT: Format = Format { magic: *b"FPSKILLS", version: 2, kind: "file of skills" };

/// Bytes of documents that are packed together.
const DOCUMENTS: usize = 256 << 10;

/// Bytes of pages that are packed together: half of what they are, and unpacked in a blink.
const PAGES: usize = 6 << 10;

/// The parts of the file, in their order.
#[derive(Clone, Copy)]
enum Part {
    Meta,
    /// Four texts a skill: id, name, description, file.
    Ends,
    Texts,
    /// Of each document, 32 bytes.
    Digests,
    /// Where a skill stands in a file that holds many; zero where it is a file of its own.
    Lines,
    Neighborhoods,
    /// Hashes of the names, ascending, and the row of each.
    NameHashes,
    NameRows,
    /// The chunk of each document, and its place there.
    DocumentPlaces,
    DocumentEnds,
    Documents,
    /// The same of its page.
    PagePlaces,
    PageEnds,
    Pages,
}

const PARTS: usize = Part::Pages as usize + 1;
const TEXTS: usize = 4;

#[derive(Serialize, Deserialize)]
struct Meta {
    skills: usize,
    /// What it was made from.
    key: String,
}

/// What is packed of a skill.
#[derive(Serialize, Deserialize)]
struct Document {
    content: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    fields: Fields,
    #[serde(default)]
    invocation: Invocation,
}

impl Document {
    fn of(skill: &Skill) -> Self {
        let Skill { content, fields, invocation, .. } = skill;
        Self { content: content.clone(), fields: fields.clone(), invocation: *invocation }
    }
}

/// The skills of one generation, with their pages, neighborhoods and documents.
#[derive(Debug)]
pub(crate) struct Skills {
    file: Sections,
    count: usize,
}

/// A skill, as a generation knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillRow<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// The file that it was read from.
    pub path: &'a str,
    /// Its line there, for files that hold many.
    pub line: Option<u64>,
}

impl Skills {
    /// The bytes of a file of these.
    pub(crate) fn to_bytes(
        library: &Library,
        neighborhoods: &Neighborhoods,
        pages: &[PageRow],
        key: &str,
    ) -> Vec<u8> {
        let skills = library.skills();
        let meta = Meta { skills: skills.len(), key: key.to_owned() };
        let meta = serde_json::to_vec(&meta).expect("plain data");
        let texts = Texts::of(skills.iter().flat_map(|skill| {
            let file = skill.origin.file.to_string_lossy().into_owned();
            let text = |text: &str| text.as_bytes().to_vec();
            [text(skill.id.as_str()), text(&skill.name), text(&skill.description), file.into()]
        }));
        let mut names: Vec<(u64, u32)> =
            (0..).zip(skills).map(|(row, skill)| (xxh3_64(skill.name.as_bytes()), row)).collect();
        names.sort_unstable();
        let documents = Packed::of(skills, DOCUMENTS, Document::of);
        let pages = Packed::of(pages, PAGES, PageRow::clone);
        let n = skills.len();
        let mut sizes = [0; PARTS];
        for (part, size) in [
            (Part::Meta, meta.len()),
            (Part::Ends, texts.ends.len() * 8),
            (Part::Texts, texts.text.len()),
            (Part::Digests, n * 32),
            (Part::Lines, n * 8),
            (Part::Neighborhoods, n * 4),
            (Part::NameHashes, n * 8),
            (Part::NameRows, n * 4),
            (Part::DocumentPlaces, n * size_of::<Place>()),
            (Part::DocumentEnds, documents.chunks.ends.len() * 8),
            (Part::Documents, documents.chunks.text.len()),
            (Part::PagePlaces, n * size_of::<Place>()),
            (Part::PageEnds, pages.chunks.ends.len() * 8),
            (Part::Pages, pages.chunks.text.len()),
        ] {
            sizes[part as usize] = size;
        }
        let mut draft = Draft::new(&sizes);
        draft.part::<u8>(Part::Meta as usize).copy_from_slice(&meta);
        draft.fill(Part::Ends as usize, texts.ends);
        draft.part::<u8>(Part::Texts as usize).copy_from_slice(&texts.text);
        draft.fill(Part::Digests as usize, skills.iter().map(|skill| *skill.digest().as_bytes()));
        draft.fill(Part::Lines as usize, skills.iter().map(|s| s.origin.line.unwrap_or(0)));
        let of = |row: u32| neighborhoods.of(SkillIdx(row)).0;
        draft.fill(Part::Neighborhoods as usize, (0..n as u32).map(of));
        draft.fill(Part::NameHashes as usize, names.iter().map(|(hash, _)| *hash));
        draft.fill(Part::NameRows as usize, names.iter().map(|(_, row)| *row));
        DOCUMENT.fill(&mut draft, documents);
        PAGE.fill(&mut draft, pages);
        draft.finish(&FORMAT).bytes().to_vec()
    }

    /// Takes bytes that [`Skills::to_bytes`] gave for the same key.
    pub(crate) fn open(blob: Blob, key: &str) -> Result<Self, FileError> {
        let file = Sections::open(blob, &FORMAT, PARTS)?;
        let damaged = |what| FileError::Damaged { what };
        let length = file.len::<u8>(Part::Meta as usize);
        let meta: Meta = serde_json::from_slice(file.slice(Part::Meta as usize, 0..length))
            .map_err(|_| damaged("its description"))?;
        if meta.key != key {
            return Err(damaged("it is of another generation"));
        }
        let n = meta.skills;
        let sizes = [
            (Part::Ends, TEXTS * 8),
            (Part::Digests, 32),
            (Part::Lines, 8),
            (Part::Neighborhoods, 4),
            (Part::NameHashes, 8),
            (Part::NameRows, 4),
            (Part::DocumentPlaces, size_of::<Place>()),
            (Part::PagePlaces, size_of::<Place>()),
        ];
        let fits = |&(part, size): &(Part, usize)| {
            n.checked_mul(size) == Some(file.len::<u8>(part as usize))
        };
        if !sizes.iter().all(fits) {
            return Err(damaged("its table of sections"));
        }
        Ok(Self { file, count: n })
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Was everything sound that was read so far?
    pub(crate) fn sound(&self) -> Result<(), FileError> {
        self.file.sound()
    }

    /// Is all of it sound?
    pub(crate) fn check(&self) -> Result<(), FileError> {
        self.file.check_all()
    }

    pub(crate) fn row(&self, skill: SkillIdx) -> SkillRow<'_> {
        let line = self.file.get::<u64>(Part::Lines as usize, skill.row());
        SkillRow {
            id: self.id(skill),
            name: self.text(skill, 1),
            description: self.text(skill, 2),
            path: self.text(skill, 3),
            line: (line > 0).then_some(line),
        }
    }

    pub(crate) fn id(&self, skill: SkillIdx) -> &str {
        self.text(skill, 0)
    }

    fn text(&self, skill: SkillIdx, which: usize) -> &str {
        let at = skill.row() * TEXTS + which;
        self.file.text_of(Part::Ends as usize, Part::Texts as usize, at)
    }

    /// Digest of a skill's document, as people see it.
    pub(crate) fn digest(&self, skill: SkillIdx) -> String {
        let bytes: [u8; 32] = self.file.get(Part::Digests as usize, skill.row());
        blake3::Hash::from_bytes(bytes).to_hex().to_string()
    }

    /// The row of a skill's page.
    pub(crate) fn page(&self, skill: SkillIdx) -> Result<PageRow, FileError> {
        PAGE.one(&self.file, skill.row())
    }

    /// The rows of all pages.
    pub(crate) fn pages(&self) -> Result<Vec<PageRow>, FileError> {
        PAGE.all(&self.file)
    }

    /// The skill of that id; or, if no id matches, of that name when only one has it.
    pub(crate) fn find(&self, id_or_name: &str) -> Option<SkillIdx> {
        self.find_id(id_or_name).or_else(|| self.find_name(id_or_name))
    }

    /// The skill of that id.
    pub(crate) fn find_id(&self, id: &str) -> Option<SkillIdx> {
        find_id(self.count, |row| self.id(row), id)
    }

    fn find_name(&self, name: &str) -> Option<SkillIdx> {
        let hash = xxh3_64(name.as_bytes());
        let hash_at = |at: usize| self.file.get::<u64>(Part::NameHashes as usize, at);
        let from = first_not(self.count, |at| hash_at(at) < hash);
        let named = (from..self.count)
            .take_while(|&at| hash_at(at) == hash)
            .map(|at| SkillIdx(self.file.get(Part::NameRows as usize, at)))
            .filter(|&row| row.row() < self.count && self.text(row, 1) == name);
        only(named)
    }

    /// The number of a skill's neighborhood.
    pub(crate) fn neighborhood(&self, skill: SkillIdx) -> u32 {
        self.file.get(Part::Neighborhoods as usize, skill.row())
    }

    /// All neighborhoods.
    pub(crate) fn neighborhoods(&self) -> Neighborhoods {
        let mut groups: BTreeMap<u32, Vec<SkillIdx>> = BTreeMap::new();
        for row in (0..self.count as u32).map(SkillIdx) {
            groups.entry(self.neighborhood(row)).or_default().push(row);
        }
        Neighborhoods::new(groups.into_values().collect())
    }

    /// A skill with its document.
    pub(crate) fn skill(&self, skill: SkillIdx) -> Result<Skill, FileError> {
        Ok(self.assemble(skill, DOCUMENT.one(&self.file, skill.row())?))
    }

    /// All skills with their documents: the library as it was when it was compiled.
    pub(crate) fn library(&self) -> Result<Library, FileError> {
        let documents: Vec<Document> = DOCUMENT.all(&self.file)?;
        let rows = (0..).map(SkillIdx).zip(documents);
        let skills = rows.map(|(skill, document)| self.assemble(skill, document)).collect();
        self.sound()?;
        Ok(Library::from_skills(skills).value)
    }

    fn assemble(&self, skill: SkillIdx, document: Document) -> Skill {
        let Document { content, fields, invocation } = document;
        let SkillRow { id, name, description, path, line } = self.row(skill);
        Skill {
            id: SkillId::new(id),
            name: name.to_owned(),
            description: description.to_owned(),
            content,
            fields,
            invocation,
            origin: Origin { file: PathBuf::from(path), line },
        }
    }
}

const DOCUMENT: PackedParts = PackedParts {
    places: Part::DocumentPlaces as usize,
    ends: Part::DocumentEnds as usize,
    chunks: Part::Documents as usize,
};

const PAGE: PackedParts = PackedParts {
    places: Part::PagePlaces as usize,
    ends: Part::PageEnds as usize,
    chunks: Part::Pages as usize,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Status;
    use crate::page::name::tests::skill;

    fn file(key: &str) -> (Library, Vec<u8>) {
        let long = "Line\n".repeat(100_000);
        let skills = vec![
            skill("a/x", "x", "First.", &long),
            skill("b/x", "x", "Second.", "Short \u{2028} text."),
            skill("c", "a/x", "Third.", &long),
        ];
        let library = Library::from_skills(skills).value;
        let rows: Vec<PageRow> = library
            .skills()
            .iter()
            .map(|skill| PageRow {
                skill: skill.id.clone(),
                document: skill.digest().to_hex().to_string(),
                key: "k".into(),
                status: Status::Fallback,
                page: None,
                writer: "local".into(),
                findings: vec![],
                score: 0.5,
            })
            .collect();
        let groups = Neighborhoods::new(vec![vec![SkillIdx(0), SkillIdx(2)], vec![SkillIdx(1)]]);
        let bytes = Skills::to_bytes(&library, &groups, &rows, key);
        (library, bytes)
    }

    #[test]
    fn what_was_compiled_is_read_back() {
        let (library, bytes) = file("g1");
        let skills = Skills::open(Blob::of(&bytes), "g1").unwrap();
        assert_eq!(skills.library().unwrap().digest(), library.digest());
        assert_eq!(skills.skill(SkillIdx(1)).unwrap().content, "Short \u{2028} text.");
        assert_eq!(skills.find("b/x"), Some(SkillIdx(1)));
        assert_eq!(skills.find("a/x"), Some(SkillIdx(0)), "an id comes before a name");
        assert_eq!(skills.find("x"), None, "two have that name");
        assert_eq!(skills.find("d"), None);
        assert_eq!(skills.page(SkillIdx(2)).unwrap().skill.as_str(), "c");
        assert_eq!(skills.neighborhoods().members(skills.neighborhoods().of(SkillIdx(0))).len(), 2);
        assert_eq!(skills.digest(SkillIdx(0)), library.skills()[0].digest().to_hex().to_string());
        assert!(skills.sound().is_ok() && skills.check().is_ok());
        assert!(Skills::open(Blob::of(&bytes), "g2").is_err(), "another generation");
        assert!(bytes.len() < 20_000, "documents are packed: {}", bytes.len());
    }

    #[test]
    fn a_flipped_bit_shows_and_nothing_panics() {
        let (_, bytes) = file("g");
        for at in (0..bytes.len()).step_by(37) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let Ok(skills) = Skills::open(Blob::of(&damaged), "g") else { continue };
            let library = skills.library();
            let pages: Vec<_> = (0..3).map(|row| skills.page(SkillIdx(row))).collect();
            let _ = (skills.find("x"), skills.neighborhoods());
            if skills.sound().is_ok() {
                assert!(library.is_ok() && pages.iter().all(Result::is_ok), "at {at}");
            }
        }
    }
}
