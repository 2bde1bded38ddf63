// What just happened, in a sentence: shown for a moment, and read aloud.

class Announcer {
  text = $state('')
  #timer: ReturnType<typeof setTimeout> | undefined

  say(text: string) {
    this.text = text
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => (this.text = ''), 6000)
  }
}

export const announcer = new Announcer()
