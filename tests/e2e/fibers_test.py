#!/usr/bin/env python3
"""Programs whose fibers have segments: each stack has its own open calls, so
calls, nesting and CPU time are exact, whatever else is recorded.

usage: fibers_test.py COUNTRACE FIBER_WORKLOAD
"""
import json
import platform
import sys
import unittest

from trace_checks import Recording

WORKLOAD = None
FIBERS, ROUNDS = 5, 40
CALLS = FIBERS * ROUNDS
KERNEL = ((), ('--kernel', 'syscalls'), ('--kernel', 'syscalls,faults,wakeups'))


@unittest.skipUnless(platform.machine() == 'x86_64', 'SKIPPED: needs x86-64')
class Fibers(Recording):
    def record(self, mode, *options):
        self.needs_root()
        run = self.countrace('record', '--force', *options, '-o', self.trace,
                             '--', WORKLOAD, mode, FIBERS, ROUNDS)
        self.check_readable()
        data = self.report()
        self.assertEqual(data['loss']['discarded_events'], 0)
        self.rows = {row['segment'].removeprefix('fiber:'): row
                     for row in data['segments']
                     if row['segment'].startswith('fiber:')}
        self.known = {}
        for line in run.stdout.splitlines():
            name, calls, cpu_ns = line.split()
            self.known[name] = (int(calls), int(cpu_ns))

    def paths(self):
        rows = self.report('--by', 'path')['segment_paths']
        return {'>'.join(name.removeprefix('fiber:') for name in row['path']):
                row['calls'] for row in rows
                if row['path'][-1].startswith('fiber:')}

    def check_times(self):
        """The program's clock stops before each switch and each inner call. It
        counts half of each system call that reads it, which the trace has as a
        call of its own: no segment is so short that a host's stop of 0.3 ms in
        one of them matters."""
        for name, row in self.rows.items():
            calls, known_ns = self.known[name]
            self.assertEqual(row['calls'], calls, name)
            excl_ns = row['on_cpu_ns']['excl']
            self.assertGreater(excl_ns, 0.8 * known_ns, name)
            # A call with another one's work in it has twice as much, or more.
            self.assertLess(excl_ns, 1.3 * known_ns + 20_000 * calls, name)

    def check_exact(self):
        self.check_times()
        for name, row in self.rows.items():
            self.assertEqual((row['quality'], row.get('end_inferred', 0),
                              row.get('begin_inferred', 0)),
                             ('exact', 0, 0), (name, json.dumps(row)))

    def test_switched_at_random(self):
        for options in KERNEL:
            with self.subTest(options):
                self.record('random', *options)
                self.check_exact()
                self.assertEqual(self.paths(), {
                    'main': self.known['main'][0],
                    'outer': CALLS, 'outer>inner': CALLS})

    def test_that_end_by_their_link(self):
        for options in KERNEL:
            with self.subTest(options):
                self.record('link', *options)
                self.check_exact()
                self.assertEqual(self.paths(), {
                    'main': self.known['main'][0],
                    'outer': CALLS, 'outer>inner': CALLS})

    def test_a_handler_on_another_stack_is_inside(self):
        self.record('handler', *KERNEL[1])
        self.check_exact()
        self.assertEqual(self.paths(), {
            'main': self.known['main'][0], 'outer': CALLS,
            'outer>inner': CALLS, 'outer>handler': CALLS})

    def test_switched_by_longjmp(self):
        for options in KERNEL:
            with self.subTest(options):
                self.record('longjmp', *options)
                self.check_exact()
                self.assertEqual(self.paths(), {
                    'main': self.known['main'][0],
                    'outer': CALLS, 'outer>inner': CALLS})

    def test_a_stack_that_is_used_again_has_no_old_calls(self):
        for options in KERNEL:
            with self.subTest(options):
                self.record('reuse', *options)
                self.check_times()
                self.assertEqual(self.paths(), {
                    'main': ROUNDS, 'outer': ROUNDS, 'outer>inner': ROUNDS})
                self.assertEqual(self.rows['main']['quality'], 'exact')
                for name in ('outer', 'inner'):
                    row = self.rows[name]
                    self.assertEqual(row['end_inferred'], ROUNDS)
                    self.assertEqual(row['quality'], 'inferred')


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
