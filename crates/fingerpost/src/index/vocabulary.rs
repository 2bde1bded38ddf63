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
