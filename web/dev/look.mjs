// Pictures of every screen at both widths and in both color schemes, to be looked at.
//
//   node dev/look.mjs ADDRESS FOLDER [NAME]

import { mkdir } from 'node:fs/promises'
import { chromium } from 'playwright-core'

const [address, folder, only = ''] = process.argv.slice(2)
const SKILL = encodeURIComponent('qt-correction/qtc-bazett')
const SCREENS = {
  atlas: '#/',
  search: '#/?q=invoice table',
  list: '#/list',
  skill: `#/skill/${SKILL}`,
  graph: `#/graph/${SKILL}`,
  playground: `#/playground?q=${encodeURIComponent('QT 380 at 110 bpm with the cube root instead of Bazett')}`,
  compile: '#/compile',
  doctor: '#/doctor',
  lab: '#/lab',
}
await mkdir(folder, { recursive: true })
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] })
for (const colorScheme of ['light', 'dark'])
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, deviceScaleFactor: 1 })
    const page = await context.newPage()
    page.on('console', (message) => message.type() === 'error' && console.log('console:', message.text()))
    page.on('pageerror', (error) => console.log('error:', error.message))
    await page.goto(address)
    for (const [name, hash] of Object.entries(SCREENS)) {
      if (!name.includes(only)) continue
      await page.goto(address.split('#')[0] + hash)
      await page.waitForTimeout(1200)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (wide > 0) console.log(`${name} ${width}: ${wide} pixels too wide`)
      await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: !['atlas', 'search'].includes(name) && width < 500 ? false : !['atlas', 'search'].includes(name) })
    }
    await context.close()
  }
await browser.close()
