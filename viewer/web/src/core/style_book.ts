// The colour of each key of each kind of row, for one trace and one theme.

import {LEAF_IDLE, LEAF_OUTSIDE, NO_KEY, STATE_BLOCKED, STATE_UNKNOWN, STATE_WAITING} from '../api/schema';
import {clean, hookName, type Names} from './names';
import {assignSlots, hashName, HUES, mix, type Rgb, runColour, SEGMENT_SLOTS, segmentColour, slotColour, type Theme} from './palette';

export type RowKind = 'cpu'|'interrupts'|'run'|'process'|'segment'|'hook'|'counter'|'level';

export class StyleBook {
  private readonly slots: (number|undefined)[]; // of the heaviest names
  private readonly hookSlots: Map<string, number>;
  private readonly processes = new Map<number, Rgb>();
  private readonly hooks = new Map<number, Rgb>();
  // Heaviest process of the trace: 0. The order of a stack.
  private readonly ranks: Map<number, number>;

  readonly hookCount: number;

  constructor(readonly names: Names, readonly theme: Theme) {
    this.ranks = new Map(names.trace.heaviest.map((process, rank) => [process, rank]));
    // Processes of one name have one hue: what they used together gives it.
    const named = names.trace.hues.names.map(clean);
    const slots = assignSlots(named, HUES);
    this.slots = named.map((name) => slots.get(name));
    this.hookCount = names.hooks.size;
    this.hookSlots = assignSlots(
        [...names.hooks.values()].map((item) => item.name), SEGMENT_SLOTS);
  }

  process(process: number): Rgb {
    if (process === NO_KEY) return this.theme.outside;
    return cached(this.processes, process, () => {
      const slot = this.slots[this.names.trace.hues.of.charCodeAt(process) - 'a'.charCodeAt(0)];
      return slot === undefined ? this.theme.other : slotColour(slot, this.theme);
    });
  }
  hook(hook: number): Rgb {
    return cached(this.hooks, hook, () => segmentColour(
        this.hookSlots.get(hookName(this.names, hook)) ?? hashName(hookName(this.names, hook)) % SEGMENT_SLOTS, this.theme));
  }
  rank(process: number): number {
    return this.ranks.get(process) ?? this.ranks.size + process;
  }

  // Process colour while one process may be highlighted; one without a hue has
  // one then.
  lit(process: number, highlight: number|null): Rgb {
    const colour = this.process(process);
    if (highlight === null) return colour;
    if (highlight !== process) return mix(this.theme.idle, colour, 0.18);
    return colour === this.theme.other ? this.theme.accent : colour;
  }

  // Colour of a strip column. `hook` is of a level's row.
  column({kind, hook = NO_KEY}: {kind: RowKind; hook?: number}, key: number): Rgb {
    return kind === 'level' ? this.hook(hook) : kind === 'interrupts' ? this.theme.interrupt :
        kind === 'hook' ? this.theme.muted : this.hook(key);
  }
  // Colour of an exact item: the key of a CPU row is a thread, of a thread's
  // row a CPU.
  item(row: {kind: RowKind; process: number; hook?: number}, key: number, flags: number, highlight: number|null = null): Rgb {
    if ((flags & LEAF_IDLE) !== 0) return this.theme.idle;
    if ((flags & LEAF_OUTSIDE) !== 0) return this.theme.outside;
    if (row.kind === 'cpu') {
      // Its process may not be known yet.
      const process = this.names.thread(key)?.process;
      return process === undefined ? this.theme.other : this.lit(process, highlight);
    }
    if (row.kind !== 'run') return this.column(row, key);
    if ((flags & STATE_WAITING) !== 0) return this.theme.wait;
    if ((flags & STATE_UNKNOWN) !== 0) return this.theme.muted;
    const process = this.lit(row.process, highlight);
    return (flags & STATE_BLOCKED) !== 0 ? process :
                                           runColour(process, key, this.theme);
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
