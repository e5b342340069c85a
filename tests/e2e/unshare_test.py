#!/usr/bin/env python3
"""unshare(CLONE_NEWUSER) is refused to a process with threads: recorded, the
program enters its namespace as it does alone, and every call is in the trace.

usage: unshare_test.py COUNTRACE UNSHARE_WORKLOAD RUNTIME_LIBRARY
"""
import os
import subprocess
import sys
import unittest

from trace_checks import Recording

PROGRAM = RUNTIME = None
CALLS = 150_000
WAYS = ('function', 'number')


class Unshare(Recording):
    def setUp(self):
        super().setUp()
        if self.run_program('function').returncode != 0:
            self.skipTest('SKIPPED: no user namespaces here')

    def run_program(self, way, **environment):
        return subprocess.run([PROGRAM, way, '10'], text=True, timeout=60,
                              capture_output=True, check=False,
                              env=dict(os.environ, **environment))

    def test_outside_of_a_recording(self):
        for way in WAYS:
            run = self.run_program(way, LD_PRELOAD=RUNTIME)
            self.assertEqual((run.returncode, run.stdout, run.stderr),
                             (0, 'done\n', ''), way)

    def test_recorded(self):
        for way in WAYS:
            with self.subTest(way):
                run = self.countrace('record', '--force', '--no-kernel', '-o',
                                     self.trace, '--', PROGRAM, way, CALLS)
                self.assertEqual(run.stdout, 'done\n', run.stderr)
                self.assertIn('nothing was lost', run.stderr)
                row, = self.report()['segments']
                self.assertEqual((row['segment'], row['calls']),
                                 ('unshared:call', CALLS))
                self.check_readable()


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM, RUNTIME = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
