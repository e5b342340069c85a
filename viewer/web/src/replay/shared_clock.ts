// The time that pages in step share, and that of each one's trace on it. ns, each
// since an instant of its own.

export interface SharedClock {
  shared(own: number): number;
  own(shared: number): number;
}

// The same instant of all is at `begin`.
export function clockFrom(begin: number): SharedClock {
  return {shared: (own) => own - begin, own: (shared) => shared + begin};
}

// Own and shared time of the same instant.
export type ClockPoint = readonly [own: number, shared: number];

// Both run evenly, through two points.
export function clockThrough(a: ClockPoint, b: ClockPoint): SharedClock {
  // As a difference, which is whole: exact where both run alike.
  const gained = (b[1] - a[1]) - (b[0] - a[0]);
  return {
    shared: (own) => a[1] + (own - a[0]) + (own - a[0]) * gained / (b[0] - a[0]),
    own: (shared) => a[0] + (shared - a[1]) - (shared - a[1]) * gained / (b[1] - a[1]),
  };
}
