// Over a table: which of its rows the condition of the find box leaves.

import type {Aggregate} from '../api/schema';
import type {Core} from '../core/core';
import {tableOf} from './range_tables';
import {formatCount} from '../core/units';
import {useSignal} from '../core/use_signal';

export function ConditionNote({core, data, rows}: {core: Core; data: Aggregate; rows: number}) {
  const filter = useSignal(core.focus.filter);
  if (!data.unselected || filter === '') return null;
  const table = tableOf(data);
  const unselected = table === 'cpus' ? undefined : data.unselected[table];
  return (
    <p class="condition">
      {unselected ?
        <>{formatCount(rows)} of {formatCount(rows + unselected.rows)} rows are selected by <code>{filter}</code>, as by <code>report --where</code>.</> :
        <>All rows: they lack a field of <code>{filter}</code>.</>}
    </p>
  );
}
