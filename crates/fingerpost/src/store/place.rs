//! Where is the atlas of a library?
//!
//! In `.fingerpost` inside it, if it is one folder that somebody named and may write to. Else (skills
//! that were discovered, several roots, single files, folders of others) in the user's own folders,
//! by where the library is: what can be made again in the cache, what is kept among the data. Never
//! in the working folder, unless that is the library.
//!
//! Skills that are seen in two ways, named and discovered, share what is kept of them: each place
//! knows its relatives.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Folder, Log, log};
use crate::kept::Relative;
use crate::library::{Library, Root};

/// Where an atlas in a library's own folder is.
pub const INSIDE: &str = ".fingerpost";

/// The user's own folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserFolders {
    /// For what can be made again.
    pub cache: Option<PathBuf>,
    /// For what is kept.
    pub data: Option<PathBuf>,
}

impl UserFolders {
    /// Those of this process: `XDG_CACHE_HOME` and `XDG_DATA_HOME`, else below the home folder;
    /// `LOCALAPPDATA` where that is how it is done. Relative ones do not count.
    pub fn of_process() -> Self {
        let variable = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let home = || std::env::home_dir().filter(|home| home.is_absolute());
        let local = if cfg!(windows) { variable("LOCALAPPDATA") } else { None };
        let or_home = |name: &str, below: &str| {
            variable(name).or_else(|| local.clone()).or_else(|| home().map(|home| home.join(below)))
        };
        Self {
            cache: or_home("XDG_CACHE_HOME", ".cache").map(|path| path.join("fingerpost")),
            data: or_home("XDG_DATA_HOME", ".local/share").map(|path| path.join("fingerpost")),
        }
    }
}

/// Where the atlas of a library is kept, and where else something of its skills may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What can be made again.
    pub made: PathBuf,
    /// What is kept.
    pub kept: PathBuf,
    /// A folder that may hold a compiled state too, though nobody may write there.
    pub also: Option<PathBuf>,
    /// Is it one of the user's own folders, which nobody else fills?
    pub is_own: bool,
    /// The library's roots, in full.
    pub roots: Vec<String>,
}

/// Why there is no place for an atlas.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no folder for the atlas of {library}: it may not be written to, and there is no home folder"
)]
pub struct NoPlace {
    /// Of which library.
    pub library: String,
}

/// What a library's place says of it, for those who look for relatives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Card {
    roots: Vec<String>,
    /// Some of its skills' ids, in order, to know it again after it moved.
    skills: Vec<String>,
}

/// Ids on a card at most.
const ON_CARD: usize = 200;

const CARD: &str = "library.json";

impl Place {
    /// The folder that somebody named for it.
    pub fn named(folder: &Path, roots: &[Root]) -> Self {
        let (made, kept) = (folder.to_path_buf(), folder.join("kept"));
        Self { made, kept, also: None, is_own: false, roots: full(roots) }
    }

    /// The place of a library by default.
    pub fn of(roots: &[Root], users: &UserFolders) -> Result<Self, NoPlace> {
        let full = full(roots);
        let inside = match roots {
            [Root { path, discovered: false, .. }] if path.is_dir() => Some(path.join(INSIDE)),
            _ => None,
        };
        if let Some(inside) = inside.as_ref().filter(|inside| may_write(inside)) {
            return Ok(Self::named(inside, roots));
        }
        let (Some(cache), Some(data)) = (&users.cache, &users.data) else {
            return Err(NoPlace { library: full.join(", ") });
        };
        let name = name(&full);
        Ok(Self {
            made: cache.join(&name),
            kept: data.join(&name).join("kept"),
            also: inside.filter(|inside| !inside.is_symlink() && inside.join("head").is_file()),
            is_own: true,
            roots: full,
        })
    }

    /// The store there.
    pub fn folder(&self) -> Folder {
        Folder::in_two(&self.made, &self.kept)
    }

