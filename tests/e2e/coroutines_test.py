#!/usr/bin/env python3
"""C++20 coroutines that have a scope of one segment across their suspensions:
resumed in turn they are marked and counted, nested they are exact.

usage: coroutines_test.py COUNTRACE COROUTINE_WORKLOAD...
"""
import sys
import unittest

from trace_checks import HIDES_SWITCHES, Recording, exact_qualities

WORKLOADS = []
ROUNDS = 50
KERNEL = ((), ('--kernel', 'syscalls,faults,wakeups'))
STEP, PLAIN = 'coro:step', 'coro:plain'


class Coroutines(Recording):
    def each_record(self, order):
        """Records each program with each of KERNEL: the row of the segment."""
        self.needs_root()
        for workload in WORKLOADS:
            for options in KERNEL:
                with self.subTest(workload=workload, options=options):
                    self.countrace('record', '--force', *options, '-o',
                                   self.trace, '--', workload, order, ROUNDS)
                    self.check_readable()
                    self.data = self.report()
                    self.assertEqual(self.data['loss']['discarded_events'], 0)
                    rows = {row['segment']: row for row in self.data['segments']}
                    self.text = self.countrace('report', '--by', 'segment',
                                               self.trace).stdout
                    yield rows[STEP]

    def paths(self):
        return {tuple(name for name in row['path'] if name.startswith('coro:')):
                row['calls']
                for row in self.report('--by', 'path')['segment_paths']
                if row['path'][-1].startswith('coro:')}

    def hits(self):
        return {row['hook']: row['hits']
                for row in self.report('--by', 'hook')['hooks']}

    def test_nested_ones_are_exact(self):
        for row in self.each_record('nested'):
            self.assertEqual((row['calls'], row.get('end_inferred', 0)),
                             (2 * ROUNDS, 0))
            self.assertIn(row['quality'], exact_qualities(self.data))
            self.assertEqual([message for message in self.data['loss']['messages']
                              if HIDES_SWITCHES not in message], [])
            self.assertNotIn('no exit', self.text)
            self.assertEqual(self.paths(), {
                (STEP,): ROUNDS, (STEP, STEP): ROUNDS,
                (STEP, STEP, PLAIN): ROUNDS, (STEP, PLAIN): ROUNDS})

    def test_ones_in_turn_are_marked_by_name_and_counted(self):
        for row in self.each_record('turns'):
            self.assertEqual((row['calls'], row['end_inferred'],
                              row['quality']), (2 * ROUNDS, ROUNDS, 'inferred'))
            low, high = row['bounds']['wall_ns.incl']
            self.assertLess(low, row['wall_ns']['incl'])
            self.assertGreater(high, row['wall_ns']['incl'])
            said = f'{ROUNDS} calls of {STEP} ended after a call around them'
            self.assertIn(said, ' '.join(self.data['loss']['messages']))
            self.assertIn('note: ' + said, self.text)
            self.assertNotIn('no exit', self.text)
            # The second call of plain is behind the end of the first coroutine.
            self.assertEqual(self.paths(), {
                (STEP,): ROUNDS, (STEP, STEP): ROUNDS,
                (STEP, STEP, PLAIN): ROUNDS, (PLAIN,): ROUNDS})

    def test_one_that_ends_in_another_thread_ends_no_other_call(self):
        for row in self.each_record('threads'):
            self.assertEqual(
                (row['calls'], row['begin_inferred'], row['end_inferred'],
                 row['quality']), (3 * ROUNDS, ROUNDS, ROUNDS, 'inferred'))
            # The other thread's own coroutine is open around it.
            self.assertEqual(self.paths()[STEP, PLAIN], ROUNDS)

    def test_each_has_two_records_more_and_plain_functions_none(self):
        for row in self.each_record('nested'):
            hits = self.hits()
            self.assertEqual(hits[STEP], 2 * row['calls'])
            self.assertEqual(hits['countrace:scope'], 2 * row['calls'])
            self.assertEqual(hits[PLAIN], 2 * 2 * ROUNDS)


if __name__ == '__main__':
    Recording.countrace_program, *WORKLOADS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
