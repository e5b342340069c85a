import {assignSlots, contrast, DARK, HUES, LIGHT, type Rgb, segmentColour, slotColour, textOn} from '../../../viewer/web/src/render/palette';
import {formatCount, formatDuration, formatEventRate, formatInstant, formatPercent, formatShort} from '../../../viewer/web/src/units';

const distance = (a: Rgb, b: Rgb): number => Math.hypot(a.r - b.r, a.g - b.g, a.b - b.b);

describe.each([['light', LIGHT], ['dark', DARK]] as const)('palette, %s', (_, theme) => {
  const slots = Array.from({length: 2 * HUES}, (__, slot) => slot);
  test('labels on every fill are readable: contrast at least 4.5', () => {
    for (const slot of slots) {
      for (const fill of [slotColour(slot, theme), segmentColour(slot, theme)]) {
        expect(contrast(fill, textOn(fill))).toBeGreaterThanOrEqual(4.5);
      }
    }
    expect(contrast(theme.ink, theme.background)).toBeGreaterThanOrEqual(7);
    expect(contrast(theme.muted, theme.lane)).toBeGreaterThanOrEqual(4.5);
  });
  test('process colours differ from one another and from idle', () => {
    for (let a = 0; a < HUES; ++a) {
      expect(distance(slotColour(a, theme), theme.idle)).toBeGreaterThan(40);
      for (let b = 0; b < a; ++b) {
        expect(distance(slotColour(a, theme), slotColour(b, theme))).toBeGreaterThan(20);
      }
    }
  });
});

describe('assignSlots', () => {
  test('up to 24 names get 24 colours, and the heaviest keeps its own', () => {
    const many = Array.from({length: 24}, (_, i) => `process-${i}`);
    const slots = assignSlots(many);
    expect(new Set(slots.values()).size).toBe(24);
    const alone = assignSlots(['redis-server']).get('redis-server');
    expect(assignSlots(['redis-server', ...many]).get('redis-server')).toBe(alone);
  });
  test('more names than colours still get one each', () => {
    const slots = assignSlots(Array.from({length: 100}, (_, i) => `p${i}`));
    expect(slots.size).toBe(100);
    for (const slot of slots.values()) expect(slot).toBeLessThan(24);
  });
});

describe('units', () => {
  const plain = (text: string): string => text.replace(/\u2009/g, ' ');
  test('durations', () => {
    expect(plain(formatDuration(999))).toBe('999 ns');
    expect(plain(formatDuration(12_345))).toBe('12.35 \u00b5s');
    expect(plain(formatDuration(2.5e9))).toBe('2.500 s');
  });
  test('instants are as fine as the step and never rounded up', () => {
    expect(plain(formatInstant(1_204_512_999, 1))).toBe('1.204 512 999 s');
    expect(plain(formatInstant(1_204_999_999, 1e6))).toBe('1.204 s');
    expect(plain(formatInstant(1_999_999_999, 1e9))).toBe('1 s');
  });
  test('counts and rates', () => {
    expect(plain(formatCount(1234567))).toBe('1 234 567');
    expect(formatShort(12345)).toBe('12.3k');
    expect(plain(formatEventRate('task-clock', 1.5e9))).toBe('1.50 CPU');
    expect(formatEventRate('page-faults', 2500)).toBe('2.5k/s');
    expect(plain(formatPercent(0.1234))).toBe('12.3 %');
  });
});
