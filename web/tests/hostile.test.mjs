// Can a stranger's skill do anything on the page but be read?

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { launch, NARROW, open, settled, WIDE } from '../harness/browser.mjs'
import { libraryOf, serve } from '../harness/server.mjs'

const ATTACKS = {
  script: '<script>globalThis.taken = 1</script>',
  image: '<img src=x onerror="globalThis.taken = 1">',
  svg: '<svg onload="globalThis.taken = 1"><a href="javascript:globalThis.taken=1">x</a></svg>',
  closing: '</textarea></pre></bdi></script><iframe srcdoc="<script>parent.taken=1</script>">',
  markdown: '[click me](javascript:globalThis.taken=1) ![x](https://example.invalid/x.png) **bold** `code`',
  template: '{{constructor.constructor("globalThis.taken=1")()}} ${globalThis.taken=1} {@html x}',
  override: 'invoice \u202Egpj.exe\u202C \u2066 hidden \u2069 \u200B name',
  long: 'a'.repeat(300),
  wide: '﷽'.repeat(60),
  style: '<style>*{display:none}</style><link rel=stylesheet href=https://example.invalid/x.css>',
}

const skill = (name, attack, whose, how) => `---
name: ${JSON.stringify(name)}
description: ${JSON.stringify(`Convert an invoice table to ${attack} for the ${whose} office by ${how}. ${attack}`)}
---

# ${attack}

Convert the invoice table with ${attack} by ${how}. The ${whose} office takes no receipt.

${attack}
`

test('a hostile library is only text', async (t) => {
  const skills = Object.fromEntries(
    Object.entries(ATTACKS).flatMap(([kind, attack]) => [
      [`area/${kind}`, skill(attack, attack, 'tax', 'column headings')],
      [`area/${kind}-two`, skill(`${attack} two`, attack, 'customs', 'row totals in reverse order')],
    ]),
  )
  const server = await serve(await libraryOf(t, skills))
  t.after(() => server.stop())
  const browser = await launch()
  t.after(() => browser.close())

  const listed = await (await fetch(`${server.origin}/v1/skills?limit=100`)).json()
  assert.ok(listed.total >= 10, `only ${listed.total} of the hostile skills were loaded`)
  const given = await Promise.all(listed.skills.map(async ({ skill }) => (await (await fetch(`${server.origin}/v1/pages/${encodeURIComponent(skill)}`)).json()).references.length))
  assert.ok(Math.max(...given) > 0, 'hostile skills send requests to hostile skills')
  const screens = ['#/', '#/?q=invoice', '#/list', '#/playground?q=convert%20an%20invoice%20table', '#/doctor', '#/compile']
  for (const { skill } of listed.skills) screens.push(`#/skill/${encodeURIComponent(skill)}`, `#/graph/${encodeURIComponent(skill)}`)

  for (const viewport of [WIDE, NARROW]) {
    const { page, faults, close } = await open(browser, { viewport })
    const asked = []
    page.on('request', (request) => asked.push(new URL(request.url()).origin))
    await page.goto(server.address)
    await settled(page)
    for (const hash of screens) {
      await page.goto(`${server.origin}/${hash}`)
      await settled(page)
      const found = await page.evaluate(() => ({
        taken: globalThis.taken,
        elements: [...document.querySelectorAll('main :is(script, img, iframe, style, link, object, embed, [onerror], [onload])')].map((element) => element.outerHTML),
        links: [...document.querySelectorAll('a')].map((link) => link.getAttribute('href')).filter((href) => !href?.startsWith('#')),
        wide: document.documentElement.scrollWidth - innerWidth,
      }))
      assert.deepEqual(found, { taken: undefined, elements: [], links: [], wide: Math.min(found.wide, 0) }, hash)
    }
    await page.goto(`${server.origin}/#/skill/${encodeURIComponent(listed.skills.find(({ skill }) => skill.endsWith('/script')).skill)}`)
    await settled(page)
    assert.ok((await page.locator('section.document').innerText()).includes(ATTACKS.script), 'the text itself is shown')
    if (viewport === WIDE) {
      await page.keyboard.press('e')
      await page.getByLabel('Trigger').waitFor()
    }
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('option').nth(7).waitFor()
    assert.equal(await page.evaluate(() => globalThis.taken), undefined)
    assert.deepEqual(faults, [])
    assert.deepEqual([...new Set(asked)], [server.origin], 'nothing else is asked')
    await close()
  }
})
