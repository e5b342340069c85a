#!/usr/bin/env python3
"""Every option that chooses, orders or adds up rows works on every table of a
report, or is refused by naming what can.

Usage: one_grammar_test.py COUNTRACE DOC_TRACES [unittest options].
"""

import json
import subprocess
import sys
import tempfile
import unittest

COUNTRACE = ""
WRITER = ""
# --by, the member of JSON, and a column that adds up.
TABLES = {
    "process": ("processes", "on_cpu_ns"),
    "thread": ("threads", "on_cpu_ns"),
    "segment": ("segments", "calls"),
    "path": ("segment_paths", "calls"),
    "hook": ("hooks", "hits"),
    "waker": ("wakers", "blocked_ns"),
    "preemptor": ("preemptors", "wait_ns"),
    "syscall": ("syscalls", "calls"),
    "cpu": ("cpus", "wall_ns"),
    "fault": ("faults", "faults"),
}
OWNED = [by for by in TABLES if by not in ("syscall", "cpu")]


class OneGrammar(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([WRITER], cwd=cls.folder.name, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_report(self, *words):
        return subprocess.run([COUNTRACE, "report", *map(str, words), "web.ctf"],
                              cwd=self.folder.name, capture_output=True, text=True,
                              check=False, timeout=60, stdin=subprocess.DEVNULL)

    def rows(self, by, *words):
        done = self.run_report("--by", by, "--format", "json", *words)
        self.assertEqual(0, done.returncode, (by, words, done.stderr))
        return json.loads(done.stdout)[TABLES[by][0]]

    def refused(self, said, *words):
        done = self.run_report(*words)
        self.assertEqual((2, ""), (done.returncode, done.stdout), words)
        self.assertIn(said, done.stderr, words)

    def test_each_option_works_on_each_table(self):
        for by, (_, field) in TABLES.items():
            options = [["--sort", field], ["--columns", field], ["--rows", 1],
                       ["--where", f"{field} > 0"], ["--from", "10%", "--to", "90%"]]
            if by != "cpu":
                options.append(["--process", "*"])
            if by in OWNED:
                options += [["--group-by", one] for one in ("process", "comm", "user", "cgroup")]
            if by in ("thread", "waker", "preemptor"):
                options += [["--thread", "*"], ["--group-by", "thread"]]
            for words in options:
                if by == "path" and words[0] == "--sort":
                    continue  # the order of their tree
                for output in ("text", "json", "jsonl", "csv"):
                    done = self.run_report("--by", by, "--format", output, *words)
                    self.assertEqual(0, done.returncode, (by, output, words, done.stderr))

    def test_what_cannot_be_is_refused_by_naming_what_can(self):
        owned = "--by " + ", ".join([*OWNED, "file", "level"]) + " have"  # none of that in web.ctf
        self.refused(owned, "--by", "cpu", "--process", "server")
        self.refused(owned, "--by", "cpu", "--group-by", "comm")
        self.refused(owned, "--by", "syscall", "--group-by", "comm")
        threads = "--by thread, waker, preemptor, level have"
        for by in ("process", "segment", "path", "hook", "syscall", "cpu"):
            self.refused(threads, "--by", by, "--thread", "server")
            self.refused(threads, "--by", by, "--group-by", "thread")
        self.refused("--by segment", "--by", "path", "--sort", "calls")
        self.refused("--process, --thread, --segment and --where",
                     "--by", "time", "--sort", "on_cpu_ns")
        self.refused("--by waker have", "--by", "segment", "--group-by", "waker.comm")
        self.refused("--group-by?", "--by", "waker", "--group", "comm")

    def test_process_and_thread_choose_rows(self):
        for by in OWNED:
            rows = self.rows(by)
            _, field = TABLES[by]
            of_name = self.rows(by, "--process", "serv*")
            self.assertEqual([row for row in rows if row["comm"] == "server"], of_name, by)
            self.assertTrue(of_name or by == "hook", by)
            self.assertEqual(of_name, self.rows(by, "--process", 4713), by)
            chosen = self.rows(by, "--process", "serv*", "--where", f"{field} == 0") \
                if by != "path" else []
            self.assertEqual([row for row in of_name if row[field] == 0], chosen, by)
        threads = self.rows("thread", "--thread", 4713)
        self.assertEqual([4713], [row["tid"] for row in threads])
        calls = sum(row["calls"] for row in self.rows("syscall"))
        some = sum(row["calls"] for row in self.rows("syscall", "--process", "reader"))
        self.assertTrue(0 < some < calls, (some, calls))
        done = self.run_report("--by", "time", "--process", "absent")
        self.assertEqual(1, done.returncode)
        self.assertIn("report --by process", done.stderr)

    def test_groups_add_up(self):
        for by in OWNED:
            _, field = TABLES[by]
            rows = self.rows(by)
            total = sum(row[field] for row in rows)
            for one in ("comm", "user", "cgroup", "process"):
                groups = self.rows(by, "--group-by", one)
                self.assertEqual(total, sum(row[field] for row in groups), (by, one))
                if one == "user":
                    self.assertEqual({"[unknown]"}, {row["user"] for row in groups})
        done = self.run_report("--by", "segment", "--group-by", "user")
        self.assertIn("does not hold the users of its processes", done.stderr)
        rows = self.rows("waker")
        groups = self.rows("waker", "--group-by", "waker.comm")
        self.assertEqual(len({row["waker"].get("comm") for row in rows}), len(groups))
        self.assertEqual(len(rows), sum(row["rows"] for row in groups))
        segments = self.rows("segment", "--group-by", "segment")
        self.assertEqual(len({row["segment"] for row in self.rows("segment")}), len(segments))
        text = self.run_report("--by", "path", "--group-by", "comm").stdout
        self.assertRegex(text, r"(?m)^  server \(pid 4713\)$")

    def test_columns_choose_in_each_format(self):
        for by, (_, field) in TABLES.items():
            for row in self.rows(by, "--columns", field):
                self.assertLessEqual(set(row), {field, "bounds", "qualities", "counts"}, by)
            text = self.run_report("--by", by, "--format", "csv", "--columns", field).stdout
            self.assertEqual(field, text.splitlines()[0].removesuffix(".incl"), by)
        text = self.run_report("--by", "waker", "--columns", "comm,waker.comm").stdout
        self.assertRegex(text, r"(?m)^ *command +waker\.comm")


if __name__ == "__main__":
    COUNTRACE, WRITER = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
