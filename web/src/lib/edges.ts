// What kinds of edges has a boundary graph, and what do they mean?

import type { EdgeKind } from './api'

export const EDGES: Record<EdgeKind, { name: string; sign: string; says: string }> = {
  mutual: { name: 'mutual', sign: '', says: 'each sends something to the other' },
  'one-way': { name: 'one-way', sign: '→', says: 'only this direction, though each is contrasted with the other' },
  dangling: { name: 'dangling', sign: '✕', says: 'points to a skill that is not in the library' },
  contradictory: { name: 'contradictory', sign: '≠', says: 'the same request is sent both ways' },
}
export const KINDS: EdgeKind[] = ['contradictory', 'dangling', 'one-way', 'mutual']
