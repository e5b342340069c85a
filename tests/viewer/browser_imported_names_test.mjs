// Names and texts that a stranger chose, from an imported trace to the page and
// to the exported file: browser_imported_names_test.mjs COUNTRACE SHOTS HAS_MODULE
// The trace is a CTF one, of processes, files, hooks and values with such names.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer, wholeIndex} from './browser_session.mjs';

const [countrace, shots, hasModule] = process.argv.slice(2);
const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}

const HURT = '<img src=x onerror="window.__hurt=1"></script><script>window.__hurt=1</script>';
const NAMES = [
  HURT, '"\'`\\\u0024{window.__hurt=1}&lt;b&gt;', 'a\u0007\u001b[31m\r\n\tbell', '\u202egnirts\u2066\u200f', '\u2028line\u2029',
  `${'n'.repeat(4000)}${HURT}`, '__proto__', '%00%s%n',
].map((name) => Buffer.from(name)).concat(Buffer.from([0xff, 0xfe, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0x3c, 0x62, 0x3e]));

// --- The trace -----------------------------------------------------------------

const u32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const text = (bytes) => Buffer.concat([bytes, Buffer.alloc(1)]);
// In a quoted string of the metadata, which is text.
const quoted = (bytes) => `"${bytes.toString('utf8').replace(/[\\"]/g, '\\$&').replace(/[\u0000-\u001f]/g, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`)}"`;

function writeTrace(folder) {
  const tasks = NAMES.map((name, i) => ({name, tid: 100 + i}));
  const integer = (size, more = '') => `integer { size = ${size}; align = 8; ${more} }`;
  const fields = (...all) => `fields := struct { ${all.map((field) => `${field};`).join(' ')} };`;
  const events = [
    `event { name = "sched_switch"; id = 0; stream_id = 0; ${fields('string _prev_comm', `${integer(32)} _prev_tid`, `${integer(32)} _prev_prio`, `${integer(64)} _prev_state`, 'string _next_comm', `${integer(32)} _next_tid`, `${integer(32)} _next_prio`)} };`,
    `event { name = "syscall_entry_openat"; id = 1; stream_id = 0; ${fields(`${integer(32)} _dfd`, 'string _filename', `${integer(32)} _flags`)} };`,
    `event { name = "syscall_exit_openat"; id = 2; stream_id = 0; ${fields(`${integer(64)} _ret`)} };`,
    ...NAMES.map((name, i) => `event { name = ${quoted(name)}; id = ${3 + i}; stream_id = 0; ${fields('string _said')} };`),
  ];
  const metadata = `/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { ${integer(32)} magic; ${integer(32)} stream_id; }; };
env { domain = "kernel"; tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; hostname = ${quoted(NAMES[0])}; };
clock { name = "monotonic"; freq = 1000000000; offset = 0; };
stream { id = 0;
  packet.context := struct { ${integer(64, 'map = clock.monotonic.value;')} timestamp_begin; ${integer(64, 'map = clock.monotonic.value;')} timestamp_end; ${integer(64)} content_size; ${integer(64)} packet_size; ${integer(64)} events_discarded; ${integer(32)} cpu_id; };
  event.header := struct { ${integer(32)} id; ${integer(64, 'map = clock.monotonic.value;')} timestamp; };
};
${events.join('\n')}
`;
  const records = [];
  let at = 1_000_000;
  const record = (id, ...values) => {
    at += 100_000;
    records.push(u32(id), u64(at), ...values);
  };
  for (let round = 0; round < 4; ++round) {
    tasks.forEach(({name, tid}, i) => {
      const prev = tasks[(i + tasks.length - 1) % tasks.length];
      record(0, text(prev.name), u32(prev.tid), u32(20), u64(1), text(name), u32(tid), u32(20));
      record(1, u32(3), text(name), u32(0));
      record(3 + (i + round) % NAMES.length, text(name));
      record(2, u64(3));
    });
  }
  const body = Buffer.concat(records);
  const head = 8 + 5 * 8 + 4;
  const bits = 8 * (head + body.length);
  mkdirSync(folder);
  writeFileSync(join(folder, 'metadata'), metadata);
  writeFileSync(join(folder, 'channel0_0'), Buffer.concat([
    u32(0xc1fc1fc1), u32(0), u64(1_000_000), u64(at), u64(bits), u64(bits), u64(0), u32(0), body,
  ]));
}

