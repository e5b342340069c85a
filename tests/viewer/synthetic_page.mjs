// Opens the page of a trace whose truth is known, for the browser tests of one
// part each: PART_test.mjs SERVE_SYNTHETIC SHOTS.
import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer} from './browser_session.mjs';

// Runs the claims of a part, then those that hold of each; ends the process.
// `trace`: dispatches, seed and CPUs of it.
export async function onSyntheticPage(part, trace = ['20000']) {
  const reason = missing();
  if (reason) {
    console.log(`SKIPPED: ${reason}`);
    process.exit(0);
  }
  const [program, shots] = process.argv.slice(2);
  const directory = mkdtempSync(join(tmpdir(), 'countrace-synthetic-'));
  const server = await startServer(program, [directory, ...trace]);
  const truth = JSON.parse(readFileSync(join(directory, 'truth.json'), 'utf8'));
  const session = await Session.open();
  const {page} = session;
  const claims = new Claims();
  const view = () => session.ask('__pv.view()');
  const areaBox = () => page.locator('.area').boundingBox();
  const rowOf = async (kind, lane) => (await session.ask('__pv.rows()'))
      .find((row) => row.kind === kind && (!lane || row.lane === lane));
  try {
    await session.visit(server.url);
    await part({claims, page, session, shots, truth, view, areaBox, rowOf});
    await claims.claim('nothing went wrong in the page', async () => {
      assert.deepEqual(session.problems, []);
    });
    const stats = await session.ask('__pv.frames()');
    const sorted = [...stats.drawMs].sort((a, b) => a - b);
    console.log(`draw-ms p50=${sorted[sorted.length >> 1]?.toFixed(1)} ` +
                `p95=${sorted[Math.floor(sorted.length * 0.95)]?.toFixed(1)} frames=${stats.frames}`);
  } finally {
    await session.close();
  }
  await claims.claim('the server ends cleanly on SIGINT', async () => {
    assert.equal(await server.stop(), 0);
  });
  rmSync(directory, {recursive: true, force: true});
  process.exit(claims.failed === 0 ? 0 : 1);
}
