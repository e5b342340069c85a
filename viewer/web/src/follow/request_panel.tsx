// The request that is followed, call by call: a click goes to one.

import {clean, hookName, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration} from '../core/units';
import {useSignal} from '../core/use_signal';
import {type Follow, MOST_SPANS} from './follow';

const MOST = 40;

export function RequestPanel({follow}: {follow: Follow}) {
  const {core} = follow;
  const row = useSignal(follow.chosen);
  useSignal(core.book);
  if (!row) return null;
  const spans = row.spans.slice(0, MOST);
  return (
    <section class="notes request" aria-label="Request">
      <h3>Request {clean(row.id)}: {formatDuration(row.duration_ns)}
        <button class="gone" aria-label={`Do not follow request ${clean(row.id)}`} onClick={() => follow.leave()}>{'\u00d7'}</button></h3>
      {row.lost && <p class="loss-note">Records were lost meanwhile: it may have had more calls.</p>}
      <ul>{spans.map((span, i) => (
        <li key={i}>
          <button class="link" title={`in ${threadName(core.names, span.thread)}`} onClick={() => {
            core.view.onJump();
            core.playback.moveTo(span.begin_ns);
            if (!core.view.holds(span.begin_ns)) core.view.centre(span.begin_ns);
            follow.take(row, span);
          }}><span class="when">+{formatDuration(span.begin_ns - row.begin_ns)}</span> <span class="swatch" style={{background: css(core.book.value.hook(span.hook))}} />
            {hookName(core.names, span.hook)} {span.point ? '' : formatDuration(span.end_ns - span.begin_ns)}</button>
        </li>
      ))}</ul>
      {row.spans.length >= MOST_SPANS && <p class="loss-note">Its lane, and the thread that comes into view, are of its first {formatCount(MOST_SPANS)} calls.</p>}
      {row.calls > spans.length && <p class="faint">and {formatCount(row.calls - spans.length)} more calls</p>}
    </section>
  );
}
