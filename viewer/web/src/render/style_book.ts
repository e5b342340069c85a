// The colour of each key of each kind of row, for one trace and one theme.

import {LEAF_IDLE, LEAF_OUTSIDE, NO_KEY} from '../api/schema';
import type {SubRow} from '../model/lanes';
import {hookName, type Names, processName, processOf} from '../model/names';
import {assignSlots, cpuColour, type Rgb, segmentColour, slotColour, type Theme} from './palette';

export class StyleBook {
  private readonly processSlots: Map<string, number>;
  private readonly hookSlots: Map<string, number>;
  private readonly processes = new Map<number, Rgb>();
  private readonly hooks = new Map<number, Rgb>();
  private readonly cpus = new Map<number, Rgb>();

  constructor(readonly names: Names, readonly theme: Theme) {
    // Heaviest first: the largest processes get the colours of their own
    // hashes.
    const order = [...names.processes.values()].sort(
        (a, b) => (b.on_cpu_ns ?? 0) - (a.on_cpu_ns ?? 0));
    this.processSlots = assignSlots(order.map((item) => item.comm));
    this.hookSlots =
        assignSlots([...names.hooks.values()].map((item) => item.name));
  }

  process(process: number): Rgb {
    if (process === NO_KEY) return this.theme.outside;
    return cached(this.processes, process, () => slotColour(
        this.processSlots.get(processName(this.names, process)) ?? 0, this.theme));
  }
  hook(hook: number): Rgb {
    return cached(this.hooks, hook, () => segmentColour(
        this.hookSlots.get(hookName(this.names, hook)) ?? 0, this.theme));
  }
  cpu(cpu: number): Rgb {
    return cached(this.cpus, cpu, () => cpuColour(cpu, this.theme));
  }

  // Colour of a strip column: the key of a CPU row is a process.
  column(kind: SubRow['kind'], key: number): Rgb {
    if (kind === 'cpu') return this.process(key);
    if (kind === 'run') return this.cpu(key);
    return this.hook(key);
  }
  // Colour of an exact item: the key of a CPU row is a thread.
  item(kind: SubRow['kind'], key: number, flags: number): Rgb {
    if ((flags & LEAF_IDLE) !== 0) return this.theme.idle;
    if ((flags & LEAF_OUTSIDE) !== 0) return this.theme.outside;
    if (kind === 'cpu') return this.process(processOf(this.names, key));
    return this.column(kind, key);
  }
}

function cached(map: Map<number, Rgb>, key: number, make: () => Rgb): Rgb {
  let colour = map.get(key);
  if (!colour) {
    colour = make();
    map.set(key, colour);
  }
  return colour;
}
