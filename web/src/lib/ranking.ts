// Which ways of ranking can stand side by side?

export interface Way {
  retriever: string
  view: string
}

export const RETRIEVERS = ['bm25', 'tfidf', 'phrases', 'dense', 'hybrid', 'round-robin']
export const VIEWS = ['raw', 'trigger', 'body', 'full', 'full-boundary', 'doc2query']

/** What a view lets the retriever read. */
export const READS: Record<string, string> = {
  raw: 'the document',
  trigger: 'document, trigger',
  body: 'document, body',
  full: 'document, page',
  'full-boundary': 'document, page, boundary',
  doc2query: 'document, made-up requests',
}

/** By document, and with pages: the comparison that the pages are for. */
export const DOCUMENT: Way = { retriever: 'bm25', view: 'raw' }
export const PAGES: Way = { retriever: 'bm25', view: 'full' }
export const SHOWN = 8
