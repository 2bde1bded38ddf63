// Every screen of the page, on the example library, and what shows that it is there.

export const SKILL = 'qt-correction/qtc-bazett'
export const REQUEST = 'QT 380 at 110 bpm with the cube root instead of Bazett'

export const SCREENS = [
  { name: 'atlas', hash: '#/', shows: '[role="application"]' },
  { name: 'search', hash: '#/?q=invoice', shows: '.hits li' },
  { name: 'list', hash: '#/list', shows: 'main li a' },
  { name: 'skill', hash: `#/skill/${encodeURIComponent(SKILL)}`, shows: '.page .arm' },
  { name: 'graph', hash: `#/graph/${encodeURIComponent(SKILL)}`, shows: 'svg .node.center' },
  { name: 'playground', hash: `#/playground?q=${encodeURIComponent(REQUEST)}`, shows: '.cards .chosen' },
  { name: 'empty playground', hash: '#/playground', shows: 'textarea' },
  { name: 'compile', hash: '#/compile', shows: 'form button.main' },
  { name: 'doctor', hash: '#/doctor', shows: '#pages' },
  { name: 'lab', hash: '#/lab', shows: '.notice, iframe' },
  { name: 'nowhere', hash: '#/nowhere', shows: '.notice' },
]
