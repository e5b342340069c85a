// The endpoints of API.md as functions. Counts the requests (window.__pv).

import {type Backend, SERVER} from './backend';
import type {RequestsAnswer} from './requests_schema';
import type {Aggregate, Branches, CallTreeAnswer, Comparison, Durations, EventPage, EventPlace, Found, Frame, FrameRequest, FunctionRow, FunctionsAnswer, Growth, HitItem, HookItem, InstantState, ListingAnswer, LongestItem, LossItem, Note, Page, ProcessBranch, ProcessItem, QueryAnswer, Recorded, SampleStacksAnswer, SampleTreeAnswer, SourceAnswer, StepAnswer, StepKind, StepLimit, ThreadBranch, ThreadItem, TraceInfo, TreeAnswer, WaitAnswer} from './schema';
import {decodeTiles, type Tile, type TileKey} from './tile_decode';

export class ApiError extends Error {
  // `reason`: the whole text, as the server gave it.
  constructor(readonly status: number, message: string, readonly reason: string) {
    super(message);
  }
}

export interface TimeSpan {
  from: number;
  to: number;
}

export interface NetCounters {
  requests: number;
  bytes: number;
  cancelled: number;
  failed: number;
}

export class Client {
  // Called when the server cannot be reached, or does not admit this page.
  onLost: () => void = () => undefined;
  readonly net: NetCounters = {requests: 0, bytes: 0, cancelled: 0, failed: 0};

  // Numbers of rows and names are those of one index: all answers come from it.
  constructor(readonly index: string, readonly backend: Backend = SERVER) {}

