// The committed WebAssembly module is what its sources give:
//   index_module_test.mjs WORK_FOLDER
// If no source has changed since it was built, it is not built again, but with
// COUNTRACE_TEST_FULL=1. A work folder that stays lets ccache find what did not
// change.
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';

const offline = join(dirname(fileURLToPath(import.meta.url)), '../../viewer/offline');
const work = process.argv[2];
const root = join(offline, '../..');
const sources = readFileSync(join(offline, 'index_module.sources'), 'utf8').trim().split('\n').map((line) => line.split('  '));
const unchanged = sources.length > 40 && sources.every(([sum, path]) => existsSync(join(root, path)) &&
    createHash('sha256').update(readFileSync(join(root, path))).digest('hex') === sum);
if (unchanged && process.env.COUNTRACE_TEST_FULL !== '1') {
  console.log(`ok: none of ${sources.length} sources has changed since it was built`);
  process.exit(0);
}
mkdirSync(work, {recursive: true});
const fresh = join(work, 'fresh.wasm.gz');
const done = spawnSync(join(offline, 'build_wasm.sh'), [fresh, work], {encoding: 'utf8'});
if (done.status === 77) {
  console.log(`SKIPPED: ${done.stderr.trim()} (scripts/setup installs it)`);
  process.exit(0);
}
if (done.status !== 0) {
  console.log(`FAIL  build_wasm.sh: ${done.stdout}${done.stderr}`);
  process.exit(1);
}
// Without gzip's own bytes, which depend on its version.
const [built, committed] = [fresh, join(offline, 'index_module.wasm.gz')].map(
    (path) => gunzipSync(readFileSync(path)));
if (!built.equals(committed)) {
  console.log(`FAIL  viewer/offline/index_module.wasm.gz is not what its sources give: built-bytes=${built.length}, ` +
              `committed-bytes=${committed.length}. Run viewer/offline/build_wasm.sh and commit both files`);
  process.exit(1);
}
console.log('ok');
