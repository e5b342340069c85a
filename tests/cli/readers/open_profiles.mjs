// What speedscope shows of profiles, in Chromium: the table of its sandwich, and
// the length of pages of `export --to html`.
// usage: node open_profiles.mjs FILE... > JSON
import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {basename, dirname, extname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

import {missing, Session} from '../../viewer/browser_session.mjs';

const why = missing();
if (why) {
  console.log(JSON.stringify({missing: why}));
  process.exit(0);
}
const speedscope = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/speedscope/dist/release');
const files = process.argv.slice(2);
const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm'};
const server = createServer((request, answer) => {
  const [, first, number] = request.url.split('/');
  try {
    const path = first === 'profile' ? files[Number(number)] : join(speedscope, decodeURI(request.url));
    answer.setHeader('Content-Type', types[extname(path)] ?? 'application/octet-stream');
    answer.end(readFileSync(path));
  } catch {
    answer.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;
const session = await Session.open();
const {page} = session;

// Rows of the table: [total, self, name]. It draws those that are to be seen.
async function table() {
  const rows = [];
  for (let top = 0, end = false; !end; top += 200) {
    const [first, drawn, atEnd] = await page.evaluate(async (at) => {
      const shown = document.querySelectorAll('table')[1].parentElement;
      const list = shown.parentElement.parentElement;
      list.scrollTop = at;
      for (let i = 0; i < 3; ++i) await new Promise((done) => requestAnimationFrame(done));
      const cells = [...shown.querySelectorAll('tr')].map(
          (row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent));
      const height = shown.querySelector('tr').offsetHeight;
      return [new DOMMatrix(getComputedStyle(shown).transform).m42 / height, cells,
        at + list.clientHeight >= list.scrollHeight];
    }, top);
    drawn.forEach((row, i) => { rows[first + i] = row; });
    end = atEnd;
  }
  return rows;
}

const found = {};
for (const [index, file] of files.entries()) {
  await page.goto('about:blank');
  if (file.endsWith('.html')) {
    await session.show(`file://${file}?test=1`);
    found[file] = await session.ask('__pv.view()');
    continue;
  }
  const profile = encodeURIComponent(`${origin}/profile/${index}/${basename(file)}`);
  await page.goto(`${origin}/index.html#profileURL=${profile}`);
  await session.until(`document.title.includes(${JSON.stringify(basename(file))})`);
  await page.keyboard.press('3');
  await session.until("document.querySelectorAll('table').length > 1");
  found[file] = await table();
}
console.log(JSON.stringify(found));
await session.close();
server.close();
