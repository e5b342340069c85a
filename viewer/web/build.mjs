// Bundles src/: `node build.mjs OUT [DEPFILE]`. The result must not depend on the
// machine: no source maps, no time, no paths. DEPFILE gets the names of all files
// that were read, as make and ninja read them.
import {copyFile, mkdir, writeFile} from 'node:fs/promises';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
if (!process.argv[2]) throw new Error('usage: node build.mjs OUT [DEPFILE]');
const out = resolve(process.argv[2]);
const depfile = process.argv[3];
await mkdir(out, {recursive: true});
const scripts = await build({
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
  metafile: true,
  logLevel: 'warning',
});
const styles = await build({
  absWorkingDir: here,
  entryPoints: {app: 'style.css'},
  bundle: true,
  minify: true,
  target: 'es2022',
  outdir: out,
  metafile: true,
  logLevel: 'warning',
});
const copied = ['index.html', 'pair.html', 'icon.svg'];
for (const name of copied) await copyFile(join(here, name), join(out, name));
if (depfile) {
  const read = [scripts, styles].flatMap(({metafile}) => Object.keys(metafile.inputs)).concat(copied);
  const name = (path) => path.replaceAll(' ', '\\ ');
  await writeFile(depfile, `${name(join(out, 'app.js'))}: ${read.map((path) => name(join(here, path))).join(' ')}\n`);
}
