import type {Aggregate, InstantState} from '../../../viewer/web/src/api/schema';
import type {Core} from '../../../viewer/web/src/core/core';
import type {Play} from '../../../viewer/web/src/core/playback';
import type {Steps} from '../../../viewer/web/src/replay/stepping';
import {PlayheadState} from '../../../viewer/web/src/replay/playhead_state';

const stateOf = (t: number) => ({t, cpus: [{known: true}], threads: [], events: []}) as unknown as InstantState;
const sums = (from: number, to: number) => ({from, to, processes: []}) as unknown as Aggregate;

const held = <T>(value: T) => ({value, peek() { return this.value; }});

// A page whose server answers the state of an instant when `answer` is called.
function page() {
  const playback = held<Play>({at: 10, playing: false, speed: 1});
  let answer: () => void = () => undefined;
  const core = {
    playback: {play: playback, runBegin: 0},
    view: {viewport: held({nsPerPx: 1, widthPx: 100})},
    range: {chosen: held(null)},
    names: {trace: {processes: 1, threads: 1}},
    durationNs: 1000,
    requests: {guard: (work: () => Promise<void>) => work()},
    client: {
      state: (t: number) => new Promise((done) => { answer = () => done(stateOf(t)); }),
      heaviest: (from: number, to: number) => Promise.resolve(sums(from, to)),
    },
  } as unknown as Core;
  const now = new PlayheadState(core, {} as Steps);
  const show = (t: number) => {
    playback.value = {...playback.peek(), at: t};
    now.show({t, idle: null, showBeside: null, state: stateOf(t), so_far: sums(10, t), recent: sums(t - 2, t)});
  };
  const settle = async () => {
    answer();
    await new Promise((done) => setTimeout(done));
  };
  return {now, playback, show, settle};
}

describe('the state of the playhead', () => {
  test('an answer of where a run began does not replace its frames', async () => {
    const {now, playback, show, settle} = page();
    now.load(10);
    playback.value = {at: 10, playing: true, speed: 1};
    show(26);
    await settle();
    expect(now.instant.peek()?.t).toBe(26);
    expect(now.instantOf.peek()).toBe(26);
  });
  test('nor when it was paused at a frame before the answer came', async () => {
    const {now, playback, show, settle} = page();
    now.load(10);
    playback.value = {at: 10, playing: true, speed: 1};
    now.beginRun();
    show(26);
    playback.value = {...playback.peek(), playing: false};
    now.load(26); // it is shown
    await settle();
    expect(now.instantOf.peek()).toBe(26);
  });
  test('the answer is shown where no frame came, and at rest', async () => {
    const {now, playback, settle} = page();
    playback.value = {at: 10, playing: true, speed: 1};
    now.load(10);
    await settle();
    expect(now.instant.peek()?.t).toBe(10);
    playback.value = {at: 40, playing: false, speed: 1};
    now.load(40);
    await settle();
    expect(now.instant.peek()?.t).toBe(40);
  });
});
