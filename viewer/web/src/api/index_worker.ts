// The worker of own_index.ts: unpacks the index into the memory of the wasm
// module (viewer/offline/wasm/module_main.cc), and passes requests to it.

import type {Answer} from './backend';
import type {FromWorker, OwnFile, ToWorker} from './own_index';

interface Module {
  memory: WebAssembly.Memory;
  _initialize(): void;
  reserve(bytes: number): number;
  release(place: number): void;
  open(place: number, bytes: number): number;
  take_samples(place: number, bytes: number): number;
  ask(method: number, methodBytes: number, target: number, targetBytes: number, body: number, bodyBytes: number): number;
  body(): number;
  body_bytes(): number;
}

const scope = self as unknown as {
  onmessage: (event: MessageEvent<ToWorker>) => void;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
};
const ERRNO_NOSYS = 52;
const encoder = new TextEncoder();

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function unpacked(parts: readonly string[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<BufferSource>({
    pull(controller) {
      const part = parts[next++];
      if (part === undefined) return controller.close();
      controller.enqueue(bytesOf(part));
    },
  }).pipeThrough(new DecompressionStream('gzip'));
}

const damaged = (what: string): Error => new Error(`The ${what} in this file is damaged`);

class IndexModule {
  private constructor(private readonly module: Module) {}

  static async open(file: OwnFile): Promise<IndexModule> {
    const code = await new Response(unpacked([file.module])).arrayBuffer();
    // It writes no file: what libc++ would print is lost.
    const none = (): number => ERRNO_NOSYS;
    const {instance} = await WebAssembly.instantiate(
        code, {wasi_snapshot_preview1: {fd_close: none, fd_seek: none, fd_write: none}});
    const own = new IndexModule(instance.exports as unknown as Module);
    own.module._initialize();
    // The index stays where it is.
    if (own.module.open(await own.unpack(file.index, file.indexBytes, 'index'), file.indexBytes) !== 200) throw damaged('index');
    if (file.samplesBytes > 0) {
      const place = await own.unpack(file.samples, file.samplesBytes, 'list of samples');
      const status = own.module.take_samples(place, file.samplesBytes);
      own.module.release(place);
      if (status !== 200) throw damaged('list of samples');
    }
    return own;
  }

  // The place of the bytes.
  private async unpack(parts: readonly string[], bytes: number, what: string): Promise<number> {
    const place = this.reserve(bytes);
    let at = 0;
    for (const reader = unpacked(parts).getReader();;) {
      const {done, value} = await reader.read();
      if (done) break;
      if (at + value.length > bytes) throw damaged(what);
      new Uint8Array(this.module.memory.buffer).set(value, place + at);
      at += value.length;
    }
    if (at !== bytes) throw damaged(what);
    return place;
  }

  ask({method, target, body}: NonNullable<ToWorker['ask']>): Answer {
    const texts = [method, target, body].map((text) => encoder.encode(text));
    const places = texts.map((bytes) => {
      const place = this.reserve(bytes.length);
      new Uint8Array(this.module.memory.buffer).set(bytes, place);
      return place;
    });
    const [a = 0, b = 0, c = 0] = places;
    const [x = 0, y = 0, z = 0] = texts.map((bytes) => bytes.length);
    const status = this.module.ask(a, x, b, y, c, z);
    for (const place of places) this.module.release(place);
    const begin = this.module.body();
    return {status, body: this.module.memory.buffer.slice(begin, begin + this.module.body_bytes())};
  }

  private reserve(bytes: number): number {
    const place = this.module.reserve(Math.max(bytes, 1)) >>> 0;
    if (place === 0) throw new Error(`The browser has no memory for ${bytes} bytes`);
    return place;
  }
}

let index: IndexModule|null = null;
scope.onmessage = async ({data}) => {
  try {
    if (data.file) {
      index = await IndexModule.open(data.file);
      scope.postMessage({status: 200, body: new ArrayBuffer(0)});
    } else if (data.ask && index) {
      const answer = index.ask(data.ask);
      scope.postMessage(answer, [answer.body]);
    }
  } catch (error) {
    scope.postMessage({error: error instanceof Error ? error.message : String(error)});
  }
};
