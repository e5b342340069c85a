// The processes that ran most, and those that forked them. Pure.

import type {Family} from '../api/schema';

export interface TreeRow {
  process: number;
  depth: number;
  firstNs: number|null;
  endedNs: number|null;
}

const NO_PARENT = -1;

// At most `count` rows: the first of `heaviest`, and where there is room their
// ancestors, parents before grandparents. A process is below its nearest ancestor
// that is there; siblings are in order of their first records. `families` has all
// of them; those that it lacks are left out.
export function processTree(families: readonly Family[], heaviest: readonly number[], count: number): TreeRow[] {
  const known = new Map(families.map((family) => [family.process, family]));
  const ancestors = (process: number): number[] => (known.get(process)?.ancestors ?? []).filter((one) => known.has(one));
  const chosen = new Set(heaviest.filter((process) => known.has(process)).slice(0, count));
  const rounds = [...chosen].map(ancestors);
  for (let level = 0; rounds.some((line) => line.length > level); ++level) {
    for (const line of rounds) {
      const process = line[level];
      if (process !== undefined && chosen.size < count) chosen.add(process);
    }
  }
  const below = new Map<number, number[]>();
  for (const process of chosen) {
    const up = ancestors(process).find((one) => chosen.has(one)) ?? NO_PARENT;
    below.set(up, [...below.get(up) ?? [], process]);
  }
  const order = (a: number, b: number): number => (known.get(a)?.first_ns ?? 0) - (known.get(b)?.first_ns ?? 0) || a - b;
  const rows: TreeRow[] = [];
  const add = (parent: number, depth: number): void => {
    for (const process of (below.get(parent) ?? []).sort(order)) {
      const family = known.get(process);
      rows.push({process, depth, firstNs: family?.first_ns ?? null, endedNs: family?.ended_ns ?? null});
      add(process, depth + 1);
    }
  };
  add(NO_PARENT, 0);
  return rows;
}
