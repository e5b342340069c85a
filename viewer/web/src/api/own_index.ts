// The index in the page's own file, asked through a worker, so that drawing does
// not wait for it (index_worker.ts).

import type {Answer, Backend} from './backend';

// What the file holds (viewer/offline/page_file.h).
export interface OwnFile {
  module: string; // WebAssembly, gzip, base64
  index: readonly string[]; // gzip, base64, in parts
  indexBytes: number; // without compression
  samples: readonly string[]; // likewise
  samplesBytes: number;
}
export interface ToWorker {
  file?: OwnFile; // the first message
  ask?: {method: string; target: string; body: string};
}
// The file is ready, or an answer. `error`: the worker cannot go on.
export type FromWorker = Answer|{error: string};

interface Request {
  ask: NonNullable<ToWorker['ask']>;
  signal: AbortSignal|null;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export class OwnIndex implements Backend {
  readonly hasTrace = false;
  private readonly queue: Request[] = [];
  private running: Request|null = null;
  private broken: Error|null = null;

  private constructor(private readonly worker: Worker) {
    worker.onerror = (event) => this.fail(event.message || 'the browser starts no worker');
    worker.onmessage = ({data}: MessageEvent<FromWorker>) => {
      if ('error' in data) return this.fail(data.error);
      const request = this.running;
      this.running = null;
      if (request?.signal?.aborted) {
        request.reject(new DOMException('Aborted', 'AbortError'));
      } else {
        request?.resolve(data);
      }
      this.next();
    };
  }

  // Resolves when the index is open. Fails: the browser lacks what it needs, or
  // the file is damaged.
  static open(worker: Worker, file: OwnFile): Promise<OwnIndex> {
    const own = new OwnIndex(worker);
    return new Promise((resolve, reject) => {
      own.running = {ask: {method: '', target: '', body: ''}, signal: null, resolve: () => resolve(own), reject};
      worker.postMessage({file} satisfies ToWorker);
    });
  }

  ask(path: string, init: RequestInit): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.queue.push({
        ask: {method: init.method ?? 'GET', target: `/api/v1/${path}`, body: typeof init.body === 'string' ? init.body : ''},
        signal: init.signal ?? null, resolve, reject,
      });
      this.next();
    });
  }

  private fail(reason: string): void {
    this.broken = new Error(reason);
    this.running?.reject(this.broken);
    this.running = null;
    this.next();
  }

  // One at a time: what was aborted meanwhile is not computed.
  private next(): void {
    while (!this.running) {
      const request = this.queue.shift();
      if (!request) return;
      if (this.broken) request.reject(this.broken);
      else if (request.signal?.aborted) request.reject(new DOMException('Aborted', 'AbortError'));
      else {
        this.running = request;
        this.worker.postMessage({ask: request.ask} satisfies ToWorker);
      }
    }
  }
}
