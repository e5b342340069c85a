// Which of many things have a place in a list: one that has a place keeps it,
// so that nothing jumps while the trace plays. Pure.

// `ranked`: those that need a place, the first most. The first as many as there
// are places have one: they keep theirs, others get empty ones, or those of the
// ones that are no longer among them. A place whose thing is gone stays as it is
// until another needs it.
export function placesAfter(before: readonly (number|null)[], ranked: readonly number[], count: number): (number|null)[] {
  const places = Array.from({length: count}, (_, i) => before[i] ?? null);
  const wanted = ranked.slice(0, count);
  const kept = new Set(wanted.filter((thing) => places.includes(thing)));
  for (const thing of wanted) {
    if (kept.has(thing)) continue;
    const empty = places.indexOf(null);
    places[empty >= 0 ? empty : places.findIndex((held) => held === null || !kept.has(held))] = thing;
    kept.add(thing);
  }
  return places;
}
