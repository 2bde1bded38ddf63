//! The dense side of an index view: the vectors of what the view shows of each skill.

use super::{Atlas, AtlasError, Compiled, vectors};
use crate::diagnostic::Warned;
use crate::embedding::{Embedder, Role, Vectors};
use crate::index::FORMAT_VERSION;
use crate::library::{Library, LoadOptions, Root};
use crate::page::write::pages_of;
use crate::skill::SkillIdx;
use crate::view::{View, index_text};

/// Encoders that read less than this see the page before the document: what comes last is cut.
const SHORT_WINDOW: usize = 2048;

impl Atlas {
    /// The vectors of a view of the compiled library: mapped if they are there and sound, embedded
    /// if not. Say how many texts were embedded.
    pub fn dense(
        &self,
        roots: &[Root],
        options: LoadOptions,
        compiled: &Compiled,
        embedder: &dyn Embedder,
        view: View,
    ) -> Result<(Vectors, usize), AtlasError> {
        let pages =
            if view.reads_pages() { super::pages::digest(&compiled.pages) } else { String::new() };
        // The text of a view is a matter of the format, as in the sparse index.
        let made = format!("{FORMAT_VERSION} {}", embedder.profile().key());
        let key = format!("{made} {} {pages} {view}", compiled.library);
        let key = &blake3::hash(key.as_bytes()).to_hex()[..16];
        let folder = self.path.join("index");
        let file = folder.join(format!("dense-{view}-{key}.vectors"));
        if let Ok(found) = vectors::open(file.clone())
            && found.len() == compiled.skills.len()
        {
            return Ok((found, 0));
        }
        let Warned { value: library, .. } = Library::load(roots, options)?;
        let pages = pages_of(&compiled.pages, &library);
        let short = embedder.profile().max_tokens < SHORT_WINDOW;
        let texts: Vec<String> = (0..library.skills().len() as u32)
            .map(|row| {
                let text = index_text(&library, &pages, SkillIdx(row), view);
                if short { text.page_first() } else { text.joined() }
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = embedder.embed(&texts, Role::Document)?;
        // Without the file the work is done again next time, which is no reason to fail.
        let _ = self.write(&file, &vectors::to_bytes(&found));
        Ok((found, texts.len()))
    }
}
