//! Which encoder tells how near skills are to a request, beside the program's own word vectors?
//!
//! The embedder that was named or that the atlas was made with, if it is a model; else the usual one, as soon
//! as somebody has fetched it (`fingerpost model pull minilm`). It reads what each skill says it is for
//! once, and the vectors are kept beside the atlas.

use std::sync::Arc;

use fingerpost::route::Encoder;

use crate::args::{Global, LibraryArgs};
use crate::embedder;
use crate::output::{self, plain, plural};
use crate::source::Reading;

/// What becomes of the vectors of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    /// One request, asked once: nobody needs its vector again.
    Forgotten,
    /// An evaluation asks the same again and again.
    Remembered,
}

/// The encoder of a library, if there is one. What nobody asked for by name is no reason to fail: where it does
/// not work, a note says so.
pub(crate) fn of(
    reading: &Reading,
    library: &LibraryArgs,
    requests: Requests,
    global: &Global,
) -> anyhow::Result<Option<Arc<Encoder>>> {
    let kept = &reading.snapshot.head().protocol;
    let Some(wanted) = embedder::encoder_of(&library.embedder, kept)? else { return Ok(None) };
    match open(reading, &wanted, requests, global) {
        Err(error) if !library.embedder.is_named() => {
            let error = plain(&format!("{error:#}")).into_owned();
            let note = format!("{wanted} cannot be used: {error}; answered without it");
            output::note(global, &note);
            Ok(None)
        }
        opened => opened.map(|encoder| Some(Arc::new(encoder))),
    }
}

fn open(
    reading: &Reading,
    wanted: &embedder::Source,
    requests: Requests,
    global: &Global,
) -> anyhow::Result<Encoder> {
    let snapshot = &reading.snapshot;
    let model = wanted.model(&reading.source, requests, global)?;
    let index = match snapshot.encoded_at_hand(&*model)? {
        Some(index) => index,
        None => {
            let cached = wanted.cached(&*model, &reading.source, global)?;
            let index = snapshot.encode(&cached)?;
            let skills = plural(snapshot.len(), "skill");
            output::say(global, &format!("Encoded {skills} with {}", model.profile().name));
            // It can be made again, so it is no loss if it cannot be kept.
            let _ = snapshot.keep_encoded(&index, &*model);
            index
        }
    };
    Ok(Encoder::new(model, index))
}
