// The rates of all events just before the playhead, from tiles of their counters:
// one holds many such stretches, so few are requested while it plays.

import {type Signal, signal} from '@preact/signals-core';

import {COUNTER_EMPTY} from '../api/schema';
import {COUNTER_FLAGS, COUNTER_WORDS, type CounterTile, TILE_COLUMNS, type TileKey} from '../api/tile_decode';
import type {Core} from '../core/core';
import {tileSpan} from '../core/viewport';

export const RATE_COLUMNS = 40;
const MOST_TILES = 64;

const nameOf = ({row, level, index}: TileKey): string => `${row} ${level} ${index}`;

export class RecentRates {
  readonly arrived: Signal<number> = signal(0); // answers
  private readonly tiles = new Map<string, CounterTile>();
  private busy = false;

  constructor(private readonly core: Core) {}

  // Columns of the `window` ns before `at`, a little more: level and first ns.
  private columns(at: number, window: number): {level: number; from: number} {
    const level = Math.min(Math.max(Math.ceil(Math.log2(Math.max(window, 1) / RATE_COLUMNS)), 0), this.core.names.trace.max_level);
    return {level, from: (Math.floor(at / 2 ** level) - RATE_COLUMNS + 1) * 2 ** level};
  }
  private keys(event: number, at: number, window: number): TileKey[] {
    const {trace} = this.core.names;
    const {level, from} = this.columns(at, window);
    const {first, last} = tileSpan(Math.max(from, 0), at + 1, level, TILE_COLUMNS, this.core.durationNs);
    return Array.from({length: last - first + 1}, (_, i) => ({row: trace.counter_rows_from + event * (trace.cpus + 1), level, index: first + i}));
  }

  // Per second, oldest first; null: not known, or not here yet.
  of(event: number, at: number, window: number): (number|null)[] {
    const {level, from} = this.columns(at, window);
    const tiles = this.keys(event, at, window).map((key) => this.tiles.get(nameOf(key)));
    return Array.from({length: RATE_COLUMNS}, (_, i) => {
      const column = from / 2 ** level + i;
      const tile = tiles.find((one) => one && one.index === Math.floor(column / TILE_COLUMNS));
      const word = COUNTER_WORDS * (column % TILE_COLUMNS);
      if (!tile || column < 0 || ((tile.flags[word + COUNTER_FLAGS] ?? COUNTER_EMPTY) & COUNTER_EMPTY) !== 0) return null;
      return tile.values[word + 2] ?? null;
    });
  }

  // Requests what of() lacks there.
  load(at: number, window: number): void {
    const missing = this.core.names.events.flatMap((_, event) => this.keys(event, at, window)).filter((key) => !this.tiles.has(nameOf(key)));
    if (this.busy || missing.length === 0 || this.core.requests.lost.peek()) return;
    this.busy = true;
    void this.core.requests.guard(async () => {
      try {
        const tiles = await this.core.client.tiles(missing, 0, new AbortController().signal);
        if (this.tiles.size > MOST_TILES) this.tiles.clear();
        for (const tile of tiles) if (tile.kind === 'counter') this.tiles.set(nameOf(tile), tile);
      } finally {
        this.busy = false;
        ++this.arrived.value;
      }
    });
  }
}

// A line through the known columns, of `height` at `top`; one that is not known
// breaks it.
export function sparkPath(rates: readonly (number|null)[], top: number, height: number): string {
  let joined = false;
  return rates.map((rate, x) => {
    if (rate === null) {
      joined = false;
      return '';
    }
    const y = (height - 1 - (top > 0 ? Math.min(rate / top, 1) : 0) * (height - 2)).toFixed(1);
    const step = `${joined ? 'L' : 'M'}${x} ${y}${joined ? '' : 'h.5'}`;
    joined = true;
    return step;
  }).join('');
}
