//! What can be typed about how skills are scored.

use clap::Args;
use fingerpost::index::{Bm25, Idf, SparseConfig, SparseModel};
use fingerpost::search::Retriever;
use fingerpost::snapshot::Head;
use fingerpost::text::Tokenizer;
use fingerpost::view::{FieldWeights, View};

use crate::output::UsageError;

/// Which ranking.
#[derive(Debug, Args)]
pub(crate) struct RetrieverArgs {
    /// How skills are scored [default: as `route` does, by all that speaks for each].
    #[arg(long)]
    pub(crate) retriever: Option<Retriever>,
    /// The text of a skill that a retriever searches; with a view and no retriever, that is bm25.
    #[arg(long, value_name = "VIEW")]
    pub(crate) view: Option<View>,
    /// Score to the letter as the benchmark's own toolkit does: its tokenizer, which takes a
    /// Chinese sentence for one word, and its idf.
    #[arg(long)]
    pub(crate) reference: bool,
    /// BM25: how slowly repetition saturates.
    #[arg(long, default_value_t = 1.5, value_name = "X")]
    pub(crate) k1: f64,
    /// BM25: how much length counts, 0 to 1.
    #[arg(long, default_value_t = 0.75, value_name = "X")]
    pub(crate) b: f64,
}

impl RetrieverArgs {
    /// The plain retriever asked for, and its index of terms; `None` for the order of `route`.
    pub(crate) fn plain(&self, head: &Head) -> anyhow::Result<Option<(Retriever, SparseConfig)>> {
        let plain = self.reference
            || self.view.is_some()
            || (self.k1, self.b) != (Bm25::default().k1, Bm25::default().b);
        let retriever = match (self.retriever, plain) {
            (Some(retriever), _) => retriever,
            (None, true) => Retriever::Bm25,
            (None, false) => return Ok(None),
        };
        let mut config = config_of(retriever, self.view.unwrap_or_default(), head);
        let idf = if self.reference { Idf::Reference } else { Idf::Auto };
        if let SparseModel::Bm25(bm25) = &mut config.model {
            *bm25 = Bm25::new(self.k1, self.b, idf).map_err(UsageError::new)?;
        }
        if self.reference && config.tokenizer != Tokenizer::Phrases {
            config.tokenizer = Tokenizer::Reference;
            config.fields = FieldWeights::default();
        }
        Ok(Some((retriever, config)))
    }
}

/// A request that says something.
pub(crate) fn request(text: &str) -> Result<String, &'static str> {
    match text.trim().is_empty() {
        true => Err("it is empty; say what is wanted"),
        false => Ok(text.to_owned()),
    }
}

/// The index of terms that a retriever needs. Whoever names one gets its words as they are, but for the
/// fusion, whose weights were found with the words of the library's own test.
pub(crate) fn config_of(retriever: Retriever, view: View, head: &Head) -> SparseConfig {
    let plain = SparseConfig { view, ..SparseConfig::default() };
    let config = match retriever {
        Retriever::Tfidf => SparseConfig { model: SparseModel::Tfidf, ..plain },
        Retriever::Phrases => SparseConfig::phrases(view),
        Retriever::Hybrid => head.tuning.config(view),
        Retriever::Bm25 | Retriever::Dense | Retriever::RoundRobin => plain,
    };
    SparseConfig { extent: head.extent(view), ..config }
}
