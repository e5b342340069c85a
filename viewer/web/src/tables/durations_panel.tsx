// How long the calls of the selected segment took: quantiles with the way to a
// call of each, and a histogram. A drag in it, or its bars by key, choose calls.

import {useState} from 'preact/hooks';

import type {TimedCall} from '../api/schema';
import type {Tables} from './tables';
import {hookName, processName, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration, formatInstant} from '../core/units';
import {theme} from '../core/theme';
import {useSignal} from '../core/use_signal';

export function DurationsPanel({tables}: {tables: Tables}) {
  const {core} = tables;
  const durations = useSignal(core.selection.durations);
  const lengths = useSignal(core.selection.lengths);
  const call = useSignal(core.selection.selected);
  const [drag, setDrag] = useState<[number, number]|null>(null); // buckets
  useSignal(theme);
  if (!durations) return null;
  const {names} = core;
  const {buckets} = durations;
  const most = Math.max(1, ...buckets.map((bucket) => bucket.calls));
  const shown = lengths?.calls ?? durations;
  const quantiles: [string, TimedCall|null][] = [
    ['shortest', shown.min], ['median', shown.p50], ['99 %', shown.p99], ['longest', shown.max],
  ];
  const colour = css(core.book.value.hook(durations.hook));
  const first = drag && Math.min(...drag);
  const last = drag && Math.max(...drag);
  const isChosen = (index: number): boolean => first !== null && last !== null ? first <= index && index <= last :
      !lengths || lengths.span.from <= (buckets[index]?.from_ns ?? 0) && (buckets[index]?.to_ns ?? 0) <= lengths.span.to;
  const choose = (a: number, b: number): void => {
    const from = buckets[Math.min(a, b)]?.from_ns;
    const to = buckets[Math.max(a, b)]?.to_ns;
    if (from !== undefined && to !== undefined) void core.selection.filterDurations({from, to});
  };
  const bucketAt = (event: PointerEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const index = Math.floor((event.clientX - box.left) / box.width * buckets.length);
    return Math.min(Math.max(index, 0), buckets.length - 1);
  };
  return (
    <section class="wait durations" aria-label="Durations">
      <h3>{hookName(names, durations.hook)}</h3>
      <p>{formatCount(durations.calls)} calls begin in the range, in {processName(names, durations.process)}{' '}
        {names.process(durations.process)?.pid}.</p>
      {call && call.thread !== null && <p class="call">Selected: {formatDuration(call.to - call.from)} of {threadName(names, call.thread)}, from {formatInstant(call.from, 1)} on.</p>}
      <div class="columns" role="group" aria-label="Histogram of durations; drag to choose calls"
           onPointerDown={(event) => {
             event.currentTarget.setPointerCapture(event.pointerId);
             setDrag([bucketAt(event), bucketAt(event)]);
           }}
           onPointerMove={(event) => drag && setDrag([drag[0], bucketAt(event)])}
           onPointerUp={() => {
             if (drag) choose(...drag);
             setDrag(null);
           }}
           onPointerCancel={() => setDrag(null)}>
        {buckets.map((bucket, index) => (
          <button key={bucket.from_ns} class="bucket" aria-pressed={lengths !== null && isChosen(index)}
                  aria-label={`${formatDuration(bucket.from_ns)} to ${formatDuration(bucket.to_ns)}: ${formatCount(bucket.calls)}`}
                  title={`${formatDuration(bucket.from_ns)} to ${formatDuration(bucket.to_ns)}: ${formatCount(bucket.calls)}`}
                  onKeyDown={(event) => {
                    if (event.key === 'Enter' || event.key === ' ') choose(index, index);
                  }}>
            <span style={{height: `${bucket.calls === 0 ? 0 : Math.max(bucket.calls / most * 100, 3)}%`, background: colour,
                          opacity: isChosen(index) ? 1 : 0.3}} />
          </button>
        ))}
      </div>
      {buckets.length > 0 && <div class="ends">
        <span>{formatDuration(buckets[0]?.from_ns ?? 0)}</span><span>{formatDuration(buckets.at(-1)?.to_ns ?? 0)}</span>
      </div>}
      {lengths && (
        <p class="chosen">{formatCount(lengths.calls.calls)} calls of {formatDuration(lengths.span.from)} to {formatDuration(lengths.span.to)}
          {' '}<button class="link" onClick={() => void core.selection.filterDurations(null)}>all</button></p>
      )}
      <table><tbody>
        {quantiles.map(([name, call]) => call && (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{formatDuration(call.end_ns - call.begin_ns)}</td>
            <td><button class="link" aria-label={`Show the ${name} call`} onClick={() => tables.showCall(call)}>show</button></td>
          </tr>
        ))}
      </tbody></table>
    </section>
  );
}
