//! How is Fingerpost put to the work?

use anyhow::Context;
use fingerpost::eval::Query;
use fingerpost::index::{Hit, Scratch, SparseConfig, SparseIndex, Zeros};
use fingerpost::library::Library;
use fingerpost::page::Pages;
use fingerpost::text::{Tokenizer, for_each_term};
use fingerpost::view::document;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::sparse::K;

/// BM25 over the whole document, as in the paper's baseline.
pub(crate) fn config(tokenizer: Tokenizer) -> SparseConfig {
    SparseConfig { tokenizer, ..SparseConfig::default() }
}

pub(crate) fn pool(threads: usize) -> anyhow::Result<ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.with_context(|| format!("cannot start {threads} threads"))
}

/// Tokenizes every skill and counts the terms: the share of a build that is no indexing.
pub(crate) fn tokenize(library: &Library, tokenizer: Tokenizer, pool: &ThreadPool) -> usize {
    pool.install(|| {
        let terms = library.skills().par_iter().map(|skill| {
            let mut terms = 0;
            for_each_term(&document(skill), tokenizer, |_| terms += 1);
            terms
        });
        terms.sum()
    })
}

pub(crate) fn build(library: &Library, tokenizer: Tokenizer, pool: &ThreadPool) -> SparseIndex {
    pool.install(|| SparseIndex::build(library, &Pages::default(), &config(tokenizer)))
}

/// The best hits of every request, one working memory a thread.
pub(crate) fn search(index: &SparseIndex, queries: &[Query], pool: &ThreadPool) -> Vec<Vec<Hit>> {
    pool.install(|| {
        let hits = queries.par_iter().map_init(Scratch::default, |scratch, query| {
            index
                .search(&query.text, K, Zeros::Dropped, scratch)
                .expect("an index built in memory is sound")
        });
        hits.collect()
    })
}
