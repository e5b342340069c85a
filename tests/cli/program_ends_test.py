#!/usr/bin/env python3
"""What a user or a script sees when the real `countrace` ends: wrong input,
exit statuses, quiet terminals, what this machine lacks.

Usage: program_ends_test.py COUNTRACE HELLO_HOOKS [unittest options].
"""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess

from program_runs import InFolder, Programs, main, run

READING_VERBS = ["report", "state", "script", "view", "info", "verify", "recover",
                 "export"]
# Arguments that a verb requires besides the trace.
NEEDED = {"state": ["--at", "end"],
          "export": ["--to", "html", "-o", "page.html"]}


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


class Talk(InFolder):
    def test_quiet_says_nothing(self):
        done = self.record("-q", "--", "true")
        self.assertEqual((0, "", ""),
                         (done.returncode, done.stdout, done.stderr))

    def test_progress_is_drawn_on_a_terminal_only(self):
        self.assertEqual(0, self.record("-q", "--", Programs.hello_hooks).returncode)
        done = run("report")
        self.assertNotIn("\r", done.stderr)

    def test_nothing_is_left_on_the_terminal(self):
        """The last thing drawn erases the line."""
        self.assertEqual(0, self.record("-q", "--", Programs.hello_hooks).returncode)
        master, slave = pty.openpty()
        done = subprocess.run([Programs.countrace, "report"], stderr=slave, check=False,
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
    main()
