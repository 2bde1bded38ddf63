//! Which numbers decide what is found and chosen, and what were they fitted to?
//!
//! All of them are the same for every library and every user; nothing is learned at run time. They stand
//! here, and only here, so that a result can name the [`VERSION`] it was made with. Limits that protect
//! (sizes, depths, counts of attempts) stay with what they protect.

/// Goes up with every number here that changes an answer.
pub const VERSION: u32 = 5;

/// The chooser without a model: [`mod@crate::route`].
pub mod chooser {
    use crate::route::ByKind;

    /// What each kind of evidence counts. Fitted to the judged requests of `examples`, `sra`, `metatool`,
    /// `bfcl` and `ultratool-en` together, libraries counting alike (`cargo xtask bench choose`).
    pub const WEIGHTS: ByKind =
        ByKind { words: 1.0, phrases: 1.4, trigger: 0.65, meaning: 2.25, encoder: 0.0 };

    /// The same where there is an encoder. Set before anything was measured with one; weights fitted to the
    /// other folds do no better on the one left out (`cargo xtask bench choose -- --encoder minilm`).
    pub const ENCODED: ByKind =
        ByKind { words: 1.0, phrases: 1.4, trigger: 0.65, meaning: 1.0, encoder: 2.0 };

    /// The evidence that words give an ordinary request of the example library. Below it words count less,
    /// by the square root of the share, and meaning decides: chosen with the same requests in view as
    /// [`LONG`].
    pub const ORDINARY: f64 = 7.0;

    /// From so many sentences on, one of them tells what is wanted, and the others what it is about. In two
    /// or three, each says a part. Chosen with the requests of `examples/unseen` in view (docs/lab/choosing.md).
    pub const LONG: usize = 6;

    /// Where several skills may be given: the next one needs this share of the evidence of the first ...
    pub const CLOSE: f64 = 0.7;
    /// ... and must explain this share of the request's words anew. What both are worth on requests that
    /// need several skills is told in docs/lab/choosing.md.
    pub const NEW: f64 = 0.1;
}

/// When no skill fits: [`crate::route::none`]. Fitted to the judged requests of all folds, to requests that
/// need no skill and to requests meant for other libraries (`cargo xtask bench none`).
pub mod none {
    use crate::route::none::{Rule, Rules};

    /// What words, phrases, meaning, weight, encoder, talk and manner count for a skill without an encoder.
    pub const UNAIDED: Rules = Rules {
        needless: Rule { weights: [1.37, 2.02, 7.58, 0.78, 0.0, -4.08, 3.23], bias: -6.24 },
        foreign: Rule { weights: [0.91, 12.63, 2.6, -0.66, 0.0, 0.0, 0.0], bias: 1.29 },
    };

    /// The same with one (`cargo xtask bench none -- --encoder minilm`).
    pub const ENCODED: Rules = Rules {
        needless: Rule { weights: [1.25, 1.88, 7.57, 0.77, 1.39, -4.06, 3.19], bias: -6.45 },
        foreign: Rule { weights: [0.76, 12.25, 1.96, -0.65, 2.34, 0.0, 0.0], bias: 1.07 },
    };

    /// Where the signs come to less, none is the answer.
    pub const BELOW: f64 = 0.5;
}

/// How sure an answer is: [`mod@crate::route`]. Each is `1 / (1 + exp(-(a + b · x + …)))`, fitted to the same
/// requests, of which two in three are answerable, and one in six each needs no skill or another library.
pub mod confidence {
    /// Of a skill: for itself, for its lead over the second, and for the signs that any skill fits.
    pub const USE: [f64; 3] = [-2.97, 1.79, 0.54];
    /// The same with an encoder.
    pub const USE_ENCODED: [f64; 3] = [-2.76, 1.66, 0.49];

    /// Of none: for itself, and for these signs.
    pub const NONE: [f64; 2] = [2.27, -0.34];
    /// The same with an encoder.
    pub const NONE_ENCODED: [f64; 2] = [2.09, -0.40];
}

/// The test by which a library finds out whether vectors are of use: [`crate::search::tuning`].
pub mod tuning {
    /// Items at most: enough for a mean, few enough for a slow model.
    pub const ITEMS: usize = 400;

    /// Skills searched at most, the items among them.
    pub const SEARCHED: usize = 4000;

    /// Hits among which an item is looked for.
    pub const DEPTH: usize = 10;

    /// What vectors count beside words: with equal weight fusion loses first places, with half
    /// of it hardly any (docs/decisions/vectors-in-search.md).
    pub const DENSE: f64 = 0.5;

    /// A retriever that finds less than this share of what the other finds is left out.
    pub const USELESS: f64 = 0.4;

    /// Bytes that must be left of a skill without the sentence that asks for it; else its description is
    /// halved.
    pub const ENOUGH: usize = 80;
}

/// What words and pages count in an index: [`crate::index`].
pub mod index {
    /// People ask in words that few documents of tools have, and rarity would make them count: "I want
    /// you to", "please". In a request they are no rarer than words that two of five documents have. To
    /// drop them is as good for short descriptions, and worse where "if" and "not" are the matter.
    pub const MOST_IDLE: f32 = 0.4;

    /// Words of a description that count where pages do; of 25,000 skills in the judged libraries one in
    /// ninety has more.
    pub const TOLD: usize = 100;

    /// What a page counts beside its document where a vector is a sum of words: in one text with a long
    /// document it would drown (measured in docs/lab/local-pages.md).
    pub const PAGE: f32 = 0.35;
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// Whoever changes a number sees here that the version goes up too.
    #[test]
    fn a_changed_number_is_a_new_version() {
        let chooser = (
            chooser::WEIGHTS,
            chooser::ENCODED,
            (chooser::ORDINARY, chooser::LONG),
            (chooser::CLOSE, chooser::NEW),
        );
        let none = (none::UNAIDED, none::ENCODED, none::BELOW);
        let confidence =
            (confidence::USE, confidence::USE_ENCODED, confidence::NONE, confidence::NONE_ENCODED);
        let tuning = (
            (tuning::ITEMS, tuning::SEARCHED, tuning::DEPTH, tuning::ENOUGH),
            (tuning::DENSE, tuning::USELESS),
        );
        let index = (index::MOST_IDLE, index::TOLD, index::PAGE);
        expect![[r#"
            5
            (ByKind { words: 1.0, phrases: 1.4, trigger: 0.65, meaning: 2.25, encoder: 0.0 }, ByKind { words: 1.0, phrases: 1.4, trigger: 0.65, meaning: 1.0, encoder: 2.0 }, (7.0, 6), (0.7, 0.1))
            (Rules { needless: Rule { weights: [1.37, 2.02, 7.58, 0.78, 0.0, -4.08, 3.23], bias: -6.24 }, foreign: Rule { weights: [0.91, 12.63, 2.6, -0.66, 0.0, 0.0, 0.0], bias: 1.29 } }, Rules { needless: Rule { weights: [1.25, 1.88, 7.57, 0.77, 1.39, -4.06, 3.19], bias: -6.45 }, foreign: Rule { weights: [0.76, 12.25, 1.96, -0.65, 2.34, 0.0, 0.0], bias: 1.07 } }, 0.5)
            ([-2.97, 1.79, 0.54], [-2.76, 1.66, 0.49], [2.27, -0.34], [2.09, -0.4])
            ((400, 4000, 10, 80), (0.5, 0.4))
            (0.4, 100, 0.35)
        "#]]
        .assert_eq(&format!("{VERSION}\n{chooser:?}\n{none:?}\n{confidence:?}\n{tuning:?}\n{index:?}\n"));
    }
}
