// Where in a document does a sentence of a page come from?

import type { Origin, SkillAnswer, Source } from './api'

/** A text in three: what comes before a mark, the marked part, and what comes after. */
export type Marked = [string, string, string]

/** Cuts a text at characters as the server counts them: code points, where JavaScript counts halves of some. */
export function marked(text: string, start: number, end: number): Marked {
  const characters = [...text]
  return [characters.slice(0, start).join(''), characters.slice(start, end).join(''), characters.slice(end).join('')]
}

export function markIn(document: SkillAnswer, part: 'description' | 'content', origin: Origin | null | undefined): Marked {
  const here = origin && origin.skill === document.skill && origin.part === part
  return here ? marked(document[part], origin.start, origin.end) : [document[part], '', '']
}

export const sameSource = (a: Source | undefined, b: Source | undefined) =>
  !!a && !!b && a.field === b.field && (a.case ?? -1) === (b.case ?? -1) && a.sentence === b.sentence
