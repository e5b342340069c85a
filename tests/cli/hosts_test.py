#!/usr/bin/env python3
"""The traces of several hosts in `query`, `export` and `state`: each table has
the rows of each host's own, digit for digit, behind `host`; instants are on one
clock; what cannot be asked is refused with the remedy.

The traces: two of simulated machines of one boot, which count different events,
and a recording of request_pipeline with copies of it as machines with other
clocks would have recorded it (e2e/shifted_trace.py).

Usage: hosts_test.py COUNTRACE REQUEST_PIPELINE [unittest options].
"""

import csv
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "oracle")]
# pylint: disable=wrong-import-position
from shifted_trace import shift_trace  # noqa: E402
from trace_writer import TraceWriter  # noqa: E402

COUNTRACE = PIPELINE = ""
BOOTS = [f"0a000000-0000-4000-8000-00000000000{i}" for i in range(3)]
OFFSET_NS, DRIFT_PPB = 50_000_000, 100_000  # 50 ms, 100 ppm
# A request is answered once it was parsed: as a message and its answer.
PAIRS = ["--pairs", "server:request.arg0,server:parse.arg0"]
INSTANTS = {"begin_ns", "end_ns", "time_ns", "first_seen_ns", "last_seen_ns"}
MS = 1_000_000


def write_machine(folder, event, begin_ns):
    """Two threads take turns on a CPU for 10 ms; the second one sleeps at last."""
    writer = TraceWriter(folder)
    writer.env["begin_ns"] = begin_ns
    writer.cpu_events = ["task-clock", event]
    counts = [0, 0]
    for tid, comm in ((40, "web"), (50, "store")):
        writer.add(0, begin_ns, "process_state", [tid, tid, 1, 0, comm])
    writer.add(0, begin_ns, "counters", [0, 40], counts)
    for turn in range(1, 11):
        counts = [turn * MS, turn * turn]
        now = begin_ns + turn * MS
        if turn < 10:
            task = [40, 50] if turn % 2 else [50, 40]
            writer.add(0, now, "dispatch", [*task, 0x100 if turn < 9 else 1], counts)
    writer.add(0, now, "counters", [1, 50], counts)
    writer.finish()


def run(*words, folder):
    return subprocess.run([COUNTRACE, *map(str, words)], cwd=folder, check=False,
                          capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)


