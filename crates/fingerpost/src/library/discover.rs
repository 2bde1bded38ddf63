//! Where do the agents on this machine look for skills?
//!
//! From the working folder up to the repository's root, then the user's own folders, then the
//! system's: nearest first, so that [`super::Library::load`] lets the nearest skill win.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use walkdir::{DirEntry, WalkDir};

use super::{Layout, Root, packed, walk};

/// Folders that agents read inside a project, relative to any folder from the working one up to
/// the repository's root. `.agents` is the one they share.
const PROJECT_FOLDERS: [&str; 14] = [
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".github/skills",
    ".gemini/skills",
    ".cursor/skills",
    ".opencode/skills",
    ".windsurf/skills",
    ".goose/skills",
    ".roo/skills",
    ".kiro/skills",
    ".qwen/skills",
    ".pi/skills",
    ".cline/skills",
];

/// The same below the user's home, where it differs from the project's.
const HOME_FOLDERS: [&str; 4] = [
    ".config/agents/skills",
    ".copilot/skills",
    ".config/opencode/skills",
    ".agents/skills/.system",
];

/// How deep below a folder nested project skills and plugins are searched.
const NESTED_DEPTH: usize = 6;

/// What discovery needs to know of its surroundings; passed in, so that tests can make their own.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The folder the agent would work in.
    pub working_folder: PathBuf,
    /// The user's home, if there is one.
    pub home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, which replaces `~/.claude`.
    pub claude_config: Option<PathBuf>,
    /// `CODEX_HOME`, which replaces `~/.codex`.
    pub codex_home: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process, seen from `working_folder`.
    pub fn of_process(working_folder: PathBuf) -> Self {
        let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        Self {
            working_folder,
            home: std::env::home_dir(),
            claude_config: variable("CLAUDE_CONFIG_DIR"),
            codex_home: variable("CODEX_HOME"),
        }
    }
}

/// The roots that exist, nearest first.
pub fn discover(around: &Surroundings) -> Vec<Root> {
    let mut roots = Roots::default();
    for folder in up_to_repository(&around.working_folder) {
        for name in PROJECT_FOLDERS {
            roots.skills(folder.join(name));
        }
        roots.commands(folder.join(".claude/commands"));
        roots.plugin_manifest(folder);
    }
    nested(&around.working_folder, &mut roots);
    let home = |below: &str| around.home.as_ref().map(|home| home.join(below));
    let claude = around.claude_config.clone().or_else(|| home(".claude"));
    let codex = around.codex_home.clone().or_else(|| home(".codex"));
    for name in PROJECT_FOLDERS.iter().chain(&HOME_FOLDERS) {
        // These two have moved where their variables say so.
        let folder = match *name {
            ".claude/skills" => claude.as_ref().map(|claude| claude.join("skills")),
            ".codex/skills" => codex.as_ref().map(|codex| codex.join("skills")),
            name => home(name),
        };
        folder.into_iter().for_each(|folder| roots.skills(folder));
    }
    if let Some(codex) = codex {
        roots.skills(codex.join("skills/.system"));
    }
    if let Some(claude) = claude {
        roots.commands(claude.join("commands"));
        plugins(&claude.join("plugins"), &mut roots);
    }
    if let Some(cursor) = home(".cursor/plugins/cache") {
        plugins(&cursor, &mut roots);
    }
    roots.skills(PathBuf::from("/etc/codex/skills"));
    roots.found
}

/// The working folder and those above it, up to the one that holds `.git`; without a repository,
/// the working folder alone.
fn up_to_repository(working_folder: &Path) -> Vec<&Path> {
    let above: Vec<&Path> = working_folder.ancestors().collect();
    let top = above.iter().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    above[..=top].to_vec()
}

/// Claude Code also reads `.claude/skills` of folders below the working one.
fn nested(working_folder: &Path, roots: &mut Roots) {
    let walk = WalkDir::new(working_folder)
        .max_depth(NESTED_DEPTH)
        .min_depth(1)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| {
            let name = entry.file_name().to_str().unwrap_or(".");
            entry.file_type().is_dir()
                && !is_skipped(entry)
                && (!name.starts_with('.') || name == ".claude")
        });
    for entry in walk.flatten() {
        if entry.file_name() == ".claude" && entry.depth() > 1 {
            roots.skills(entry.path().join("skills"));
        }
    }
}

