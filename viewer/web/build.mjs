// Bundles src/ into dist/: `node build.mjs [OUT]`. The result is committed, so
// it must not depend on the machine: no source maps, no time, no paths.
import {copyFile, mkdir} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist');
await mkdir(out, {recursive: true});
await build({
  absWorkingDir: here,
  entryPoints: {app: 'src/main.tsx', index_worker: 'src/api/index_worker.ts', pair: 'src/pair.tsx'},
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  outdir: out,
  logLevel: 'warning',
});
await build({
  absWorkingDir: here,
  entryPoints: {app: 'style.css'},
  bundle: true,
  minify: true,
  target: 'es2022',
  outdir: out,
  logLevel: 'warning',
});
await copyFile(join(here, 'index.html'), join(out, 'index.html'));
await copyFile(join(here, 'pair.html'), join(out, 'pair.html'));
await copyFile(join(here, 'icon.svg'), join(out, 'icon.svg'));
