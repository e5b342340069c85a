#!/usr/bin/env python3
"""countrace report and diff of a database of `export --to sqlite` print what they
print of its trace, byte for byte; what needs the trace's records is refused, as
is a database that is none of ours.

The traces: those of doc_traces, a synthetic one, and recordings of
request_pipeline: its hooks alone; if the machine lets us, everything, with
samples, with losses, the newest part.

Usage: stored_report_test.py COUNTRACE DOC_TRACES SYNTHETIC_TRACE REQUEST_PIPELINE
                             [unittest options]
"""

import concurrent.futures
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from recordings import OPTIONS, Recordings

COUNTRACE = WRITER = SYNTHETIC = PIPELINE = ""
TABLES = ["process", "thread", "segment", "path", "cpu", "hook", "waker", "preemptor",
          "syscall", "fault", "file", "level"]
SAME = [
    (), ("--bounds", "--rows", "0", "--wide"), ("--format", "json"),
    ("--format", "jsonl"), ("--format", "csv"),
    *[("--by", table, "--bounds", "--rows", "0") for table in TABLES],
    *[("--by", table, "--format", "csv", "--bounds") for table in TABLES],
    *[("--by", table, "--format", "json") for table in ("user", "cgroup")],
    ("--by", "process", "--sort", "dispatches", "--columns", "comm,dispatches"),
    ("--by", "thread", "--where", "on_cpu_ns > 1ms || wait_ns > 1us"),
    ("--by", "thread", "--thread", "*e*", "--format", "csv"),
    ("--where", 'comm =~ "re"', "--bounds"), ("--process", "*e*", "--rows", "3"),
    ("--by", "segment", "--process", "*", "--where", "calls > 3"),
    ("--by", "syscall", "--process", "*e*"),
    *[("--group-by", by) for by in ("comm", "process", "user", "cgroup")],
    *[("--by", table, "--group-by", by, "--format", "csv", "--bounds")
      for table in ("process", "thread", "segment", "hook", "waker", "file")
      for by in ("comm", "user")],
    ("--by", "path", "--group-by", "segment"),
    ("--metrics",), ("--metrics", "--format", "json"),
    ("--metrics", "--by", "segment", "--format", "csv"),
    ("--metrics", "--by", "path", "--where", "calls > 1"), ("--fail-on-loss",)]


def run(*words, folder):
    return subprocess.run([COUNTRACE, *map(str, words)], cwd=folder,
                          capture_output=True, check=False, timeout=240,
                          stdin=subprocess.DEVNULL)


class Stored(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="countrace-stored-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        subprocess.run([WRITER], cwd=cls.folder, check=True)
        subprocess.run([SYNTHETIC, "big.ctf", "30000", "4", "20"], cwd=cls.folder,
                       check=True, capture_output=True)
        Recordings(COUNTRACE, cls.folder, PIPELINE).make(*OPTIONS)
        cls.traces = sorted(path.name for path in cls.folder.glob("*.ctf"))
        for trace in cls.traces:
            made = run("export", "--to", "sqlite", "-o", trace + ".db", trace,
                       folder=cls.folder)
            assert made.returncode == 0, made.stderr

    def test_a_database_reports_what_its_trace_reports(self):
        self.assertIn("web.ctf", self.traces)

        def check(case):
            trace, options = case
            of_trace, of_tables = (run("report", *options, source, folder=self.folder)
                                   for source in (trace, trace + ".db"))
            self.assertEqual(of_trace.stdout.decode(), of_tables.stdout.decode(), case)
            self.assertEqual(of_trace.returncode, of_tables.returncode, case)
            self.assertEqual(of_trace.stderr, of_tables.stderr, case)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(check, [(trace, options) for trace in self.traces
                                  for options in SAME]))

    def test_a_part_is_stored_as_a_part(self):
        made = run("export", "--to", "sqlite", "--from", "1ms", "--until", "3ms", "-o",
                   "part.db", "web.ctf", folder=self.folder)
        self.assertEqual(0, made.returncode, made.stderr)
        for words in ((), ("--format", "json")):
            of_trace = run("report", "--from", "1ms", "--to", "3ms", *words, "web.ctf",
                           folder=self.folder)
            part = run("report", *words, "part.db", folder=self.folder)
            self.assertEqual(of_trace.stdout, part.stdout)

    def test_diff_takes_either(self):
        expected = run("diff", "--all", "web.ctf", "big.ctf", folder=self.folder)
        for sides in (("web.ctf.db", "big.ctf"), ("web.ctf", "big.ctf.db"),
                      ("web.ctf.db", "big.ctf.db")):
            found = run("diff", "--all", *sides, folder=self.folder)
            self.assertEqual(expected.stdout, found.stdout)
            self.assertEqual(expected.returncode, found.returncode)

    def refused(self, status, says, *words):
        finished = run(*words, folder=self.folder)
        self.assertEqual(status, finished.returncode, (words, finished.stderr))
        self.assertIn(says, finished.stderr.decode(), words)
        self.assertEqual(b"", finished.stdout, words)

    def test_what_needs_records_is_wrong_usage(self):
        for needs, *more in (["--by time"], ["--by phase"], ["--by function"],
                             ["--by calltree"], ["--by data"], ["--from", "1ms"],
                             ["--to", "1ms"], ["--count", "user"], ["--mark", "web"],
                             ["--fold-recursion", "--by", "path"],
                             ["--slowest", "3", "web:handle"],
                             ["--given", 'wall_ns > 1', "--segment", "y"],
                             ["--format pmcount"]):
            self.refused(2, needs + " needs the records of a trace, and web.ctf.db has",
                         "report", *needs.split(), *more, "web.ctf.db")
        self.refused(2, "a report of several traces needs the records", "report",
                     "web.ctf.db", "big.ctf.db")
        self.refused(2, "which thread woke which needs the trace's records", "report",
                     "--by", "waker", "--group-by", "thread", "web.ctf.db")

    def test_other_databases(self):
        with sqlite3.connect(self.folder / "songs.db") as songs:
            songs.execute("CREATE TABLE songs (title TEXT)")
        songs.close()
        self.refused(1, "songs.db has no table `meta` of a report", "report", "songs.db")
        self.refused(1, "export it from its trace again: countrace export --to sqlite "
                     "-o songs.db TRACE", "diff", "web.ctf", "songs.db")
        whole = (self.folder / "web.ctf.db").read_bytes()
        (self.folder / "half.db").write_bytes(whole[:len(whole) // 2])
        self.refused(1, "half.db", "report", "half.db")
        (self.folder / "empty.db").touch()
        self.refused(1, "empty.db", "report", "empty.db")


if __name__ == "__main__":
    COUNTRACE, WRITER, SYNTHETIC, PIPELINE = map(os.path.abspath, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
