// Which screens can be gone to from everywhere, and by which keys?

import { hrefs, type Screen } from './router.svelte'

export interface Way {
  screen: Screen
  name: string
  says: string
  href: string
  /** Pressed after `g`. */
  key: string
}

export const WAYS: Way[] = [
  { screen: 'atlas', name: 'Atlas', says: 'the library from above', href: hrefs.atlas(), key: 'a' },
  { screen: 'list', name: 'Skills', says: 'the same as a list', href: hrefs.list, key: 's' },
  { screen: 'playground', name: 'Playground', says: 'type a request', href: hrefs.playground(), key: 'p' },
  { screen: 'compile', name: 'Compile', says: 'write pages, see the cost', href: hrefs.compile, key: 'c' },
  { screen: 'doctor', name: 'Doctor', says: 'what is wrong, and the way out', href: hrefs.doctor, key: 'd' },
  { screen: 'lab', name: 'Lab', says: 'what was measured', href: hrefs.lab, key: 'l' },
]
