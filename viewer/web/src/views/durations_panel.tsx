// How long the calls of the selected segment took: quantiles with the way to a
// call of each, and a histogram.

import type {TimedCall} from '../api/schema';
import type {AppModel} from '../model/app_model';
import {hookName, processName} from '../model/names';
import {css} from '../render/palette';
import {formatCount, formatDuration} from '../units';
import type {TimelineEngine} from './timeline_engine';
import {theme} from './theme';
import {useSignal} from './use_signal';

export function DurationsPanel({model, engine}: {model: AppModel; engine: TimelineEngine}) {
  const durations = useSignal(model.durations);
  useSignal(theme);
  if (!durations) return null;
  const {names} = model;
  const {buckets} = durations;
  const most = Math.max(1, ...buckets.map((bucket) => bucket.calls));
  const quantiles: [string, TimedCall|null][] = [
    ['shortest', durations.min], ['median', durations.p50], ['99 %', durations.p99], ['longest', durations.max],
  ];
  const colour = css(engine.book.hook(durations.hook));
  return (
    <section class="wait durations" aria-label="Durations">
      <h3>{hookName(names, durations.hook)}</h3>
      <p>{formatCount(durations.calls)} calls begin in the range, in {processName(names, durations.process)}{' '}
        {names.process(durations.process)?.pid}.</p>
      <div class="columns" role="img" aria-label="Histogram of durations">
        {buckets.map((bucket) => (
          <span key={bucket.from_ns} title={`${formatDuration(bucket.from_ns)} to ${formatDuration(bucket.to_ns)}: ${formatCount(bucket.calls)}`}
                style={{height: `${bucket.calls === 0 ? 0 : Math.max(bucket.calls / most * 100, 3)}%`, background: colour}} />
        ))}
      </div>
      {buckets.length > 0 && <div class="ends">
        <span>{formatDuration(buckets[0]?.from_ns ?? 0)}</span><span>{formatDuration(buckets.at(-1)?.to_ns ?? 0)}</span>
      </div>}
      <table><tbody>
        {quantiles.map(([name, call]) => call && (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{formatDuration(call.end_ns - call.begin_ns)}</td>
            <td><button class="link" aria-label={`Show the ${name} call`} onClick={() => model.showCall(call)}>show</button></td>
          </tr>
        ))}
      </tbody></table>
    </section>
  );
}
