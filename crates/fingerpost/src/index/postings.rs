//! How are the skills that have a term written down?
//!
//! For each segment of rows a term has a list: the rows that have it and what it counts in each. BM25
//! keeps the weights themselves, which is the quickest to add up. Words and pairs of words are too many
//! for that: they keep how often, in sixteen levels, and nothing at all where it is once everywhere;
//! rarity and the length of the skill are multiplied in when they are read. Where a fifth of the rows
//! have a term, the rows are left out and every row has its value.
//!
//! A list of up to [`SHORT`] rows is told by a byte, its code; a longer one begins with a header.

use bytemuck::{Pod, Zeroable};

/// Rows of one segment: so many that a row of it fits in two bytes. Short postings are read
/// quicker, and an index of two bytes into as many scores needs no check.
pub(super) const SEGMENT: usize = 1 << 16;

/// Rows of a segment; all but the last are full.
pub(super) fn rows_of(segment: usize, skills: usize) -> usize {
    (skills - segment * SEGMENT).min(SEGMENT)
}

/// How often a term occurs, in levels: level by level the least count. Nobody has level 0.
const COUNTS: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 128];

/// The root of each level's count, which is what it counts.
pub(super) const ROOTS: [f32; 16] = {
    let mut roots = [0.0; 16];
    let mut level = 1;
    while level < roots.len() {
        // No root in constants: by Newton, from above, until it stands still.
        let (count, mut root, mut last) = (COUNTS[level] as f64, COUNTS[level] as f64, f64::MAX);
        while root < last {
            (last, root) = (root, (root + count / root) / 2.0);
        }
        roots[level] = last as f32;
        level += 1;
    }
    roots
};

/// The level of a count.
pub(super) fn level(count: u32) -> u8 {
    (COUNTS.partition_point(|&least| least <= count) - 1) as u8
}

/// What a list keeps of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    Weights,
    Levels,
}

/// Lists of more rows have a header.
const SHORT: u32 = 126;
const LONG: u8 = 127;
/// Beside the count of a short list: it has levels above the first.
const VARIED: u8 = 128;

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    /// How many rows have the term, and above that the form of the list.
    count: u32,
    /// The most that it counts in a skill.
    pub(super) largest: f32,
}

const FORM_SHIFT: u32 = 30;

/// What a list is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The rows, and a value for each.
    Varied = 0,
    /// The rows: the term occurs once in each.
    Once = 1,
    /// A value for every row of the segment.
    Common = 2,
    /// Nothing: the term counts nothing, and only how many have it is known.
    Silent = 3,
}

/// A list as its code or header tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct List {
    pub(super) count: u32,
    pub(super) form: Form,
    /// The most that it counts in a skill, where it is common.
    pub(super) largest: f32,
}

impl List {
    /// The list for so many of a segment's rows; `varied` if what it keeps of them differs.
    pub(super) fn of(count: u32, rows: usize, varied: bool, counts: bool) -> Self {
        let form = match () {
            () if !counts => Form::Silent,
            () if count > SHORT && count as usize * 5 > rows => Form::Common,
            () if varied => Form::Varied,
            () => Form::Once,
        };
        Self { count, form, largest: 0.0 }
    }

    fn has_header(self) -> bool {
        self.count > SHORT || self.form == Form::Silent && self.count > 0
    }

    pub(super) fn code(self) -> u8 {
        match self.form {
            _ if self.has_header() => LONG,
            Form::Varied => self.count as u8 | VARIED,
            _ => self.count as u8,
        }
    }

    /// The list of this code, whose bytes begin those given; `None` where these are too few.
    pub(super) fn read(code: u8, bytes: &[u8]) -> Option<Self> {
        if code & !VARIED != LONG {
            let form = if code & VARIED != 0 { Form::Varied } else { Form::Once };
            return Some(Self { count: u32::from(code & !VARIED), form, largest: 0.0 });
        }
        let header: Header = bytemuck::pod_read_unaligned(bytes.get(..size_of::<Header>())?);
        let form = [Form::Varied, Form::Once, Form::Common, Form::Silent];
        Some(Self {
            count: header.count & !(3 << FORM_SHIFT),
            form: form[(header.count >> FORM_SHIFT) as usize],
            largest: header.largest,
        })
    }

    /// Where the rows begin.
    pub(super) fn rows_at(self) -> usize {
        if self.has_header() { size_of::<Header>() } else { 0 }
    }

    /// Where the values begin.
    pub(super) fn values_at(self, keeping: Keeping) -> usize {
        let rows = match self.form {
            Form::Varied | Form::Once => self.count as usize * size_of::<u16>(),
            Form::Common | Form::Silent => 0,
        };
        match keeping {
            Keeping::Weights => self.rows_at() + rows.next_multiple_of(size_of::<f32>()),
            Keeping::Levels => self.rows_at() + rows,
        }
    }

