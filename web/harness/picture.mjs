// A screenshot as a PNG of at most 256 colors: a third of the size, and no difference to be seen.

import { crc32, deflateSync } from 'node:zlib'

/** The colors that occur most stay as they are; each other one becomes the nearest of them. */
export async function fewerColors(page, png) {
  const { width, height, base64 } = await page.evaluate(async (data) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]))
    const canvas = new OffscreenCanvas(image.width, image.height)
    const context = canvas.getContext('2d')
    context.drawImage(image, 0, 0)
    const pixels = context.getImageData(0, 0, image.width, image.height).data
    let text = ''
    for (let at = 0; at < pixels.length; at += 4) text += String.fromCharCode(pixels[at], pixels[at + 1], pixels[at + 2])
    return { width: image.width, height: image.height, base64: btoa(text) }
  }, png.toString('base64'))
  const pixels = Buffer.from(base64, 'base64')
  const color = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2]
  const counts = new Map()
  for (let at = 0; at < pixels.length; at += 3) counts.set(color(at), (counts.get(color(at)) ?? 0) + 1)
  const palette = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 256).map(([value]) => value)
  const split = (value) => [value >> 16, (value >> 8) & 255, value & 255]
  const distance = (a, b) => split(a).reduce((sum, part, n) => sum + (part - split(b)[n]) ** 2, 0)
  const nearest = new Map(palette.map((value, index) => [value, index]))
  for (const value of counts.keys())
    if (!nearest.has(value)) nearest.set(value, palette.reduce((best, other, index) => (distance(value, other) < distance(value, palette[best]) ? index : best), 0))
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = nearest.get(color(3 * (y * width + x)))
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head), chunk('PLTE', Buffer.from(palette.flatMap(split))), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
