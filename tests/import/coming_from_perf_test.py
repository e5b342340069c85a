#!/usr/bin/env python3
"""Runs the commands of docs/coming-from-perf.md, in their order.

Usage: coming_from_perf_test.py COUNTRACE IMPORT_PROGRAM WORKLOAD DOCUMENT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from perf_session import PerfSession

COUNTRACE, IMPORT, WORKLOAD, DOCUMENT = (
    pathlib.Path(word).resolve() for word in sys.argv[1:5])
# Text that a block must show.
EXPECTED = [
    ('shop', 'BOOKS', 'captured'),
    ('shop:serve', 'shop:weigh', 'at +'),
    ('shop:serve',),
    ('points stand for about', 'sample:cpu-clock'),
    ('page-faults', 'cpu-clock', 'BOOKS'),
]


class ComingFromPerf(unittest.TestCase):
    def test_the_commands_of_the_document(self):
        why = PerfSession.missing('sched:sched_switch')
        if why:
            self.skipTest('SKIPPED: ' + why)
        work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-doc-'))
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        programs = work / 'bin'
        programs.mkdir()
        for file, name in ((COUNTRACE, 'countrace'),
                           (IMPORT, 'countrace-import'), (WORKLOAD, 'shop')):
            shutil.copy(file, programs / name)
        here = work / 'here'
        here.mkdir()
        shutil.copy(programs / 'shop', here / 'shop')
        probe = subprocess.run(
            ['perf', 'probe', '-q', '-x', here / 'shop', '-n',
             'serve=ShopServe'], capture_output=True, text=True, timeout=60)
        if probe.returncode != 0:
            self.skipTest('SKIPPED: perf probe: ' + probe.stderr)
        forget = ['perf', 'probe', '-q', '-d', 'probe_shop:*']
        subprocess.run(forget, capture_output=True, timeout=60)
        self.addCleanup(subprocess.run, forget, capture_output=True)
        blocks = re.findall(r'```sh\n(.*?)```', DOCUMENT.read_text(), re.S)
        self.assertEqual(len(EXPECTED), len(blocks))
        environment = dict(os.environ,
                           PATH=f'{programs}:{os.environ["PATH"]}')
        for block, expected in zip(blocks, EXPECTED):
            done = subprocess.run(
                ['bash', '-euc', block], cwd=here, env=environment, text=True,
                capture_output=True, timeout=120)
            self.assertEqual(0, done.returncode,
                             f'{block}\n{done.stdout}\n{done.stderr}')
            for text in expected:
                self.assertIn(text, done.stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
