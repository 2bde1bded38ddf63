// Can a stranger's skill do anything on the page but be read?

import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { launch, NARROW, open, settled, WIDE } from '../harness/browser.mjs'
import { libraryOf, serve } from '../harness/server.mjs'

const EXAMPLE = new URL('../../examples/library/', import.meta.url)

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

/** Two families of look-alikes, in which everybody has a name that attacks: so pages and boundaries are full of them. */
async function hostileSkills() {
  const attacks = Object.entries(ATTACKS)
  const skills = {}
  for (const family of ['qt-correction', 'statistical-tests'])
    for (const folder of (await readdir(new URL(family, EXAMPLE))).sort()) {
      const [kind, attack] = attacks[Object.keys(skills).length % attacks.length]
      const text = await readFile(new URL(`${family}/${folder}/SKILL.md`, EXAMPLE), 'utf8')
      const [, head, content] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text)
      const description = /^description: (.*)$/m.exec(head)[1].replace(/^["']|["']$/g, '')
      const number = Object.keys(skills).length
      skills[`${family}/${kind}-${number}`] = `---\nname: ${JSON.stringify(`${attack} ${number}`)}\ndescription: ${JSON.stringify(`${description} ${attack}`)}\n---\n${content}\n\n${attack}\n`
    }
  return skills
}

test('a hostile library is only text', async (t) => {
  const server = await serve(await libraryOf(t, await hostileSkills()))
  t.after(() => server.stop())
  const browser = await launch()
  t.after(() => browser.close())

  const listed = await (await fetch(`${server.origin}/v1/skills?limit=100`)).json()
  assert.ok(listed.total >= 10, `only ${listed.total} of the hostile skills were loaded`)
  // The writer gives nothing away without evidence, and names that attack are none: so a person does.
  const token = new URL(server.address).hash.replace('#token=', '')
  const family = listed.skills.filter(({ skill }) => skill.startsWith('qt-correction/'))
  for (const [at, { skill }] of family.entries()) {
    const url = `${server.origin}/v1/pages/${encodeURIComponent(skill)}`
    const { trigger, body } = await (await fetch(url)).json()
    const boundary = [{ request: 'Correct the interval by the formula of another author', skill: family[(at + 1) % family.length].skill }]
    const put = await fetch(url, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ trigger: trigger ?? '', boundary, body: body ?? '' }),
    })
    assert.equal(put.status, 200, await put.text())
  }
  const given = await Promise.all(listed.skills.map(async ({ skill }) => (await (await fetch(`${server.origin}/v1/pages/${encodeURIComponent(skill)}`)).json()).references.length))
  assert.ok(Math.max(...given) > 0, 'hostile skills send requests to hostile skills')
  const screens = ['#/', '#/?q=interval', '#/list', '#/playground?q=correct%20the%20QT%20interval%20with%20the%20cube%20root', '#/doctor', '#/compile']
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
    await page.goto(`${server.origin}/#/skill/${encodeURIComponent(listed.skills.find(({ skill }) => skill.includes('/script-')).skill)}`)
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
