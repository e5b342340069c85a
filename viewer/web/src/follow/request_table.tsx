// The slowest requests of the range, and a box that goes to the one with an id.

import {useEffect, useRef, useState} from 'preact/hooks';

import type {RequestRow} from '../api/requests_schema';
import {limitsText} from '../core/limits';
import {clean} from '../core/names';
import {formatCount, formatDuration, formatInstant} from '../core/units';
import {useSignal} from '../core/use_signal';
import {type Column, DataTable, Pages} from '../tables/data_table';
import {NONE} from '../tables/report_columns';
import {qualityColumn} from '../tables/run_tables';
import type {Follow} from './follow';

type Numbers = 'duration_ns'|'on_cpu_ns'|'wait_ns'|'blocked_ns'|'between_ns'|'threads'|'calls';

function column(title: string, says: string, by: Numbers): Column<RequestRow> {
  const format = by.endsWith('_ns') ? formatDuration : formatCount;
  return {
    title, says, number: true, by,
    text: (row) => row[by] === null ? NONE : format(row[by]),
    limits: ({bounds}) => limitsText(bounds, by, format),
  };
}

export function RequestTable({follow}: {follow: Follow}) {
  const {tables: {ranges}} = follow;
  const join = useSignal(follow.join);
  const answer = useSignal(follow.answer);
  const refused = useSignal(follow.refused);
  const chosen = useSignal(follow.chosen);
  if (join === null) return <p class="refused">{refused ?? 'Nothing says which calls belong to one request: start `countrace view --join VALUE`, VALUE being what they have in common, as `arg0`.'}</p>;
  const columns: Column<RequestRow>[] = [
    {title: clean(join), says: 'The value that its calls have in common', number: false, by: 'id', text: ({id}) => clean(id)},
    {title: 'Begin', says: 'When its first call begins, since the trace began', number: true, by: 'begin_ns', text: (row) => formatInstant(row.begin_ns, 999)},
    column('Duration', 'From its first begin to its last end', 'duration_ns'),
    column('On CPU', 'All its calls together, in all threads, as the report has them', 'on_cpu_ns'),
    column('Wait', 'Its calls were runnable, and on no CPU', 'wait_ns'),
    ...(answer?.rows.every((row) => row.blocked_ns === null) ? [] : [column('Blocked', 'Its calls slept', 'blocked_ns')]),
    column('Between', 'None of its calls was open: it was in a queue, or in code without hooks', 'between_ns'),
    column('Threads', 'Threads that worked on it', 'threads'),
    column('Calls', 'Its calls and points, without those inside them', 'calls'),
    ...qualityColumn(answer?.rows ?? []),
  ];
  return (
    <>
      <div class="request-head">
        <RequestBox follow={follow} />
        {answer && <Pages from={ranges.offset} total={answer.total} what="Requests" />}
        {answer && <span class="faint">{notes(answer.without_value, answer.left_out, answer.lost).join(' ')}</span>}
      </div>
      {refused !== null && <p class="refused" role="alert">{refused}</p>}
      {answer && (
        <DataTable columns={columns} rows={answer.rows} ranges={ranges} rowKey={(row) => String(row.request)} arrows
                   current={chosen && String(chosen.request)} swatch={() => null} onClick={(row) => follow.show(row)} />
      )}
    </>
  );
}

function notes(withoutValue: number, leftOut: number, lost: number): string[] {
  return [
    ...(withoutValue > 0 ? [`${formatCount(withoutValue)} calls are in no request: they have no value, or began before the trace, and requests that had begun when those ended may have had them.`] : []),
    ...(leftOut > 0 ? [`${formatCount(leftOut)} calls were left out, beyond the first 1 048 576, or 64 MiB of values: join fewer hooks by a file.`] : []),
    ...(lost > 0 ? ['Records were lost: any request may have had more calls, so its numbers have limits.'] : []),
  ];
}

// Enter goes to the request with this id.
function RequestBox({follow}: {follow: Follow}) {
  const wantsFocus = useSignal(follow.wantsFocus);
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  useEffect(() => {
    if (!wantsFocus) return;
    follow.wantsFocus.value = false;
    input.current?.select();
  }, [follow, wantsFocus]);
  return (
    <input ref={input} class="request-box" type="text" value={text} placeholder="Go to a request  (G)" aria-label="Go to the request with this id"
           onInput={(event) => setText(event.currentTarget.value)}
           onKeyDown={(event) => {
             if (event.key !== 'Enter' && event.key !== 'Escape') return;
             event.stopPropagation();
             if (event.key === 'Enter' && text.trim() !== '') void follow.find(text.trim(), true);
             if (event.key === 'Escape') document.querySelector<HTMLElement>('.area')?.focus({preventScroll: true});
           }} />
  );
}
