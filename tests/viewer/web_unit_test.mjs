// Runs the front end's unit tests (tests/viewer/web) with Vitest.
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const web = join(dirname(fileURLToPath(import.meta.url)), '../../viewer/web');
const runner = join(web, 'node_modules/vitest/vitest.mjs');
if (!existsSync(runner)) {
  console.log('SKIPPED: packages are not installed: run `npm ci` in viewer/web');
  process.exit(0);
}
const done = spawnSync(process.execPath, [runner, 'run'], {cwd: web, stdio: 'inherit'});
process.exit(done.status ?? 1);
