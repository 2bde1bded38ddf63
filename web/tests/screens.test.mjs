// Does every screen show itself, at both widths and in both color schemes, to everybody?

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { launch, NARROW, open, settled, visit, WIDE } from '../harness/browser.mjs'
import { SCREENS } from '../harness/screens.mjs'
import { exampleLibrary, serve } from '../harness/server.mjs'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

test('every screen', async (t) => {
  const server = await serve(await exampleLibrary(t))
  t.after(() => server.stop())
  const browser = await launch()
  t.after(() => browser.close())

  for (const [width, viewport] of [['wide', WIDE], ['narrow', NARROW]])
    for (const colorScheme of ['light', 'dark']) {
      const { page, faults, close } = await open(browser, { viewport, colorScheme })
      await page.goto(server.address)
      await settled(page)
      assert.equal(new URL(page.url()).hash, '#/', 'the token stays out of the address')
      for (const { name, hash, shows } of SCREENS)
        await t.test(`${name}, ${width}, ${colorScheme}`, async () => {
          await page.goto(`${server.origin}/${hash}`)
          await page.locator(shows).first().waitFor()
          if (name !== 'nowhere') await settled(page)
          assert.deepEqual(faults.splice(0), [], 'no errors')
          const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          assert.ok(beyond <= 0, `${beyond} pixels wider than the window`)
          assert.deepEqual(await seriousFindings(page), [])
        })
      await close()
    }

  await t.test('dialogs', async () => {
    const { page, faults, close } = await open(browser)
    await visit(page, server.origin, '#/list')
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    assert.deepEqual(await seriousFindings(page), [])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('option').nth(8).waitFor()
    assert.deepEqual(await seriousFindings(page), [])
    assert.deepEqual(faults, [])
    await close()
  })
})

async function seriousFindings(page) {
  // Evaluated by the debugger, not by the page: the page's policy would refuse it, as it should.
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary}`))
}
