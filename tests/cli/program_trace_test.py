#!/usr/bin/env python3
"""Verbs that read a whole trace: script, info, list, verify, recover, view,
and rules on what was recorded.

Usage: program_trace_test.py COUNTRACE HELLO_HOOKS [unittest options].
"""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import urllib.request

from program_runs import HelloTrace, Programs, main, run


class Traces(HelloTrace):
    def test_a_mapping_of_an_own_trace_is_refused(self):
        for verb in ("report", "script"):
            done = run(verb, "--map", "shop.toml", "hello.ctf")
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn("--map is for traces of other tools", done.stderr)

    def test_functions_of_a_program_are_listed(self):
        done = run("list", "functions", Programs.hello_hooks, "ma?n", "--format", "json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        rows = json.loads(done.stdout)["functions"]
        self.assertEqual([("main", "segment")],
                         [(row["function"], row["kind"]) for row in rows])
        for arguments in (["functions"], ["events", "a", "b"],
                          ["hooks", Programs.hello_hooks, "x"]):
            self.assertEqual(2, run("list", *arguments).returncode)

    def test_probes_of_a_program_without_any(self):
        done = run("list", "probes", "/bin/true", "--format", "csv")
        self.assertEqual((0, "probe,kind,places,arguments\n"),
                         (done.returncode, done.stdout))
        self.assertIn("/bin/true contains no USDT probe", done.stderr)

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
                           Programs.hello_hooks)
        self.assertEqual(0, done.returncode, done.stderr)
        script = run("script", "ruled.ctf").stdout
        self.assertEqual(55, script.count("page_faults = "))
        info = json.loads(run("info", "--format", "json", "ruled.ctf").stdout)
        self.assertEqual([rules[1], rules[3]], info["dump_rules"])
        self.assertEqual(0, run("verify", "ruled.ctf").returncode)

    def test_rule_that_cannot_dump_is_said(self):
        for trace in (["--dry-run-rules", "hello.ctf"],
                      ["--no-kernel", "-o", "new.ctf"]):
            command = [Programs.hello_hooks] if trace[0] == "--no-kernel" else []
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
        lines = [line for line in done.stdout.splitlines()
                 if "clock_sample" not in line]
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
        self.assertEqual({"hello:work", "hello:sum"}, names(Programs.hello_hooks))

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
                    [Programs.countrace, verb, "hello.ctf"], stdout=write_end,
                    stderr=subprocess.PIPE, text=True, check=False,
                    timeout=60)
                os.close(write_end)
                self.assertEqual("", done.stderr)

    def test_full_disk_on_stdout_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([Programs.countrace, "report", "hello.ctf"],
                                  stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False, timeout=60)
        self.assertEqual(1, done.returncode)
        self.assertIn("standard output", done.stderr)

    def test_view_opens_a_place(self):
        for at, expected in (("@0", None), ("begin", "#from=0&to=1000&t=0")):
            view = subprocess.Popen(
                [Programs.countrace, "view", "--at", at, "--window", "1us",
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
        view = subprocess.Popen([Programs.countrace, "view", "hello.ctf"],
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


if __name__ == "__main__":
    main()
