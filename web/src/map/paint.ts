// How is the map drawn, once?
//
// From far away tiles are colors and regions have names; nearer, neighborhoods have names; nearest, every
// skill has. Nothing is drawn that is not seen, and a color is set once for all its tiles.

import type { View } from './camera'
import type { Box, Scene } from './scene'
import type { Tones } from './tones'
import { widthAt10, wrap } from './words'

export interface Painting {
  scene: Scene
  view: View
  width: number
  height: number
  pixels: number
  tones: Tones
  sans: string
  serif: string
  /** The tiles that a search found, best first; `undefined` where nobody searches. */
  hits: number[] | undefined
  focused: number
  hovered: number
  /** A picture of all tiles, for the moments in which the map moves. */
  stored?: CanvasImageSource | undefined
}

interface Placed {
  x: number
  y: number
  w: number
  h: number
}

/** Pixels that a tile needs for a name; where it is narrow and tall, the name stands upright. */
const NAME_WIDTH = 46
const NAME_HEIGHT = 15
const UPRIGHT_HEIGHT = 50
/** Tiles are at least so wide where there is a look for names at all. */
const NAMES_FROM = 18
/** Hits that carry their names on a map too far away for names. */
const NAMED_HITS = 12

export function paint(ctx: CanvasRenderingContext2D, on: Painting) {
  const { scene, tones, pixels, width, height, hits } = on
  ctx.setTransform(pixels, 0, 0, pixels, 0, 0)
  ctx.fillStyle = tones.paper
  ctx.fillRect(0, 0, width, height)
  ctx.textBaseline = 'middle'

  const average = averageWidth(on)
  if (on.stored) {
    const { left, top, zoom } = on.view
    ctx.imageSmoothingQuality = 'medium'
    ctx.drawImage(on.stored, left, top, width * zoom, height * zoom)
  } else paintTiles(ctx, on)
  if (hits) {
    ctx.fillStyle = tones.veil
    ctx.fillRect(0, 0, width, height)
    for (const tile of hits) {
      ctx.fillStyle = tones.tiles[scene.tone[tile]!]!
      fill(ctx, on, tile, gapAt(average))
    }
  }
  const taken: Placed[] = []
  if (hits) markHits(ctx, on, hits, taken)
  regionNames(ctx, on, average, taken)
  // A neighborhood has names on all its tiles or one name for all: both at once would be a puzzle.
  const whole = on.scene.blocks.map((block) => average < NAMES_FROM || !fits(place(on, block), block.size))
  if (average >= NAMES_FROM) names(ctx, on, hits, whole)
  if (!hits) blockNames(ctx, on, whole, taken)
  if (on.hovered >= 0 && on.hovered !== on.focused) ring(ctx, on, on.hovered, 1.5)
  if (on.focused >= 0) ring(ctx, on, on.focused, 3)
}

/** Pixels from one tile to the next, about. */
const averageWidth = ({ width, view, scene }: Painting) => (width * view.zoom) / Math.sqrt(Math.max(scene.size, 1))
const gapAt = (average: number) => (average < 7 ? 0 : average < 26 ? 1 : 1.5)

/** Tiles, and the strips of paper between neighborhoods and between regions. */
export function paintTiles(ctx: CanvasRenderingContext2D, on: Painting) {
  const average = averageWidth(on)
  const gap = gapAt(average)
  for (const [tone, tiles] of on.scene.byTone.entries()) {
    ctx.fillStyle = on.tones.tiles[tone]!
    for (const tile of tiles) fill(ctx, on, tile, gap)
  }
  edges(ctx, on, average)
}

function place({ view, width, height }: Painting, box: Box): Placed {
  const [sx, sy] = [width * view.zoom, height * view.zoom]
  return { x: view.left + box.x * sx, y: view.top + box.y * sy, w: box.w * sx, h: box.h * sy }
}

const seen = ({ x, y, w, h }: Placed, { width, height }: Painting) => x + w > 0 && y + h > 0 && x < width && y < height

export function tileBox({ x, y, w, h }: Scene, tile: number): Box {
  return { x: x[tile]!, y: y[tile]!, w: w[tile]!, h: h[tile]! }
}

/** On whole device pixels: tiles without gaps between them would show seams otherwise. */
function fill(ctx: CanvasRenderingContext2D, on: Painting, tile: number, gap: number) {
  const { scene, view, width, height, pixels } = on
  const [sx, sy] = [width * view.zoom, height * view.zoom]
  const x0 = view.left + scene.x[tile]! * sx
  const y0 = view.top + scene.y[tile]! * sy
  const x1 = x0 + scene.w[tile]! * sx
  const y1 = y0 + scene.h[tile]! * sy
  if (x1 < 0 || y1 < 0 || x0 > width || y0 > height) return
  const left = Math.round(x0 * pixels) / pixels
  const top = Math.round(y0 * pixels) / pixels
  ctx.fillRect(left, top, Math.max(Math.round(x1 * pixels) / pixels - left - gap, 0.5), Math.max(Math.round(y1 * pixels) / pixels - top - gap, 0.5))
}

