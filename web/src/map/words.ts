// How do names fit into tiles?

const widths = new Map<string, number>()

/** The width of a text at 10 px; other sizes are in proportion. */
export function widthAt10(ctx: CanvasRenderingContext2D, text: string, face: string): number {
  const key = `${face}|${text}`
  let width = widths.get(key)
  if (width === undefined) {
    // Names of tens of thousands of skills pass by; the memory for them is bounded.
    if (widths.size > 60_000) widths.clear()
    const before = ctx.font
    ctx.font = `${face.startsWith('600') ? '600 ' : ''}10px ${face.replace(/^600 /, '')}`
    width = ctx.measureText(text).width
    ctx.font = before
    widths.set(key, width)
  }
  return width
}

/** Breaks a name into at most `lines` lines of `room` pixels; what does not fit ends in an ellipsis. */
export function wrap(ctx: CanvasRenderingContext2D, text: string, face: string, px: number, room: number, lines: number): string[] {
  const width = (s: string) => (widthAt10(ctx, s, face) * px) / 10
  if (width(text) <= room) return [text]
  const broken: string[] = []
  let line = ''
  // Where a name may break: after a separator, and between Chinese or Japanese characters.
  for (const piece of text.match(/[^-_\s./:]*[-_\s./:]|\p{Script=Han}|[^-_\s./:]+/gu) ?? [text]) {
    if (line !== '' && width(line + piece.trimEnd()) > room) {
      if (broken.length === lines - 1) {
        line += piece
        break
      }
      broken.push(line.trimEnd())
      line = piece
    } else line += piece
  }
  const taken = broken.join('').replace(/\s/g, '').length + line.replace(/\s/g, '').length
  const whole = taken >= text.replace(/\s/g, '').length
  broken.push(line.trimEnd())
  return broken.map((line, n) => cut(line, room, width, n === broken.length - 1 && !whole))
}

function cut(line: string, room: number, width: (s: string) => number, more: boolean): string {
  if (!more && width(line) <= room) return line
  const characters = [...line]
  // Widths of prefixes are not cached: there would be many.
  let keep = Math.min(characters.length, Math.floor((characters.length * room) / Math.max(width(line), 1)))
  if (more && keep === characters.length && width(`${line}…`) > room) keep -= 1
  if (keep < characters.length) keep -= 1
  return `${characters.slice(0, Math.max(keep, 1)).join('')}…`
}
