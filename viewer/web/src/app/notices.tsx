// Notices that the user must see: loss, failures, the list of keys.

import {useEffect, useRef} from 'preact/hooks';

import type {Core} from '../core/core';
import {reload} from '../core/frame';
import {COMMANDS} from '../core/keymap';
import {clean} from '../core/names';
import {formatCount} from '../core/units';
import {useSignal} from '../core/use_signal';

// Always visible when anything was lost: numbers without it would mislead.
export function QualityBanner({core}: {core: Core}) {
  const trace = core.names.trace;
  const loss = trace.loss;
  const parts: string[] = [];
  if (loss && !loss.complete) parts.push(clean(loss.text));
  if (loss && parts.length === 0 && loss.intervals > 0) {
    parts.push(`${formatCount(loss.intervals)} intervals in which records are missing`);
  }
  const bent = trace.oddities ?
      Object.values(trace.oddities).reduce((sum, count) => sum + count, 0) : 0;
  if (bent > 0) parts.push(`${formatCount(bent)} spans moved to fit their row`);
  if (parts.length === 0) return null;
  return (
    <div class="quality" role="status">
      <strong>Loss</strong>
      <span>{parts.join('; ')}.</span>
      {loss && loss.intervals > 0 && <span class="faint">Marked red on the timeline.</span>}
      {loss?.messages[0] && <span class="faint message" title={loss.messages.map(clean).join('\n')}>{clean(loss.messages[0])}</span>}
    </div>
  );
}

export function LostPanel({core}: {core: Core}) {
  if (!useSignal(core.requests.lost)) return null;
  return (
    <div class="error lost" role="alert">
      <strong>The server is gone</strong>
      <span>Start countrace view on this trace again: this page then goes on where it is.</span>
    </div>
  );
}

export function ErrorPanel({core}: {core: Core}) {
  const error = useSignal(core.requests.error);
  if (error === null) return null;
  return (
    <div class="error" role="alert">
      <strong>A request failed</strong>
      <span>{error}</span>
      <button onClick={reload}>Reload</button>
      <button onClick={() => (core.requests.error.value = null)}>Dismiss</button>
    </div>
  );
}

export function HelpDialog({core}: {core: Core}) {
  const open = useSignal(core.page.helpOpen);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    if (open && !element.open) element.showModal();
    else if (!open && element.open) element.close();
  }, [open]);
  return (
    <dialog class="help" ref={dialog} aria-label="Keys" onClose={() => (core.page.helpOpen.value = false)}
            onClick={(event) => {
              if (event.target === dialog.current) core.page.helpOpen.value = false;
            }}>
      <h2>Keys</h2>
      <dl>
        {COMMANDS.map((command) => (
          <div key={command.id}>
            <dt>{command.keys.split(' ').map((key, index) => <kbd key={index}>{key}</kbd>)}</dt>
            <dd>{command.says}</dd>
          </div>
        ))}
      </dl>
      <p class="faint">Drag on the rows selects a range. A click sets the playhead and selects what is there. Drag on the time axis scrubs. Double-click fits what is under the pointer.</p>
      <button onClick={() => (core.page.helpOpen.value = false)}>Close</button>
    </dialog>
  );
}

export function LiveRegion({core}: {core: Core}) {
  const text = useSignal(core.page.announcement);
  return <div class="offscreen" role="status" aria-live="polite">{text}</div>;
}
