// How is an answer loaded, shown while it is loaded again, and shown if it fails?

import { Problem } from './api'

/** The latest answer to a question that changes. The old answer stays until the new one is there. */
export class Answer<T> {
  value = $state.raw<T>()
  problem = $state.raw<Problem>()
  loading = $state(false)
  #about: string | undefined
  #under: AbortController | undefined

  /** Asks. Where `about` is another thing than before, the old answer is dropped at once. */
  async ask(about: string, question: (signal: AbortSignal) => Promise<T>) {
    this.#under?.abort()
    const under = new AbortController()
    this.#under = under
    if (about !== this.#about) {
      this.value = undefined
      this.#about = about
    }
    this.problem = undefined
    this.loading = true
    try {
      const value = await question(under.signal)
      if (!under.signal.aborted) this.value = value
    } catch (error) {
      if (!under.signal.aborted) this.problem = problem(error)
    } finally {
      if (this.#under === under) this.loading = false
    }
  }

  /** Takes an answer that came another way. */
  set(value: T) {
    this.#under?.abort()
    this.loading = false
    this.problem = undefined
    this.value = value
  }

  clear() {
    this.#under?.abort()
    this.loading = false
    this.problem = undefined
    this.value = undefined
    this.#about = undefined
  }
}

/** What went wrong, whatever was thrown. */
export function problem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem(0, { title: 'The page has a fault', detail: String(error) })
}