class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="countrace-hosts-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        write_machine(cls.folder / "a.ctf", "page-faults", 1000 * MS)
        write_machine(cls.folder / "b.ctf", "cycles", 1004 * MS)
        done = run("record", "--no-kernel", "-o", "raw.ctf", "--", PIPELINE, "60",
                   folder=cls.folder)
        assert done.returncode == 0, done.stderr
        for name, boot, offset, drift in (
                ("here.ctf", BOOTS[0], 0, 0),
                ("there.ctf", BOOTS[1], OFFSET_NS, DRIFT_PPB)):
            cls.clock = shift_trace(cls.folder / "raw.ctf", cls.folder / name, boot,
                                    offset, drift)

    def done(self, *words):
        finished = run(*words, folder=self.folder)
        self.assertEqual((0, b""), (finished.returncode, finished.stderr), words)
        return finished.stdout.decode()

    def refused(self, status, message, *words):
        finished = run(*words, folder=self.folder)
        self.assertEqual(status, finished.returncode, (words, finished.stderr))
        self.assertEqual(b"", finished.stdout)
        for part in message.split("|"):
            self.assertIn(part, finished.stderr.decode(), words)

    def database(self, *words):
        """By table: columns, and rows as lists in their order."""
        file = self.folder / "one.db"
        self.done("export", "--to", "sqlite", "--no-texts", "--force", "-o", file.name,
                  *words)
        tables = {}
        with sqlite3.connect(file) as database:
            for (name,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                found = database.execute(f'SELECT * FROM "{name}" ORDER BY rowid')
                columns = [column[0] for column in found.description]
                tables[name] = columns, [dict(zip(columns, row)) for row in found]
        database.close()
        return tables

    def rows_of(self, tables, host, columns_of):
        """The rows of `host`, with the columns that its own tables have; all others
        must be null."""
        for name, (columns, rows) in tables.items():
            if name == "hosts":
                continue
            own = columns_of.get(name, ([], []))[0]
            self.assertEqual("host", columns[0])
            self.assertLessEqual(set(own), set(columns))
            found = [row for row in rows if row["host"] == host]
            for row in found:
                self.assertEqual({None}, {row[column] for column in columns[1:]
                                          if column not in own} | {None}, name)
            yield name, [{column: row[column] for column in own} for row in found]

    def query(self, sql, *words):
        return json.loads(self.done("query", "--format", "json", sql, *words))["rows"]

    # --- One boot

    def test_tables_are_those_of_each_host(self):
        both = self.database("web=a.ctf", "db=b.ctf")
        self.assertIn("counts.cycles", both["processes"][0])
        self.assertIn("counts.page-faults", both["processes"][0])
        for host, trace in (("web", "a.ctf"), ("db", "b.ctf")):
            own = self.database(trace)
            self.assertEqual(set(own) | {"hosts"}, set(both))
            for name, rows in self.rows_of(both, host, own):
                self.assertEqual(own[name][1], rows, (name, host))
        self.assertEqual(
            [("web", 0, 0, "first", 1000 * MS), ("db", 0, 0, "same boot as web",
                                                 1004 * MS)],
            [(row["host"], row["offset_ns"], row["within_ns"], row["clock"],
              row["begin_ns"]) for row in both["hosts"][1]])

    def test_one_host_has_what_its_trace_has(self):
        own, alone = self.database("a.ctf"), self.database("web=a.ctf")
        for name, (columns, rows) in own.items():
            self.assertEqual(["host", *columns], alone[name][0])
            self.assertEqual([{"host": "web", **row} for row in rows], alone[name][1])

    def test_queries_and_texts(self):
        self.assertEqual(
            [["db", 10 * MS, 100], ["web", 10 * MS, None]],
            [[row["host"], row["ns"], row["cycles"]] for row in self.query(
                'SELECT host, sum(on_cpu_ns) AS ns, sum("counts.cycles") AS cycles '
                "FROM processes GROUP BY host", "web=a.ctf", "db=b.ctf")])
        self.assertEqual(
            [["web", "web", 5 * MS]],
            [list(row.values()) for row in self.query(
                "SELECT host, comm, sum(end_ns - begin_ns) AS ns FROM dispatches JOIN "
                "threads USING (host, thread) WHERE host = 'web' AND comm = 'web' "
                "GROUP BY host, comm", "web=a.ctf", "db=b.ctf")])
        lines = [json.loads(line) for line in self.done(
            "export", "--to", "jsonl", "--table", "threads", "web=a.ctf",
            "db=b.ctf").splitlines()]
        table = list(csv.DictReader(io.StringIO(self.done(
            "export", "--to", "csv", "--table", "threads", "web=a.ctf", "db=b.ctf"))))
        self.assertEqual([("web", "web"), ("web", "store"), ("db", "web"),
                          ("db", "store")],
                         sorted(((row["host"], row["comm"]) for row in lines),
                                key=lambda row: (row[0] == "db", row[1] == "store")))
        self.assertEqual([{name: "" if cell is None else str(cell)
                           for name, cell in row.items()} for row in lines], table)
        listed = csv.DictReader(io.StringIO(self.done(
            "query", "--tables", "--format", "csv", "web=a.ctf", "db=b.ctf")))
        names = {(row["table"], row["column"]) for row in listed}
        self.assertLessEqual({("processes", "counts.cycles"), ("calls", "host"),
                              ("processes", "counts.page-faults"),
                              ("hosts", "within_ns")}, names)

    def test_a_folder_is_its_hosts(self):
        folder = self.folder / "two"
        folder.mkdir()
        for name, trace in (("web.ctf", "a.ctf"), ("db.ctf", "b.ctf")):
            (folder / name).symlink_to(self.folder / trace)
        self.assertEqual(["db", "web"], [row["host"] for row in self.query(
            "SELECT host FROM hosts", "two")])

    def test_a_range_is_of_the_common_clock(self):
        sql = ("SELECT {}tid, begin_ns, end_ns FROM dispatches WHERE tid > 0 "
               "ORDER BY begin_ns")
        for begin, end in ((1005, 1007), (1001, 1002)):
            part = ["--from", f"@{begin / 1000:.9f}", "--to", f"@{end / 1000:.9f}"]
            both = self.query(sql.format("host, "), *part, "web=a.ctf", "db=b.ctf")
            self.assertEqual(
                self.query(sql.format(""), *part, "a.ctf"),
                [{name: cell for name, cell in row.items() if name != "host"}
                 for row in both if row["host"] == "web"])
            of_db = [row for row in both if row["host"] == "db"]
            self.assertEqual(2 if begin == 1005 else 0, len(of_db), of_db)
            # Since the first begin of all.
            since = ["--from", f"{begin - 1000}ms", "--to", f"{end - 1000}ms"]
            self.assertEqual(both, self.query(sql.format("host, "), *since, "web=a.ctf",
                                              "db=b.ctf"))

    def test_states_are_of_one_instant(self):
        states = json.loads(self.done("state", "--at", "6.5ms", "--format", "json",
                                      "web=a.ctf", "db=b.ctf"))
        self.assertEqual("countrace.host_states/1", states["schema"])
        self.assertEqual([("web", 40), ("db", 40)],
                         [(host["host"], host["state"]["cpus"][0]["tid"])
                          for host in states["hosts"]])
        for host, trace in zip(states["hosts"], ("a.ctf", "b.ctf")):
            own = json.loads(self.done("state", "--at", "@1.0065", "--format", "json",
                                       trace))
            self.assertEqual(own["states"][0], host["state"])
            self.assertEqual((0, own["trace"]), (host["within_ns"], host["trace"]))
        text = self.done("state", "--at", "1ms", "web=a.ctf", "db=b.ctf")
        self.assertIn("HOST web, within 0 (clock: first)", text)
        self.assertIn("nothing of that instant", text[text.index("HOST db"):])

    # --- Other clocks

    def test_the_copy_is_a_sound_trace_with_other_times(self):
        self.assertIn("sound", self.done("verify", "there.ctf"))

        def records(trace):
            for line in self.done("script", trace).splitlines():
                seconds, rest = line[1:].split("] ", 1)
                yield int(seconds.replace(".", "")), rest
        self.assertEqual([(self.clock.of(time), rest)
                          for time, rest in records("here.ctf")],
                         list(records("there.ctf")))

    def test_instants_are_on_the_clock_of_the_first(self):
        both = self.database(*PAIRS, "here=here.ctf", "there=there.ctf")
        (_, row) = both["hosts"][1]
        within = row["within_ns"]
        self.assertLess(0, within)
        self.assertLessEqual(abs(row["offset_ns"] + OFFSET_NS), within)
        self.assertEqual("messages with here", row["clock"])
        own = self.database("there.ctf")
        truth = self.database("here.ctf")
        moved = 0
        for name, rows in self.rows_of(both, "there", own):
            if name == "meta":
                continue
            for row, as_recorded, here in zip(rows, own[name][1], truth[name][1],
                                              strict=True):
                for column, cell in row.items():
                    if column in INSTANTS:
                        self.assertLessEqual(abs(cell - here[column]), within,
                                             (name, column))
                        moved += 1
                    else:
                        self.assertEqual(as_recorded[column], cell, (name, column))
        self.assertLess(100, moved)

    def test_slowest_calls_of_hosts(self):
        def slowest(most, *words):
            return [json.loads(line) for line in self.done(
                "report", "--slowest", most, "*", "--format", "jsonl",
                *words).splitlines()]
        own = [(host, row) for host in ("here", "there")
               for row in slowest("100000", f"{host}.ctf")]
        found = slowest("50", *PAIRS, "here=here.ctf", "there=there.ctf")
        self.assertEqual(len(found), 50)
        self.assertEqual(
            [row["wall_ns"] for row in found],
            sorted((row["wall_ns"] for _, row in own), reverse=True)[:50])
        begins = {}
        # Both traces are of one recording: the truth is what `here` says.
        truth = {host: {clock(row["begin_ns"]): row["begin_ns"] for name, row in own
                        if name == "here"}
                 for host, clock in (("here", int), ("there", self.clock.of))}
        for row in found:
            host, within = row.pop("host"), row.pop("within_ns")
            begin_ns = row.pop("begin_ns")
            (alike,) = (other for name, other in own
                        if name == host and other | row == other)
            true_ns = truth[host][alike["begin_ns"]]
            self.assertLessEqual(abs(begin_ns - true_ns), within)
            begins.setdefault(host, []).append(within)
        self.assertEqual(begins.keys(), {"here", "there"})
        self.assertEqual(set(begins["here"]), {0})
        self.assertLess(0, min(begins["there"]))

    def test_diff_of_runs_of_hosts(self):
        diff = json.loads(self.done(
            "diff", "--all", "--format", "json", "--before", "web=a.ctf", "db=b.ctf",
            "web=a.ctf", "db=b.ctf", "--after", "web=b.ctf", "db=b.ctf"))
        self.assertEqual((len(diff["before"]), len(diff["after"])), (2, 1))
        own = json.loads(self.done("diff", "--all", "--format", "json", "--before",
                                   "a.ctf", "a.ctf", "--after", "b.ctf"))
        (of_web, of_db) = ({(row["process"], *row["path"]): row for row in diff["rows"]
                            if row["process"].startswith(host)}
                           for host in ("web/", "db/"))
        self.assertEqual(len(of_web) + len(of_db), len(diff["rows"]))
        self.assertEqual(of_web.keys(), {("web/" + row["process"], *row["path"])
                                         for row in own["rows"]})
        for row in of_db.values():  # the same trace on both sides
            for metric in row["metrics"]:
                self.assertEqual(metric["self"]["change"], 0)
        for host, path in ("web", "a.ctf"), ("db", "b.ctf"):
            for run in "before", "after":
                (self.folder / run).mkdir(exist_ok=True)
                (self.folder / run / f"{host}.ctf").symlink_to(self.folder / path)
        self.assertIn("web/", self.done("diff", "--all", "before", "after"))

    # --- What is refused

    def test_times_before_the_first_clock_began(self):
        shift_trace(self.folder / "raw.ctf", self.folder / "young.ctf", BOOTS[2],
                    1 - self.clock.begin_ns)
        both = ["here=here.ctf", "young=young.ctf"]
        self.assertEqual(["here", "young"], [row["host"] for row in self.query(
            "SELECT host FROM hosts", *PAIRS, *both)])
        self.refused(1, "of host here (here.ctf) begins before the clock of host young "
                     "began|give here=here.ctf first", "query", "SELECT * FROM hosts",
                     *PAIRS, *reversed(both))

    def test_what_cannot_be_asked(self):
        both = ["web=a.ctf", "db=b.ctf"]
        self.refused(1, "no clock in common|same boot|NTP|--pairs", "query",
                     "SELECT * FROM hosts", "a=here.ctf", "b=there.ctf")
        shutil.copytree(self.folder / "there.ctf", self.folder / "cut.ctf")
        os.truncate(self.folder / "cut.ctf/clock", 100)
        self.refused(1, "no clock in common|clock of b are damaged|--pairs", "query",
                     "SELECT * FROM hosts", "a=here.ctf", "b=cut.ctf")
        self.refused(2, "two traces are of host a", "query", "SELECT 1", "a=a.ctf",
                     "a=b.ctf")
        self.refused(2, "b.ctf has no host", "query", "SELECT 1", "a=a.ctf", "b.ctf")
        self.refused(1, "none.ctf", "query", "SELECT 1", "a=a.ctf", "b=none.ctf")
        self.refused(2, "--pairs is for", "query", "SELECT 1", *PAIRS, "a.ctf")
        self.refused(1, "no such table: nowhere|meta, hosts", "query",
                     "SELECT * FROM nowhere", *both)
        self.refused(1, "There is no table `wakers`|of web: processes", "export",
                     "--to", "csv", "--table", "wakers", *both)
        self.refused(2, "--next and --previous|a.ctf", "state", "--next", "dispatch",
                     *both)
        self.refused(2, "--at", "state", "--at", "5s", *both)
        for form in ("html", "folded", "pprof", "callgrind", "perfetto"):
            weight = ["--weight", "on-cpu"] if form in ("folded", "pprof",
                                                        "callgrind") else []
            self.refused(2, f"--to {form}|sqlite, csv and jsonl", "export", "--to", form,
                         *weight, "-o", "x", *both)
        self.refused(2, "--slowest|--by time|countrace query", "report", "--by", "time",
                     *both)
        self.refused(2, "runs of the same hosts|a.ctf|no host", "diff", "--before",
                     "web=a.ctf", "--after", "b.ctf")
        self.refused(2, "runs of the same hosts|has db, web, and", "diff", "--before",
                     "web=a.ctf", "db=b.ctf", "web=b.ctf", "--after", "web=b.ctf")
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    COUNTRACE, PIPELINE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
