// The trace beside this one (pair.tsx): its page shows the same instants, and
// of each both show what is on record in one go.

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
