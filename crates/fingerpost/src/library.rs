//! Which skills were we given?
//!
//! A library is loaded from one or more roots: a tree of SKILL.md folders, a file of records
//! (JSON Lines or JSON, plain, .gz or .zst) or the folder of a benchmark. Loading never fails for a
//! broken skill: what cannot be read becomes a diagnostic and the rest loads. Skills are kept in
//! the order of their ids, whatever the order of the disk.
//!
//! What strangers wrote is bounded here, for all who come after: an id has at most 512 bytes, a
//! name at most 256 characters, a document at most 8 MiB; a longer id or name is cut, a larger
//! document left out, and a finding says so. Files are bounded in what they unpack to, trees in the
//! number of their entries, and a document that several paths lead to is one skill.

mod bounds;
mod discover;
mod document;
mod folder;
mod packed;
mod records;
mod source;
mod stamp;
mod tree;
mod walk;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

pub use discover::{Surroundings, discover};
pub use folder::find_file;
pub(crate) use folder::{Text, read_texts, stem};
pub use packed::read_unpacked;
pub use stamp::stamp;

use self::source::Files;
use self::walk::FirstPaths;
use crate::diagnostic::{Diagnostic, Severity, Warned};
use crate::skill::{Invocation, Skill, SkillId, SkillIdx, find_id, only};

/// A place to load skills from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// A folder or a file.
    pub path: PathBuf,
    /// How the files below it are laid out.
    pub layout: Layout,
    /// Put before each id, as agents do for skills of plugins (`plugin:skill`).
    pub prefix: Option<String>,
    /// Found by [`discover()`]: then two skills of one name are one skill to the agent, and the
    /// nearer root wins.
    pub discovered: bool,
}

impl Root {
    /// A root as a user names it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), layout: Layout::Detect, prefix: None, discovered: false }
    }
}

/// How the files of a root are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// By what is there: a file of records; a folder with `corpus.jsonl` or `corpus.json`, or with
    /// `corpus/corpus.json` beside `instances`; a SKILL.md tree; or a folder with `skills.jsonl`.
    Detect,
    /// Markdown files that are commands, as in `.claude/commands`.
    Commands,
}

/// Which of the skills found belong to the library?
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions {
    /// Keep skills that their authors reserve for explicit use.
    pub include_manual: bool,
}

/// The skills we were given, in the order of their ids.
#[derive(Debug, Default)]
pub struct Library {
    skills: Vec<Skill>,
    withheld: Vec<Skill>,
}

/// Why nothing at all could be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A root named by the user is missing or unreadable.
    #[error("cannot read library {}", path.display())]
    Root {
        /// The root as named.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file named by the user holds no skills, nor records that could be some.
    #[error("{} holds no skills: {IS_A_LIBRARY}", path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
    },
}

/// What to name instead of what holds nothing.
const IS_A_LIBRARY: &str = "a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)";

impl Library {
    /// Loads every root, in the order given: where two skills share an id, the earlier root wins.
    pub fn load(roots: &[Root], options: LoadOptions) -> Result<Warned<Library>, LoadError> {
        let mut found = Findings::default();
        let mut seen = FirstPaths::default();
        let mut loaded = Vec::new();
        for root in roots {
            match read_root(root, &mut seen, &mut found) {
                Ok(skills) => loaded.push((root.names(), skills)),
                // Nobody asked for this one, so it must not keep the others from loading.
                Err(error) if root.discovered => {
                    let message = match error {
                        LoadError::Root { source, .. } => format!("cannot be read: {source}"),
                        foreign @ LoadError::NotALibrary { .. } => foreign.to_string(),
                    };
                    let finding = Diagnostic::warning("unreadable", &root.path, message)
                        .hint("check its permissions; agents that look here find nothing either");
                    found.push(finding);
                }
                Err(error) => return Err(error),
            }
        }
        let skills = loaded
            .into_iter()
            .flat_map(|(names, skills)| skills.into_iter().map(move |skill| (names, skill)));
        let skills = resolve(skills, &mut found);
        let (skills, withheld) = skills.into_iter().partition(|skill: &Skill| {
            options.include_manual || skill.invocation == Invocation::Automatic
        });
        let mut library = Library { skills, withheld };
        library.skills.shrink_to_fit();
        Ok(Warned { value: library, diagnostics: found.into_sorted() })
    }

    /// A library of skills made in memory; the same rule for equal ids as [`Library::load`].
    pub fn from_skills(skills: Vec<Skill>) -> Warned<Library> {
        let mut found = Findings::default();
        let skills = skills.into_iter().map(|skill| (Names::MayRepeat, skill));
        let skills = resolve(skills, &mut found);
        Warned { value: Library { skills, withheld: Vec::new() }, diagnostics: found.into_sorted() }
    }

    /// The skills, in the order of their ids: row `i` is [`SkillIdx`] `i`.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// Skills found but kept out, because their authors reserve them for explicit use.
    pub fn withheld(&self) -> &[Skill] {
        &self.withheld
    }

    /// The skill of that id; or, if no id matches, of that name when only one has it.
    pub fn find(&self, id_or_name: &str) -> Option<SkillIdx> {
        let id = |row: SkillIdx| self.skills[row.row()].id.as_str();
        let named = || (0..).map(SkillIdx).zip(&self.skills).filter(|(_, s)| s.name == id_or_name);
        find_id(self.skills.len(), id, id_or_name).or_else(|| only(named().map(|(row, _)| row)))
    }

    /// What a reference is shown as: the skill's name, or its id if the library has it no more.
    pub fn name_of(&self, id: &SkillId) -> String {
        let found = self.find(id.as_str()).map(|skill| &self.skills[skill.row()]);
        found.map_or_else(|| id.to_string(), |skill| skill.name.clone())
    }

