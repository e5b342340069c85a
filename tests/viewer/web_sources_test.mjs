// The front end's sources: types check, and files import only what they may.
import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const web = join(here, '../../viewer/web');
if (!existsSync(join(web, 'node_modules/typescript'))) {
  console.log('SKIPPED: packages are not installed: run scripts/setup');
  process.exit(0);
}

let failed = false;
function run(what, args) {
  const done = spawnSync(process.execPath, args, {cwd: web, encoding: 'utf8'});
  if (done.status === 0) return;
  failed = true;
  console.log(`FAIL  ${what}\n${done.stdout}${done.stderr}`);
}
const compiler = join(web, 'node_modules/typescript/bin/tsc');
run('types of web/src', [compiler, '--noEmit', '-p', 'tsconfig.json']);
run('types of the unit tests', [compiler, '--noEmit', '-p', join(here, 'web/tsconfig.json')]);

// Host names of a registry must not get into the repository.
if (/"resolved"/.test(readFileSync(join(web, 'package-lock.json'), 'utf8'))) {
  failed = true;
  console.log('FAIL  package-lock.json names a registry: install with viewer/web/.npmrc');
}
// What all features share does not touch the page: tests run it without one.
for (const folder of ['api', 'core']) {
  for (const file of readdirSync(join(web, 'src', folder))) {
    if (!/\bdocument\.[a-z]|\bwindow\.[a-z]/.test(readFileSync(join(web, 'src', folder, file), 'utf8'))) continue;
    failed = true;
    console.log(`FAIL  ${folder}/${file} touches the DOM`);
  }
}
if (!failed) console.log('ok');
process.exit(failed ? 1 : 0);
