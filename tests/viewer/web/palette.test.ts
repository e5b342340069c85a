import {assignSlots, contrast, DARK, HUES, LIGHT, type Rgb, runColour, SEGMENT_SLOTS, segmentColour, slotColour, textOn, type Theme} from '../../../viewer/web/src/core/palette';
import {formatCount, formatDuration, formatEventRate, formatInstant, formatPercent, formatShort} from '../../../viewer/web/src/core/units';

const linear = (value: number): number =>
    value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
const linearRgb = ({r, g, b}: Rgb): number[] => [linear(r), linear(g), linear(b)];
const times = (rows: number[][], v: number[]): number[] =>
    rows.map((row) => row.reduce((sum, part, i) => sum + part * (v[i] ?? 0), 0));

// CIE Lab of linear sRGB, D65.
function lab(rgb: number[]): number[] {
  const f = (t: number): number => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
  const [x = 0, y = 0, z = 0] = times(
      [[0.43394, 0.37622, 0.18984], [0.2126729, 0.7151522, 0.072175], [0.01776, 0.10947, 0.87277]], rgb).map(f);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
// As seen without green receptors (Machado, Oliveira, Fernandes 2009).
const deuteranopia = (colour: Rgb): number[] => lab(times(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    linearRgb(colour)).map((part) => Math.min(Math.max(part, 0), 1)));
const trichromacy = (colour: Rgb): number[] => lab(linearRgb(colour));

// CIE76 between the two most similar.
function nearest(colours: readonly Rgb[], seen: (colour: Rgb) => number[]): number {
  let least = Infinity;
  for (const [i, a] of colours.entries()) {
    for (const b of colours.slice(0, i)) {
      const y = seen(b);
      least = Math.min(least, Math.hypot(...seen(a).map((part, k) => part - (y[k] ?? 0))));
    }
  }
  return least;
}

const safe = (theme: Theme): Theme => ({...theme, safe: true});

describe.each([
  ['light', LIGHT], ['dark', DARK], ['light, safe', safe(LIGHT)], ['dark, safe', safe(DARK)],
] as const)('palette, %s', (_, theme) => {
  const processes = Array.from({length: HUES}, (__, slot) => slotColour(slot, theme));
  const segments = Array.from({length: SEGMENT_SLOTS}, (__, slot) => segmentColour(slot, theme));
  test('labels on every fill are readable: contrast at least 4.5', () => {
    for (const fill of [...processes, ...segments, theme.other, theme.idle, theme.outside]) {
      expect(contrast(fill, textOn(fill))).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(theme.ink, theme.background)).toBeGreaterThanOrEqual(7);
    expect(contrast(theme.muted, theme.lane)).toBeGreaterThanOrEqual(4.5);
  });
  test('fills differ from what is behind them: contrast at least 3', () => {
    for (const fill of [...processes, theme.other]) {
      for (const behind of [theme.idle, theme.lane]) {
        expect(contrast(fill, behind)).toBeGreaterThanOrEqual(3);
      }
      for (const cpu of [0, 1, 2]) {
        expect(contrast(runColour(fill, cpu, theme), theme.background)).toBeGreaterThanOrEqual(3);
      }
    }
    for (const fill of [...segments, theme.wait, theme.interrupt]) {
      expect(contrast(fill, theme.background)).toBeGreaterThanOrEqual(3);
    }
  });
  test('process colours differ from one another', () => {
    expect(nearest(processes, trichromacy)).toBeGreaterThanOrEqual(10);
    if (theme.safe) expect(nearest(processes, deuteranopia)).toBeGreaterThanOrEqual(8);
  });
});

describe('assignSlots', () => {
  test('twelve names get the twelve hues, and the heaviest keeps its own', () => {
    const many = Array.from({length: 12}, (_, i) => `process-${i}`);
    const slots = assignSlots(many, HUES);
    expect(new Set(slots.values()).size).toBe(12);
    const alone = assignSlots(['redis-server'], HUES).get('redis-server');
    expect(assignSlots(['redis-server', ...many], HUES).get('redis-server')).toBe(alone);
  });
  test('names beyond the hues have none; a second tone comes after the first', () => {
    const many = Array.from({length: 100}, (_, i) => `p${i}`);
    expect([...assignSlots(many, HUES).keys()]).toEqual(many.slice(0, 12));
    const tones = [...assignSlots(many, SEGMENT_SLOTS).values()];
    expect(new Set(tones).size).toBe(24);
    expect(Math.max(...tones.slice(0, 12))).toBeLessThan(12);
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
