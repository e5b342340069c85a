// The trace's records from the playhead on, as `countrace script` prints them.
// While it plays they pass by with it. A click moves the playhead to a record.

import {useEffect, useRef} from 'preact/hooks';

import type {EventItem} from '../api/schema';
import type {Tables} from './tables';
import {clean} from '../core/names';
import {formatInstant} from '../core/units';
import {useSignal} from '../core/use_signal';

function fields(item: EventItem): string {
  return Object.entries(item.fields).map(([name, value]) => `${clean(name)}=${clean(String(value))}`).join('  ');
}

export function EventsTable({tables}: {tables: Tables}) {
  const {core} = tables;
  const page = useSignal(tables.records.shown);
  const play = useSignal(core.playback.play);
  const at = Math.floor(play.at);
  const current = useRef<HTMLTableRowElement>(null);
  const items = page?.items ?? [];
  // While it plays, the last record so far.
  const reached = play.playing ? items.filter((item) => item.t <= at).length - 1 : -1;
  useEffect(() => current.current?.scrollIntoView({block: 'nearest'}), [reached, page]);
  if (!page) return null;
  return (
    <>
      <div class="pages">
        <span>Records from {page.items[0] ? formatInstant(page.items[0].t, 1) : 'the playhead'} on.</span>
        <button onClick={() => void tables.records.turn(false)}>Earlier</button>
        <button disabled={!page.more} onClick={() => void tables.records.turn(true)}>Later</button>
      </div>
      <table class="data events">
        <thead><tr>
          {['Time', 'Where', 'Record', 'Fields'].map((title) => <th key={title}><span class="title">{title}</span></th>)}
        </tr></thead>
        <tbody>
          {items.map((item, index) => (
            <tr key={`${item.t}/${item.nth}`} ref={index === reached ? current : null} tabIndex={0}
                class={`clickable ${(play.playing ? index === reached : item.t === at) ? 'selected' : ''}`}
                onClick={() => core.playback.moveTo(item.t)}
                onKeyDown={(event) => {
                  if (event.key === 'Enter') core.playback.moveTo(item.t);
                }}>
              <td class="number">{formatInstant(item.t, 1)}</td>
              <td>{item.cpu !== undefined ? `CPU ${item.cpu}` : `${item.pid}/${item.tid}`}</td>
              <td>{clean(item.event)}</td>
              <td class="fields">{fields(item)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
