import {Playback} from '../../../viewer/web/src/core/playback';
import {Ranges} from '../../../viewer/web/src/core/range';
import type {Requests} from '../../../viewer/web/src/core/requests';
import {Selection} from '../../../viewer/web/src/core/selection';
import {View} from '../../../viewer/web/src/core/view';
import {frame} from '../../../viewer/web/src/timeline/framing';
import {endNs, type Viewport} from '../../../viewer/web/src/core/viewport';

const DURATION = 1_000_000;

function pageAt(viewport: Viewport) {
  const range = new Ranges(DURATION);
  const page = {
    durationNs: DURATION, view: new View(DURATION), range, playback: new Playback(DURATION),
    selection: new Selection({} as Requests, range), jumps: 0,
  };
  page.view.viewport.value = viewport;
  page.view.onJump = () => void ++page.jumps;
  page.playback.moveTo(400_000);
  return page;
}
const item = (from: number, to: number) => ({kind: 'segment' as const, row: 3, process: 1, thread: 2, hook: 5, from, to});
const press = (page: ReturnType<typeof pageAt>): Viewport => {
  frame(page);
  return page.view.viewport.value;
};
const middle = (view: Viewport): number => (view.startNs + endNs(view)) / 2;
const near: Viewport = {startNs: 100_000, nsPerPx: 100, widthPx: 1000};

describe('framing', () => {
  test('the item is centred, then fitted; it comes before a range', () => {
    const page = pageAt(near);
    page.range.select(300_000, 310_000);
    page.selection.select(item(150_000, 170_000));
    const centred = press(page);
    expect(centred.nsPerPx).toBe(near.nsPerPx);
    expect(middle(centred)).toBe(160_000);
    const fitted = press(page);
    expect(fitted.startNs).toBeCloseTo(149_000);
    expect(endNs(fitted)).toBeCloseTo(171_000);
    expect(page.jumps).toBe(2);
    page.selection.select(null);
    expect(middle(press(page))).toBe(305_000);
  });
  test('what is longer than the window, or has no room to be centred, is fitted at once', () => {
    const page = pageAt(near);
    page.selection.select(item(0, 500_000));
    expect(endNs(press(page))).toBeCloseTo(525_000);
    const whole = pageAt({startNs: 0, nsPerPx: 1000, widthPx: 1000});
    whole.selection.select(item(100_000, 200_000));
    expect(press(whole).startNs).toBeCloseTo(95_000);
  });
  test('a point is only centred; without a choice the playhead is', () => {
    const page = pageAt(near);
    page.selection.select(item(120_000, 120_000));
    const centred = press(page);
    expect(middle(centred)).toBe(120_000);
    expect(press(page)).toBe(centred);
    page.selection.select(null);
    expect(middle(press(page))).toBe(400_000);
  });
});
