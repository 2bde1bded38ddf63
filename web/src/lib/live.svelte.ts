// What is the state of the library, now?
//
// One for the whole page: read at the start, and again whenever the server says that there is a new
// generation. Screens load again when `generation` changes and keep what they show until the new answer
// is there, so nothing jumps.

import { api, Problem, type Compiling, type Library } from './api'
import { listen, type Heard } from './events'

class Live {
  library = $state.raw<Library>()
  problem = $state.raw<Problem>()
  compiling = $state.raw<Compiling | null>(null)
  generation = $state(0)
  /** Is the server there? What is shown without it may be old. */
  line = $state<'open' | 'broken'>('open')
  mayEdit = $derived(this.library?.may_edit ?? false)

  async load() {
    try {
      const library = await api.library()
      this.library = library
      this.problem = undefined
      this.compiling = library.compiling
      this.generation = library.generation
    } catch (error) {
      if (error instanceof Problem) this.problem = error
    }
  }

  start() {
    void this.load()
    const each = ({ event, data }: Heard) => {
      if (event === 'generation') {
        const { generation, stale } = data as { generation: number; stale?: boolean }
        if (generation !== this.generation || (stale ?? false) !== this.library?.stale) void this.load()
      } else if (event === 'compiling') {
        this.compiling = data as Compiling | null
        if (!this.compiling) void this.load()
      }
      return 'go-on' as const
    }
    void listen('events', new AbortController().signal, each, (line) => {
      // Another server may have come back, which knows another token.
      if (line === 'open' && this.line === 'broken') void this.load()
      this.line = line
    })
  }
}

export const live = new Live()
