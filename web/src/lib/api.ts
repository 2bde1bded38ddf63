// What does the server answer, and how is it asked?
//
// The types follow the answers of `crates/fingerpost/src/contract.rs` field by field. Nothing else in the
// page talks to the network.

import { token } from './token.svelte'

/** Of which state of the atlas an answer is. */
export interface Freshness {
  generation: number
  stale: boolean
}

export interface Compiling {
  job: string | null
  step: string
  done: number
  all: number
  since_ms?: number | null
}

export interface Library extends Freshness {
  name: string
  roots: string[]
  skills: number
  neighborhoods: number
  singletons: number
  largest: number
  pages: number
  fallback: number
  flagged: number
  pinned: number
  stale_pages: number
  writer: string
  embedder: string
  max_distance: number
  against: string
  format: number
  version: string
  encoder: string | null
  judged: boolean
  compiling: Compiling | null
  /** Why the library as it is now cannot be compiled. */
  failed?: string | null
  may_edit: boolean
  /** The model that may write pages, where whoever started the server named one. */
  model?: string | null
  store: string
}

export interface Found {
  skill: string
  name: string
  path: string
  score: number
  rank: number
  description?: string
}

export interface SearchAnswer extends Freshness {
  query: string
  hits: Found[]
}

export interface Rejected {
  skill: string
  because: string
}

export interface ShownCase {
  request: string
  skill: string | null
  name?: string | null
}

/** What a chooser reads of a candidate. */
export interface Card {
  skill: string
  name: string
  description: string
  boundary: ShownCase[]
}

export interface RouteAnswer extends Freshness {
  request: string
  chooser: string
  cards: string
  decision: 'use' | 'none'
  skill: string | null
  skills: string[]
  confidence: number
  reason: string
  rejected: Rejected[]
  fallback: string | null
  path: string | null
  hits: Found[]
  shown?: Card[]
}

export interface Explained {
  skill: string
  name: string
  place: number
  in_pool: boolean
  raw_rank: number | null
  page_rank: number | null
  named: boolean
  evidence: Record<string, number>
  total: number
  shared: { term: string; weight: number }[]
  boundary: { request: string; skill: string } | null
}

export interface ExplainAnswer extends Freshness {
  request: string
  retriever: string
  decision: 'use' | 'none'
  skill: string | null
  confidence: number
  reason: string
  candidates: Explained[]
}

export interface SkillRow {
  skill: string
  name: string
  description: string
  neighborhood: number
  status: Status
  flagged: boolean
}

export interface SkillsAnswer extends Freshness {
  total: number
  skills: SkillRow[]
}

export interface SkillAnswer extends SkillRow, Freshness {
  content: string
  /** Was the content cut, because it is too long to be shown? */
  cut: boolean
  path: string
  line: number | null
  /** All skills of its neighborhood, itself included. */
  members: string[]
}

export type Status = 'written' | 'fallback' | 'pinned'

export interface Case {
  request: string
  skill: string | null
  ground?: string
}

export interface Check {
  rule: string
  message: string
}

/** Where a sentence of a page was taken from: characters of a description or content. */
export interface Origin {
  skill: string
  part: 'description' | 'content'
  start: number
  end: number
}

export interface Source {
  field: 'trigger' | 'boundary' | 'body'
  case?: number | null
  sentence: string
  from: Origin | null
}

export interface PageAnswer extends Freshness {
  skill: string
  status: Status
  trigger: string | null
  boundary: string | null
  references: string[]
  cases: Case[] | null
  body: string | null
  checks: Check[]
  score: number
  provenance: { writer: string; key: string; document: string }
  sources?: Source[]
}

export interface PageEdit {
  trigger: string
  boundary: { request: string; skill: string | null }[]
  body: string
}

export interface PagesAnswer extends Freshness {
  total: number
  pages: PageAnswer[]
}

export interface Neighbor {
  skill: string
  name: string
  description?: string
  similarity: number
  together: boolean
}

export interface Rival {
  skill: string
  name: string
  description?: string
  weight: number
}

export interface NeighborsAnswer extends Freshness {
  skill: string
  neighborhood: number
  members: number
  neighbors: Neighbor[]
  against: string
  rivals: Rival[]
  copies: string[]
}

export interface LossesAnswer extends Freshness {
  skill: string
  name: string
  /** Judged requests that belong to it. */
  requests: number
  won: number
  judged: boolean
  lost: { to: string; name: string; requests: { query: string; text: string }[]; weight: number }[]
}

export type EdgeKind = 'mutual' | 'one-way' | 'dangling' | 'contradictory'

export interface GraphNode {
  skill: string
  name: string
  description: string
  neighborhood: number | null
  exists: boolean
}

export interface GraphEdge {
  from: string
  to: string
  requests: string[]
  kind: EdgeKind
}

export interface GraphAnswer extends Freshness {
  skill: string
  nodes: GraphNode[]
  edges: GraphEdge[]
}

/** The library from above, by columns; lengths are in ten-thousandths of the map's sides. */
export interface MapAnswer extends Freshness {
  skills: number
  /** Width by height. */
  aspect: number
  ids: string[]
  names: string[]
  x: number[]
  y: number[]
  w: number[]
  h: number[]
  neighborhood: number[]
  /** By the number of a neighborhood: how hard its skills are to tell apart, 0 to 100. */
  hardness: number[]
  judged: boolean
  regions: { x: number; y: number; w: number; h: number; label: string }[]
}

export type Severity = 'error' | 'warning' | 'note'

export interface Finding {
  rule: string
  severity: Severity
  skill: string | null
  file: string
  line: number | null
  message: string
  hint: string
}

