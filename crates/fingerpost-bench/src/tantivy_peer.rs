//! How fast does tantivy index the same terms and answer the same requests?
//!
//! Its terms come from our tokenizer, its index lies in memory in one segment and holds what BM25
//! needs (frequencies and lengths, no positions, no stored text), and a request is the disjunction
//! of its distinct terms. The scores cannot be ours: tantivy fixes k1 and b and keeps a length in
//! one byte.

use anyhow::Context;
use fingerpost::eval::Query;
use fingerpost::library::Library;
use fingerpost::text::{Tokenizer as Rule, for_each_term};
use fingerpost::view;
use rayon::ThreadPool;
use rayon::prelude::*;
use tantivy::collector::TopDocs;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::BooleanQuery;
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{DocAddress, Index, IndexWriter, Searcher, TantivyDocument, Term};

use crate::sparse::K;

/// Memory of each writer thread: enough for its share of the library in one segment.
const WRITER_MEMORY: usize = 1 << 30;

const TOKENIZER: &str = "ours";

/// An index that has been committed.
pub(crate) struct Built {
    index: Index,
    writer: IndexWriter,
    text: Field,
}

/// An index of one segment, open for search.
pub(crate) struct Peer {
    searcher: Searcher,
    text: Field,
}

/// Texts to a committed index. Each writer thread leaves a segment; joining them is not counted
/// here, see [`Built::open`].
pub(crate) fn build(library: &Library, threads: usize) -> anyhow::Result<Built> {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs);
    let mut schema = Schema::builder();
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let row = schema.add_u64_field("row", FAST);
    let index = Index::create_in_ram(schema.build());
    index.tokenizers().register(TOKENIZER, OurTokenizer::default());
    let mut writer: IndexWriter =
        index.writer_with_num_threads(threads, threads * WRITER_MEMORY)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for (at, skill) in (0..).zip(library.skills()) {
        let mut document = TantivyDocument::default();
        document.add_text(text, view::document(skill));
        document.add_u64(row, at);
        writer.add_document(document)?;
    }
    writer.commit()?;
    Ok(Built { index, writer, text })
}

impl Built {
    /// Joins the segments and opens the one.
    pub(crate) fn open(mut self) -> anyhow::Result<Peer> {
        let segments = self.index.searchable_segment_ids()?;
        if segments.len() > 1 {
            self.writer.merge(&segments).wait()?;
        }
        self.writer.wait_merging_threads()?;
        let searcher = self.index.reader()?.searcher();
        let segments = searcher.segment_readers().len();
        anyhow::ensure!(segments == 1, "tantivy has {segments} segments after the merge");
        Ok(Peer { searcher, text: self.text })
    }
}

impl Peer {
    /// The best hits of every request, as addresses in tantivy's own order of documents.
    pub(crate) fn search(
        &self,
        queries: &[Query],
        pool: &ThreadPool,
    ) -> anyhow::Result<Vec<Vec<(f32, DocAddress)>>> {
        pool.install(|| queries.par_iter().map(|query| self.search_one(query)).collect())
    }

    fn search_one(&self, query: &Query) -> anyhow::Result<Vec<(f32, DocAddress)>> {
        let mut terms = Vec::new();
        for_each_term(&query.text, Rule::Reference, |term| {
            terms.push(Term::from_field_text(self.text, term));
        });
        terms.sort_unstable();
        terms.dedup();
        let query = BooleanQuery::new_multiterms_query(terms);
        let best = TopDocs::with_limit(K).order_by_score();
        self.searcher.search(&query, &best).context("tantivy cannot answer a request")
    }

    /// The library's rows of such hits.
    pub(crate) fn rows(&self, hits: &[(f32, DocAddress)]) -> anyhow::Result<Vec<u32>> {
        let rows = self.searcher.segment_reader(0).fast_fields().u64("row")?;
        let row = |&(_, at): &(f32, DocAddress)| rows.first(at.doc_id).map(|row| row as u32);
        hits.iter().map(|hit| row(hit).context("a document has no row")).collect()
    }
}

/// Hands tantivy the terms that our tokenizer finds.
#[derive(Clone, Default)]
struct OurTokenizer {
    terms: String,
    ends: Vec<usize>,
    token: Token,
}

struct OurTerms<'a> {
    tokenizer: &'a mut OurTokenizer,
    next: usize,
    start: usize,
}

impl Tokenizer for OurTokenizer {
    type TokenStream<'a> = OurTerms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> OurTerms<'a> {
        self.terms.clear();
        self.ends.clear();
        self.token.reset();
        for_each_term(text, Rule::Reference, |term| {
            self.terms.push_str(term);
            self.ends.push(self.terms.len());
        });
        OurTerms { tokenizer: self, next: 0, start: 0 }
    }
}

impl TokenStream for OurTerms<'_> {
    fn advance(&mut self) -> bool {
        let OurTokenizer { terms, ends, token } = &mut *self.tokenizer;
        let Some(&end) = ends.get(self.next) else { return false };
        token.text.clear();
        token.text.push_str(&terms[self.start..end]);
        token.position = self.next;
        self.start = end;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }
}
