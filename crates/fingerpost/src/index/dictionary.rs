//! Which number does a term have in a file?
//!
//! A term is known by its hash, not by its text: the upper half chooses a bucket of some eight terms,
//! and of the lower half the bucket keeps a tag. Pairs of words are many and long, and their texts
//! would be most of an index. Two terms of a library never share bucket and tag (the builder takes
//! another seed), and a word that the library does not have passes for one that it has once in a
//! quarter of a billion.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::prefetch::prefetch;
use super::vocabulary::Vocabulary;
use crate::sections::Sections;

/// Terms of a bucket, on the mean: few enough for a glance, many enough that its start costs little.
const MEAN: usize = 8;

/// A term's number is that of its bucket and, in the lower bits, its place there.
const PLACE_BITS: u32 = 6;
const MOST: usize = 1 << PLACE_BITS;

/// The lowest bit of a tag is not of the hash: it says that the term counts half.
const HALF: u32 = 1;

/// The bucket and the place of a number.
pub(super) fn place(number: u32) -> (usize, usize) {
    ((number >> PLACE_BITS) as usize, number as usize % MOST)
}

fn bucket_and_tag(term: &str, seed: u64, buckets: usize) -> (u32, u32) {
    let hash = xxh3_64_with_seed(term.as_bytes(), seed);
    ((((hash >> 32) * buckets as u64) >> 32) as u32, hash as u32 & !HALF)
}

/// The terms of a library in the order of the file.
pub(super) struct Dictionary {
    pub(super) seed: u64,
    /// The first term of each bucket, and the end of the last.
    pub(super) starts: Vec<u32>,
    /// The number that the vocabulary gave each term.
    pub(super) terms: Vec<u32>,
    pub(super) tags: Vec<u32>,
}

impl Dictionary {
    pub(super) fn of(vocabulary: &Vocabulary, counts_half: impl Fn(&str) -> bool + Sync) -> Self {
        (0..)
            .find_map(|seed| Self::with(vocabulary, &counts_half, seed))
            .expect("a seed that suits")
    }

    /// `None` if two terms look the same with this seed, or a bucket is too full.
    fn with(
        vocabulary: &Vocabulary,
        counts_half: &(impl Fn(&str) -> bool + Sync),
        seed: u64,
    ) -> Option<Self> {
        let buckets = (vocabulary.len() / MEAN).max(1);
        let texts: Vec<&str> = vocabulary.iter().collect();
        let entry = |(term, text): (usize, &&str)| {
            let (bucket, tag) = bucket_and_tag(text, seed, buckets);
            (bucket, tag, term as u32, counts_half(text))
        };
        let mut entries: Vec<(u32, u32, u32, bool)> =
            texts.par_iter().enumerate().map(entry).collect();
        entries.par_sort_unstable();
        let place = |entry: &(u32, u32, u32, bool)| (entry.0, entry.1);
        let mut starts = vec![0_u32; buckets + 1];
        entries.iter().for_each(|entry| starts[entry.0 as usize + 1] += 1);
        let looks_the_same = entries.windows(2).any(|pair| place(&pair[0]) == place(&pair[1]));
        if looks_the_same || starts.iter().any(|&count| count as usize > MOST) {
            return None;
        }
        for bucket in 0..buckets {
            starts[bucket + 1] += starts[bucket];
        }
        let terms = entries.iter().map(|entry| entry.2).collect();
        let tags =
            entries.iter().map(|entry| if entry.3 { entry.1 | HALF } else { entry.1 }).collect();
        Some(Self { seed, starts, terms, tags })
    }
}

/// The same, as the file has it: the sections of starts and of tags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) sections: &'a Sections,
    pub(super) starts: usize,
    pub(super) tags: usize,
    pub(super) seed: u64,
}

impl<'a> Terms<'a> {
    /// The number of a term.
    pub(super) fn find(self, term: &str) -> Option<u32> {
        let (bucket, tag) = bucket_and_tag(term, self.seed, self.buckets());
        self.find_tag(bucket, tag)
    }

