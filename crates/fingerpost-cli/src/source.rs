//! Which library is meant, where is its atlas, and is it compiled?
//!
//! Reading never compiles by itself; this is where the command line decides to, and says so.

mod databases;
mod home;
mod reading;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fingerpost::atlas::{Atlas, AtlasError, Ledger, Replays, State};
use fingerpost::compile::{CompileReport, Event, Job, Writer};
use fingerpost::diagnostic::Warned;
use fingerpost::library::{
    Library, LoadOptions, Root, Surroundings, discover, find_file, read_unpacked, stamp,
};
use fingerpost::page::write::Again;
use fingerpost::protocol::Protocol;
use fingerpost::snapshot::{LibraryMark, Snapshot};
use fingerpost::store::place::{INSIDE, Place, UserFolders, full_path};
use fingerpost::store::{Claim, Folder, StoreError};

pub(crate) use self::databases::{Databases, meant};
pub(crate) use self::home::Home;
pub(crate) use self::reading::{Reading, read};
use crate::args::{Global, LibraryArgs};
use crate::embedder::{self, Opened};
use crate::output::{self, UsageError, plain, plural};

/// A library and its atlas, before either is read.
pub(crate) struct Source {
    /// Where the skills are; none if an atlas is used by itself.
    pub(crate) roots: Vec<Root>,
    pub(crate) atlas: Atlas,
    pub(crate) home: Home,
    options: LoadOptions,
    users: UserFolders,
    /// Hears how a compilation goes; where nobody does, a spinner shows it.
    pub(crate) hear: Option<Hear>,
}

/// Whoever is told how a compilation goes.
pub(crate) type Hear = Arc<dyn Fn(&Event) + Send + Sync>;

/// How to compile.
pub(crate) struct Settings<'a> {
    /// As asked for; `None` for what the atlas has, or the defaults.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) embedder: Opened,
    pub(crate) writer: Writer<'a>,
    pub(crate) again: Again,
    pub(crate) rebuild: bool,
}

impl Settings<'_> {
    /// As the atlas was compiled before, without a model.
    pub(crate) fn as_before(embedder: Opened) -> Self {
        let (writer, again) = (Writer::Local, Again::Nothing);
        Self { protocol: None, embedder, writer, again, rebuild: false }
    }
}

/// The roots named, or those the agents on this machine would read.
pub(crate) fn roots(args: &LibraryArgs) -> anyhow::Result<Vec<Root>> {
    if !args.library.is_empty() {
        // Before anything is made: an atlas in a folder that is not there would make the folder.
        for library in &args.library {
            if let Err(error) = library.metadata() {
                let message = format!("cannot read library {}: {error}", library.display());
                return Err(UsageError::new(message).into());
            }
        }
        return Ok(args.library.iter().map(Root::new).collect());
    }
    let roots = discovered()?;
    if roots.is_empty() {
        let message = "no skills found where agents look (.claude/skills, .agents/skills, ...); name a library with --library";
        return Err(UsageError::new(message).into());
    }
    Ok(roots)
}

/// The roots that the agents on this machine would read from here.
pub(crate) fn discovered() -> anyhow::Result<Vec<Root>> {
    let here = std::env::current_dir().context("cannot tell the current folder")?;
    Ok(discover(&Surroundings::of_process(here)))
}

/// The same in full, so that every answer's path can be opened from anywhere.
fn full_roots(args: &LibraryArgs) -> anyhow::Result<Vec<Root>> {
    let mut roots = roots(args)?;
    roots.iter_mut().for_each(|root| root.path = PathBuf::from(full_path(&root.path)));
    Ok(roots)
}

pub(crate) fn options(args: &LibraryArgs) -> LoadOptions {
    LoadOptions { include_manual: args.include_manual }
}

impl Source {
    pub(crate) fn of(args: &LibraryArgs, global: &Global) -> anyhow::Result<Self> {
        let (users, databases) = (UserFolders::of_process(), &global.databases);
        let options = options(args);
        let alone = args.library.is_empty();
        let (home, roots) = match databases.open(global.atlas.as_deref(), &users)? {
            Some((postgres, cache)) => {
                if global.heal {
                    postgres.doubt();
                }
                // Never what is found on this machine: many machines share a database.
                let roots = if alone { Vec::new() } else { full_roots(args)? };
                (Home::database(postgres, cache, &roots), roots)
            }
            None => match &global.atlas {
                // An atlas is whole: it answers without its library.
                Some(folder) if alone && folder.join("head").is_file() => {
                    (Home::Folder(Place::named(folder, &[])), Vec::new())
                }
                Some(folder) => {
                    let roots = full_roots(args)?;
                    (Home::Folder(Place::named(folder, &roots)), roots)
                }
                None => {
                    let roots = full_roots(args)?;
                    let place = Place::of(&roots, &users).map_err(|error| {
                        UsageError::new(format!("{error}; name a folder for it with --atlas"))
                    })?;
                    (Home::Folder(place), roots)
                }
            },
        };
        let atlas = home.atlas(&roots, &users);
        let source = Self { roots, atlas, home, options, users, hear: None };
        source.must_belong()?;
        source.hint_at_old(global);
        Ok(source)
    }

