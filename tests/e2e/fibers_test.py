#!/usr/bin/env python3
"""Programs whose fibers have segments: each stack has its own open calls, so
calls, nesting and time are exact, whatever else is recorded.

usage: fibers_test.py COUNTRACE FIBER_WORKLOAD
"""
import json
import platform
import sys
import unittest

from trace_checks import Recording, exact_qualities

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
        self.qualities = exact_qualities(data)
        self.rows = {row['segment'].removeprefix('fiber:'): row
                     for row in data['segments']
                     if row['segment'].startswith('fiber:')}
        self.known = {}
        for line in run.stdout.splitlines():
            name, calls, ns = line.split()
            self.known[name] = (int(calls), int(ns))

    def paths(self):
        rows = self.report('--by', 'path')['segment_paths']
        return {'>'.join(name.removeprefix('fiber:') for name in row['path']):
                row['calls'] for row in rows
                if row['path'][-1].startswith('fiber:')}

    def check_times(self):
        """The program's clock stops before each switch and each inner call: a
        segment has what it shows, and of the time between at most all. Time
        off the CPU and stops by a host are in both."""
        _, between_ns = self.known['between']
        for name, row in self.rows.items():
            calls, known_ns = self.known[name]
            self.assertEqual(row['calls'], calls, name)
            wall_ns, on_ns, off_ns = (
                row[time]['excl']
                for time in ('wall_ns', 'on_cpu_ns', 'off_cpu_ns'))
            # Its system calls and faults are not its own time.
            self.assertGreater(wall_ns, 0.9 * known_ns, name)
            self.assertLess(wall_ns, 1.01 * known_ns + between_ns, name)
            if self.qualities == ('exact',):
                self.assertEqual(on_ns + off_ns, wall_ns, name)

    def check_exact(self):
        self.check_times()
        for name, row in self.rows.items():
            self.assertIn(row['quality'], self.qualities, json.dumps(row))
            self.assertEqual((row.get('end_inferred', 0),
                              row.get('begin_inferred', 0)),
                             (0, 0), (name, json.dumps(row)))

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
                self.assertIn(self.rows['main']['quality'], self.qualities)
                for name in ('outer', 'inner'):
                    row = self.rows[name]
                    self.assertEqual(row['end_inferred'], ROUNDS)
                    self.assertEqual(row['quality'], 'inferred')


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
