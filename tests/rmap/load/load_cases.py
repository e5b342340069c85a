"""countrace load, of any engine: what the tables hold is what `export --to sqlite`
makes, row by row and digit for digit, also after either side was killed; what a
fetch makes of them is that file again; what bad input gets.

Usage of clickhouse_load_test.py, shards_load_test.py and postgres_load_test.py:
  ... COUNTRACE COUNTRACE_LOAD DOC_TRACES SYNTHETIC_TRACE REQUEST_PIPELINE
      [unittest options]
"""

import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "e2e")]
# pylint: disable=wrong-import-position
from engines import PASSWORD, PATIENCE_S, USER, Missing  # noqa: E402
from recordings import Recordings  # noqa: E402

COUNTRACE = LOAD = WRITER = SYNTHETIC = PIPELINE = ""
FULL = os.environ.get("COUNTRACE_TEST_FULL") == "1"
KILLS = 100 if FULL else 12  # half of them of the engine
# With web.ctf, ten.
RECORDED = ("hooks.ctf", "samples.ctf", "lossy.ctf", "container.ctf", "whole.ctf",
            "flight.ctf", "killed.ctf", "threads.ctf", "sqlite3.ctf")
STREAMED = {"dispatches", "calls", "points", "waits", "wakeups", "counts", "losses",
            "samples", "frames"}
KEY = ["host", "boot", "trace", "row"]


def run(*words, folder, environment=None):
    return subprocess.run([*map(str, words)], cwd=folder, capture_output=True,
                          check=False, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                          env=os.environ | (environment or {}), encoding="utf-8")


def as_typed(cell, like):
    """A cell of text as SQLite has it."""
    return cell if cell is None or isinstance(like, str) or like is None else \
        type(like)(cell)