    /// An atlas of an earlier version is nobody's to take over unasked; it is told of until something
    /// is kept here.
    fn hint_at_old(&self, global: &Global) {
        let Some(place) = self.home.folder().filter(|_| !self.roots.is_empty()) else { return };
        let places = [place.made.clone(), Path::new(".").join(INSIDE)];
        let mut old = places.into_iter().filter(|place| place.join(OLD).is_file());
        if let (Some(old), false) = (old.next(), place.keeps_anything()) {
            let place = old.display();
            let line = format!(
                "{place} is an atlas of an earlier version; `fingerpost atlas adopt {place}` with the same library takes its pages and its ledger over"
            );
            output::note(global, &line);
        }
    }

    /// What the library's files look like from outside; `None` where they change under our eyes.
    pub(crate) fn stamp(&self) -> Option<String> {
        let files = self.home.stamp(stamp(&self.roots).ok()?, &self.roots, self.options)?;
        let settings = format!("{} {}", self.options.include_manual, env!("CARGO_PKG_VERSION"));
        let mut hasher = blake3::Hasher::new();
        hasher.update(files.as_bytes()).update(settings.as_bytes());
        Some(hasher.finalize().to_hex().to_string())
    }

    fn mark(&self, stamp: Option<String>, findings: usize) -> LibraryMark {
        let roots = self.home.roots().to_vec();
        LibraryMark { roots, stamp: stamp.unwrap_or_default(), findings, ..LibraryMark::default() }
    }

    /// How the atlas stands to the library as it is.
    pub(crate) fn state(&self) -> State {
        self.atlas.state(self.stamp().as_deref().unwrap_or_default())
    }

    /// The skills, read now.
    pub(crate) fn load(&self) -> anyhow::Result<Warned<Library>> {
        Ok(Library::load(&self.roots, self.options)?)
    }

