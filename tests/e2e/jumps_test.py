#!/usr/bin/env python3
"""Programs that leave segments by longjmp, siglongjmp and swapcontext, recorded
by their hooks alone: every call is counted once, and exact where the record of
the jump shows where it went.

usage: jumps_test.py COUNTRACE JUMP_WORKLOAD JUMP_WORKLOAD_STATIC
"""
import platform
import sys
import unittest

from trace_checks import Recording

WORKLOAD = STATIC = None
ROUNDS = 2000
# Elsewhere the time of setjmp is not known.
EXACT = platform.machine() == 'x86_64'


class Jumps(Recording):
    def record(self, program, mode, *options, rounds=ROUNDS):
        run = self.countrace('record', '--no-kernel', *options, '-o',
                             self.trace, '--', program, mode, rounds)
        self.check_readable()
        data = self.report()
        self.assertEqual(data['loss']['discarded_events'], 0)
        self.rows = {row['segment'].removeprefix('jump:'): row
                     for row in data['segments']}
        return run.stdout

    def paths(self):
        rows = self.report('--by', 'path')['segment_paths']
        return {'>'.join(name.removeprefix('jump:') for name in row['path']):
                row['calls'] for row in rows}

    def check_exact(self, calls):
        self.assertEqual({name: row['calls']
                          for name, row in self.rows.items()}, calls)
        if EXACT:
            for name, row in self.rows.items():
                self.assertEqual((row['quality'], row.get('end_inferred', 0)),
                                 ('exact', 0), name)

    def test_out_of_a_segment(self):
        self.record(WORKLOAD, 'longjmp')
        self.check_exact({'loop': 1, 'left': ROUNDS, 'work': ROUNDS})
        if EXACT:
            self.assertEqual(self.paths(), {
                'loop': 1, 'loop>left': ROUNDS, 'loop>work': ROUNDS})

    def test_into_a_segment_that_begins_in_the_tick_of_setjmp(self):
        # The raw counter of many processors stands still for 10 ns or more: of
        # so many calls some begin in the tick in which the target was saved.
        rounds = 20 * ROUNDS
        self.record(WORKLOAD, 'longjmp', rounds=rounds)
        self.check_exact({'loop': 1, 'left': rounds, 'work': rounds})

    def test_a_filter_of_hooks_does_not_lose_the_jumps(self):
        self.record(WORKLOAD, 'longjmp', '--hooks', 'jump:*')
        self.check_exact({'loop': 1, 'left': ROUNDS, 'work': ROUNDS})

    def test_out_of_nested_segments_and_to_a_restored_target(self):
        self.record(WORKLOAD, 'deep')
        far = ROUNDS // 3
        self.check_exact({'loop': 1, 'round': ROUNDS, 'outer': ROUNDS,
                          'left': ROUNDS, 'work': ROUNDS})
        if EXACT:
            self.assertEqual(self.paths(), {
                'loop': 1, 'loop>round': ROUNDS,
                'loop>round>outer': ROUNDS, 'loop>round>outer>left': ROUNDS,
                'loop>round>work': ROUNDS - far, 'loop>work': far})

    def test_out_of_a_signal_handler(self):
        self.record(WORKLOAD, 'signal')
        self.check_exact({'loop': 1, 'left': ROUNDS, 'work': ROUNDS})

    def test_between_stacks(self):
        self.record(WORKLOAD, 'switch')
        if EXACT:
            self.check_exact({'loop': ROUNDS, 'other': ROUNDS})
            self.assertEqual(self.paths(), {'loop': ROUNDS, 'other': ROUNDS})
        for name in ('loop', 'other'):
            self.assertEqual(self.rows[name]['calls'], ROUNDS)

    def test_a_program_behaves_the_same(self):
        for mode in ('longjmp', 'deep', 'signal', 'switch'):
            recorded = self.record(WORKLOAD, mode, '--force')
            self.assertIn('sum', recorded)

    def test_without_a_record_the_number_of_calls_is_exact(self):
        self.record(STATIC, 'longjmp')
        self.assertEqual({name: row['calls']
                          for name, row in self.rows.items()},
                         {'loop': 1, 'left': ROUNDS, 'work': ROUNDS})
        self.assertEqual(self.rows['work']['quality'], 'exact')
        self.assertEqual(self.rows['left']['quality'], 'inferred')
        self.assertEqual(self.rows['loop']['quality'], 'inferred')
        rows = self.report('--by', 'path')['segment_paths']
        self.assertEqual({row['quality'] for row in rows
                          if row['path'][-1] == 'jump:work'}, {'inferred'})


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD, STATIC = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
