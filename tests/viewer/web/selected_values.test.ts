import type {EventItem} from '../../../viewer/web/src/api/schema';
import {valuesAt} from '../../../viewer/web/src/timeline/selected_values';

const item = (t: number, event: string, fields: EventItem['fields'], tid?: number): EventItem =>
  ({t, nth: 0, event, fields, ...(tid === undefined ? {cpu: 0} : {pid: 1, tid})});

describe('the values of the selected call', () => {
  const items = [
    item(5, 'syscall:openat__enter', {tid: 7, pid: 7, number: 257, page_faults: 3, filename: '/early'}),
    item(9, 'syscall:openat__exit', {tid: 7, pid: 7, number: 257, ret: 3}),
    item(9, 'syscall:openat__enter', {tid: 8, pid: 8, number: 257, filename: '/other'}),
    item(9, 'syscall:openat__enter', {tid: 7, pid: 7, number: 257, page_faults: 3, filename: '/etc/\u202epasswd', flags: 0}),
    item(9, 'server:size', {mmcr: 0, present: 1, arg0: 12}, 8),
  ];
  it('are those of its enter, without whose it is and what was counted', () => {
    expect(valuesAt(items, 9, 'syscall:openat', 7, ['page-faults'])).toEqual(['filename: /etc/\u00b7passwd', 'flags: 0']);
  });
  it('are those of a hit', () => {
    expect(valuesAt(items, 9, 'server:size', 8, [])).toEqual(['arg0: 12']);
  });
  it('are none where no record is at its begin', () => {
    expect(valuesAt(items, 8, 'syscall:openat', 7, [])).toEqual([]);
  });
});
