#!/usr/bin/env python3
"""Programs that others wrote open what `countrace export` makes of real
recordings, and find what `report --format json` says: of each table its rows, the
sum of each column of integers, the first row and the last; of each profile the
amount of every stack. The recordings: recordings.KINDS with COUNTRACE_TEST_FULL=1,
else two of them.

README's table of formats is the list of the readers that found it so. The test
fails if it is not; COUNTRACE_UPDATE_GOLDEN=1 writes it. A reader that is not
installed keeps its place.

Usage: consumers_test.py SOURCE COUNTRACE REQUEST_PIPELINE PROCESS_STORM
                         UST_WORKLOAD [unittest options]. UST_WORKLOAD may be empty.
"""

import collections
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import perfetto_export_test as perfetto
from formats_table import OPENED, READERS, check_readme
from recordings import KINDS, Recordings

COUNTRACE = PIPELINE = STORM = UST = ""
# One sample of Firefox for each unit of the weight.
MOST_SAMPLES = 2_000_000


def installed(package):
    return (READERS / "node_modules" / package).exists()


def flat(row):
    """A row of the report's JSON by the names and in the texts of tables."""
    out = {}
    for name, cell in row.items():
        if name in ("bounds", "qualities"):
            continue
        if isinstance(cell, dict):
            out |= {f"{name}.{key}": value for key, value in flat(cell).items()}
        elif isinstance(cell, list):
            out[name] = " > ".join(
                f"{one['comm']} {one['on_cpu_ns']}" if isinstance(one, dict) else one
                for one in cell)
        else:
            out[name] = int(cell) if isinstance(cell, bool) else cell
    return out


def sums_of(rows):
    """Of the columns that hold integers alone, and of all of them."""
    sums = {"#rows": len(rows)}
    for name in rows[0]:
        cells = [row.get(name) for row in rows]
        if all(isinstance(cell, (int, type(None))) for cell in cells):
            sums[name] = sum(cell or 0 for cell in cells)
    return sums


def same(wanted, found):
    if wanted in (None, ""):
        return found in (None, "")
    if isinstance(wanted, (int, float)):
        return found is not None and type(wanted)(found) == wanted
    # DuckDB takes the text of an address for a number.
    return str(found) == wanted or (wanted.startswith("0x") and
                                    str(found) == str(int(wanted, 16)))


def output_of(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                          check=False, timeout=600, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[:3]}: {done.stdout}{done.stderr}")
    return done.stdout


def node(script, *arguments):
    return json.loads(output_of("node", READERS / script, *arguments))


