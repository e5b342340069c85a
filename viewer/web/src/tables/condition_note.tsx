// Over a table: which of its rows the condition of the find box leaves.

import type {Aggregate} from '../api/schema';
import {tableOf} from './range_tables';
import {formatCount} from '../core/units';

// `condition`: what the rows of `data` were asked for, not what was typed since.
export function ConditionNote({condition, data, rows}: {condition: string; data: Aggregate; rows: number}) {
  if (!data.unselected || condition === '') return null;
  const table = tableOf(data);
  const unselected = table === 'cpus' ? undefined : data.unselected[table];
  return (
    <p class="condition">
      {unselected ?
        <>{formatCount(rows)} of {formatCount(rows + unselected.rows)} rows are selected by <code>{condition}</code>, as by <code>report --where</code>.</> :
        <>All rows: they lack a field of <code>{condition}</code>.</>}
    </p>
  );
}
