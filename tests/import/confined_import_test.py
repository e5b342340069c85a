#!/usr/bin/env python3
"""Imports by different users: the program that runs libbabeltrace2 reads the
trace, and nothing else, for each of them.

Usage: confined_import_test.py COUNTRACE COUNTRACE_IMPORT
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from ctf_writer import CtfTrace, Int, StreamClass

COUNTRACE, IMPORT = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
USER = 65533


def has_landlock():
    return ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


class ConfinedImport(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-jail-'))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.work.chmod(0o755)
        trace = CtfTrace(self.work / 'trace')
        trace.clock('c')
        one = trace.add(StreamClass(0, 'c'))
        one.event(0, 'gen:point', [('value', Int(32))])
        trace.packet('s', one, [(i, 0, {}, {'value': i}) for i in range(5)])
        self.trace = trace.finish()
        # Programs that other users can start.
        for program in (COUNTRACE, IMPORT):
            shutil.copy(program, self.work / program.name)
        self.environment = os.environ | {
            'COUNTRACE_IMPORT': str(self.work / IMPORT.name)}

    def script(self, *before, **options):
        return subprocess.run(
            [*before, self.work / COUNTRACE.name, 'script', self.trace],
            text=True, capture_output=True, timeout=60, cwd=self.work,
            env=self.environment, **options)

    def check_read(self, done):
        self.assertEqual((0, 5), (done.returncode,
                                  done.stdout.count('gen:point')), done)

    def check_confined(self, done):
        self.check_read(done)
        if has_landlock():
            self.assertEqual('', done.stderr)
        else:
            self.assertIn('no Landlock', done.stderr)

    def test_this_user(self):
        self.check_confined(self.script())
        # A trace that others cannot read.
        for path in (self.trace, *self.trace.iterdir()):
            path.chmod(path.stat().st_mode & 0o700)
        self.check_confined(self.script())

    def test_unprivileged_user(self):
        if os.geteuid() != 0:
            self.skipTest('test_this_user did it')
        self.check_confined(self.script(user=USER, group=USER,
                                        extra_groups=[]))

    def test_user_namespace(self):
        tried = subprocess.run(['unshare', '--map-root-user', 'true'],
                               capture_output=True, check=False)
        if tried.returncode != 0:
            self.skipTest('no user namespaces')
        done = self.script('unshare', '--map-root-user')
        self.check_read(done)
        # Its root is a user already, and there is no other to become.
        self.assertIn('has more rights than it needs: it keeps its user',
                      done.stderr)

    def test_streams_elsewhere_are_not_read(self):
        if not has_landlock():
            self.skipTest('no Landlock')
        (self.trace / 's').rename(self.work / 'elsewhere')
        (self.trace / 's').symlink_to(self.work / 'elsewhere')
        done = self.script()
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertIn('Cannot read', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
