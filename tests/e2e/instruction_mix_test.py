#!/usr/bin/env python3
"""`report --by instruction` of a loop of a known mix: its intervals hold the truth,
and perf annotate has the same instructions of the same samples.

usage: instruction_mix_test.py COUNTRACE INSTRUCTION_MIX
"""
import collections
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from known_shares import run

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'import'))
from perf_file import set_flags  # noqa: E402

COUNTRACE = PROGRAM = ''
FULL = bool(os.environ.get('COUNTRACE_TEST_FULL'))
RUNS = 100 if FULL else 10
# Each of the three intervals misses the truth in 5 of 100 runs. More than these
# miss in one of a thousand tests.
MOST_MISSES = 12 if FULL else 4
XOR = 'eor' if platform.machine() == 'aarch64' else 'xor'
MIX = {'add': 0.5, XOR: 0.3, 'sub': 0.2}
MILLIONS = '1000'  # a third of a second


class InstructionMix(unittest.TestCase):
    def setUp(self):
        if platform.machine() not in ('x86_64', 'aarch64'):
            self.skipTest(f'SKIPPED: no known mix on {platform.machine()}')
        folder = tempfile.TemporaryDirectory(prefix='countrace-mix-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = self.folder / 'mix.ctf'

    def record(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: samples of whole CPUs need root')
        run(COUNTRACE, 'record', '--force', '--sample', '3989', '-o', self.trace, '--', PROGRAM,
            MILLIONS)

    def report(self, by, *options):
        return json.loads(run(COUNTRACE, 'report', '--by', by, '--rows', '0', '--format', 'json',
                              '--process', 'instruction_mi*', *options, self.trace))['rows']

    def test_intervals_hold_the_mix(self):
        misses, shown = collections.Counter(), []
        for _ in range(RUNS):
            self.record()
            rows = [row for row in self.report('instruction') if row['instruction'] in MIX
                    and row['in'] == 'mix:loop']
            self.assertEqual(set(MIX), {row['instruction'] for row in rows})
            samples = sum(row['self_samples'] for row in rows)
            amount = sum(row['self'] for row in rows)
            for row in rows:
                self.assertEqual('integer', row['class'])
                # The truth is of the loop; outside there is the program's start.
                low, high = row['self_lo'] / amount, row['self_hi'] / amount
                shown.append((row['instruction'], low, high, samples))
                misses[row['instruction']] += not low <= MIX[row['instruction']] <= high
                # 2 x 1.96 deviations of a share are at most this; a machine that was
                # stopped by its host takes fewer samples.
                self.assertLess(high - low, 2.2 / samples ** 0.5)
        print(f'{RUNS} runs, the intervals that miss:', dict(misses))
        for name in MIX:
            self.assertLessEqual(misses[name], MOST_MISSES, shown)

    def test_other_rows_add_up_to_the_same(self):
        self.record()
        by_name = self.report('instruction')
        for by in ('instruction-class', 'function,instruction'):
            rows = self.report(by)
            self.assertEqual(sum(row['self_samples'] for row in by_name),
                             sum(row['self_samples'] for row in rows))
        classes = self.report('instruction-class')
        self.assertEqual('integer', classes[0]['class'])
        self.assertNotIn('instruction', classes[0])
        loop = self.report('function,instruction', '--where', 'function =~ "Mix" && self > 0')
        self.assertEqual('add', loop[0]['instruction'])
        self.assertIn('Mix', loop[0]['function'])
        text = run(COUNTRACE, 'report', '--by', 'instruction', self.trace)
        self.assertIn('books of cpu-clock', text)
        self.assertRegex(text, r'(?m)~\d+\.\d % \[.*mix:loop +add +integer$')

    def test_perf_annotate_has_the_same_instructions(self):
        if shutil.which('perf') is None:
            self.skipTest('SKIPPED: no perf')
        data = self.folder / 'perf.data'
        recorded = subprocess.run(['perf', 'record', '-q', '-N', '-B', '-e', 'cpu-clock:u', '-F',
                                   '3989', '-o', data, PROGRAM, MILLIONS], capture_output=True,
                                  check=False)
        if recorded.returncode != 0:
            self.skipTest(f'SKIPPED: perf record: {recorded.stderr.decode()}')
        set_flags(data, 0)
        run(COUNTRACE, 'import', data, '-o', self.trace)
        ours = {row['instruction']: row['self_samples']
                for row in self.report('function,instruction', '--no-in')
                if 'Mix' in row['function']}
        script = run('perf', 'script', '-i', data, '-F', 'ip,sym')
        self.assertEqual(len(re.findall(r'(?m)^ *[0-9a-f]+ .*Mix', script)), sum(ours.values()))
        annotated = run('perf', 'annotate', '-i', data, '--stdio', '-M', 'intel', '-n', '-s',
                        re.search(r'(?m)^ *[0-9a-f]+ (.*Mix.*?)(\+|$)', script)[1])
        theirs = collections.Counter()
        for hits, name in re.findall(r'(?m)^ +(\d+) : +[0-9a-f]+: +(\w+)', annotated):
            theirs[name] += int(hits)
        self.assertEqual(ours, {name: hits for name, hits in theirs.items() if hits})


if __name__ == '__main__':
    COUNTRACE, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
