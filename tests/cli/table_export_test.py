#!/usr/bin/env python3
"""countrace export --to sqlite, csv, jsonl and countrace query: what foreign
readers (python's sqlite3, csv, json) find is what `report --format json` says,
row by row and digit for digit; what is refused leaves nothing.

The traces: those of doc_traces, a synthetic one, and recordings of
request_pipeline: its hooks alone; if the machine lets us, everything, with
samples, with losses, the newest part, a snapshot, that of a killed recorder, a
perf.data; and one of LTTng-UST.

Usage: table_export_test.py COUNTRACE DOC_TRACES SYNTHETIC_TRACE REQUEST_PIPELINE
                            UST_WORKLOAD [unittest options]. UST_WORKLOAD may be
                            empty.
"""

import concurrent.futures
import csv
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from recordings import OPTIONS, TELLING, Recordings

COUNTRACE = WRITER = SYNTHETIC = PIPELINE = UST = ""
SPIN = """
#include <unistd.h>
static inline __attribute__((always_inline)) unsigned add(unsigned total) {
  return total * 3 + 1;
}
__attribute__((noinline)) unsigned spin(unsigned times) {
  unsigned total = 0;
  for (unsigned i = 0; i < times; ++i) {
    total += add(i ^ total);
  }
  return total;
}
int main(void) {
  unsigned total = 0;
  for (int i = 0; i < 50; ++i) total += spin(10000000) + (unsigned)getppid();
  return total == 1;
}
"""
STREAMED = ["dispatches", "calls", "points", "waits", "wakeups", "counts", "losses",
            "samples", "frames", "meta"]


def run(*words, folder, **options):
    return subprocess.run([COUNTRACE, *map(str, words)], cwd=folder,
                          capture_output=True, check=False, timeout=120,
                          stdin=subprocess.DEVNULL, **options)


def flat(value, prefix=""):
    """A row of JSON by the names that columns have."""
    out = {}
    for name, cell in value.items():
        if isinstance(cell, dict):
            out |= flat(cell, prefix + name + ".")
        else:
            out[prefix + name] = cell
    return out


def as_sql(cell):
    if isinstance(cell, list):
        return " > ".join(cell)
    return int(cell) if isinstance(cell, bool) else cell


class Tables(unittest.TestCase):
    """`self.trace` in `self.folder`."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="countrace-tables-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        subprocess.run([WRITER], cwd=cls.folder, check=True)
        subprocess.run([SYNTHETIC, "big.ctf", "300000", "4", "200"],
                       cwd=cls.folder, check=True, capture_output=True)

    def done(self, *words, **options):
        """What a command that works prints."""
        finished = run(*words, folder=self.folder, **options)
        self.assertEqual(0, finished.returncode, (words, finished.stderr))
        if not set(words) & set(TELLING):
            self.assertEqual(b"", finished.stderr, words)
        return finished.stdout.decode()

    def database(self, trace, *words):
        file = f"{trace}.db"
        self.done("export", "--to", "sqlite", "--force", "-o", file, *words, trace)
        database = sqlite3.connect(self.folder / file, check_same_thread=False)
        self.addCleanup(database.close)
        database.row_factory = sqlite3.Row
        return database

    def traces(self):
        found = sorted(path.name for path in self.folder.iterdir()
                       if path.suffix == ".ctf" or path.name in TELLING)
        self.assertIn("web.ctf", found)
        return found

    def each_trace(self, check):
        """As many at a time as there are CPUs."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(check, self.traces()))


