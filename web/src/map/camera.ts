// Which part of the map is seen?

import { mayMove } from '../lib/theme.svelte'
import type { Box } from './scene'

/** Where the map's corner lies in the window, in pixels, and how many times larger than the window it is. */
export interface View {
  left: number
  top: number
  zoom: number
}

export class Camera {
  view: View = { left: 0, top: 0, zoom: 1 }
  width = 1
  height = 1
  /** At which a tile is as wide as a hand. */
  nearest = 8
  #frame = 0

  constructor(readonly changed: () => void) {}

  resize(width: number, height: number, tiles: number) {
    const { left, top, zoom } = this.view
    const [cx, cy] = [(this.width / 2 - left) / (this.width * zoom), (this.height / 2 - top) / (this.height * zoom)]
    this.nearest = Math.max(3, (260 * Math.sqrt(Math.max(tiles, 1))) / width)
    ;[this.width, this.height] = [width, height]
    this.#set({ left: width / 2 - cx * width * zoom, top: height / 2 - cy * height * zoom, zoom })
  }

  /** Zooms by a factor, with the place under the pointer held. */
  zoomBy(factor: number, atX = this.width / 2, atY = this.height / 2) {
    this.stop()
    const zoom = this.#within(this.view.zoom * factor)
    const by = zoom / this.view.zoom
    this.#set({ left: atX - (atX - this.view.left) * by, top: atY - (atY - this.view.top) * by, zoom })
  }

  moveBy(dx: number, dy: number) {
    this.stop()
    this.#set({ ...this.view, left: this.view.left + dx, top: this.view.top + dy })
  }

  all = () => this.fly({ left: 0, top: 0, zoom: 1 })
  nearer = () => this.fly(this.#around(this.width / 2, this.height / 2, 1.7))
  farther = () => this.fly(this.#around(this.width / 2, this.height / 2, 1 / 1.7))

  #around(atX: number, atY: number, factor: number): View {
    const zoom = this.#within(this.view.zoom * factor)
    const by = zoom / this.view.zoom
    return { left: atX - (atX - this.view.left) * by, top: atY - (atY - this.view.top) * by, zoom }
  }

  /** Moves so that a box is seen with its name, no farther than needed. */
  show(box: Box, { nearerIfSmall }: { nearerIfSmall: boolean }) {
    const small = box.w * this.width * this.view.zoom < 70
    const zoom = nearerIfSmall && small ? this.#within(110 / (box.w * this.width)) : this.view.zoom
    const x = (box.x + box.w / 2) * this.width * zoom
    const y = (box.y + box.h / 2) * this.height * zoom
    const [sx, sy] = [x + this.view.left, y + this.view.top]
    const margin = 90
    const seen = sx > margin && sx < this.width - margin && sy > margin && sy < this.height - margin
    if (zoom === this.view.zoom && seen) return
    this.fly({ left: this.width / 2 - x, top: this.height / 2 - y, zoom })
  }

  fly(to: View, ms = 320) {
    this.stop()
    to = this.#inside(to)
    if (!mayMove()) return this.#set(to)
    const from = this.view
    const start = performance.now()
    const step = (now: number) => {
      const t = Math.min(1, (now - start) / ms)
      const eased = 1 - (1 - t) ** 3
      // The logarithm of the zoom goes evenly, so that near and far feel the same.
      const zoom = from.zoom * (to.zoom / from.zoom) ** eased
      const share = to.zoom === from.zoom ? eased : (1 / zoom - 1 / from.zoom) / (1 / to.zoom - 1 / from.zoom)
      const between = (a: number, b: number) => zoom * (a / from.zoom + (b / to.zoom - a / from.zoom) * share)
      this.#set({ left: between(from.left, to.left), top: between(from.top, to.top), zoom })
      if (t < 1) this.#frame = requestAnimationFrame(step)
    }
    this.#frame = requestAnimationFrame(step)
  }

  stop() {
    cancelAnimationFrame(this.#frame)
  }

  #within(zoom: number) {
    return Math.max(1, Math.min(this.nearest, zoom))
  }

  /** The map always fills the window. */
  #inside({ left, top, zoom }: View): View {
    return {
      left: Math.min(0, Math.max(this.width * (1 - zoom), left)),
      top: Math.min(0, Math.max(this.height * (1 - zoom), top)),
      zoom,
    }
  }

  #set(view: View) {
    this.view = this.#inside(view)
    this.changed()
  }
}
