//! How does a library become postings?
//!
//! Chunks of skills are counted in parallel, each with a vocabulary of its own; the chunks are then
//! joined in order. A term's number is the order in which it is first met, so neither the number
//! of threads nor the cut into chunks shows in the result.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::file::{FORMAT, Meta, PARTS, Part, Postings, SEGMENT, rows_of};
use super::vocabulary::{self, Vocabulary};
use super::{SparseConfig, SparseModel};
use crate::library::Library;
use crate::page::Pages;
use crate::sections::{Draft, Sections, Texts};
use crate::skill::{Skill, SkillIdx};
use crate::snapshot::made_from;
use crate::text::for_each_term;
use crate::view::weighted_text;

/// Skills counted as one piece of work: enough of them to share a vocabulary.
const CHUNK: usize = 1024;

/// Characters of a description kept beside the index, for lists.
const BLURB_CHARS: usize = 240;

/// Counts of one chunk, by the chunk's own term numbers.
struct Counted {
    vocabulary: Vocabulary,
    /// (term, count) of every skill, one after another.
    counts: Vec<(u32, u32)>,
    /// Where each skill's counts end.
    ends: Vec<usize>,
    /// How many terms each skill has, repetitions counted.
    lengths: Vec<u32>,
}

pub(super) fn build(library: &Library, pages: &Pages, config: &SparseConfig) -> Sections {
    let rows: Vec<SkillIdx> = (0..library.skills().len() as u32).map(SkillIdx).collect();
    let mut chunks: Vec<Counted> =
        rows.par_chunks(CHUNK).map(|rows| count(rows, library, pages, config)).collect();

    let mut vocabulary = Vocabulary::default();
    let mut df: Vec<u32> = Vec::new();
    for chunk in &mut chunks {
        let numbers: Vec<u32> = chunk.vocabulary.iter().map(|t| vocabulary.number(t)).collect();
        chunk.vocabulary = Vocabulary::default();
        df.resize(vocabulary.len(), 0);
        for (term, _) in &mut chunk.counts {
            *term = numbers[*term as usize];
            df[*term as usize] += 1;
        }
    }
    let n = library.skills().len();
    let rarity = |(&df, term): (&u32, &str)| config.model.idf(n, df) * config.tokenizer.worth(term);
    let idf: Vec<f64> = df.iter().zip(vocabulary.iter()).map(rarity).collect();

    let places = Places::of(&chunks, &idf, n);
    let meta = Meta {
        config: *config,
        made_from: made_from(
            &library.digest().to_hex(),
            &if config.view.reads_pages() {
                pages.digest().to_hex().to_string()
            } else {
                String::new()
            },
            config.view,
        ),
        skills: n,
        terms: vocabulary.len(),
    };
    let meta = serde_json::to_vec(&meta).expect("plain data");
    let strings = Texts::of(library.skills().iter().flat_map(strings_of));
    let named = |(row, skill): (u32, &Skill)| (xxh3_64(skill.name.as_bytes()), row);
    let mut names: Vec<(u64, u32)> = (0..).zip(library.skills()).map(named).collect();
    names.sort_unstable();
    let slots = vocabulary::slots(&vocabulary);
    let mut sizes = [0; PARTS];
    for (part, size) in [
        (Part::Meta, meta.len()),
        (Part::StringEnds, strings.ends.len() * 8),
        (Part::Strings, strings.text.len()),
        (Part::NameHashes, names.len() * 8),
        (Part::NameRows, names.len() * 4),
        (Part::TermSlots, slots.len() * 8),
        (Part::TermOffsets, (vocabulary.len() + 1) * 4),
        (Part::Terms, vocabulary.text().len()),
        (Part::DocumentFrequency, df.len() * 4),
        (Part::Idf, idf.len() * 4),
        (Part::Largest, idf.len() * 4),
        (Part::PostingStarts, places.starts.len() * 8),
        (Part::Postings, places.bytes()),
    ] {
        sizes[part as usize] = size;
    }
    let mut draft = Draft::new(&sizes);
    draft.fill(Part::Meta as usize, meta);
    draft.fill(Part::StringEnds as usize, strings.ends);
    draft.part::<u8>(Part::Strings as usize).copy_from_slice(&strings.text);
    draft.fill(Part::NameHashes as usize, names.iter().map(|(hash, _)| *hash));
    draft.fill(Part::NameRows as usize, names.iter().map(|(_, row)| *row));
    draft.fill(Part::TermSlots as usize, slots);
    draft.fill(Part::TermOffsets as usize, vocabulary.offsets());
    draft.part::<u8>(Part::Terms as usize).copy_from_slice(vocabulary.text().as_bytes());
    drop(vocabulary);
    draft.fill(Part::DocumentFrequency as usize, df);
    draft.fill(Part::Idf as usize, idf.iter().map(|&idf| idf as f32));
    draft.fill(Part::PostingStarts as usize, places.starts.iter().copied());
    let postings = draft.part(Part::Postings as usize);
    let largest = place_postings(postings, chunks, &idf, places, config.model);
    draft.fill(Part::Largest as usize, largest);
    draft.finish(&FORMAT)
}

