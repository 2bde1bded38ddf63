//! Which number does a term have?

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

/// Terms in the order in which they were first met.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    bytes: String,
    ends: Vec<u32>,
    table: HashTable<(u64, u32)>,
}

impl Vocabulary {
    /// The term's number, a new one if it has none yet.
    pub(crate) fn number(&mut self, term: &str) -> u32 {
        let hash = xxh3_64(term.as_bytes());
        let Self { bytes, ends, table } = self;
        let entry = table.entry(
            hash,
            |&(other, number)| other == hash && get(bytes, ends, number) == term,
            |&(other, _)| other,
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(found) => found.get().1,
            hashbrown::hash_table::Entry::Vacant(free) => {
                let number = ends.len() as u32;
                bytes.push_str(term);
                ends.push(u32::try_from(bytes.len()).expect("terms of less than 4 GiB in all"));
                free.insert((hash, number));
                number
            }
        }
    }

    /// The term's number, if it has one.
    pub(crate) fn get(&self, term: &str) -> Option<u32> {
        let hash = xxh3_64(term.as_bytes());
        let same = |&(other, number): &(u64, u32)| {
            other == hash && get(&self.bytes, &self.ends, number) == term
        };
        self.table.find(hash, same).map(|found| found.1)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|number| get(&self.bytes, &self.ends, number))
    }

    pub(crate) fn text(&self) -> &str {
        &self.bytes
    }

    /// Start of each term in [`Vocabulary::text`], and the end of the last.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = u32> {
        std::iter::once(0).chain(self.ends.iter().copied())
    }
}

fn get<'a>(bytes: &'a str, ends: &[u32], number: u32) -> &'a str {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] as usize };
    &bytes[start..ends[number] as usize]
}

/// A slot of the file's table: a term's number, and above it a part of its hash, so that another
/// term in the slot is told by the slot itself.
const EMPTY: u64 = u64::MAX;
const NUMBER_BITS: u32 = 32;

/// An open-addressing table of term numbers, for the file: found in one or two reads, where a
/// binary search over a million terms takes twenty.
pub(crate) fn slots(vocabulary: &Vocabulary) -> Vec<u64> {
    let size = (vocabulary.len() * 3 / 2 + 1).next_power_of_two();
    let mut slots = vec![EMPTY; size];
    for (number, term) in vocabulary.iter().enumerate() {
        let hash = xxh3_64(term.as_bytes());
        let mut at = hash as usize & (size - 1);
        while slots[at] != EMPTY {
            at = (at + 1) & (size - 1);
        }
        slots[at] = hash >> NUMBER_BITS << NUMBER_BITS | number as u64;
    }
    slots
}

/// Looks a term up in such a table; `term_at` gives the text of a number, as bytes.
pub(crate) fn find<'a>(
    slots: &[u64],
    term: &str,
    term_at: impl Fn(u32) -> &'a [u8],
) -> Option<u32> {
    let mask = slots.len() - 1;
    let hash = xxh3_64(term.as_bytes());
    // A sound table always has an empty slot; the bound keeps a damaged one from looping.
    for step in 0..slots.len() {
        match slots[(hash as usize + step) & mask] {
            EMPTY => return None,
            slot if slot >> NUMBER_BITS == hash >> NUMBER_BITS => {
                let number = slot as u32;
                if term_at(number) == term.as_bytes() {
                    return Some(number);
                }
            }
            _ => {}
        }
    }
    None
}
