// The traces beside this one (pair.tsx): their pages show the same instants, and
// of each all show what is on record in one go.

// Shows what was loaded.
export type Show = () => void;

// Instants are those of this trace, not of the one beside it. Where that has
// none, it shows its nearest. `runBegin`: where this one began to play.
export interface Beside {
  state(at: number, runBegin: number): Promise<Show>;
  // As many as there was room for in an answer.
  frames(times: readonly number[], runBegin: number): Promise<readonly Show[]>;
  // What it shows now is of this instant.
  shows(at: number): boolean;
}

// The same of all of them; none: there is nothing to wait for.
export function besideAll(all: readonly Beside[]): Beside {
  const inOne = (shows: readonly (Show|undefined)[]): Show => () => {
    for (const show of shows) show?.();
  };
  return {
    state: async (at, runBegin) => inOne(await Promise.all(all.map((one) => one.state(at, runBegin)))),
    async frames(times, runBegin) {
      const lists = await Promise.all(all.map((one) => one.frames(times, runBegin)));
      const room = Math.min(times.length, ...lists.map((list) => list.length));
      return Array.from({length: room}, (_, i) => inOne(lists.map((list) => list[i])));
    },
    shows: (at) => all.every((one) => one.shows(at)),
  };
}
