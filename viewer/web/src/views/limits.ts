// How sure a number is, as the report marks it.

import type {Bounds, Quality} from '../api/schema';

// "[12, 15]": holds the truth; empty if the number is exact.
export function limitsText(bounds: Bounds, field: string, format: (value: number) => string): string {
  const interval = bounds[field];
  if (!interval) return '';
  const [lo, hi] = interval;
  return `[${format(lo)}, ${hi === null ? '\u221e' : format(hi)}]`;
}

const MARKS: Record<Quality, string> = {exact: '', scaled: 's', bounded: 'b', inferred: 'i', unknown: '?'};
export const MARKS_SAY =
    'In the range: s estimated, event sets took turns; b bounded, records were lost; i inferred, a begin, end or switch was not recorded';

export function qualityMarks(qualities: readonly Quality[]): string {
  return qualities.map((quality) => MARKS[quality]).join('');
}