class LoadCases(unittest.TestCase):
    """`Engine` is a class of engines.py."""

    Engine = None

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="countrace-load-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        # The server may be of another user.
        cls.folder.chmod(0o755)
        try:
            cls.engine = cls.Engine(cls.folder)
            cls.addClassCleanup(cls.engine.stop)
            cls.engine.start()
        except Missing as why:
            print(f"SKIPPED: {why}", flush=True)
            raise unittest.SkipTest(str(why)) from why
        subprocess.run([WRITER], cwd=cls.folder, check=True)
        subprocess.run([SYNTHETIC, "big.ctf", "60000", "4", "50"], cwd=cls.folder,
                       check=True, capture_output=True)
        cls.recorded = Recordings(COUNTRACE, cls.folder, PIPELINE).make(*RECORDED)

    def setUp(self):
        self.database = f"of_{self._testMethodName}"
        self.engine.make(self.database)

    def load(self, *words, database=None, user="", environment=None, options=None):
        options = self.engine.options if options is None else options
        return run(COUNTRACE, "load", self.engine.address(database or self.database,
                                                          user),
                   *options, *words, folder=self.folder, environment=environment)

    def loaded(self, *words, **options):
        done = self.load(*words, **options)
        self.assertEqual(0, done.returncode, (words, done.stderr))
        return done.stderr

    def refused(self, *words, says, status=1, **options):
        done = self.load(*words, **options)
        self.assertEqual(status, done.returncode, (words, done.stderr))
        for text in says:
            self.assertIn(text, done.stderr)
        return done.stderr

    def exported(self, trace):
        """The database that `export` makes, once."""
        file = self.folder / f"{trace}.db"
        if not file.exists():
            done = run(COUNTRACE, "export", "--to", "sqlite", "-o", file, trace,
                       folder=self.folder)
            self.assertEqual(0, done.returncode, done.stderr)
        database = sqlite3.connect(file)
        self.addCleanup(database.close)
        return database

    def names(self, database, kind):
        return [name for (name,) in database.execute(
            f"SELECT name FROM sqlite_master WHERE type = '{kind}' ORDER BY name")]

    def uuid_of(self, trace):
        (row,) = self.engine.rows(
            self.database, f"SELECT trace FROM traces WHERE path = '{trace}'")
        return row[0]

    def holds(self, trace, uuid=None):
        """The engine has each row of the trace once."""
        uuid = uuid or self.uuid_of(trace)
        exported = self.exported(trace)
        for table in self.names(exported, "table"):
            wanted = exported.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
            columns = [column[0] for column in wanted.description]
            wanted = wanted.fetchall()
            listed = ", ".join(f'"{name}"' for name in ["row", *columns])
            found = self.engine.rows(
                self.database, f"SELECT {listed} FROM {table} WHERE trace = '{uuid}' "
                "ORDER BY \"row\"")
            self.assertEqual(list(range(len(wanted))), [int(row[0]) for row in found],
                             (trace, table))
            for there, here in zip(found, wanted):
                self.assertEqual(here, tuple(map(as_typed, there[1:], here)),
                                 (trace, table))

    # ---- what is loaded

    def test_tables_are_those_of_export(self):
        for i, trace in enumerate(["web.ctf", *self.recorded]):
            with self.subTest(trace):
                self.assertIn("rows are loaded", self.loaded(f"host{i}={trace}"))
                self.holds(trace)
                self.has_views(trace)
                self.reports_of(trace)
        self.assertTrue(all(self.engine.stored(self.database, "SELECT * FROM traces")))

    def reports_of(self, trace):
        """The file's, the exported database's and the engine's: letter by letter."""
        loaded = f"{self.engine.address(self.database)}#{self.uuid_of(trace)}"
        printed = set()
        for what in (trace, f"{trace}.db", loaded):
            done = run(COUNTRACE, "report", "--format", "json", what, folder=self.folder)
            self.assertEqual(0, done.returncode, (what, done.stderr))
            printed.add(done.stdout)
        self.assertEqual(1, len(printed), printed)

    def test_loads_at_one_time_make_one_view_of_all_their_columns(self):
        for turn in range(2):
            self.database = f"beside_{turn}"
            self.engine.make(self.database)
            loads = [subprocess.Popen(
                [COUNTRACE, "load", self.engine.address(self.database),
                 *self.engine.options, trace], cwd=self.folder,
                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
                for trace in ["web.ctf", *self.recorded]]
            said = [load.communicate(timeout=PATIENCE_S)[1] for load in loads]
            self.assertEqual({0}, {load.returncode for load in loads}, said)
            for trace in ["web.ctf", *self.recorded]:
                self.has_views(trace)

    def has_views(self, trace):
        exported = self.exported(trace)
        for view in self.names(exported, "view"):
            columns = [row[1] for row in exported.execute(
                f"PRAGMA table_info({view})")]
            there = self.engine.columns(self.database, view)
            self.assertEqual(["host", "trace"], there[:2], view)
            self.assertLessEqual(set(columns), set(there), view)
            table = view.removeprefix("report_")
            keys = {row[1] for row in exported.execute(f"PRAGMA table_info({table})")}
            self.assertFalse((keys - set(columns)) & set(there), view)

    def test_one_command_loads_several_and_each_once(self):
        if len(self.recorded) < 2:
            self.skipTest("SKIPPED: nothing could be recorded")
        first, second, *_ = self.recorded
        self.loaded(f"web1={first}", second, "--batch", "100")
        hosts = dict(self.engine.rows(self.database, "SELECT path, host FROM traces"))
        self.assertEqual("web1", hosts[first])
        self.assertEqual({first, second}, set(hosts))
        again = self.loaded(first, second)
        for trace in (first, second):
            self.assertIn(f"{trace} is loaded already", again)
            self.holds(trace)

    def test_parts_of_a_recording_are_traces(self):
        """They all have its UUID. A copy of one that goes on is no part."""
        done = run(COUNTRACE, "record", "-q", "--split", "1s", "-o", "chain.ctf", "--",
                   "sleep", "2.5", folder=self.folder)
        self.assertEqual(0, done.returncode, done.stderr)
        parts = [part.name for part in self.folder.glob("chain.ctf*")]
        self.assertLess(2, len(parts))
        self.loaded(*parts)
        ((recording,),) = self.engine.rows(
            self.database, "SELECT DISTINCT recording FROM traces")
        done = self.fetch(f"{self.engine.address(self.database)}#{recording}",
                          self.folder / "none.fetched")
        self.assertNotEqual(0, done.returncode)
        self.assertIn(f"{len(parts)} loaded traces are `{recording}`", done.stderr)
        again = self.loaded(*parts)
        for part in parts:
            self.holds(part)
            self.assertIn(f"{part} is loaded already", again)
        with subprocess.Popen([COUNTRACE, "record", "-q", "--no-kernel", "-o",
                               "long.ctf", "--", "cat"], cwd=self.folder,
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as recorder:
            try:
                limit = time.monotonic() + PATIENCE_S
                while not (self.folder / "long.ctf/.session").exists():
                    self.assertLess(time.monotonic(), limit)
                    time.sleep(0.01)
                self.refused("long.ctf", says=["is being recorded"])
                shutil.copytree(self.folder / "long.ctf", self.folder / "copy.ctf",
                                ignore=shutil.ignore_patterns(  # a pipe, a rename
                                    ".unjoined", "*.part"))
                self.refused("copy.ctf", says=["copied before its recording ended"])
            finally:
                recorder.communicate(timeout=PATIENCE_S)  # no more input

    def test_a_fetch_makes_the_database_of_export(self):
        for trace in ["web.ctf", "big.ctf", *self.recorded]:
            with self.subTest(trace):
                # Built traces have one UUID.
                self.database = f"fetch_{trace.split('.')[0]}"
                self.engine.make(self.database)
                self.loaded(trace)
                fetched = self.folder / f"{trace}.fetched"
                done = self.fetch(self.engine.address(self.database), fetched)
                self.assertEqual(0, done.returncode, done.stderr)
                self.same_tables(self.exported(trace), sqlite3.connect(fetched))

    def fetch(self, address, file):
        return run(LOAD, "report", address, "", "300", "fetch", file,
                   folder=self.folder)

    def same_tables(self, wanted, found):
        self.addCleanup(found.close)
        made = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
        parts = [part for part in wanted.execute(made) if part[2] not in STREAMED]
        self.assertEqual(parts, found.execute(made).fetchall())
        for name in [part[1] for part in parts if part[0] == "table"]:
            rows = f'SELECT * FROM "{name}" ORDER BY rowid'
            self.assertEqual(wanted.execute(rows).fetchall(),
                             found.execute(rows).fetchall(), name)

    def test_a_fetch_says_which_traces_there_are(self):
        self.loaded("web.ctf")
        fetched = self.folder / "unknown.fetched"
        done = self.fetch(self.engine.address(self.database) + "#other", fetched)
        self.assertNotEqual(0, done.returncode)
        self.assertIn("web.ctf of testhost", done.stderr)
        (recording,) = self.engine.rows(self.database, "SELECT recording FROM traces")
        for name in ("testhost", *recording):
            done = self.fetch(f"{self.engine.address(self.database)}#{name}",
                              self.folder / f"{name}.fetched")
            self.assertEqual(0, done.returncode, done.stderr)

    # ---- kills

    def test_killed_at_any_time_each_row_is_there_once(self):
        dice = random.Random(4)
        kills = {"engine": 0, "loader": 0}
        # As long as a whole load takes: kills fall on all of it. One that a busy
        # machine kept waiting would let the others end before they are killed.
        longest = PATIENCE_S
        for attempt in range(3):
            self.database = f"whole_{attempt}"
            self.engine.make(self.database)
            begin = time.monotonic()
            self.loaded("big.ctf", "--batch", "2000")
            longest = min(longest, time.monotonic() - begin)
        turn, went_on = 0, 0
        while sum(kills.values()) < KILLS:
            self.database = f"killed_{turn}"
            self.engine.make(self.database)
            turn += 1
            ended = False
            while not ended and sum(kills.values()) < KILLS:
                victim = min(kills, key=kills.get)
                ended, said = self.load_killing(victim, dice.uniform(0, longest))
                if not ended:
                    kills[victim] += 1
                    went_on += "same command goes on there" in said
            said = self.loaded("big.ctf", "--batch", "2000")
            self.holds("big.ctf")
        print(f"kills={kills} databases={turn} said={went_on}")

    def load_killing(self, victim, delay_s):
        """Whether a load ended before the victim was killed, and what it said."""
        with subprocess.Popen(
                [COUNTRACE, "load", self.engine.address(self.database),
                 *self.engine.options, "--batch", "2000", "big.ctf"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                encoding="utf-8", start_new_session=True) as load:
            try:
                load.wait(delay_s)
            except subprocess.TimeoutExpired:
                pass
            ended = load.poll() is not None
            if not ended and victim == "loader":
                os.killpg(load.pid, signal.SIGKILL)
            elif not ended:
                self.engine.kill()
            said = load.communicate(timeout=PATIENCE_S)[1]
        if ended:
            self.assertEqual(0, load.returncode, said)
        elif victim == "engine":
            self.engine.start()
            # It may have stored the last row before it was killed.
            if load.returncode != 0:
                self.assertEqual(1, load.returncode, said)
        return ended, said

    # ---- bad input

    def test_another_schema_version_is_named_and_set_aside(self):
        self.loaded("web.ctf")
        self.make_older()
        self.refused("big.ctf", says=["countrace.tables/0", "countrace.tables/1",
                                      "load --migrate"])
        self.loaded("big.ctf", "--migrate")
        self.holds("big.ctf")
        calls = self.engine.stored(self.database, "SELECT count(*) FROM v0_calls")
        self.assertEqual(100, sum(int(count) for ((count,),) in calls))

    def make_older(self):
        raise NotImplementedError

    def test_passwords_come_from_private_places(self):
        secret = self.folder / "secret"
        secret.write_text(PASSWORD + "\n")
        secret.chmod(0o644)
        self.refused("web.ctf", "--password-file", secret, user=USER,
                     says=["0644", "chmod 600"])
        secret.chmod(0o600)
        self.loaded("web.ctf", "--password-file", secret, user=USER)
        self.assertIn("already", self.loaded(
            "web.ctf", user=USER, environment={"COUNTRACE_LOAD_PASSWORD": PASSWORD}))
        self.refused("web.ctf", user=USER, says=[USER], status=5,
                     environment={"COUNTRACE_LOAD_PASSWORD": "wrong"})
        said = self.refused("web.ctf", user=f"{USER}:hush", status=2,
                            says=["--password-file", "COUNTRACE_LOAD_PASSWORD"])
        self.assertNotIn("hush", said)

    def test_a_server_that_is_not_there_or_silent_is_given_up(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            address = f"{self.engine.scheme}://127.0.0.1:{silent.getsockname()[1]}/x"
            done = run(COUNTRACE, "load", address, "web.ctf", folder=self.folder)
            self.assertEqual(1, done.returncode, done.stderr)
            self.assertIn("refused", done.stderr)
            silent.listen()
            done = run(COUNTRACE, "load", "--timeout", "2s", address, "web.ctf",
                       folder=self.folder)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertRegex(done.stderr, "no answer within 2 s")

    def test_a_server_that_stops_answering_is_given_up(self):
        self.loaded("web.ctf")
        loads = []
        pids = self.engine.pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            loader = threading.Thread(target=lambda: loads.append(
                self.load("web.ctf", "--timeout", "2s")))
            loader.start()
            loader.join(PATIENCE_S)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        self.assertEqual(1, loads[0].returncode, loads[0].stderr)

    def test_what_is_no_trace_and_no_address_is_named(self):
        self.refused("nothing.ctf", says=["nothing.ctf"])
        for address, says in (("mysql://host/db", "clickhouse://"),
                              (f"{self.engine.scheme}://host", "no database"),
                              (f"{self.engine.scheme}://host:0/db", "65535")):
            done = run(COUNTRACE, "load", address, "web.ctf", folder=self.folder)
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn(says, done.stderr)


def main(cases, engine):
    global COUNTRACE, LOAD, WRITER, SYNTHETIC, PIPELINE  # pylint: disable=W0603
    COUNTRACE, LOAD, WRITER, SYNTHETIC, PIPELINE = sys.argv[1:6]
    cases.Engine = engine
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]], defaultTest=cases.__name__)
