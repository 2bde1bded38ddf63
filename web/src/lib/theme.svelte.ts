// Light or dark?
//
// As the system has it, unless a person chose otherwise on this page.

export type Choice = 'auto' | 'light' | 'dark'

const KEY = 'fingerpost-theme'
const system = matchMedia('(prefers-color-scheme: dark)')

class Theme {
  choice = $state<Choice>('auto')
  #systemIsDark = $state(system.matches)
  dark = $derived(this.choice === 'auto' ? this.#systemIsDark : this.choice === 'dark')

  constructor() {
    const stored = localStorage.getItem(KEY)
    if (stored === 'light' || stored === 'dark') this.choice = stored
    system.addEventListener('change', () => (this.#systemIsDark = system.matches))
    this.#show()
  }

  choose(choice: Choice) {
    this.choice = choice
    if (choice === 'auto') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, choice)
    this.#show()
  }

  #show() {
    if (this.choice === 'auto') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = this.choice
  }
}

export const theme = new Theme()

/** May things move? */
export const mayMove = () => !matchMedia('(prefers-reduced-motion: reduce)').matches
