//! Which libraries are left out together when a number or a rule is judged?
//!
//! Whatever is fitted is fitted to eight folds and reported on the ninth. Libraries that share skills or
//! requests are one fold: nothing of the one that is left out may have been seen in another dress.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::ensure;
use clap::Args;
use fingerpost::eval::Query;

use crate::judged::{CLOSED, EXAMPLES, Judged, STRONG, TOOLLENS_STRONG, UNSEEN, UNSEEN_STRONG};

/// Libraries that are left out together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) name: &'static str,
    /// The first has all skills of the fold; of the others some have the same requests.
    pub(crate) libraries: &'static [&'static str],
}

/// All there are.
pub(crate) static FOLDS: [Fold; 9] = [
    Fold { name: "examples", libraries: &[EXAMPLES, UNSEEN, STRONG, UNSEEN_STRONG] },
    Fold { name: "sra", libraries: &["sra", CLOSED] },
    Fold { name: "ultratool", libraries: &["ultratool-en", "ultratool-zh"] },
    Fold { name: "metatool", libraries: &["metatool"] },
    Fold { name: "bfcl", libraries: &["bfcl"] },
    Fold { name: "livemcpbench", libraries: &["livemcpbench"] },
    Fold { name: "toollens", libraries: &["toollens", TOOLLENS_STRONG] },
    Fold { name: "apibench", libraries: &["apibench"] },
    Fold { name: "sealtools", libraries: &["sealtools"] },
];

/// Libraries that ask what another one of their fold asks too, with the pages of a strong model or of
/// fewer skills: figures of their own, but no evidence of their own.
pub(crate) const AGAIN: [&str; 4] = [STRONG, UNSEEN_STRONG, CLOSED, TOOLLENS_STRONG];

/// Which libraries with judged requests a verb works on, and how many requests of each.
#[derive(Debug, Clone, Args)]
pub(crate) struct FoldArgs {
    /// Which libraries or folds; all that are known here if none is named.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Folder of the real data.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    pub(crate) data: PathBuf,
    /// Requests asked of a library at most, drawn by a seed, or `all`.
    #[arg(long, value_name = "N|all", default_value = "2000")]
    pub(crate) requests: Requests,
}

/// How many requests of a library are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    All,
    AtMost(usize),
}

impl FromStr for Requests {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Requests::All),
            _ => text
                .parse()
                .ok()
                .filter(|&most| most > 0)
                .map(Requests::AtMost)
                .ok_or_else(|| format!("'{text}' is neither a number above 0 nor 'all'")),
        }
    }
}

impl Requests {
    /// So many of the requests, in their order: those whose ids have the smallest hashes, so that a
    /// request is drawn or not whatever stands beside it.
    pub(crate) fn draw(self, queries: Vec<Query>) -> Vec<Query> {
        let most = match self {
            Requests::AtMost(most) if most < queries.len() => most,
            _ => return queries,
        };
        let hash =
            |query: &Query| *blake3::hash(format!("drawn:{}", query.id).as_bytes()).as_bytes();
        let mut hashes: Vec<[u8; 32]> = queries.iter().map(hash).collect();
        let (_, last, _) = hashes.select_nth_unstable(most - 1);
        let last = *last;
        queries.into_iter().filter(|query| hash(query) <= last).collect()
    }
}

impl FoldArgs {
    /// The libraries that were named, or all, one after the other, each with the requests drawn; one
    /// whose folder is not there is told of and passed over.
    pub(crate) fn open(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Opened>> + '_> {
        let known =
            |name: &&String| all().any(|(fold, library)| fold.name == **name || library == **name);
        let unknown: Vec<&str> =
            self.names.iter().filter(|name| !known(name)).map(String::as_str).collect();
        let names: Vec<&str> = all().map(|(_, library)| library).collect();
        ensure!(
            unknown.is_empty(),
            "no judged library is called {}; there are {}",
            unknown.join(", "),
            names.join(", ")
        );
        let wanted = all().filter(|(fold, library)| {
            let is_it = |name: &String| name == fold.name || name == library;
            self.names.is_empty() || self.names.iter().any(is_it)
        });
        Ok(wanted.filter_map(|(fold, library)| {
            let mut judged = match crate::judged::open(library, &self.data) {
                Ok(Some(judged)) => judged,
                Ok(None) => {
                    missing(library, &self.data);
                    return None;
                }
                Err(error) => return Some(Err(error)),
            };
            judged.queries = self.requests.draw(std::mem::take(&mut judged.queries));
            Some(Ok(Opened { fold, judged }))
        }))
    }
}

/// A library of a fold.
pub(crate) struct Opened {
    pub(crate) fold: &'static Fold,
    pub(crate) judged: Judged,
}

fn all() -> impl Iterator<Item = (&'static Fold, &'static str)> {
    FOLDS.iter().flat_map(|fold| fold.libraries.iter().map(move |&library| (fold, library)))
}

fn missing(library: &str, data: &Path) {
    eprintln!("SKIPPED {library}: {} has no such folder", data.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_drawn_whatever_stands_beside_it() {
        let queries = |from: usize, to: usize| -> Vec<Query> {
            let query =
                |at: usize| Query { id: format!("my {at}"), text: String::new(), dataset: None };
            (from..to).map(query).collect()
        };
        let drawn = Requests::AtMost(40).draw(queries(0, 100));
        assert_eq!(drawn.len(), 40);
        assert!(drawn.windows(2).all(|pair| {
            let at = |query: &Query| query.id[3..].parse::<usize>().unwrap();
            at(&pair[0]) < at(&pair[1])
        }));
        // Of fewer requests the same ones are drawn first.
        let of_half = Requests::AtMost(40).draw(queries(0, 50));
        let again: Vec<&Query> =
            drawn.iter().filter(|query| query.id[3..].parse::<usize>().unwrap() < 50).collect();
        assert!(again.len() < 40 && again.iter().all(|query| of_half.contains(query)));
        assert_eq!(Requests::All.draw(queries(0, 100)).len(), 100);
        assert_eq!("all".parse(), Ok(Requests::All));
        assert!("0".parse::<Requests>().is_err());
    }

    #[test]
    fn each_library_is_in_one_fold() {
        let mut names: Vec<&str> = all().map(|(_, library)| library).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(AGAIN.iter().all(|name| names.contains(name)));
    }
}