    /// Bytes of all of it, in a segment of so many rows.
    pub(super) fn size(self, rows: usize, keeping: Keeping) -> usize {
        let values = match self.form {
            Form::Varied => self.count as usize,
            Form::Common => rows,
            Form::Once | Form::Silent => 0,
        };
        let values = match keeping {
            Keeping::Weights => values * size_of::<f32>(),
            // Two levels to a byte, and the rows of the next list at an even place.
            Keeping::Levels => values.div_ceil(2).next_multiple_of(size_of::<u16>()),
        };
        self.values_at(keeping) + values
    }

    /// Writes the header, where it has one.
    pub(super) fn write(self, bytes: &mut [u8]) {
        if self.has_header() {
            let count = self.count | (self.form as u32) << FORM_SHIFT;
            let header = Header { count, largest: self.largest };
            bytes[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
        }
    }

    /// Takes its bytes apart; `None` if they are not where they should be.
    pub(super) fn postings(
        self,
        bytes: &[u8],
        rows: usize,
        keeping: Keeping,
    ) -> Option<Postings<'_>> {
        let bytes = bytes.get(..self.size(rows, keeping))?;
        let (head, values) = bytes.split_at(self.values_at(keeping));
        let values = match keeping {
            _ if matches!(self.form, Form::Once | Form::Silent) => Values::Once,
            Keeping::Weights => Values::Weights(bytemuck::try_cast_slice(values).ok()?),
            Keeping::Levels => Values::Levels(values),
        };
        Some(match self.form {
            Form::Common => Postings::Common { values, largest: self.largest },
            Form::Silent => Postings::Rare { rows: &[], values },
            Form::Varied | Form::Once => {
                let rows = bytemuck::try_cast_slice(&head[self.rows_at()..]).ok()?;
                Postings::Rare { rows: rows.get(..self.count as usize)?, values }
            }
        })
    }
}

/// What a list keeps of its rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Values<'a> {
    Weights(&'a [f32]),
    /// Two to a byte, the first in its lower half.
    Levels(&'a [u8]),
    /// The term occurs once in each.
    Once,
}

impl Values<'_> {
    /// That of one row; what is common and not there is zero.
    pub(super) fn get(self, at: usize) -> f32 {
        match self {
            Values::Weights(weights) => weights[at],
            Values::Levels(levels) => ROOTS[usize::from(levels[at / 2] >> (at % 2 * 4) & 15)],
            Values::Once => 1.0,
        }
    }
}

/// Writes a level among those of a list.
pub(super) fn set_level(levels: &mut [u8], at: usize, level: u8) {
    levels[at / 2] |= level << (at % 2 * 4);
}

/// The skills of one segment that have a term, and what it counts in each.
#[derive(Debug, Clone, Copy)]
pub(super) enum Postings<'a> {
    /// Few have it: the rows that do, ascending.
    Rare { rows: &'a [u16], values: Values<'a> },
    /// Many have it: every row has a value, zero for those that do not. The value of any row is at
    /// hand.
    Common { values: Values<'a>, largest: f32 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counts_or_a_little_less() {
        for count in 1..=300 {
            let least = COUNTS[usize::from(level(count))];
            assert!(least <= count && (count > 160 || f64::from(count) <= f64::from(least) * 2.0));
        }
        for level in 1..16 {
            assert_eq!(ROOTS[level], f64::from(COUNTS[level]).sqrt() as f32);
        }
    }

    #[test]
    fn a_list_says_of_itself_what_it_is() {
        for count in [0, 1, 2, 126, 127, 5000] {
            for (varied, counts) in [(true, true), (false, true), (false, false)] {
                for keeping in [Keeping::Weights, Keeping::Levels] {
                    let list = List::of(count, 9000, varied, counts);
                    // Where a list begins in a file is even, and with weights a multiple of four.
                    let mut aligned = vec![0_u32; list.size(9000, keeping).div_ceil(4)];
                    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut aligned);
                    let bytes = &mut bytes[..list.size(9000, keeping)];
                    list.write(bytes);
                    let read = List::read(list.code(), bytes).unwrap();
                    assert_eq!(read.count, count);
                    assert_eq!(read.size(9000, keeping), bytes.len());
                    assert!(read.postings(bytes, 9000, keeping).is_some());
                    assert!(
                        bytes.is_empty() || read.postings(&bytes[1..], 9000, keeping).is_none()
                    );
                }
            }
        }
    }
}
