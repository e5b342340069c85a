// The replay: what the server says of the playhead, and what moves it.

import {computed, effect, type ReadonlySignal} from '@preact/signals-core';

import {type Field, flagField, numberIn, wordField} from '../core/address';
import {after} from '../core/commands';
import type {Core} from '../core/core';
import {faster, FOLLOWS, SLOWEST, STEP_KINDS, stepName} from '../core/playback';
import type {Rows} from '../timeline/rows/rows';
import {PlayheadState} from './playhead_state';
import {Steps} from './stepping';
import {Transport} from './transport';

const REST_MS = 200;

export class Replay {
  readonly now: PlayheadState;
  readonly transport: Transport;
  // The now panel shows an earlier instant than the playhead's.
  readonly late: ReadonlySignal<boolean>;

  private isPlaceless = false; // the address says nothing of the playhead
  private restTimer: ReturnType<typeof setTimeout>|undefined;

  constructor(readonly core: Core, rows: Rows) {
    const steps = new Steps(core, rows);
    this.now = new PlayheadState(core, steps);
    this.transport = new Transport(core, this.now, steps);
    this.late = computed(() => Math.floor(core.playback.play.value.at) !== this.now.instantOf.value);
    core.address.register(...this.fields());
    this.register();
  }

  // Starts the requests that follow the signals.
  start(): void {
    const {playback: {play, running}, requests, view, range} = this.core;
    effect(() => {
      if (!requests.lost.value) this.now.load(play.value.at);
    });
    effect(() => {
      const threads = new Set(play.value.playing ? this.now.instant.value?.cpus.flatMap((cpu) => cpu.thread ?? []) ?? [] : []);
      const before = running.peek();
      if (threads.size !== before.size || [...threads].some((thread) => !before.has(thread))) running.value = threads;
    });
    const playing = computed(() => play.value.playing);
    effect(() => {
      void [view.viewport.value, range.chosen.value];
      // While it plays each process keeps its place.
      if (playing.value || requests.lost.value) return;
      this.atRest(() => this.now.load(play.peek().at));
    });
  }

  // Without a place in its address the page begins at the first instant that is
  // known.
  beginWhereKnown(): void {
    const {play} = this.core.playback;
    effect(() => {
      const state = this.now.instant.value;
      if (!state || !this.isPlaceless) return;
      this.isPlaceless = false;
      if (play.peek().at === 0 && !play.peek().playing && state.t > 0) play.value = {...play.peek(), at: state.t};
    });
  }

  // Runs `work` when no call followed for a while; settled() waits for it.
  private atRest(work: () => void): void {
    const {requests} = this.core;
    if (this.restTimer === undefined) ++requests.pending;
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      this.restTimer = undefined;
      --requests.pending;
      work();
    }, REST_MS);
  }

  private fields(): Field[] {
    const {playback, durationNs} = this.core;
    const {play} = playback;
    return [
      {
        key: 't',
        read: (text, first) => {
          const at = numberIn(text, 0);
          this.isPlaceless = at === null;
          if (first) play.value = {...play.value, at: Math.min(at ?? 0, durationNs)};
          else if (at !== null) playback.moveTo(at);
        },
        write: () => String(Math.floor(play.value.at)),
      },
      {
        key: 'speed',
        read: (text, first) => {
          const speed = numberIn(text);
          // Links of older pages have "1": the window in ten seconds.
          if (first && speed !== null && speed >= SLOWEST) playback.setSpeed(speed);
        },
        write: () => String(Math.round(play.value.speed)),
      },
      wordField('step', STEP_KINDS, playback.stepKind),
      wordField('follow', FOLLOWS, playback.follow),
      flagField('loop', playback.loop),
      flagField('skip', playback.skipIdle),
      flagField('events', playback.byEvents),
    ];
  }
  private register(): void {
    const {core, transport} = this;
    const {playback} = core;
    const speed = (steps: 1|-1) => (): void => playback.setSpeed(faster(playback.play.value.speed, steps));
    const step = (forward: boolean, machine: boolean) => (): void => void transport.step(forward, machine);
    core.commands.register({
      play: () => transport.togglePlay(),
      'play-back': () => transport.togglePlay(true),
      reverse: () => transport.shuttle(true),
      forward: () => transport.shuttle(false),
      pause: () => transport.pause(),
      next: step(true, false),
      previous: step(false, false),
      'next-machine': step(true, true),
      'previous-machine': step(false, true),
      'step-kind': () => {
        playback.stepKind.value = after(STEP_KINDS, playback.stepKind.value);
        core.announce(`Steps: ${stepName(playback.stepKind.value)}`);
      },
      'by-events': () => {
        playback.byEvents.value = !playback.byEvents.value;
        core.announce(`Plays ${transport.paceText()}`);
      },
      follow: () => {
        playback.follow.value = after(FOLLOWS, playback.follow.value);
        core.announce(`The window follows: ${playback.follow.value}`);
      },
      slower: speed(-1),
      faster: speed(1),
      loop: () => (playback.loop.value = !playback.loop.value),
      'skip-idle': () => (playback.skipIdle.value = !playback.skipIdle.value),
    });
  }
}
