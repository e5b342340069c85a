#!/usr/bin/env python3
"""Records the slow and the fast variant of examples/loop_order: `countrace
diff` must name the segment that differs, and be right about the rest.

usage: diff_test.py COUNTRACE LOOP_ORDER FALSE_SHARING
"""
import json
import os
import sys
import unittest

import trace_checks

RUNS = 5
LOOP_ORDER = FALSE_SHARING = None


class Diff(trace_checks.Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()

    def record(self, *commands):
        """The traces of each command, recorded alternately, so that other load
        on the machine affects all of them."""
        sides = [[] for _ in commands]
        for run in range(RUNS):
            for side, command in enumerate(commands):
                trace = self.work / f'{side}-{run}.ctf'
                self.countrace('record', '-q', '-o', trace, '--', *command)
                sides[side].append(trace)
        return sides

    def diff(self, before, after, *options, status=0):
        run = self.countrace('diff', '--format', 'json', *options, '--before',
                             *before, '--after', *after, check=False)
        self.assertEqual((status, ''), (run.returncode, run.stderr))
        return json.loads(run.stdout)

    def check_balanced(self, result):
        for balance in result['balance']:
            for side in 'before', 'after':
                self.assertEqual(0, balance[side]['unexplained'], balance)

    @staticmethod
    def metric(result, path, name):
        for row in result['rows']:
            if row['path'] == path:
                for metric in row['metrics']:
                    if metric['metric'] == name:
                        return metric
        return None

    def test_loop_order_is_named_and_fails_ci(self):
        rows, columns = self.record([LOOP_ORDER, 'rows'],
                                    [LOOP_ORDER, 'columns'])
        # Ten times slower on this kind of machine; the test requires three.
        result = self.diff(rows, columns, '--threshold',
                           'matrix:sweep:on-CPU 100%', status=4)
        self.assertTrue(result['regression'])
        self.assertTrue(result['explanations'][0].startswith('matrix:sweep is'),
                        result['explanations'])
        self.check_balanced(result)
        sweep = self.metric(result, ['matrix:sweep'], 'on-CPU')
        self.assertGreater(sweep['self']['after'], 3 * sweep['self']['before'])
        self.assertGreater(sweep['share'], 0.8)
        # Both sweep the same number of times, and fill the same matrix.
        self.assertIsNone(self.metric(result, ['matrix:sweep'], 'calls'))
        faults = self.metric(self.diff(rows, columns, '--all'),
                             ['matrix:fill'], 'page-faults')
        # By chance a few more or less may be beyond the noise of so few runs.
        before, after = faults['self']['before'], faults['self']['after']
        self.assertLess(abs(after - before), before / 100, faults)
        self.assertGreaterEqual(before, 8192)

        # In the opposite order it is no regression.
        result = self.diff(columns, rows, '--threshold', '5%')
        self.assertIn('faster', result['explanations'][0])

    def test_one_run_each_has_no_verdict(self):
        rows, columns = self.record([LOOP_ORDER, 'rows'],
                                    [LOOP_ORDER, 'columns'])
        result = self.diff(rows[:1], columns[:1], '--all')
        self.assertTrue(result['explanations'][0].startswith(
            'one run each: no verdict'), result['explanations'])
        for row in result['rows']:
            for metric in row['metrics']:
                self.assertNotEqual('beyond_noise', metric['self']['verdict'],
                                    metric)
        # The exact count of calls can be compared with a limit.
        result = self.diff(rows[:1], rows[1:2], '--threshold',
                           'matrix:sweep:calls 0%')
        self.check_balanced(result)

    def test_same_program_twice_is_no_regression(self):
        first, second = self.record([LOOP_ORDER, 'rows'],
                                    [LOOP_ORDER, 'rows'])
        result = self.diff(first, second, '--threshold',
                           'matrix:sweep:on-CPU 100%')
        self.check_balanced(result)
        self.assertIsNone(self.metric(result, ['matrix:sweep'], 'calls'))

    def test_false_sharing_is_named(self):
        self.needs('chrt')
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest('SKIPPED: needs two CPUs')
        # Sharing a line costs nothing while only one thread runs: both must
        # run at the same time, whatever else runs here.
        command = ['chrt', '-f', '10', FALSE_SHARING]
        padded, packed = self.record([*command, 'padded'],
                                     [*command, 'packed'])
        result = self.diff(padded, packed, '--all')
        self.check_balanced(result)
        count = self.metric(result, ['counters:count'], 'on-CPU')
        ratio = count['self']['after'] / count['self']['before']
        if ratio < 1.5:
            self.skipTest(f'SKIPPED: CPUs share lines at little cost here: '
                          f'{ratio:.2f} times')
        change = count['self']['after'] - count['self']['before']
        detectable = count['self']['detectable']
        if change < detectable:
            self.skipTest(f'SKIPPED: the runs deviate too much here: {change} '
                          f'ns of change, {detectable} ns can be found')
        self.assertEqual('beyond_noise', count['self']['verdict'])
        self.assertTrue(
            result['explanations'][0].startswith('counters:count is'),
            result['explanations'])


if __name__ == '__main__':
    trace_checks.Recording.countrace_program = sys.argv[1]
    LOOP_ORDER, FALSE_SHARING = sys.argv[2:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
