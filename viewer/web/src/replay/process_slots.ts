// The processes that ran just now, those of one name together: a build's
// short-lived compilers are lit in one place. Pure.

import {placesAfter} from './fixed_places';

export interface Slot {
  name: string;
  processes: number[]; // that ran, the first most
  ns: number;
}

// Those of one name, the one that ran longest first.
export function byName(rows: readonly {process: number; on_cpu_ns: number}[], nameOf: (process: number) => string): Slot[] {
  const slots = new Map<string, Slot>();
  for (const {process, on_cpu_ns: ns} of [...rows].sort((a, b) => b.on_cpu_ns - a.on_cpu_ns)) {
    if (ns <= 0) continue;
    const name = nameOf(process);
    const slot = slots.get(name) ?? {name, processes: [], ns: 0};
    slot.processes.push(process);
    slot.ns += ns;
    slots.set(name, slot);
  }
  return [...slots.values()].sort((a, b) => b.ns - a.ns);
}

// Remembers where the slot of each name is.
export class SlotPlaces {
  private readonly names: string[] = [];
  private places: (number|null)[] = [];

  constructor(private readonly count: number) {}

  // `fixed`: each keeps its place, and one that does not run any more stays,
  // without time, until another needs its place; else they are in order.
  place(slots: readonly Slot[], fixed: boolean): (Slot|null)[] {
    const number = (name: string): number => {
      const known = this.names.indexOf(name);
      return known >= 0 ? known : this.names.push(name) - 1;
    };
    const ranked = slots.map((slot) => number(slot.name));
    this.places = placesAfter(fixed ? this.places : [], ranked, this.count);
    const found = new Map(slots.map((slot) => [slot.name, slot]));
    return this.places.map((held) => {
      const name = held === null ? undefined : this.names[held];
      return name === undefined ? null : found.get(name) ?? {name, processes: [], ns: 0};
    });
  }
}
