// Pictures, keys, sizes, hostile names, colours of the page: browser_page_test.mjs SERVE_SYNTHETIC SHOTS
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';

import {onSyntheticPage} from './synthetic_page.mjs';

await onSyntheticPage(async ({claims, page, session, shots, truth, view, areaBox, rowOf}) => {
  await claims.claim('Shift+P saves what is on screen as PNG', async () => {
    await session.key('0');
    await session.ask('__pv.movePlayhead(0)');
    await session.settled();
    const same = await page.evaluate(() => {
      const base = document.querySelector('.area canvas');
      const picture = __pv.picture();
      const copy = (canvas) => {
        const made = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
        made.getContext('2d', {willReadFrequently: true}).drawImage(canvas, 0, 0);
        return made;
      };
      const part = (canvas, x, y) => canvas.getContext('2d').getImageData(x, y, base.width - 100, base.height).data;
      // Copies: chromium warns of canvases that are read again and again.
      const from = part(copy(base), 100, 0);
      const to = part(copy(picture), picture.width - base.width + 100, picture.height - base.height);
      let equal = 0, drawn = 0;
      for (let i = 0; i < from.length; i += 4) {
        if (from[i + 3] === 0) continue;
        ++drawn;
        if ([0, 1, 2].every((part) => Math.abs(from[i + part] - to[i + part]) <= 1)) ++equal;
      }
      return {equal, drawn, pixels: from.length / 4};
    });
    await session.shot(shots, 'picture');
    assert.ok(same.drawn > same.pixels / 10 && same.equal > 0.98 * same.drawn, JSON.stringify(same));
    await page.locator('.area').focus();
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Shift+P')]);
    assert.match(download.suggestedFilename(), /\.png$/);
    const bytes = readFileSync(await download.path());
    assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
    assert.equal(bytes.readUInt32BE(16), (await view()).widthPx + 200);
  });

  await claims.claim('Shift+V saves it as SVG: a group for each row, the same colours', async () => {
    const {durationNs} = await view();
    const wide = truth.cpu0.filter(([begin, end, thread]) => thread !== 0xffffffff && end - begin > 10000)[30];
    const other = await session.context.newPage(); // no policy of the page limits it
    for (const [place, from, to] of [['all', 0, durationNs], ['items', wide[0] - 100000, wide[1] + 100000]]) {
      await session.ask(`__pv.setWindow(${from}, ${to})`);
      await session.ask(`__pv.movePlayhead(${from + (to - from) / 3})`);
      await session.settled();
      const drawing = await session.ask('__pv.drawing()');
      const titles = await page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
        return parsed.querySelector('parsererror')?.textContent ?? [...parsed.querySelectorAll('g.row > title')].map((title) => title.textContent);
      }, drawing);
      const lanes = await page.locator('.labels .label').count();
      assert.ok(Array.isArray(titles), `${titles}`);
      assert.equal(titles.length, lanes);
      assert.ok(titles.includes('CPU 0') && titles.some((title) => title.startsWith('redis-server')), `${titles}`);
      // Points of the rows without letters: a line above their feet, below title and ruler.
      const area = (await areaBox()).height;
      const rows = (await session.ask('__pv.rows()')).filter(({y, height}) => y > 0 && height > 3 && y + height < area);
      const points = Array.from({length: 20}, (_, i) => {
        const {y, height} = rows[i % rows.length];
        return [200 + 40 * i + 7, Math.round(y + height) - 2 + 52];
      });
      const png = await session.ask('__pv.picture().toDataURL()');
      const compared = await other.evaluate(async ([svg, picture, points]) => {
        const load = async (address) => {
          const image = Object.assign(new Image(), {src: address});
          await image.decode();
          const canvas = Object.assign(document.createElement('canvas'), {width: image.naturalWidth, height: image.naturalHeight});
          const context = canvas.getContext('2d', {willReadFrequently: true});
          context.drawImage(image, 0, 0);
          return {width: canvas.width, height: canvas.height, data: context.getImageData(0, 0, canvas.width, canvas.height).data};
        };
        const a = await load(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`);
        const b = await load(picture);
        const apart = (at) => Math.max(...[0, 1, 2].map((part) => Math.abs(a.data[4 * at + part] - b.data[4 * at + part])));
        let near = 0;
        for (let i = 0; i < a.width * a.height; ++i) near += apart(i) <= 8 ? 1 : 0;
        return {
          sizes: [a.width, a.height, b.width, b.height],
          near: near / (a.width * a.height),
          probes: points.map(([x, y]) => apart(y * b.width + x)),
        };
      }, [drawing, png, points]);
      const [width, height, pngWidth, pngHeight] = compared.sizes;
      assert.deepEqual([width, height], [pngWidth, pngHeight]);
      assert.ok(compared.near > 0.98, `${place}: ${compared.near} of the pixels`);
      assert.ok(Math.max(...compared.probes) <= 8, `${place}: ${compared.probes} at ${JSON.stringify(points)}`);
    }
    await other.close();
    await session.key('0');
    await page.locator('.area').focus();
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Shift+V')]);
    assert.match(download.suggestedFilename(), /\.svg$/);
    assert.match(readFileSync(await download.path(), 'utf8'), /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="\d+"/);
  });

  await claims.claim('keyboard only: select a range, read its table, open and close help', async () => {
    await page.locator('.area').focus();
    await session.key('Escape');
    for (let i = 0; i < 3; ++i) await session.key('Shift+ArrowRight');
    assert.ok((await view()).selection);
    await page.waitForTimeout(120);
    await session.settled();
    assert.ok((await page.locator('.offscreen[role=status]').innerText()).startsWith('Selected'));
    await page.keyboard.press('Shift+Slash');
    await page.locator('dialog.help').waitFor();
    await session.shot(shots, 'help');
    await page.keyboard.press('Escape');
    await page.locator('dialog.help').waitFor({state: 'hidden'});
  });

  await claims.claim('the edge of the tables gives them more rows, by pointer and by key', async () => {
    const height = async () => Math.round((await page.locator('.range').boundingBox()).height);
    const before = await height();
    const edge = await page.locator('.dock-edge').boundingBox();
    await page.mouse.move(edge.x + 300, edge.y + 4);
    await page.mouse.down();
    await page.mouse.move(edge.x + 300, edge.y - 116, {steps: 3});
    await page.mouse.up();
    assert.ok(Math.abs(await height() - before - 120) <= 2, `${before} ${await height()}`);
    await page.mouse.move(edge.x + 300, edge.y - 116);
    await page.mouse.down();
    await page.mouse.move(edge.x + 300, 5, {steps: 3});
    await page.mouse.up();
    assert.ok((await areaBox()).height > 60);
    await page.locator('.dock-edge').press('ArrowDown');
    await page.locator('.dock-edge').dblclick();
    await session.settled();
    assert.equal(await height(), before);
    await page.locator('.dock-edge').press('ArrowUp');
    assert.equal(await height(), before + 24);
    await page.locator('.dock-edge').press('ArrowDown');
    assert.equal(await height(), before);
    await page.locator('.dock-edge').dblclick();
  });

  await claims.claim('800 px wide, the timeline has 60 % of it', async () => {
    await page.setViewportSize({width: 800, height: 700});
    await page.waitForTimeout(100);
    await session.settled();
    const box = await areaBox();
    assert.ok(box.width >= 480, `${box.width}`);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 800);
    await session.shot(shots, 'narrow');
    await page.setViewportSize({width: 1440, height: 900});
    await session.settled();
  });

  await claims.claim('hostile names of an imported trace are text, and move nothing', async () => {
    const hostile = [
      '<img src=x onerror="window.__hurt=1"><script>window.__hurt=1</script>', '\u0000\u001b[31m\u0007\r\nbell', '\u202egnirts\u2066\u200f',
      'x'.repeat(10000), '&lt;b&gt;"\'`$1</td></table>', '__proto__', `${'W'.repeat(300)}${'\u0301'.repeat(500)}`, '', '\ud800',
    ];
    const spoil = (value) => {
      if (value === null || typeof value !== 'object') return;
      for (const [key, inner] of Object.entries(value)) {
        if ((key === 'name' || key === 'comm' || key === 'location') && typeof inner === 'string') {
          value[key] = hostile[(value.hook ?? value.thread ?? value.process ?? 0) % hostile.length];
        } else spoil(inner);
      }
    };
    await page.route(/\/api\/v1\/(hooks|rows|processes|threads|find)\b/, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      spoil(json);
      await route.fulfill({response, json});
    });
    const dialogs = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const sizes = () => page.evaluate(() => Object.fromEntries([
      ...['.toolbar', '.now', '.area', '.range', '.gutter', '.minimap'].map((name) => {
        const box = document.querySelector(name).getBoundingClientRect();
        return [name, [box.x, box.y, box.width, box.height].map(Math.round).join(' ')];
      }),
      ['page', `${document.documentElement.scrollWidth} ${document.documentElement.scrollHeight}`],
    ]));
    const harmless = async (place, before) => {
      assert.equal(await page.evaluate('window.__hurt'), undefined, place);
      assert.equal(await page.locator('img, .now script, .range script').count(), 0, place);
      assert.deepEqual(await sizes(), before, place);
    };
    for (const width of [1440, 800]) {
      await page.setViewportSize({width, height: 900});
      await session.revisit('');
      const before = await sizes();
      const {durationNs} = await view();
      await session.ask(`__pv.movePlayhead(${durationNs / 2})`);
      await session.settled();
      for (const tab of ['Processes', 'Threads', 'Segments', 'CPUs', 'Waits', 'Hooks']) {
        await page.getByRole('tab', {name: tab}).click();
        await page.waitForTimeout(100); // the request waits for a drag to end
        await session.settled();
        await harmless(`${width}: ${tab}`, before);
        const [widest, tallest] = await page.evaluate(() => [
          Math.max(...[...document.querySelectorAll('.data td:first-child')].map((cell) => cell.clientWidth)),
          Math.max(...[...document.querySelectorAll('.data tbody tr')].map((row) => row.clientHeight))]);
        // A table of few columns is as wide as the page: so are its names, which are cut.
        assert.ok(widest <= 480 && tallest <= 40, `${tab}: ${widest} x ${tallest}`);
      }
      await page.getByRole('tab', {name: 'Segments'}).click();
      await page.locator('.data tbody tr').first().click();
      await session.settled();
      await harmless(`${width}: durations`, before);
      const row = (await session.ask('__pv.rows()')).find(({kind}) => kind === 'segment');
      const box = await areaBox();
      await page.mouse.move(box.x + box.width / 2, box.y + row.y + 8);
      await session.settled();
      await harmless(`${width}: tooltip`, before);
      for (const tip of await page.locator('.tooltip').all()) {
        const size = await tip.boundingBox();
        assert.ok(size.width <= 320 && size.height <= 300, JSON.stringify(size));
      }
      await page.locator('.area').focus();
      await page.keyboard.press('/');
      await page.keyboard.type('server');
      await page.keyboard.press('Enter');
      await session.settled();
      await harmless(`${width}: found`, before);
      await session.shot(shots, `hostile-${width}`);
      await page.keyboard.press('Control+a');
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Escape');
    }
    assert.deepEqual(dialogs, []);
    await page.unrouteAll({behavior: 'wait'});
    await page.setViewportSize({width: 1440, height: 900});
    await session.revisit('');
  });

  await claims.claim('every command is found by its name and runs, colours too; no such command is said', async () => {
    await page.locator('.area').focus();
    await page.keyboard.press('Shift+Slash');
    const help = page.locator('dialog.help dd');
    await help.first().waitFor();
    const known = (await help.allInnerTexts()).sort();
    await page.keyboard.press('Escape');
    await page.locator('dialog.help').waitFor({state: 'hidden'}); // it keeps the focus
    const input = page.locator('.find input');
    await input.fill('>');
    await page.locator('#find-list li').first().waitFor();
    assert.deepEqual((await page.locator('#find-list li span:first-child').allInnerTexts()).sort(), known);
    await input.fill('>no such command');
    await page.locator('.find', {hasText: 'none'}).waitFor();
    const safe = () => page.getByRole('button', {name: 'Palette'}).getAttribute('aria-pressed');
    for (const wanted of ['true', 'false']) {
      await input.fill('>safe palette');
      await page.keyboard.press('Enter');
      await session.settled();
      assert.equal(await safe(), wanted);
    }
    await page.locator('.area').focus();
    await session.key('Shift+X');
    assert.equal(await safe(), 'true');
    await session.key('Shift+X');
    for (const wanted of ['dark', 'light']) {
      await session.key('Shift+D');
      assert.equal(await page.evaluate('document.documentElement.dataset.theme'), wanted);
    }
  });

  await claims.claim('a time that has no room in the toolbar is left out, not cut', async () => {
    const input = page.locator('.find input');
    const fits = () => page.evaluate(() => {
      const box = document.querySelector('.window').getBoundingClientRect();
      return [...document.querySelectorAll('.window span')].map((span) => {
        const {left, right, top, bottom} = span.getBoundingClientRect();
        return top >= box.bottom ? 'out' : left >= box.left - 0.5 && right <= box.right + 0.5 && bottom <= box.bottom + 0.5 ? 'in' : 'cut';
      });
    });
    const seen = new Set();
    for (const [width, text] of [[1440, ''], [1440, 'server:handle'], [1320, 'server:handle'], [1305, 'server:handle']]) {
      await page.setViewportSize({width, height: 900});
      await input.fill(text);
      await session.settled();
      const shown = await fits();
      assert.equal(shown.length, 1);
      assert.notEqual(shown[0], 'cut', `${width} px, ${text}`);
      seen.add(shown[0]);
      assert.ok((await input.boundingBox()).width >= 118);
      assert.ok((await page.evaluate(() => document.querySelector('.toolbar').scrollWidth)) <= width);
    }
    assert.deepEqual([...seen].sort(), ['in', 'out']);
    await page.setViewportSize({width: 1440, height: 900});
    await input.fill('');
    await page.locator('.area').focus();
    await session.settled();
  });

  await claims.claim('a tooltip is of what is under the pointer, also after the rows moved', async () => {
    await session.key('0');
    const box = await areaBox();
    const row = await rowOf('cpu', 'cpu0');
    const other = await rowOf('cpu', 'cpu1');
    await page.mouse.move(box.x + 500, box.y + other.y + other.height - 2);
    await page.locator('.tooltip').waitFor();
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), /CPU 1$/);
    await page.mouse.move(box.x + 500, box.y + row.y + row.height - 2);
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), /CPU 0$/);
    // Not by the pointer.
    await page.getByRole('button', {name: 'All CPUs: close'}).focus();
    await page.keyboard.press('Enter');
    await session.settled();
    assert.doesNotMatch(await page.locator('.tooltip').innerText(), /CPU 0$/);
    await page.keyboard.press('Enter');
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), /CPU 0$/);
  });

  await claims.claim('dark: the page changes, its pixels too', async () => {
    await session.key('0');
    await page.getByLabel('Light or dark').click();
    await session.settled();
    // What is behind the rows.
    const column = await page.evaluate(() => {
      const canvas = document.querySelector('.area canvas');
      return [...canvas.getContext('2d').getImageData(5, 0, 1, canvas.height).data];
    });
    const sums = Array.from({length: column.length / 4}, (_, y) => column[4 * y] + column[4 * y + 1] + column[4 * y + 2]);
    const dark = sums.filter((sum) => sum < 200).length;
    assert.ok(dark > sums.length / 3, `${dark} of ${sums.length}`);
    await session.shot(shots, 'dark');
  });
});
