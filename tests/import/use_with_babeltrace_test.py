#!/usr/bin/env python3
"""Runs the commands of docs/use-with-babeltrace.md, in their order.

Usage: use_with_babeltrace_test.py COUNTRACE RUNTIME_LIBRARY PLUGIN UST_WORKLOAD
       DOCUMENT
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from lttng_session import LttngSession

COUNTRACE, RUNTIME, PLUGIN, WORKLOAD, DOCUMENT = (
    pathlib.Path(word).resolve() for word in sys.argv[1:6])
# Text that a block must show.
EXPECTED = [
    (r'shop:serve', r'recorded by lttng-ust', r'captured \d'),
    (r'^hook,pid,comm,hits$', r'^shop:'),
    (r'countrace_rmap:segment: \{ tid = \d+.* name = "shop:', r'^200$'),
    (r'shop:\w+', r'SEGMENTS'),
]


class UseWithBabeltrace(unittest.TestCase):
    def test_the_commands_of_the_document(self):
        why = LttngSession.missing()
        if why:
            self.skipTest('SKIPPED: ' + why)
        work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-doc-'))
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        work.chmod(0o711)
        programs = work / 'bin'
        programs.mkdir()
        for file, name in ((COUNTRACE, 'countrace'), (PLUGIN, PLUGIN.name),
                           (RUNTIME, RUNTIME.name), (WORKLOAD, 'shop')):
            shutil.copy(file, programs / name)
            (programs / name).chmod(0o755)
        blocks = re.findall(r'```sh\n(.*?)```', DOCUMENT.read_text(), re.S)
        self.assertEqual(len(EXPECTED), len(blocks))
        with LttngSession(work) as lttng:
            here, place = work / 'here', work / 'tmp'
            for folder in (here, place):
                folder.mkdir()
                if lttng.uid is not None:
                    os.chown(folder, lttng.uid, lttng.uid)
            shutil.copy(programs / 'shop', here / 'shop')
            environment = lttng.environment(
                PATH=f'{programs}:{os.environ["PATH"]}', TMPDIR=str(place),
                COUNTRACE_RUNTIME=str(programs / RUNTIME.name),
                BABELTRACE_PLUGIN_PATH=str(programs))
            for block, expected in zip(blocks, EXPECTED):
                run = subprocess.Popen(
                    lttng.as_user(['bash', '-euc', block]), cwd=here,
                    env=environment, text=True, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, start_new_session=True)
                try:
                    out, err = run.communicate(timeout=120)
                finally:
                    # A program continues after its recorder was killed.
                    try:
                        os.killpg(run.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                self.assertEqual(0, run.returncode, f'{block}\n{out}\n{err}')
                for text in expected:
                    self.assertRegex(out, re.compile(text, re.M))
            self.assertEqual([], list(place.iterdir()))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
