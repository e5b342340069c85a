// 200 files whose modes are changed, by the thread pool of libuv.
import { chmod, writeFile } from 'node:fs/promises';

const folder = process.argv[2];
const names = Array.from({ length: 200 }, (_, i) => `${folder}/f${i}`);
await Promise.all(names.map((name) => writeFile(name, name)));
await Promise.all(names.map((name) => chmod(name, 0o600)));
console.log('files', names.length);