fn count(rows: &[SkillIdx], library: &Library, pages: &Pages, config: &SparseConfig) -> Counted {
    let mut counted = Counted {
        vocabulary: Vocabulary::default(),
        counts: vec![],
        ends: vec![],
        lengths: vec![],
    };
    // How often each term of the chunk occurs in the skill at hand, and which do at all.
    let mut occurrences: Vec<u32> = Vec::new();
    let mut present: Vec<u32> = Vec::new();
    for &skill in rows {
        let mut length = 0;
        let text = weighted_text(library, pages, skill, config.view, config.fields);
        for_each_term(&text, config.tokenizer, |term| {
            length += 1;
            let number = counted.vocabulary.number(term);
            if number as usize == occurrences.len() {
                occurrences.push(0);
            }
            let seen = &mut occurrences[number as usize];
            if *seen == 0 {
                present.push(number);
            }
            *seen += 1;
        });
        for number in present.drain(..) {
            let times = std::mem::take(&mut occurrences[number as usize]);
            counted.counts.push((number, times));
        }
        counted.ends.push(counted.counts.len());
        counted.lengths.push(length);
    }
    counted
}

/// Where the postings of each term lie, segment by segment.
struct Places {
    /// First byte of each term's, and the end of the last.
    starts: Vec<u64>,
    /// How many there are.
    counts: Vec<u32>,
}

impl Places {
    /// A term that counts nothing anywhere needs no postings.
    fn of(chunks: &[Counted], idf: &[f64], skills: usize) -> Self {
        let mut counts = vec![0; skills.div_ceil(SEGMENT) * idf.len()];
        for (at, chunk) in chunks.iter().enumerate() {
            let segment = &mut counts[at * CHUNK / SEGMENT * idf.len()..][..idf.len()];
            chunk.counts.iter().for_each(|&(term, _)| segment[term as usize] += 1);
        }
        counts
            .iter_mut()
            .zip(idf.iter().cycle())
            .filter(|(_, idf)| **idf == 0.0)
            .for_each(|(count, _)| *count = 0);
        let mut end = 0;
        let ends = counts.iter().enumerate().map(|(at, &count)| {
            end += Postings::size(count as usize, rows_of(at / idf.len(), skills)) as u64;
            end
        });
        Self { starts: std::iter::once(0).chain(ends).collect(), counts }
    }

    fn bytes(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }
}

/// Writes each skill's weights to the places of its terms; rows ascend within a term because
/// skills are taken in order. Gives the largest weight of each term.
fn place_postings(
    postings: &mut [u8],
    chunks: Vec<Counted>,
    idf: &[f64],
    places: Places,
    model: SparseModel,
) -> Vec<f32> {
    const _: () = assert!(SEGMENT.is_multiple_of(CHUNK), "no chunk lies in two segments");
    let mut placed = vec![0; places.counts.len()];
    let mut largest = vec![0.0_f32; idf.len()];
    let skills: usize = chunks.iter().map(|chunk| chunk.lengths.len()).sum();
    let length: u64 = chunks.iter().flat_map(|chunk| &chunk.lengths).map(|&l| u64::from(l)).sum();
    let mean_length = length as f64 / skills.max(1) as f64;
    let mut row = 0;
    for chunk in chunks {
        let segment = row / SEGMENT * idf.len();
        let mut start = 0;
        for (&end, &length) in chunk.ends.iter().zip(&chunk.lengths) {
            let counts = &chunk.counts[start..end];
            start = end;
            let weight = |&(term, tf): &(u32, u32)| {
                model.weight(idf[term as usize], tf, length, mean_length)
            };
            let scale = if model.normalises() {
                let norm = counts.iter().map(weight).map(|w| w * w).sum::<f64>().sqrt();
                if norm > 0.0 { 1.0 / norm } else { 0.0 }
            } else {
                1.0
            };
            for count in counts {
                let term = count.0 as usize;
                if idf[term] != 0.0 {
                    let weight = (weight(count) * scale) as f32;
                    largest[term] = largest[term].max(weight.abs());
                    let place = segment + term;
                    let (all, at) = (places.counts[place] as usize, placed[place]);
                    placed[place] += 1;
                    let bytes = &mut postings[places.starts[place] as usize..];
                    let in_segment = row % SEGMENT;
                    if Postings::is_common(all, rows_of(row / SEGMENT, skills)) {
                        bytes[in_segment * 4..][..4].copy_from_slice(&weight.to_ne_bytes());
                        continue;
                    }
                    let (rows, weights) = bytes.split_at_mut(Postings::weights_at(all));
                    rows[at * 2..][..2].copy_from_slice(&(in_segment as u16).to_ne_bytes());
                    weights[at * 4..][..4].copy_from_slice(&weight.to_ne_bytes());
                }
            }
            row += 1;
        }
    }
    largest
}

fn strings_of(skill: &Skill) -> [&str; 3] {
    let description = skill.description.as_str();
    let end = description.char_indices().nth(BLURB_CHARS).map_or(description.len(), |(at, _)| at);
    [skill.id.as_str(), &skill.name, &description[..end]]
}