    /// Says in the user's folders what is kept there, so that it is found again.
    pub fn leave_card(&self, library: &Library) {
        let Some(folder) = self.kept.parent().filter(|_| self.is_own) else { return };
        let skills = library.skills();
        let step = skills.len().div_ceil(ON_CARD).max(1);
        let skills = skills.iter().step_by(step).map(|skill| skill.id.to_string()).collect();
        let card = Card { roots: self.roots.clone(), skills };
        if read_card(folder) != Some(card.clone()) {
            let json = serde_json::to_vec_pretty(&card).expect("plain data");
            // Without it, what is kept is found by its place alone.
            let _ =
                fs::create_dir_all(folder).and_then(|()| log::replace(&folder.join(CARD), &json));
        }
    }

    /// A library that moved takes what is kept of it along: a folder of the user's whose roots are
    /// no more, and whose skills are those of this library, becomes this one's.
    pub fn follow(&self, library: &Library, users: &UserFolders) {
        let Some(folder) = self.kept.parent().filter(|folder| self.is_own && !folder.exists())
        else {
            return;
        };
        let ids: Vec<&str> = library.skills().iter().map(|skill| skill.id.as_str()).collect();
        let is_it = |card: &Card| {
            let shared = card.skills.iter().filter(|id| ids.binary_search(&id.as_str()).is_ok());
            !card.skills.is_empty()
                && shared.count() * 2 > card.skills.len()
                && card.roots.iter().all(|root| !Path::new(root).exists())
        };
        let mut moved: Vec<PathBuf> = cards(users)
            .into_iter()
            .filter(|(_, card)| is_it(card))
            .map(|(path, _)| path)
            .collect();
        moved.sort();
        if let [old] = &moved[..] {
            // If that fails, nothing is lost: it stays where it is.
            let _ = fs::rename(old, folder);
        }
    }

    /// Where else pages of its skills may be kept.
    pub fn relatives(&self, roots: &[Root], users: &UserFolders) -> Vec<Relative> {
        let mut relatives = Vec::new();
        for root in roots.iter().filter(|root| root.path.is_dir()) {
            let inside = root.path.join(INSIDE);
            if inside != self.made && inside.join("kept").is_dir() {
                let root = full_path(&root.path);
                relatives.push(Relative { store: Arc::new(Folder::at(inside)), root, whole: true });
            }
        }
        for (folder, card) in cards(users) {
            let kept = folder.join("kept");
            if kept == self.kept || !kept.is_dir() {
                continue;
            }
            for root in self.roots.iter().filter(|root| card.roots.contains(root)) {
                let store = Arc::new(Folder::in_two(&folder, &kept));
                relatives.push(Relative { store, root: root.clone(), whole: false });
            }
        }
        relatives
    }

    /// Were the answers in the ledger here paid for by whoever runs this? Somebody else's atlas may
    /// come with a repository.
    pub fn is_trusted(&self, users: &UserFolders) -> bool {
        if self.is_own {
            return true;
        }
        let owner = fs::read_to_string(self.kept.join(OWNER)).unwrap_or_default();
        let known = |data: &PathBuf| data.join(OWN).join(owner.trim()).is_file();
        is_token(owner.trim()) && users.data.as_ref().is_some_and(known)
    }

    /// Makes the ledger here one's own: a new one is whoever's it is that begins it.
    pub fn trust(&self, users: &UserFolders) {
        let (Some(data), false) = (&users.data, self.is_trusted(users)) else { return };
        let seed =
            format!("{:?} {} {:?}", std::time::SystemTime::now(), std::process::id(), self.kept);
        let token = blake3::hash(seed.as_bytes()).to_hex()[..32].to_owned();
        // Without it, answers are asked for again, which is the safe side.
        let _ = fs::create_dir_all(data.join(OWN))
            .and_then(|()| fs::write(data.join(OWN).join(&token), full_path(&self.kept)))
            .and_then(|()| fs::create_dir_all(&self.kept))
            .and_then(|()| log::replace(&self.kept.join(OWNER), token.as_bytes()));
    }

