// What the page shows as a fragment of its address, and back, so that a link
// shows the same place: each feature registers the fields that it reads and
// writes. The valid parts of a wrong fragment are used, the rest is ignored.

export type Parts = ReadonlyMap<string, string>;

export interface Field {
  key: string;
  // Absent: the fragment says nothing of it. `first`: the page begins here; else
  // it is shown already, and Back leads to another state of it.
  read(text: string|undefined, first: boolean, all: Parts): void;
  write(): string|null; // null: it is as usual
}

export class Address {
  private readonly fields: Field[] = [];

  register(...fields: Field[]): void {
    this.fields.push(...fields);
  }
  read(fragment: string, first = false): void {
    const parts = partsOf(fragment);
    for (const field of this.fields) field.read(parts.get(field.key), first, parts);
  }
  // By key.
  parts(): Map<string, string> {
    const parts = new Map<string, string>();
    for (const {key, write} of this.fields) {
      const text = write();
      if (text !== null) parts.set(key, text);
    }
    return parts;
  }
  write(): string {
    return fragmentOf(this.parts());
  }
}

export function partsOf(fragment: string): Map<string, string> {
  const parts = new Map<string, string>();
  for (const part of fragment.replace(/^#/, '').split('&')) {
    const equals = part.indexOf('=');
    if (equals >= 0) parts.set(part.slice(0, equals), part.slice(equals + 1));
  }
  return parts;
}
export function fragmentOf(parts: Parts): string {
  return `#${[...parts].map(([key, text]) => `${key}=${text}`).join('&')}`;
}

const MOST_LISTED = 200; // of a list: an address has a limit

// A number that is at least `least`; null: it is none.
export function numberIn(text: string|undefined, least = -Infinity): number|null {
  const value = Number(text);
  return text === undefined || text === '' || !Number.isFinite(value) ? null : Math.max(value, least);
}
export function wholeIn(text: string|undefined, least = 0): number|null {
  const value = numberIn(text, least);
  return value === null ? null : Math.floor(value);
}
// "3-12-5", all whole and not negative.
export function listIn(text: string|undefined): number[]|null {
  return text !== undefined && /^\d+(-\d+)*$/.test(text) ? text.split('-').slice(0, MOST_LISTED).map(Number) : null;
}
export function listText(numbers: Iterable<number>): string|null {
  const all = [...numbers];
  return all.length > 0 ? all.slice(0, MOST_LISTED).map(Math.round).join('-') : null;
}
// Begin and end in ns; both may have decimals, as `from` and `to`.
export function spanIn(text: string|undefined): {from: number; to: number}|null {
  const [, from, to] = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? '') ?? [];
  const span = {from: Math.round(Number(from)), to: Math.round(Number(to))};
  return span.from < span.to ? span : null;
}

interface Held<T> {
  value: T;
}
// Fields of a kind each.
export function flagField(key: string, held: Held<boolean>): Field {
  return {key, read: (text) => (held.value = text !== undefined && Number(text) === 1), write: () => held.value ? '1' : null};
}
export function spanField(key: string, held: Held<{from: number; to: number}|null>): Field {
  return {
    key,
    read: (text) => (held.value = spanIn(text)),
    write: () => held.value && listText([held.value.from, held.value.to]),
  };
}
// A number of the trace's, as of a thread; null: none is chosen.
export function chosenField(key: string, held: Held<number|null>): Field {
  return {key, read: (text) => (held.value = wholeIn(text)), write: () => held.value === null ? null : String(held.value)};
}
// One of some words; another one, or none, leaves what is.
export function wordField<T extends string>(key: string, all: readonly T[], held: Held<T>): Field {
  return {
    key,
    read: (text) => (held.value = all.find((word) => word === text) ?? held.value),
    write: () => held.value,
  };
}
