#!/usr/bin/env python3
"""150 damaged copies of real LTTng traces: whatever libbabeltrace2 does with
them, countrace neither crashes nor hangs, and reports the damage.

Usage: damaged_traces_test.py COUNTRACE UST_WORKLOAD
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from file_damage import cut, flip, maximize, splice, zero
from lttng_session import LttngSession

COUNTRACE, WORKLOAD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
TRACES = 150


def files_of(trace, metadata):
    """Streams, or metadata, of a trace; indexes are not read."""
    return sorted(path for path in trace.rglob('*') if path.is_file() and
                  path.parent.name != 'index' and
                  (path.name == 'metadata') == metadata and
                  path.stat().st_size > 0)


def head(data, dice):
    """Packet header and context: sizes, times, counts."""
    begin = dice.randrange(min(len(data), 96))
    data[begin] = dice.randrange(256)


class DamagedTraces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = LttngSession.missing()
        if why:
            raise unittest.SkipTest('SKIPPED: ' + why)
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-damaged-'))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.work.chmod(0o711)
        shutil.copy(WORKLOAD, cls.work / 'workload')
        (cls.work / 'workload').chmod(0o755)
        with LttngSession(cls.work) as lttng:
            cls.sound = [
                lttng.record([cls.work / 'workload', '20', '2'],
                             events=['shop:*']),
                # Many small packets.
                lttng.record([cls.work / 'workload', 'ticks', '2000'],
                             events=['shop:*'],
                             channel=['--subbuf-size=4k', '--num-subbuf=16']),
            ]

    def test_150_damaged_traces(self):
        place = self.work / 'tmp'
        place.mkdir()
        environment = dict(os.environ, TMPDIR=str(place))
        read = refused = 0
        longest = 0.0
        reasons = {}
        for number in range(TRACES):
            dice = random.Random(number)
            trace = self.work / 'trace'
            shutil.rmtree(trace, ignore_errors=True)
            shutil.copytree(dice.choice(self.sound), trace)
            victim = dice.choice(files_of(trace, dice.random() < 0.25))
            damage = dice.choice((flip, flip, cut, zero, splice, maximize,
                                  head))
            data = bytearray(victim.read_bytes())
            damage(data, dice)
            victim.write_bytes(data)
            with self.subTest(number=number, damage=damage.__name__,
                              file=victim.name):
                began = time.monotonic()
                done = subprocess.run(
                    [COUNTRACE, 'report', '--import-limit', 'cpu=10s',
                     '--import-limit', 'stall=10s', '--import-limit',
                     'memory=1G', trace],
                    env=environment, capture_output=True, text=True,
                    errors='replace', timeout=60)
                longest = max(longest, time.monotonic() - began)
                self.assertIn(done.returncode, (0, 1), done)
                if done.returncode == 0:
                    read += 1
                    self.assertIn('captured', done.stdout)
                    self.assertEqual('', done.stderr)
                else:
                    refused += 1
                    self.assertEqual('', done.stdout)
                    self.assertRegex(done.stderr, r'^countrace report: \S.{20}')
                    reason = ' '.join(done.stderr.split()[2:8])
                    reasons[reason] = reasons.get(reason, 0) + 1
                self.assertEqual([], list(place.iterdir()))
        print(f'\n{read} read, {refused} refused, longest {longest:.1f} s')
        for reason, count in sorted(reasons.items(), key=lambda x: -x[1])[:9]:
            print(f'  {count:3} {reason}')
        # Both occur: damage that is detected, and damage in values only.
        self.assertGreater(read, 0)
        self.assertGreater(refused, 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
