// How are numbers and names written?

export const number = (n: number) => n.toLocaleString('en')
export const plural = (n: number, one: string, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`
export const percent = (share: number) => `${Math.round(share * 100)} %`
/** An amount; a model without a price has none. */
export const money = (usd: number | null) => (usd === null ? 'no price' : usd === 0 ? '$0' : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`)

export function seconds(s: number): string {
  if (s < 10) return `${s.toFixed(1)} s`
  if (s < 90) return `${Math.round(s)} s`
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`
}

/** A name without the invisible characters that change how the text around it reads, cut to what a label can hold. */
export function label(text: string, room = 80): string {
  const visible = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').trim()
  const characters = [...visible]
  return characters.length > room ? `${characters.slice(0, room - 1).join('')}…` : visible
}

/** The last part of an id, which is mostly the name of the skill's folder. */
export const shortId = (id: string) => label(id.split('/').at(-1) || id, 48)
