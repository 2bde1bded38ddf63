//! How are rivals kept in a generation?
//!
//! As a file of sections, so that one skill's list is read without the others. The number of a row is
//! that of the skill in the generation.

use super::{Rival, Rivals};
use crate::sections::{Draft, FileError, Format, Sections};
use crate::skill::SkillIdx;
use crate::store::Blob;

const FORMAT: Format = Format { magic: *b"FPRIVALS", version: 1, kind: "file of rivals" };

/// The parts of the file, in their order.
#[derive(Clone, Copy)]
enum Part {
    /// Where each skill's rivals end.
    Ends,
    Rows,
    Weights,
    /// Where each skill's copies end.
    CopyEnds,
    Copies,
}

const PARTS: usize = Part::Copies as usize + 1;

/// The rivals of a generation, as they are kept.
#[derive(Debug)]
pub(crate) struct MappedRivals {
    file: Sections,
    count: usize,
}

impl Rivals {
    /// The bytes of a file of these.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (lists, copies) = (&self.lists, &self.copies);
        let sum = |lengths: &mut dyn Iterator<Item = usize>| lengths.sum::<usize>();
        let rivals = sum(&mut lists.iter().map(Vec::len));
        let copied = sum(&mut copies.iter().map(Vec::len));
        let mut draft =
            Draft::new(&[lists.len(), rivals, rivals, copies.len(), copied].map(|size| size * 4));
        draft.fill(Part::Ends as usize, ends(lists.iter().map(Vec::len)));
        draft.fill(Part::Rows as usize, lists.iter().flatten().map(|rival| rival.skill.0));
        draft.fill(Part::Weights as usize, lists.iter().flatten().map(|rival| rival.weight));
        draft.fill(Part::CopyEnds as usize, ends(copies.iter().map(Vec::len)));
        draft.fill(Part::Copies as usize, copies.iter().flatten().map(|copy| copy.0));
        draft.finish(&FORMAT).bytes().to_vec()
    }
}

fn ends(lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = u32> {
    lengths.scan(0, |end, length| {
        *end += length as u32;
        Some(*end)
    })
}

impl MappedRivals {
    /// Takes the bytes of a library of so many skills, checking what they claim to be.
    pub(crate) fn open(blob: Blob, skills: usize) -> Result<Self, FileError> {
        let file = Sections::open(blob, &FORMAT, PARTS)?;
        let damaged = |what| Err(FileError::Damaged { what });
        let lengths = [Part::Ends, Part::CopyEnds].map(|part| file.len::<u32>(part as usize));
        if lengths != [skills; 2] {
            return damaged("it is of another generation");
        }
        if file.len::<u32>(Part::Rows as usize) != file.len::<f32>(Part::Weights as usize) {
            return damaged("its lists do not fit each other");
        }
        Ok(Self { file, count: skills })
    }

    /// The rivals of one skill, those that win most first.
    pub(crate) fn of(&self, skill: SkillIdx) -> Vec<Rival> {
        let range = self.range(Part::Ends, Part::Rows, skill);
        let rows: &[u32] = self.file.slice(Part::Rows as usize, range.clone());
        let weights: &[f32] = self.file.slice(Part::Weights as usize, range);
        let rivals = rows.iter().zip(weights);
        let rivals = rivals.map(|(&row, &weight)| Rival { skill: SkillIdx(row), weight });
        rivals.filter(|rival| rival.skill.row() < self.count).collect()
    }

    /// The skills whose documents say the same as that of one.
    pub(crate) fn copies(&self, skill: SkillIdx) -> Vec<SkillIdx> {
        let range = self.range(Part::CopyEnds, Part::Copies, skill);
        let copies: &[u32] = self.file.slice(Part::Copies as usize, range);
        copies.iter().map(|&row| SkillIdx(row)).filter(|copy| copy.row() < self.count).collect()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Rivals {
        let skills = || (0..self.count as u32).map(SkillIdx);
        Rivals {
            lists: skills().map(|skill| self.of(skill)).collect(),
            copies: skills().map(|skill| self.copies(skill)).collect(),
        }
    }

    /// Was everything sound that was read so far?
    pub(crate) fn sound(&self) -> Result<(), FileError> {
        self.file.sound()
    }

    /// Is all of it sound?
    pub(crate) fn check(&self) -> Result<(), FileError> {
        self.file.check_all()
    }

    /// Where a skill's list stands; nowhere, if the file says something impossible.
    fn range(&self, ends: Part, of: Part, skill: SkillIdx) -> std::ops::Range<usize> {
        let end = |row: usize| self.file.get::<u32>(ends as usize, row) as usize;
        let start = skill.row().checked_sub(1).map_or(0, end);
        let range = start..end(skill.row());
        let fits = range.start <= range.end && range.end <= self.file.len::<u32>(of as usize);
        if fits { range } else { 0..0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_found() {
        let rival = |row, weight| Rival { skill: SkillIdx(row), weight };
        let rivals = Rivals {
            lists: vec![vec![rival(2, 0.5), rival(1, 0.25)], vec![], vec![rival(0, 0.5)]],
            copies: vec![vec![], vec![SkillIdx(2)], vec![SkillIdx(1)]],
        };
        let bytes = rivals.to_bytes();
        let blob = || Blob::of(&bytes);
        let file = MappedRivals::open(blob(), 3).unwrap();
        assert_eq!(file.all(), rivals);
        file.check().unwrap();
        assert!(MappedRivals::open(blob(), 4).is_err(), "it is of a library of three");
        for at in (0..bytes.len()).step_by(7) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x55;
            let Ok(file) = MappedRivals::open(Blob::of(&bytes), 3) else { continue };
            let same = file.all() == rivals;
            assert!(same || file.sound().is_err(), "byte {at}");
        }
    }
}
