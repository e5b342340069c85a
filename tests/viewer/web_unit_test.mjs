// Runs the front end's unit tests (tests/viewer/web) with Vitest.
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const web = join(dirname(fileURLToPath(import.meta.url)), '../../viewer/web');
const runner = join(web, 'node_modules/vitest/vitest.mjs');
if (!existsSync(runner)) {
  console.log('SKIPPED: packages are not installed: run scripts/setup');
  process.exit(0);
}
// Debian 12's own Node, which builds the page, is older.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.log(`SKIPPED: Vitest needs Node 20.19, this is ${process.versions.node}`);
  process.exit(0);
}
const done = spawnSync(process.execPath, [runner, 'run'], {cwd: web, stdio: 'inherit'});
process.exit(done.status ?? 1);
