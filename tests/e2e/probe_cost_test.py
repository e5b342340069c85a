#!/usr/bin/env python3
"""The cost of probes is measured, and not in the times of segments: functions
that measure themselves have times within the limits of their rows, whether the
kernel emulates or single-steps their first instruction.

usage: probe_cost_test.py COUNTRACE PROBED_WORKLOAD
"""
import json
import pathlib
import platform
import re
import sys
import unittest

from trace_checks import Recording, countrace

WORKLOAD = None
CALLS = 400
SHORT = ('emulated_300', 'stepped_300', 'endbr_600')
LONG = ('emulated_50000', 'stepped_50000')


class ProbeCost(Recording):
    def record(self, form, *options, calls=CALLS):
        hooks = [word for name in SHORT + LONG
                 for word in ('--hook', f'{form}:{WORKLOAD}:{name}')]
        run = countrace('record', '--force', '-o', self.trace, *hooks, *options,
                        '--', WORKLOAD, calls)
        countrace('verify', self.trace)
        self.talk = run.stderr
        lines = [line.split() for line in run.stdout.splitlines()]
        self.truth = {name: int(ns) for name, ns, _ in lines}
        self.slow = {name: int(ns) for name, _, ns in lines}
        data = json.loads(countrace('report', '--format', 'json',
                                    self.trace).stdout)
        for event, books in data['books'].items():
            self.assertEqual(books['residual'], 0, event)
        self.assertNotIn('could not be measured', self.talk)
        return data

    def row(self, data, name):
        rows = [row for row in data['segments']
                if row['segment'].endswith(':' + name)]
        self.assertEqual(len(rows), 1, name)
        return rows[0]

    def process(self, data):
        name = pathlib.Path(WORKLOAD).name[:15]
        rows = [row for row in data['processes'] if row['comm'] == name]
        self.assertEqual(len(rows), 1)
        return rows[0]

    def check_limits(self, data, name):
        """The interval has the truth, the number is in it, and it is marked."""
        row, truth, slow = self.row(data, name), self.truth[name], self.slow[name]
        lo, hi = row['bounds']['wall_ns.incl']
        with self.subTest(row['segment'], truth=truth, slow=slow, lo=lo, hi=hi,
                          probes=row['probes_ns'], wall=row['wall_ns']['incl']):
            # A trap in which a host took the CPU is not of the usual cost.
            self.assertLessEqual(lo, truth + slow)
            self.assertLessEqual(truth, hi)
            self.assertLessEqual(lo, row['wall_ns']['incl'])
            self.assertLessEqual(row['wall_ns']['incl'], hi)
            self.assertIn('bounded', row['qualities'])
            self.assertEqual(row['quality'], 'bounded')
            probes = row['probes_ns']
            self.assertLessEqual(probes['lo'], probes['estimate'])
            self.assertLessEqual(probes['estimate'], probes['hi'])
            # What was recorded contains both.
            self.assertGreaterEqual(row['wall_ns']['incl'] + probes['estimate'],
                                    truth)

    def test_functions_have_times_without_their_probes(self):
        data = self.record('uprobe')
        for name in SHORT + LONG:
            row = self.row(data, name)
            self.assertEqual(row['calls'], CALLS)
            self.assertGreater(row['probes_ns']['lo'], 0)
            self.check_limits(data, name)
        # Shorter than three times the cost of a single-stepped one, unless a
        # host took the CPU in it.
        row = self.row(data, 'stepped_300')
        if (self.truth['stepped_300'] + self.slow['stepped_300'] <
                row['probes_ns']['estimate']):
            self.assertEqual(row['bounds']['wall_ns.incl'][0], 0)
        # The order is right, or not sure.
        for short in SHORT:
            for long in LONG:
                self.assertLess(
                    self.row(data, short)['bounds']['wall_ns.incl'][0],
                    self.row(data, long)['bounds']['wall_ns.incl'][1] +
                    self.slow[short])
        lo, _ = self.row(data, 'endbr_600')['bounds']['wall_ns.incl']
        _, hi = self.row(data, 'emulated_300')['bounds']['wall_ns.incl']
        self.assertTrue(lo <= hi or self.truth['endbr_600'] >=
                        self.truth['emulated_300'])

    def test_what_is_around_probes_is_without_them(self):
        data = self.record('uprobe')
        around = self.row(data, 'around')
        self.check_limits(data, 'around')
        inner = sum(self.row(data, name)['probes_ns']['estimate']
                    for name in SHORT + LONG)
        self.assertGreater(around['probes_ns']['estimate'], inner)

    def test_points_cost_what_is_around_them(self):
        data = self.record('uprobe-enter')
        names = {row['segment'].partition(':')[2] for row in data['segments']}
        self.assertFalse(names & set(SHORT + LONG))
        self.check_limits(data, 'around')

    def test_the_process_and_the_books_keep_it_as_a_part(self):
        data = self.record('uprobe')
        process = self.process(data)
        probes = process['probes_ns']
        self.assertLessEqual(probes['lo'], probes['estimate'])
        self.assertLessEqual(probes['estimate'], probes['hi'])
        # Its time is as exact as without probes: on some virtual machines the
        # kernel does not show each switch.
        self.assertIn(process['quality'], ('exact', 'inferred'))
        self.assertGreaterEqual(process['recording_ns'], probes['estimate'])
        recording = data['books']['task-clock']['recording']
        self.assertEqual(recording['probes'], probes['estimate'])
        self.assertGreaterEqual(recording['total'], probes['estimate'])
        # The program spins most of the time.
        text = countrace('report', self.trace).stdout
        self.assertIn('in probes: inside their processes', text)
        self.assertIn('the cost of probes is estimated', text)

    def test_a_large_part_is_named_with_what_is_cheaper(self):
        hook = f'uprobe:{WORKLOAD}:stepped_300'
        for calls in (1, 3000):
            countrace('record', '--force', '-o', self.trace, '--hook', hook,
                      '--', WORKLOAD, calls)
            data = json.loads(countrace('report', '--format', 'json',
                                        self.trace).stdout)
            process = self.process(data)
            large = (process['probes_ns']['estimate'] * 20 >
                     process['on_cpu_ns'])
            text = countrace('report', self.trace).stdout
            self.assertEqual('note: probes took about' in text, large)
            if large:
                for way in ('countrace/hooks.h', 'usdt:', 'uprobe-enter:'):
                    self.assertIn(way, text)

    def test_arguments_are_a_part_of_the_price(self):
        def cost(values):
            countrace('record', '--force', '-o', self.trace, '--hook',
                      f'uprobe:{WORKLOAD}:emulated_300{values}', '--', WORKLOAD, 20)
            text = (self.trace / 'metadata').read_text(encoding='latin-1')
            return re.search(r':emulated_300\\t[^"]*\\t(\d+ [1-9]\d* \d+ \d+ \d+ \d+)"',
                             text).group(1)
        # Kept for this boot, for each number of values.
        self.assertEqual(cost(''), cost(''))
        values = '(a=rdi,b=rsi,c=rdx,d=rcx)'
        self.assertEqual(cost(values), cost(values))
        self.assertNotEqual(cost(''), cost(values))
        self.assertNotEqual(cost(values), cost('(a=rdi,b=rsi,c=rdx,d:str=rcx)'))

    def test_hooks_of_usdt_probes_are_measured_too(self):
        countrace('record', '--force', '-o', self.trace, '--hook',
                  f'usdt:{WORKLOAD}:probed:around', '--', WORKLOAD, 20)
        text = (self.trace / 'metadata').read_text(encoding='latin-1')
        self.assertRegex(
            text, r'probe-segment\\t-\\tprobed:around\\t[^"]*\\t\d+ [1-9]\d* '
            r'\d+ \d+ \d+ \d+"')


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = (
        pathlib.Path(path).resolve() for path in sys.argv[1:3])
    if platform.machine() != 'x86_64':
        print('SKIPPED: the cost of probes is measured on x86-64 alone')
        sys.exit(0)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
