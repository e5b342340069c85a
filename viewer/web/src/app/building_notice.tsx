// While the index is built: how much of the trace is shown. Of a recording that
// goes on: how far behind it the page is.

import type {Core} from '../core/core';
import {clean} from '../core/names';
import {isAtEnd} from './page_address';
import {formatDuration} from '../core/units';
import {useSignal} from '../core/use_signal';

export function BuildingNotice({core}: {core: Core}) {
  const growth = useSignal(core.extent.growth);
  const failure = useSignal(core.extent.failure);
  if (core.extent.isWhole) return <PartNotice core={core} />;
  if (failure !== null) {
    return (
      <div class="error" role="alert">
        <strong>{core.extent.isLive ? 'Not followed any more' : 'Only the first part'}</strong>
        <span>{clean(failure)}.</span>
      </div>
    );
  }
  if (core.extent.isLive) return <LiveNotice core={core} />;
  const read = growth.whole || growth.total === 0 ? 1 : growth.done / growth.total;
  const {recorded, readPercent, wholeNs} = core.extent;
  return (
    <div class="building" role="status">
      <strong>First part</strong>
      <span>
        Shown is the first {formatDuration(core.durationNs)}
        {recorded && ` of ${formatDuration(wholeNs)} (${readPercent} %)`}; the rest follows.
        {recorded && ' The strip below has what the kernel and, on top, hooks recorded of it, in bytes, and where records were lost.'}
      </span>
      <span class="faint">The index is built: {Math.floor(100 * read)} %</span>
    </div>
  );
}

// A page that was exported of a range.
function PartNotice({core}: {core: Core}) {
  const from = core.names.trace.part_from_ns;
  if (from === undefined) return null;
  return (
    <div class="building" role="status">
      <strong>Part</strong>
      <span>{formatDuration(core.durationNs)} from {formatDuration(from)} after the begin of the trace; times count from there.</span>
    </div>
  );
}

function LiveNotice({core}: {core: Core}) {
  const growth = useSignal(core.extent.growth);
  useSignal(core.playback.play);
  useSignal(core.view.viewport);
  const behind = Math.max(growth.duration_ns - core.durationNs, 0);
  const follows = isAtEnd(core);
  return (
    <div class="building live">
      <strong>{follows ? 'Live' : 'Recording'}</strong>
      {follows && growth.index === core.client.index && growth.late_ns !== null && (
        <span>as it was {formatDuration(Math.round(growth.late_ns / 1e8) * 1e8)} ago</span>
      )}
      {!follows && <span>{formatDuration(behind)} more since</span>}
      {!follows && <button type="button" onClick={() => (core.extent.goLive = true)}>Go to now</button>}
    </div>
  );
}
