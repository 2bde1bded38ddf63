// Which colors does the map have?
//
// A canvas knows no custom properties, so the colors of the map are here, for light and for dark. The first
// is that of skills without look-alikes, then from easy to hard to tell apart. Names on them reach a
// contrast of 4.5.

export interface Tones {
  paper: string
  ink: string
  signal: string
  onSignal: string
  halo: string
  veil: string
  tiles: string[]
  names: string[]
}

const LIGHT_INK = '#231f18'
const DARK_INK = '#f6eedd'

export const light: Tones = {
  paper: '#f5efe1',
  ink: LIGHT_INK,
  signal: '#a62f17',
  onSignal: '#fff8ee',
  halo: 'rgb(253 250 243 / 88%)',
  veil: 'rgb(245 239 225 / 80%)',
  tiles: ['#ece6d8', '#dfd9bd', '#e3cf97', '#e5b66f', '#df9553', '#d2704a', '#a62f17'],
  names: [LIGHT_INK, LIGHT_INK, LIGHT_INK, LIGHT_INK, LIGHT_INK, LIGHT_INK, '#fff8ee'],
}

export const dark: Tones = {
  paper: '#171511',
  ink: DARK_INK,
  signal: '#ff8d66',
  onSignal: '#24110a',
  halo: 'rgb(23 21 17 / 85%)',
  veil: 'rgb(23 21 17 / 78%)',
  tiles: ['#23211c', '#343229', '#4b432b', '#685027', '#855120', '#a24a20', '#f28358'],
  names: [DARK_INK, DARK_INK, DARK_INK, DARK_INK, DARK_INK, DARK_INK, '#24110a'],
}
