// A real browser, and pages that remember what went wrong in them.

import { chromium } from 'playwright-core'

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
]

export const WIDE = { width: 1280, height: 800 }
export const NARROW = { width: 390, height: 844 }

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS })

/** A page in a window of its own; `faults` are its errors and refused contents so far. */
export async function open(browser, { viewport = WIDE, colorScheme = 'light', reducedMotion = 'reduce', ...more } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion, ...more })
  const page = await context.newPage()
  const faults = []
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, faults, close: () => context.close() }
}

/** Goes to a screen and waits until nothing is being loaded. */
export async function visit(page, origin, hash) {
  await page.goto(`${origin}/${hash}`)
  await settled(page)
}

export async function settled(page) {
  await page.locator('main h1').first().waitFor({ state: 'attached' })
  await page.waitForFunction(() => !document.querySelector('.skeleton, .drawing, [aria-busy="true"]'))
}
