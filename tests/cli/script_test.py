#!/usr/bin/env python3
"""`countrace script` with filters prints what it prints without, filtered
afterwards; as JSON lines it prints the same records.

Usage: script_test.py COUNTRACE DOC_TRACES SERVER_TRACES HELLO_HOOKS
"""

import fnmatch
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

COUNTRACE, DOC_TRACES, SERVER_TRACES, HELLO_HOOKS = sys.argv[1:5]
KINDS = ("dispatch", "counters", "fork", "exec", "comm", "exit", "fault",
         "process_state", "switch_in", "wakeup")
LINE = re.compile(r"\[(\d+)\.(\d{9})\] (?:cpu-(\d+)|(\d+)/(\d+)|clock) (\S+?):"
                  r"(?: (\{.*\}))?$")


def run(*arguments):
    return subprocess.run([COUNTRACE, *arguments], capture_output=True,
                          text=True, check=False, timeout=120)


def lines_of(*arguments):
    done = run("script", *arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


class Record:
    """One line, taken apart."""

    def __init__(self, line):
        (seconds, ns, cpu, pid, tid, self.event,
         fields) = LINE.match(line).groups()
        self.line = line
        self.time_ns = int(seconds) * 10**9 + int(ns)
        self.cpu = None if cpu is None else int(cpu)
        self.hook = re.sub("__(enter|exit)$", "", self.event)
        self.fields = fields or ""
        if pid is not None:
            self.pids, self.tids = {int(pid)}, {int(tid)}
        else:
            self.pids = self.ids("pid")
            self.tids = self.ids("tid")

    def ids(self, name):
        pattern = rf"[{{,] (?:\w+_)?{name} = (-?\d+)"
        return {int(value) for value in re.findall(pattern, self.fields)}

    def names(self, pids, tids):
        return bool(self.pids & pids or self.tids & tids)


def glob_of(chosen, name):
    """The name itself, or a pattern that also matches it."""
    quoted = re.sub(r"([*?\[\\])", r"\\\1", name)
    return chosen.choice([quoted, quoted[:2] + "*", "*" + quoted[-2:]])


def matches(name, glob):
    """As fnmatch(3): a backslash quotes."""
    return fnmatch.fnmatchcase(name, re.sub(r"\\(.)", r"[\1]", glob))


class Filters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="countrace-script-")
        os.chdir(cls.folder.name)
        for program in (DOC_TRACES, SERVER_TRACES):
            subprocess.run([program], check=True, timeout=60)
        record = run("record", "--kernel", "syscalls,wakeups", "-o",
                     "hello.ctf", "--", HELLO_HOOKS)
        if record.returncode == 5:
            record = run("record", "-o", "hello.ctf", "--", HELLO_HOOKS)
        if record.returncode != 0:
            raise AssertionError(record.stderr)
        cls.traces = sorted(name for name in os.listdir(".")
                            if name.endswith(".ctf"))

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def tasks(self, trace):
        report = json.loads(run("report", "--format", "json", trace).stdout)
        return report["processes"], report["threads"]

    def test_filtered_output_is_the_output_filtered(self):
        chosen = random.Random(18)
        passed = 0
        self.assertGreater(len(self.traces), 3)
        for trace in self.traces:
            records = [Record(line) for line in lines_of(trace)]
            processes, threads = self.tasks(trace)
            for _ in range(12):
                arguments, expected = [], records
                if chosen.random() < 0.6:
                    first, last = sorted(
                        (chosen.choice(records).time_ns,
                         chosen.choice(records).time_ns))
                    if first == last or last >= records[-1].time_ns:
                        continue  # the end of a trace includes its last record
                    arguments += ["--from", str(first), "--to",
                                  f"@{last // 10**9}.{last % 10**9:09}"]
                    expected = [r for r in expected
                                if first <= r.time_ns < last]
                if chosen.random() < 0.5 and processes:
                    row = chosen.choice(processes)
                    by_id = chosen.random() < 0.5
                    who = (str(row["pid"]) if by_id
                           else glob_of(chosen, row["comm"]))
                    pids = {p["pid"] for p in processes
                            if (str(p["pid"]) == who if by_id
                                else matches(p["comm"], who))}
                    tids = {t["tid"] for t in threads if t["pid"] in pids}
                    arguments += ["--process", who]
                    expected = [r for r in expected if r.names(pids, tids)]
                if chosen.random() < 0.4 and threads:
                    row = chosen.choice(threads)
                    arguments += ["--thread", str(row["tid"])]
                    expected = [r for r in expected
                                if r.names(set(), {row["tid"]})]
                if chosen.random() < 0.6:
                    globs = [glob_of(chosen, chosen.choice(records).hook)
                             for _ in range(chosen.randint(1, 2))]
                    for glob in globs:
                        arguments += ["--hook", glob]
                    expected = [r for r in expected
                                if any(matches(r.hook, g) for g in globs)]
                lines = lines_of(*arguments, trace)
                self.assertEqual([r.line for r in expected], lines,
                                 (trace, arguments))
                passed += len(lines)
        self.assertGreater(passed, 1000)

    def test_adjacent_ranges_make_the_whole(self):
        chosen = random.Random(3)
        for trace in self.traces:
            lines = lines_of(trace)
            cuts = sorted(chosen.uniform(0, 100) for _ in range(3))
            edges = ["begin", *(f"{cut:.3f}%" for cut in cuts), "end"]
            parts = []
            for begin, end in zip(edges, edges[1:]):
                parts += lines_of("--from", begin, "--to", end, trace)
            self.assertEqual(lines, parts, trace)

    def test_a_window_is_the_range_around_its_instant(self):
        for trace in self.traces:
            lines = lines_of(trace)
            middle = float(lines[len(lines) // 2][1:].split("]")[0])
            around = lines_of("--at", f"@{middle:.9f}", "--window", "1us",
                              trace)
            self.assertEqual(around, lines_of(
                "--from", f"@{middle - 5e-7:.9f}",
                "--to", f"@{middle + 5e-7:.9f}", trace))
            self.assertTrue(around, trace)

    def test_json_lines_are_the_same_records(self):
        for trace in self.traces:
            records = [Record(line) for line in lines_of(trace)]
            objects = [json.loads(line)
                       for line in lines_of("--format", "jsonl", trace)]
            self.assertEqual(len(records), len(objects))
            for record, entry in zip(records, objects):
                self.assertEqual(record.time_ns, entry["time_ns"])
                self.assertEqual(record.event, entry["event"])
                if record.event == "clock_sample":
                    self.assertFalse({"tid", "pid", "cpu"} & set(entry))
                elif record.cpu is None:
                    self.assertEqual(record.tids, {entry["tid"]})
                    self.assertEqual(record.pids, {entry["pid"]})
                else:
                    self.assertEqual(record.cpu, entry["cpu"])
                self.assertEqual(re.sub(r"[{} ]", "", record.fields),
                                 self.text_of(entry["fields"]))

    def text_of(self, fields):
        parts = []
        for name, value in fields.items():
            if isinstance(value, dict):
                parts.append(f"{name}={self.text_of(value)}")
            elif isinstance(value, str) and not value.startswith("0x"):
                parts.append(f'{name}="{value}"'.replace(" ", ""))
            else:
                parts.append(f"{name}={value}")
        return ",".join(parts)

    def test_what_is_not_there_is_an_error(self):
        for arguments, status, text in (
                (["--process", "absent*"], 1, "--process absent*"),
                (["--thread", "999999"], 1, "--thread 999999"),
                (["--hook", "no:thing"], 1, "--hook"),
                (["--from", "1h"], 2, "is not in the trace"),
                (["--to", "@0"], 2, "is not in the trace"),
                (["--from", "50%", "--to", "20%"], 2, "empty"),
                (["--from", "now"], 2, "not an instant"),
                (["--from", ""], 2, "need an instant"),
                (["--at", "1h"], 2, "is not in the trace"),
                (["--at", "50%", "--to", "60%"], 2, "--at is the middle"),
                (["--window", "1ms"], 2, "--window needs --at")):
            done = run("script", *arguments, "hello.ctf")
            self.assertEqual(status, done.returncode, arguments)
            self.assertIn(text, done.stderr)
            self.assertEqual("", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
