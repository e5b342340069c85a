import {FrameBuffer, FRAMES_PER_SECOND, instantAfter, type Motion} from '../../../viewer/web/src/replay/frame_buffer';

const FRAME_MS = 1000 / FRAMES_PER_SECOND;

// A server whose answers arrive when the test says so, and that has `steps`.
function server(most = 1000, idle: readonly [number, number]|null = null, steps: readonly number[] = []) {
  const waiting: {times: number[]; answer: (ok: boolean) => void}[] = [];
  const asked: number[] = [];
  const buffer = new FrameBuffer<{t: number; idle: readonly [number, number]|null}>((wanted, {stepNs}) => new Promise((done, fail) => {
    const times = 'times' in wanted ? wanted.times :
        (stepNs < 0 ? steps.filter((t) => t < wanted.after).reverse() : steps.filter((t) => t > wanted.after)).slice(0, wanted.count);
    asked.push(...times.slice(0, most));
    waiting.push({
      times,
      answer: (ok) => ok ? done(times.slice(0, most).map(
          (t) => ({t, idle: idle && idle[0] <= t && t <= idle[1] ? idle : null}))) : fail(new Error('no')),
    });
  }));
  const answer = async (ok = true) => {
    for (const request of waiting.splice(0)) request.answer(ok);
    await new Promise((done) => setTimeout(done, 0));
  };
  return {buffer, waiting, asked, answer};
}

const motion = (stepNs: number, more: Partial<Motion> = {}): Motion => ({stepNs, from: 0, to: 10_000, loop: false, skip: false, perSecond: FRAMES_PER_SECOND, steps: null, since: 0, window: 1, beside: null, ...more});

describe('instants', () => {
  it('go to the end itself, and not beyond', () => {
    expect(instantAfter(9_990, motion(100))).toBe(10_000);
    expect(instantAfter(10_000, motion(100))).toBe(null);
    expect(instantAfter(30, motion(-100))).toBe(0);
    expect(instantAfter(0, motion(-100))).toBe(null);
    expect(instantAfter(10_000, motion(100, {loop: true}))).toBe(0);
    expect(instantAfter(0, motion(-100, {loop: true}))).toBe(10_000);
    expect(instantAfter(5, motion(1, {from: 5, to: 5, loop: true}))).toBe(null);
  });
  it('a run backwards meets those of a run forwards', () => {
    for (const step of [0.01, 0.5, 1, 1.5, 33.3, 100.5]) {
      const forth = [5_000];
      for (let i = 0; i < 20; ++i) forth.push(instantAfter(forth[i] as number, motion(step)) as number);
      const back = [forth[20] as number];
      for (let i = 0; i < 20; ++i) back.push(instantAfter(back[i] as number, motion(-step)) as number);
      expect(back.reverse()).toEqual(forth);
    }
  });
});

