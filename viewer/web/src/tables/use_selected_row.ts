// Re-renders a table when another of its rows holds what is selected.

import type {Aggregate} from '../api/schema';
import {useSignal} from '../core/use_signal';
import {selectedRow, type Table} from './selected_row';
import type {Tables} from './tables';

export function useSelectedRow({core: {selection}}: Tables, data: Aggregate, table: Table): string|null {
  const selected = useSignal(selection.selected);
  const wait = useSignal(selection.wait);
  return selected && selectedRow(data, table, selected, wait);
}
