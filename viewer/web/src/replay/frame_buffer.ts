// The frames that a replay shows next, requested ahead. Every frame that is
// shown has arrived: where frames are late the replay is slower, and it skips
// none of the trace. Pure but for `ask`.

export const FRAMES_PER_SECOND = 30;
export const CALM_FRAMES_PER_SECOND = 4; // where less motion is wanted
const AHEAD = 2 * FRAMES_PER_SECOND; // frames, requested ahead
const IN_A_REQUEST = 15;

export interface Motion {
  stepNs: number; // from frame to frame, at least 1; below 0: backwards
  perSecond: number; // frames, in real time
  from: number;
  to: number;
  loop: boolean;
  skip: boolean; // go on behind idle time
  // From boundary to boundary, not in steps of time; what is limits the steps to.
  steps: string|null;
  // What is requested of each instant.
  since: number;
  window: number;
  beside: unknown; // what is requested with it, from another trace
}

// Null: there is no frame after it.
export function instantAfter(at: number, motion: Motion): number|null {
  const {stepNs, from, to, loop} = motion;
  const end = stepNs < 0 ? from : to;
  if (at === end) return loop && to > from ? (stepNs < 0 ? to : from) : null;
  // Whole, so that a run backwards meets the instants of a run forwards.
  const way = Math.max(1, Math.round(Math.abs(stepNs)));
  return stepNs < 0 ? Math.max(at - way, from) : Math.min(at + way, to);
}

interface Timed {
  t: number; // the instant that was requested
  // Nothing runs from the first to the second instant, both included.
  idle: readonly [number, number]|null;
}

// The frames of instants, or of the steps after one; none: there are none.
export type Wanted = {times: number[]}|{after: number; count: number};

export class FrameBuffer<Frame extends Timed> {
  private motion: Motion|null = null;
  private shown = 0; // the instant of the last frame
  private planned: number|null = null; // the last that was requested
  private resume: number|null = null; // the next, after idle time
  private frames: Frame[] = [];
  private credit = 0; // frames that real time allows
  private run = 0; // answers of earlier runs are dropped
  private busy = false;

  constructor(private readonly ask: (wanted: Wanted, motion: Motion) => Promise<Frame[]>) {}

  // A new run from `at`, unless the playhead is where the last frame was and
  // moves as before.
  follow(at: number, motion: Motion): void {
    const before = this.motion;
    if (before !== null && this.shown === at &&
        (Object.keys(motion) as (keyof Motion)[]).every((key) => before[key] === motion[key])) {
      return;
    }
    this.motion = motion;
    this.shown = at;
    this.planned = at;
    this.resume = null;
    this.frames = [];
    this.credit = 0;
    ++this.run;
    this.fill();
  }

  stop(): void {
    this.motion = null;
    this.frames = [];
    ++this.run;
  }

  // The frame after `elapsedMs` more; null: none yet.
  next(elapsedMs: number): Frame|null {
    this.credit += elapsedMs * (this.motion?.perSecond ?? 0) / 1000;
    const due = Math.min(Math.floor(this.credit), this.frames.length);
    // What late frames would have shown is not made up for.
    this.credit = due < Math.floor(this.credit) ? 0 : this.credit - due;
    const passed = this.frames.splice(0, due);
    const frame = passed[passed.length - 1] ?? null;
    if (frame !== null) this.shown = frame.t;
    this.fill();
    return frame;
  }

  // All frames of the run have been shown.
  get ended(): boolean {
    return this.motion !== null && !this.busy && this.frames.length === 0 && this.planned === null;
  }
  get buffered(): number {
    return this.frames.length;
  }

  private add(frame: Frame): void {
    const motion = this.motion as Motion;
    const before = this.frames[this.frames.length - 1];
    const end = before?.idle && motion.skip ? before.idle[motion.stepNs < 0 ? 0 : 1] : null;
    const inIdle = end !== null && before !== undefined &&
        (motion.stepNs < 0 ? frame.t < before.t && frame.t >= end : frame.t > before.t && frame.t <= end);
    if (!inIdle) this.frames.push(frame);
    // What is requested next would be idle, too.
    this.resume = null;
    const last = this.frames[this.frames.length - 1];
    if (!motion.skip || !last?.idle || this.planned === null) return;
    const after = motion.stepNs < 0 ? last.idle[0] - 1 : last.idle[1] + 1;
    const beyond = motion.stepNs < 0 ? after < this.planned && after > motion.from : after > this.planned && after < motion.to;
    if (beyond) this.resume = after;
  }

  private fillSteps(after: number, motion: Motion): void {
    const {from, to, loop, stepNs} = motion;
    this.busy = true;
    const run = this.run;
    void this.ask({after, count: IN_A_REQUEST}, motion).then(
        (frames) => {
          this.busy = false;
          if (run === this.run) {
            const inside = frames.filter(({t}) => t >= from && t <= to);
            this.frames.push(...inside);
            const last = inside[inside.length - 1];
            const start = stepNs < 0 ? to : from;
            // A range without steps is not searched for ever.
            const again = loop && (last !== undefined || after !== start);
            this.planned = last && inside.length === frames.length ? last.t : again ? start : null;
          }
          this.fill();
        },
        () => {
          this.busy = false;
          if (run === this.run) this.planned = this.frames[this.frames.length - 1]?.t ?? this.shown;
        });
  }

  private fill(): void {
    if (this.busy || this.motion === null || this.planned === null || this.frames.length > AHEAD - IN_A_REQUEST) return;
    if (this.motion.steps !== null) return this.fillSteps(this.planned, this.motion);
    const times: number[] = [];
    while (times.length < IN_A_REQUEST && this.planned !== null) {
      const time: number|null = this.resume ?? instantAfter(this.planned, this.motion);
      this.resume = null;
      if (time !== null) times.push(time);
      this.planned = time;
    }
    if (times.length === 0) return;
    this.busy = true;
    const run = this.run;
    void this.ask({times}, this.motion).then(
        (frames) => {
          this.busy = false;
          if (run === this.run) {
            // Those that did not fit are requested again.
            const last = frames[frames.length - 1];
            if (frames.length < times.length && last) this.planned = last.t;
            for (const frame of frames) this.add(frame);
          }
          this.fill();
        },
        () => {
          this.busy = false;
          if (run === this.run) this.planned = this.frames[this.frames.length - 1]?.t ?? this.shown;
        });
  }
}
