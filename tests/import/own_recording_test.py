#!/usr/bin/env python3
"""Recordings of every kind give byte-identical reports, read natively and
through libbabeltrace2.

Usage: own_recording_test.py COUNTRACE UST_WORKLOAD
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

COUNTRACE, WORKLOAD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
RUN = ['--', WORKLOAD, '200', '2']
RECORDINGS = {
    'hooks only': ['--no-kernel', *RUN],
    'hooks with counters': ['--no-kernel', '--hook-events', 'page-faults',
                            *RUN],
    'one command': ['-e', 'task-clock,page-faults,context-switches', *RUN],
    'whole system': ['-a', '--kernel', 'syscalls,irq,softirq,faults,wakeups',
                     *RUN],
    'event sets': ['-a', '-e', 'task-clock,{page-faults},{context-switches}',
                   *RUN],
    'marked': ['-a', '--mark', 'ust_workload', '--count', 'user', *RUN],
    'discard': ['--no-kernel', '--mode', 'discard', '--size', '256K',
                '--', WORKLOAD, '20000', '1'],
}


class OwnRecordings(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: needs root')
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-own-'))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def countrace(self, *words):
        return subprocess.run([COUNTRACE, *map(str, words)],
                              capture_output=True, timeout=120)

    def test_reports_are_identical(self):
        compared = 0
        for number, (name, words) in enumerate(RECORDINGS.items()):
            trace = self.work / f'{number}.ctf'
            recorded = self.countrace('record', '-o', trace, *words)
            with self.subTest(recording=name):
                self.assertEqual(0, recorded.returncode, recorded.stderr)
                for verb in (['report', '--format', 'json'],
                             ['report', '--format', 'json', '--by', 'path'],
                             ['report', '--by', 'thread'], ['script']):
                    native = self.countrace(*verb, trace)
                    through = self.countrace(*verb, '--via-babeltrace', trace)
                    self.assertEqual(0, native.returncode, native.stderr)
                    self.assertEqual(native.returncode, through.returncode,
                                     through.stderr)
                    self.assertEqual(native.stdout, through.stdout)
                    self.assertEqual(native.stderr, through.stderr)
                    compared += len(native.stdout)
                if name == 'discard':
                    lossy = self.countrace('report', '--fail-on-loss', trace)
                    self.assertEqual(3, lossy.returncode)
        print(f'\n{compared} bytes compared')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
