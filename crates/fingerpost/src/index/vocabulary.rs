//! Which number does a term have?

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::prefetch::prefetch;
use crate::sections::Sections;

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

/// Such a table with the terms it was made of, as the file has them: the sections of slots, of the
/// start of each term (and the end of the last), and of the text of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) sections: &'a Sections,
    pub(crate) slots: usize,
    pub(crate) offsets: usize,
    pub(crate) text: usize,
}

/// A term that is being looked up.
#[derive(Debug, Clone, Copy)]
struct Sought {
    hash: u64,
    /// Where it ends in the text of all.
    end: u32,
    /// The number of the term that has its place in the table, if there is one.
    number: Option<u32>,
}

/// The terms of a request, to be looked up together: the table is large and the terms lie anywhere
/// in it, so each step is taken for all of them, and has asked for what the next one reads.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    text: String,
    sought: Vec<Sought>,
    pub(crate) found: Vec<u32>,
}

impl Lookup {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.sought.clear();
        self.found.clear();
    }

    /// Takes a term, as often as the request has it.
    pub(crate) fn push(&mut self, term: &str, terms: Terms<'_>) {
        let hash = xxh3_64(term.as_bytes());
        let slots = terms.sections.raw::<u64>(terms.slots);
        prefetch(&slots[hash as usize & (slots.len() - 1)..][..1]);
        self.text.push_str(term);
        self.sought.push(Sought { hash, end: self.text.len() as u32, number: None });
    }

    /// Puts the numbers of the known terms into `found`, in the order of the request.
    pub(crate) fn find(&mut self, terms: Terms<'_>) {
        for sought in &mut self.sought {
            sought.number = terms.numbers(sought.hash).next();
            if let Some(number) = sought.number {
                prefetch(
                    terms
                        .sections
                        .raw::<u32>(terms.offsets)
                        .get(number as usize..)
                        .unwrap_or_default(),
                );
            }
        }
        for number in self.sought.iter().filter_map(|sought| sought.number) {
            let start = terms.sections.get::<u32>(terms.offsets, number as usize);
            prefetch(
                terms.sections.raw::<u8>(terms.text).get(start as usize..).unwrap_or_default(),
            );
        }
        let mut start = 0;
        for sought in &self.sought {
            let term = &self.text[start..sought.end as usize];
            start = sought.end as usize;
            match sought.number {
                Some(number) if terms.term(number) == term.as_bytes() => self.found.push(number),
                // Another term with the same part of its hash.
                Some(_) => self.found.extend(terms.find(term)),
                None => {}
            }
        }
    }
}

impl<'a> Terms<'a> {
    /// The number of a term.
    pub(crate) fn find(self, term: &str) -> Option<u32> {
        let mut numbers = self.numbers(xxh3_64(term.as_bytes()));
        numbers.find(|&number| self.term(number) == term.as_bytes())
    }

    /// The numbers of the terms whose hash is the same as far as the table keeps it.
    fn numbers(self, hash: u64) -> impl Iterator<Item = u32> {
        let count = self.sections.len::<u64>(self.slots);
        // A sound table always has an empty slot; the bound keeps a damaged one from looping.
        (0..count)
            .map(move |step| (hash as usize).wrapping_add(step) & (count - 1))
            .map(move |at| self.sections.slice(self.slots, at..at + 1).first().copied())
            .map_while(|slot: Option<u64>| slot.filter(|&slot| slot != EMPTY))
            .filter(move |slot| slot >> NUMBER_BITS == hash >> NUMBER_BITS)
            .map(|slot| slot as u32)
    }

    pub(crate) fn term(self, number: u32) -> &'a [u8] {
        let number = number as usize;
        match self.sections.slice::<u32>(self.offsets, number..number + 2) {
            &[start, end] => self.sections.slice(self.text, start as usize..end as usize),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::{Draft, Format};

    /// Two terms may agree in the part of the hash that a slot keeps: the text decides.
    #[test]
    fn another_term_with_the_same_tag_is_passed_over() {
        let hash = xxh3_64(b"b");
        let tag = hash >> NUMBER_BITS << NUMBER_BITS;
        let mut slots = [EMPTY; 4];
        slots[hash as usize & 3] = tag;
        slots[(hash as usize + 1) & 3] = tag | 1;
        let mut draft = Draft::new(&[4 * 8, 3 * 4, 2]);
        draft.fill(0, slots);
        draft.fill(1, [0_u32, 1, 2]);
        draft.fill(2, *b"ab");
        let format = Format { magic: *b"FPTERMS\0", version: 1, kind: "table of terms" };
        let sections = draft.finish(&format);
        let terms = Terms { sections: &sections, slots: 0, offsets: 1, text: 2 };
        let mut lookup = Lookup::default();
        lookup.push("b", terms);
        lookup.push("b", terms);
        lookup.find(terms);
        assert_eq!(lookup.found, [1, 1]);
        assert_eq!(terms.find("b"), Some(1));
    }
}
