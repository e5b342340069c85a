// Whether this page is one of two in the page around it (pair.tsx), which then has
// the toolbar and the dock.

export const inPair = new URLSearchParams(globalThis.location?.search).has('pair');
export const pageAround = (): Document => inPair ? parent.document : document;
