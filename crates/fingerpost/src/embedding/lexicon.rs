//! Which words mean nearly the same, in any library?
//!
//! A library of short descriptions cannot tell by itself that "cheap" is near "price". A table of English
//! word vectors can, and is small enough to be a part of the program (`lexicon/NOTICE.md` says whose they
//! are, `tools/lexicon.py` how it was made). A text's vector is the mean of its words'. Words it does not
//! know, and other languages, count nothing.

use std::sync::LazyLock;

use rayon::prelude::*;

use super::{Vectors, normalise};

/// The table as it lies in the program.
static WORDS: &[u8] = include_bytes!("lexicon/words.bin");

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(WORDS));

/// Longer words are names, hashes or noise.
const MAX_WORD: usize = 40;

/// Vectors of English words and of pieces of words.
#[derive(Debug)]
pub struct Lexicon {
    dimensions: usize,
    /// What a number of each row counts.
    scales: Vec<f32>,
    /// A byte a number, row after row.
    rows: &'static [i8],
    /// Where each piece ends in `text`.
    ends: Vec<u32>,
    /// All pieces in order, one after another; "##" begins one that goes on inside a word.
    text: &'static [u8],
}

impl Lexicon {
    /// The one that comes with the program.
    pub fn get() -> &'static Self {
        &LEXICON
    }

    fn read(bytes: &'static [u8]) -> Self {
        let (head, rest) = bytes.split_at(16);
        assert_eq!(&head[..8], b"fplexic1", "the program's own table");
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let (count, dimensions) = (number(&head[8..12]) as usize, number(&head[12..]) as usize);
        let (scales, rest) = rest.split_at(4 * count);
        let (rows, rest) = rest.split_at(dimensions * count);
        let (ends, text) = rest.split_at(4 * count);
        Self {
            dimensions,
            scales: scales.chunks_exact(4).map(|bytes| f32::from_bits(number(bytes))).collect(),
            rows: bytemuck::cast_slice(rows),
            ends: ends.chunks_exact(4).map(number).collect(),
            text,
        }
    }

    /// What a text means: the mean of its words, of length one; all zeros if it has no known word.
    /// Identifiers are read as words (`departure_date`, `getWeather`).
    pub fn meaning(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.dimensions];
        for_each_word(text, |word| self.add(word, &mut sum));
        normalise(&mut sum);
        sum
    }

    /// What each of many texts means, a row a text.
    pub fn meanings(&self, texts: &[String]) -> Vectors {
        let rows: Vec<Vec<f32>> = texts.par_iter().map(|text| self.meaning(text)).collect();
        Vectors::new(self.dimensions, rows.concat()).rounded()
    }

    /// Adds the vectors of a word's pieces: the longest that begins it, then the longest that goes on. A
    /// word that cannot be put together from pieces adds nothing.
    fn add(&self, word: &str, sum: &mut [f32]) {
        let mut pieces = [0_usize; MAX_WORD];
        let (mut at, mut count) = (0, 0);
        let mut piece = String::with_capacity(word.len() + 2);
        while at < word.len() {
            let longest = (at + 1..=word.len()).rev().find_map(|end| {
                piece.clear();
                piece.push_str(if at == 0 { "" } else { "##" });
                piece.push_str(&word[at..end]);
                Some((self.find(&piece)?, end))
            });
            let Some((found, end)) = longest else { return };
            pieces[count] = found;
            count += 1;
            at = end;
        }
        for &piece in &pieces[..count] {
            let row = &self.rows[piece * self.dimensions..(piece + 1) * self.dimensions];
            let scale = self.scales[piece];
            sum.iter_mut().zip(row).for_each(|(sum, &value)| *sum += scale * f32::from(value));
        }
    }

    fn find(&self, piece: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.piece(middle).cmp(piece.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn piece(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[at] as usize]
    }
}

/// The words of a text in lower case: runs of ASCII letters and digits, parted where a capital follows a
/// small letter. A run with other Latin letters in it is no English word, and left out whole.
fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut is_foreign = false;
    let mut before = ' ';
    for c in text.chars().chain([' ']) {
        let is_latin = c.is_alphabetic() && c < '\u{250}';
        let parts = !c.is_ascii_alphanumeric() && !is_latin
            || c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if parts {
            if !word.is_empty() && !is_foreign && word.len() <= MAX_WORD {
                each(&word);
            }
            word.clear();
            is_foreign = false;
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if is_latin {
            is_foreign = true;
        }
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::super::dot;
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word.to_owned()));
        words
    }

    fn likeness(a: &str, b: &str) -> f32 {
        let lexicon = Lexicon::get();
        dot(&lexicon.meaning(a), &lexicon.meaning(b))
    }

    #[test]
    fn words_are_english_and_identifiers_are_read_as_words() {
        assert_eq!(
            words("Don't getWeather, HTTPServer"),
            ["don", "t", "get", "weather", "httpserver"]
        );
        assert_eq!(words("departure_date 72bpm"), ["departure", "date", "72bpm"]);
        assert_eq!(words("café 计算QT间期 naïve x"), ["qt", "x"]);
        assert_eq!(words(&"a".repeat(MAX_WORD + 1)), [""; 0]);
    }

    #[test]
    fn pieces_are_in_order_and_each_is_found() {
        let lexicon = Lexicon::get();
        assert!(lexicon.ends.len() > 20_000);
        for at in 0..lexicon.ends.len() {
            let piece = std::str::from_utf8(lexicon.piece(at)).unwrap();
            assert_eq!(lexicon.find(piece), Some(at), "{piece}");
        }
    }

    #[test]
    fn near_words_are_near() {
        assert!(likeness("how much does it cost", "price") > 0.5);
        assert!(
            likeness("how much does it cost", "price")
                > likeness("how much does it cost", "weather") + 0.2
        );
        assert!(
            likeness("yen to dollars", "convert currency")
                > likeness("yen to dollars", "convert pdf")
        );
        assert!((likeness("square root", "square root") - 1.0).abs() < 1e-5);
    }

    #[test]
    fn what_is_not_known_counts_nothing() {
        assert_eq!(likeness("计算校正后的间期", "corrected QT interval"), 0.0);
        assert_eq!(likeness("", ""), 0.0);
        assert_eq!(Lexicon::get().meaning("price 价格"), Lexicon::get().meaning("price"));
    }

    #[test]
    fn vectors_are_those_of_the_model() {
        // The model's own library, the first 128 dimensions; a byte a number is not as exact.
        let check = |a: &str, b: &str, expected: f32| {
            let found = likeness(a, b);
            assert!((found - expected).abs() < 0.005, "{a}, {b}: {found}");
        };
        check("book a table for two", "reserve seats at a restaurant", 0.1907);
        check("how much does it cost", "price", 0.6297);
        check("how much does it cost", "weather", 0.0948);
    }
}
