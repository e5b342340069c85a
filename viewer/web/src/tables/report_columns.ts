// Columns that the report has, too: their titles, units and meanings are its own
// (API.md, "trace"), their cells a row's numbers of that name. And sums of them.

import type {Aggregate, Bounds} from '../api/schema';
import type {Core} from '../core/core';
import {limitsText} from '../core/limits';
import {formatCount, formatDuration} from '../core/units';
import type {Column} from './data_table';

export const NONE = '\u2013';

// "wall_ns.incl" of a row. undefined: it has no such number; null: that is not known.
export function numberOf(row: object, name: string): number|null|undefined {
  let value: unknown = row;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null) break;
    value = (value as Record<string, unknown>)[part];
  }
  return value as number|null|undefined;
}

export function reported<Row extends object>(core: Core, table: string, name: string): Column<Row> {
  const {title, unit, meaning} = core.names.trace.columns?.[table]?.[name] ?? {title: name, unit: 'count', meaning: ''};
  const format = unit === 'ns' ? formatDuration : formatCount;
  const text = (row: object): string => {
    const value = numberOf(row, name);
    return value === undefined ? '' : value === null ? NONE : format(value);
  };
  return {
    title: title.replace(/^[a-z](?=[a-z])/, (letter) => letter.toUpperCase()), says: meaning, number: true, by: name, text, sum: text,
    limits: ({bounds}: {bounds?: Bounds}) => limitsText(bounds ?? {}, name, format),
  };
}

// The cells of a row of sums.
export function lineOf<Row>(columns: readonly Column<Row>[], name: string, sums: object): string[] {
  return columns.map((column, index) => index === 0 ? name : column.sum?.(sums) ?? '');
}

// What is left of sums without these rows; null: one of them is not known.
export function without<Sums>(sums: Sums, rows: readonly unknown[]): Sums {
  const rest = (of: unknown, parts: readonly unknown[]): unknown => {
    if (typeof of === 'number') return parts.every((part) => typeof part === 'number') ? parts.reduce<number>((left, part) => left - part, of) : null;
    if (Array.isArray(of)) return of.map((one, index) => rest(one, parts.map((part) => (part as unknown[]|null)?.[index])));
    if (typeof of !== 'object' || of === null) return of;
    return Object.fromEntries(Object.entries(of).map(
        ([name, one]) => [name, rest(one, parts.map((part) => (part as Record<string, unknown>|null)?.[name]))]));
  };
  return rest(sums, rows) as Sums;
}

// The last rows of a table: what the other pages have, and all.
export function footOf<Row>(columns: readonly Column<Row>[], data: Aggregate, table: 'segments'|'hooks'|'waits'): {rest?: string[]; sum?: string[]} {
  const sums = data.sums?.[table];
  if (!sums) return {};
  const rows = data[table] ?? [];
  const left = (data[`${table}_total`] ?? 0) - rows.length;
  return {
    ...(left > 0 ? {rest: lineOf(columns, `(${formatCount(left)} others)`, without<object>(sums, rows))} : {}),
    sum: lineOf(columns, data.unselected?.[table] ? 'All selected' : 'All', sums),
  };
}
