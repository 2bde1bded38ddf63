// Starts the real server on a library of its own, and stops it.

import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const BINARY = process.env.FINGERPOST_BIN
const EXAMPLE = new URL('../../examples/library', import.meta.url).pathname
const STARTS_WITHIN_MS = 120_000
const TOKEN = 'only-for-these-tests-0123456789'

/** A folder that is gone when the test is. */
export async function folder(t) {
  const path = await mkdtemp(join(tmpdir(), 'fingerpost-web-'))
  t.after(() => rm(path, { recursive: true, force: true, maxRetries: 5 }))
  return path
}

/** A copy of the example library, with its judged requests. */
export async function exampleLibrary(t) {
  const path = join(await folder(t), 'library')
  await cp(EXAMPLE, path, { recursive: true, filter: (from) => !from.endsWith('.fingerpost') })
  return path
}

/** A library of these skills: texts of SKILL.md by their folder. */
export async function libraryOf(t, skills) {
  const path = join(await folder(t), 'library')
  for (const [name, text] of Object.entries(skills)) {
    const file = join(path, name, 'SKILL.md')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return path
}

/** Serves a library; `address` carries the token, `origin` does not. */
export async function serve(library) {
  if (!BINARY) throw new Error('FINGERPOST_BIN must name the binary: FINGERPOST_BIN=target/debug/fingerpost node --test web/tests/')
  const home = dirname(library)
  // Nothing of whoever runs the tests is read or written.
  const env = { PATH: process.env.PATH, HOME: home, FINGERPOST_TOKEN: TOKEN, XDG_CACHE_HOME: join(home, 'cache'), XDG_DATA_HOME: join(home, 'data') }
  const child = spawn(BINARY, ['serve', '--library', library, '--port', '0'], { env, cwd: home, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const origin = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no address within ${STARTS_WITHIN_MS} ms:\n${said}`)), STARTS_WITHIN_MS)
    const hear = (chunk) => {
      said += chunk
      const found = /http:\/\/[\d.]+:\d+/.exec(said)
      if (found) {
        clearTimeout(late)
        resolve(found[0])
      }
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${said}`)))
  }).catch((error) => {
    child.kill('SIGKILL')
    throw error
  })
  await untilReady(origin)
  return { address: `${origin}/#token=${TOKEN}`, origin, stop: () => stop(child) }
}

async function untilReady(origin) {
  const end = Date.now() + STARTS_WITHIN_MS
  while (Date.now() < end) {
    const ready = await fetch(`${origin}/readyz`).catch(() => undefined)
    if (ready?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the server was never ready')
}

function stop(child) {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve()
    const hard = setTimeout(() => child.kill('SIGKILL'), 15_000)
    child.on('exit', () => {
      clearTimeout(hard)
      resolve()
    })
    child.kill('SIGTERM')
  })
}
