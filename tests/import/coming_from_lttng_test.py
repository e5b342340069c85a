#!/usr/bin/env python3
"""Runs the commands of docs/coming-from-lttng.md, in their order.

Usage: coming_from_lttng_test.py COUNTRACE IMPORT_PROGRAM UST_WORKLOAD DOCUMENT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from lttng_session import LttngSession

COUNTRACE, IMPORT, WORKLOAD, DOCUMENT = (
    pathlib.Path(word).resolve() for word in sys.argv[1:5])
# Text that a block must show.
EXPECTED = [
    ('shop:order_taken', 'captured'),
    ('shop:serve', 'shop:weigh', 'shop:order', 'at +'),
    ('shop:serve',),
]


class ComingFromLttng(unittest.TestCase):
    def test_the_commands_of_the_document(self):
        why = LttngSession.missing()
        if why:
            self.skipTest('SKIPPED: ' + why)
        work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-doc-'))
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        work.chmod(0o711)
        programs = work / 'bin'
        programs.mkdir()
        for file, name in ((COUNTRACE, 'countrace'),
                           (IMPORT, 'countrace-import'), (WORKLOAD, 'shop')):
            shutil.copy(file, programs / name)
            (programs / name).chmod(0o755)
        blocks = re.findall(r'```sh\n(.*?)```', DOCUMENT.read_text(), re.S)
        self.assertEqual(len(EXPECTED), len(blocks))
        with LttngSession(work) as lttng:
            here = work / 'here'
            here.mkdir()
            shutil.copy(programs / 'shop', here / 'shop')
            if lttng.uid is not None:
                os.chown(here, lttng.uid, lttng.uid)
            environment = lttng.environment(
                PATH=f'{programs}:{os.environ["PATH"]}')
            for block, expected in zip(blocks, EXPECTED):
                done = subprocess.run(
                    lttng.as_user(['bash', '-euc', block]), cwd=here,
                    env=environment, text=True, capture_output=True,
                    timeout=120)
                self.assertEqual(0, done.returncode,
                                 f'{block}\n{done.stdout}\n{done.stderr}')
                for text in expected:
                    self.assertIn(text, done.stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
