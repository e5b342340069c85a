// While the index is built: how much of the trace is shown. What is not yet
// there is hatched, never empty.

import type {AppModel} from '../model/app_model';
import {clean} from '../model/names';
import {formatDuration} from '../units';
import {useSignal} from './use_signal';

export function BuildingNotice({model}: {model: AppModel}) {
  const growth = useSignal(model.growth);
  const failure = useSignal(model.buildFailure);
  if (model.isWhole) return null;
  if (failure !== null) {
    return (
      <div class="error" role="alert">
        <strong>Only the first part</strong>
        <span>{clean(failure)}.</span>
      </div>
    );
  }
  const read = growth.whole || growth.total === 0 ? 1 : growth.done / growth.total;
  const shown = growth.trace_ns === null ? null : Math.min(model.durationNs / growth.trace_ns, 1);
  return (
    <div class="building" role="status">
      <strong>First part</strong>
      <span>
        Shown is the first {formatDuration(model.durationNs)}
        {growth.trace_ns !== null && ` of ${formatDuration(growth.trace_ns)}`}; the rest follows.
      </span>
      {shown !== null && (
        <span class="extent" title="hatched: not yet there"><span style={{width: `${100 * shown}%`}} /></span>
      )}
      <span class="faint">The index is built: {Math.floor(100 * read)} %</span>
    </div>
  );
}
