// Who answers the requests of API.md: a server, or the index in the page's own
// file (own_index.ts).

export interface Answer {
  status: number;
  body: ArrayBuffer;
}
export interface Backend {
  // `path`: what follows /api/v1/. Fails as fetch() does.
  ask(path: string, init: RequestInit): Promise<Answer>;
  readonly hasTrace: boolean; // not only its index and samples: records, report, diff
}

export const SERVER: Backend = {
  hasTrace: true,
  // Relative: of several traces in frames, each page has a folder of its own.
  async ask(path, init) {
    const response = await fetch(`api/v1/${path}`, init);
    return {status: response.status, body: await response.arrayBuffer()};
  },
};
