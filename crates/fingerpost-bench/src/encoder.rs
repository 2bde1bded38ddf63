//! With which encoder beside the program's own word vectors?

use std::path::{Path, PathBuf};

use clap::Args;
use fingerpost_lab::lab::Event;
pub(crate) use fingerpost_lab::retriever::Model as EncoderModel;
use fingerpost_lab::retriever::Models;

/// Which encoder takes part.
#[derive(Debug, Args)]
pub(crate) struct EncoderArgs {
    /// A model that also tells how near skills are, as `fingerpost model pull` fetches it; none by default.
    #[arg(long, value_name = "NAME")]
    encoder: Option<String>,
    /// Where its vectors are kept for the next run.
    #[arg(long, value_name = "DIR", default_value = "target/peers-vectors")]
    vectors: PathBuf,
}

impl EncoderArgs {
    /// The model, if one was named.
    pub(crate) fn open(&self) -> anyhow::Result<Option<EncoderModel>> {
        self.encoder.as_deref().map(|name| open(name, &self.vectors)).transpose()
    }
}

/// A model, fetched first where it is not here; its vectors are kept in a folder.
pub(crate) fn open(name: &str, vectors: &Path) -> anyhow::Result<EncoderModel> {
    let models = Models::new(vectors.to_path_buf(), |event| tell(&event));
    Ok(models.get(name)?)
}

/// Texts between two lines about them.
const TOLD: usize = 2048;

fn tell(event: &Event) {
    match event {
        Event::Doing(what) | Event::LeftOut(what) => eprintln!("  {what}"),
        Event::Progress { noun, done, all } if done == all || done % TOLD == 0 => {
            eprintln!("  {done} of {all} {noun}s");
        }
        Event::Progress { .. } => {}
    }
}
