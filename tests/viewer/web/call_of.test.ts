import type {Client} from '../../../viewer/web/src/api/client';
import {callOf} from '../../../viewer/web/src/replay/stage';

// Begins of calls by hook, as the server has them: a step is strictly after.
const client = (begins: Record<number, number[]>) => ({
  hooks: () => Promise.resolve(Object.keys(begins).map((hook) => ({hook: Number(hook), name: 'server:handle'}))),
  hits: (hook: number, from: number, to: number) => Promise.resolve({total: (begins[hook] ?? []).filter((t) => t >= from && t < to).length, items: []}),
  call: (hook: number, at: number, _: boolean, count: number) => {
    const times = [...new Set(begins[hook])].filter((t) => t > at).slice(0, count);
    return Promise.resolve(times.length > 0 ? {found: true, times} : {found: false});
  },
}) as unknown as Client;

describe('the call of a number', () => {
  it('may begin where the trace does', async () => {
    const one = client({3: [0, 0, 7], 5: [4]});
    expect(await Promise.all([1, 2, 3, 4].map((number) => callOf(one, 'server:handle', number)))).toEqual([0, 4, 7, null]);
  });
  it('is one of those at its instant, of one hook and of several', async () => {
    const two = client({3: [2, 2, 8], 5: [2, 9]});
    expect(await Promise.all([1, 2, 3, 4].map((number) => callOf(two, 'server:handle', number)))).toEqual([2, 8, 9, null]);
    expect(await callOf(two, 'server:other', 1)).toBeNull();
  });
  it('is found behind many', async () => {
    const many = client({3: Array.from({length: 1000}, (_, i) => 10 * i)});
    expect(await Promise.all([1, 121, 500, 1000, 1001].map((number) => callOf(many, 'server:handle', number)))).toEqual([0, 1200, 4990, 9990, null]);
  });
});
