#!/usr/bin/env python3
"""Runs the commands of docs/samples.md, in their order.

usage: samples_document_test.py COUNTRACE IMPORT_PROGRAM HOOKED_WORKLOAD DOCUMENT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COUNTRACE, IMPORT, WORKLOAD, DOCUMENT = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
# For each block: what its program needs, and texts that it must show.
EXPECTED = [
    ((), ('BurnHalf(unsigned long)', 'samples:half', 'samples_workload.cc:', '0x',
          'event,in,dso,')),
    ((), ('books of page-faults', 'every 1')),
    ((), ('main', 'BurnHalf(unsigned long)', 'books of cpu-clock')),
    ((), ('books of page-faults (every 163 and 263',)),
    ((), ('[code]', '[no symbol]', '[anon] ', 'self of all', '0x')),
    ((), ('self of all', 'line  source', 'instructions', 'countrace.annotation/1')),
    ((), ('store', 'integer', 'BurnHalf(unsigned long)')),
    ((), ()),
    (('perf',), ('BurnHalf(unsigned long)', 'how much was counted is not known', 'line  source')),
    ((), ('books of off-cpu (1.00 ms or longer', 'shorter waits')),
    ((), ('_start', 'BurnHalf(unsigned long)', 'books of cpu-clock')),
]


class SamplesDocument(unittest.TestCase):
    def test_the_commands_of_the_document(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: samples of whole CPUs need root')
        work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-doc-'))
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        programs = work / 'bin'
        programs.mkdir()
        shutil.copy(IMPORT, programs)
        # The program finds its library beside itself, so it stays where it is.
        (programs / 'countrace').symlink_to(COUNTRACE)
        shutil.copy(WORKLOAD, work / 'server')
        environment = os.environ | {'PATH': f'{programs}:{os.environ["PATH"]}'}
        blocks = re.findall(r'```sh\n(.*?)```', DOCUMENT.read_text(), re.DOTALL)
        self.assertEqual(len(EXPECTED), len(blocks))
        for block, (needed, expected) in zip(blocks, EXPECTED):
            missing = [program for program in needed if shutil.which(program) is None]
            if missing:
                print('not run, for want of', *missing)
                continue
            self.assertNotIn('|| true', block)
            # perf 6.1 now and then crashes where it reads build ids (util/build-id.c).
            for _ in range(4):
                done = subprocess.run(['bash', '-euc', block], cwd=work, env=environment, text=True,
                                      capture_output=True, timeout=120, check=False)
                if 'util/build-id.c' not in done.stderr:
                    break
            self.assertEqual(0, done.returncode, f'{block}\n{done.stdout}\n{done.stderr}')
            for text in expected:
                self.assertIn(text, done.stdout, block)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
