// What is requested of the server: how much is under way, what failed, and
// whether the server is there.

import {type Signal, signal} from '@preact/signals-core';

import {type Client, isAbort, isLost, isReplaced} from '../api/client';
import {reload} from './frame';

const RECONNECT_MS = 1000;

export class Requests {
  readonly error: Signal<string|null> = signal(null);
  readonly lost = signal(false); // the server cannot be reached
  pending = 0; // under way, for settled()

  constructor(readonly client: Client) {}

  start(): void {
    this.client.onLost = () => void this.reconnect();
  }

  // Runs a request; a failure reaches the error panel, an abort does not.
  async guard(work: () => Promise<void>): Promise<void> {
    ++this.pending;
    try {
      await work();
    } catch (error) {
      if (!isAbort(error) && !isLost(error)) {
        this.error.value = error instanceof Error ? error.message : String(error);
      }
    } finally {
      --this.pending;
    }
  }

  // Waits for a server of the same trace; what is shown stays, and what is
  // missing is requested again.
  private async reconnect(): Promise<void> {
    if (this.lost.value) return;
    this.lost.value = true;
    for (;;) {
      await new Promise((done) => setTimeout(done, RECONNECT_MS));
      try {
        const {index} = await this.client.growth();
        if (index !== this.client.index) {
          reload();
          return;
        }
        this.lost.value = false;
        return;
      } catch {
        // Not yet.
      }
    }
  }
}

// One request at a time: a later one takes the place of the one before, and so
// does that of another page (409).
export class Latest {
  private abort: AbortController|null = null;

  constructor(private readonly requests: Requests) {}

  end(): void {
    this.abort?.abort();
  }
  run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.end();
    const abort = new AbortController();
    this.abort = abort;
    return this.requests.guard(async () => {
      try {
        await work(abort.signal);
      } catch (error) {
        if (!isReplaced(error)) throw error;
      }
    });
  }
}
