// How the window follows the playhead of a replay. Pure.

export const FOLLOWS = ['page', 'centre', 'fixed'] as const;
export type Follow = typeof FOLLOWS[number];
