// Rows stay in the order in which they were first shown, also where another
// window has other heavy ones: one finds them where they were. Pure.

export class RowOrder {
  private readonly places = new Map<number, number>();

  // New ones come behind all that were there, by their rank.
  arrange<T extends {rank: number}>(items: readonly T[], numberOf: (item: T) => number): T[] {
    const ranked = [...items].sort((a, b) => a.rank - b.rank);
    for (const item of ranked) {
      const number = numberOf(item);
      if (!this.places.has(number)) this.places.set(number, this.places.size);
    }
    const placeOf = (item: T): number => this.places.get(numberOf(item)) ?? 0;
    return ranked.sort((a, b) => placeOf(a) - placeOf(b));
  }
  // The next ones are in the order of their ranks again.
  forget(): void {
    this.places.clear();
  }
}
