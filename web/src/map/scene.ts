// What is there to draw: the tiles, blocks and regions of a library, ready for a canvas.
//
// All lengths are shares of the map's sides, 0 to 1, so that one scene fits every window.

import type { MapAnswer } from '../lib/api'
import { label } from '../lib/format'

export interface Box {
  x: number
  y: number
  w: number
  h: number
}

export interface Region extends Box {
  label: string
  /** The height of the band at its top that carries the label. */
  band: number
}

/** The tiles of one neighborhood. */
export interface Block extends Box {
  /** What its names have in common. */
  label: string
  size: number
  tone: number
}

export interface Scene {
  size: number
  ids: string[]
  names: string[]
  x: Float64Array
  y: Float64Array
  w: Float64Array
  h: Float64Array
  hardness: Uint8Array
  neighborhood: number[]
  /** Index into the colors of [`tones`](./tones.ts): 0 for a skill without look-alikes. */
  tone: Uint8Array
  /** The tiles by tone, so that a color is set once a frame. */
  byTone: Uint32Array[]
  regions: Region[]
  blocks: Block[]
  /** The block of each tile; -1 for one that is alone or whose neighborhood lies scattered. */
  blockOf: Int32Array
  rows: Map<string, number>
}

/** The sides of the map as the server counts them. */
const SIDE = 10_000
export const TONES = 7

/** From easy to hard, as things are in this library; 0 is kept for skills that stand alone. */
export const toneOf = (hardness: number, hardest: number) => 1 + Math.min(TONES - 2, Math.floor((hardness / hardest) * (TONES - 1)))

/** What counts as hard here: colors that go to the hardest there could be would hardly differ. */
function hardestOf(hardness: number[]): number {
  const sorted = hardness.filter((one) => one > 0).sort((a, b) => a - b)
  return Math.max(10, sorted[Math.floor(sorted.length * 0.96)] ?? 0)
}

/** For a window that is upright where the map is not, the map is laid on its side: tiles keep their shape. */
export function scene(map: MapAnswer, upright: boolean): Scene {
  const size = map.ids.length
  const share = (column: number[]) => Float64Array.from(column, (v) => v / SIDE)
  const [x, y, w, h] = upright ? [share(map.y), share(map.x), share(map.h), share(map.w)] : [share(map.x), share(map.y), share(map.w), share(map.h)]
  const regions = map.regions.map((region) => {
    const [x, y, w, h] = upright ? [region.y, region.x, region.h, region.w] : [region.x, region.y, region.w, region.h]
    return { x: x / SIDE, y: y / SIDE, w: w / SIDE, h: h / SIDE, label: label(region.label, 60), band: 0 }
  })
  makeRoomForLabels(regions, x, y, w, h)

  const members = new Map<number, number[]>()
  map.neighborhood.forEach((of, tile) => {
    const list = members.get(of)
    if (list) list.push(tile)
    else members.set(of, [tile])
  })
  const names = map.names.map((name, tile) => label(name, 80) || label(map.ids[tile] ?? '', 80))
  const blocks: Block[] = []
  const tone = new Uint8Array(size)
  const hardest = hardestOf(map.hardness)
  const blockOf = new Int32Array(size).fill(-1)
  for (const [of, tiles] of members) {
    if (tiles.length < 2) continue
    for (const tile of tiles) tone[tile] = toneOf(map.hardness[of] ?? 0, hardest)
    const left = Math.min(...tiles.map((tile) => x[tile]!))
    const top = Math.min(...tiles.map((tile) => y[tile]!))
    const width = Math.max(...tiles.map((tile) => x[tile]! + w[tile]!)) - left
    const height = Math.max(...tiles.map((tile) => y[tile]! + h[tile]!)) - top
    // A neighborhood that lies scattered has no edge of its own.
    const covered = tiles.reduce((sum, tile) => sum + w[tile]! * h[tile]!, 0)
    if (covered < 0.8 * width * height) continue
    for (const tile of tiles) blockOf[tile] = blocks.length
    blocks.push({ x: left, y: top, w: width, h: height, label: inCommon(tiles.map((tile) => names[tile]!)), size: tiles.length, tone: tone[tiles[0]!]! })
  }
  const byTone = Array.from({ length: TONES }, (_, of) => Uint32Array.from([...tone.keys()].filter((tile) => tone[tile] === of)))
  return {
    size, ids: map.ids, names, x, y, w, h, tone, byTone, regions, blocks, blockOf,
    hardness: Uint8Array.from(map.neighborhood, (of) => map.hardness[of] ?? 0),
    neighborhood: map.neighborhood,
    rows: new Map(map.ids.map((id, tile) => [id, tile])),
  }
}

/** Takes a band from the top of every region: a label that lies on names leaves both unreadable. */
function makeRoomForLabels(regions: Region[], x: Float64Array, y: Float64Array, w: Float64Array, h: Float64Array) {
  for (const region of regions) region.band = Math.min(0.028, region.h * 0.12)
  for (let tile = 0; tile < x.length; tile++) {
    const [cx, cy] = [x[tile]! + w[tile]! / 2, y[tile]! + h[tile]! / 2]
    const region = regions.find((r) => cx >= r.x && cx <= r.x + r.w && cy >= r.y && cy <= r.y + r.h)
    if (!region) continue
    const share = (region.h - region.band) / region.h
    y[tile] = region.y + region.band + (y[tile]! - region.y) * share
    h[tile] = h[tile]! * share
  }
}

/** The words that most of these names share, in the order of the first; else the first name, and how many more. */
function inCommon(names: string[]): string {
  const words = names.map((name) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1))
  const shared = (words[0] ?? []).filter((word) => words.filter((other) => other.includes(word)).length > names.length * 0.6)
  return shared.length > 0 ? shared.join(' ') : `${names[0] ?? ''} +${names.length - 1}`
}

/** The tile at a place. */
export function tileAt({ size, x, y, w, h }: Scene, px: number, py: number): number {
  for (let tile = 0; tile < size; tile++)
    if (px >= x[tile]! && px < x[tile]! + w[tile]! && py >= y[tile]! && py < y[tile]! + h[tile]!) return tile
  return -1
}

/** The next tile in a direction: the nearest one, sideways counting double. */
export function tileTowards(scene: Scene, from: number, dx: number, dy: number, aspect: number): number {
  const center = (tile: number) => [(scene.x[tile]! + scene.w[tile]! / 2) * aspect, scene.y[tile]! + scene.h[tile]! / 2] as const
  const [fx, fy] = center(from)
  let [best, least] = [from, Infinity]
  for (let tile = 0; tile < scene.size; tile++) {
    const [cx, cy] = center(tile)
    const along = (cx - fx) * dx + (cy - fy) * dy
    if (tile === from || along <= 1e-9) continue
    const across = Math.abs((cx - fx) * dy) + Math.abs((cy - fy) * dx)
    const cost = along + 2 * across
    if (cost < least) [best, least] = [tile, cost]
  }
  return best
}
