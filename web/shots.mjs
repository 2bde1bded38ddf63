// The three pictures of the README: FINGERPOST_BIN=target/release/fingerpost node web/shots.mjs

import { mkdir, writeFile } from 'node:fs/promises'
import { launch, open, settled } from './harness/browser.mjs'
import { fewerColors } from './harness/picture.mjs'
import { SCREENS } from './harness/screens.mjs'
import { exampleLibrary, serve } from './harness/server.mjs'

const LARGEST = 200_000
const out = new URL('../docs/images/', import.meta.url).pathname
const after = []
const t = { after: (f) => after.unshift(f) }

try {
  const server = await serve(await exampleLibrary(t))
  after.unshift(() => server.stop())
  const browser = await launch()
  after.unshift(() => browser.close())
  await mkdir(out, { recursive: true })
  const { page } = await open(browser, { viewport: { width: 1200, height: 750 } })
  // Reads pixels, without the policy of the page.
  const { page: blank } = await open(browser)
  await page.goto(server.address)
  for (const name of ['atlas', 'skill', 'playground']) {
    await page.goto(`${server.origin}/${SCREENS.find((screen) => screen.name === name).hash}`)
    await settled(page)
    await page.mouse.move(0, 0)
    if (name === 'skill') await page.locator('section.page section', { hasText: 'Body' }).locator('button').first().hover()
    await page.waitForTimeout(600)
    const picture = await fewerColors(blank, await page.screenshot())
    const size = picture.length
    await writeFile(`${out}${name}.png`, picture)
    console.log(`${name}.png: ${Math.round(size / 1000)} kB`)
    if (size > LARGEST) throw new Error(`${name}.png is larger than ${LARGEST / 1000} kB`)
  }
} finally {
  for (const f of after) await f()
}
