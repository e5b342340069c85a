// Why the thread under the pointer does not run, where single waits are drawn.

import {type Signal, signal} from '@preact/signals-core';

import type {WaitAnswer} from '../api/schema';
import type {Core} from '../core/core';

const REST_MS = 120; // of the pointer, before a request

export class HoverWait {
  readonly answer: Signal<WaitAnswer|null> = signal(null);

  private timer: ReturnType<typeof setTimeout>|undefined;

  constructor(private readonly core: Core) {}

  // `thread` null: the pointer is over no wait.
  point(thread: number|null, at: number): void {
    const old = this.answer.peek();
    if (old && old.thread === thread && old.begin_ns <= at && at < old.end_ns) return;
    clearTimeout(this.timer);
    if (old) this.answer.value = null;
    if (thread === null || this.core.playback.play.peek().playing) return;
    this.timer = setTimeout(() => void this.core.requests.guard(async () => {
      this.answer.value = await this.core.client.wait(thread, at);
    }), REST_MS);
  }
}