function edges(ctx: CanvasRenderingContext2D, on: Painting, average: number) {
  ctx.strokeStyle = on.tones.paper
  if (average > 9) {
    ctx.lineWidth = average > 40 ? 3 : 1.5
    ctx.beginPath()
    for (const block of on.scene.blocks) {
      const { x, y, w, h } = place(on, block)
      if (seen({ x, y, w, h }, on)) ctx.rect(x - 0.75, y - 0.75, w, h)
    }
    ctx.stroke()
  }
  if (on.scene.regions.length > 1) {
    ctx.lineWidth = average > 40 ? 7 : 4
    ctx.beginPath()
    for (const region of on.scene.regions) {
      const { x, y, w, h } = place(on, region)
      if (seen({ x, y, w, h }, on)) ctx.rect(x - 0.75, y - 0.75, w, h)
    }
    ctx.stroke()
  }
}

/** Would most of so many tiles in a box have room for names? */
function fits({ w, h }: Placed, size: number): boolean {
  const side = Math.sqrt((w * h) / size)
  return side >= NAME_WIDTH * 1.1
}

function names(ctx: CanvasRenderingContext2D, on: Painting, hits: number[] | undefined, whole: boolean[]) {
  const { scene, tones } = on
  const tiles = hits ?? scene.x.keys()
  ctx.textAlign = 'left'
  for (const tile of tiles) {
    if (!hits && whole[scene.blockOf[tile]!]) continue
    const box = place(on, tileBox(scene, tile))
    if (!seen(box, on)) continue
    const upright = box.w < NAME_WIDTH && box.h >= UPRIGHT_HEIGHT
    if (box.w < (upright ? NAME_HEIGHT : NAME_WIDTH) || box.h < NAME_HEIGHT) continue
    const [long, high] = upright ? [box.h, box.w] : [box.w, box.h]
    const px = Math.max(10.5, Math.min(14, long / 8.5, upright ? 11.5 : 14))
    const line = px * 1.2
    const lines = wrap(ctx, scene.names[tile]!, on.sans, px, long - 10, Math.max(1, Math.floor((high - 4) / line)))
    ctx.font = `${px}px ${on.sans}`
    ctx.fillStyle = tones.names[scene.tone[tile]!]!
    const top = Math.min(high / 2 - ((lines.length - 1) * line) / 2, 6 + line / 2)
    if (upright) {
      ctx.save()
      ctx.translate(box.x, box.y + box.h)
      ctx.rotate(-Math.PI / 2)
      lines.forEach((text, n) => ctx.fillText(text, 5, top + n * line))
      ctx.restore()
    } else lines.forEach((text, n) => ctx.fillText(text, box.x + 5, box.y + top + n * line))
  }
}

function blockNames(ctx: CanvasRenderingContext2D, on: Painting, whole: boolean[], taken: Placed[]) {
  for (const [n, block] of on.scene.blocks.entries()) {
    if (!whole[n]) continue
    const box = place(on, block)
    if (box.w < 40 || box.h < 13 || !seen(box, on)) continue
    const px = 11
    const line = px * 1.15
    const lines = wrap(ctx, block.label, on.sans, px, box.w - 6, Math.max(1, Math.min(3, Math.floor(box.h / line) - 1)))
    const width = (Math.max(...lines.map((text) => widthAt10(ctx, text, on.sans))) * px) / 10
    const at = { x: box.x + (box.w - width) / 2, y: box.y + (box.h - lines.length * line) / 2, w: width, h: lines.length * line }
    if (taken.some((other) => overlap(other, at))) continue
    taken.push(at)
    lines.forEach((text, n) => {
      const x = box.x + (box.w - (widthAt10(ctx, text, on.sans) * px) / 10) / 2
      haloed(ctx, on, text, x, at.y + (n + 0.5) * line, `${px}px ${on.sans}`, { ink: on.tones.names[block.tone]!, halo: on.tones.tiles[block.tone]! })
    })
  }
}

