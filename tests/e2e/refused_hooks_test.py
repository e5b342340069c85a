#!/usr/bin/env python3
"""Hooks with names that are refused: named on the program's stderr, which may be
a terminal.

usage: refused_hooks_test.py COUNTRACE REFUSED_HOOKS
"""
import subprocess
import sys
import unittest

from trace_checks import Recording

PROGRAM = None


class RefusedHooks(Recording):
    def test_a_name_is_escaped(self):
        done = subprocess.run(
            [self.countrace_program, 'record', '--no-kernel', '-o', self.trace, '--', PROGRAM],
            capture_output=True, timeout=60, check=True)
        self.assertIn(b'hook shop\\x1b[5m:=1+1\\xff (', done.stderr)
        self.assertTrue(all(byte == 10 or 32 <= byte < 127 for byte in done.stderr), done.stderr)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