    /// The state that was compiled last, with nothing compiled now, and what the library looks like from outside;
    /// `None` if there is none.
    pub(crate) fn read_last(self) -> anyhow::Result<Option<(Reading, Option<String>)>> {
        let stamp = if self.roots.is_empty() { None } else { self.stamp() };
        let stale = !self.roots.is_empty()
            && self.atlas.state(stamp.as_deref().unwrap_or_default()) != State::Current;
        match self.atlas.snapshot() {
            Ok(snapshot) => Ok(Some((Reading { source: self, snapshot, stale }, stamp))),
            Err(error) if error.heals() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses an atlas that was compiled from another library.
    fn must_belong(&self) -> anyhow::Result<()> {
        let library = || self.load().ok().map(|loaded| loaded.value);
        // The same skills are the same library, wherever they lie on this machine.
        let is_shared = || self.home.postgres().is_some() && self.state() == State::Current;
        if self.roots.is_empty() || is_shared() || self.atlas.belongs(&self.mark(None, 0), library)
        {
            return Ok(());
        }
        let theirs = self.atlas.head().map(|head| head.library.roots.join(", "));
        Err(AtlasError::OtherLibrary {
            atlas: self.atlas.name(),
            theirs: theirs.unwrap_or_default(),
            given: self.home.roots().join(", "),
        }
        .into())
    }

    /// The compiled library, as it is or, if it changed or is damaged, compiled now as the atlas has
    /// been compiled before.
    pub(crate) fn read(self, args: &LibraryArgs, global: &Global) -> anyhow::Result<Reading> {
        if self.roots.is_empty() && !global.heal {
            return self.read_alone();
        }
        if global.heal {
            return self.read_changed(args, None, global);
        }
        let stamp = self.stamp();
        let state = self.atlas.state(stamp.as_deref().unwrap_or_default());
        let snapshot = self.atlas.snapshot();
        match (state, snapshot) {
            (State::Current, Ok(snapshot)) => Ok(Reading { source: self, snapshot, stale: false }),
            (_, Err(error)) if !error.heals() => Err(error.into()),
            (_, last) => self.read_changed(args, last.ok(), global),
        }
    }

    /// Compiles first what is not compiled yet; where that cannot be, the last state answers.
    fn read_changed(
        self,
        args: &LibraryArgs,
        last: Option<Snapshot>,
        global: &Global,
    ) -> anyhow::Result<Reading> {
        let last = last.or_else(|| {
            // Somebody else's compiled state beside a library that may not be written to.
            let also = self.home.folder()?.also.as_ref()?;
            Atlas::new(Folder::at(also)).snapshot().ok()
        });
        let kept = self.atlas.head().map(|head| head.protocol);
        let embedder = match embedder::open_for(&args.embedder, kept.as_ref(), &self, global) {
            Ok(embedder) => embedder,
            Err(error) => return self.answer_stale(last, error, global),
        };
        let claim = match self.atlas.claim() {
            Ok(claim) => claim,
            Err(error @ StoreError::Claimed { .. }) if last.is_some() => {
                return self.answer_stale(last, error.into(), global);
            }
            Err(StoreError::Claimed { .. }) => wait_for_turn(&self.atlas, global)?,
            Err(error) if error.is_unwritable() => {
                return self.read_unwritten(last, error.into(), embedder, global);
            }
            Err(error) => return Err(error.into()),
        };
        let settings = Settings::as_before(embedder);
        match self.compile(&settings, &claim, global) {
            Ok((snapshot, report)) => {
                let line = format!(
                    "Compiled {} into {}: {} of their pages written without a model; kept in {}",
                    plural(snapshot.len(), "skill"),
                    plural(snapshot.head().neighborhoods.count, "neighborhood"),
                    report.written,
                    snapshot.store_name(),
                );
                output::say(global, &line);
                Ok(Reading { source: self, snapshot, stale: false })
            }
            Err(error) if is_unwritable(&error) => {
                self.read_unwritten(last, error, settings.embedder, global)
            }
            Err(error) => Err(error),
        }
    }

    /// The last state, because of this; without one, the error.
    fn answer_stale(
        self,
        last: Option<Snapshot>,
        because: anyhow::Error,
        global: &Global,
    ) -> anyhow::Result<Reading> {
        let Some(snapshot) = last else { return Err(because) };
        let because = plain(&format!("{because:#}")).into_owned();
        output::note(
            global,
            &format!(
                "the library has changed and is not compiled: {because}; the last state answers"
            ),
        );
        Ok(Reading { source: self, snapshot, stale: true })
    }

    /// Where nothing may be written, the last state answers if it is of the same skills; else the
    /// library is compiled for this once, in memory.
    fn read_unwritten(
        mut self,
        last: Option<Snapshot>,
        because: anyhow::Error,
        embedder: Opened,
        global: &Global,
    ) -> anyhow::Result<Reading> {
        let Warned { value: library, .. } = self.load()?;
        if let Some(snapshot) = last {
            let same = snapshot.head().library.digest == library.digest().to_hex().as_str();
            if same {
                return Ok(Reading { source: self, snapshot, stale: false });
            }
            return self.answer_stale(Some(snapshot), because, global);
        }
        let because = plain(&format!("{because:#}")).into_owned();
        output::note(global, &format!("{because}; compiled for this once, and nothing is kept"));
        self.atlas = Atlas::in_memory();
        let settings = Settings::as_before(embedder);
        let (snapshot, _) = self.compile(&settings, &self.atlas.claim()?, global)?;
        Ok(Reading { source: self, snapshot, stale: false })
    }

    /// An atlas without its library answers as it is.
    fn read_alone(self) -> anyhow::Result<Reading> {
        let snapshot = self.atlas.snapshot()?;
        Ok(Reading { source: self, snapshot, stale: false })
    }

    /// Compiles the library; the claim keeps others away.
    pub(crate) fn compile(
        &self,
        settings: &Settings<'_>,
        claim: &Claim,
        global: &Global,
    ) -> anyhow::Result<(Snapshot, CompileReport)> {
        let spinner = output::spinner(global, "reading the library".into());
        // Before the skills are read: what changes after that is noticed next time.
        let stamp = self.stamp();
        let (Warned { value: library, diagnostics }, mark) = match self.roots.is_empty() {
            true => {
                let snapshot = self.atlas.snapshot()?;
                let library = Warned { value: snapshot.library()?, diagnostics: Vec::new() };
                (library, snapshot.head().library.clone())
            }
            false => {
                let loaded = self.load().inspect_err(|_| self.sweep())?;
                let mark = self.mark(stamp, loaded.diagnostics.len());
                (loaded, mark)
            }
        };
        if let Some(place) = self.home.folder() {
            place.follow(&library, &self.users);
        }
        let kept = self.atlas.head().map(|head| head.protocol);
        let mut protocol = settings.protocol.clone().or(kept).unwrap_or_else(|| {
            let mut ours = Protocol::ours();
            ours.neighborhood.seed = global.seed;
            ours
        });
        protocol.embedder = settings.embedder.kind();
        protocol.include_manual = self.options.include_manual;
        let skills = plural(library.skills().len(), "skill");
        let show = |event: Event| match event {
            Event::Comparing(_) => spinner.set_message(format!("comparing {skills}")),
            // A terminal shows no more than a few changes a second.
            Event::Writing(done, _) if done % 64 < 10 => {
                spinner.set_message(format!("writing pages: {done} of {skills}"));
            }
            Event::Writing(..) => {}
            Event::Indexing => spinner.set_message(format!("indexing {skills}")),
            Event::Damaged(what) => {
                spinner.suspend(|| output::note(global, &format!("{what}; it is made again now")));
            }
            Event::Mended(file) => spinner.suspend(|| {
                output::note(global, &format!("{file} is damaged; its copy has everything"));
            }),
        };
        let on_event = |event: Event| {
            if let Some(hear) = &self.hear {
                hear(&event);
            }
            show(event);
        };
        let job = Job {
            library: &library,
            mark,
            protocol: &protocol,
            embedder: settings.embedder.model(),
            writer: Writer::Local,
            again: settings.again,
            rebuild: settings.rebuild,
            on_event: &on_event,
        };
        let compiled = match &settings.writer {
            Writer::Local => self.atlas.compile_as(&job, claim),
            Writer::Model(model) => {
                let identity = model.identity.clone();
                let model = fingerpost::compile::Model { identity, write: model.write };
                self.atlas.compile_as(&Job { writer: Writer::Model(model), ..job }, claim)
            }
        };
        spinner.finish_and_clear();
        let compiled = compiled.inspect_err(|_| self.sweep())?;
        if let Some(place) = self.home.folder() {
            place.leave_card(&library);
        }
        output::summarise(global, &diagnostics);
        Ok(compiled)
    }

    /// What models were asked. The ledger of an atlas that somebody else made is shown, and its
    /// answers are not taken for paid ones.
    pub(crate) fn ledger(&self, global: &Global) -> anyhow::Result<Ledger> {
        if self.home.folder().is_some_and(|place| !place.has_ledger()) {
            self.trust();
        }
        let trusted = global.trust_ledger || self.home.is_trusted(&self.users);
        let replays = if trusted { Replays::All } else { Replays::OwnOnly };
        let ledger = self.atlas.ledger(replays)?;
        let withheld = ledger.withheld()?;
        if withheld > 0 {
            output::note(
                global,
                &format!(
                    "the ledger holds {} that did not come to you: they are not used; --trust-ledger uses them",
                    plural(withheld, "answer")
                ),
            );
        }
        Ok(ledger)
    }

    /// Makes the ledger one's own.
    pub(crate) fn trust(&self) {
        if let Some(place) = self.home.folder() {
            place.trust(&self.users);
        }
    }

    /// Takes away the empty folders of a compilation that came to nothing.
    fn sweep(&self) {
        if let Some(place) = self.home.folder() {
            place.sweep();
        }
    }
}

/// The catalog of an atlas of an earlier version.
pub(crate) const OLD: &str = "atlas.sqlite";

/// Waits until nobody else compiles, saying so.
pub(crate) fn wait_for_turn(atlas: &Atlas, global: &Global) -> anyhow::Result<Claim> {
    let mut told = false;
    loop {
        match atlas.claim() {
            Ok(claim) => return Ok(claim),
            Err(error @ StoreError::Claimed { .. }) => {
                if !told {
                    output::say(global, &format!("{error}; waiting for it to end"));
                    told = true;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_unwritable(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<StoreError>().is_some_and(StoreError::is_unwritable)
            || matches!(cause.downcast_ref(), Some(AtlasError::Store(error)) if error.is_unwritable())
    })
}

/// The folder of the only library named: itself, or the one its file lies in.
pub(crate) fn folder(args: &LibraryArgs) -> Option<&Path> {
    match &args.library[..] {
        [file] if file.is_file() => file.parent(),
        [folder] => Some(folder),
        _ => None,
    }
}

/// A file of one of these names in the folder of the only library named, packed or not.
pub(crate) fn beside(args: &LibraryArgs, names: &[&str]) -> Option<PathBuf> {
    find_file(folder(args)?, names)
}

/// A text file named by the user, unpacked; its name is part of any error.
pub(crate) fn text(file: &Path) -> anyhow::Result<String> {
    read_unpacked(file)
        .map_err(|error| UsageError::new(format!("cannot read {}: {error}", file.display())).into())
}