def rows_of(database, sql):
    return json.loads(output_of("sqlite3", "-json", database, sql) or "[]")


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="countrace-consumers-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        names = KINDS if os.environ.get("COUNTRACE_TEST_FULL") == "1" else KINDS[:2]
        cls.made = {}  # by the first test that needs it
        cls.traces = Recordings(COUNTRACE, cls.folder, PIPELINE, STORM, UST).make(
            *names)
        cls.reports = {trace: json.loads(cls.said("report", "--format", "json", trace))
                       for trace in cls.traces}

    def setUp(self):
        if not self.traces:
            self.skipTest("SKIPPED: nothing could be recorded")

    @classmethod
    def said(cls, *words):
        done = subprocess.run([COUNTRACE, *words], cwd=cls.folder, timeout=240,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr.decode()}")
        return done.stdout.decode()

    def export(self, form, trace, *words, name=""):
        path = self.folder / f"{name or trace}.{form}"
        self.said("export", "--to", form, "--force", "-o", path.name, *words, trace)
        return path

    # ---- tables

    def tables(self, trace):
        """name -> rows of the report, as flat()."""
        report = self.reports[trace]
        found = {name: rows for name, rows in report.items()
                 if isinstance(rows, list) and rows and isinstance(rows[0], dict)
                 and name != "triggers"}
        if report["books"]:
            found["books"] = [{"event": event} | book
                              for event, book in report["books"].items()]
        return {name: [flat(row) for row in rows] for name, rows in found.items()}

    def table_files(self):
        """file -> rows of the report"""
        files = self.made.setdefault("tables", {})
        if files:
            return files
        for trace in self.traces:
            for table, rows in self.tables(trace).items():
                for form in ("csv", "jsonl"):
                    path = self.export(form, trace, "--table", table,
                                       name=f"{trace}-{table}")
                    files[str(path)] = rows
        return files

    def check_rows(self, where, rows, found):
        """`found`: #rows, sums by name, #first and #last row. Columns that hold
        nothing are absent."""
        sums = sums_of(rows)
        for name, wanted in sums.items():
            if name in found or wanted:
                self.assertEqual(wanted, int(found[name] or 0), (where, name))
        self.assertGreater(len(sums), 1, where)
        for at, row in (("#first", rows[0]), ("#last", rows[-1])):
            for name, cell in row.items():
                if name in found[at] or cell is not None:
                    self.assertTrue(same(cell, found[at].get(name)),
                                    (where, at, name, cell, found[at]))

    def test_sqlite_by_sqlite3(self):
        self.need("sqlite3")
        for trace in self.traces:
            ask = functools.partial(rows_of, self.export("sqlite", trace))
            for table, rows in self.tables(trace).items():
                columns = {row["name"] for row in ask(f"PRAGMA table_info({table})")}
                sums = ", ".join(f'sum("{name}") AS "{name}"' for name in sums_of(rows)
                                 if name in columns)
                (found,) = ask(f'SELECT count(*) AS "#rows", {sums} FROM {table}')
                (found["#first"],) = ask(f"SELECT * FROM {table} LIMIT 1")
                (found["#last"],) = ask(f"SELECT * FROM {table} LIMIT 1 "
                                        f"OFFSET {len(rows) - 1}")
                self.check_rows((trace, table), rows, found)
            OPENED["sqlite", "sqlite3"] += 1

    def test_csv_and_json_lines_by_duckdb(self):
        self.need_package("@duckdb/node-api")
        files = self.table_files()
        found = node("read_tables.mjs", *files)
        for file, rows in files.items():
            self.check_rows(file, rows, found[file])
            OPENED[file.split(".")[-1], "DuckDB"] += 1

    def test_csv_and_json_lines_by_pandas(self):
        try:
            import pandas  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("SKIPPED: no pandas (python3-pandas)")
        for file, rows in self.table_files().items():
            sums = [name for name in sums_of(rows) if name != "#rows"]
            # As text first: a column of integers with an absent one would be of
            # doubles.
            if file.endswith(".csv"):
                table = pandas.read_csv(file, dtype=str, keep_default_na=False,
                                        na_values=[""])
            else:
                with open(file, encoding="ascii") as lines:
                    table = pandas.DataFrame(map(json.loads, lines), dtype=object)
            found = {"#rows": len(table)} | {
                name: int(pandas.to_numeric(table[name]).astype("Int64").sum())
                for name in sums if name in table}
            table = table.astype(object).where(table.notna(), None)
            found |= {"#first": dict(table.iloc[0]), "#last": dict(table.iloc[-1])}
            self.check_rows(file, rows, found)
            OPENED[file.split(".")[-1], "pandas"] += 1

    # ---- profiles

    def weights(self, trace):
        """weight -> the processes' total, or None where parts of a process may be
        more than what is sure of it."""
        report = self.reports[trace]
        sure = not report["loss"]["discarded_events"] and trace != "killed.ctf"
        found = {}
        if any(row["on_cpu_ns"] for row in report["processes"]):
            found["on-cpu"] = sum(row["on_cpu_ns"] for row in report["processes"])
        for event, book in report["books"].items():
            if "scaled" not in book and book["processes"]:
                found[event] = sum(row["counts"].get(event) or 0
                                   for row in report["processes"])
        if not found and report.get("segments"):
            found["wall"] = None
        return {weight: total if sure else None for weight, total in found.items()}

    def profiles(self):
        """(trace, weight) -> stack -> amount, of folded, which is its own text."""
        found = self.made.setdefault("profiles", {})
        if found:
            return found
        for trace in self.traces:
            for weight, total in self.weights(trace).items():
                file = self.profile("folded", trace, weight)
                stacks = collections.Counter()
                for line in file.read_text().splitlines():
                    stack, amount = line.rsplit(" ", 1)
                    stacks[stack] += int(amount)
                self.assertTrue(stacks, file)
                if total is not None:
                    self.assertEqual(total, sum(
                        amount for stack, amount in stacks.items()
                        if not stack.startswith("[interrupts]")), file)
                found[trace, weight] = stacks
        return found

    def profile(self, form, trace, weight):
        return self.export(form, trace, "--weight", weight, name=f"{trace}-{weight}")

    def counted(self):
        """(trace, weight, stacks) whose unit is one, once for each trace."""
        seen = set()
        for (trace, weight), stacks in self.profiles().items():
            if trace not in seen and weight in ("page-faults", "context-switches"):
                seen.add(trace)
                yield trace, weight, stacks

    def test_pprof_by_pprof_format(self):
        self.need_package("pprof-format")
        files = {str(self.profile("pprof", *key)): stacks
                 for key, stacks in self.profiles().items()}
        found = node("read_profiles.mjs", *files)
        for file, stacks in files.items():
            self.assertEqual(2, len(found[file]["types"]), file)
            got = collections.Counter()
            for frames, (_, amount) in found[file]["stacks"]:
                got[";".join(frames)] += int(amount)
            self.assertEqual(+stacks, +got, file)
            OPENED["pprof", "pprof-format"] += 1

    def test_pprof_by_go(self):
        self.need("go")
        for key, stacks in self.profiles().items():
            said = output_of("go", "tool", "pprof", "-raw", self.profile("pprof", *key),
                             env=os.environ | {"HOME": str(self.folder)})
            samples = said[said.index("Samples:"):said.index("Locations")]
            self.assertEqual(stacks.total(), sum(
                int(amount) for amount in re.findall(r"(?m)^ *\d+ +(\d+):", samples)),
                key)
            OPENED["pprof", "`go tool pprof`"] += 1

    def test_callgrind_by_callgrind_annotate(self):
        self.need("callgrind_annotate")
        for key, stacks in self.profiles().items():
            said = output_of("callgrind_annotate", self.profile("callgrind", *key))
            self.assertIn(f"{stacks.total():,} (100.0%)  PROGRAM TOTALS", said, key)
            OPENED["callgrind", "callgrind_annotate"] += 1

    def test_folded_and_pprof_by_speedscope(self):
        self.need_package("speedscope")
        files = {}
        for (trace, weight), stacks in self.profiles().items():
            files[str(self.profile("folded", trace, weight))] = stacks
        for trace, weight, stacks in self.counted():
            files[str(self.profile("pprof", trace, weight))] = stacks
        self.assertTrue(any(file.endswith("pprof") for file in files))
        found = self.browser(*files)
        for file, stacks in files.items():
            own, whole = collections.Counter(), collections.Counter()
            for stack, amount in stacks.items():
                frames = stack.split(";")
                own[frames[-1]] += amount
                for frame in set(frames):
                    whole[frame] += amount
            # What is shown: "32,000 (71%)". One name may be in several files.
            got, got_whole = collections.Counter(), collections.Counter()
            for total, of_frame, name in found[file]:
                got[name] += int(of_frame.split()[0].replace(",", ""))
                got_whole[name] += int(total.split()[0].replace(",", ""))
            self.assertEqual(+own, +got, file)
            self.assertEqual(set(whole), set(got_whole), file)
            if file.endswith("folded"):
                self.assertEqual(whole, got_whole, file)
            OPENED[file.split(".")[-1], "speedscope"] += 1

    def test_folded_by_firefox(self):
        """It makes a sample for each unit of the weight, so times are too much."""
        self.need_package("@firefox-devtools/profiler-cli")
        environment = os.environ | {"PROFILER_CLI_SESSION_DIR": str(self.folder / "ff"),
                                    "PROFILER_CLI_LOAD_TIMEOUT_MS": "240000",
                                    "HOME": str(self.folder)}

        def cli(*words):
            return output_of(
                "node", READERS / "node_modules/@firefox-devtools/profiler-cli/dist"
                / "profiler-cli.js", *words, env=environment)
        for trace, weight, stacks in self.counted():
            if stacks.total() > MOST_SAMPLES:
                continue
            file = self.profile("folded", trace, weight)
            try:
                cli("load", file)
                found = json.loads(cli("thread", "samples", "--json"))
                functions = json.loads(cli("thread", "functions", "--json"))
            finally:
                cli("stop", "--all")
            self.assertEqual(stacks.total(), found["categoryBreakdown"]["totalSamples"],
                             file)
            own = collections.Counter()
            for stack, amount in stacks.items():
                own[stack.rsplit(";", 1)[-1]] += amount
            self.assertEqual(+own, +collections.Counter(
                {one["name"]: one["selfSamples"] for one in functions["functions"]}),
                file)
            OPENED["folded", "Firefox Profiler's CLI"] += 1

    # ---- the others

    def test_perfetto_by_protoc(self):
        self.need("protoc")
        perfetto.COUNTRACE = COUNTRACE
        perfetto.Exported.folder = self.folder
        perfetto.Exported.done = lambda _, *words: self.said(*words)
        for trace, wrong in perfetto.compare_each(self.traces):
            with self.subTest(trace=trace):
                self.assertIsNone(wrong, wrong)
                OPENED["perfetto", "protoc"] += 1

    def test_html_by_chromium(self):
        (trace, *_) = self.traces
        try:
            page = self.export("html", trace)
        except AssertionError as why:
            if "scripts/setup" not in str(why):
                raise
            self.skipTest("SKIPPED: built without the module of exported pages")
        shown = self.browser(page)[str(page)]
        of_trace = self.reports[trace]["trace"]
        self.assertEqual(of_trace["end_ns"] - of_trace["begin_ns"], shown["durationNs"])
        OPENED["html", "Chromium"] += 1

    def browser(self, *files):
        found = node("open_profiles.mjs", *files)
        if "missing" in found:
            self.skipTest(f"SKIPPED: {found['missing']}")
        return found

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"SKIPPED: no {program}")

    def need_package(self, package):
        if not installed(package):
            self.skipTest(f"SKIPPED: no {package} (scripts/setup --real)")


if __name__ == "__main__":
    COUNTRACE, PIPELINE, STORM = map(os.path.abspath, sys.argv[2:5])
    UST = sys.argv[5]
    done = unittest.main(argv=sys.argv[:1] + sys.argv[6:], exit=False)
    sys.exit(0 if done.result.wasSuccessful() and
             (len(sys.argv) > 6 or check_readme(sys.argv[1], COUNTRACE) == 0) else 1)
