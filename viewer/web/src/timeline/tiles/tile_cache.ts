// Loaded tiles; the least recently used one is removed first. Also selects what
// to draw until the right tile arrives: a coarser or finer one, if there is
// any.

import {type Tile, type TileKey, tileName} from '../../api/tile_decode';

export interface Patch {
  tile: Tile;
  fromNs: number; // draw only this part
  toNs: number;
}

const MOST_LEVELS = 40; // of 2 ns to 2^40: an hour has 32

export class TileCache {
  private readonly tiles = new Map<string, Tile>();
  private bytes_ = 0;

  constructor(private readonly maxBytes: number,
              private readonly onEvict: (tile: Tile) => void = () => {}) {}

  get bytes(): number {
    return this.bytes_;
  }

  has(key: TileKey): boolean {
    return this.tiles.has(tileName(key));
  }

  get(key: TileKey): Tile|undefined {
    const name = tileName(key);
    const tile = this.tiles.get(name);
    if (tile) {
      // Maps keep insertion order: last = most recently used.
      this.tiles.delete(name);
      this.tiles.set(name, tile);
    }
    return tile;
  }

  put(tile: Tile): void {
    const name = tileName(tile);
    const old = this.tiles.get(name);
    if (old) this.drop(name, old);
    this.tiles.set(name, tile);
    this.bytes_ += tile.bytes;
    for (const [victim, stale] of this.tiles) {
      if (this.bytes_ <= this.maxBytes || victim === name) break;
      this.drop(victim, stale);
    }
  }

  // The best tiles to draw in place of a tile: itself, a coarser one, or finer
  // ones.
  cover(key: TileKey, columns: number): Patch[] {
    const exact = this.get(key);
    const width = columns * 2 ** key.level;
    const fromNs = key.index * width;
    const toNs = fromNs + width;
    if (exact) return [{tile: exact, fromNs, toNs}];
    for (let up = 1; up <= MOST_LEVELS; ++up) {
      const tile = this.get({
        row: key.row,
        level: key.level + up,
        index: Math.floor(key.index / 2 ** up),
      });
      if (tile) return [{tile, fromNs, toNs}];
    }
    const finer: Patch[] = [];
    for (let down = 1; down <= 2 && down <= key.level && finer.length === 0; ++down) {
      for (let i = 0; i < 2 ** down; ++i) {
        const index = key.index * 2 ** down + i;
        const tile = this.get({row: key.row, level: key.level - down, index});
        const part = width / 2 ** down;
        if (tile) finer.push({tile, fromNs: index * part, toNs: (index + 1) * part});
      }
    }
    return finer;
  }

  private drop(name: string, tile: Tile): void {
    this.tiles.delete(name);
    this.bytes_ -= tile.bytes;
    this.onEvict(tile);
  }
}
