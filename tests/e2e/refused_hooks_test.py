#!/usr/bin/env python3
"""Hooks that are refused: named on the program's stderr, which may be a
terminal, and a loss of the recording.

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

    def test_hooks_that_no_record_can_be_counted_of_are_a_loss(self):
        refused = 'hooks that the recording refused'
        for how, why in (('abi', refused), ('layout', refused), ('filter', 'seccomp filter')):
            with self.subTest(how=how):
                done = self.countrace('record', '--force', '--no-kernel', '--fail-on-loss', '-o',
                                      self.trace, '--', PROGRAM, how, check=False)
                self.assertEqual(3, done.returncode, done.stderr)
                self.assertIn('1 event record was lost (no_resource 1)', done.stderr)
                self.assertIn(why, done.stderr)
                loss = self.report()['loss']
                self.assertEqual({'no_resource': 1}, loss['by_cause'])
                self.assertIn('shop:fine', self.countrace('script', self.trace).stdout)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
