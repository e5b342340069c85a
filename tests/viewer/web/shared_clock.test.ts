import fc from 'fast-check';

import type {Host} from '../../../viewer/web/src/api/schema';
import {boundText, clockOf} from '../../../viewer/web/src/app/hosts';
import {besideAll} from '../../../viewer/web/src/replay/beside';
import {clockFrom, clockThrough} from '../../../viewer/web/src/replay/shared_clock';
import type {Position, Stage} from '../../../viewer/web/src/replay/stage';
import {type InStep, Step} from '../../../viewer/web/src/replay/step';

const host = (how: string, within: number, ...clock: [bigint, bigint][]): Host =>
    ({name: 'a', folder: '/h/0/', how, within_ns: within, clock: clock.map(([own, common]) => [`${own}`, `${common}`]) as Host['clock']});

describe('the clock of a host on the common one', () => {
  const DAY = 86_400_000_000_000;
  test('is exact, beyond the trace too, where both run alike, whatever the uptime', () => {
    const boot = 2n ** 62n;
    const first = host('first', 0, [boot, boot], [boot + 5_000n, boot + 5_000n]);
    const later = host('same boot as a', 0, [boot + 7n, boot + 7n], [boot + 4_007n, boot + 4_007n]);
    const clock = clockOf(later, first, boot + 10n);
    for (const own of [-DAY, -10, 0, 1, 2_500.5, DAY]) {
      expect(clock.shared(own)).toBe(own + 10);
      expect(clock.own(own + 10)).toBe(own);
    }
  });
  test('goes through both points, and back to the same instant within 1/16 ns, in a day', () => {
    const time = fc.integer({min: 0, max: DAY});
    fc.assert(fc.property(time, fc.integer({min: 1_000_000, max: DAY}), fc.integer({min: -500, max: 500}), time, (shift, length, ppm, at) => {
      const gained = Math.trunc(length * ppm / 1e6);
      const clock = clockThrough([0, shift], [length, shift + length + gained]);
      expect([clock.shared(0), clock.shared(length)]).toEqual([shift, shift + length + gained]);
      expect(Math.abs(clock.own(clock.shared(at)) - at)).toBeLessThan(1 / 16);
      // In between as a line over whole numbers has it.
      const inside = at % length;
      const exact = BigInt(shift + inside) + BigInt(inside) * BigInt(gained) / BigInt(length);
      expect(Math.abs(clock.shared(inside) - Number(exact))).toBeLessThan(1.1);
    }));
  });
  test('is said with its bound', () => {
    expect(boundText(host('same boot as a', 0))).toBe('same boot as a');
    expect(boundText(host('messages with a', 12_345))).toBe('± 12.35\u2009µs (messages with a)');
  });
});

// A page that is where it was moved last.
function page() {
  let changed: (longer: boolean) => void = () => undefined;
  let led: readonly {there: (at: number) => number}[] = [];
  let position: Position = {at: 0, from: 0, to: 100, runBegin: 0};
  let limits: [number, number]|null = null;
  const stage = {
    position: () => position,
    watch: (moved: (longer: boolean) => void) => (changed = moved),
    lead: (others: typeof led) => (led = others),
    beLed: () => (led = []),
    follow: (to: Position) => {
      position = to;
      changed(false);
    },
    spread: (from: number, to: number) => (limits = [from, to]),
    load: () => undefined,
  } as unknown as Stage;
  return {stage, at: () => position, leads: () => led.length, limits: () => limits, grow: () => changed(true)};
}

describe('pages in step', () => {
  const three = () => {
    const pages = [page(), page(), page()] as const;
    const clocks = [clockFrom(0), clockThrough([0, 1_000], [1_000_000, 1_001_500]), clockFrom(400)];
    const inStep = pages.map(({stage}, i): InStep => ({stage, clock: clocks[i] ?? clockFrom(0)})) as [InStep, InStep, InStep];
    return {pages, clocks, inStep};
  };
  test('whichever is moved, all are at the same instant, and one leads', () => {
    const {pages, clocks, inStep} = three();
    new Step(inStep);
    for (const [side, mover] of pages.entries()) {
      mover.stage.follow({at: 5_000, from: 4_000, to: 6_000, runBegin: 3_000});
      for (const part of ['at', 'from', 'to', 'runBegin'] as const) {
        const wanted = clocks[side]?.shared(mover.at()[part]) ?? NaN;
        for (const [i, {at}] of pages.entries()) expect(clocks[i]?.shared(at()[part])).toBeCloseTo(wanted, 6);
      }
      expect(pages.map(({leads}) => leads())).toEqual(pages.map((one) => one === mover ? 2 : 0));
    }
    pages[0].stage.follow({at: 1, from: 0, to: 2, runBegin: 0});
    expect(pages.map(({at}) => at().runBegin)).toEqual([0, 0, 0]);
  });
  test('show the time of all first, and may show it; a longer index, too', () => {
    const {pages, clocks, inStep} = three();
    new Step(inStep, {from: -400, to: 1_001_500});
    const wanted = clocks.map((clock) => [clock.own(-400), clock.own(1_001_500)]);
    expect(pages.map(({at}) => [at().from, at().to])).toEqual(wanted);
    expect(pages.map(({limits}) => limits())).toEqual(wanted);
    pages[1].stage.spread(0, 1);
    pages[1].grow();
    expect(pages.map(({limits}) => limits())).toEqual(wanted);
  });
  test('as many frames are shown as all have, each in all at once', async () => {
    const shown: string[] = [];
    const beside = (name: string, room: number) => ({
      state: async (at: number) => () => void shown.push(`${name} ${at}`),
      frames: async (times: readonly number[]) => times.slice(0, room).map((at) => () => void shown.push(`${name} ${at}`)),
      shows: (at: number) => at < room,
    });
    const both = besideAll([beside('b', 2), beside('c', 3)]);
    const frames = await both.frames([1, 2, 3], 0);
    expect(frames.length).toBe(2);
    frames[1]?.();
    (await both.state(9, 0))();
    expect(shown).toEqual(['b 2', 'c 2', 'b 9', 'c 9']);
    expect([both.shows(1), both.shows(2)]).toEqual([true, false]);
  });
});
