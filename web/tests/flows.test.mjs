// Can a person do what the page is for?

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { launch, open, settled, visit } from '../harness/browser.mjs'
import { REQUEST, SKILL } from '../harness/screens.mjs'
import { exampleLibrary, serve } from '../harness/server.mjs'

const SKILL_SCREEN = `#/skill/${encodeURIComponent(SKILL)}`

test('an edit survives a restart of the server', async (t) => {
  const library = await exampleLibrary(t)
  const browser = await launch()
  t.after(() => browser.close())
  const said = 'Redo the QTc of an ECG cart that prints no formula'

  let server = await serve(library)
  t.after(() => server.stop())
  const first = await open(browser)
  await first.page.goto(server.address)
  await settled(first.page)
  await visit(first.page, server.origin, SKILL_SCREEN)
  await first.page.getByRole('button', { name: 'Edit the page' }).click()
  await first.page.getByLabel('Trigger').fill(said)
  await first.page.getByRole('button', { name: 'Save and pin' }).click()
  await first.page.getByRole('button', { name: 'Unpin' }).waitFor()
  assert.ok((await first.page.locator('section.page').innerText()).includes(said))
  assert.deepEqual(first.faults, [])
  await first.close()
  await server.stop()

  server = await serve(library)
  const second = await open(browser)
  await second.page.goto(server.address)
  await settled(second.page)
  await visit(second.page, server.origin, SKILL_SCREEN)
  await second.page.getByText(said).first().waitFor()
  await second.page.getByRole('button', { name: 'Unpin' }).click()
  await second.page.getByRole('button', { name: 'Pin', exact: true }).waitFor()
  await second.close()
})

