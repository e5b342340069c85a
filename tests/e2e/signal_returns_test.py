#!/usr/bin/env python3
"""System calls whose exit has no number: rt_sigreturn ends where it returns,
and the time until the next record is the program's own.

usage: signal_returns_test.py COUNTRACE SIGNAL_RETURNS
"""
import re
import sys
import unittest

from trace_checks import Recording

PROGRAM = None
SPIN_MS = 500


class SignalReturns(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')

    def test_the_time_of_a_return_ends_with_it(self):
        run = self.countrace('record', '--kernel', 'syscalls', '-o',
                             self.trace, '--', PROGRAM, SPIN_MS)
        ids = re.search(r'^pid (\d+) signals (\d+)', run.stdout, re.M)
        pid, signals = int(ids.group(1)), int(ids.group(2))
        self.check_readable()
        data = self.report()
        rows = {row['segment']: row for row in data['segments']
                if row['pid'] == pid}
        returns = rows['syscall:rt_sigreturn']
        self.assertEqual(returns['calls'], signals)
        self.assertEqual((returns['quality'], returns['end_inferred']),
                         ('exact', 0))
        process = next(row for row in data['processes'] if row['pid'] == pid)
        self.assertGreater(process['on_cpu_ns'], SPIN_MS * 900_000)
        # It spins between the returns: a small part of its time is in them.
        self.assertLess(returns['on_cpu_ns']['incl'],
                        process['on_cpu_ns'] // 10)
        for row in data['segments']:
            self.assertNotIn('65535', row['segment'])
            self.assertGreater(row['calls'], 0, row)
        hooks = self.report('--by', 'hook')['hooks']
        self.assertEqual([], [row for row in hooks if '65535' in row['hook']])
        self.assertEqual([row['hits'] for row in hooks if row['pid'] == pid
                          and row['hook'] == 'syscall:rt_sigreturn'],
                         [2 * signals])

    def test_children_have_no_row_for_the_call_that_made_them(self):
        self.countrace('record', '--kernel', 'syscalls', '-o', self.trace,
                       '--', 'sh', '-c',
                       'for i in 1 2 3 4 5; do (sh -c :); done; true')
        for row in self.report()['segments']:
            self.assertGreater(row['calls'], 0, row)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
