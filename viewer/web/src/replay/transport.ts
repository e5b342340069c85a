// Plays: moves the playhead by wall time, by steps and by commands, and keeps it
// in view.

import {batch} from '@preact/signals-core';

import type {StepLimit} from '../api/schema';
import {formatInstant, formatSpeed} from '../core/units';
import type {AppModel} from '../core/app_model';
import {CALM_FRAMES_PER_SECOND, FRAMES_PER_SECOND} from './frame_buffer';
import {advance, autoRate, faster} from '../core/playback';
import {limitOf, stepName, stepOnce, stepTimes} from './stepping';
import * as viewport from '../core/viewport';

const EVENTS_PER_SECOND = 10; // at speed 1

export class Transport {
  constructor(private readonly model: AppModel) {}

  // Pauses; or plays, from the other end where there is nothing left to play.
  togglePlay(backward = false): void {
    const play = this.model.playback.value;
    const range = this.playRange();
    const playing = !play.playing || backward !== (play.backward ?? false);
    const atEnd = backward ? play.at <= range.from : play.at >= range.to;
    batch(() => {
      this.model.playback.value = {
        ...play,
        playing,
        backward,
        at: !play.playing && atEnd ? (backward ? range.to : range.from) : play.at,
      };
      if (playing) this.model.now.beginRun();
    });
    this.model.announcement.value = playing ? `Plays${backward ? ' backwards' : ''}: ${this.paceText()}` :
        `Paused at ${formatInstant(play.at, 1)}`;
  }

  pause(): void {
    this.model.playback.value = {...this.model.playback.value, playing: false};
    this.model.announcement.value = `Paused at ${formatInstant(this.model.playback.value.at, 1)}`;
  }

  // J and L of a video editor: again in the same direction is faster.
  shuttle(backward: boolean): void {
    const play = this.model.playback.value;
    if (play.playing && backward === (play.backward ?? false)) this.setSpeed(faster(play.speed, 1));
    else this.togglePlay(backward);
  }

  setSpeed(speed: number): void {
    this.model.playback.value = {...this.model.playback.value, speed};
  }

  playRange(): {from: number; to: number; loop: boolean} {
    const range = this.model.selection.value;
    return range && this.model.loop.value ?
        {...range, loop: true} :
        {from: 0, to: this.model.durationNs, loop: this.model.loop.value};
  }

  // Trace time in a second of playing, at speed 1.
  private rate(): number {
    const view = this.model.view.value;
    return autoRate(view.nsPerPx * view.widthPx);
  }
  // At the speed that is set.
  nsPerSecond(): number {
    return this.rate() * this.model.playback.value.speed;
  }

  paceText(): string {
    const events = this.eventsPerSecond();
    return this.model.byEvents.value ?
        `${events.toFixed(events < 10 ? 1 : 0)} ${this.model.stepKind.value === 'any' ? 'boundaries' : `${stepName(this.model.stepKind.value)} steps`} a second` :
        formatSpeed(this.nsPerSecond());
  }

  // Advances the playhead by wall time and keeps it in view.
  tick(elapsedMs: number): void {
    const play = this.model.playback.value;
    if (!play.playing) return;
    this.model.playback.value = advance(play, elapsedMs, this.rate(), this.playRange());
    this.turnPage();
  }

  // The same, but the playhead moves only to instants whose state has arrived,
  // and all that is shown is of that instant.
  play(elapsedMs: number): void {
    const play = this.model.playback.value;
    if (!play.playing || this.model.lost.value) return;
    const range = this.playRange();
    const frames = this.model.now.frames;
    const at = Math.min(Math.max(Math.round(play.at), range.from), range.to);
    const perSecond = this.model.reducedMotion.value ? CALM_FRAMES_PER_SECOND : FRAMES_PER_SECOND;
    const stepNs = this.nsPerSecond() / perSecond;
    frames.follow(at, {
      stepNs: play.backward ? -stepNs : stepNs,
      perSecond: this.model.byEvents.value ? this.eventsPerSecond() : perSecond,
      steps: this.model.byEvents.value ? `${this.model.stepKind.value} ${JSON.stringify(this.focusLimit())}` : null,
      // After its last instant a trace has no state.
      from: Math.round(range.from), to: Math.round(Math.min(range.to, this.model.durationNs - 1)), loop: range.loop,
      skip: this.model.skipIdle.value, since: this.model.now.since(), window: this.model.now.window,
      beside: this.model.now.beside,
    });
    const frame = frames.next(elapsedMs);
    batch(() => {
      if (frame !== null) {
        this.model.now.show(frame);
        this.model.playback.value = {...play, at: frame.t};
        this.turnPage();
      }
      if (frames.ended) {
        frames.stop();
        const end = play.backward ? range.from : range.to;
        this.model.playback.value = {...play, at: this.model.byEvents.value ? play.at : end, playing: false};
        this.model.announcement.value = `Played to ${formatInstant(this.model.playback.value.at, 1)}`;
      }
    });
  }

  // The playhead appears again near the edge it comes from.
  private turnPage(): void {
    const {at, backward} = this.model.playback.value;
    const view = this.model.view.value;
    if (this.model.follow.value === 'fixed') return;
    if (this.model.follow.value === 'centre') {
      this.model.view.value = viewport.centre(view, at, this.model.durationNs);
      return;
    }
    if (at >= view.startNs && at <= viewport.endNs(view)) return;
    const share = backward ? 0.95 : 0.05;
    this.model.view.value = viewport.clamp(
        {...view, startNs: at - share * view.nsPerPx * view.widthPx},
        this.model.durationNs);
  }

  // What the focused lane limits steps to.
  private focusLimit(): StepLimit {
    return limitOf(this.model.rows.focusedLane());
  }
  // In the focused row, or of the whole machine.
  async step(forward: boolean, machine: boolean): Promise<void> {
    this.model.playback.value = {...this.model.playback.value, playing: false};
    const kind = this.model.stepKind.value;
    await this.model.guard(async () => {
      const found = await stepOnce(
          this.model.client, this.model.names, this.model.playback.value.at, forward, kind, machine ? {} : this.focusLimit());
      if (found === null) {
        this.model.announcement.value = `No ${forward ? 'later' : 'earlier'} ${stepName(kind)}`;
        return;
      }
      const view = this.model.view.value;
      const outside = this.model.follow.value !== 'fixed' && (found.t < view.startNs || found.t > viewport.endNs(view));
      if (outside) this.model.onJump();
      this.model.movePlayhead(found.t);
      this.model.announcement.value = found.says;
      if (outside) {
        this.model.view.value = viewport.centre(view, found.t, this.model.durationNs);
      }
    });
  }
  // Where a replay from boundary to boundary goes on.
  stepsAfter(at: number, forward: boolean, count: number): Promise<number[]> {
    return stepTimes(this.model.client, at, forward, this.model.stepKind.peek(), this.focusLimit(), count);
  }
  eventsPerSecond(): number {
    const wanted = EVENTS_PER_SECOND * this.model.playback.value.speed;
    return this.model.reducedMotion.value ? Math.min(wanted, CALM_FRAMES_PER_SECOND) : wanted;
  }
}
