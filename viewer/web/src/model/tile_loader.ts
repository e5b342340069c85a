// Keeps the tiles in view in the cache: newest request first, at most two under
// way. Requests that are no longer needed are cancelled.

import {type Client, isAbort} from '../api/client';
import {type TileKey, tileName} from '../api/tile_decode';
import type {TileCache} from './tile_cache';

const MAX_TILES = 512; // in one request
const MAX_REQUESTS = 2;

interface Flight {
  abort: AbortController;
  names: Set<string>;
}

export class TileLoader {
  private readonly flights = new Set<Flight>();
  private generation = 0;

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
    const missing =
        [...byName]
            .filter(([name, key]) => !this.cache.has(key) && !flying.has(name))
            .map(([, key]) => key)
            .slice(0, MAX_TILES);
    if (missing.length > 0) void this.load(missing);
  }

  private async load(keys: TileKey[]): Promise<void> {
    const flight = {abort: new AbortController(), names: new Set(keys.map(tileName))};
    this.flights.add(flight);
    try {
      const tiles = await this.client.tiles(keys, ++this.generation, flight.abort.signal);
      for (const tile of tiles) this.cache.put(tile);
    } catch (error) {
      if (!isAbort(error)) {
        this.onError(error instanceof Error ? error.message : String(error));
      }
    } finally {
      this.flights.delete(flight);
    }
    this.onLoad();
  }
}