describe('frames', () => {
  it('are shown in order, as real time allows, from the first request on', async () => {
    const {buffer, asked, answer} = server();
    buffer.follow(0, motion(100));
    const seen: number[] = [];
    for (let i = 0; i < 40; ++i) {
      await answer();
      const frame = buffer.next(FRAME_MS);
      if (frame) seen.push(frame.t);
      buffer.follow(frame?.t ?? seen[seen.length - 1] ?? 0, motion(100));
    }
    expect(seen).toEqual(asked.slice(0, seen.length));
    expect(seen.length).toBeGreaterThanOrEqual(39);
    expect(seen[0]).toBe(100);
  });
  it('are left out where the page draws slowly, never invented', async () => {
    const {buffer, asked, answer} = server();
    buffer.follow(0, motion(100));
    for (let i = 0; i < 10; ++i) await answer();
    expect(buffer.next(FRAME_MS * 5)?.t).toBe(500);
    expect(buffer.next(FRAME_MS * 2)?.t).toBe(700);
    for (const time of asked) expect(time % 100).toBe(0);
  });
  it('that are late make the replay slower: it goes on where it was', async () => {
    const {buffer, answer} = server();
    buffer.follow(0, motion(100));
    expect(buffer.next(5_000)).toBe(null);
    await answer();
    // Not 150 frames ahead.
    expect(buffer.next(FRAME_MS)?.t).toBe(100);
  });
  it('of an earlier run are dropped', async () => {
    const {buffer, waiting, answer} = server();
    buffer.follow(0, motion(100));
    buffer.follow(5_000, motion(-100));
    expect(waiting.length).toBe(1); // one at a time
    await answer();
    await answer();
    expect(buffer.next(FRAME_MS)?.t).toBe(4_900);
  });
  it('end with the range', async () => {
    const {buffer, answer} = server();
    buffer.follow(9_800, motion(150));
    expect(buffer.ended).toBe(false);
    await answer();
    expect(buffer.next(FRAME_MS)?.t).toBe(9_950);
    expect(buffer.next(FRAME_MS)?.t).toBe(10_000);
    expect(buffer.ended).toBe(true);
  });
  it('that failed, or did not fit, are requested again', async () => {
    const {buffer, answer, asked} = server(4);
    buffer.follow(0, motion(100));
    await answer(false);
    expect(buffer.buffered).toBe(0);
    asked.length = 0;
    expect(buffer.next(FRAME_MS)).toBe(null);
    for (let i = 0; i < 4; ++i) await answer();
    expect(asked.slice(0, 12)).toEqual([...Array(12).keys()].map((i) => 100 * (i + 1)));
    expect(buffer.next(FRAME_MS * 6)?.t).toBe(600);
  });
  it('go on behind idle time, both ways', async () => {
    for (const way of [1, -1]) {
      const {buffer, answer, asked} = server(1000, [3_050, 8_949]);
      const run = motion(100 * way, {skip: true});
      buffer.follow(way > 0 ? 2_000 : 9_500, run);
      const seen: number[] = [];
      for (let i = 0; i < 40; ++i) {
        await answer();
        const frame = buffer.next(FRAME_MS);
        if (frame) seen.push(frame.t);
      }
      const inside = seen.filter((t) => t >= 3_050 && t <= 8_949);
      expect(inside).toEqual([way > 0 ? 3_100 : 8_900]); // it is seen to be idle
      expect(seen).toContain(way > 0 ? 8_950 : 3_049);
      expect(asked.length).toBeLessThan(100);
      expect(new Set(seen.map((t, i) => Math.sign(t - (seen[i - 1] ?? t - way))))).toEqual(new Set([way]));
    }
  });
});

describe('from step to step', () => {
  const run = async (steps: readonly number[], at: number, more: Partial<Motion>, most = 60) => {
    const {buffer, answer} = server(1000, null, steps);
    const plan = motion(100, {steps: 'any', ...more});
    const seen: number[] = [];
    buffer.follow(at, plan);
    for (let i = 0; i < 400 && !buffer.ended && seen.length < most; ++i) {
      await answer();
      const frame = buffer.next(FRAME_MS);
      if (frame) seen.push(frame.t);
      buffer.follow(frame?.t ?? seen[seen.length - 1] ?? at, plan);
    }
    return seen;
  };
  const steps = Array.from({length: 50}, (_, i) => i * i + 3);
  it('each step is a frame, forwards and backwards', async () => {
    expect(await run(steps, 5, {})).toEqual(steps.slice(2));
    expect(await run(steps, 1000, {stepNs: -100})).toEqual(steps.filter((t) => t < 1000).reverse());
  });
  it('inside a range, and again where it loops', async () => {
    const range = {from: 100, to: 400};
    const inside = steps.filter((t) => t >= 100 && t <= 400);
    expect(await run(steps, 100, range)).toEqual(inside);
    expect(await run(steps, 100, {...range, loop: true}, 2 * inside.length)).toEqual([...inside, ...inside]);
  });
  it('a range without any ends', async () => {
    expect(await run(steps, 5, {from: 4, to: 6, loop: true})).toEqual([]);
    expect(await run([], 5, {loop: true})).toEqual([]);
  });
});
