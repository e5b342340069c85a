// Names of events where there is little room.

const SHOWN = 10; // letters that are shown of a name at least

// Another event's name begins like this one: they differ in their ends.
export function differsInEnd(name: string, names: readonly string[]): boolean {
  return name.length > SHOWN && names.some((other) => other !== name && other.slice(0, SHOWN) === name.slice(0, SHOWN));
}
