// How far is a job?

import type { Job } from './api'
import { listen } from './events'

/** Follows a job until it ends. */
export function watch(job: string, signal: AbortSignal, each: (job: Job) => void, ended: () => void) {
  void listen(`jobs/${encodeURIComponent(job)}/events`, signal, ({ event, data }) => {
    if (event !== 'progress' && event !== 'end') return 'go-on'
    if (data && typeof data === 'object' && 'state' in data) each(data as Job)
    if (event !== 'end') return 'go-on'
    ended()
    return 'enough'
  })
}
