//! Does a request read like one that a skill is for, or like one that any model answers by itself?
//!
//! "Thanks, that worked", "make it shorter", "who wrote that", "what's 17 times 23": whatever the library, such
//! requests sound alike, and unlike "merge these two PDFs". A linear model over words and pairs of neighboring
//! words tells them apart. It is a table of one byte for each of [`BUCKETS`] buckets that words are hashed into,
//! made by `cargo xtask bench none -- --table FILE` from requests that people of many trades might type
//! (`examples/none/written.jsonl`) and from the judged requests of the folds.

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

/// Places of the table: more of them tell no better, a quarter of them does a little worse.
pub const BUCKETS: usize = 1 << 15;

/// Characters of a request that are read at most.
const READ: usize = 4000;

/// What each bucket speaks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Manner {
    weights: Vec<i8>,
    /// What one step of a weight counts.
    step: f32,
    bias: f32,
}

static SHIPPED: LazyLock<Manner> = LazyLock::new(|| {
    Manner::from_bytes(include_bytes!("manner.bin")).expect("the table of the program is whole")
});

impl Manner {
    /// The one that is part of the program.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Rounds weights to bytes.
    ///
    /// # Panics
    /// If there is not one for each bucket.
    pub fn new(bias: f64, weights: &[f64]) -> Self {
        assert_eq!(weights.len(), BUCKETS, "a weight for each bucket");
        let most = weights.iter().fold(f64::MIN_POSITIVE, |most, weight| most.max(weight.abs()));
        let step = most / f64::from(i8::MAX);
        let weights = weights.iter().map(|weight| (weight / step).round() as i8).collect();
        Self { weights, step: step as f32, bias: bias as f32 }
    }

    /// As it lies in a file: bias and step, then the weights.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [self.bias, self.step].into_iter().flat_map(f32::to_le_bytes);
        head.chain(self.weights.iter().map(|weight| weight.to_le_bytes()[0])).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (bias, rest) = bytes.split_first_chunk()?;
        let (step, weights) = rest.split_first_chunk()?;
        let weights: Vec<i8> = weights.iter().map(|&byte| i8::from_le_bytes([byte])).collect();
        let [bias, step] = [bias, step].map(|bytes| f32::from_le_bytes(*bytes));
        (weights.len() == BUCKETS).then_some(Self { weights, step, bias })
    }

    /// Above zero it reads like a request for a skill, below like one that needs none. A request without words
    /// says nothing.
    pub fn of(&self, request: &str) -> f64 {
        self.of_buckets(&buckets(request))
    }

    /// The same of a request's [`buckets()`].
    pub fn of_buckets(&self, buckets: &[u16]) -> f64 {
        if buckets.is_empty() {
            return 0.0;
        }
        let sum: i64 = buckets.iter().map(|&bucket| i64::from(self.weights[bucket as usize])).sum();
        f64::from(self.bias) + f64::from(self.step) * sum as f64 / (buckets.len() as f64).sqrt()
    }
}

/// The buckets of a request's words and pairs of neighboring words, each once, in order; where it begins and
/// ends counts as a word. Each speaks with a weight of 1 / √ of how many there are, so that length has no part in it.
pub fn buckets(request: &str) -> Vec<u16> {
    let words = words(request);
    if words.is_empty() {
        return Vec::new();
    }
    let place = |feature: &str| (xxh3_64(feature.as_bytes()) % BUCKETS as u64) as u16;
    let edge = String::new();
    let around = || [&edge].into_iter().chain(&words).chain([&edge]);
    let pairs = around().zip(around().skip(1));
    let pairs = pairs.map(|(first, second)| place(&format!("{first} {second}")));
    let mut buckets: Vec<u16> = words.iter().map(|word| place(word)).chain(pairs).collect();
    buckets.sort_unstable();
    buckets.dedup();
    buckets
}

/// Words in lower case; each sign and each Chinese character is one, and so is any number, whichever it is.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = Part::Gap;
    for c in text.chars().take(READ).flat_map(char::to_lowercase) {
        let part = Part::of(c, last);
        match part {
            Part::Gap => {}
            Part::Number if last == Part::Number => {}
            Part::Number => words.push("0".into()),
            Part::Word if last == Part::Word => {
                words.last_mut().expect("a word has begun").push(c);
            }
            Part::Word | Part::Sign => words.push(c.into()),
        }
        last = part;
    }
    words
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Word,
    Number,
    /// By itself.
    Sign,
    Gap,
}

impl Part {
    fn of(c: char, last: Part) -> Self {
        let stands_alone = matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        match c {
            _ if c.is_whitespace() || c.is_control() => Part::Gap,
            // "What's" and "can't" are one word each.
            '\'' | '’' if last == Part::Word => Part::Word,
            _ if stands_alone => Part::Sign,
            _ if c.is_numeric() => Part::Number,
            _ if c.is_alphabetic() => Part::Word,
            _ => Part::Sign,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_signs_and_numbers() {
        let words = |text| words(text).join("|");
        assert_eq!(words("What's 17 times 23?"), "what's|0|times|0|?");
        assert_eq!(words("合并PDF，3份"), "合|并|pdf|，|0|份");
        assert_eq!(words(" \u{7} "), "");
        assert!(buckets("").is_empty());
        assert_eq!(Manner::shipped().of(""), 0.0);
    }

    #[test]
    fn a_table_survives_its_bytes() {
        let weights: Vec<f64> = (0..BUCKETS).map(|at| (at % 255) as f64 - 127.0).collect();
        let manner = Manner::new(0.25, &weights);
        assert_eq!(Manner::from_bytes(&manner.to_bytes()), Some(manner.clone()));
        assert_eq!(Manner::from_bytes(&manner.to_bytes()[1..]), None);
    }
}
