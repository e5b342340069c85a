#!/usr/bin/env python3
"""DuckDB and pandas read the tables of `countrace export`: the rows, and the sum
of each column of integers, are those of `report --format json`, and of `query`
for tables that no report has.

Usage: table_readers_test.py COUNTRACE DOC_TRACES SYNTHETIC_TRACE
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNTRACE = WRITER = SYNTHETIC = ""
READERS = pathlib.Path(__file__).parent / "readers"


def flat(value, prefix=""):
    """A row of JSON by the names that columns have."""
    out = {}
    for name, cell in value.items():
        if isinstance(cell, dict):
            out |= flat(cell, prefix + name + ".")
        else:
            out[prefix + name] = cell
    return out


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="countrace-readers-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        subprocess.run([WRITER], cwd=cls.folder, check=True)
        subprocess.run([SYNTHETIC, "big.ctf", "30000", "4", "200"], cwd=cls.folder,
                       check=True, capture_output=True)
        cls.types = {}
        cls.expected = {}  # by file: rows and sums
        for trace in ("web.ctf", "big.ctf"):
            for row in csv.DictReader(io.StringIO(cls.said(
                    "query", "--tables", "--format", "csv", trace))):
                cls.types.setdefault((trace, row["table"]), {})[
                    row["column"]] = row["type"]
            report = json.loads(cls.said("report", "--format", "json", trace))
            for table in ("threads", "segments", "cpus", "calls", "points", "counts"):
                cls.export(trace, table, report)

    @classmethod
    def said(cls, *words):
        return subprocess.run([COUNTRACE, *words], cwd=cls.folder, check=True,
                              stdin=subprocess.DEVNULL,
                              capture_output=True).stdout.decode()

    @classmethod
    def export(cls, trace, table, report):
        names = [name for name, of in cls.types[trace, table].items()
                 if of == "integer"]
        if table in report:
            rows = [flat(row) for row in report[table]]
            sums = {name: sum(row[name] or 0 for row in rows) for name in names
                    if rows and name in rows[0]}
            expected = {"#rows": len(rows)} | sums
        else:
            chosen = ", ".join(f'sum("{name}") AS "{name}"' for name in names)
            expected = json.loads(cls.said(
                "query", "--format", "json",
                f'SELECT count(*) AS "#rows", {chosen} FROM {table}', trace))["rows"][0]
        for form in ("csv", "jsonl"):
            file = cls.folder / f"{table}-{trace}.{form}"
            file.write_text(cls.said("export", "--to", form, "--table", table, trace))
            cls.expected[str(file)] = ({name: value or 0 for name, value in
                                        expected.items()}, names)

    def check(self, found):
        more_than_one = 0
        for file, (expected, _) in self.expected.items():
            more_than_one += expected["#rows"] > 1
            for name, value in expected.items():
                self.assertEqual(value, int(found[file].get(name) or 0), (file, name))
        self.assertGreater(more_than_one, 4)

    def test_duckdb(self):
        if not (READERS / "node_modules/@duckdb").exists():
            self.skipTest(f"SKIPPED: no DuckDB: (cd {READERS.name} && npm ci)")
        answer = subprocess.run(
            ["node", READERS / "read_tables.mjs", *self.expected], check=True,
            capture_output=True, text=True).stdout
        self.check(json.loads(answer))

    def test_pandas(self):
        try:
            import pandas  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("SKIPPED: no pandas (python3-pandas)")
        found = {}
        for file, (_, names) in self.expected.items():
            # A column of integers that has an absent one would be of doubles.
            if file.endswith(".csv"):
                table = pandas.read_csv(file, dtype=dict.fromkeys(names, "Int64"))
            else:
                with open(file, encoding="ascii") as lines:
                    table = pandas.DataFrame(map(json.loads, lines), dtype=object)
                table = table.astype({name: "Int64" for name in names
                                      if name in table.columns})
            found[file] = {name: int(table[name].sum()) for name in names
                           if name in table.columns} | {"#rows": len(table)}
        self.check(found)


if __name__ == "__main__":
    COUNTRACE, WRITER, SYNTHETIC = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
