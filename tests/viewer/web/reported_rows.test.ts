import {ApiError} from '../../../viewer/web/src/api/client';
import type {Aggregate} from '../../../viewer/web/src/api/schema';
import {afterFailure, isThereSoon, readReport} from '../../../viewer/web/src/tables/reported_rows';

const failure = (status: number, reason = 'why') => new ApiError(status, `${status} ${reason}`, reason);
const final = {final: true} as Aggregate;
// Requests of which the first so many are replaced by another page's.
function asked(replaced: number) {
  const times: number[] = [];
  const ask = (): Promise<Aggregate> => {
    times.push(Date.now());
    return times.length > replaced ? Promise.resolve(final) : Promise.reject(failure(409));
  };
  return {times, ask};
}

describe('rows of the report', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('are requested again where another page took their place, three times', async () => {
    const {times, ask} = asked(3);
    const answer = readReport(ask, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await answer).toBe(final);
    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 300, 900, 2100]);
  });
  it('are given up where pages end each other\'s, and may be wanted again', async () => {
    const {times, ask} = asked(1000);
    const answer = readReport(ask, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await answer).toMatchObject({why: expect.stringMatching(/another page/), again: true});
    expect(times.length).toBe(4);
  });
  it('are not requested again by a page out of sight', async () => {
    const sight = Object.assign(new EventTarget(), {hidden: true});
    vi.stubGlobal('document', sight);
    const {times, ask} = asked(1);
    const answer = readReport(ask, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(times.length).toBe(1);
    sight.hidden = false;
    sight.dispatchEvent(new Event('visibilitychange'));
    expect(await answer).toBe(final);
  });
  it('are not waited for by a page out of sight that shows another range', async () => {
    vi.stubGlobal('document', Object.assign(new EventTarget(), {hidden: true}));
    const abort = new AbortController();
    const answer = readReport(asked(1).ask, abort.signal);
    const ended = expect(answer).rejects.toMatchObject({name: 'AbortError'});
    await vi.advanceTimersByTimeAsync(1000);
    abort.abort();
    await ended;
  });
  it('are there soon, or the index\'s are shown meanwhile', async () => {
    const late = new Promise<Aggregate>((done) => setTimeout(() => done(final), 1000));
    const soon = Promise.all([Promise.resolve(final), late, Promise.reject(failure(500)), Promise.resolve({why: 'too long'})].map(isThereSoon));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await soon).toEqual([true, false, false, false]);
  });
  it('are not read any more after a failure', () => {
    expect(afterFailure('reading', failure(500, 'The disk failed.\nIt did'))).toEqual({why: 'The disk failed', again: true});
    expect(afterFailure('reading', new SyntaxError('no JSON'))).toEqual({why: 'SyntaxError: no JSON', again: true});
    expect(afterFailure('report', failure(500))).toBe('report');
    // Another request has taken its place, or will.
    for (const error of [new DOMException('', 'AbortError'), new TypeError('no server'), failure(410)]) expect(afterFailure('reading', error)).toBe('reading');
  });
});