export interface DoctorAnswer {
  skills: number
  roots: string[]
  findings: Finding[]
}

export interface CompileRequest {
  writer?: 'local' | 'llm'
  rebuild?: boolean
  model?: string
  max_cost?: number
  dry_run?: boolean
}

export interface Job {
  job: string
  kind: string
  state: 'running' | 'done' | 'failed' | 'stopped'
  step: string
  done: number
  all: number
  calls: number
  /** Absent where the model has no price. */
  cost_usd: number | null
  seconds: number
  plan?: Plan | null
  error?: string | null
}

/** What a model would be asked. */
export interface Plan {
  calls: number
  /** Answers that are in the ledger already. */
  known: number
  input_tokens: number
  output_tokens: number
  cost_usd: number | null
  seconds: number
}

export interface Spend {
  day: string
  model: string
  purpose: string
  calls: number
  failed: number
  unfinished: number
  surplus: number
  usage: { input: number; cached: number; output: number }
  cost_usd: number
  unknown_usd: number
  unpriced: number
}

export interface LedgerAnswer {
  calls: number
  cost_usd: number
  spend: Spend[]
}

/** A problem as the server tells it: what is wrong, and the way out. */
export class Problem extends Error {
  readonly status: number
  readonly title: string
  readonly hint: string | undefined
  readonly checks: Check[]

  constructor(status: number, body: { title?: string; detail?: string; hint?: string; checks?: Check[] }) {
    super(body.detail ?? body.title ?? `The server answered ${status}.`)
    this.status = status
    this.title = body.title ?? 'The server refused'
    this.hint = body.hint
    this.checks = body.checks ?? []
  }
}

/** The address of something under `/v1`, whatever path the page itself is served under. */
export const address = (path: string) => new URL(`v1/${path}`, document.baseURI.split('#')[0]).href

export function headers(more: Record<string, string> = {}): Record<string, string> {
  return token.value ? { ...more, authorization: `Bearer ${token.value}` } : more
}

interface Ask {
  method?: string
  body?: unknown
  signal?: AbortSignal | undefined
}

async function ask<T>(path: string, { method = 'GET', body, signal }: Ask = {}): Promise<T> {
  let response: Response
  try {
    response = await fetch(address(path), {
      method,
      headers: headers(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new Problem(0, {
      title: 'The server does not answer',
      detail: 'The server does not answer. It may have been stopped.',
      hint: 'Start it again with: fingerpost serve --open',
    })
  }
  const text = await response.text()
  let answer: unknown
  try {
    answer = text === '' ? {} : JSON.parse(text)
  } catch {
    answer = { detail: `The server answered ${response.status} with something that is not JSON.` }
    if (response.ok) throw new Problem(response.status, answer as { detail: string })
  }
  if (!response.ok) throw new Problem(response.status, answer as object)
  return answer as T
}

const query = (parameters: Record<string, string | number | boolean | undefined>) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}
const segment = encodeURIComponent

export const api = {
  library: (signal?: AbortSignal) => ask<Library>('library', { signal }),
  map: (signal?: AbortSignal) => ask<MapAnswer>('map', { signal }),
  search: (body: { query: string; k?: number; retriever?: string; view?: string }, signal?: AbortSignal) =>
    ask<SearchAnswer>('search', { method: 'POST', body, signal }),
  route: (body: { request: string; always?: boolean; cards?: string }, signal?: AbortSignal) =>
    ask<RouteAnswer>('route', { method: 'POST', body, signal }),
  explain: (q: string, signal?: AbortSignal) => ask<ExplainAnswer>(`explain${query({ q })}`, { signal }),
  skills: (of: { q?: string; offset?: number; limit?: number; status?: string }, signal?: AbortSignal) =>
    ask<SkillsAnswer>(`skills${query(of)}`, { signal }),
  skill: (id: string, signal?: AbortSignal) => ask<SkillAnswer>(`skills/${segment(id)}`, { signal }),
  page: (id: string, signal?: AbortSignal) => ask<PageAnswer>(`pages/${segment(id)}`, { signal }),
  flagged: (signal?: AbortSignal) => ask<PagesAnswer>('pages?flagged=true&limit=200', { signal }),
  edit: (id: string, body: PageEdit) => ask<PageAnswer>(`pages/${segment(id)}`, { method: 'PUT', body }),
  pin: (id: string) => ask<PageAnswer>(`pages/${segment(id)}/pin`, { method: 'POST' }),
  unpin: (id: string) => ask<PageAnswer>(`pages/${segment(id)}/unpin`, { method: 'POST' }),
  rewrite: (id: string) => ask<PageAnswer>(`pages/${segment(id)}/rewrite`, { method: 'POST' }),
  neighbors: (id: string, signal?: AbortSignal) => ask<NeighborsAnswer>(`neighbors/${segment(id)}?k=10`, { signal }),
  losses: (id: string, signal?: AbortSignal) => ask<LossesAnswer>(`losses/${segment(id)}`, { signal }),
  graph: (id: string, signal?: AbortSignal) => ask<GraphAnswer>(`graph/${segment(id)}`, { signal }),
  doctor: (signal?: AbortSignal) => ask<DoctorAnswer>('doctor', { signal }),
  compile: (body: CompileRequest) => ask<{ job: string }>('compile', { method: 'POST', body }),
  jobs: (signal?: AbortSignal) => ask<{ jobs: Job[] }>('jobs', { signal }),
  stop: (job: string) => ask<unknown>(`jobs/${segment(job)}`, { method: 'DELETE' }),
  ledger: (signal?: AbortSignal) => ask<LedgerAnswer>('ledger', { signal }),
  lab: (signal?: AbortSignal) => ask<{ available: boolean }>('lab', { signal }),
}
