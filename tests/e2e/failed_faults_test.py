#!/usr/bin/env python3
"""A page fault that the kernel does not handle is no time of a program: where a
user's stack is walked or copied (samples, waits, another tracer), and where an
address is bad.

usage: failed_faults_test.py COUNTRACE STAT_WORKLOAD URING_WORKLOAD
"""
import subprocess
import sys
import unittest

import trace_checks

MS = 400
# A share of the time that something computes.
LEAST = 0.01
RATE = 997
WALKS = (('--sample', RATE), ('--sample', RATE, '--call-graph', 'dwarf'),
         ('--sample', f'{RATE}:page-faults'), ('--offcpu', '1us'),
         ('--offcpu', '1us', '--call-graph', 'dwarf'))


class FailedFaults(trace_checks.Recording):
    computing = uring = None  # set by main

    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')

    def record(self, *options, command=None):
        self.countrace('record', '--force', '-o', self.trace, '--kernel',
                       'faults', *options, '--',
                       *(command or (self.computing, 'spin', MS)))
        data = self.report()
        self.check_books(data)
        return data

    def check_little(self, data):
        """There are no more calls than faults that were handled, each has its
        end, and most of them are short: the host may stop one."""
        process = max(data['processes'], key=lambda row: row['on_cpu_ns'])
        # Where records were lost, its limit.
        limits = process.get('bounds', {}).get('on_cpu_ns')
        most = limits[1] if limits else process['on_cpu_ns']
        self.assertTrue(most is None or most > MS * 900_000, process)
        faults = data['books']['page-faults']
        self.assertLessEqual(sum(row['calls'] for row in data['segments']),
                             faults['processes'] + faults['unattributed'])
        for row in data['segments']:
            with self.subTest(row=row):
                self.assertLess(row['wall_ns']['p50'], LEAST * MS * 1e6)
                self.assertEqual(row['end_inferred'], 0)

    def test_beside_walks_of_our_own(self):
        for walk in WALKS:
            with self.subTest(walk=walk):
                self.check_little(self.record(*walk))

    def test_beside_the_walks_of_others(self):
        self.needs('perf')
        with subprocess.Popen(
                ['perf', 'record', '-q', '-a', '-g', '-F', str(RATE), '-o',
                 self.work / 'perf.data', '--', 'sleep', '60'],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as perf:
            try:
                data = self.record()
                if perf.poll() is not None:
                    self.skipTest('SKIPPED: perf record ended')
            finally:
                perf.kill()
        self.check_little(data)

    def test_faults_that_are_handled_are_there(self):
        # The kernel writes zeros to pages that the program has never touched.
        data = self.record('--sample', RATE, command=(
            'dd', 'if=/dev/zero', 'of=/dev/null', 'bs=64M', 'count=1'))
        rows = [row for row in data['segments']
                if row['segment'] == 'fault:kernel']
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(row['counts']['page-faults']['incl'],
                             row['calls'], row)
            self.assertEqual(row['end_inferred'], 0, row)

    def test_a_bad_address_of_a_thread_that_the_kernel_made(self):
        # Its end has no record, and the thread is in no system call: when it
        # was over is not known.
        run = subprocess.run([self.uring, 'denied', '1'], text=True,
                             capture_output=True, check=False)
        if run.returncode == 77:
            self.skipTest(run.stdout.strip())
        data = self.record(command=(self.uring, 'denied', MS))
        failed = [row for row in data['segments']
                  if row['segment'] == 'fault:kernel' and row['end_inferred']]
        self.assertEqual(sum(row['end_inferred'] for row in failed), 1, failed)
        for row in failed:
            self.assertEqual(row['quality'], 'inferred', row)
            self.assertLess(row['bounds']['wall_ns.incl'][0],
                            LEAST * MS * 1e6, row)


if __name__ == '__main__':
    trace_checks.Recording.countrace_program = sys.argv[1]
    FailedFaults.computing, FailedFaults.uring = sys.argv[2:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