/// Installed plugins: every `skills` folder below, under the name of its plugin.
fn plugins(folder: &Path, roots: &mut Roots) {
    let mut walk = WalkDir::new(folder)
        .max_depth(NESTED_DEPTH)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| !is_skipped(entry));
    while let Some(entry) = walk.next() {
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_dir() && entry.file_name() == "skills" {
            let plugin = entry.path().parent().unwrap_or(folder);
            roots.prefixed(entry.path().to_path_buf(), plugin_name(plugin));
            // A folder of that name further down belongs to one of these skills.
            walk.skip_current_dir();
        }
    }
}

fn is_skipped(entry: &DirEntry) -> bool {
    walk::is_skipped(entry.path().parent().unwrap_or(entry.path()), entry.file_name())
}

/// A plugin's own name for itself, else that of its folder.
fn plugin_name(folder: &Path) -> String {
    #[derive(Deserialize)]
    struct Manifest {
        name: String,
    }
    let manifests = [".claude-plugin/plugin.json", ".cursor-plugin/plugin.json"];
    let manifest = manifests.iter().find_map(|name| read_json::<Manifest>(&folder.join(name)));
    let by_folder = || {
        // Installed copies lie in  cache/<marketplace>/<plugin>/<version>.
        let in_cache = folder.ancestors().nth(3).is_some_and(|cache| cache.ends_with("cache"));
        let named = if in_cache { folder.parent().unwrap_or(folder) } else { folder };
        named.file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    manifest.map_or_else(by_folder, |manifest| manifest.name)
}

fn read_json<T: for<'de> Deserialize<'de>>(file: &Path) -> Option<T> {
    const MAX_MANIFEST_BYTES: u64 = 4 << 20;
    let bytes = packed::read_capped(file, MAX_MANIFEST_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok()
}

#[derive(Default)]
struct Roots {
    found: Vec<Root>,
    /// The same folders, links resolved.
    real: Vec<PathBuf>,
}

impl Roots {
    fn skills(&mut self, path: PathBuf) {
        self.add(Root { discovered: true, ..Root::new(path) });
    }

    fn prefixed(&mut self, path: PathBuf, prefix: String) {
        self.add(Root { discovered: true, prefix: Some(prefix), ..Root::new(path) });
    }

    fn commands(&mut self, path: PathBuf) {
        self.add(Root { discovered: true, layout: Layout::Commands, ..Root::new(path) });
    }

    /// A marketplace in the repository itself: the plugins it lists, and the skills each names.
    fn plugin_manifest(&mut self, folder: &Path) {
        #[derive(Deserialize)]
        struct Marketplace {
            metadata: Option<Metadata>,
            plugins: Vec<Value>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            plugin_root: Option<String>,
        }
        #[derive(Deserialize)]
        struct Plugin {
            name: String,
            source: Option<Value>,
            skills: Option<Value>,
        }
        let Some(market) =
            read_json::<Marketplace>(&folder.join(".claude-plugin/marketplace.json"))
        else {
            return;
        };
        let below = market.metadata.and_then(|metadata| metadata.plugin_root);
        let Some(base) = inside(folder, below.as_deref().unwrap_or("./")) else { return };
        // A plugin that is not as expected costs no other its skills.
        let plugins = market.plugins.into_iter().flat_map(serde_json::from_value::<Plugin>);
        for plugin in plugins {
            // A source that is no path is another repository: its skills are not here.
            let source = plugin.source.unwrap_or_else(|| "./".into());
            let Some(home) = source.as_str().and_then(|path| inside(&base, path)) else { continue };
            let skills = match plugin.skills {
                Some(Value::Array(paths)) => paths,
                Some(path) => vec![path],
                None => vec!["./skills".into()],
            };
            let paths = skills.iter().filter_map(|path| inside(&home, path.as_str()?));
            paths.for_each(|path| self.prefixed(path, plugin.name.clone()));
        }
    }

    fn add(&mut self, root: Root) {
        // Many projects link one agent's folder to another's: that is one folder.
        let Ok(real) = root.path.canonicalize() else { return };
        if real.is_dir() && !self.real.contains(&real) {
            self.real.push(real);
            self.found.push(root);
        }
    }
}

/// Manifest paths start with `./` and stay inside their folder; anything else is not followed.
fn inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let below = Path::new(path.strip_prefix("./")?);
    let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    plain.then(|| folder.join(below))
}
