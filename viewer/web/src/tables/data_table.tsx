// A table of the server's rows: sorted by its columns, a page at a time.

import type {Signal} from '@preact/signals-core';
import {useEffect, useRef} from 'preact/hooks';

import {type RangeTables, TABLE_ROWS} from './range_tables';
import {formatCount} from '../core/units';
import {useSignal} from '../core/use_signal';

export interface Column<Row> {
  title: string;
  says: string;
  number: boolean;
  by: string; // as the server names its order; empty: it has none
  text: (row: Row) => string;
  sum?(sums: object): string; // of numbers that add up
  limits?: (row: Row) => string; // what holds the truth; empty: it is exact
}

interface TableProps<Row> {
  rest?: string[]|null; // of the rows on other pages, together
  sum?: string[]; // a last row
  columns: Column<Row>[];
  rows: Row[];
  ranges: RangeTables;
  swatch: (row: Row) => string|null;
  rowKey: (row: Row) => string;
  current?: string|null; // key of the row that holds what is selected: it comes into view
  selected?: (row: Row) => boolean;
  isRest?: (row: Row) => boolean; // a sum, not an item
  onClick?: (row: Row) => void;
  arrows?: boolean; // the arrow keys go from row to row
  kind?: string; // a class
  group?: (row: Row) => string; // a line over the rows that have the same
  branch?: (row: Row) => Branch; // of a tree of rows
}
interface Branch {
  path: string;
  depth: number;
  open: boolean|null; // null: no rows are inside
}

export function DataTable<Row>({rest, sum, columns, rows, ranges, swatch, rowKey, current = null, selected, isRest, onClick, arrows, kind = '', group, branch}: TableProps<Row>) {
  const order = useSignal(ranges.order);
  const shown = useRef<HTMLTableRowElement>(null);
  const isThere = current !== null && rows.some((row) => rowKey(row) === current);
  useEffect(() => {
    if (isThere) shown.current?.scrollIntoView({block: 'nearest'});
  }, [current, isThere]);
  const sorted = (column: Column<Row>): 'ascending'|'descending'|'none' =>
      columns.find(({by}) => by === order.column) !== column ? 'none' : order.down ? 'descending' : 'ascending';
  // Limits have a column beside the number's, so that numbers stand in line.
  const wide = columns.map(({limits}) => limits !== undefined && rows.some((row) => limits(row) !== ''));
  const line = (texts: readonly string[]) => columns.flatMap((column, index) => [
    <td key={index} class={column.number ? 'number' : ''}>{texts[index] ?? ''}</td>,
    ...(wide[index] ? [<td key={`${index} limits`} class="limits" />] : []),
  ]);
  return (
    <table class={`data ${kind}`}>
      <thead><tr>
        {columns.flatMap((column, index) => [
          <th key={index} class={column.number ? 'number' : ''} title={column.says} aria-sort={sorted(column)}>
            {column.by !== '' ?
              <button onClick={() => ranges.orderBy(column.by, column.number)}>
                {column.title}<span class="arrow">{{ascending: '\u25b4', descending: '\u25be', none: ''}[sorted(column)]}</span>
              </button> : column.title === '' ? <span class="offscreen">Marks</span> : <span class="title">{column.title}</span>}
          </th>,
          ...(wide[index] ? [<th key={`${index} limits`}><span class="offscreen">Limits of {column.title}</span></th>] : []),
        ])}
      </tr></thead>
      <tbody>
        {rows.map((row, number) => {
          const at = branch?.(row);
          const before = rows[number - 1];
          const heading = group && (!before || group(before) !== group(row)) ? group(row) : null;
          const acts = onClick && !isRest?.(row) && at?.open !== null;
          return [
            heading !== null && <tr class="group" key={`over ${rowKey(row)}`}><th scope="rowgroup" colSpan={columns.length + wide.filter(Boolean).length}>{heading}</th></tr>,
            <tr key={rowKey(row)} ref={rowKey(row) === current ? shown : null} aria-expanded={at?.open ?? undefined}
                class={isRest?.(row) ? 'rest' : `${acts ? 'clickable' : ''} ${rowKey(row) === current || selected?.(row) ? 'selected' : ''}`}
                tabIndex={acts ? 0 : -1} onClick={() => at?.open !== null && onClick?.(row)}
                onKeyDown={(event) => {
                  if (event.key === 'Enter' && at?.open !== null) onClick?.(row);
                  if (arrows && moveTo(event.currentTarget, event.key)) {
                    event.preventDefault();
                    event.stopPropagation();
                  }
                }}>
              {columns.flatMap((column, index) => [
                <td key={index} class={column.number ? 'number' : ''} {...(at && index === 0 ? {title: at.path, style: {paddingLeft: `${12 + 14 * Math.min(at.depth, 24)}px`}} : {})}>
                  {at && index === 0 && <span class="twist">{at.open === null ? '' : at.open ? '\u25be' : '\u25b8'}</span>}
                  {index === 0 && swatch(row) !== null && <span class="swatch" style={{background: swatch(row) ?? ''}} />}
                  {column.text(row)}
                </td>,
                ...(wide[index] ? [<td key={`${index} limits`} class="limits">{column.limits?.(row)}</td>] : []),
              ])}
            </tr>,
          ];
        })}
        {rest && <tr class="rest">{line(rest)}</tr>}
      </tbody>
      {sum && <tfoot><tr>{line(sum)}</tr></tfoot>}
    </table>
  );
}

// The row above or below gets the keyboard. False: another key.
function moveTo(row: HTMLElement, key: string): boolean {
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return false;
  const next = key === 'ArrowUp' ? row.previousElementSibling : row.nextElementSibling;
  if (next instanceof HTMLElement && next.tabIndex >= 0) next.focus();
  return true;
}

// Which of the server's rows are shown, and the way to the others.
export function Pages({from, total, rows = TABLE_ROWS, what = 'Rows'}: {from: Signal<number>; total: number; rows?: number; what?: string}) {
  const offset = useSignal(from);
  if (total <= rows && offset === 0) return null;
  const go = (to: number): void => {
    from.value = Math.max(0, to);
  };
  return (
    <div class="pages">
      <span>{what} {formatCount(Math.min(offset + 1, total))} to {formatCount(Math.min(offset + rows, total))} of {formatCount(total)}.</span>
      <button disabled={offset === 0} onClick={() => go(offset - rows)}>Previous</button>
      <button disabled={offset + rows >= total} onClick={() => go(offset + rows)}>Next</button>
    </div>
  );
}
