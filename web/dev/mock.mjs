// A stand-in for the server while the page is being built; it is no part of dist or of the tests.
//
//   node dev/mock.mjs BINARY LIBRARY [--skills N] [--port P]
//
// Most answers are those of the real command line; --skills N makes a map of N invented skills.

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const [binary, library, ...flags] = process.argv.slice(2)
const flag = (name, otherwise) => (flags.includes(name) ? Number(flags[flags.indexOf(name) + 1]) : otherwise)
const invented = flag('--skills', 0)
const dist = new URL('../dist/', import.meta.url).pathname
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src 'self'"

async function cli(verb, ...rest) {
  const verbs = verb.split(' ')
  try {
    const { stdout } = await run(binary, [...verbs, ...rest, '--library', library, '--json'], { maxBuffer: 1 << 28 })
    return JSON.parse(stdout)
  } catch (error) {
    if (error.stdout) return JSON.parse(error.stdout)
    throw error
  }
}

let generation = 1
const pages = new Map()
const rows = []
{
  const file = `/tmp/fingerpost-mock-${process.pid}.jsonl`
  await run(binary, ['export', '--library', library, '--out', file])
  for (const line of (await readFile(file, 'utf8')).trim().split('\n')) {
    const page = JSON.parse(line)
    pages.set(page.skill, page)
  }
}
async function document(id) {
  const text = await readFile(join(library, id, 'SKILL.md'), 'utf8')
  const [, head, content] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text)
  return { description: /description: (.*)/.exec(head)[1].replace(/^["']|["']$/g, ''), content: content.trim() }
}
for (const id of pages.keys()) {
  const { description, content } = await document(id)
  rows.push({ skill: id, name: id.split('/').at(-1), description, content, neighborhood: 0, status: pages.get(id).status, flagged: false })
}
const areas = [...new Set(rows.map((row) => row.skill.split('/')[0]))]
for (const row of rows) row.neighborhood = areas.indexOf(row.skill.split('/')[0])

function map() {
  const random = (seed) => ((Math.sin(seed * 12.9898) * 43758.5453) % 1 + 1) % 1
  const skills = invented
    ? Array.from({ length: invented }, (_, n) => ({ skill: `area-${Math.floor(n / 40)}/skill-${n}`, name: `${['convert', 'review', 'draft', 'score', 'query'][n % 5]}-${['tables', 'invoices', 'glucose', 'contracts', 'flights', 'notebooks'][Math.floor(n / 7) % 6]}-${n}`, neighborhood: Math.floor(n / 6) }))
    : rows
  const answer = { skills: skills.length, aspect: 1.5, judged: false, ids: [], names: [], x: [], y: [], w: [], h: [], neighborhood: [], hardness: [], regions: [] }
  const put = (list, x, y, w, h, depth) => {
    if (list.length === 1) {
      const [row] = list
      answer.ids.push(row.skill)
      answer.names.push(row.name)
      for (const [key, value] of Object.entries({ x, y, w, h })) answer[key].push(Math.round(value))
      answer.neighborhood.push(row.neighborhood)
      answer.hardness[row.neighborhood] = Math.round(100 * random(row.neighborhood + 1) ** 1.6)
      return
    }
    if (list.length <= (invented ? 400 : 24) && !depth) {
      depth = 1
      const label = invented ? `region · ${list[0].name.split('-').slice(0, 2).join(' · ')}` : list[0].skill.split('/')[0].replaceAll('-', ' · ')
      answer.regions.push({ x: Math.round(x), y: Math.round(y), w: Math.round(w), h: Math.round(h), label })
    }
    let half = Math.ceil(list.length / 2)
    // A neighborhood is cut only where nothing else is left to cut.
    const whole = [...list.keys()].slice(1).filter((at) => list[at].neighborhood !== list[at - 1].neighborhood)
    if (whole.length) half = whole.reduce((best, at) => (Math.abs(at - half) < Math.abs(best - half) ? at : best))
    const share = half / list.length
    if (w * 1.5 > h) {
      put(list.slice(0, half), x, y, w * share, h, depth)
      put(list.slice(half), x + w * share, y, w * (1 - share), h, depth)
    } else {
      put(list.slice(0, half), x, y, w, h * share, depth)
      put(list.slice(half), x, y + h * share, w, h * (1 - share), depth)
    }
  }
  put(skills, 0, 0, 10000, 10000, 0)
  return { ...answer, ...fresh() }
}
const fresh = () => ({ generation, stale: false })

async function page(id) {
  const shown = await cli('page show', id)
  const sources = []
  const whose = [id, ...shown.references]
  const seek = async (field, sentence, n) => {
    for (const skill of whose) {
      const row = rows.find((row) => row.skill === skill)
      for (const part of ['description', 'content']) {
        const start = row ? row[part].indexOf(sentence.replace(/\.$/, '').slice(0, 30)) : -1
        if (start >= 0) {
          const from = { skill, part, start: [...row[part].slice(0, start)].length, end: start + sentence.length }
          return sources.push({ field, ...(n === undefined ? {} : { case: n }), sentence, from })
        }
      }
    }
    sources.push({ field, ...(n === undefined ? {} : { case: n }), sentence, from: null })
  }
  for (const [n, { request }] of (shown.cases ?? []).entries()) await seek('boundary', request, n)
  if (shown.body) await seek('body', shown.body)
  if (shown.trigger) await seek('trigger', shown.trigger)
  return { ...shown, sources }
}

async function graph(id) {
  const { rivals } = await cli('neighbors', id)
  const ids = new Set([id, ...rivals.map((rival) => rival.skill)])
  for (const [from, { boundary }] of pages) if (boundary.some((c) => c.skill === id)) ids.add(from)
  const edges = []
  for (const from of ids)
    for (const { request, skill: to } of pages.get(from)?.boundary ?? []) {
      if (!to || !ids.has(to)) continue
      const edge = edges.find((edge) => edge.from === from && edge.to === to)
      const kind = pages.get(to)?.boundary.some((c) => c.skill === from) ? 'mutual' : 'one-way'
      if (edge) edge.requests.push(request)
      else edges.push({ from, to, requests: [request], kind })
    }
  edges.push({ from: id, to: 'gone/old-name', requests: ['A request for a skill that was renamed'], kind: 'dangling' })
  if (edges[0]) edges[0].kind = 'contradictory'
  const node = (skill) => {
    const row = rows.find((row) => row.skill === skill)
    return { skill, name: row?.name ?? skill, description: row?.description ?? '', neighborhood: row?.neighborhood ?? null, exists: !!row }
  }
  return { skill: id, nodes: [...ids, 'gone/old-name'].map(node), edges, ...fresh() }
}

const jobs = []
const listeners = new Set()
const tell = (event, data) => listeners.forEach((response) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))

const answers = [
  ['GET', /^library$/, async () => ({ ...(await cli('atlas stats')), name: 'library', roots: [library], writer: 'local 5, auto', against: 'neighborhood', max_distance: 0.85, version: '0.1.0', encoder: null, judged: true, compiling: null, may_edit: true, store: `${library}/.fingerpost`, ...fresh() })],
  ['GET', /^map$/, map],
  ['POST', /^search$/, async (_, { query, k = 10, retriever, view }) => {
    const answer = await cli('search', query, '-k', String(k), ...(retriever ? ['--retriever', retriever] : []), ...(view ? ['--view', view] : []))
    for (const hit of answer.hits) hit.description = rows.find((row) => row.skill === hit.skill)?.description
    return answer
  }],
  ['POST', /^route$/, async (_, { request, cards }) => {
    const answer = await cli('route', request, ...(cards ? ['--cards', cards] : []))
    const card = ({ skill, name }) => ({ skill, name, description: rows.find((row) => row.skill === skill)?.description, boundary: (pages.get(skill)?.boundary ?? []).map((c) => ({ ...c, name: c.skill?.split('/').at(-1) })) })
    return { ...answer, shown: answer.hits.map(card) }
  }],
  ['GET', /^explain$/, (_, __, query) => cli('explain', query.get('q'))],
  ['GET', /^skills$/, (_, __, query) => {
    const found = rows.filter((row) => row.skill.includes(query.get('q') ?? ''))
    const offset = Number(query.get('offset') ?? 0)
    return { total: found.length, skills: found.slice(offset, offset + Number(query.get('limit') ?? 100)), ...fresh() }
  }],
  ['GET', /^skills\/(.+)$/, ([id]) => ({ ...rows.find((row) => row.skill === id), path: join(library, id, 'SKILL.md'), members: rows.filter((row) => row.skill.split('/')[0] === id.split('/')[0]).map((row) => row.skill), cut: false, line: null, ...fresh() })],
  ['GET', /^pages$/, async () => ({ total: 3, ...(await cli('page review')) })],
  ['GET', /^pages\/(.+)$/, ([id]) => page(id)],
  ['PUT', /^pages\/(.+)$/, async ([id], edit) => ({ ...(await page(id)), ...edit, cases: edit.boundary, status: 'pinned' })],
  ['POST', /^pages\/(.+)\/(pin|unpin|rewrite)$/, async ([id, what]) => ({ ...(await page(id)), status: what === 'pin' ? 'pinned' : 'written' })],
  ['GET', /^neighbors\/(.+)$/, ([id]) => cli('neighbors', id)],
  ['GET', /^losses\/(.+)$/, async ([id]) => {
    const { rivals } = await cli('neighbors', id)
    return { skill: id, requests: 9, won: 7, judged: true, lost: rivals.slice(0, 2).map((rival, n) => ({ to: rival.skill, name: rival.name, weight: 2 - n, requests: [{ query: 'q1', text: 'QT 380 at 110 bpm, which of the formulas, if the tracing has a paced rhythm?' }] })), ...fresh() }
  }],
  ['GET', /^graph\/(.+)$/, ([id]) => graph(id)],
  ['GET', /^doctor$/, () => cli('doctor')],
  ['GET', /^ledger$/, () => ({ calls: 12, cost_usd: 0.31, spend: [{ day: '2026-11-17', model: 'gpt-4o-mini', purpose: 'pages', calls: 12, failed: 0, unfinished: 0, usage: { input: 12000, cached: 4000, output: 3000 }, cost_usd: 0.31, unpriced: 0 }] })],
  ['GET', /^lab$/, () => ({ available: false })],
  ['GET', /^jobs$/, () => ({ jobs })],
  ['POST', /^compile$/, () => {
    const job = { job: String(jobs.length + 1), kind: 'compile', state: 'running', step: 'pages', done: 0, all: 40, calls: 0, cost_usd: 0, seconds: 0 }
    jobs.unshift(job)
    const timer = setInterval(() => {
      job.done += 1
      job.seconds += 0.1
      if (job.done >= job.all || job.state !== 'running') {
        clearInterval(timer)
        if (job.state === 'running') job.state = 'done'
        generation += 1
        tell('generation', { generation, skills: rows.length })
      } else tell('compiling', { job: job.job, step: job.step, done: job.done, all: job.all, since_ms: 0 })
    }, 100)
    return { job: job.job }
  }],
  ['DELETE', /^jobs\/(.+)$/, ([id]) => Object.assign(jobs.find((job) => String(job.job) === id), { state: 'stopped' })],
]

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost')
  const path = url.pathname
  if (path === '/readyz') return response.end('{}')
  if (path.startsWith('/v1/')) {
    const rest = path.slice(4)
    const watched = /^jobs\/(.+)\/events$/.exec(rest)
    if (rest === 'events' || watched) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': hello\n\n')
      if (rest === 'events') return void listeners.add(response)
      const timer = setInterval(() => {
        const job = jobs.find((job) => String(job.job) === watched[1])
        const ended = job.state !== 'running'
        response.write(`event: ${ended ? 'end' : 'progress'}\ndata: ${JSON.stringify(job)}\n\n`)
        if (ended) {
          clearInterval(timer)
          response.end()
        }
      }, 100)
      return
    }
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = chunks.length ? JSON.parse(Buffer.concat(chunks)) : undefined
    for (const [method, pattern, answer] of answers) {
      const match = method === request.method && pattern.exec(rest)
      if (!match) continue
      try {
        const value = await answer(match.slice(1).map(decodeURIComponent), body, url.searchParams)
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(JSON.stringify(value))
      } catch (error) {
        response.writeHead(500, { 'content-type': 'application/problem+json' })
        return response.end(JSON.stringify({ title: 'mock', status: 500, detail: String(error.stderr || error) }))
      }
    }
    response.writeHead(404, { 'content-type': 'application/problem+json' })
    return response.end(JSON.stringify({ title: 'Not found', status: 404, detail: `nothing at ${path}` }))
  }
  const file = normalize(join(dist, path === '/' ? 'index.html' : path))
  try {
    const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.txt': 'text/plain' }
    const bytes = await readFile(file.startsWith(dist) ? file : join(dist, 'index.html'))
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream', 'content-security-policy': POLICY })
    response.end(bytes)
  } catch {
    response.writeHead(404)
    response.end()
  }
}).listen(flag('--port', 4173), '127.0.0.1', function () {
  console.log(`http://127.0.0.1:${this.address().port}/#token=dev`)
})
