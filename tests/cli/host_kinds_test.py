#!/usr/bin/env python3
"""Hosts whose traces are of every kind (hooks alone, the whole machine, samples,
losses, a ring, a killed recorder, a container, sets of events in turn): each number
of each host is that of its own report and its own tables, and books are sums.

usage: host_kinds_test.py COUNTRACE DOC_TRACES REQUEST_PIPELINE
"""

import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "e2e")]
# pylint: disable=wrong-import-position
from recordings import Recordings  # noqa: E402
from shifted_trace import shift_trace  # noqa: E402

COUNTRACE = WRITER = PIPELINE = ""
KINDS = ("hooks", "whole", "samples", "lossy", "flight", "killed", "container")
WRITTEN = ("sets", "web")
# Unknown where a trace has no owners, and absent where none has any.
OWNERS = ("cgroup", "user")


def present(value):
    if isinstance(value, dict):
        return {key: present(part) for key, part in value.items()
                if part is not None and key not in ("host", *OWNERS)}
    return list(map(present, value)) if isinstance(value, list) else value


class HostKinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="countrace-kinds-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        made = Recordings(COUNTRACE, cls.folder, PIPELINE).make(
            *(f"{kind}.ctf" for kind in KINDS))
        if len(made) < 2:
            raise unittest.SkipTest("SKIPPED: no recordings of the machine")
        subprocess.run([WRITER], cwd=cls.folder, check=True)
        boot = re.search(r"(?m)^boot_id +(\S+)", cls.done("info", made[0]))[1]
        for name in WRITTEN:  # of another boot
            shift_trace(cls.folder / f"{name}.ctf", cls.folder / f"of-{name}.ctf",
                        boot, 0, 0)
            made.append(f"of-{name}.ctf")
        cls.traces = {name.removesuffix(".ctf"): name for name in made}
        cls.given = [f"{host}={trace}" for host, trace in cls.traces.items()]

    @classmethod
    def done(cls, *words):
        finished = subprocess.run([COUNTRACE, *words], cwd=cls.folder, check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=240)
        assert finished.returncode == 0, (words, finished.stderr)
        return finished.stdout.decode()

    def report(self, *traces):
        return json.loads(self.done("report", "--format", "json", *traces))

    def tables(self, *traces):
        self.done("export", "--to", "sqlite", "--no-texts", "--force", "-o", "one.db",
                  *traces)
        database = sqlite3.connect(self.folder / "one.db")
        self.addCleanup(database.close)
        database.row_factory = lambda rows, row: dict(
            zip((column[0] for column in rows.description), row))
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name["name"]: database.execute(
            f'SELECT * FROM "{name["name"]}" ORDER BY rowid').fetchall()
            for name in names.fetchall()}

    def test_reports_are_the_hosts_own(self):
        fleet = self.report(*self.given)
        own = {host: self.report(trace) for host, trace in self.traces.items()}
        compared = 0
        for name, rows in fleet.items():
            if not (isinstance(rows, list) and rows and "host" in rows[0]):
                continue
            for host, report in own.items():
                self.assertEqual(
                    [present(row) for row in rows if row["host"] == host],
                    [present(row) for row in report[name] or []], (name, host))
                compared += 1
        self.assertLess(10 * len(own), compared)
        for event, books in fleet["books"].items():
            for account, amount in books.items():
                if isinstance(amount, int) and account != "residual":
                    self.assertEqual(amount, sum(
                        (report["books"].get(event) or {}).get(account) or 0
                        for report in own.values()), (event, account))

    def test_tables_are_the_hosts_own(self):
        fleet = self.tables(*self.given)
        for host, trace in self.traces.items():
            for name, rows in self.tables(trace).items():
                if name == "meta":
                    continue
                found = [row for row in fleet[name] if row["host"] == host]
                self.assertEqual([row | mine for row, mine in zip(found, rows)], found,
                                 (name, host))
                self.assertEqual(len(found), len(rows), (name, host))

    def test_every_verb_takes_them(self):
        by_host = self.done("report", "--by", "host", *self.given)
        slowest = self.done("report", "--slowest", "5", "*", *self.given)
        for host in self.traces:
            self.assertIn(host, by_host)
        self.assertEqual(6, len(slowest.splitlines()))
        # Others have no such calls, nor their values.
        subprocess.run([COUNTRACE, "record", "-q", "-o", "bare.ctf", "--", "true"],
                       cwd=self.folder, check=True)
        one = self.done("report", "--slowest", "5", "server:request", "--where",
                        "arg0 == 7", "bare=bare.ctf", self.given[0])
        self.assertEqual(2, len(one.splitlines()), one)
        self.assertIn("container/", self.done("diff", "--all", "--before", *self.given,
                                              "--after", *self.given))
        self.assertIn("samples", self.done("state", "--at", "+1ms", *self.given))


if __name__ == "__main__":
    COUNTRACE, WRITER, PIPELINE = map(str, map(pathlib.Path.resolve,
                                               map(pathlib.Path, sys.argv[1:4])))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
