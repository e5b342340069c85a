// Installs the front end's packages listed in the lock file, unless they are
// installed. Tests that need them run after it.
import {spawnSync} from 'node:child_process';
import {existsSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const web = join(dirname(fileURLToPath(import.meta.url)), '../../viewer/web');
const installed = join(web, 'node_modules/.package-lock.json');
if (existsSync(installed) &&
    statSync(installed).mtimeMs >= statSync(join(web, 'package-lock.json')).mtimeMs) {
  console.log('packages are up to date');
  process.exit(0);
}
const done = spawnSync('npm', ['ci'], {cwd: web, encoding: 'utf8'});
if (done.error || done.status !== 0) {
  console.log(`SKIPPED: npm ci failed: ${done.error?.message ?? done.stderr.slice(-2000)}`);
}
