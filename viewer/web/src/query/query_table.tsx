// A text for SQL, and the rows of its answer.

import {useEffect, useMemo, useRef} from 'preact/hooks';

import {clean, visible} from '../core/names';
import {formatCount} from '../core/units';
import {useSignal} from '../core/use_signal';
import type {Query} from './query';

const MOST_ROWS = 500; // on the page

export function QueryTable({query}: {query: Query}) {
  const {core} = query;
  const sql = useSignal(query.sql);
  const answer = useSignal(query.answer);
  const refused = useSignal(query.refused);
  const busy = useSignal(query.busy);
  const wantsFocus = useSignal(query.wantsFocus);
  const range = useSignal(core.range.chosen);
  const text = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!wantsFocus) return;
    query.wantsFocus.value = false;
    text.current?.focus();
  }, [query, wantsFocus]);
  const numbers = useMemo(() => answer?.columns.map((_, column) => answer.rows.every((row) => /^-?[\d.e+]*$/.test(row[column] ?? ''))) ?? [], [answer]);
  const stale = busy || answer?.sql !== sql || answer.range?.from !== range?.from || answer.range?.to !== range?.to;
  return (
    <div class="query">
      <div class="query-head">
        <textarea ref={text} rows={2} spellcheck={false} value={sql} aria-label="SQL; Ctrl Enter runs it"
                  onInput={(event) => (query.sql.value = event.currentTarget.value)}
                  onKeyDown={(event) => {
                    if (event.key === 'Escape') document.querySelector<HTMLElement>('.area')?.focus({preventScroll: true});
                    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void query.run();
                    else return;
                    event.preventDefault();
                    event.stopPropagation();
                  }} />
        <button class="run" title="Ctrl Enter" onClick={() => void query.run()}>Run</button>
        <span class="faint">{busy ? 'reads the trace\u2026' : `One SELECT of ${range ? 'the selection' : `the ${core.extent.name}`}, as by countrace query; at most 10 s and 256 MiB. countrace query --tables lists tables and columns.`}</span>
      </div>
      {refused !== null && <p class="refused" role="alert">{visible(refused)}</p>}
      {answer && (
        <>
          <table class={stale ? 'data stale' : 'data'}>
            <thead><tr>{answer.columns.map((name, column) => <th key={column} class={numbers[column] ? 'number' : ''}><span class="title">{clean(name)}</span></th>)}</tr></thead>
            <tbody>{answer.rows.slice(0, MOST_ROWS).map((row, index) => (
              <tr key={index}>{row.map((cell, column) => <td key={column} class={numbers[column] ? 'number' : ''}>{clean(cell)}</td>)}</tr>
            ))}</tbody>
          </table>
          <p class="footer">{formatCount(answer.rows.length)} rows{answer.cut ? ', and more: the answer has at most 1 MiB' : ''}
            {answer.rows.length > MOST_ROWS ? `; the first ${formatCount(MOST_ROWS)} are shown` : ''}{stale && !busy ? ', of another statement or selection' : ''}. {visible(answer.said)}</p>
        </>
      )}
    </div>
  );
}
