// How does the page hear of what happens on the server?
//
// Server-sent events, read with `fetch`: the browser's own EventSource cannot send the token.

import { address, headers } from './api'

export interface Heard {
  event: string
  data: unknown
}

/** Listens until `signal` is aborted or `each` says that it has heard enough; connects again after a break. */
export async function listen(
  path: string,
  signal: AbortSignal,
  each: (heard: Heard) => 'go-on' | 'enough',
  line: (state: 'open' | 'broken') => void = () => {},
) {
  let last = ''
  let wait = 500
  while (!signal.aborted) {
    try {
      const response = await fetch(address(path), {
        headers: headers({ accept: 'text/event-stream', ...(last ? { 'last-event-id': last } : {}) }),
        signal,
      })
      // What is not there will not come by asking again.
      if (response.status === 404 || response.status === 401) return
      if (response.ok && response.body) {
        wait = 500
        line('open')
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
        let rest = ''
        for (;;) {
          const { done, value } = await reader.read()
          if (done) break
          const blocks = (rest + value.replaceAll('\r', '')).split('\n\n')
          rest = blocks.pop() ?? ''
          for (const block of blocks) {
            const { id, heard } = parse(block)
            if (id) last = id
            if (heard && each(heard) === 'enough') return void reader.cancel()
          }
        }
      }
    } catch {
      if (signal.aborted) return
    }
    line('broken')
    await new Promise((resolve) => setTimeout(resolve, wait))
    wait = Math.min(wait * 2, 15_000)
  }
}

function parse(block: string): { id: string; heard: Heard | undefined } {
  let [id, event, data] = ['', 'message', '']
  for (const line of block.split('\n')) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (field === 'id') id = value ?? ''
    else if (field === 'event') event = value ?? ''
    else if (field === 'data') data += value ?? ''
  }
  try {
    return { id, heard: data === '' ? undefined : { event, data: JSON.parse(data) } }
  } catch {
    return { id, heard: undefined }
  }
}
