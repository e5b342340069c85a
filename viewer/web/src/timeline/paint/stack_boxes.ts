// Stacks of the samples of one thread as boxes in time: neighbours that have a
// function at the same depth, under the same callers, are one box. Pure.

import type {SampledStack} from '../../api/tables_schema';
import {STACK_ROWS} from '../rows/lane_parts';

const GAPS = 3; // times the usual distance of two samples: none was taken between

export interface StackBox {
  from: number;
  to: number;
  depth: number; // from the outermost one that not all samples share
  name: number; // of the answer's functions
  samples: number;
}

// How many outermost functions all samples have; one of each stack is left.
function shared(samples: readonly SampledStack[]): number {
  const first = samples[0]?.stack ?? [];
  let count = 0;
  while (samples.every(({stack}) => stack.length > count + 1 && stack[count] === first[count])) ++count;
  return count;
}

// `samples` by time, `to`: the end of what was asked for.
export function stackBoxes(samples: readonly SampledStack[], to: number): StackBox[] {
  const gaps = samples.slice(1).map(({t}, i) => t - (samples[i]?.t ?? 0)).sort((a, b) => a - b);
  const usual = gaps[gaps.length >> 1] ?? to - (samples[0]?.t ?? to);
  const left = samples.length > 1 ? shared(samples) : 0;
  const boxes: StackBox[] = [];
  let open: StackBox[] = [];
  for (const [at, {t, stack}] of samples.entries()) {
    const next = samples[at + 1]?.t ?? Infinity;
    const end = next - t <= GAPS * usual ? next : Math.min(t + usual, to);
    const names = stack.slice(left, left + STACK_ROWS);
    let same = 0;
    while (same < open.length && open[same]?.name === names[same] && open[same]?.to === t) ++same;
    open = open.slice(0, same);
    for (const box of open) {
      box.to = end;
      ++box.samples;
    }
    for (const [depth, name] of names.entries()) {
      if (depth < same) continue;
      const box = {from: t, to: end, depth, name, samples: 1};
      boxes.push(box);
      open.push(box);
    }
  }
  return boxes;
}