class AsReported(Tables):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Recordings(COUNTRACE, cls.folder, PIPELINE, ust=UST).make(
            *OPTIONS, "snapshot.ctf", *TELLING)

    def test_views_are_the_tables_of_the_report(self):
        self.each_trace(lambda trace: self.views_are_the_tables(trace, (), ()))

    def test_a_part_has_the_tables_of_its_report(self):
        for trace in self.traces():
            first, last = self.extent(trace)
            edges = [str(first + (last - first) * part // 7) for part in (2, 5)]
            words = ("--from", edges[0], "--until", edges[1])
            self.views_are_the_tables(
                trace, ("--from", edges[0], "--to", edges[1]), words)

    def extent(self, trace):
        meta = dict(line for line in csv.reader(io.StringIO(
            self.done("export", "--to", "csv", "--table", "meta", trace))))
        return int(meta["begin_ns"]), int(meta["end_ns"])

    def views_are_the_tables(self, trace, of_report, of_export):
        report = json.loads(self.done("report", "--format", "json", *of_report,
                                      trace))
        database = self.database(trace, *of_export)
        names = [name for name, rows in report.items()
                 if isinstance(rows, list) and rows and isinstance(rows[0], dict)
                 and name not in ("triggers",)]
        # A killed recorder may have nothing on disk yet, and a part no records.
        if not of_report and trace != "killed.ctf":
            self.assertIn("threads", names)
        for table in names:
            self.compare(database, table, report[table], trace)
        self.compare(database, "books",
                     [{"event": event} | book
                      for event, book in report["books"].items()], trace)

    def compare(self, database, table, expected, trace):
        view = table if table == "books" else "report_" + table
        try:
            rows = database.execute(f"SELECT * FROM {table}").fetchall()
            shown = database.execute(f"SELECT * FROM {view}").fetchall()
        except sqlite3.OperationalError:
            shown = rows = database.execute(f"SELECT * FROM {table}").fetchall()
        self.assertEqual(len(expected), len(rows), (trace, table))
        for wanted, row, seen in zip(expected, rows, shown):
            bounds = wanted.pop("bounds", {})
            qualities = wanted.pop("qualities", None)
            row = dict(row)
            for name, cell in flat(wanted).items():
                if isinstance(cell, list) and cell and isinstance(cell[0], dict):
                    cell = " > ".join(f"{one['comm']} {one['on_cpu_ns']}"
                                      for one in cell)
                if name in dict(seen):
                    self.assertEqual(as_sql(cell), seen[name], (trace, table, name))
                    self.assertEqual(as_sql(cell), row[name])
                elif table != "books" or not name.startswith(("scaled", "doubt")):
                    # A group of absent cells is one null.
                    self.assertIsNone(cell, (trace, table, name))
            for name, (low, high) in bounds.items():
                self.assertEqual((low, high), (row[name + ".lo"], row[name + ".hi"]),
                                 (trace, table, name))
            exact = [name for name in row if name.endswith(".lo")
                     and name[:-3] in row and name[:-3] not in bounds
                     and not name.startswith("probes_ns")]
            for name in exact:
                self.assertEqual(row[name[:-3]], row[name], (trace, table, name))
            if "qualities" in row:
                self.assertEqual(qualities and ",".join(qualities), row["qualities"])

    def test_what_happened_adds_up_to_the_books(self):
        def check(trace):
            first, last = self.extent(trace)
            edges = [str(first + (last - first) * part // 9) for part in (2, 6)]
            self.adds_up(trace, 0, (), ())
            self.adds_up(trace, int(edges[0]), ("--from", edges[0], "--to", edges[1]),
                         ("--from", edges[0], "--until", edges[1]))
        self.each_trace(check)

    def adds_up(self, trace, begin, of_report, of_export):
        report = json.loads(self.done("report", "--format", "json", *of_report,
                                      trace))
        database = self.database(trace, *of_export)
        for event, book in report["books"].items():
            if "scaled" in book:
                continue
            sums = dict(database.execute(
                "SELECT account, sum(count) FROM counts WHERE event = ? AND "
                "count IS NOT NULL GROUP BY account", (event,)).fetchall())
            for account in ("idle", "interrupts", "outside", "unattributed"):
                self.assertEqual(book[account], sums.get(account, 0),
                                 (trace, event, account))
            own = book.get("own", 0)
            self.assertEqual(book["processes"] + own, sums.get("processes", 0),
                             (trace, event))
        # A call at the edge of a part may be in one of them alone, if its
        # neighbours are lost.
        if begin and report["loss"]["discarded_events"]:
            return
        calls = dict(database.execute(
            "SELECT segment, count(*) FROM calls WHERE begin_ns > ? OR quality "
            "= 'exact' GROUP BY segment", (begin,)).fetchall())
        for segment in {row["segment"] for row in report["segments"]}:
            rows = [row for row in report["segments"]
                    if row["segment"] == segment]
            whole = sum(row["calls"] for row in rows)
            most = whole + sum(row["begin_inferred"] for row in rows)
            # Calls without an enter may be cut at the begin of a part; handlers
            # without one are no calls.
            handler = segment.startswith(("irq:", "softirq:"))
            least = whole if begin or handler else most
            found = calls.get(segment, 0)
            self.assertTrue(least <= found <= most,
                            (trace, begin, segment, least, found, most))

    def test_samples_are_those_of_the_report(self):
        if not (self.folder / "samples.ctf").exists():
            self.skipTest("SKIPPED: samples.ctf was not recorded")
        report = json.loads(self.done("report", "--by", "function", "--no-in",
                                      "--rows", "0", "--format", "json", "samples.ctf"))
        found = {}
        for event, function, inlined, dso, samples, periods in self.database(
                "samples.ctf").execute(
                    "SELECT event, function, inlined, dso, count(*), sum(period) "
                    "FROM samples LEFT JOIN frames USING (frame) "
                    "GROUP BY event, frame"):
            # Names of templates may end with " >".
            innermost = inlined.rpartition(" > ")[2] if inlined else function
            key = (event, innermost, (dso or "").split("/")[-1])
            before = found.get(key, (0, 0))
            found[key] = (before[0] + samples, before[1] + periods)
        self.assertGreater(len(found), 5)
        expected = {}
        for row in report["rows"]:
            if row["self_samples"]:
                key = (row["event"], row["function"], row["dso"])
                before = expected.get(key, (0, 0))
                expected[key] = (before[0] + row["self_samples"],
                                 before[1] + row["self"])
        for key, amount in expected.items():
            if not key[1].startswith("[no stack"):
                self.assertEqual(amount, found.get(key), key)
        self.assertEqual(sum(amount[0] for amount in expected.values()),
                         sum(amount[0] for amount in found.values()))

    def profile(self, form, weight, trace):
        file = f"{trace}.profile"
        self.done("export", "--to", form, "--weight", weight, "--force", "-o",
                  file, trace)
        return self.folder / file

    def test_profiles_add_up_to_the_processes(self):
        def check(trace):
            report = json.loads(self.done("report", "--format", "json", trace))
            # Else parts of a process can be more than what is sure of it: of a
            # killed recorder's, segments have dumps behind its last switch.
            if report["loss"]["discarded_events"] or trace == "killed.ctf":
                return
            counted = [event for event, book in report["books"].items()
                       if "scaled" not in book]
            if any(row["on_cpu_ns"] for row in report["processes"]):
                counted.append("on-cpu")
            for weight in counted:
                self.check_profile(trace, report["processes"], weight)
        self.each_trace(check)

    def check_profile(self, trace, processes, weight):
        roots = {}
        total = 0
        for line in self.profile("folded", weight, trace).read_text().splitlines():
            stack, amount = line.rsplit(" ", 1)
            total += int(amount)
            root = stack.split(";")[0]
            roots[root] = roots.get(root, 0) + int(amount)
        wanted = {}
        for row in processes:
            amount = row["on_cpu_ns"] if weight == "on-cpu" else \
                row["counts"].get(weight)
            if amount:
                name = row["comm"] or "?"
                wanted[name] = wanted.get(name, 0) + amount
        roots.pop("[interrupts]", None)
        self.assertEqual(wanted, roots, (trace, weight))
        if shutil.which("callgrind_annotate") and total:
            said = subprocess.run(
                ["callgrind_annotate", self.profile("callgrind", weight, trace)],
                capture_output=True, text=True, check=True).stdout
            self.assertIn(f"{total:,} (100.0%)  PROGRAM TOTALS", said)
        if shutil.which("go") and total:
            said = subprocess.run(
                ["go", "tool", "pprof", "-raw",
                 self.profile("pprof", weight, trace)],
                capture_output=True, text=True, check=True).stdout
            samples = said[said.index("Samples:"):said.index("Locations")]
            self.assertEqual(total, sum(
                int(line.split()[1].rstrip(":")) for line in samples.splitlines()
                if ":" in line and line.split()[0].isdigit()), (trace, weight))

    def test_a_profile_of_samples(self):
        if not (self.folder / "samples.ctf").exists():
            self.skipTest("SKIPPED: samples.ctf was not recorded")
        lines = self.profile("folded", "cpu-clock", "samples.ctf").read_text()
        (periods,) = self.database("samples.ctf").execute(
            "SELECT sum(period) FROM samples WHERE event = 'cpu-clock'").fetchone()
        self.assertEqual(periods, sum(int(line.rsplit(" ", 1)[1])
                                      for line in lines.splitlines()))

    def lines_by_thread(self, table, trace):
        lines = self.done("export", "--to", "jsonl", "--table", table,
                          trace).splitlines()
        return [(json.loads(line)["thread"], line) for line in lines]

    def test_rows_of_some_processes_are_those_of_the_report(self):
        def check(trace):
            threads = [json.loads(line) for line in self.done(
                "export", "--to", "jsonl", "--table", "threads", trace).splitlines()]
            if not threads:
                return
            every = {table: self.lines_by_thread(table, trace)
                     for table in ("calls", "points", "counts", "waits", "samples")}
            glob = max((row["comm"] for row in threads), key=len)[:3] + "*"
            for words in (["--process", glob], ["--thread", glob],
                          ["--thread", str(threads[-1]["tid"]), "--process", "*"]):
                report = json.loads(self.done(
                    "report", "--format", "json", "--by", "thread", "--rows", "0",
                    *words, trace))
                rows = [json.loads(line) for line in self.done(
                    "export", "--to", "jsonl", "--table", "threads", *words,
                    trace).splitlines()]
                self.assertEqual([row["tid"] for row in report["threads"]],
                                 [row["tid"] for row in rows], (trace, words))
                wanted = {row["thread"] for row in rows}
                for table, lines in every.items():
                    some = self.done("export", "--to", "jsonl", "--table", table,
                                     *words, trace).splitlines()
                    self.assertEqual([line for thread, line in lines
                                      if thread in wanted], some,
                                     (trace, table, words))
            where = f"comm =~ '^{glob[0]}' && first_seen_ns > 0"
            rows = self.done("export", "--to", "jsonl", "--table", "threads",
                             "--where", where, trace).splitlines()
            report = json.loads(self.done(
                "report", "--format", "json", "--by", "thread", "--rows", "0",
                "--where", where, trace))
            self.assertEqual([row["tid"] for row in report["threads"]],
                             [json.loads(row)["tid"] for row in rows])
        self.each_trace(check)

    def test_pprof_has_labels_lines_files_and_both_values(self):
        missing = [name for name in ("gcc", "go") if not shutil.which(name)]
        if missing:
            self.skipTest(f"SKIPPED: {missing} not installed")
        source = self.folder / "spin.c"
        source.write_text(SPIN)
        subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-o",
                        self.folder / "spin", source], check=True)
        done = run("record", "--kernel", "syscalls", "--sample", "997", "-o",
                   "spin.out", "--", self.folder / "spin", folder=self.folder)
        if done.returncode != 0:
            self.skipTest(f"SKIPPED: {done.stderr.decode()}")
        database = self.database("spin.out")
        self.profile("pprof", "cpu-clock", "spin.out")
        hits, periods = database.execute(
            "SELECT count(*), sum(period) FROM samples "
            "WHERE event = 'cpu-clock'").fetchone()

        def pprof(*words):
            return subprocess.run(
                ["go", "tool", "pprof", *words, "spin.out.profile"], cwd=self.folder,
                capture_output=True, text=True, check=True,
                env=os.environ | {"HOME": str(self.folder)}).stdout

        raw = pprof("-raw")
        samples = raw[raw.index("Samples:"):raw.index("Locations")]
        self.assertIn("samples/count cpu-clock/nanoseconds", samples)
        sums = [0, 0]
        tags = {}  # of each thread, system call, process
        for line in samples.splitlines()[2:]:
            head = re.match(r" *(\d+) +(\d+):", line)
            if head:
                values = [int(head.group(1)), int(head.group(2))]
                sums = [a + b for a, b in zip(sums, values)]
            for key, value in re.findall(r"(\w+):\[(.*?)\]", line):
                tags[key, value] = tags.get((key, value), 0) + values[1]
        self.assertEqual([hits, periods], sums)
        for key, sql in (("thread", "comm || '/' || tid"), ("syscall", "system_call"),
                         ("process", "comm")):
            for name, amount in database.execute(
                    f"SELECT {sql}, sum(period) FROM samples JOIN threads "
                    f"USING (thread, tid) WHERE event = 'cpu-clock' AND {sql} IS NOT "
                    "NULL GROUP BY 1").fetchall():
                self.assertEqual(amount, tags.get((key, name)), (key, name, tags))
        (build_id,) = database.execute(
            "SELECT build_id FROM frames WHERE function = 'spin'").fetchone()
        self.assertRegex(raw[raw.index("Mappings"):], f"/spin {build_id}")
        line = SPIN[:SPIN.index("total +=")].count("\n") + 1
        self.assertIn(f"spin.c:{line}", pprof("-top", "-lines"))
        self.assertRegex(pprof("-list", "^spin$"), r"total \+=")
        self.assertIn("spin", pprof("-top", "-sample_index=samples"))
        self.assertIn("thread:", pprof("-tags").replace(" ", ""))

    def test_a_profile_of_a_process_has_its_stacks(self):
        for trace in self.traces():
            whole = self.profile("folded", "wall", trace).read_text().splitlines() \
                if '"calls"' in self.done("report", "--format", "json", trace) else []
            if not whole:
                continue
            comm = whole[-1].split(";")[0].split(" ")[0]
            if comm == "?":
                continue
            some = self.done("export", "--to", "folded", "--weight", "wall",
                             "--process", comm, trace).splitlines()
            self.assertEqual([line for line in whole
                              if line.split(";")[0] == comm], some, trace)

    def test_threads_join(self):
        for trace in self.traces():
            database = self.database(trace)
            for table in ("calls", "waits", "points", "wakeups"):
                wrong = database.execute(
                    f"SELECT count(*) FROM {table} LEFT JOIN threads USING (thread) "
                    f"WHERE {table}.thread IS NOT NULL AND "
                    f"threads.tid IS NOT {table}.tid").fetchone()[0]
                self.assertEqual(0, wrong, (trace, table))


class OneSchema(Tables):
    def test_csv_and_json_lines_have_the_rows_of_the_database(self):
        for trace in ("web.ctf", "big.ctf"):
            database = self.database(trace)
            tables = [row[0] for row in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'")]
            self.assertTrue(set(STREAMED) < set(tables), tables)
            for table in tables:
                rows = [dict(row) for row in
                        database.execute(f"SELECT * FROM {table}").fetchall()]
                lines = self.done("export", "--to", "jsonl", "--table", table, trace)
                self.assertEqual(rows, [json.loads(line) for line in
                                        lines.splitlines()], (trace, table))
                text = self.done("export", "--to", "csv", "--table", table, trace)
                read = list(csv.DictReader(io.StringIO(text, newline="")))
                self.assertEqual(len(rows), len(read), (trace, table))
                numbers = [name for name in (rows or [{}])[0]
                           if all(isinstance(row[name], (int, type(None)))
                                  for row in rows)]
                for name in numbers:
                    self.assertEqual(
                        [row[name] for row in rows],
                        [int(row[name]) if row[name] else None for row in read],
                        (trace, table, name))

    def test_tables_of_query_are_those_of_the_database(self):
        database = self.database("web.ctf")
        listed = {}
        for row in csv.DictReader(io.StringIO(
                self.done("query", "--tables", "--format", "csv", "web.ctf"))):
            listed.setdefault(row["table"], {})[row["column"]] = row["type"]
        self.assertTrue(set(STREAMED) < set(listed))
        for (table,) in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for column in database.execute(f"PRAGMA table_info({table})"):
                self.assertEqual(listed[table][column["name"]],
                                 column["type"].lower(), table)

    def test_the_same_answer_as_the_file(self):
        database = self.database("web.ctf")
        for sql in (
                "SELECT * FROM report_processes",
                "SELECT comm, sum(end_ns - begin_ns) AS ns FROM dispatches "
                "JOIN threads USING (thread) GROUP BY comm ORDER BY ns DESC",
                'SELECT segment, "wall_ns.incl" FROM segments ORDER BY 2',
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n "
                "WHERE i < 5) SELECT i, i / 2.0 AS half FROM n",
                "SELECT count(*) AS calls, NULL AS none FROM calls"):
            expected = [dict(row) for row in database.execute(sql).fetchall()]
            got = json.loads(self.done("query", "--format", "json", sql, "web.ctf"))
            self.assertEqual(expected, got["rows"], sql)
            lines = self.done("query", "--format", "jsonl", sql, "web.ctf")
            self.assertEqual(expected, [json.loads(line) for line in
                                        lines.splitlines()])
            text = self.done("query", "--format", "csv", sql, "web.ctf")
            self.assertEqual(len(expected) + 1, len(text.splitlines()))
        self.assertIn("on_cpu_ns", self.done(
            "query", "SELECT comm, on_cpu_ns FROM processes", "web.ctf"))


class Refused(Tables):
    def refused(self, status, says, *words, **options):
        before = set(os.listdir(self.folder))
        finished = run(*words, folder=self.folder, **options)
        self.assertEqual(status, finished.returncode, (words, finished.stderr))
        self.assertIn(says, finished.stderr.decode(), words)
        self.assertEqual(b"", finished.stdout)
        self.assertEqual(before, set(os.listdir(self.folder)))

    def test_statements_that_do_more_than_read(self):
        for sql in ("ATTACH 'x.db' AS x", "DELETE FROM calls",
                    "CREATE TABLE t (a)", "DROP TABLE calls",
                    "PRAGMA journal_mode = WAL", "PRAGMA user_version",
                    "VACUUM INTO 'x.db'", "INSERT INTO meta VALUES ('a', 'b')",
                    "UPDATE meta SET key = 'x'", "BEGIN",
                    "WITH a AS (SELECT 1) DELETE FROM meta"):
            self.refused(1, "authoriz", "query", sql, "web.ctf")
        self.refused(1, "not authorized to use function: load_extension", "query",
                     "SELECT load_extension('x.so')", "web.ctf")
        for sql, says in (("SELECT 1; SELECT 2", "more than one statement"),
                          (" -- nothing", "no statement"),
                          ("SELEC 1", 'near "SELEC": syntax error'),
                          ("SELECT a FROM absent", "no such table: absent; the "
                           "trace has processes, threads"),
                          ('SELECT "absent" FROM calls', "no such column"),
                          ("SELECT * FROM absent.calls", "no such table"),
                          ("SELECT readfile('/etc/passwd')", "no such function")):
            self.refused(1, says, "query", sql, "web.ctf")

    def test_a_dash_is_standard_output(self):
        words = ["export", "--to", "folded", "--weight", "wall", "web.ctf"]
        self.assertEqual(self.done(*words, "-o", "-"), self.done(*words))

    def test_usage(self):
        for words, says in (
                (["--to", "csv"], "say which table: --table with one of processes"),
                (["--to", "csv", "--table", "nothing"], "calls"),
                (["--to", "sqlite"], "say which file to make"),
                (["--to", "sqlite", "-o", "-"], "say which file to make"),
                (["--to", "sqlite", "--table", "calls", "-o", "x"], "--table is for"),
                (["--to", "sqlite", "--process", "x", "-o", "x"],
                 "--process, --thread and --where are not for --to sqlite"),
                (["--to", "html", "--where", "x", "-o", "x"], "not for --to html"),
                (["--to", "perfetto", "--from", "1ms", "-o", "x"],
                 "--from, --until and --at are not for --to perfetto"),
                (["--to", "folded", "--weight", "wall", "--where", "pid > 1"],
                 "--where is for --to csv and jsonl"),
                (["--to", "folded", "--weight", "wall", "--thread", "x"],
                 "--thread: `wall` is of segments"),
                (["--to", "csv", "--table", "calls", "--where", "pid > 1"],
                 "--where is for tables of `report`"),
                (["--to", "csv", "--table", "meta", "--process", "x"],
                 "rows of meta have no owner"),
                (["--to", "csv", "--table", "threads", "--where", "pid >"], "--where"),
                (["--to", "csv", "--table", "threads", "--where", "calls > 1"],
                 "calls"),
                (["--to", "csv", "--table", "calls", "--from", "2s"],
                 "2s is not in the trace"),
                (["--to", "csv", "--table", "calls", "--window", "1s"],
                 "--window needs --at"),
                (["--to", "folded"], "--weight is for --to folded"),
                (["--to", "csv", "--table", "calls", "--weight", "wall"],
                 "--weight is for --to folded"),
                (["--to", "perfetto.gz", "-o", "x"], "perfetto")):
            self.refused(2, says, "export", *words, "web.ctf")
        self.refused(2, "say what to select", "query")
        self.refused(2, "no statement and no range", "query", "--tables", "--from",
                     "1ms", "web.ctf")
        self.refused(2, "--where", "query", "--where", "pid > 1",
                     "SELECT * FROM calls", "web.ctf")
        self.refused(1, "no weight `nothing`; it has on-cpu, off-cpu, wall", "export",
                     "--to", "folded", "--weight", "nothing", "web.ctf")
        # A table of what was not recorded.
        self.refused(1, "no table `wakers`; the trace has processes, threads",
                     "export", "--to", "csv", "--table", "wakers", "big.ctf")

    def test_a_full_disk_leaves_nothing(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        for words in (["--to", "sqlite"], ["--to", "csv", "--table", "calls"],
                      ["--to", "jsonl", "--table", "calls"]):
            self.refused(1, os.strerror(27), "export", *words, "-o", "x.out",
                         "big.ctf", preexec_fn=limit)

    def test_a_full_file_system_leaves_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "x", disk],
                          check=False, capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: mount: no privilege")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        for words in (["sqlite"], ["csv", "--table", "calls"],
                      ["jsonl", "--table", "calls"]):
            finished = run("export", "--to", *words, "-o", "disk/x", "big.ctf",
                           folder=self.folder)
            self.assertEqual(1, finished.returncode)
            self.assertIn("disk/x", finished.stderr.decode())
            self.assertIn(os.strerror(28), finished.stderr.decode())
            self.assertEqual([], os.listdir(disk))
        (disk / "full").write_bytes(bytes(511 << 10))
        for form in ("folded", "pprof", "callgrind"):
            finished = run("export", "--to", form, "--weight", "wall", "-o",
                           "disk/x", "big.ctf", folder=self.folder)
            self.assertEqual(1, finished.returncode, form)
            self.assertEqual(["full"], os.listdir(disk))

    def test_an_interruption_leaves_nothing(self):
        before = set(os.listdir(self.folder))
        for words in (["--to", "sqlite"], ["--to", "csv", "--table", "calls"]):
            process = subprocess.Popen(
                [COUNTRACE, "export", *words, "-o", "x.out", "big.ctf"],
                cwd=self.folder, stderr=subprocess.PIPE)
            while not set(os.listdir(self.folder)) - before:
                if process.poll() is not None:
                    break
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
            if process.returncode == 0:  # it was faster
                (self.folder / "x.out").unlink()
            else:
                self.assertEqual(130, process.returncode, said)
            self.assertEqual(before, set(os.listdir(self.folder)))
        # A statement without an end.
        process = subprocess.Popen(
            [COUNTRACE, "query", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT "
             "i + 1 FROM n) SELECT max(i) FROM n", "web.ctf"], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # Its statement runs; SIGINT has a handler.
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & 2:
            time.sleep(0.05)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.communicate(timeout=1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(b"", process.communicate(timeout=60)[0])
        self.assertEqual(130, process.returncode)


if __name__ == "__main__":
    COUNTRACE, WRITER, SYNTHETIC, PIPELINE = map(os.path.abspath, sys.argv[1:5])
    UST = sys.argv[5]
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
