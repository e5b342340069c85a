import type {AppModel} from '../../../viewer/web/src/core/app_model';
import {frame} from '../../../viewer/web/src/timeline/framing';
import {endNs, show, type Viewport} from '../../../viewer/web/src/core/viewport';

const signal = <T>(value: T): {value: T} => ({value});

// What frame() uses of the model.
function modelAt(view: Viewport) {
  const model = {
    durationNs: 1_000_000,
    view: signal(view),
    item: signal<{row: number; from: number; to: number}|null>(null),
    wait: signal<{begin_ns: number; end_ns: number}|null>(null),
    selection: signal<{from: number; to: number}|null>(null),
    playback: signal({at: 400_000}),
    jumps: 0,
    onJump: (): void => void ++model.jumps,
    show: (from: number, to: number): void => {
      model.view.value = show(model.view.value, from, to, model.durationNs);
    },
  };
  return model;
}
const press = (model: ReturnType<typeof modelAt>): Viewport => {
  frame(model as unknown as AppModel);
  return model.view.value;
};
const middle = (view: Viewport): number => (view.startNs + endNs(view)) / 2;
const near: Viewport = {startNs: 100_000, nsPerPx: 100, widthPx: 1000};

describe('framing', () => {
  test('the item is centred, then fitted; it comes before a wait and a range', () => {
    const model = modelAt(near);
    model.selection.value = {from: 300_000, to: 310_000};
    model.wait.value = {begin_ns: 20, end_ns: 30};
    model.item.value = {row: 3, from: 150_000, to: 170_000};
    const centred = press(model);
    expect(centred.nsPerPx).toBe(near.nsPerPx);
    expect(middle(centred)).toBe(160_000);
    const fitted = press(model);
    expect(fitted.startNs).toBeCloseTo(149_000);
    expect(endNs(fitted)).toBeCloseTo(171_000);
    expect(model.jumps).toBe(1); // fitting reports its own
    model.item.value = null;
    expect(middle(press(model))).toBe(25);
    model.wait.value = null;
    expect(middle(press(model))).toBe(305_000);
  });
  test('what is longer than the window, or has no room to be centred, is fitted at once', () => {
    const model = modelAt(near);
    model.item.value = {row: 3, from: 0, to: 500_000};
    expect(endNs(press(model))).toBeCloseTo(525_000);
    const whole = modelAt({startNs: 0, nsPerPx: 1000, widthPx: 1000});
    whole.item.value = {row: 3, from: 100_000, to: 200_000};
    expect(press(whole).startNs).toBeCloseTo(95_000);
  });
  test('a point is only centred; without a choice the playhead is', () => {
    const model = modelAt(near);
    model.item.value = {row: 3, from: 120_000, to: 120_000};
    const centred = press(model);
    expect(middle(centred)).toBe(120_000);
    expect(press(model)).toBe(centred);
    model.item.value = null;
    expect(middle(press(model))).toBe(400_000);
  });
});
