// Where do the skills of a boundary graph lie, and how do its edges run?

import type { GraphAnswer, GraphEdge, GraphNode } from './api'
import { label } from './format'

export interface Spot {
  node: GraphNode
  text: string
  x: number
  y: number
  w: number
  h: number
}

export interface Line {
  edge: GraphEdge
  path: string
  /** Where its sign stands. */
  mid: [number, number]
  /** Does it start or end at the skill in the middle? */
  ours: boolean
}

const HEIGHT = 34

export function layout(graph: GraphAnswer, width: number, height: number): { spots: Spot[]; lines: Line[] } {
  const narrow = width < 560
  const room = narrow ? 15 : 24
  const center = graph.nodes.find((node) => node.skill === graph.skill)
  const around = graph.nodes.filter((node) => node.skill !== graph.skill)
  // Skills of one neighborhood side by side; what does not exist at the end.
  around.sort((a, b) => Number(b.exists) - Number(a.exists) || (a.neighborhood ?? 0) - (b.neighborhood ?? 0) || (a.skill < b.skill ? -1 : 1))
  const spot = (node: GraphNode, x: number, y: number, letters: number): Spot => {
    const text = label(node.name || node.skill, letters)
    const size = [...text].reduce((sum, c) => sum + (c > '\u2e80' ? 13.5 : 7.2), 0)
    const w = Math.min(size + 24, width / (narrow ? 2.6 : 3))
    return { node, text, w, h: HEIGHT, x: Math.max(w / 2 + 2, Math.min(width - w / 2 - 2, x)), y }
  }
  const [cx, cy] = [width / 2, height / 2]
  // Of four or eight, none lies right beside the middle, where labels would touch.
  const turn = around.length % 4 === 0 ? Math.PI / around.length : 0
  const spots = around.map((node, n) => {
    const angle = turn - Math.PI / 2 + (2 * Math.PI * n) / around.length
    // Every second one of many a little nearer, so that labels have room.
    const reach = around.length > 10 && n % 2 ? 0.74 : 1
    const rx = width / 2 - (narrow ? 62 : 84)
    const ry = height / 2 - 30
    return spot(node, cx + rx * reach * Math.cos(angle), cy + ry * reach * Math.sin(angle), room)
  })
  if (center) spots.push(spot(center, cx, cy, room + 4))
  const of = new Map(spots.map((spot) => [spot.node.skill, spot]))
  const lines: Line[] = []
  for (const edge of graph.edges) {
    const [from, to] = [of.get(edge.from), of.get(edge.to)]
    if (from && to && from !== to) lines.push({ edge, ...curve(from, to), ours: edge.from === graph.skill || edge.to === graph.skill })
  }
  // What concerns the skill in the middle lies on top.
  lines.sort((a, b) => Number(a.ours) - Number(b.ours))
  return { spots, lines }
}

/** Bent to its own left, so that two edges between the same skills lie beside each other. */
function curve(from: Spot, to: Spot): { path: string; mid: [number, number] } {
  const [dx, dy] = [to.x - from.x, to.y - from.y]
  const length = Math.hypot(dx, dy) || 1
  const bend = Math.min(30, length * 0.14)
  const [bx, by] = [(from.x + to.x) / 2 + (dy / length) * bend, (from.y + to.y) / 2 - (dx / length) * bend]
  const [sx, sy] = border(from, bx, by, 2)
  const [ex, ey] = border(to, bx, by, 7)
  const at = (a: number, b: number, c: number) => a * 0.25 + b * 0.5 + c * 0.25
  return { path: `M${sx.toFixed(1)} ${sy.toFixed(1)}Q${bx.toFixed(1)} ${by.toFixed(1)} ${ex.toFixed(1)} ${ey.toFixed(1)}`, mid: [at(sx, bx, ex), at(sy, by, ey)] }
}

/** Where the way from a label towards a point leaves it. */
function border({ x, y, w, h }: Spot, px: number, py: number, gap: number): [number, number] {
  const [dx, dy] = [px - x, py - y]
  const share = Math.min((w / 2 + gap) / Math.max(Math.abs(dx), 1e-6), (h / 2 + gap) / Math.max(Math.abs(dy), 1e-6), 1)
  return [x + dx * share, y + dy * share]
}