    /// Takes away the empty folders of a compilation that came to nothing.
    pub fn sweep(&self) {
        if ["head", "blobs"].iter().any(|name| self.made.join(name).exists())
            || self.keeps_anything()
        {
            return;
        }
        let claims = self.made.join("claims");
        for file in fs::read_dir(&claims).into_iter().flatten().flatten() {
            let _ = fs::remove_file(file.path());
        }
        let _ = fs::remove_dir(&claims);
        // Whatever else is there is not ours, and then the folder is not empty and stays.
        let left = fs::read_dir(&self.made).map_or(0, Iterator::count);
        if left == 1 && fs::remove_file(self.made.join(".gitignore")).is_ok() {
            let _ = fs::remove_dir(&self.made);
        }
    }

    /// Is there a ledger here?
    pub fn has_ledger(&self) -> bool {
        self.has(Log::Ledger)
    }

    /// Is anything kept here?
    pub fn keeps_anything(&self) -> bool {
        Log::ALL.into_iter().any(|log| self.has(log))
    }

    fn has(&self, log: Log) -> bool {
        ["log", "copy"].iter().any(|end| self.kept.join(format!("{}.{end}", log.name())).exists())
    }
}

/// The file that says whose a ledger is, and where the user remembers which are theirs.
const OWNER: &str = "owner";
const OWN: &str = "own";

fn is_token(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Can files be made in this folder, or it itself?
fn may_write(folder: &Path) -> bool {
    // A link in a stranger's repository could lead anywhere.
    if fs::symlink_metadata(folder).is_ok_and(|about| about.is_symlink()) {
        return false;
    }
    // Once there is an atlas, whoever may lock it may write it, and nothing needs to be tried.
    let lock = folder.join("lock");
    if fs::symlink_metadata(&lock).is_ok_and(|about| about.is_file()) {
        return fs::File::options().append(true).open(&lock).is_ok();
    }
    let parent = if folder.exists() { folder } else { folder.parent().unwrap_or(folder) };
    let probe = parent.join(format!("{INSIDE}-{}{}", std::process::id(), log::UNFINISHED));
    let written = fs::File::create(&probe);
    let _ = fs::remove_file(&probe);
    written.is_ok()
}

/// All places of the user's that say what they hold.
fn cards(users: &UserFolders) -> Vec<(PathBuf, Card)> {
    let Some(entries) = users.data.as_ref().and_then(|data| fs::read_dir(data).ok()) else {
        return Vec::new();
    };
    let mut cards: Vec<(PathBuf, Card)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), read_card(&entry.path())?)))
        .collect();
    cards.sort_by(|a, b| a.0.cmp(&b.0));
    cards
}

fn read_card(folder: &Path) -> Option<Card> {
    serde_json::from_slice(&fs::read(folder.join(CARD)).ok()?).ok()
}

/// The roots in full: a library is where it is, whatever it was called on the way there.
pub fn full(roots: &[Root]) -> Vec<String> {
    let mut full: Vec<String> = roots
        .iter()
        .map(|root| {
            let prefix = root.prefix.as_ref().map_or(String::new(), |prefix| format!("{prefix}:"));
            format!("{prefix}{}", full_path(&root.path))
        })
        .collect();
    full.dedup();
    full
}

/// A path in full, as far as it exists.
pub fn full_path(path: &Path) -> String {
    let full = path.canonicalize().or_else(|_| std::path::absolute(path));
    full.unwrap_or_else(|_| path.to_path_buf()).to_string_lossy().into_owned()
}

/// A folder's name for a library: one that people recognise, and no other library has.
fn name(roots: &[String]) -> String {
    let last = roots.first().and_then(|root| Path::new(root).file_name());
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let last: String = last.map_or_else(String::new, |name| {
        name.to_string_lossy().chars().map(plain).take(32).collect()
    });
    format!("{last}-{}", &blake3::hash(roots.join("\n").as_bytes()).to_hex()[..16])
}
