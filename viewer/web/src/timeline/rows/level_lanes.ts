// The lanes of levels: where each was up. Pure.

import type {RowItem} from '../../api/schema';
import {hookName, type Names, processName, threadName} from '../../core/names';
import {formatCount} from '../../core/units';
import type {AddOfMachine} from './lane_parts';
import type {Tree} from './process_lanes';

const HEIGHT = 17;
const FEW_LEVELS = 4; // more fold by themselves

// The one that was up longest stands for all where they are folded.
export function addLevelLanes(names: Names, tree: Tree, add: AddOfMachine): void {
  const levels = names.rows.filter((row) => row.kind === 'level');
  const open = tree.levels ?? levels.length <= FEW_LEVELS;
  const hidden = names.trace.levels - (open ? levels.length : 1);
  for (const [at, row] of (open ? levels : levels.slice(0, 1)).entries()) {
    const more = at === 0 && hidden > 0 ? `, ${formatCount(hidden)} more levels` : '';
    add({
      id: `level${row.row}`, kind: 'level', label: hookName(names, row.depth), detail: `${levelOwner(names, row)}${more}`, owner: row.row,
      height: HEIGHT + 2, rows: [{row: row.row, kind: 'level', process: -1, hook: row.depth, y: 1, height: HEIGHT}],
      ...(at === 0 && levels.length > 1 ? {fold: {of: 'levels', open}} : {}),
    });
  }
}

function levelOwner(names: Names, {of, owner}: RowItem): string {
  return of === 'thread' ? `thread ${threadName(names, owner)}` :
      of === 'process' ? `process ${processName(names, owner)} ${names.process(owner)?.pid ?? ''}` : 'the machine';
}