/** In the band of a region where that is high enough; else across it, a term a line, as long as no skill has a name. */
function regionNames(ctx: CanvasRenderingContext2D, on: Painting, average: number, taken: Placed[]) {
  const face = `600 ${on.serif}`
  const regions = on.scene.regions.filter((region) => region.label !== '')
  for (const region of [...regions].sort((a, b) => b.w * b.h - a.w * a.h)) {
    const box = place(on, region)
    if (!seen(box, on)) continue
    const left = Math.max(box.x, 0)
    const room = Math.min(box.x + box.w, on.width) - left - 8
    const band = (region.band / region.h) * box.h
    if (band >= 13) {
      if (room < 30) continue
      const px = Math.min(17, band * 0.8)
      const [text] = wrap(ctx, region.label, face, px, room, 1)
      ctx.font = `600 ${px}px ${on.serif}`
      ctx.fillStyle = on.tones.ink
      ctx.textAlign = 'left'
      ctx.fillText(text!, left + 3, box.y + band / 2)
      taken.push({ x: left, y: box.y, w: room, h: band })
    } else if (average < NAMES_FROM) {
      const px = Math.max(11.5, Math.min(16, box.w / 9))
      const line = px * 1.08
      const lines = region.label.split(' · ').slice(0, Math.max(1, Math.floor((box.h * 0.5) / line)))
      const shown = lines.map((term) => wrap(ctx, term, face, px, box.w - 4, 1)[0]!)
      const high = shown.length * line
      shown.forEach((text, n) => {
        const width = (widthAt10(ctx, text, face) * px) / 10
        const y = box.y + box.h / 2 - high / 2 + (n + 0.5) * line
        const at = { x: box.x + (box.w - width) / 2, y: y - line / 2, w: width, h: line }
        if (taken.some((other) => overlap(other, at))) return
        taken.push(at)
        haloed(ctx, on, text, at.x, y, `600 ${px}px ${on.serif}`)
      })
    }
  }
}

/** A ring on every hit, and the names of the best where tiles have none. */
function markHits(ctx: CanvasRenderingContext2D, on: Painting, hits: number[], taken: Placed[]) {
  const { scene, tones } = on
  ctx.strokeStyle = tones.signal
  for (const tile of hits) {
    const box = place(on, tileBox(scene, tile))
    if (!seen(box, on)) continue
    if (box.w > 16 && box.h > 12) {
      ctx.lineWidth = 2
      ctx.strokeRect(box.x, box.y, box.w - 1.5, box.h - 1.5)
    } else {
      ctx.beginPath()
      ctx.arc(box.x + box.w / 2, box.y + box.h / 2, 5, 0, 2 * Math.PI)
      ctx.fillStyle = tones.signal
      ctx.fill()
    }
  }
  for (const tile of hits.slice(0, NAMED_HITS)) {
    const box = place(on, tileBox(scene, tile))
    if (!seen(box, on) || box.w >= NAME_WIDTH || (box.w >= NAME_HEIGHT && box.h >= UPRIGHT_HEIGHT)) continue
    const px = 12
    const [text] = wrap(ctx, scene.names[tile]!, on.sans, px, 190, 1)
    const width = (widthAt10(ctx, text!, on.sans) * px) / 10 + 10
    const right = box.x + box.w / 2 + 8
    const x = right + width > on.width ? right - width - 16 : right
    const at = { x, y: box.y + box.h / 2 - 9, w: width, h: 18 }
    if (taken.some((other) => overlap(other, at))) continue
    taken.push(at)
    ctx.fillStyle = tones.ink
    ctx.fillRect(at.x, at.y, at.w, at.h)
    ctx.fillStyle = tones.paper
    ctx.font = `${px}px ${on.sans}`
    ctx.textAlign = 'left'
    ctx.fillText(text!, at.x + 5, at.y + 9.5)
  }
}

function ring(ctx: CanvasRenderingContext2D, on: Painting, tile: number, weight: number) {
  const { x, y, w, h } = place(on, tileBox(on.scene, tile))
  const [cx, cy] = [Math.max(w, 9), Math.max(h, 9)]
  const box = [x + (w - cx) / 2 - 1, y + (h - cy) / 2 - 1, cx + 0.5, cy + 0.5] as const
  ctx.lineWidth = weight + 2.5
  ctx.strokeStyle = on.tones.paper
  ctx.strokeRect(...box)
  ctx.lineWidth = weight
  ctx.strokeStyle = on.tones.ink
  ctx.strokeRect(...box)
}

function haloed(ctx: CanvasRenderingContext2D, { tones }: Painting, text: string, x: number, y: number, font: string, { ink, halo } = { ink: tones.ink, halo: tones.halo }) {
  ctx.font = font
  ctx.textAlign = 'left'
  ctx.lineJoin = 'round'
  ctx.lineWidth = 4
  ctx.strokeStyle = halo
  ctx.strokeText(text, x, y)
  ctx.fillStyle = ink
  ctx.fillText(text, x, y)
}

const overlap = (a: Placed, b: Placed) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
