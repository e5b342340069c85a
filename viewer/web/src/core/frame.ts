// Whether this page is one of two in the page around it (pair.tsx), which then has
// the toolbar and the dock.

export const inPair = new URLSearchParams(globalThis.location?.search).has('pair');
// Also what this page has drawn into the page around is drawn again.
export const reload = (): void => (inPair ? parent : window).location.reload();
export const pageAround = (): Document => inPair ? parent.document : document;