  growth(): Promise<Growth> {
    return this.json('index');
  }
  // While the index is of a first part.
  recorded(): Promise<Recorded> {
    return this.json('recorded');
  }
  trace(): Promise<TraceInfo> {
    return this.json('trace');
  }
  async processesOf(numbers: readonly number[]): Promise<ProcessItem[]> {
    return (await this.json<Page<ProcessItem>>(`processes?ids=${numbers.join(',')}`)).items;
  }
  async threadsOf(numbers: readonly number[]): Promise<ThreadItem[]> {
    return (await this.json<Page<ThreadItem>>(`threads?ids=${numbers.join(',')}`)).items;
  }
  hooks(): Promise<HookItem[]> {
    return this.all('hooks');
  }
  // Processes by what they did in [from, to).
  processRows(from: number, to: number, page: RowPage & {first: number}): Promise<Branches<ProcessBranch>> {
    return this.json(`rows?from=${from}&to=${to}&first=${page.first}${rowPage(page)}`);
  }
  // Threads of each of these processes.
  async threadRows(from: number, to: number, parents: readonly number[], page: RowPage):
      Promise<Branches<ThreadBranch>[]> {
    return (await this.json<{parents: Branches<ThreadBranch>[]}>(
        `rows?from=${from}&to=${to}&parent=${parents.join(',')}${rowPage(page)}`)).parents;
  }
  find(text: string, signal?: AbortSignal): Promise<Found> {
    return this.json(`find?q=${encodeURIComponent(text)}`, signal);
  }
  async notes(): Promise<Note[]> {
    return (await this.json<{notes: Note[]}>('notes')).notes;
  }
  // In place of `before`; 409: others have changed them.
  async saveNotes(before: readonly Note[], notes: readonly Note[]): Promise<Note[]> {
    return (await this.post<{notes: Note[]}>('notes', {before, notes})).notes;
  }
  // One SELECT, as by `countrace query`; null: of the whole trace.
  query(sql: string, range: TimeSpan|null, signal: AbortSignal): Promise<QueryAnswer> {
    return this.post('query', {sql, ...(range ? {from: Math.round(range.from), to: Math.round(range.to)} : {})}, signal);
  }
  losses(): Promise<LossItem[]> {
    return this.all('losses');
  }
  async overview(): Promise<Uint32Array> {
    return new Uint32Array(await this.bytes('overview'));
  }
  async tiles(keys: readonly TileKey[], generation: number, signal: AbortSignal):
      Promise<Tile[]> {
    return decodeTiles(await this.bytes('tiles', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({
        generation,
        tiles: keys.map(({row, level, index}) => [row, level, index]),
      }),
      signal,
    }));
  }
  // `limit` rows from `offset` on of one table, ordered by a column of it; `byReport`: the trace is read for them.
  aggregate(
      from: number, to: number,
      page: {table: string; column: string; down: boolean; offset: number; limit: number; where?: string; byReport?: boolean},
      signal?: AbortSignal): Promise<Aggregate> {
    const {table, column, down, offset, limit, where = '', byReport = false} = page;
    const rows = table === 'processes' ? `&first=${offset}&top=${limit}` : `&top=0&offset=${offset}&limit=${limit}`;
    return this.json(
        `aggregate?from=${Math.max(0, Math.round(from))}&to=${Math.max(0, Math.round(to))}&tables=${table}${rows}` +
            (byReport ? '&by=report' : '') + (column === '' ? '' : `&sort=${column}&order=${down ? 'descending' : 'ascending'}`) +
            (where === '' ? '' : `&where=${encodeURIComponent(where)}`),
        signal);
  }
  // `limit` records from a place on, or before it.
  events(place: EventPlace, forward: boolean, limit: number): Promise<EventPage> {
    return this.json(`events?t=${Math.max(0, place.t)}&nth=${place.nth}&dir=${
        forward ? 'next' : 'previous'}&limit=${limit}`);
  }
  // The heaviest processes of [from, to) and the sum of the others.
  heaviest(from: number, to: number, top: number): Promise<Aggregate> {
    return this.json(`aggregate?from=${Math.max(0, Math.floor(from))}&to=${Math.max(0, Math.floor(to))}&tables=processes&top=${top}`);
  }
  // With the first `top` threads by rank, and rates in the `window` before.
  state(at: number, top: number, window: number): Promise<InstantState> {
    return this.json(`state?t=${Math.max(0, Math.floor(at))}&top=${top}&window=${window}`);
  }
  // What is shown of each instant; those that did not fit are not there.
  async frames(times: readonly number[], request: FrameRequest): Promise<Frame[]> {
    const bytes = await this.bytes('frames', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({times, ...request}),
    });
    return (JSON.parse(new TextDecoder().decode(bytes)) as {frames: Frame[]}).frames;
  }
  // The next boundary, and the times of the `count` - 1 after it.
  step(at: number, forward: boolean, kind: StepKind, limit: StepLimit = {}, count = 1): Promise<StepAnswer> {
    const only = Object.entries(limit).map(([name, value]) => `&${name}=${value}`).join('');
    return this.json(`step?t=${Math.max(0, Math.floor(at))}&dir=${
        forward ? 'next' : 'previous'}&kind=${kind}${only}&count=${count}`);
  }

  // The next call of a hook, or its next hit; `times` has `count` of them.
  call(hook: number, at: number, forward: boolean, count = 1): Promise<StepAnswer> {
    return this.json(`step?t=${Math.max(0, Math.floor(at))}&dir=${
        forward ? 'next' : 'previous'}&hook=${hook}&count=${count}`);
  }
  // `lengths`: only the calls that take so long, in ns; its end is exclusive.
  durations(process: number, hook: number, from: number, to: number, lengths?: TimeSpan): Promise<Durations> {
    return this.json(`durations?process=${process}&hook=${hook}&from=${Math.max(0, Math.round(from))}&to=${
        Math.max(0, Math.round(to))}${lengths ? `&least_ns=${lengths.from}&most_ns=${lengths.to - 1}` : ''}`);
  }
  // The longest call of each segment.
  longest(): Promise<{total: number; items: LongestItem[]}> {
    return this.json('longest');
  }
  // A hook's hits, or the begins of its calls, by column.
  hits(hook: number, from: number, to: number, columns: number): Promise<{total: number; items: HitItem[]}> {
    return this.json(`hits?hook=${hook}&from=${Math.max(0, Math.floor(from))}&to=${Math.max(0, Math.ceil(to))}&columns=${columns}`);
  }
  source(hook: number): Promise<SourceAnswer> {
    return this.json(`source?hook=${hook}`);
  }
  // The report's call paths, or segments, in a range (null: in the whole trace), as a tree.
  callTree(
      range: TimeSpan|null, page: {by: 'path'|'segment'; where: string; offset: number; limit: number},
      signal: AbortSignal): Promise<CallTreeAnswer> {
    const {by, where, offset, limit} = page;
    return this.json(`calltree?by=${by}&${range ? `from=${Math.round(range.from)}&to=${Math.round(range.to)}&` : ''}offset=${offset}&limit=${limit}${
        where === '' ? '' : `&where=${encodeURIComponent(where)}`}`, signal);
  }
  // The functions of samples of a range (null: of the whole trace), of a process, of a thread (null: of all).
  // `event`: its number among the sampled ones.
  functions(of: Sampled, page: {event: number; column: string; down: boolean; offset: number; limit: number}, signal: AbortSignal): Promise<FunctionsAnswer> {
    const {event, column, down, offset, limit} = page;
    return this.json(`functions?${sampled(of)}event=${event}&sort=${column}&order=${down ? 'descending' : 'ascending'}&offset=${offset}&limit=${limit}`, signal);
  }
  // Their calls as a tree; `function`: where it begins, empty: whole stacks.
  sampleTree(of: Sampled, {event, callers, function: name}: {event: number; callers: boolean; function: string}, signal: AbortSignal): Promise<SampleTreeAnswer> {
    return this.json(`sample_tree?${sampled(of)}event=${event}&callers=${callers ? 1 : 0}&function=${encodeURIComponent(name)}`, signal);
  }
  // How many samples have a function in their stack, in columns of the whole trace; null: there are too many.
  sampleTimes(of: Sampled, {event, function: name, dso, columns}: {event: number; function: string; dso: string; columns: number},
              signal: AbortSignal): Promise<{columns: number[]|null}> {
    return this.json(`sample_times?${sampled(of)}event=${event}&function=${encodeURIComponent(name)}&dso=${encodeURIComponent(dso)}&columns=${columns}`, signal);
  }
  // How many samples of each thread are in so many columns of [from, to); null: there are too many, or none.
  sampleDensity(threads: readonly number[], from: number, to: number, columns: number, signal: AbortSignal):
      Promise<{threads: {thread: number; columns: number[]}[]|null}> {
    return this.json(`sample_density?threads=${threads.join(',')}&view_from=${Math.floor(from)}&view_to=${Math.ceil(to)}&columns=${columns}`, signal);
  }
  // Requests that touch a range (null: the whole trace), with so many calls each.
  requestRows(range: TimeSpan|null, page: {column: string; down: boolean; offset: number; limit: number; spans: number}, signal?: AbortSignal): Promise<RequestsAnswer> {
    const {column, down, offset, limit, spans} = page;
    return this.json(`requests?${range ? `from=${Math.round(range.from)}&to=${Math.round(range.to)}&` : ''}sort=${column}&order=${
        down ? 'descending' : 'ascending'}&offset=${offset}&limit=${limit}&spans=${spans}`, signal);
  }
  requestNamed(id: string, spans: number): Promise<RequestsAnswer> {
    return this.json(`requests?id=${encodeURIComponent(id)}&limit=1&spans=${spans}`);
  }
  trees(from: number, to: number, signal: AbortSignal): Promise<TreeAnswer> {
    return this.json(`trees?from=${Math.floor(from)}&to=${Math.ceil(to)}`, signal);
  }
  // The stacks of single samples of threads in [from, to); of a thread null: there are too many; of all: none.
  sampleStacks(threads: readonly number[], from: number, to: number, signal: AbortSignal): Promise<SampleStacksAnswer> {
    return this.json(`sample_stacks?threads=${threads.join(',')}&view_from=${Math.floor(from)}&view_to=${Math.ceil(to)}`, signal);
  }
  // One of the functions, line by line.
  annotate(of: Sampled, row: FunctionRow, signal: AbortSignal): Promise<ListingAnswer> {
    return this.json(`annotate?${sampled(of)}function=${encodeURIComponent(row.function)}&dso=${encodeURIComponent(row.dso)}`, signal);
  }
  compare(before: TimeSpan, after: TimeSpan, offset: number, limit: number, signal: AbortSignal): Promise<Comparison> {
    return this.json(
        `compare?before_from=${Math.round(before.from)}&before_to=${Math.round(before.to)}&from=${
            Math.round(after.from)}&to=${Math.round(after.to)}&offset=${offset}&limit=${limit}`,
        signal);
  }
  // The address of a table of the report, as a file. Requires: backend.hasTrace.
  csvAddress(table: string, range: TimeSpan|null): string {
    return `api/v1/csv?table=${table}${range ? `&from=${Math.round(range.from)}&to=${Math.round(range.to)}` : ''}`;
  }
  // Why a thread does not run; null: it does, or that is not known.
  async wait(thread: number, at: number): Promise<WaitAnswer|null> {
    const answer: WaitAnswer|{found: false} =
        await this.json(`wait?thread=${thread}&t=${Math.max(0, Math.floor(at))}`);
    return answer.found ? answer : null;
  }

  private async all<T>(name: string): Promise<T[]> {
    const items: T[] = [];
    for (let offset = 0;;) {
      const page = await this.json<Page<T>>(`${name}?offset=${offset}`);
      items.push(...page.items);
      if (page.next >= page.total || page.next <= offset) return items;
      offset = page.next;
    }
  }

  private async post<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
    const bytes = await this.bytes(path, {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body), ...(signal ? {signal} : {}),
    });
    return JSON.parse(new TextDecoder().decode(bytes)) as T;
  }
  private async json<T>(path: string, signal?: AbortSignal): Promise<T> {
    const bytes = await this.bytes(path, signal ? {signal} : {});
    return JSON.parse(new TextDecoder().decode(bytes)) as T;
  }

  private async bytes(path: string, init: RequestInit = {}):
      Promise<ArrayBuffer> {
    ++this.net.requests;
    try {
      const mark = path.includes('?') ? '&' : '?';
      const {status, body} = await this.backend.ask(`${path}${mark}index=${this.index}`, init);
      this.net.bytes += body.byteLength;
      if (status !== 200) {
        throw new ApiError(
            status,
            `${status} ${new TextDecoder().decode(body).slice(0, 300)}`, reasonIn(body));
      }
      return body;
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') {
        ++this.net.cancelled;
      } else {
        ++this.net.failed;
        if (isLost(error)) this.onLost();
      }
      throw error;
    }
  }
}

function reasonIn(body: ArrayBuffer): string {
  const text = new TextDecoder().decode(body);
  try {
    return String((JSON.parse(text) as {error?: unknown}).error ?? text);
  } catch {
    return text;
  }
}

// Which samples.
export interface Sampled {
  range: TimeSpan|null;
  process: number|null;
  thread: number|null;
}
function sampled({range, process, thread}: Sampled): string {
  return `${range ? `from=${Math.round(range.from)}&to=${Math.round(range.to)}&` : ''}${process === null ? '' : `process=${process}&`}${
      thread === null ? '' : `thread=${thread}&`}`;
}

export interface RowPage {
  top: number;
  also: readonly number[]; // numbers that are there whatever their rank
  where: string; // empty: all
}
function rowPage({top, also, where}: RowPage): string {
  return `&top=${top}${also.length > 0 ? `&also=${also.join(',')}` : ''}${
      where === '' ? '' : `&where=${encodeURIComponent(where)}`}`;
}

// The server is gone, or another one has its port, or it has another index.
export function isLost(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ApiError && (error.status === 401 || error.status === 410);
}

// A later comparison, of another page, took the place of this one.
export function isReplaced(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