    fn find_tag(self, bucket: u32, tag: u32) -> Option<u32> {
        let at = self.tags(bucket as usize).iter().position(|&other| other & !HALF == tag)?;
        Some((bucket << PLACE_BITS) + at as u32)
    }

    /// Does a term count half?
    pub(super) fn counts_half(self, number: u32) -> bool {
        let (bucket, at) = place(number);
        self.tags(bucket).get(at).is_some_and(|tag| tag & HALF != 0)
    }

    pub(super) fn buckets(self) -> usize {
        self.sections.len::<u32>(self.starts) - 1
    }

    /// The first term of a bucket.
    pub(super) fn first(self, bucket: usize) -> usize {
        self.sections.get::<u32>(self.starts, bucket) as usize
    }

    fn tags(self, bucket: usize) -> &'a [u32] {
        match self.sections.slice::<u32>(self.starts, bucket..bucket + 2) {
            &[start, end] if end.wrapping_sub(start) as usize <= MOST => {
                self.sections.slice(self.tags, start as usize..end as usize)
            }
            _ => &[],
        }
    }
}

/// The terms of a request, to be looked up together: the tables are large and the terms lie anywhere
/// in them, so each step is taken for all of them, and has asked for what the next one reads.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    sought: Vec<(u32, u32, bool)>,
    /// The numbers of the known terms in the order of the request, and whether each is idle.
    pub(super) found: Vec<(u32, bool)>,
}

impl Lookup {
    pub(super) fn clear(&mut self) {
        self.sought.clear();
        self.found.clear();
    }

    /// Takes a term, as often as the request has it.
    pub(super) fn push(&mut self, term: &str, is_idle: bool, terms: Terms<'_>) {
        let (bucket, tag) = bucket_and_tag(term, terms.seed, terms.buckets());
        prefetch(&terms.sections.raw::<u32>(terms.starts)[bucket as usize..][..2]);
        self.sought.push((bucket, tag, is_idle));
    }

    /// Puts what is known into `found`.
    pub(super) fn find(&mut self, terms: Terms<'_>) {
        for &(bucket, ..) in &self.sought {
            let tags = terms.sections.raw::<u32>(terms.tags);
            prefetch(tags.get(terms.first(bucket as usize)..).unwrap_or_default());
        }
        let known = |&(bucket, tag, is_idle): &(u32, u32, bool)| {
            Some((terms.find_tag(bucket, tag)?, is_idle))
        };
        self.found.extend(self.sought.iter().filter_map(known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::{Draft, Format};

    #[test]
    fn every_term_has_a_number_of_its_own() {
        let mut vocabulary = Vocabulary::default();
        for n in 0..5000 {
            vocabulary.number(&format!("term {n}"));
        }
        let dictionary = Dictionary::of(&vocabulary, |term| term.ends_with('7'));
        let mut draft = Draft::new(&[dictionary.starts.len() * 4, dictionary.tags.len() * 4]);
        draft.fill(0, dictionary.starts.iter().copied());
        draft.fill(1, dictionary.tags.iter().copied());
        let format = Format { magic: *b"FPTERMS\0", version: 1, kind: "table of terms" };
        let sections = draft.finish(&format);
        let terms = Terms { sections: &sections, starts: 0, tags: 1, seed: dictionary.seed };
        let mut lookup = Lookup::default();
        let mut seen = std::collections::BTreeSet::new();
        for (old, text) in vocabulary.iter().enumerate() {
            let number = terms.find(text).unwrap();
            let (bucket, at) = place(number);
            assert_eq!(dictionary.terms[terms.first(bucket) + at], old as u32);
            assert_eq!(terms.counts_half(number), text.ends_with('7'));
            assert!(seen.insert(number), "{text}");
            lookup.push(text, false, terms);
        }
        assert_eq!(terms.find("term 5000"), None);
        lookup.push("term 5000", false, terms);
        lookup.push("term 3", true, terms);
        lookup.find(terms);
        assert_eq!(lookup.found.len(), 5001);
        assert_eq!(lookup.found[5000], (terms.find("term 3").unwrap(), true));
    }
}