// --- The claims ----------------------------------------------------------------

const directory = mkdtempSync(join(tmpdir(), 'countrace-hostile-'));
process.env.XDG_RUNTIME_DIR = directory;
const [source, trace, file] = ['source', 'hostile.ctf', 'hostile.html'].map((name) => join(directory, name));
const run = (...args) => {
  const done = spawnSync(countrace, args, {encoding: 'utf8', maxBuffer: 1 << 28});
  assert.equal(done.status, 0, `countrace ${args.join(' ')}: ${done.stderr}`);
};
const claims = new Claims();
const session = await Session.open();
const {page} = session;
const dialogs = [];
page.on('dialog', (dialog) => {
  dialogs.push(dialog.message());
  void dialog.dismiss();
});
// No name became an element, and none has a character that hides or turns others.
const harmless = async (place) => {
  assert.equal(await page.evaluate('window.__hurt'), undefined, place);
  assert.equal(await page.locator('#app img, #app script, #app b').count(), 0, place);
  const shown = await page.evaluate(() => document.querySelector('#app').textContent + [...document.querySelectorAll('#app [title], #app [aria-label]')].map((one) => `${one.title} ${one.ariaLabel ?? ''}`).join(''));
  assert.doesNotMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/, place);
  const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= seen, `${place}: ${wide} px`);
};
const walk = async (tabs) => {
  const {durationNs} = await session.ask('__pv.view()');
  await session.ask(`__pv.movePlayhead(${Math.floor(durationNs / 2)})`);
  await session.settled();
  await harmless('first');
  const found = new Set();
  for (const name of tabs) {
    await page.getByRole('tab', {name}).click();
    await page.waitForTimeout(100); // the request waits for a drag to end
    await session.settled();
    await harmless(name);
    for (const cell of await page.locator('.range td').allTextContents()) found.add(cell);
  }
  // They are there, as text.
  const all = [...found].join('\n');
  assert.ok(all.includes('<img src=x onerror="window.__hurt=1">'), all.slice(0, 2000));
  assert.ok(all.includes('__proto__') && all.includes('%00%s%n'), all.slice(0, 2000));
  await page.locator('.area').focus();
  await page.keyboard.press('/');
  await page.keyboard.type('img src');
  await session.settled();
  await harmless('the list of what was found');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await session.settled();
  for (const {y, height} of await session.ask('__pv.rows()')) {
    const box = await page.locator('.area').boundingBox();
    if (y < 0 || y + height > box.height) continue;
    await page.mouse.move(box.x + box.width / 2, box.y + y + height / 2);
    await session.settled();
    await harmless(`tooltip at ${y}`);
  }
  const drawing = await session.ask('__pv.drawing()');
  const parsed = await page.evaluate((svg) => {
    const read = new DOMParser().parseFromString(svg, 'image/svg+xml');
    return {broken: read.querySelector('parsererror')?.textContent ?? '', scripts: read.querySelectorAll('script, img, foreignObject').length};
  }, drawing);
  assert.deepEqual(parsed, {broken: '', scripts: 0});
  assert.deepEqual(dialogs, []);
  assert.deepEqual(session.problems, []);
};
let server;
try {
  writeTrace(source);
  run('import', '--force', '-o', trace, source);
  await claims.claim('hostile names of an imported trace are text in the page', async () => {
    server = await wholeIndex(await startServer(countrace, ['view', trace]));
    await session.visit(server.url);
    await walk(['Processes', 'Threads', 'Segments', 'Hooks', 'Waits', 'Events']);
    await session.shot(shots, 'hostile-imported');
  });
  if (hasModule === 'ON') {
    await claims.claim('they are in the exported file, too', async () => {
      run('export', '--to', 'html', '-o', file, trace);
      await session.context.setOffline(true);
      await session.show(`file://${encodeURI(file)}?test=1`);
      await walk(['Processes', 'Threads', 'Segments', 'Hooks']);
      await session.shot(shots, 'hostile-exported');
    });
  }
} finally {
  await session.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
