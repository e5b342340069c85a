// How sure a number is, as the report marks it.

import type {Bounds, Quality} from '../api/schema';

const UNIT = /\u2009([a-z\u00b5]+)$/;

// "[12, 15]" and "[2.1, 2.3 s]": holds the truth; empty if the number is exact.
export function limitsText(bounds: Bounds, field: string, format: (value: number) => string): string {
  const interval = bounds[field];
  if (!interval) return '';
  const [lo, hi] = interval;
  const least = format(lo);
  const most = hi === null ? '\u221e' : format(hi);
  const unit = UNIT.exec(least);
  return `[${unit && unit[1] === UNIT.exec(most)?.[1] ? least.slice(0, unit.index) : least}, ${most}]`;
}

const MARKS: Record<Quality, string> = {exact: '', scaled: 's', bounded: 'b', inferred: 'i', unknown: '?'};
export const MARKS_SAY =
    'In the range: s estimated, event sets took turns; b bounded, records were lost; i inferred, a begin, end or switch was not recorded';

export function qualityMarks(qualities: readonly Quality[]): string {
  return qualities.map((quality) => MARKS[quality]).join('');
}