test('the page of a served library', async (t) => {
  const server = await serve(await exampleLibrary(t))
  t.after(() => server.stop())
  const browser = await launch()
  t.after(() => browser.close())
  const fresh = async (options) => {
    const opened = await open(browser, options)
    await opened.page.goto(server.address)
    await settled(opened.page)
    return opened
  }

  await t.test('a compilation is watched to its end', async () => {
    const { page, faults, close } = await fresh()
    await visit(page, server.origin, '#/compile')
    const generation = page.locator('dl.figures div', { hasText: 'generation' }).locator('dd')
    const before = await generation.innerText()
    await page.getByLabel('Write all again').check()
    await page.getByRole('button', { name: 'Compile', exact: true }).click()
    await page.getByRole('progressbar').waitFor()
    await page.locator('.job .tag', { hasText: 'done' }).first().waitFor({ timeout: 60_000 })
    assert.equal(await page.getByRole('progressbar').getAttribute('aria-valuenow'), '100')
    assert.ok(Number(await generation.innerText()) >= Number(before))
    // Without a model on the server's command line there is no writer but the local one.
    assert.ok(await page.getByLabel('llm').isDisabled())
    await page.reload()
    await page.locator('.jobs .job', { hasText: 'done' }).first().waitFor()
    assert.deepEqual(faults, [])
    await close()
  })

  await t.test('a page that breaks a rule is refused, and says which', async () => {
    const { page, close } = await fresh()
    await visit(page, server.origin, SKILL_SCREEN)
    await page.keyboard.press('e')
    await page.getByLabel('Body').fill('x'.repeat(700))
    await page.getByRole('button', { name: 'Save and pin' }).click()
    const refused = page.locator('form [role="alert"]')
    await refused.waitFor()
    assert.match(await refused.innerText(), /600/)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit the page' }).click()
    assert.equal((await page.getByLabel('Body').inputValue()).length, 700, 'the draft is kept')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('button', { name: 'Edit the page' }).click()
    assert.ok((await page.getByLabel('Body').inputValue()).length < 600, 'the draft is gone')
    await close()
  })

  await t.test('without the token the page reads, and says how to edit', async () => {
    const { page, faults, close } = await open(browser)
    await visit(page, server.origin, SKILL_SCREEN)
    await page.getByText('fingerpost serve --open').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Edit the page' }).count(), 0)
    await visit(page, server.origin, '#/compile')
    assert.ok(await page.getByRole('button', { name: 'Compile', exact: true }).isDisabled())
    assert.deepEqual(faults, [])
    await close()
  })

  await t.test('a deep link opens a skill, and the history leads back', async () => {
    const { page, close } = await open(browser)
    await page.goto(`${server.origin}/${SKILL_SCREEN}`)
    await page.getByRole('heading', { level: 1, name: 'qtc-bazett' }).waitFor()
    await page.locator('section.page .arm').first().click()
    await page.waitForURL(/#\/skill\//)
    await page.getByRole('heading', { level: 1, name: 'qtc-bazett' }).waitFor({ state: 'detached' })
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'qtc-bazett' }).waitFor()
    assert.match(await page.title(), /qtc-bazett/)
    await close()
  })

  await t.test('by keys alone from the atlas to a skill and on', async () => {
    const { page, faults, close } = await fresh()
    await page.locator('[role="application"]').waitFor()
    // As a person would: on with Tab until the map has the focus.
    for (let n = 0; n < 40; n++) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(() => document.activeElement?.getAttribute('role') === 'application')) break
    }
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key)
    const name = await page.locator('#map-focus h2').innerText()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    await page.keyboard.press('b')
    await page.locator('svg .node.center').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type(REQUEST)
    await page.keyboard.press('Enter')
    await page.locator('.cards .chosen').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('fridericia')
    await page.getByRole('dialog').getByRole('option', { name: /^qtc-fridericia/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'qtc-fridericia' }).waitFor()
    assert.deepEqual(faults, [])
    await close()
  })

  await t.test('the search lights up hits, and the address keeps the words', async () => {
    const { page, close } = await fresh()
    await page.keyboard.press('/')
    await page.keyboard.type('wilcoxon')
    await page.locator('.hits li', { hasText: 'wilcoxon' }).first().waitFor()
    await page.waitForFunction(() => location.hash.includes('wilcoxon'))
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: /wilcoxon/ }).waitFor()
    await page.goBack()
    await page.locator('.hits li').first().waitFor()
    assert.equal(await page.locator('[data-search]').inputValue(), 'wilcoxon')
    await close()
  })

  await t.test('a sentence of a page leads to where it comes from', async () => {
    const { page, close } = await fresh()
    await visit(page, server.origin, SKILL_SCREEN)
    const sentence = page.locator('section.page section', { hasText: 'Body' }).locator('button').first()
    await sentence.click()
    const mark = page.locator('section.document mark')
    await mark.waitFor()
    assert.ok((await mark.innerText()).includes('QTcB = QT / sqrt(RR'))
    assert.equal(await sentence.getAttribute('aria-pressed'), 'true')
    // What belongs to a neighbor is in the neighbor's document.
    await page.locator('section.page li button').first().click()
    await page.getByRole('heading', { name: /Another document/ }).waitFor()
    await mark.waitFor()
    await close()
  })

  await t.test('requests are routed, judged and taken home', async () => {
    const { page, faults, close } = await fresh({ acceptDownloads: true })
    await visit(page, server.origin, '#/playground')
    await page.getByLabel('Request', { exact: true }).fill(REQUEST)
    await page.getByRole('button', { name: 'Route' }).click()
    await page.locator('.decision .sign a').waitFor()
    const chosen = await page.locator('.decision .sign').innerText()
    assert.equal(chosen, 'qtc-fridericia')
    await page.getByLabel('Cards show the boundary').uncheck()
    await page.locator('.cards .cases').first().waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Keep as right' }).click()
    const downloads = []
    page.on('download', (download) => downloads.push(download))
    await page.getByRole('button', { name: 'Download 1 request' }).click()
    while (downloads.length < 2) await page.waitForEvent('download')
    const files = new Map()
    for (const download of downloads) files.set(download.suggestedFilename(), await readFile(await download.path(), 'utf8'))
    assert.deepEqual(JSON.parse(files.get('queries.jsonl')), { id: 'kept-0001', text: REQUEST })
    assert.equal(files.get('qrels.tsv'), 'kept-0001\tqt-correction/qtc-fridericia\t1\n')
    assert.deepEqual(faults, [])
    await close()
  })

  await t.test('colors can be chosen, and stay chosen', async () => {
    const { page, close } = await fresh({ colorScheme: 'light' })
    const button = page.getByRole('button', { name: /^Colors/ })
    await button.click()
    await button.click()
    const paper = () => page.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor)
    assert.equal(await paper(), 'rgb(23, 21, 17)')
    await page.reload()
    await settled(page)
    assert.equal(await paper(), 'rgb(23, 21, 17)')
    await close()
  })

  await t.test('a new generation changes what is shown without a jump', async () => {
    const watching = await fresh()
    await visit(watching.page, server.origin, SKILL_SCREEN)
    await watching.page.evaluate(() => {
      globalThis.jumped = 0
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) globalThis.jumped += entry.value
      }).observe({ type: 'layout-shift' })
    })
    const editing = await fresh()
    await visit(editing.page, server.origin, SKILL_SCREEN)
    await editing.page.getByRole('button', { name: 'Pin', exact: true }).click()
    await watching.page.locator('.title .tag', { hasText: 'pinned' }).waitFor({ timeout: 30_000 })
    assert.ok((await watching.page.evaluate(() => globalThis.jumped)) < 0.05, 'nothing moved')
    await editing.page.getByRole('button', { name: 'Unpin' }).click()
    await watching.page.getByRole('button', { name: 'Pin', exact: true }).waitFor({ timeout: 30_000 })
    await watching.close()
    await editing.close()
  })
})
