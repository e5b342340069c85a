// Makes docs/images/timeline.png, a picture of README and docs/timeline.md:
//   timeline_picture.mjs COUNTRACE TRACE PICTURE [FROM_MS TO_MS]
// The window FROM_MS to TO_MS with its middle two thirds selected and the
// playhead in the middle. TRACE is the result of scripts/demo.
import {dirname, basename, extname} from 'node:path';

import {missing, Session, startServer} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.error(reason);
  process.exit(1);
}
const [countrace, trace, picture, from = '1000', to = '1006'] = process.argv.slice(2);
const [begin, end] = [Number(from) * 1e6, Number(to) * 1e6];
const server = await startServer(countrace, ['view', trace]);
const session = await Session.open();
try {
  const at = (share) => Math.round(begin + share * (end - begin));
  await session.visit(server.url,
      `#from=${begin}&to=${end}&t=${at(0.5)}&sel=${at(1 / 6)}-${at(5 / 6)}&event=2`);
  await session.page.waitForTimeout(500);
  await session.settled();
  await session.shot(dirname(picture), basename(picture, extname(picture)));
} finally {
  await session.close();
  await server.stop();
}
