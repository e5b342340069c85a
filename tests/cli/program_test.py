#!/usr/bin/env python3
"""Runs the real `countrace` program as a user or a script would: help texts,
wrong usage, wrong input, exit statuses, quiet pipes.

Usage: program_test.py COUNTRACE HELLO_HOOKS [unittest options].
"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HELP = pathlib.Path(__file__).parents[2] / "cli/help"
VERBS = ["record", "report", "annotate", "diff", "state", "view", "replay", "script", "info",
         "verify", "recover", "export", "import", "hooks", "snapshot", "stat",
         "list", "doctor", "help", "version"]
READING_VERBS = ["report", "state", "script", "view", "info", "verify", "recover",
                 "export"]
# Arguments that a verb requires besides the trace.
NEEDED = {"state": ["--at", "end"],
          "export": ["--to", "html", "-o", "page.html"]}
COUNTRACE = ""
HELLO_HOOKS = ""


def run(*arguments, **options):
    """The finished process; its output is text by default."""
    options.setdefault("text", True)
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", 60)
    return subprocess.run([COUNTRACE, *arguments], capture_output=True,
                          check=False, **options)


def options_of(verb):
    """All options that the help of `verb` and its topics describe."""
    options = re.findall(r"(?m)^(?:  -\w, |      )(--[a-z-]+)",
                         run("help", verb, "all").stdout)
    return list(dict.fromkeys(options))


class InFolder(unittest.TestCase):
    """Each test has a folder of its own, which is its current directory."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="countrace-cli-"))
        self.before = os.getcwd()
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(self.before)
        shutil.rmtree(self.folder)

    def record(self, *arguments, **options):
        """Records hooks only: works without privilege, and makes small traces.
        """
        return run("record", "--no-kernel", *arguments, **options)


