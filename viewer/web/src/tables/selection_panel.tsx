// What is selected, in the panel: of a segment how long its calls took, of a
// wait why, of a dispatch or a hit which and when.

import {hookName, processName, threadName} from '../core/names';
import type {Selected} from '../core/selection';
import {formatDuration, formatInstant} from '../core/units';
import {useSignal} from '../core/use_signal';
import {DurationsPanel} from './durations_panel';
import type {Tables} from './tables';
import {WaitPanel} from './wait_panel';

export function SelectionPanel({tables}: {tables: Tables}) {
  const selected = useSignal(tables.core.selection.selected);
  switch (selected?.kind) {
    case 'segment': return <DurationsPanel tables={tables} />;
    case 'wait': return <WaitPanel core={tables.core} />;
    case 'dispatch':
    case 'hook': return <ItemPanel tables={tables} item={selected} />;
    default: return null;
  }
}

function ItemPanel({tables: {core: {names}}, item: {kind, thread, process, hook, from, to}}: {tables: Tables; item: Selected}) {
  if (thread === null) return null; // idle, or outside the command
  const of = process === null ? '' : `of ${processName(names, process)} ${names.process(process)?.pid ?? ''} `;
  return (
    <section class="wait" aria-label={kind === 'hook' ? 'Hit' : 'Dispatch'}>
      <h3>{hook === null ? threadName(names, thread) : hookName(names, hook)}</h3>
      <p>{kind === 'hook' ? `hit by ${threadName(names, thread)} ${of}at ${formatInstant(from, 1)}.` :
        `${of}is on a CPU for ${formatDuration(to - from)}, from ${formatInstant(from, 1)} on.`}</p>
    </section>
  );
}
