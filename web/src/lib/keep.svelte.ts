// Requests that were tried and judged, kept in this browser until they are downloaded.

import { shortId } from './format'

export interface Kept {
  text: string
  /** Whose it is; none where no skill of the library should take it. */
  skill: string | null
}

const KEY = 'fingerpost-kept'

class Keep {
  all = $state<Kept[]>([])

  constructor() {
    try {
      const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
      if (Array.isArray(stored)) this.all = stored as Kept[]
    } catch {
      // Something else wrote there; it is overwritten with the next request.
    }
  }

  add(kept: Kept) {
    this.all = [...this.all.filter((one) => one.text !== kept.text), kept]
    this.#store()
  }

  remove(kept: Kept) {
    this.all = this.all.filter((one) => one.text !== kept.text)
    this.#store()
  }

  clear() {
    this.all = []
    this.#store()
  }

  /** The two files that `fingerpost eval` reads. */
  download() {
    const ids = this.all.map((_, n) => `kept-${String(n + 1).padStart(4, '0')}`)
    const queries = this.all.map(({ text }, n) => `${JSON.stringify({ id: ids[n], text })}\n`).join('')
    const qrels = this.all.map(({ skill }, n) => (skill === null ? '' : `${ids[n]}\t${skill}\t1\n`)).join('')
    save('queries.jsonl', queries)
    save('qrels.tsv', qrels)
  }

  #store() {
    localStorage.setItem(KEY, JSON.stringify(this.all))
  }
}

export const keep = new Keep()

export const whose = (kept: Kept) => (kept.skill === null ? 'no skill' : shortId(kept.skill))

function save(name: string, text: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
