import fc from 'fast-check';

import {centre, clamp, endNs, fit, levelFor, MIN_NS_PER_PX, panBy, rulerStep, show, tileSpan, toNs, toPx, zoomAbout} from '../../../viewer/web/src/core/viewport';

const anyView = fc.record({
  duration: fc.double({min: 1, max: 1e16, noNaN: true}),
  width: fc.integer({min: 50, max: 4000}),
  from: fc.double({min: 0, max: 1, noNaN: true}),
  zoom: fc.double({min: 0, max: 1, noNaN: true}),
}).map(({duration, width, from, zoom}) => {
  const whole = fit(duration, width);
  return {
    duration,
    view: clamp({
      startNs: from * duration,
      nsPerPx: whole.nsPerPx * 10 ** (-9 * zoom),
      widthPx: width,
    }, duration),
  };
});

describe('viewport', () => {
  test('pixels to time and back is the identity', () => {
    fc.assert(fc.property(anyView, fc.double({min: 0, max: 4000, noNaN: true}), ({view}, x) => {
      expect(toPx(view, toNs(view, x))).toBeCloseTo(x, 2);
    }), {examples: [[{duration: 1e9, view: {startNs: 0, nsPerPx: 1e6, widthPx: 1000}}, 10]]});
  });

  test('zoom keeps the instant under the pointer within a pixel, away from the ends', () => {
    fc.assert(fc.property(
        fc.integer({min: 0, max: 1000}), fc.double({min: 0.2, max: 5, noNaN: true}),
        fc.double({min: 0.3, max: 0.7, noNaN: true}), (x, factor, where) => {
          const duration = 3.6e12;
          const view = {startNs: where * duration, nsPerPx: 1e5, widthPx: 1000};
          const after = zoomAbout(view, x, factor, duration);
          expect(Math.abs(toPx(after, toNs(view, x)) - x)).toBeLessThanOrEqual(1);
        }));
  });

  test('no way to move leaves the trace out of sight', () => {
    fc.assert(fc.property(
        anyView, fc.array(fc.double({min: -5000, max: 5000, noNaN: true}), {maxLength: 8}),
        ({view, duration}, moves) => {
          let at = view;
          for (const move of moves) {
            at = panBy(at, move, duration);
            at = zoomAbout(at, Math.abs(move) % at.widthPx, 2 ** (move / 1000), duration);
            expect(at.startNs).toBeLessThan(duration);
            expect(endNs(at)).toBeGreaterThan(0);
            expect(at.nsPerPx * at.widthPx).toBeLessThanOrEqual(
                Math.max(duration, MIN_NS_PER_PX * at.widthPx) * (1 + 1e-9));
          }
        }));
  });

  test('a column of the chosen level is one to two pixels wide', () => {
    fc.assert(fc.property(fc.double({min: 1, max: 1e12, noNaN: true}), (nsPerPx) => {
      const px = 2 ** levelFor(nsPerPx, 54) / nsPerPx;
      expect(px).toBeGreaterThanOrEqual(1 - 1e-9);
      expect(px).toBeLessThan(2 + 1e-9);
      // A fine one is at most a pixel wide.
      const fine = 2 ** levelFor(nsPerPx, 54, true) / nsPerPx;
      expect(fine).toBeGreaterThanOrEqual(0.5 - 1e-9);
      expect(fine).toBeLessThan(1 + 1e-9);
    }));
  });

  test('the tiles of a window cover it', () => {
    fc.assert(fc.property(anyView, ({view, duration}) => {
      const level = levelFor(view.nsPerPx, 54);
      const span = tileSpan(view.startNs, endNs(view), level, 512, duration);
      const width = 512 * 2 ** level;
      expect(span.first * width).toBeLessThanOrEqual(Math.max(view.startNs, 0));
      expect((span.last + 1) * width)
          .toBeGreaterThanOrEqual(Math.min(endNs(view), duration) - 1e-3 * width);
      expect(span.last - span.first).toBeLessThan(2 + view.widthPx / 512);
    }));
  });

  test('ruler marks are 1, 2 or 5 times a power of ten and never too close', () => {
    fc.assert(fc.property(fc.double({min: 0.02, max: 1e12, noNaN: true}), (nsPerPx) => {
      const step = rulerStep(nsPerPx, 120);
      expect(step / nsPerPx).toBeGreaterThanOrEqual(120 - 1e-6);
      const digit = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
      expect([1, 2, 5].some((factor) => Math.abs(digit - factor) < 1e-6)).toBe(true);
    }));
  });

  test('show puts the range inside the window, centre puts an instant in its middle', () => {
    const view = fit(1e9, 1000);
    const near = show(view, 4e8, 4.1e8, 1e9);
    expect(near.startNs).toBeLessThan(4e8);
    expect(endNs(near)).toBeGreaterThan(4.1e8);
    expect(toPx(centre(near, 5e8, 1e9), 5e8)).toBeCloseTo(500, 3);
  });
});
