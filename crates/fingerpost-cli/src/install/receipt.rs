//! What did we put where, so that the very bytes from before can be given back?
//!
//! A receipt holds what was inserted, where, and instead of what: not the rest of the file, which may hold
//! keys. Digests tell whether the file is as we left it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// Of one change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    file: PathBuf,
    /// Digest of the file before; `None` if there was none.
    before: Option<String>,
    /// And after.
    after: String,
    /// Where the two begin to differ.
    at: usize,
    /// What stood there.
    old: String,
    /// What stands there now.
    new: String,
    /// The outermost folder that was made for the file.
    pub(super) made: Option<PathBuf>,
}

impl Receipt {
    pub(super) fn of(
        file: &Path,
        before: Option<&str>,
        after: &str,
        made: Option<PathBuf>,
    ) -> Self {
        let start = before.unwrap_or_default();
        let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
            pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
        };
        let at = same(&mut start.chars().zip(after.chars()));
        let end = same(&mut start[at..].chars().rev().zip(after[at..].chars().rev()));
        Self {
            file: file.to_path_buf(),
            before: before.map(digest),
            after: digest(after),
            at,
            old: start[at..start.len() - end].to_owned(),
            new: after[at..after.len() - end].to_owned(),
            made,
        }
    }

    /// What was in the file before, if it is as we left it; the inner `None` if there was no file.
    pub(super) fn before(&self, text: &str) -> Option<Option<String>> {
        if digest(text) != self.after {
            return None;
        }
        let rest = text.get(self.at..)?.strip_prefix(self.new.as_str())?;
        let before = format!("{}{}{rest}", &text[..self.at], self.old);
        match &self.before {
            None => Some(None),
            Some(known) => (digest(&before) == *known).then_some(Some(before)),
        }
    }

    /// The file without what we inserted, if that stands in it once.
    pub(super) fn cut_out(&self, text: &str) -> Option<String> {
        let mut found = text.match_indices(&self.new);
        let (at, _) = found.next().filter(|_| !self.new.is_empty())?;
        if found.next().is_some() {
            return None;
        }
        Some(format!("{}{}{}", &text[..at], self.old, &text[at + self.new.len()..]))
    }

    pub(super) fn made(&self) -> Option<&Path> {
        self.made.as_deref()
    }

    pub(super) fn read(folder: &Path, file: &Path) -> Option<Self> {
        let bytes = fs::read(name(folder, file)).ok()?;
        let receipt: Self = serde_json::from_slice(&bytes).ok()?;
        (receipt.file == file).then_some(receipt)
    }

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = name(folder, &self.file);
        let written = || -> anyhow::Result<()> {
            fs::create_dir_all(folder)?;
            let draft = tempfile::Builder::new().prefix(".receipt-").tempfile_in(folder)?;
            serde_json::to_writer_pretty(draft.as_file(), self)?;
            draft.persist(&path)?;
            Ok(())
        };
        written().with_context(|| {
            format!(
                "cannot keep {}, by which the change is undone; nothing was changed",
                path.display()
            )
        })
    }

    /// A receipt of what is undone says nothing any more.
    pub(super) fn forget(folder: &Path, file: &Path) {
        let _ = fs::remove_file(name(folder, file));
    }
}

fn name(folder: &Path, file: &Path) -> PathBuf {
    let digest = digest(&file.to_string_lossy());
    folder.join(format!("{}.json", &digest[..24]))
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(before: Option<&str>, after: &str) -> Receipt {
        Receipt::of(Path::new("/home/a/x.json"), before, after, None)
    }

    #[test]
    fn what_was_before_comes_back() {
        for (before, after) in [
            ("{}", "{ \"a\": 1 }"),
            ("{\"b\": 2}", "{\"b\": 2, \"a\": 1}"),
            ("年", "年年"),
            ("éa", "èa"),
            ("", "x"),
            ("same", "same"),
        ] {
            let receipt = receipt(Some(before), after);
            assert_eq!(receipt.before(after), Some(Some(before.to_owned())), "{before}");
            assert_eq!(receipt.before(&format!("{after} ")), None, "it was changed since");
        }
        assert_eq!(receipt(None, "{}").before("{}"), Some(None), "there was no file");
    }

    #[test]
    fn of_a_file_that_changed_since_our_words_are_cut_out() {
        let receipt = receipt(Some("{\"b\": 2}"), "{\"b\": 2, \"ours\": 1}");
        assert_eq!(
            receipt.cut_out("{\"c\": 3, \"b\": 2, \"ours\": 1}").unwrap(),
            "{\"c\": 3, \"b\": 2}"
        );
        assert_eq!(receipt.cut_out("{\"b\": 2}"), None);
        let twice = "{\"b\": 2, \"ours\": 1, \"ours\": 1}";
        assert_eq!(receipt.cut_out(twice), None, "which of them is ours?");
    }

    #[test]
    fn a_receipt_is_of_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (Path::new("/home/a/x.json"), Path::new("/home/a/y.json"));
        let receipt = receipt(Some("{}"), "{ }");
        receipt.write(folder.path()).unwrap();
        assert_eq!(Receipt::read(folder.path(), file), Some(receipt));
        assert_eq!(Receipt::read(folder.path(), other), None);
        Receipt::forget(folder.path(), file);
        assert_eq!(Receipt::read(folder.path(), file), None);
    }
}
