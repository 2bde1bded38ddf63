//! A compiled library, open: what every verb that reads begins with.

use fingerpost::contract::Freshness;
use fingerpost::skill::SkillIdx;
use fingerpost::snapshot::Snapshot;

use super::{Settings, Source, wait_for_turn};
use crate::args::{Global, LibraryArgs};
use crate::embedder;
use crate::output::UsageError;

/// A compiled library, open.
pub(crate) struct Reading {
    pub(crate) source: Source,
    pub(crate) snapshot: Snapshot,
    /// Has the library changed since, without anybody having compiled it?
    pub(crate) stale: bool,
}

impl Reading {
    /// Of which state an answer is.
    pub(crate) fn freshness(&self) -> Freshness {
        Freshness { generation: self.snapshot.generation(), stale: self.stale }
    }

    /// The skill named, or an error that offers the likeliest ones.
    pub(crate) fn find(&self, name: &str) -> anyhow::Result<SkillIdx> {
        find(&self.snapshot, name)
    }

    /// Takes in what was just kept.
    pub(crate) fn again(mut self, args: &LibraryArgs, global: &Global) -> anyhow::Result<Self> {
        let claim = wait_for_turn(&self.source.atlas, global)?;
        let kept = self.source.atlas.head().map(|head| head.protocol);
        let embedder = embedder::open_for(&args.embedder, kept.as_ref(), &self.source, global)?;
        let settings = Settings::as_before(embedder);
        (self.snapshot, _) = self.source.compile(&settings, &claim, global)?;
        self.stale = false;
        Ok(self)
    }
}

/// The compiled library that the arguments mean.
pub(crate) fn read(args: &LibraryArgs, global: &Global) -> anyhow::Result<Reading> {
    Source::of(args, global)?.read(args, global)
}

/// The skill named, or an error that offers the likeliest ones.
fn find(snapshot: &Snapshot, name: &str) -> anyhow::Result<SkillIdx> {
    if let Some(skill) = snapshot.find(name) {
        return Ok(skill);
    }
    let rows = snapshot.rows().map(|skill| snapshot.row(skill));
    let like: Vec<&str> = rows
        .filter(|row| row.id.contains(name) || row.name.contains(name))
        .map(|row| row.id)
        .take(5)
        .collect();
    let hint = if like.is_empty() {
        "`fingerpost search` finds skills by what they do".to_owned()
    } else {
        format!("did you mean {}?", like.join(", "))
    };
    Err(UsageError::new(format!("there is no one skill '{name}'; {hint}")).into())
}
