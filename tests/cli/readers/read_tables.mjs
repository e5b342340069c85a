// What DuckDB finds in files: rows, and the sum of each column of integers.
// usage: node read_tables.mjs FILE... > JSON
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
const found = {};
for (const file of process.argv.slice(2)) {
  // All rows decide on the types; else the first ones do.
  const from = file.endsWith('.csv')
    ? `read_csv('${file}', sample_size = -1)`
    : `read_json('${file}', format = 'newline_delimited', sample_size = -1)`;
  const columns = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${from}`);
  const integers = columns.getRowObjectsJson()
    .filter((column) => /^(U?(BIG|SMALL|TINY)INT|U?INTEGER|HUGEINT)$/.test(column.column_type))
    .map((column) => column.column_name);
  const sums = integers.map((name) => `, sum("${name}") AS "${name}"`).join('');
  const answer = await connection.runAndReadAll(`SELECT count(*) AS "#rows"${sums} FROM ${from}`);
  found[file] = answer.getRowObjectsJson()[0];
}
console.log(JSON.stringify(found));
