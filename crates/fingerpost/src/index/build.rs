//! How does a library become postings?
//!
//! Chunks of skills are counted in parallel, each with a vocabulary of its own; the chunks are then
//! joined in order. Terms are numbered by the order in which they are first met, then put into that of
//! their hashes, so neither the number of threads nor the cut into chunks shows in the result.

use rayon::prelude::*;

use super::dictionary::Dictionary;
use super::file::{FORMAT, Meta, PARTS, Part};
use super::postings::{Form, Keeping, List, ROOTS, SEGMENT, level, rows_of, set_level};
use super::vocabulary::Vocabulary;
use super::{SparseConfig, SparseModel};
use crate::library::Library;
use crate::page::Pages;
use crate::sections::{Draft, Sections};
use crate::skill::SkillIdx;
use crate::snapshot::made_from;
use crate::text::for_each_term;
use crate::view::weighted_text;

/// Skills counted as one piece of work: enough of them to share a vocabulary.
const CHUNK: usize = 1024;

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
    let dictionary = Dictionary::of(&vocabulary, |term| config.tokenizer.worth(term) < 1.0);
    drop(vocabulary);
    // From here on a term is known by its rank in the file.
    let mut ranks = vec![0_u32; dictionary.terms.len()];
    (0..).zip(&dictionary.terms).for_each(|(rank, &term)| ranks[term as usize] = rank);
    let idf: Vec<f64> = dictionary.terms.iter().map(|&term| idf[term as usize]).collect();
    chunks.par_iter_mut().for_each(|chunk| {
        chunk.counts.iter_mut().for_each(|(term, _)| *term = ranks[*term as usize]);
    });
    drop(ranks);

    let keeping = config.model.keeping();
    let places = Places::of(&chunks, &idf, &dictionary.starts, n, keeping);
    let pages_digest = match config.view.reads_pages() {
        true => pages.digest().to_hex().to_string(),
        false => String::new(),
    };
    let meta = Meta {
        config: *config,
        made_from: made_from(&library.digest().to_hex(), &pages_digest, config.view),
        skills: n,
        terms: idf.len(),
        seed: dictionary.seed,
    };
    let meta = serde_json::to_vec(&meta).expect("plain data");
    let mut sizes = [0; PARTS];
    for (part, size) in [
        (Part::Meta, meta.len()),
        (Part::Buckets, dictionary.starts.len() * 4),
        (Part::Tags, dictionary.tags.len() * 4),
        (Part::Codes, places.lists.len()),
        (Part::ListStarts, places.bucket_starts.len() * 8),
        (Part::Lists, places.bytes),
        (Part::Norms, if keeping == Keeping::Levels { n * 4 } else { 0 }),
    ] {
        sizes[part as usize] = size;
    }
    let mut draft = Draft::new(&sizes);
    draft.fill(Part::Meta as usize, meta);
    draft.fill(Part::Buckets as usize, dictionary.starts);
    draft.fill(Part::Tags as usize, dictionary.tags);
    draft.fill(Part::Codes as usize, places.lists.iter().map(|list| list.code()));
    draft.fill(Part::ListStarts as usize, places.bucket_starts.iter().copied());
    let lists = draft.part(Part::Lists as usize);
    let norms = place_postings(lists, chunks, &idf, places, config.model);
    if keeping == Keeping::Levels {
        draft.fill(Part::Norms as usize, norms);
    }
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
        let SparseConfig { view, extent, fields, .. } = *config;
        let text = weighted_text(library, pages, skill, view, extent, fields);
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
    lists: Vec<List>,
    /// First byte of each.
    starts: Vec<u64>,
    /// First byte of each bucket's.
    bucket_starts: Vec<u64>,
    bytes: usize,
}

impl Places {
    /// A term that counts nothing anywhere needs no postings.
    fn of(
        chunks: &[Counted],
        idf: &[f64],
        buckets: &[u32],
        skills: usize,
        keeping: Keeping,
    ) -> Self {
        let segments = skills.div_ceil(SEGMENT);
        let mut counts = vec![(0_u32, keeping == Keeping::Weights); segments * idf.len()];
        for (at, chunk) in chunks.iter().enumerate() {
            let segment = &mut counts[at * CHUNK / SEGMENT * idf.len()..][..idf.len()];
            for &(term, tf) in &chunk.counts {
                let (count, varied) = &mut segment[term as usize];
                *count += 1;
                *varied |= tf > 1;
            }
        }
        let mut places = Self {
            lists: Vec::with_capacity(counts.len()),
            starts: Vec::with_capacity(counts.len()),
            bucket_starts: Vec::with_capacity(segments * buckets.len()),
            bytes: 0,
        };
        for segment in 0..segments {
            let rows = rows_of(segment, skills);
            for bucket in buckets.windows(2) {
                places.bucket_starts.push(places.bytes as u64);
                for rank in bucket[0] as usize..bucket[1] as usize {
                    let (count, varied) = counts[segment * idf.len() + rank];
                    let list = List::of(count, rows, varied, idf[rank] != 0.0);
                    places.starts.push(places.bytes as u64);
                    places.bytes += list.size(rows, keeping);
                    places.lists.push(list);
                }
            }
        }
        places
    }
}

/// Writes each skill's weights to the places of its terms; rows ascend within a term because
/// skills are taken in order. Gives what the length of each skill makes of them.
fn place_postings(
    bytes: &mut [u8],
    chunks: Vec<Counted>,
    idf: &[f64],
    mut places: Places,
    model: SparseModel,
) -> Vec<f32> {
    const _: () = assert!(SEGMENT.is_multiple_of(CHUNK), "no chunk lies in two segments");
    let keeping = model.keeping();
    let mut placed = vec![0_u32; places.lists.len()];
    let skills: usize = chunks.iter().map(|chunk| chunk.lengths.len()).sum();
    let length: u64 = chunks.iter().flat_map(|chunk| &chunk.lengths).map(|&l| u64::from(l)).sum();
    let mean_length = length as f64 / skills.max(1) as f64;
    let mut norms = Vec::with_capacity(skills);
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
            norms.push(scale as f32);
            for count in counts {
                let (term, level) = (count.0 as usize, level(count.1));
                let (list, at) = (&mut places.lists[segment + term], placed[segment + term]);
                placed[segment + term] += 1;
                let bytes = &mut bytes[places.starts[segment + term] as usize..];
                let in_segment = row % SEGMENT;
                let at = if list.form == Form::Common { in_segment } else { at as usize };
                if matches!(list.form, Form::Varied | Form::Once) {
                    let rows = &mut bytes[list.rows_at()..];
                    rows[at * 2..][..2].copy_from_slice(&(in_segment as u16).to_ne_bytes());
                }
                if matches!(list.form, Form::Once | Form::Silent) {
                    continue;
                }
                let values = &mut bytes[list.values_at(keeping)..];
                let counts = match keeping {
                    Keeping::Weights => {
                        let weight = (weight(count) * scale) as f32;
                        values[at * 4..][..4].copy_from_slice(&weight.to_ne_bytes());
                        weight
                    }
                    Keeping::Levels => {
                        set_level(values, at, level);
                        ROOTS[usize::from(level)] * scale as f32
                    }
                };
                list.largest = list.largest.max(counts.abs());
            }
            row += 1;
        }
    }
    for (list, &start) in places.lists.iter().zip(&places.starts) {
        list.write(&mut bytes[start as usize..]);
    }
    norms
}
