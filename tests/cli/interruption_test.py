#!/usr/bin/env python3
"""Ctrl-C while a long trace is read, and the progress bar on a terminal.

Usage: interruption_test.py COUNTRACE LONG_TRACE [unittest options].
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CALLS = 4_000_000
COUNTRACE = LONG_TRACE = ""


class LongTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        cls.folder = tempfile.mkdtemp(prefix="countrace-long-", dir=place)
        cls.trace = cls.folder + "/long.ctf"
        subprocess.run([LONG_TRACE, cls.trace, str(CALLS)], check=True,
                       timeout=120)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def interrupted(self, *arguments):
        """The finished process and its output, of a run that SIGINT reached
        during reading. The duration of a reading is not known beforehand, so
        the signal comes later and later, until it is neither too early nor too
        late."""
        delay = 0.005
        for _ in range(60):
            with subprocess.Popen([COUNTRACE, *arguments, self.trace],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as run:
                time.sleep(delay)
                run.send_signal(signal.SIGINT)
                out, err = run.communicate(timeout=120)
            if run.returncode == 130:
                return out, err
            # Before our handler was set, or after the reading ended.
            self.assertIn(run.returncode, (-signal.SIGINT, 0), err)
            delay = delay * 1.3 if run.returncode < 0 else delay / 1.7
        self.fail("no run was interrupted while it read")

    def test_report_says_what_it_had(self):
        out, err = self.interrupted("report", "--format", "json")
        match = re.fullmatch(
            r"countrace report: interrupted: what follows is of the (\d+) "
            r"records that were read until then, not of the whole trace\n", err)
        self.assertTrue(match, err)
        report = json.loads(out)
        self.assertTrue(report["trace"]["interrupted"])
        self.assertEqual(int(match[1]), report["trace"]["records"])
        segment, = report["segments"]
        self.assertLess(segment["calls"], CALLS)
        # The part that was read is complete: enters and exits, and books that
        # balance.
        self.assertLessEqual(2 * segment["calls"], report["trace"]["records"])
        for books in report["books"].values():
            self.assertEqual(0, books["residual"])
        self.assertTrue(any("interrupted" in message
                            for message in report["loss"]["messages"]))

    def test_text_says_so_where_it_begins(self):
        out, err = self.interrupted("report")
        self.assertIn("interrupted", err)
        self.assertIn("reading interrupted", out.splitlines()[0])

    def test_over_time_has_the_intervals_until_then(self):
        out, err = self.interrupted("report", "--by", "time", "--every", "1ms",
                                    "--format", "csv")
        self.assertIn("interrupted: what follows", err)
        lines = out.splitlines()
        self.assertTrue(lines)
        columns = {line.count(",") for line in lines}
        self.assertEqual(1, len(columns))

    def test_diff_compares_nothing(self):
        out, err = self.interrupted("diff", self.trace)
        self.assertEqual("", out)
        self.assertIn("nothing is compared", err)

    def test_import_leaves_nothing(self):
        """Interrupted at any moment; a name that was free is free again."""
        output = self.folder + "/imported.ctf"
        stopped = 0
        for delay in (0.01, 0.03, 0.1, 0.2, 0.4):
            with subprocess.Popen([COUNTRACE, "import", self.trace, "-o",
                                   output], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as run:
                time.sleep(delay)
                run.send_signal(signal.SIGINT)
                _, err = run.communicate(timeout=120)
            if run.returncode == 0:  # the whole trace, before the signal
                shutil.rmtree(output)
                continue
            # By the signal itself: before the output was made.
            self.assertIn(run.returncode, (-signal.SIGINT, 130), err)
            self.assertFalse(os.path.exists(output), (delay, err))
            stopped += run.returncode == 130
        self.assertGreater(stopped, 0)

    def test_whole_reading_does_not_say_so(self):
        done = subprocess.run([COUNTRACE, "report", "--format", "json",
                               self.trace], capture_output=True, text=True,
                              check=True, timeout=120)
        report = json.loads(done.stdout)
        self.assertFalse(report["trace"]["interrupted"])
        self.assertEqual(CALLS, report["segments"][0]["calls"])

    def test_ignored_signals_stay_ignored(self):
        """SIGINT is ignored, as in a job that a script started with `&`."""
        with subprocess.Popen(
                [COUNTRACE, "report", "--format", "json", self.trace],
                stdout=subprocess.PIPE, text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT,
                                                 signal.SIG_IGN)) as run:
            time.sleep(0.02)
            run.send_signal(signal.SIGINT)
            out, _ = run.communicate(timeout=120)
        self.assertEqual(0, run.returncode)
        self.assertEqual(CALLS, json.loads(out)["segments"][0]["calls"])

    def test_progress_grows_on_a_terminal(self):
        """A long reading draws at most ten times a second."""
        master, slave = pty.openpty()
        with subprocess.Popen([COUNTRACE, "diff", self.trace, self.trace],
                              stdout=subprocess.DEVNULL, stderr=slave,
                              env={**os.environ, "TERM": "xterm"}) as run:
            os.close(slave)
            drawn = b""
            while True:
                if not select.select([master], [], [], 120)[0]:
                    self.fail("nothing is drawn and nothing ends")
                try:
                    piece = os.read(master, 4096)
                except OSError:  # all ends of the terminal are closed
                    break
                if not piece:
                    break
                drawn += piece
            run.wait(timeout=120)
        os.close(master)
        self.assertEqual(0, run.returncode)
        shares = [int(share) for share in
                  re.findall(rb"reading \S*long\.ctf +(\d+) % \[#* *\]", drawn)]
        self.assertTrue(shares, drawn)
        self.assertTrue(all(0 <= share <= 100 for share in shares), shares)
        self.assertTrue(drawn.endswith(b"\r\x1b[K"), drawn[-80:])


if __name__ == "__main__":
    COUNTRACE, LONG_TRACE = (os.path.abspath(p) for p in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
