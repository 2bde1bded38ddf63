//! Which library is meant, and its index.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use fingerpost::atlas::{Atlas, Opened, Provenance};
use fingerpost::diagnostic::Warned;
use fingerpost::index::SparseConfig;
use fingerpost::library::{LoadOptions, Root, Surroundings, discover, read_unpacked};
use fingerpost::search::tuning::{Trust, Tuning};
use fingerpost::search::{Dense, Reading, Retriever, Searcher};

use crate::args::{Global, LibraryArgs, RetrieverArgs};
use crate::compile::{self, Settings};
use crate::output::{self, UsageError, plural};
use crate::{embedder, neighbors};

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
    let here = std::env::current_dir().context("cannot tell the current folder")?;
    let roots = discover(&Surroundings::of_process(here));
    if roots.is_empty() {
        let message = "no skills found where agents look (.claude/skills, .agents/skills, ...); name a library with --library";
        return Err(UsageError::new(message).into());
    }
    Ok(roots)
}

pub(crate) fn options(args: &LibraryArgs) -> LoadOptions {
    LoadOptions { include_manual: args.include_manual }
}

/// The atlas asked for; by default that of the only library named, else one in this folder.
pub(crate) fn atlas(args: &LibraryArgs, global: &Global) -> Atlas {
    let path = match (&global.atlas, &args.library[..]) {
        (Some(path), _) => path.clone(),
        (None, [library]) => Atlas::default_path(library),
        (None, _) => PathBuf::from(".fingerpost"),
    };
    Atlas::at(path)
}

/// Opens or builds the index, saying what was done.
pub(crate) fn index(
    args: &LibraryArgs,
    global: &Global,
    config: &SparseConfig,
) -> anyhow::Result<Opened> {
    let roots = roots(args)?;
    let atlas = atlas(args, global);
    if config.view.reads_pages() {
        let stamp = atlas.stamp(&roots, options(args));
        let written = stamp.map(|stamp| atlas.pages_digest(&stamp)).transpose()?.flatten();
        if written.is_none() {
            compile::ensure(&atlas, &roots, options(args), &Settings::Kept, global)?;
        }
    }
    let start = Instant::now();
    let spinner = output::spinner(global, "reading and indexing the library".into());
    let opened = atlas.sparse_index(&roots, options(args), config);
    spinner.finish_and_clear();
    let Warned { value: opened, diagnostics } = opened?;
    let how = match &opened.provenance {
        Provenance::Opened => return Ok(opened),
        Provenance::Built => String::new(),
        Provenance::Rebuilt(reason) => format!(" again: the old index {reason}"),
    };
    let line = format!(
        "Indexed {}{how} ({config}) in {:.2} s; kept in {}",
        plural(opened.index.len(), "skill"),
        start.elapsed().as_secs_f64(),
        opened.file.as_deref().map_or("memory only".into(), |file| file.display().to_string()),
    );
    output::say(global, &line);
    output::summarise(global, &diagnostics);
    Ok(opened)
}

/// Everything a retriever needs of a library, compiled first if it is not yet.
pub(crate) fn searcher(
    args: &LibraryArgs,
    global: &Global,
    retriever: &RetrieverArgs,
) -> anyhow::Result<Searcher> {
    let tuning = if retriever.is_tuned() { tuning(args, global)? } else { Tuning::default() };
    let (by, config) = retriever.resolve(&tuning)?;
    let reading = if retriever.reference { Reading::ToTheLetter } else { Reading::Careful };
    Ok(Searcher { reading, ..searcher_of(args, global, by, &config)? })
}

/// A searcher of this kind, over this index of terms.
pub(crate) fn searcher_of(
    args: &LibraryArgs,
    global: &Global,
    retriever: Retriever,
    config: &SparseConfig,
) -> anyhow::Result<Searcher> {
    let Opened { index: sparse, .. } = index(args, global, config)?;
    let (dense, trust) = if retriever.is_dense() {
        let compiled = neighbors::open(args, global)?;
        let atlas = atlas(args, global);
        let embedder = embedder::of(&compiled, &atlas, global)?;
        let (index, embedded) =
            atlas.dense(&roots(args)?, options(args), &compiled, &*embedder, config.view)?;
        if embedded > 0 {
            let texts = plural(embedded, "text");
            output::say(global, &format!("Embedded {texts} (view {})", config.view));
        }
        (Some(Dense { index, embedder }), compiled.tuning.trust)
    } else {
        (None, Trust::SPARSE)
    };
    Ok(Searcher { retriever, sparse, dense, trust, reading: Reading::Careful })
}

/// What suits the library, which is compiled if that is not known yet.
fn tuning(args: &LibraryArgs, global: &Global) -> anyhow::Result<Tuning> {
    let (roots, options) = (roots(args)?, options(args));
    let atlas = atlas(args, global);
    let stamp = atlas.stamp(&roots, options);
    match stamp.map(|stamp| atlas.tuning(&stamp)).transpose()?.flatten() {
        Some(tuning) => Ok(tuning),
        None => Ok(compile::ensure(&atlas, &roots, options, &Settings::Kept, global)?.0.tuning),
    }
}

/// A file of one of these names in the folder of the only library named, packed or not.
pub(crate) fn beside(args: &LibraryArgs, names: &[&str]) -> Option<PathBuf> {
    let folder = match &args.library[..] {
        [file] if file.is_file() => file.parent()?,
        [folder] => folder,
        _ => return None,
    };
    let packed = |name: &&str| ["", ".zst", ".gz"].map(|end| folder.join(format!("{name}{end}")));
    names.iter().flat_map(packed).find(|file| file.is_file())
}

/// A text file named by the user, unpacked; its name is part of any error.
pub(crate) fn text(file: &Path) -> anyhow::Result<String> {
    read_unpacked(file)
        .map_err(|error| UsageError::new(format!("cannot read {}: {error}", file.display())).into())
}
