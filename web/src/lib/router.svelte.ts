// Which screen does the address name?
//
// `#/skill/ID`, `#/?q=words` and so on. The part after the hash never reaches a server, so deep links need
// no rules there. Ids may hold anything: they are one percent-encoded segment.

export type Screen = 'atlas' | 'list' | 'skill' | 'graph' | 'playground' | 'compile' | 'doctor' | 'lab' | 'missing'

export interface Place {
  screen: Screen
  /** The skill, where the screen is about one. */
  id: string
  parameters: URLSearchParams
}

const SCREENS: Screen[] = ['atlas', 'list', 'skill', 'graph', 'playground', 'compile', 'doctor', 'lab']

function read(): Place {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  const [first = '', ...rest] = path.split('/')
  const screen = first === '' ? 'atlas' : SCREENS.find((screen) => screen === first)
  let id: string
  try {
    id = decodeURIComponent(rest.join('/'))
  } catch {
    id = rest.join('/')
  }
  const about = screen === 'skill' || screen === 'graph'
  return {
    screen: screen && about === (id !== '') ? screen : 'missing',
    id,
    parameters: new URLSearchParams(search),
  }
}

class Router {
  place = $state.raw<Place>(read())

  constructor() {
    addEventListener('hashchange', () => (this.place = read()))
  }

  go(href: string) {
    location.hash = href
  }

  /** Changes the parameters of the place without a new entry in the history. */
  note(parameters: Record<string, string>) {
    const given = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ''))
    const path = location.hash.split('?')[0] || '#/'
    const text = given.toString()
    history.replaceState(null, '', text === '' ? path : `${path}?${text}`)
  }
}

export const router = new Router()

export const hrefs = {
  atlas: (q = '') => (q === '' ? '#/' : `#/?${new URLSearchParams({ q })}`),
  list: '#/list',
  skill: (id: string) => `#/skill/${encodeURIComponent(id)}`,
  graph: (id: string) => `#/graph/${encodeURIComponent(id)}`,
  playground: (q = '') => (q === '' ? '#/playground' : `#/playground?${new URLSearchParams({ q })}`),
  compile: '#/compile',
  doctor: '#/doctor',
  lab: '#/lab',
}
