// What changed from one range to the other: the tables of `countrace diff`.

import type {ComparedSection} from '../api/schema';
import type {Compare} from './compare';
import {COMPARED_ROWS} from './compare';
import {formatCount, formatDuration, formatInstant} from '../core/units';
import {useSignal} from '../core/use_signal';

export function Section({title, section}: {title: string; section: ComparedSection}) {
  const columns = section.columns;
  return (
    <>
      <table class="data changes">
        <thead><tr>
          {columns.map((column, index) => (
            <th key={index} class={column.name ? '' : 'number'}><span class="title">{index === 0 ? title : column.title}</span></th>
          ))}
        </tr></thead>
        <tbody>
          {section.groups.map((group) => (
            <>
              {group.heading !== '' && <tr class="group"><th scope="rowgroup" colSpan={columns.length}>{group.heading}</th></tr>}
              {group.rows.map((cells) => (
                <tr key={cells[0]}>
                  {cells.map((cell, index) => <td key={index} class={columns[index]?.name ? '' : 'number'}>{cell}</td>)}
                </tr>
              ))}
            </>
          ))}
        </tbody>
      </table>
      {section.footers.map((footer) => <p class="footer" key={footer}>{footer}</p>)}
    </>
  );
}

export function ComparisonTable({compare}: {compare: Compare}) {
  const {core} = compare;
  const answer = useSignal(compare.answer);
  const before = useSignal(core.range.compared);
  const selection = useSignal(core.range.chosen);
  const offset = useSignal(compare.offset);
  if (!before) return null;
  const total = answer?.rows_total ?? 0;
  const go = (at: number): void => {
    compare.offset.value = Math.max(0, at);
  };
  return (
    <>
      <div class="pages">
        <span>
          Before: {formatDuration(before.to - before.from)} from {formatInstant(before.from, 999)}.
          {' '}After: {selection ? `${formatDuration(selection.to - selection.from)} from ${formatInstant(selection.from, 999)}` : 'select a range'}.
        </span>
        <button disabled={!selection} onClick={() => compare.swap()}>Swap</button>
        <button onClick={() => compare.end()}>End</button>
        {answer && <span>{formatCount(total)} call paths differ, {formatCount(answer.rows_equal)} are equal.</span>}
        {total > COMPARED_ROWS && (
          <>
            <span>Shown: {formatCount(offset + 1)} to {formatCount(Math.min(offset + COMPARED_ROWS, total))}.</span>
            <button disabled={offset === 0} onClick={() => go(offset - COMPARED_ROWS)}>Previous</button>
            <button disabled={offset + COMPARED_ROWS >= total} onClick={() => go(offset + COMPARED_ROWS)}>Next</button>
          </>
        )}
      </div>
      {answer && (
        <>
          <Section title="All processes" section={answer.totals} />
          <Section title="Call path, without the segments inside" section={answer.rows} />
          {answer.notes.map((note) => <p class="footer" key={note}>{note}</p>)}
        </>
      )}
    </>
  );
}
