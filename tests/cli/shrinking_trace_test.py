#!/usr/bin/env python3
"""A trace that another program cuts while a verb reads it: an error with both
sizes, never a SIGBUS.

Usage: shrinking_trace_test.py COUNTRACE LONG_TRACE [unittest options].
"""

import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

CALLS = 200_000
VERBS = (["report"], ["report", "--by", "time", "--every", "1ms"],
         ["report", "--format", "json"], ["script"], ["verify"], ["info"],
         ["state", "--at", "0.01"])
COUNTRACE = LONG_TRACE = ""


class ShrinkingTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        cls.folder = tempfile.mkdtemp(prefix="countrace-shrinks-", dir=place)
        cls.trace = cls.folder + "/whole.ctf"
        subprocess.run([LONG_TRACE, cls.trace, str(CALLS)], check=True,
                       timeout=120)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def copy(self):
        copy = self.folder + "/copy.ctf"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.trace, copy)
        streams = glob.glob(copy + "/thread-*") + glob.glob(copy + "/cpu-*")
        return copy, max(streams, key=os.path.getsize)

    def test_message_has_the_file_and_both_sizes(self):
        """The verb waits until its output is read, with most records unread."""
        copy, stream = self.copy()
        size = os.path.getsize(stream)
        with subprocess.Popen([COUNTRACE, "script", copy],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            first = run.stdout.readline()
            os.truncate(stream, 4096)
            out, err = run.communicate(timeout=120)
        self.assertTrue(first and out)
        self.assertGreater(run.returncode, 0, err)
        self.assertIn(f"{stream} shrank while it was read: it had {size} bytes, "
                      "now 4096", err)

    def test_every_verb_ends_with_a_word(self):
        choose = random.Random(18)
        noticed = 0
        for number in range(6 * len(VERBS)):
            verb = VERBS[number % len(VERBS)]
            copy, stream = self.copy()
            command = [COUNTRACE, *verb, copy]
            kept = choose.randrange(os.path.getsize(stream))
            with subprocess.Popen(command, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as run:
                time.sleep(choose.uniform(0, 0.06))
                os.truncate(stream, kept)
                out, err = run.communicate(timeout=120)
            with self.subTest(command=command, kept=kept):
                self.assertGreaterEqual(run.returncode, 0, err)
                if run.returncode != 0:
                    if verb != ["verify"]:
                        self.assertIn("countrace", err)
                    elif not err:  # it was cut before verify opened it
                        self.assertIn("not sound", out)
                    noticed += "shrank" in err
        print(f"{noticed} of {6 * len(VERBS)} runs read what was cut meanwhile")


if __name__ == "__main__":
    COUNTRACE, LONG_TRACE = (os.path.abspath(p) for p in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