    /// Digest of every id and document: two libraries that share it are the same library.
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for skill in &self.skills {
            hasher.update(&(skill.id.as_str().len() as u64).to_le_bytes());
            hasher.update(skill.id.as_str().as_bytes());
            hasher.update(skill.digest().as_bytes());
        }
        hasher.finalize()
    }
}

/// Reads one root; fails only if the root itself cannot be read, or is a file of something else.
fn read_root(
    root: &Root,
    seen: &mut FirstPaths,
    found: &mut Findings,
) -> Result<Vec<Skill>, LoadError> {
    let failed = |source| LoadError::Root { path: root.path.clone(), source };
    let (mut skills, repeated) = match source::files(root, seen, found).map_err(failed)? {
        Files::Records(file) => {
            let read = records::read(&file, found).map_err(failed)?;
            if read.is_foreign {
                return Err(LoadError::NotALibrary { path: file });
            }
            (read.skills, 0)
        }
        Files::Documents { paths, repeated } => (tree::read(root, paths, found), repeated),
    };
    // Agents make their folders before there is a skill to put in them.
    if skills.is_empty() && repeated == 0 && !root.discovered {
        let finding = Diagnostic::warning("no-skills", &root.path, "no skill found here");
        found.push(match source::zipped_corpus(&root.path) {
            Some(zip) => finding.hint(format!("unpack {} where it lies", zip.display())),
            None => finding.hint(IS_A_LIBRARY),
        });
    }
    if let Some(prefix) = &root.prefix {
        for skill in &mut skills {
            let id = format!("{prefix}:{}", skill.id);
            let (id, cut) = bounds::id(id, &skill.origin.file);
            cut.into_iter().for_each(|cut| found.push(cut));
            skill.id = SkillId::new(id);
        }
    }
    Ok(skills)
}

/// What do two skills of one name mean in a root?
#[derive(Clone, Copy)]
enum Names<'a> {
    /// Two skills, told apart by their ids.
    MayRepeat,
    /// One skill, as agents see it; those of a plugin carry its name and hide no others.
    AreUnique { plugin: Option<&'a str> },
}

impl Root {
    fn names(&self) -> Names<'_> {
        if self.discovered {
            Names::AreUnique { plugin: self.prefix.as_deref() }
        } else {
            Names::MayRepeat
        }
    }
}

/// Sorts by id and drops every skill that another one hides, saying which.
fn resolve<'a>(
    skills: impl Iterator<Item = (Names<'a>, Skill)>,
    found: &mut Findings,
) -> Vec<Skill> {
    // Roots come in the order of their precedence, so the first of an id is the one to keep.
    let mut kept: BTreeMap<SkillId, Skill> = BTreeMap::new();
    let mut named: BTreeMap<(Option<&str>, String), SkillId> = BTreeMap::new();
    for (names, skill) in skills {
        let (unique, plugin) = match names {
            Names::MayRepeat => (false, None),
            Names::AreUnique { plugin } => (true, plugin),
        };
        let name = (plugin, skill.name.clone());
        let of_name = named.get(&name);
        let hidden_by =
            kept.get(&skill.id).or_else(|| of_name.filter(|_| unique).and_then(|id| kept.get(id)));
        if let Some(winner) = hidden_by {
            found.push(shadowed(&skill, winner));
            continue;
        }
        if let Some(other) = of_name {
            let mut finding = Diagnostic::warning(
                "duplicate-name",
                &skill.origin.file,
                format!("skill '{}' has the name '{}' of skill '{other}'", skill.id, skill.name),
            )
            .skill(skill.id.as_str())
            .hint("give each skill a name of its own: agents and people ask for skills by name");
            finding.line = skill.origin.line;
            found.push(finding);
        } else {
            named.insert(name, skill.id.clone());
        }
        kept.insert(skill.id.clone(), skill);
    }
    kept.into_values().collect()
}

fn shadowed(skill: &Skill, winner: &Skill) -> Diagnostic {
    let same = skill.digest() == winner.digest();
    let (rule, what) = if skill.id == winner.id && skill.origin.file == winner.origin.file {
        ("duplicate-id", "repeats the id of")
    } else {
        ("shadowed", "is hidden by")
    };
    let copy = if same { ", an identical copy" } else { "" };
    let message = format!("skill '{}' {what} {}{copy}", skill.id, winner.origin);
    // Losing an identical copy loses nothing.
    let build = if same { Diagnostic::note } else { Diagnostic::error };
    let mut finding = build(rule, &skill.origin.file, message)
        .skill(skill.id.as_str())
        .hint("rename or remove one of the two; until then the other one is used");
    finding.line = skill.origin.line;
    finding
}

/// How many findings of one rule are kept: a file with a million broken lines is told in a
/// thousand, and counted.
const KEPT_PER_RULE: usize = 1000;

/// Findings collected while loading.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Diagnostic>,
    per_rule: BTreeMap<(&'static str, Severity), usize>,
}

impl Findings {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let count = self.per_rule.entry((diagnostic.rule, diagnostic.severity)).or_default();
        *count += 1;
        if *count <= KEPT_PER_RULE {
            self.kept.push(diagnostic);
        }
    }

    fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.kept.sort();
        for ((rule, severity), count) in self.per_rule {
            if count > KEPT_PER_RULE {
                let last = self.kept.iter().rfind(|found| found.rule == rule);
                let file = last.map_or(PathBuf::new(), |found| found.file.clone());
                let more = count - KEPT_PER_RULE;
                let mut finding =
                    Diagnostic::note(rule, &file, format!("and {more} more findings of this rule"))
                        .hint("mend the ones listed, then load again");
                finding.severity = severity;
                self.kept.push(finding);
            }
        }
        self.kept
    }
}