class Help(InFolder):
    PAGE_LINES = 50  # two screens

    def help(self, *arguments):
        done = run("help", *arguments)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def text(self, name):
        return (HELP / f"{name}.txt").read_text()

    def topics(self, name):
        return re.findall(r"(?m)^topic (\w+): ", self.text(name))

    def test_overview_names_every_verb_with_its_summary(self):
        overview = self.help()
        self.assertEqual(overview, run("--help").stdout)
        for verb in VERBS:
            summary = self.text(verb).splitlines()[0]
            self.assertIn(f"\n  {verb:<9} {summary}\n", overview)

    def test_each_verb_prints_its_text_and_teaches(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                page = self.help(verb)
                self.assertEqual(page, run(verb, "--help").stdout)
                self.assertTrue(page.startswith(f"countrace {verb}: "))
                shown = iter(self.help(verb, "all").splitlines())
                for line in self.text(verb).splitlines()[1:]:
                    if line.startswith(("@include ", "topic ")):
                        continue
                    self.assertIn(line, shown)  # all lines, in this order
                if verb != "version":
                    self.assertIn("examples:", page)

    def test_a_page_fits_two_screens_of_80_columns(self):
        for name in VERBS + ["trace"]:
            for topic in [[], *[[each] for each in self.topics(name)]]:
                with self.subTest(name=name, topic=topic):
                    lines = self.help(name, *topic).splitlines()
                    self.assertLessEqual(len(lines), self.PAGE_LINES)
                    self.assertLessEqual(max(map(len, lines)), 80)

    def test_each_topic_is_listed_and_is_a_part_of_all(self):
        for verb in VERBS:
            for topic in self.topics(verb):
                with self.subTest(verb=verb, topic=topic):
                    self.assertRegex(self.help(verb), rf"(?m)^  {topic} ")
                    self.assertIn(self.help(verb, topic),
                                  self.help(verb, "all"))

    def test_each_option_of_a_text_is_one_of_the_verb(self):
        # The parser checks that a text has each option of its verb.
        for verb in VERBS:
            for option in set(options_of(verb)) - {"--help"}:
                with self.subTest(verb=verb, option=option):
                    # An option with a value consumes the first of the two.
                    done = run(verb, option, *["--no-such-option"] * 2)
                    self.assertEqual(2, done.returncode, done)
                    self.assertNotIn(f"unknown option {option}", done.stderr)


class WrongUsage(InFolder):
    def check_usage(self, arguments, *expected):
        done = run(*arguments)
        self.assertEqual(2, done.returncode, done)
        self.assertEqual("", done.stdout)
        for text in expected:
            self.assertIn(text, done.stderr)
        self.assertIn("countrace help", done.stderr)
        self.assertEqual([], os.listdir(), "wrong usage must leave nothing")

    def test_wrong_usage_is_named_with_a_hint(self):
        cases = [
            ([], "verb is missing"),
            (["recrod"], "recrod", "did you mean `record`?"),
            (["\x1b[31mx"], "\\x1b[31mx"),
            (["help", "recrod"], "did you mean `record`?"),
            (["help", "record", "trigers"], "did you mean `triggers`?"),
            (["help", "version", "dump"], "no topics"),
            (["report", "--frmat", "json"], "--frmat", "--format?"),
            (["report", "--format", "xml"], "xml", "json"),
            (["report", "--by", "color"], "color", "segment"),
            (["report", "--by", "proces"], "did you mean process?"),
            (["report", "--rows", "many"], "many"),
            (["report", "--every", "5ms"], "--every", "--by time"),
            (["report", "--by", "time", "--every", "soon"], "soon", "10s"),
            (["report", "--group", "thread"], "--group", "--by preemptor"),
            (["report", "--by", "waker", "--group", "cgroup"], "cgroup"),
            (["report", "--group-by", "color"], "color", "cgroup"),
            (["report", "--by", "user", "--group-by", "comm"],
             "--by process"),
            (["report", "--by", "thread", "--group-by", "comm"],
             "--by process"),
            (["report", "--by", "time", "--fold-recursion"],
             "--fold-recursion", "call paths"),
            (["report", "--by", "function", "--fold-recursion"],
             "--fold-recursion", "--by calltree"),
            (["report", "--by", "callees"], "--function", "whose callees"),
            (["report", "--at", "5ms", "--to", "1s"], "--at", "--window"),
            (["report", "--window", "5ms"], "--window needs --at"),
            (["report", "--slowest", "3"], "--slowest 3", "--slowest 10"),
            (["report", "--slowest", "0", "a:b"], "--slowest 0", "1 to"),
            (["report", "--slowest", "many", "a:b"], "--slowest many"),
            (["report", "--slowest", "3", "a:b", "--by", "path"],
             "single calls", "--by"),
            (["report", "--at", ""], "--at", "help state instants"),
            (["report", "--from", "1ms", "--metric", "x = cycles", "--with",
              "a=b.ctf"], "--with", "whole traces"),
            (["verify", "a.ctf", "b.ctf"], "b.ctf"),
            (["report", "--color", "pink"], "pink", "never"),
            (["info", "--format", "csv"], "csv"),
            (["view", "--port", "70000"], "70000"),
            (["view", "a.ctf", "--beside", "b.ctf", "--at", "5ms"],
             "--beside shows two traces", "--at"),
            (["view", "a.ctf", "--beside", ""], "--beside"),
            (["export", "a.ctf", "-o", "a.html"], "--to html"),
            (["export", "a.ctf", "--to", "svg"], "svg", "html"),
            (["export", "a.ctf", "--to", "html"], "-o FILE"),
            (["diff"], "BEFORE AFTER"),
            (["diff", "--thresold", "5%", "a.ctf", "b.ctf"], "--threshold?"),
            (["state"], "--at 50%", "--next"),
            (["state", "--next", "page"], "page", "dispatch"),
            (["state", "--next", "hook", "--previous", "hook"], "exclude"),
            (["state", "--at", "5ms", "--of", "7"], "--of", "--next"),
            (["list"], "tracepoints or metrics"),
            (["list", "metrics", "x.ctf"], "x.ctf"),
            (["report", "--metric", "x"], "--metric:1:1", "NAME = EXPRESSION"),
            (["report", "--metric", "x = (cycles"], "--metric:1:12",
             "\n  (cycles\n         ^\n"),
            (["report", "--with", "a=b.ctf"], "--metric"),
            (["report", "--rules", "gone.toml"], "gone.toml"),
            (["report", "--where", "comm = 'x'"], "--where:1:6", "write ==",
             "\n  comm = 'x'\n       ^\n"),
            (["report", "--by", "time", "--where", "pid == 1", "--process",
              "x"], "--where", "--process"),
            (["record", "-p", "x"], "-p x", "process id"),
            (["record", "-p", "0"], "-p 0", "process id"),
            (["record", "-a", "-p", "1"], "-a", "-p"),
            (["record", "--backend", "dtrace", "--", "true"], "dtrace", "perf"),
            (["record", "--kernel", "syscals", "--", "true"], "syscals",
             "wakeups"),
            (["record", "--kernel", "wakeups", "--no-kernel", "--", "true"],
             "--no-kernel"),
            (["list", "dreams"], "dreams"),
            (["list", "events", "x.ctf"], "x.ctf"),
            (["version", "1"], "1"),
            (["record"], "nothing to record"),
            (["record", "--sizes", "64M", "true"], "--sizes"),
            (["record", "--size", "64Q", "--mode", "discard", "true"], "64Q",
             "64M"),
            (["record", "--size", "64M", "true"], "--mode discard"),
            (["record", "--for", "soon", "-a"], "soon", "10s"),
            (["record", "--mode", "flight", "true"], "flight", "discard"),
            (["record", "--flight", "64", "true"], "--flight 64", "256K"),
            (["record", "-o"], "-o"),
            (["record", "--hook-events", "page-faults", "--dump",
              "hello:* evry 5", "true"], "--dump:1:9", "evry", "at most every"),
            (["record", "--dump", "every 5", "true"], "--hook-events"),
            (["record", "--format", "json", "true"], "--dry-run-rules"),
            (["record", "--dry-run-rules", "x.ctf"], "--dump"),
            (["record", "--dry-run-rules", "x.ctf", "--dump", "every 5",
              "true"], "no command"),
        ]
        for arguments, *expected in cases:
            with self.subTest(arguments=arguments):
                self.check_usage(arguments, *expected)

    def test_unknown_event_is_named_with_the_way_to_find_one(self):
        done = run("record", "-e", "page-fautls", "true")
        self.assertEqual(2, done.returncode, done)
        self.assertIn("page-fautls", done.stderr)
        self.assertIn("countrace list events", done.stderr)


class WrongInput(InFolder):
    def check_refused(self, path, *expected):
        for verb in READING_VERBS:
            with self.subTest(verb=verb, path=path):
                done = run(verb, *NEEDED.get(verb, []), path)
                self.assertEqual(1, done.returncode, done)
                if verb != "verify":  # its findings are data
                    self.assertEqual("", done.stdout)
                    self.assertIn(f"countrace {verb}: ", done.stderr)
                for text in expected:
                    self.assertIn(text, done.stdout + done.stderr)

    def test_missing_trace(self):
        self.check_refused("gone.ctf", "gone.ctf")

    def test_missing_default_trace_is_named(self):
        self.assertIn("countrace.ctf", run("report").stderr)

    def test_file_instead_of_a_folder(self):
        pathlib.Path("file.ctf").write_text("no trace")
        self.check_refused("file.ctf", "file.ctf")

    def test_empty_folder(self):
        os.mkdir("empty.ctf")
        self.check_refused("empty.ctf", "empty.ctf")

    def test_foreign_trace(self):
        os.mkdir("foreign.ctf")
        pathlib.Path("foreign.ctf/metadata").write_text(
            "/* CTF 1.8 */\ntrace { major = 1; minor = 8; "
            "byte_order = le; };\n")
        pathlib.Path("foreign.ctf/stream_0").write_bytes(b"\0" * 4096)
        self.check_refused("foreign.ctf", "foreign.ctf")
        self.assertEqual(["metadata", "stream_0"],
                         sorted(os.listdir("foreign.ctf")))

    def test_name_with_control_characters_is_escaped(self):
        for verb in READING_VERBS:
            with self.subTest(verb=verb):
                done = run(verb, *NEEDED.get(verb, []),
                           "evil\x1b]0;x\x07.ctf")
                self.assertNotIn("\x1b", done.stderr)
                self.assertIn("evil\\x1b]0;x\\x07.ctf", done.stderr)

    def test_files_that_are_named_are_regular_ones(self):
        """Others can wait for ever, have no end, or do something when they are opened."""
        os.mkfifo("pipe")
        os.symlink("/dev/zero", "device")
        os.mkdir("trace.ctf")
        pathlib.Path("trace.ctf/metadata").write_text(
            "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\n")
        pathlib.Path("trace.ctf/stream_0").write_bytes(b"\0" * 64)
        for file in ("./pipe", "./device"):
            for words in (["import", "--map", file, "-o", "new.ctf", "trace.ctf"],
                          ["stat", "--cost", file, "--", "true"],
                          ["stat", "--cost", "r10000", "--counts", file],
                          ["report", "--rules", file, "trace.ctf"],
                          ["list", "metrics", "--rules", file],
                          ["record", "-o", "new.ctf", "--hook", f"uprobe:{file}:x", "--", "true"],
                          ["record", "-o", "new.ctf", "--hook", f"usdt:{file}:a:b", "--", "true"],
                          ["list", "functions", file],
                          ["list", "probes", file]):
                with self.subTest(words=words):
                    done = run(*words)
                    self.assertIn(done.returncode, (1, 2), done)
                    self.assertIn("no regular file", done.stderr)

    def test_list_hooks_of_neither_trace_nor_program(self):
        pathlib.Path("text").write_text("plain")
        done = run("list", "hooks", "text")
        self.assertEqual(1, done.returncode)
        self.assertIn("text", done.stderr)


class ExitStatus(InFolder):
    def test_status_of_the_command_is_passed_through(self):
        for status in (0, 1, 3, 42, 255):
            with self.subTest(status=status):
                done = self.record("--force", "--", "sh", "-c",
                                   f"exit {status}")
                self.assertEqual(status, done.returncode, done.stderr)

    def test_signal_of_the_command_is_128_plus_its_number(self):
        for name in ("TERM", "KILL", "SEGV"):
            with self.subTest(signal=name):
                done = self.record("--force", "--", "sh", "-c",
                                   f"ulimit -c 0; kill -{name} $$")
                self.assertEqual(128 + getattr(signal, "SIG" + name),
                                 done.returncode, done.stderr)

    def test_command_not_found_is_127(self):
        done = self.record("--", "./no-such-command")
        self.assertEqual(127, done.returncode, done.stderr)
        self.assertIn("no-such-command", done.stderr)

    def test_command_that_cannot_be_run_is_126(self):
        pathlib.Path("data").write_text("x")
        os.chmod("data", 0o644)
        done = self.record("--", "./data")
        self.assertEqual(126, done.returncode, done.stderr)
        self.assertIn("data", done.stderr)

    def test_output_of_the_command_is_untouched(self):
        done = self.record("-q", "--", "sh", "-c",
                           "printf 'out\\0\\377'; printf err >&2", text=False)
        self.assertEqual((0, b"out\0\xff", b"err"),
                         (done.returncode, done.stdout, done.stderr))

    def test_command_inherits_stdin_and_ignored_signals(self):
        done = self.record("-q", "--", "cat", stdin=None, input="through")
        self.assertEqual("through", done.stdout)
        done = self.record(
            "-q", "--force", "--", "sh", "-c",
            "grep SigIgn /proc/self/status",
            preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
        ignored = int(done.stdout.split()[1], 16)
        self.assertTrue(ignored & (1 << (signal.SIGPIPE - 1)), done.stdout)

    def test_dashes_after_the_command_belong_to_it(self):
        done = self.record("-q", "printf", "%s|", "-a", "--", "--force")
        self.assertEqual("-a|--|--force|", done.stdout)

    def test_existing_trace_is_kept_unless_forced(self):
        self.assertEqual(0, self.record("--", "true").returncode)
        before = sorted(os.listdir("countrace.ctf"))
        done = self.record("--", "touch", "ran")
        self.assertEqual(1, done.returncode, done)
        self.assertIn("--force", done.stderr)
        self.assertEqual(before, sorted(os.listdir("countrace.ctf")))
        self.assertFalse(os.path.exists("ran"), "the command must not run")
        self.assertEqual(0, self.record("--force", "--", "true").returncode)

    def test_a_newline_in_a_name_forges_no_row(self):
        forged = "x\nstate          forged\nok       forged: yes"
        done = self.record("-o", "forged.ctf", "--", "true", forged)
        self.assertEqual(0, done.returncode, done.stderr)
        lines = run("info", "forged.ctf").stdout.splitlines()
        self.assertEqual(1, sum(line.startswith("state ") for line in lines))
        self.assertTrue(any(line.startswith("command ") and "x\\x0astate" in line
                            for line in lines), lines)
        doctor = run("doctor", "-e", forged)
        self.assertNotIn("\nok       forged", doctor.stdout)

    def test_force_never_removes_what_is_no_trace(self):
        os.mkdir("precious")
        pathlib.Path("precious/thesis.txt").write_text("years of work")
        done = self.record("--force", "-o", "precious", "--", "true")
        self.assertNotEqual(0, done.returncode)
        self.assertEqual("years of work",
                         pathlib.Path("precious/thesis.txt").read_text())


class Traces(InFolder):
    """Verbs over a real trace of examples/hello_hooks."""

    def setUp(self):
        super().setUp()
        done = self.record("-o", "hello.ctf", "--", HELLO_HOOKS)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("hello:work 100\n", done.stdout)
        self.assertIn("nothing was lost", done.stderr)

    def test_report_has_the_true_counts(self):
        done = run("report", "--format", "json", "hello.ctf")
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual("countrace.report/1", report["schema"])
        segments = {row["segment"]: row for row in report["segments"]}
        self.assertEqual(100, segments["hello:work"]["calls"])
        self.assertEqual(0, report["loss"]["discarded_events"])

    def replay(self):
        """(time_ns, enters, hook) of each record of a hook, from script."""
        records = []
        for line in run("script", "hello.ctf").stdout.splitlines():
            match = re.match(r"\[(\d+)\.(\d+)\] \d+/\d+ (\S+?)(__enter|__exit)?:"
                             r"(?: |$)", line)
            if match:
                seconds, ns, hook, edge = match.groups()
                records.append((int(seconds) * 10**9 + int(ns), edge, hook))
        self.assertEqual(300, len(records))
        return records

    def states(self, *arguments):
        done = run("state", *arguments, "--format", "json", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        document = json.loads(done.stdout)
        self.assertEqual("countrace.state/1", document["schema"])
        return document["states"]

    def test_state_equals_a_replay_of_the_script(self):
        begun = None
        records = self.replay()
        for number, (time_ns, edge, _) in enumerate(records[:-1]):
            begun = {"__enter": time_ns, "__exit": None}.get(edge, begun)
            if number % 37 and number > 3:
                continue
            if records[number + 1][0] == time_ns:
                continue  # not the last one of its instant
            for at_ns in {time_ns, records[number + 1][0] - 1}:
                (state,) = self.states("--at", str(at_ns))
                self.assertEqual(at_ns, state["t_ns"])
                open_now = [(call["segment"], call["inside_ns"])
                            for thread in state["threads"]
                            for call in thread["segments"]]
                self.assertEqual(
                    [] if begun is None else
                    [("hello:work", at_ns - begun)], open_now)

    def test_steps_are_the_records_of_the_script(self):
        records = self.replay()
        edges = [time for time, edge, _ in records if edge]
        hits = [time for time, edge, _ in records if not edge]
        for kind, times in (("segment", edges), ("hook", hits)):
            steps = self.states("--next", kind, "--at", "begin", "--steps",
                                "1000")
            # A segment that begins at the trace's beginning is not after it.
            self.assertIn([state["t_ns"] for state in steps],
                          (times, times[1:]))
            steps = self.states("--previous", kind, "--steps", "1000",
                                "--of", "hello:*")
            self.assertEqual(times[::-1], [state["t_ns"] for state in steps])
            self.assertIn("hello:", steps[0]["step"])
        done = run("state", "--next", "loss", "--at", "begin", "hello.ctf")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("loss", done.stderr)

    def test_state_comes_in_each_format(self):
        seconds, ns = divmod(self.replay()[1][0], 10**9)
        text = run("state", "--at", f"@{seconds}.{ns:09}", "hello.ctf").stdout
        for expected in ("THREADS", "hello:work", "hello_hooks", "BEFORE"):
            self.assertIn(expected, text)
        lines = run("state", "--next", "hook", "--steps", "5", "--format",
                    "jsonl", "hello.ctf").stdout.splitlines()
        self.assertEqual(5, len([json.loads(line) for line in lines]))
        for filters, expected in ((["--of", "absent:*"], "list hooks"),
                                  (["--of", "1"], "report --by thread")):
            done = run("state", "--next", "hook", *filters, "hello.ctf")
            self.assertEqual(1, done.returncode, done)
            self.assertIn(expected, done.stderr)
        done = run("state", "--at", "1h", "hello.ctf")
        self.assertEqual(2, done.returncode, done)
        self.assertIn("`end` is its end", done.stderr)

    def test_intervals_add_up_to_the_calls_of_the_report(self):
        calls = sum(edge == "__enter" for _, edge, _ in self.replay())
        done = run("report", "--by", "time", "--every", "3ms", "--segment",
                   "hello:*", "--format", "json", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        document = json.loads(done.stdout)
        self.assertEqual("countrace.over_time/1", document["schema"])
        intervals = document["intervals"]
        self.assertEqual(calls, sum(interval["segments"]["calls"]
                                    for interval in intervals))
        # Each interval but the last has the requested length.
        self.assertEqual([3_000_000] * (len(intervals) - 1),
                         [interval["end_ns"] - interval["begin_ns"]
                          for interval in intervals[:-1]])
        segments = json.loads(run("report", "--format", "json",
                                  "hello.ctf").stdout)["segments"]
        self.assertEqual(sum(row["wall_ns"]["incl"] for row in segments),
                         sum(interval["segments"]["wall_ns"]
                             for interval in intervals))

    def test_ranges_add_up_to_the_report(self):
        def report(*options):
            done = run("report", "--format", "json", *options, "hello.ctf")
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            return json.loads(done.stdout)

        def sums(document):
            rows = document["segments"]
            return (sum(row["calls"] for row in rows),
                    sum(row["wall_ns"]["incl"] for row in rows))
        whole = report()
        parts = [sums(report(*options)) for options in
                 (["--to", "30%"], ["--from", "30%", "--to", "60%"],
                  ["--from", "60%"])]
        self.assertEqual(sums(whole), tuple(map(sum, zip(*parts))))
        self.assertEqual(whole, report("--from", "begin", "--to", "end"))
        done = run("report", "--at", "50%", "--window", "10us", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"\nonly from @\d+\.\d+ to @\d+\.\d+\n")

    def test_slowest_calls_are_those_of_the_script(self):
        enters, calls = {}, []
        for line in run("script", "--format", "jsonl", "--hook", "hello:work",
                        "hello.ctf").stdout.splitlines():
            record = json.loads(line)
            if record["event"].endswith("__enter"):
                enters[record["tid"]] = record
            else:
                enter = enters.pop(record["tid"])
                calls.append((record["time_ns"] - enter["time_ns"],
                              -enter["time_ns"], enter["fields"]))
        calls.sort(key=lambda call: call[:2], reverse=True)

        def slowest(*options):
            done = run("report", "--slowest", "7", *options, "hello.ctf")
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            return done.stdout
        document = json.loads(slowest("hello:*", "--format", "json"))
        self.assertEqual("countrace.slowest/1", document["schema"])
        self.assertEqual([call[:2] for call in calls[:7]],
                         [(row["wall_ns"], -row["begin_ns"])
                          for row in document["calls"]])
        for row, (_, _, fields) in zip(document["calls"], calls):
            for value in fields.values():
                self.assertIn(f"= {value}", row["payload"])
            self.assertEqual("exact", row["quality"])
            if row["on_cpu_ns"] is not None:
                self.assertLessEqual(row["on_cpu_ns"] + row["wait_ns"],
                                     row["wall_ns"])
        # The place that it names is in the trace, and has the call.
        at = document["calls"][0]["view"].split()[3]
        state = json.loads(run("state", "--at", at, "--format", "json",
                               "hello.ctf").stdout)["states"][0]
        self.assertIn("hello:work", json.dumps(state))
        self.assertEqual(8, len(slowest("hello:work", "--format",
                                        "csv").splitlines()))
        self.assertEqual(8, len(slowest("hello:work").splitlines()))
        half = json.loads(slowest("hello:work", "--to", "50%", "--format",
                                  "json"))["calls"]
        middle = max(row["begin_ns"] for row in half)
        self.assertEqual(
            sorted((call[:2] for call in calls if -call[1] <= middle),
                   reverse=True)[:7],
            [(row["wall_ns"], -row["begin_ns"]) for row in half])

    def test_slowest_of_no_segment_names_near_ones(self):
        for name in ("work", "hello:wrk"):
            done = run("report", "--slowest", "3", name, "hello.ctf")
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn("did you mean hello:work?", done.stderr)

    def test_around_is_another_name_of_at(self):
        printed = [run("report", option, "50%", "--window", "2ms", "hello.ctf")
                   for option in ("--at", "--around")]
        self.assertEqual(0, printed[0].returncode, printed[0].stderr)
        self.assertEqual(printed[0].stdout, printed[1].stdout)

    def test_a_range_outside_the_trace_is_refused(self):
        for options, expected in (
                (["--from", "1000s"], "is not in the trace"),
                (["--from", "60%", "--to", "30%"], "the range is empty"),
                (["--at", "noon"], "not an instant: noon"),
                (["--around", "noon"], "not an instant: noon"),
                (["--around", ""], "need an instant"),
                (["--around", "1ms", "--at", "1ms"], "give one of them"),
                (["--around", "1ms", "--to", "2ms"], "middle of --window")):
            done = run("report", *options, "hello.ctf")
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(expected, done.stderr)

    def test_wrong_questions_over_time_have_a_remedy(self):
        for options, expected in (
                (["--every", "1ns"], "the shortest that can be is --every"),
                (["--segment", "absent:*"], "list hooks"),
                (["--process", "absent"], "report --by process")):
            done = run("report", "--by", "time", *options, "hello.ctf")
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn(expected, done.stderr)

    def test_each_table_comes_in_each_format(self):
        for by in ("process", "thread", "segment", "path", "cpu", "hook",
                   "waker", "preemptor", "syscall", "time", "phase"):
            for output in ("text", "json", "jsonl", "csv"):
                with self.subTest(by=by, output=output):
                    done = run("report", "--by", by, "--format", output,
                               "hello.ctf")
                    self.assertEqual(0, done.returncode, done.stderr)
                    # The page prints more than an empty table.
                    if by == "waker":
                        self.assertIn("no wake-ups were recorded",
                                      done.stdout + done.stderr)
                    elif by == "syscall":
                        self.assertIn("no system calls were recorded",
                                      done.stdout + done.stderr)
                    else:
                        self.assertEqual("", done.stderr)
                    if output == "json":
                        json.loads(done.stdout)
                    if output == "jsonl":
                        for line in done.stdout.splitlines():
                            json.loads(line)

    def where(self, expression, *arguments):
        done = run("report", "--format", "json", "--where", expression,
                   *arguments, "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_where_shows_the_rows_of_which_it_is_true(self):
        whole = json.loads(
            run("report", "--format", "json", "hello.ctf").stdout)
        wall = whole["segments"][0]["wall_ns"]["incl"]
        some = self.where('segment =~ "^hello:" && calls == 100 && '
                          f"wall_ns <= {wall / 1e6:.6f}ms")
        self.assertEqual(whole["segments"], some["segments"])
        self.assertEqual(whole["segment_paths"], some["segment_paths"])
        self.assertNotIn("processes", some)
        tables = some["where"]["tables"]
        self.assertEqual(["segment", "calls", "wall_ns"],
                         tables["processes"]["missing"])
        self.assertEqual({"selected": wall, "total": wall, "of": "rows"},
                         tables["segments"]["shares"]["wall_ns.excl"])
        self.assertEqual(whole["books"], some["books"])
        none = self.where(f"wall_ns.incl > {wall}", "--by", "segment")
        self.assertEqual([], none["segments"])
        self.assertEqual({"selected": 0, "total": wall, "of": "rows"},
                         none["where"]["tables"]["segments"]["shares"]
                         ["wall_ns.excl"])
        # The trace has no kernel records: on-CPU time is unknown, so neither a
        # condition on it nor its negation holds.
        for unknown in ("on_cpu_ns >= 0", "!(on_cpu_ns >= 0)"):
            self.assertEqual([], self.where(unknown)["processes"])

    def test_where_works_with_metrics_and_over_time(self):
        found = self.where('segment == "hello:work"', "--metric",
                           "x = wall_ns / calls")
        self.assertEqual(["hello:work"], [row["segment"] for row in
                                          found["tables"]["segment"]])
        self.assertNotIn("process", found["tables"])
        self.assertEqual(
            1, found["statistics"]["segment"]["x"]["count"]["value"])
        none = self.where('segment == "absent"', "--metric",
                          "x = wall_ns / calls")
        self.assertEqual([], none["tables"]["segment"])
        everything, some = (json.loads(run(
            "report", "--by", "time", "--format", "json", *choice,
            "hello.ctf").stdout)["intervals"] for choice in (
                ["--segment", "hello:work"],
                ["--where", "segment =~ 'work$' && calls >= 100"]))
        calls = [row["segments"]["calls"] for row in some]
        self.assertEqual(100, sum(calls))
        self.assertEqual([row["segments"]["calls"] for row in everything],
                         calls)
        done = run("report", "--by", "phase", "--where", "comm != ''",
                   "hello.ctf")
        self.assertEqual(0, done.returncode, done.stderr)
        done = run("report", "--by", "time", "--where", "pid == 0",
                   "hello.ctf")
        self.assertEqual(1, done.returncode)
        self.assertIn("selects no process", done.stderr)

    def test_where_names_what_there_is(self):
        done = run("report", "--where", "com == 'x'", "hello.ctf")
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("--where:1:1: unknown field `com`; did you mean `comm`?"
                      "\n  com == 'x'\n  ^\nfields of processes: pid, comm,",
                      done.stderr)
        done = run("report", "--by", "thread", "--where", "calls > 1",
                   "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("rows of threads have no field `calls`", done.stderr)
        # CSV holds one table: that of processes by default.
        done = run("report", "--format", "csv", "--where", "calls > 1",
                   "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("rows of processes have no field", done.stderr)

    def test_csv_says_that_it_is_one_table_of_several(self):
        done = run("report", "--format", "csv", "hello.ctf")
        self.assertEqual(0, done.returncode)
        self.assertIn("one table, here that of processes", done.stderr)
        done = run("report", "--format", "csv", "--by", "process",
                   "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_columns(self):
        done = run("report", "--format", "csv", "--by", "segment", "--columns",
                   "segment,calls,wall_ns", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual("segment,calls,wall_ns.incl",
                         done.stdout.splitlines()[0])
        for arguments, words in (
                (["--columns", "cals", "--by", "segment"], "`calls`"),
                (["--columns", "calls", "--by", "process"], "no column"),
                (["--columns", "calls", "--format", "json"], "text and CSV"),
                (["--columns", "calls", "--by", "time"], "text and CSV")):
            done = run("report", *arguments, "hello.ctf")
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(words, done.stderr)

    def test_a_mapping_of_an_own_trace_is_refused(self):
        for verb in ("report", "script"):
            done = run(verb, "--map", "shop.toml", "hello.ctf")
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn("--map is for traces of other tools", done.stderr)

    def test_functions_of_a_program_are_listed(self):
        done = run("list", "functions", HELLO_HOOKS, "ma?n", "--format", "json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        rows = json.loads(done.stdout)["functions"]
        self.assertEqual([("main", "segment")],
                         [(row["function"], row["kind"]) for row in rows])
        for arguments in (["functions"], ["events", "a", "b"],
                          ["hooks", HELLO_HOOKS, "x"]):
            self.assertEqual(2, run("list", *arguments).returncode)

    def test_probes_of_a_program_without_any(self):
        done = run("list", "probes", "/bin/true", "--format", "csv")
        self.assertEqual((0, "probe,kind,places,arguments\n"),
                         (done.returncode, done.stdout))
        self.assertIn("/bin/true contains no USDT probe", done.stderr)

    def metrics(self, *arguments):
        done = run("report", "--format", "json", *arguments, "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_metrics_are_those_of_the_counts(self):
        counts = json.loads(
            run("report", "--format", "json", "hello.ctf").stdout)
        self.assertEqual(100, counts["segments"][0]["calls"])
        rules = pathlib.Path("my.toml")
        rules.write_text('[metric.per_call]\nexpr = "wall_ns / calls"\n'
                         'unit = "us/call"\n')
        found = self.metrics("--rules", "my.toml", "--metric",
                             "twice = 2 * per_call", "--metric",
                             "p = `page-faults` / calls", "--metric",
                             "n = count(segment.per_call)")
        self.assertEqual("countrace.metrics/1", found["schema"])
        self.assertEqual(["per_call", "twice", "p", "n"],
                         [rule["metric"] for rule in found["rules"]])
        row = found["tables"]["segment"][0]
        self.assertEqual("hello:work", row["segment"])
        wall = counts["segments"][0]["wall_ns"]["incl"]
        self.assertAlmostEqual(wall / 100 / 1000,
                               row["metrics"]["per_call"]["value"], places=6)
        self.assertEqual("exact", row["metrics"]["per_call"]["quality"])
        self.assertAlmostEqual(2 * wall / 100,
                               row["metrics"]["twice"]["value"], places=3)
        # Without kernel records faults are not counted.
        self.assertEqual({"value": None, "absent": "needs page-faults"},
                         row["metrics"]["p"])
        self.assertEqual(
            1, found["tables"]["trace"][0]["metrics"]["n"]["value"])

    def test_other_traces_are_known_by_their_label(self):
        run("record", "--no-kernel", "-q", "-o", "two.ctf", "--", HELLO_HOOKS)
        found = self.metrics("--with", "two=two.ctf", "--metric",
                             "ratio = @two.duration_ns / duration_ns",
                             "--metric", "n = count(traces.duration_ns)")
        row = found["tables"]["trace"][0]["metrics"]
        self.assertGreater(row["ratio"]["value"], 0)
        self.assertEqual(2, row["n"]["value"])

    def test_metrics_come_in_each_format_and_table(self):
        for by in ("process", "thread", "segment", "path", "cpu"):
            for output in ("text", "json", "jsonl", "csv"):
                with self.subTest(by=by, output=output):
                    done = run("report", "--metrics", "--by", by, "--format",
                               output, "hello.ctf")
                    self.assertEqual((0, ""), (done.returncode, done.stderr))
        done = run("report", "--metrics", "--by", "hook", "hello.ctf")
        self.assertEqual(2, done.returncode)

    def test_metrics_are_chosen_by_glob(self):
        found = self.metrics("--metrics=cache_*")
        self.assertEqual(["cache_miss_ratio", "cache_mpki"],
                         [rule["metric"] for rule in found["rules"]])
        done = run("report", "--metrics=cache_missratio", "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("did you mean `cache_miss_ratio`?", done.stderr)

    def test_wrong_names_of_a_rule_have_their_place(self):
        pathlib.Path("my.toml").write_text(
            '[metric.x]\nexpr = "cylces / instructions"\n')
        done = run("report", "--rules", "my.toml", "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("my.toml:2:9: unknown event, quantity or metric "
                      "`cylces`; did you mean `cycles`?\n"
                      "  cylces / instructions\n  ^\n", done.stderr)

    def test_metric_of_another_table_is_said(self):
        done = run("report", "--by", "thread", "--metric", "x = wall_ns/calls",
                   "hello.ctf")
        self.assertEqual(0, done.returncode)
        self.assertIn("`x` is not of this table, only of segment, path",
                      done.stderr)

    def test_listed_metrics_are_the_shipped_ones(self):
        done = run("list", "metrics")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"(?m)^ipc +ratio +instructions / cycles "
                                      r"+instructions, cycles$")
        rows = json.loads(run("list", "metrics", "--format", "json").stdout)
        for row in rows["metrics"]:
            self.assertTrue(row["description"], row)

    def test_dry_run_says_what_the_ruled_recording_gives(self):
        rules = ["--dump", "hello:work if arg0 > 200000 every 7",
                 "--dump", "hello:s?m every 3"]
        counters = ["--hook-events", "page-faults,task-clock"]
        done = run("record", "--dry-run-rules", "hello.ctf", *rules)
        self.assertEqual(2, done.returncode, done)
        self.assertIn("--hook-events", done.stderr)
        done = run("record", "--dry-run-rules", "hello.ctf", *rules,
                   *counters, "--format", "json")
        self.assertEqual(0, done.returncode, done.stderr)
        table = json.loads(done.stdout)
        self.assertEqual("countrace.dump_rules/1", table["schema"])
        work, total_sum, none, total = table["rules"]
        # 80 calls are larger; each 7th of these, enter and exit.
        self.assertEqual((1, 200, 22, 22 * 24, "exact"),
                         (work["hooks"], work["records"], work["dumps"],
                          work["bytes"], work["quality"]))
        self.assertEqual((100, 33), (total_sum["records"], total_sum["dumps"]))
        self.assertEqual((0, 0), (none["hooks"], none["dumps"]))
        self.assertEqual(55, total["dumps"])

        done = self.record("-o", "ruled.ctf", *counters, *rules, "--",
                           HELLO_HOOKS)
        self.assertEqual(0, done.returncode, done.stderr)
        script = run("script", "ruled.ctf").stdout
        self.assertEqual(55, script.count("page_faults = "))
        info = json.loads(run("info", "--format", "json", "ruled.ctf").stdout)
        self.assertEqual([rules[1], rules[3]], info["dump_rules"])
        self.assertEqual(0, run("verify", "ruled.ctf").returncode)

    def test_rule_that_cannot_dump_is_said(self):
        for trace in (["--dry-run-rules", "hello.ctf"],
                      ["--no-kernel", "-o", "new.ctf"]):
            command = [HELLO_HOOKS] if trace[0] == "--no-kernel" else []
            done = run("record", *trace, "--hook-events", "page-faults",
                       "--dump", "gone:* every 2", "--dump",
                       'hello:work if arg0 == "x"', "--dump",
                       "hello:sum if arg3 > 1", *command)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn('"gone:* every 2" applies to no hook', done.stderr)
            self.assertIn("hello:work: its arg0 is a number", done.stderr)
            self.assertIn("hello:sum: it has no arg3", done.stderr)

    def test_script_prints_each_record_once(self):
        done = run("script", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        lines = done.stdout.splitlines()
        self.assertEqual(300, len(lines))  # enter, exit, point; 100 rounds

    def test_script_agrees_with_babeltrace2(self):
        if shutil.which("babeltrace2") is None:
            self.skipTest("babeltrace2 is missing")
        theirs = subprocess.run(["babeltrace2", "hello.ctf"], check=False,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual((0, ""), (theirs.returncode, theirs.stderr))
        ours = run("script", "hello.ctf")
        self.assertEqual(len(theirs.stdout.splitlines()),
                         len(ours.stdout.splitlines()))

    def test_info_says_what_the_trace_holds(self):
        info = json.loads(run("info", "--format", "json", "hello.ctf").stdout)
        self.assertEqual("countrace.info/1", info["schema"])
        self.assertEqual("finished", info["state"])
        self.assertEqual("hooks", info["scope"])
        self.assertIn("hello_hooks", info["command"])
        self.assertEqual(2, info["hooks"])
        text = run("info", "hello.ctf").stdout
        self.assertRegex(text, r"(?m)^state +finished$")
        # It reads heads of packets only, and says so.
        self.assertIs(False, info["records_checked"])
        self.assertRegex(text, r"(?m)^records +not checked here; `countrace "
                               r"verify` checks them$")

    def test_hooks_of_the_trace_and_of_the_program_agree(self):
        def names(path):
            rows = json.loads(run("list", "hooks", "--format", "json",
                                  path).stdout)["hooks"]
            return {row["hook"] for row in rows}
        self.assertEqual({"hello:work", "hello:sum"}, names("hello.ctf"))
        self.assertEqual({"hello:work", "hello:sum"}, names(HELLO_HOOKS))

    def test_sound_trace_verifies_and_needs_no_recovery(self):
        done = run("verify", "hello.ctf")
        self.assertEqual(0, done.returncode, done)
        before = self.content_of("hello.ctf")
        done = run("recover", "hello.ctf")
        self.assertEqual(0, done.returncode, done)
        self.assertIn("nothing to do", done.stdout)
        self.assertEqual(before, self.content_of("hello.ctf"))

    def test_damaged_trace_fails_verification_and_is_a_counted_loss(self):
        stream = next(pathlib.Path("hello.ctf").glob("thread*"))
        content = bytearray(stream.read_bytes())
        content[0] ^= 0xff  # the magic of the first packet
        stream.write_bytes(content)
        done = run("verify", "hello.ctf")
        self.assertEqual(1, done.returncode, done)
        self.assertIn(stream.name, done.stdout + done.stderr)
        self.assertEqual(0, run("report", "hello.ctf").returncode)
        done = run("report", "--fail-on-loss", "--format", "json",
                   "hello.ctf")
        self.assertEqual(3, done.returncode, done)
        json.loads(done.stdout)

    def test_fail_on_loss_is_silent_without_loss(self):
        self.assertEqual(
            0, run("report", "--fail-on-loss", "hello.ctf").returncode)

    def test_color_only_where_asked_for(self):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("NO_COLOR", "CLICOLOR_FORCE")}

        def has_color(*arguments, **variables):
            done = run("report", *arguments, "hello.ctf",
                       env={**environment, **variables})
            return "\x1b[" in done.stdout
        self.assertFalse(has_color())
        self.assertFalse(has_color("--color", "never", CLICOLOR_FORCE="1"))
        self.assertTrue(has_color("--color", "always", NO_COLOR="1"))
        self.assertTrue(has_color(CLICOLOR_FORCE="1", TERM="xterm"))
        self.assertFalse(has_color(CLICOLOR_FORCE="1", NO_COLOR="1"))
        self.assertFalse(has_color(CLICOLOR_FORCE="1", TERM="dumb"))

    def test_closed_pipe_is_quiet(self):
        for verb in ("report", "script", "info"):
            with self.subTest(verb=verb):
                # The reader has closed the pipe before the first byte.
                read_end, write_end = os.pipe()
                os.close(read_end)
                done = subprocess.run(
                    [COUNTRACE, verb, "hello.ctf"], stdout=write_end,
                    stderr=subprocess.PIPE, text=True, check=False,
                    timeout=60)
                os.close(write_end)
                self.assertEqual("", done.stderr)

    def test_full_disk_on_stdout_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([COUNTRACE, "report", "hello.ctf"],
                                  stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False, timeout=60)
        self.assertEqual(1, done.returncode)
        self.assertIn("standard output", done.stderr)

    def instant_of(self, text):
        document = json.loads(run("state", "--at", text, "--format", "json",
                                  "hello.ctf").stdout)
        return document["states"][0]["t_ns"]

    def test_state_takes_the_times_that_verbs_print(self):
        info = json.loads(run("info", "--format", "json", "hello.ctf").stdout)
        self.assertEqual(info["begin_ns"], self.instant_of(info["began"]))
        line = run("script", "hello.ctf").stdout.splitlines()[-2]
        stamp = line[:line.index("]") + 1]
        ns = int(stamp.strip("[]").replace(".", ""))
        for text in (stamp, stamp.strip("[]"), "@" + stamp.strip("[]"),
                     str(ns)):
            self.assertEqual(ns, self.instant_of(text), text)
        head = run("state", "--at", stamp, "hello.ctf").stdout.splitlines()[0]
        since, clock = re.search(r"at (\S+ s) of .* (\S+)$", head).groups()
        self.assertEqual(ns, self.instant_of(since))
        self.assertEqual(ns, self.instant_of(clock))
        series = json.loads(run("report", "--by", "time", "--format", "json",
                                "hello.ctf").stdout)
        middle = series["intervals"][len(series["intervals"]) // 2]["begin_ns"]
        self.assertEqual(middle, self.instant_of(str(middle)))
        self.assertEqual(
            middle, self.instant_of(f"{(middle - info['begin_ns']) / 1e9:.9f}"))
        self.assertEqual(2, run("view", "--at", "trigger",
                                "hello.ctf").returncode)
        self.assertEqual(2, run("view", "--window", "1ms",
                                "hello.ctf").returncode)

    def test_view_opens_a_place(self):
        for at, expected in (("@0", None), ("begin", "#from=0&to=1000&t=0")):
            view = subprocess.Popen(
                [COUNTRACE, "view", "--at", at, "--window", "1us",
                 "hello.ctf"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            try:
                if expected is None:
                    self.assertEqual(2, view.wait(timeout=30))
                    self.assertIn("@0 is not in the trace",
                                  view.stderr.read())
                    continue
                self.assertTrue(select.select([view.stdout], [], [], 30)[0])
                address = view.stdout.readline().strip()
                self.assertTrue(address.endswith(expected), address)
            finally:
                view.kill()
                view.wait()
                view.stdout.close()
                view.stderr.close()

    def test_view_serves_loopback_until_it_is_ended(self):
        view = subprocess.Popen([COUNTRACE, "view", "hello.ctf"],
                                stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
        try:
            self.assertTrue(select.select([view.stdout], [], [], 30)[0])
            address = view.stdout.readline().strip()
            self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/")
            # The address carries a token, which becomes a cookie.
            browser = urllib.request.build_opener(
                urllib.request.HTTPCookieProcessor())
            with browser.open(address, timeout=30) as page:
                self.assertIn(b"<html", page.read())
            view.send_signal(signal.SIGTERM)
            self.assertEqual(0, view.wait(timeout=30))
        finally:
            view.kill()
            view.wait()
            view.stdout.close()

    @staticmethod
    def content_of(folder):
        return {path.name: path.read_bytes()
                for path in pathlib.Path(folder).iterdir()}


class Talk(InFolder):
    def test_quiet_says_nothing(self):
        done = self.record("-q", "--", "true")
        self.assertEqual((0, "", ""),
                         (done.returncode, done.stdout, done.stderr))

    def test_progress_is_drawn_on_a_terminal_only(self):
        self.assertEqual(0, self.record("-q", "--", HELLO_HOOKS).returncode)
        done = run("report")
        self.assertNotIn("\r", done.stderr)

    def test_nothing_is_left_on_the_terminal(self):
        """The last thing drawn erases the line."""
        self.assertEqual(0, self.record("-q", "--", HELLO_HOOKS).returncode)
        master, slave = pty.openpty()
        done = subprocess.run([COUNTRACE, "report"], stderr=slave, check=False,
                              stdout=subprocess.DEVNULL, timeout=60,
                              env={**os.environ, "TERM": "xterm"})
        os.close(slave)
        drawn = b""
        while select.select([master], [], [], 0)[0]:
            try:
                piece = os.read(master, 4096)
            except OSError:
                break
            if not piece:
                break
            drawn += piece
        os.close(master)
        self.assertEqual(0, done.returncode)
        visible = re.split(rb"\r\x1b\[K", drawn)[-1]
        self.assertEqual(b"", visible)


class Completion(InFolder):
    SCRIPT = (pathlib.Path(__file__).parents[2] /
              "cli/completion/countrace.bash")

    def complete(self, *words):
        """The completions that bash offers for the last of `words`."""
        done = subprocess.run(
            ["bash", "-c", f'source "{self.SCRIPT}"; COMP_WORDS=("$@"); '
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _countrace; "
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", COUNTRACE, *words],
            capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual("", done.stderr)
        return done.stdout.split()

    def test_every_verb_is_offered(self):
        self.assertEqual(sorted(VERBS), sorted(self.complete("")))
        self.assertEqual(["record", "recover", "replay", "report"],
                         sorted(self.complete("re")))

    def test_every_option_of_a_verb_is_offered(self):
        for verb in VERBS:
            options = options_of(verb)
            self.assertIn("--help", options)
            self.assertEqual(options, self.complete(verb, "-"))

    def test_topics_are_offered(self):
        self.assertEqual(["triggers"], self.complete("help", "record", "t"))
        self.assertIn("all", self.complete("help", "report", ""))
        self.assertEqual([], self.complete("help", "version", ""))

    def test_what_can_be_listed_is_offered(self):
        self.assertEqual(["metrics"], self.complete("list", "m"))

    def test_files_and_values_are_offered(self):
        os.mkdir("web.ctf")
        self.assertEqual(["web.ctf"], self.complete("report", "w"))
        self.assertEqual(["json", "jsonl"],
                         self.complete("report", "--format", "j"))
        self.assertEqual(["markdown"],
                         self.complete("diff", "--format", "m"))


class Machine(InFolder):
    def test_doctor_names_each_capability_and_its_state(self):
        done = run("doctor", "--format", "json")
        report = json.loads(done.stdout)
        states = {row["name"]: row["status"] for row in report["capabilities"]}
        self.assertEqual("ok", states["runtime-library"])
        self.assertIn(states["lttng"], ("ok", "limited", "missing"))
        self.assertEqual(1 if states["kernel-records"] == "missing" else 0,
                         done.returncode)

    def test_doctor_says_what_lttng_lacks(self):
        def row(**environment):
            done = run("doctor", "--format", "json",
                       env={**os.environ, **environment})
            return {row["name"]: row for row in
                    json.loads(done.stdout)["capabilities"]}["lttng"]
        without = row(PATH="/nonexistent")
        self.assertEqual("missing", without["status"])
        self.assertEqual("apt-get install lttng-tools", without["fix"])
        self.assertEqual("missing", row(COUNTRACE_LTTNG="/gone.so")["status"])

    def test_missing_runtime_library_is_named(self):
        done = run("record", "--", "true",
                   env={**os.environ, "COUNTRACE_RUNTIME": "/gone.so"})
        self.assertEqual(1, done.returncode)
        self.assertIn("/gone.so", done.stderr)

    def test_listed_events_can_be_recorded(self):
        done = run("list", "events", "--format", "json")
        self.assertEqual(0, done.returncode, done.stderr)
        events = {row["event"]: row for row in
                  json.loads(done.stdout)["events"]}
        self.assertIn("page-faults", events)
        done = self.record("-q", "--hook-events", "page-faults", "--", "true")
        self.assertEqual(0, done.returncode, done.stderr)

    def test_version_is_one_line(self):
        done = run("version")
        self.assertRegex(done.stdout, r"^countrace \d+\.\d+\.\d+, trace "
                                      r"format \d+\n$")
        self.assertEqual(done.stdout, run("--version").stdout)


if __name__ == "__main__":
    COUNTRACE, HELLO_HOOKS = (os.path.abspath(p) for p in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
