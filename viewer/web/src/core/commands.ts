// What the commands of the keymap do: each feature registers its own.

// `pointerX`: of the timeline, where zooming keeps its place; null: the middle.
export type Command = (pointerX: number|null) => void;

export class Commands {
  private readonly all = new Map<string, Command>();

  register(commands: Record<string, Command>): void {
    for (const [name, run] of Object.entries(commands)) {
      if (this.all.has(name)) throw new Error(`two commands ${name}`);
      this.all.set(name, run);
    }
  }
  run(name: string, pointerX: number|null): void {
    this.all.get(name)?.(pointerX);
  }
  has(name: string): boolean {
    return this.all.has(name);
  }
}

// The one after `one`; after the last, the first.
export function after<T>(all: readonly T[], one: T): T {
  return all[(all.indexOf(one) + 1) % all.length] as T;
}
