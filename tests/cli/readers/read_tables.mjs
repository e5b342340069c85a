// What DuckDB finds in files: rows, the sum of each column of integers, the first
// row and the last.
// usage: node read_tables.mjs FILE... > JSON
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
const rows = async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson();
const found = {};
for (const file of process.argv.slice(2)) {
  // All rows decide on the types; else the first ones do.
  const from = file.endsWith('.csv')
    ? `read_csv('${file}', sample_size = -1)`
    : `read_json('${file}', format = 'newline_delimited', sample_size = -1)`;
  const sums = (await rows(`DESCRIBE SELECT * FROM ${from}`))
    .filter((column) => /^(U?(BIG|SMALL|TINY)INT|U?INTEGER|HUGEINT)$/.test(column.column_type))
    .map(({column_name: name}) => `, sum("${name}") AS "${name}"`).join('');
  [found[file]] = await rows(`SELECT count(*) AS "#rows"${sums} FROM ${from}`);
  const last = Number(found[file]['#rows']) - 1;
  if (last < 0) continue;
  [found[file]['#first']] = await rows(`SELECT * FROM ${from} LIMIT 1`);
  [found[file]['#last']] = await rows(`SELECT * FROM ${from} LIMIT 1 OFFSET ${last}`);
}
console.log(JSON.stringify(found));
