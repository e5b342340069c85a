// Makes docs/images/replay.webp, the moving picture of README:
//   replay_picture.mjs COUNTRACE TRACE PICTURE [FROM_MS TO_MS]
// The page plays the window FROM_MS to TO_MS once. TRACE is the result of
// scripts/demo. Each picture has only the pixels that changed. A PICTURE that
// ends with / is a folder: 12 pictures of the run as PNG, to be looked at.
// Exit: 1 if it would be larger than 1 MB.
import {mkdirSync, writeFileSync} from 'node:fs';

import {missing, Session, startServer} from './browser_session.mjs';

const QUALITY = 0.9;
const MOST_BYTES = 1_000_000;
const PICTURES = 50;
const FRAMES_EACH = 6; // of the replay: 30 a second
const [WIDTH, HEIGHT] = [1180, 664];

const number = (value, bytes) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
};
const chunk = (name, ...parts) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(name), number(body.length, 4), body, Buffer.alloc(body.length % 2)]);
};
// The image data of a still WebP.
function imageChunks(still) {
  const parts = [];
  for (let at = 12; at + 8 <= still.length;) {
    const name = still.toString('latin1', at, at + 4);
    const length = still.readUInt32LE(at + 4);
    const end = at + 8 + length + length % 2;
    if (['VP8 ', 'VP8L', 'ALPH'].includes(name)) parts.push(still.subarray(at, end));
    at = end;
  }
  return Buffer.concat(parts);
}
// https://developers.google.com/speed/webp/docs/riff_container
function animated(stills, frameMs) {
  const size = [number(WIDTH - 1, 3), number(HEIGHT - 1, 3)];
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    chunk('VP8X', number(0x12, 4), ...size),
    chunk('ANIM', number(0xffffffff, 4), number(0, 2)), // for ever
    ...stills.map((still, i) => chunk(
        'ANMF', number(0, 6), ...size, number(i + 1 < stills.length ? frameMs : 2000, 3), number(0, 1), imageChunks(still))),
  ]);
  return Buffer.concat([Buffer.from('RIFF'), number(body.length, 4), body]);
}

const reason = missing();
if (reason) {
  console.error(reason);
  process.exit(1);
}
const [countrace, trace, picture, from = '1000', to = '1006'] = process.argv.slice(2);
const folder = picture.endsWith('/');
const pictures = folder ? 12 : PICTURES;
const framesEach = folder ? 25 : FRAMES_EACH;
const [begin, end] = [Number(from) * 1e6, Number(to) * 1e6];
const server = await startServer(countrace, ['view', trace]);
const session = await Session.open();
try {
  const {page} = session;
  await page.setViewportSize({width: WIDTH, height: HEIGHT});
  await session.visit(server.url, `#from=${begin}&to=${end}&t=${begin}&event=2`);
  const {durationNs} = await session.ask('__pv.view()');
  if (end > durationNs) throw new Error(`the window ends at ${to} ms, the trace at ${durationNs / 1e6} ms: name another, FROM_MS TO_MS`);
  await session.key('q'); // more room for the rows
  const shots = [];
  // The window takes ten seconds, 300 frames.
  await session.ask('__pv.setSpeed(1)');
  await page.keyboard.press('l');
  for (let i = 0; i < pictures; ++i) {
    for (let frame = 0; frame < framesEach; ++frame) {
      const {playhead} = await session.ask('__pv.view()');
      while ((await session.ask(`__pv.play(${1000 / 30}); __pv.view()`)).playhead === playhead) await page.waitForTimeout(5);
    }
    await session.settled();
    const shot = await page.screenshot();
    if (folder) {
      mkdirSync(picture, {recursive: true});
      writeFileSync(`${picture}${String(i).padStart(2, '0')}.png`, shot);
    } else {
      shots.push(shot.toString('base64'));
    }
  }
  const encoder = await session.context.newPage();
  const stills = [];
  for (const shot of shots) {
    stills.push(Buffer.from(await encoder.evaluate(async ([base64, quality]) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
      const {width, height} = bitmap;
      const canvas = Object.assign(document.createElement('canvas'), {width, height});
      const context = canvas.getContext('2d', {willReadFrequently: true});
      context.drawImage(bitmap, 0, 0);
      const image = context.getImageData(0, 0, width, height);
      const whole = new Uint32Array(image.data.slice().buffer);
      const pixels = new Uint32Array(image.data.buffer);
      // Transparent where the picture before it shows, in whole blocks of the
      // encoder: inside one, colours bleed.
      const blockOf = (i) => `${i % width >> 4},${Math.floor(i / width) >> 4}`;
      const changed = new Set();
      for (let i = 0; i < pixels.length; ++i) if (globalThis.before?.[i] !== pixels[i]) changed.add(blockOf(i));
      for (let i = 0; i < pixels.length; ++i) if (!changed.has(blockOf(i))) pixels[i] = 0;
      globalThis.before = whole;
      context.putImageData(image, 0, 0);
      return canvas.toDataURL('image/webp', quality).split(',')[1];
    }, [shot, QUALITY]), 'base64'));
  }
  if (folder) {
    console.log(`${picture}: ${pictures} pictures`);
  } else {
    const film = animated(stills, 140);
    if (film.length > MOST_BYTES) throw new Error(`too large: ${film.length} bytes, limit=${MOST_BYTES}`);
    writeFileSync(picture, film);
    console.log(`${picture}: ${PICTURES} pictures, ${film.length} bytes`);
  }
} finally {
  await session.close();
  await server.stop();
}
