// Unit tests live in tests/viewer/web; their packages are installed here.
import {fileURLToPath} from 'node:url';

import {defineConfig} from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('../..'),
  cacheDir: here('node_modules/.vite'),
  resolve: {alias: {
    'fast-check': here('node_modules/fast-check'),
    '@preact/signals-core': here('node_modules/@preact/signals-core'),
  }},
  test: {
    globals: true,
    environment: 'node',
    include: ['tests/viewer/web/**/*.test.ts'],
  },
});
