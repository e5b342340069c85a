// Where in the trace the hits of the find box are: when a process or thread ran,
// when a hook was hit or its calls begin. In columns of the whole trace.

import {type Signal, signal} from '@preact/signals-core';

import {ApiError} from '../api/client';
import {STATE_BLOCKED, STATE_UNKNOWN, STATE_WAITING} from '../api/schema';
import {statesAt, type Tile, TILE_COLUMNS, type TileKey, threadsAt} from '../api/tile_decode';
import type {Core} from '../core/core';
import type {Places} from '../timeline/paint/minimap_painter';
import type {Hit, HookHit, PlaceHit} from './find';
import {levelFor, tileSpan} from '../core/viewport';

export const PLACE_COLUMNS = 1024;
const MOST_HITS = 24; // those with places: the first ones
const OFF_CPU = STATE_WAITING | STATE_BLOCKED | STATE_UNKNOWN;

export class FindPlaces {
  // Those of each hit that have arrived.
  readonly placesOf: Signal<ReadonlyMap<Hit, Uint8Array>> = signal(new Map());

  private generation = 0;
  private hits: readonly Hit[] = [];
  private columns: Promise<Uint8Array>[] = []; // of each hit

  constructor(private readonly core: Core, private readonly places: Signal<Places|null>) {}

  // `at`: number of the chosen hit; -1: none.
  async show(hits: readonly Hit[], at: number): Promise<void> {
    const generation = ++this.generation;
    if (hits !== this.hits) {
      this.hits = hits;
      this.placesOf.value = new Map();
      this.columns = hits.slice(0, MOST_HITS).map((hit) => this.columnsOf(hit));
      this.columns.forEach((columns, number) => void columns.then((known) => {
        const hit = hits[number];
        if (hit && hits === this.hits) this.placesOf.value = new Map(this.placesOf.peek()).set(hit, known);
      }, () => undefined)); // a failure is that of the request below
    }
    const chosen = hits[at];
    await this.core.requests.guard(async () => {
      const columns = await Promise.all(this.columns);
      const own = chosen ? await (this.columns[at] ?? this.columnsOf(chosen)) : new Uint8Array(PLACE_COLUMNS);
      if (generation !== this.generation) return;
      this.places.value = hits.length === 0 ? null : {
        all: own.map((here, column) => here || columns.some((other) => other[column] !== 0) ? 1 : 0),
        chosen: own,
      };
    });
  }

  private async columnsOf(hit: Hit): Promise<Uint8Array> {
    const columns = new Uint8Array(PLACE_COLUMNS);
    const mark = (from: number, to: number): void => {
      const scale = PLACE_COLUMNS / this.core.durationNs;
      const last = Math.min(Math.max(Math.ceil(to * scale), Math.floor(from * scale) + 1), PLACE_COLUMNS);
      columns.fill(1, Math.max(Math.floor(from * scale), 0), last);
    };
    if (hit.kind === 'hook') await this.markHits(hit, mark);
    else await this.markRuns(hit, mark);
    return columns;
  }

  // A hook with more hits than the server counts has no places.
  private async markHits(hit: HookHit, mark: (from: number, to: number) => void): Promise<void> {
    try {
      const {items} = await this.core.client.hits(hit.hook, 0, this.core.durationNs + 1, PLACE_COLUMNS);
      for (const {t} of items) mark(t, t);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
    }
  }

  private async markRuns({process, thread}: PlaceHit, mark: (from: number, to: number) => void): Promise<void> {
    const {client, names, durationNs} = this.core;
    let row: number|undefined = names.trace.machine_row + 1 + process;
    if (thread !== null) {
      const [branches] = await client.threadRows(0, durationNs + 1, [process], {top: 0, also: [thread], where: ''});
      row = branches?.items.find((item) => item.thread === thread)?.rows.find(({kind}) => kind === 'run')?.row;
    }
    if (row === undefined) return;
    const level = levelFor(durationNs / PLACE_COLUMNS, names.trace.max_level);
    const {last} = tileSpan(0, durationNs, level, TILE_COLUMNS, durationNs);
    const keys: TileKey[] = Array.from({length: last + 1}, (_, index) => ({row, level, index}));
    const tiles = await client.tiles(keys, 0, new AbortController().signal);
    for (const tile of tiles) {
      for (const [from, to] of runsIn(tile)) mark(from, to);
    }
  }
}

// When a thread, or a thread of a process, ran.
function runsIn(tile: Tile): [number, number][] {
  if (tile.kind === 'items') {
    return tile.items.filter(({flags}) => (flags & OFF_CPU) === 0).map(({beginNs, endNs}) => [beginNs, endNs]);
  }
  const runs: [number, number][] = [];
  for (let column = 0; column < TILE_COLUMNS; ++column) {
    const ran = tile.kind === 'threads' ? threadsAt(tile.floats, column).running > 0 :
        tile.kind === 'states' && statesAt(tile.words, column).running > 0;
    const from = tile.beginNs + column * tile.columnNs;
    if (ran) runs.push([from, from + tile.columnNs]);
  }
  return runs;
}
