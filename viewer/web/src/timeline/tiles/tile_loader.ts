// Keeps the tiles in view in the cache: newest request first, at most two under
// way. Requests that are no longer needed are cancelled. A tile that cannot be
// loaded is tried three times, the last time alone.

import {type Client, isAbort, isLost} from '../../api/client';
import {type TileKey, tileName} from '../../api/tile_decode';
import type {TileCache} from './tile_cache';

// In one request: of tiles that never failed, that failed once, twice.
const MAX_TILES = [512, 32, 1];
const MAX_REQUESTS = 2;

interface Flight {
  abort: AbortController;
  names: Set<string>;
}

export class TileLoader {
  private readonly flights = new Set<Flight>();
  private generation = 0;
  private readonly failures = new Map<string, number>(); // by tileName()

  constructor(private readonly client: Client, private readonly cache: TileCache,
              private readonly onLoad: () => void,
              private readonly onError: (message: string) => void) {}

  get busy(): boolean {
    return this.flights.size > 0;
  }

  // Requests the missing ones of `keys`, in their order.
  want(keys: readonly TileKey[]): void {
    const byName = new Map(keys.map((key) => [tileName(key), key]));
    const wanted = new Set(byName.keys());
    const flying = new Set<string>();
    for (const flight of this.flights) {
      if ([...flight.names].some((name) => wanted.has(name))) {
        for (const name of flight.names) flying.add(name);
      } else {
        flight.abort.abort();
      }
    }
    if (this.flights.size >= MAX_REQUESTS) return;
    const missing = [...byName].filter(
        ([name, key]) => !this.cache.has(key) && !flying.has(name) && this.failed(name) < MAX_TILES.length);
    if (missing.length === 0) return;
    const failed = missing.reduce((least, [name]) => Math.min(least, this.failed(name)), MAX_TILES.length);
    void this.load(missing.filter(([name]) => this.failed(name) === failed)
                       .slice(0, MAX_TILES[failed])
                       .map(([, key]) => key));
  }

  private failed(name: string): number {
    return this.failures.get(name) ?? 0;
  }

  private async load(keys: TileKey[]): Promise<void> {
    const flight = {abort: new AbortController(), names: new Set(keys.map(tileName))};
    this.flights.add(flight);
    try {
      const tiles = await this.client.tiles(keys, ++this.generation, flight.abort.signal);
      for (const tile of tiles) this.cache.put(tile);
      // The first ones always fit.
      if (!tiles.some((tile) => flight.names.has(tileName(tile)))) throw new RangeError('The answer has none of the tiles');
    } catch (error) {
      if (!isAbort(error) && !isLost(error)) this.fail(flight.names, error);
    } finally {
      this.flights.delete(flight);
    }
    this.onLoad();
  }

  // Says it once, when a tile has failed for good.
  private fail(names: ReadonlySet<string>, error: unknown): void {
    const before = this.given;
    for (const name of names) this.failures.set(name, this.failed(name) + 1);
    if (this.given === 0 || before !== 0) return;
    this.onError(`A part of the timeline cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
  // How many tiles were given up.
  private get given(): number {
    return [...this.failures.values()].filter((count) => count >= MAX_TILES.length).length;
  }
}
