// Whether this page is one of several in the page around it (pair.tsx), which then has
// the toolbar and the dock.

export const inPair = new URLSearchParams(globalThis.location?.search).has('pair');
// Also what this page has drawn into the page around is drawn again.
export const reload = (): void => (inPair ? parent : window).location.reload();
export const pageAround = (): Document => inPair ? parent.document : document;
// Opened by a file (`--open`) the token is still in the address.
export function forgetToken(): void {
  const url = new URL(location.href);
  if (!url.searchParams.has('token')) return;
  url.searchParams.delete('token');
  history.replaceState(null, '', url.pathname + url.search + url.hash);
}
