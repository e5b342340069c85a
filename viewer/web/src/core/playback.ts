// The playhead's motion: proportional to time, with an injected clock so that
// tests control the time. Pure.

export interface Playback {
  readonly at: number; // ns since trace start
  readonly playing: boolean;
  readonly speed: number; // multiplies the automatic rate
  readonly backward?: boolean;
}

export interface PlayRange {
  from: number;
  to: number;
  loop: boolean;
}

// "Auto" takes ten seconds for the visible window.
export function autoRate(windowNs: number): number {
  return windowNs / 10;
}

// Position after `elapsedMs` of wall time at `nsPerSecond` of trace time.
export function advance(
    play: Playback, elapsedMs: number, nsPerSecond: number,
    range: PlayRange): Playback {
  if (!play.playing) return play;
  const way = nsPerSecond * play.speed * elapsedMs / 1000;
  if (play.backward) return retreat(play, play.at - way, range);
  const next = play.at + way;
  if (next < range.to) return {...play, at: Math.max(next, range.from)};
  if (range.loop && range.to > range.from) {
    return {...play, at: range.from + (next - range.from) % (range.to - range.from)};
  }
  return {...play, at: range.to, playing: false};
}

function retreat(play: Playback, next: number, range: PlayRange): Playback {
  if (next > range.from) return {...play, at: Math.min(next, range.to)};
  if (range.loop && range.to > range.from) {
    return {...play, at: range.to - (range.from - next) % (range.to - range.from)};
  }
  return {...play, at: range.from, playing: false};
}

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10] as const;

export function faster(speed: number, steps: number): number {
  const index = SPEEDS.findIndex((known) => known >= speed);
  const wanted = Math.min(
      Math.max((index < 0 ? SPEEDS.length - 1 : index) + steps, 0),
      SPEEDS.length - 1);
  return SPEEDS[wanted] ?? 1;
}
