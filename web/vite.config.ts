import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  // Relative addresses, so that the page also works below a path of a reverse proxy.
  base: './',
  plugins: [
    svelte({
      compilerOptions: {
        // From the styles alone: the default also reads the path of the file, and the build must be the
        // same on every machine.
        cssHash: ({ hash, css }) => `f-${hash(css)}`,
      },
    }),
  ],
  build: {
    target: 'es2022',
    sourcemap: false,
    // The server's policy allows no scripts or styles but files of its own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
  },
})
