#!/usr/bin/env python3
"""The event exec-runtime is the scheduler's own account of CPU time, and where
it is not available, it is absent.

usage: exec_runtime_test.py COUNTRACE BURST_PAIR
"""
import json
import re
import subprocess
import sys
import unittest

import trace_checks

SHORT = (10_000, 50_000)  # bursts, ns of each
LONG = (2, 200_000_000)
BESIDE = 0.001  # of the account


class ExecRuntime(trace_checks.Recording):
    pair = None  # set by main

    def record(self, *options, bursts=SHORT, check=True):
        return self.countrace('record', '--force', '-o', self.trace, *options,
                              '--', self.pair, *bursts, check=check)

    def check_accounts(self, run, data, bursts):
        """Rows against what the pair read in /proc/PID/schedstat."""
        accounts = {int(pid): int(ns) for pid, ns in
                    re.findall(r'^ran (\d+) (\d+)$', run.stdout, re.M)}
        self.assertEqual(len(accounts), 2)
        for kind in ('processes', 'threads'):
            rows = {row['pid']: row for row in data[kind]}
            for pid, ran_ns in accounts.items():
                row = rows[pid]
                with self.subTest(kind=kind, row=row, ran_ns=ran_ns):
                    self.assertGreater(ran_ns, bursts[0] * bursts[1] / 2)
                    ours = row['counts']['exec-runtime']
                    # An interval, perhaps without an end, if the machine was so
                    # busy that records were lost.
                    bounds = row.get('bounds', {})
                    low, high = bounds.get('counts.exec-runtime', (ours, ours))
                    self.assertLess(low, ran_ns * (1 + BESIDE))
                    self.assertGreater(high or ran_ns, ran_ns * (1 - BESIDE))
                    if not bounds:
                        self.assertGreater(row['dispatches'], bursts[0] / 2)
        books = data['books']['exec-runtime']
        self.assertEqual(books['residual'], 0)
        self.assertEqual(books['idle'] + books['interrupts'], 0)
        self.assertIsNone(books['in_segments'])

    def test_short_bursts_by_default(self):
        # Each burst is a dispatch: what is off by some microseconds at each is
        # far off in the sum.
        self.needs_root()
        self.needs_back_end('bpf')
        run = self.record('--backend', 'bpf')
        data = self.report()
        self.check_books(data)
        self.check_accounts(run, data, SHORT)
        text = self.countrace('report', '--by', 'process', self.trace).stdout
        self.assertRegex(text, 'on-CPU.*exec-runtime')

    def test_programs_that_compute(self):
        self.needs_root()
        self.needs_back_end('bpf')
        run = self.record('--backend', 'bpf', bursts=LONG)
        self.check_accounts(run, self.report(), LONG)

    def test_in_a_system_trace_with_interrupts(self):
        self.needs_root()
        self.needs_back_end('bpf')
        run = self.record('--backend', 'bpf', '-a', '--kernel',
                          'syscalls,irq,softirq', '-e',
                          'task-clock,exec-runtime,minor-faults')
        data = self.report()
        self.check_books(data)
        self.check_accounts(run, data, SHORT)

    def test_the_perf_back_end_says_which_cpu_time_it_has(self):
        self.needs_root()
        run = self.record('--backend', 'perf', bursts=LONG)
        self.assertIn('CPU time is from switch to switch', run.stderr)
        self.assertNotIn('exec-runtime', self.report()['trace']['events'])

    def test_is_listed_where_bpf_works_alone(self):
        self.needs_root()
        self.needs_back_end('bpf')
        self.needs('setpriv')
        no_bpf = ('setpriv', '--bounding-set', '-bpf,-sys_admin')
        for without, kernel in ((), True), (no_bpf, False):
            with self.subTest(without=without):
                listed = subprocess.run(
                    [*without, self.countrace_program, 'list', 'events',
                     '--all', '--format', 'json'],
                    capture_output=True, text=True, check=True).stdout
                (row,) = [row for row in json.loads(listed)['events']
                          if row['event'] == 'exec-runtime']
                self.assertEqual(row['kernel'], kernel)
                self.assertEqual('BPF does not work' in row['why_not'],
                                 not kernel)

    def test_refuses_where_it_cannot_be_counted(self):
        for options, text in (
                (('--backend', 'perf', '-e', 'exec-runtime'),
                 'not available with --backend perf'),
                (('--hook-events', 'exec-runtime'), 'give it with -e'),
                (('-e', '{cycles},{exec-runtime}'), 'outside the braces'),
                (('-e', 'exec-runtime:u'), 'does not split it by mode')):
            with self.subTest(options=options):
                run = self.record(*options, check=False)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(text, run.stderr)
                self.assertFalse(self.trace.exists())


if __name__ == '__main__':
    ExecRuntime.countrace_program, ExecRuntime.pair = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
