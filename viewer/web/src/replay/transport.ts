// Plays: moves the playhead by wall time, by steps and by commands, and keeps it
// in view.

import {batch} from '@preact/signals-core';

import {formatInstant, formatSpeed} from '../core/units';
import type {Core} from '../core/core';
import {CALM_FRAMES_PER_SECOND, FRAMES_PER_SECOND} from './frame_buffer';
import {advance, faster, stepName} from '../core/playback';
import type {PlayheadState} from './playhead_state';
import type {Steps} from './stepping';

const EVENTS_PER_SECOND = 10; // at the usual speed

export class Transport {
  constructor(private readonly core: Core, private readonly now: PlayheadState, private readonly steps: Steps) {}

  // Pauses; or plays, from the other end where there is nothing left to play.
  togglePlay(backward = false): void {
    const play = this.core.playback.play.value;
    const range = this.playRange();
    const playing = !play.playing || backward !== (play.backward ?? false);
    const atEnd = backward ? play.at <= range.from : play.at >= range.to;
    batch(() => {
      this.core.playback.play.value = {
        ...play,
        playing,
        backward,
        at: !play.playing && atEnd ? (backward ? range.to : range.from) : play.at,
      };
      if (playing) this.now.beginRun();
    });
    this.core.announce(playing ? `Plays${backward ? ' backwards' : ''}: ${this.paceText()}` :
        `Paused at ${formatInstant(play.at, 1)}`);
  }

  pause(): void {
    this.core.playback.pause();
    this.core.announce(`Paused at ${formatInstant(this.core.playback.play.value.at, 1)}`);
  }

  // J and L of a video editor: again in the same direction is faster.
  shuttle(backward: boolean): void {
    const play = this.core.playback.play.value;
    if (play.playing && backward === (play.backward ?? false)) this.core.playback.setSpeed(faster(play.speed, 1));
    else this.togglePlay(backward);
  }

  playRange(): {from: number; to: number; loop: boolean} {
    const range = this.core.range.chosen.value;
    return range && this.core.playback.loop.value ?
        {...range, loop: true} :
        {...this.core.playback.limits, loop: this.core.playback.loop.value};
  }

  paceText(): string {
    const events = this.eventsPerSecond();
    return this.core.playback.byEvents.value ?
        `${events.toFixed(events < 10 ? 1 : 0)} ${this.core.playback.stepKind.value === 'any' ? 'boundaries' : `${stepName(this.core.playback.stepKind.value)} steps`} a second` :
        formatSpeed(this.core.playback.play.value.speed);
  }

  // Advances the playhead by wall time and keeps it in view.
  tick(elapsedMs: number): void {
    const play = this.core.playback.play.value;
    if (!play.playing) return;
    this.core.playback.play.value = advance(play, elapsedMs, this.playRange());
    this.turnPage();
  }

  // The same, but the playhead moves only to instants whose state has arrived,
  // and all that is shown is of that instant.
  play(elapsedMs: number): void {
    const play = this.core.playback.play.value;
    if (!play.playing || this.core.requests.lost.value) return;
    const range = this.playRange();
    const frames = this.now.frames;
    const at = Math.min(Math.max(Math.round(play.at), range.from), range.to);
    const perSecond = this.core.look.calm.value ? CALM_FRAMES_PER_SECOND : FRAMES_PER_SECOND;
    const stepNs = play.speed / perSecond;
    frames.follow(at, {
      stepNs: play.backward ? -stepNs : stepNs,
      perSecond: this.core.playback.byEvents.value ? this.eventsPerSecond() : perSecond,
      steps: this.core.playback.byEvents.value ? `${this.core.playback.stepKind.value} ${JSON.stringify(this.steps.limit())}` : null,
      // After its last instant a trace has no state.
      from: Math.round(range.from), to: Math.round(Math.min(range.to, this.core.playback.limits.to - 1)), loop: range.loop,
      skip: this.core.playback.skipIdle.value, since: this.now.since(), window: this.now.window,
      beside: this.now.beside,
    });
    const frame = frames.next(elapsedMs);
    batch(() => {
      if (frame !== null) {
        this.now.show(frame);
        this.core.playback.play.value = {...play, at: frame.t};
        this.turnPage();
      }
      if (frames.ended) {
        frames.stop();
        const end = play.backward ? range.from : range.to;
        this.core.playback.play.value = {...play, at: this.core.playback.byEvents.value ? play.at : end, playing: false};
        this.core.announce(`Played to ${formatInstant(this.core.playback.play.value.at, 1)}`);
      }
    });
  }

  // The playhead appears again near the edge it comes from.
  private turnPage(): void {
    const {at, backward} = this.core.playback.play.value;
    const view = this.core.view.viewport.value;
    if (this.core.playback.follow.value === 'fixed') return;
    if (this.core.playback.follow.value === 'centre') {
      this.core.view.centre(at);
      return;
    }
    if (this.core.view.holds(at)) return;
    const share = backward ? 0.95 : 0.05;
    this.core.view.viewport.value = this.core.view.clamped({...view, startNs: at - share * view.nsPerPx * view.widthPx});
  }

  // In the focused row, or of the whole machine.
  async step(forward: boolean, machine: boolean): Promise<void> {
    this.core.playback.pause();
    const {playback, view} = this.core;
    await this.core.requests.guard(async () => {
      const found = await this.steps.next(playback.play.value.at, forward, machine ? {} : this.steps.limit());
      if (found === null) return this.core.announce(`No ${forward ? 'later' : 'earlier'} ${stepName(playback.stepKind.value)}`);
      const outside = playback.follow.value !== 'fixed' && !view.holds(found.t);
      if (outside) view.onJump();
      playback.moveTo(found.t);
      this.core.announce(found.says);
      if (outside) view.centre(found.t);
    });
  }
  eventsPerSecond(): number {
    const wanted = EVENTS_PER_SECOND * this.core.playback.play.value.speed / this.core.playback.usualSpeed;
    return this.core.look.calm.value ? Math.min(wanted, CALM_FRAMES_PER_SECOND) : wanted;
  }
}
