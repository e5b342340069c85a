#!/usr/bin/env python3
"""What the comparison accepts and what it reports, on rows made by hand; and
the states of a thread from its changes.

usage: comparison_test.py
"""
import unittest

from comparison import Comparison
from thread_times import IN, OTHER, OUT, WAKE, ThreadTimes


def compared(ours, theirs):
    comparison = Comparison()
    comparison.row('row', ours, theirs)
    return (comparison.equal, comparison.bounded, comparison.skipped,
            len(comparison.differences))


class Rows(unittest.TestCase):
    def test_an_exact_number_is_equal_to_the_digit(self):
        self.assertEqual(compared({'on_cpu_ns': 5}, {'on_cpu_ns': 5}),
                         (1, 0, 0, 0))
        self.assertEqual(compared({'on_cpu_ns': 5}, {'on_cpu_ns': 6}),
                         (0, 0, 0, 1))

    def test_a_number_that_is_absent_differs(self):
        self.assertEqual(compared({'on_cpu_ns': 5}, {}), (0, 0, 0, 1))
        self.assertEqual(compared({'on_cpu_ns': 5}, {'on_cpu_ns': None}),
                         (0, 0, 0, 1))

    def test_a_bound_holds_the_number(self):
        for value, differences in ((3, 1), (4, 0), (9, 0), (10, 1)):
            row = {'on_cpu_ns': 4, 'quality': 'bounded',
                   'bounds': {'on_cpu_ns': [4, 9]}}
            self.assertEqual(compared({'on_cpu_ns': value}, row),
                             (0, 1, 0, differences))

    def test_bounds_of_counts_and_of_pairs(self):
        row = {'wall_ns': {'incl': 4, 'excl': 2}, 'counts': {'cycles': 7},
               'quality': 'bounded',
               'bounds': {'wall_ns.incl': [4, 5], 'counts.cycles': [7, 8]}}
        ours = {'wall_ns': {'incl': 6, 'excl': 2}, 'counts': {'cycles': 9}}
        self.assertEqual(compared(ours, row), (0, 2, 1, 2))

    def test_without_bounds_what_is_not_exact_is_skipped(self):
        row = {'on_cpu_ns': 4, 'quality': 'inferred'}
        self.assertEqual(compared({'on_cpu_ns': 5}, row), (0, 0, 1, 0))

    def test_on_cpu_quality_leaves_wall_times_exact(self):
        row = {'wall_ns': {'incl': 4}, 'on_cpu_ns': {'incl': 3},
               'quality': 'exact', 'on_cpu_quality': 'bounded'}
        ours = {'wall_ns': {'incl': 5}, 'on_cpu_ns': {'incl': 2}}
        self.assertEqual(compared(ours, row), (0, 0, 1, 1))

    def test_a_row_may_be_absent_only_if_it_is_zero(self):
        def differences(ours, theirs):
            comparison = Comparison()
            comparison.rows('threads', ours, theirs, lambda row: row['tid'])
            return len(comparison.differences)

        zero, some = {'tid': 1, 'dispatches': 0}, {'tid': 1, 'dispatches': 2}
        self.assertEqual(differences([zero], []), 0)
        self.assertEqual(differences([some], []), 1)
        self.assertEqual(differences([], [some]), 1)


class States(unittest.TestCase):
    def states(self, *changes):
        times = ThreadTimes()
        times.changes = [(0, 0, IN, 0), (5, 0, OUT, OTHER), *changes]
        times.settle(20, wakeups=True)
        return times.states, times.blocked.total()

    def test_a_wake_up_shows_that_a_thread_was_blocked(self):
        """Also an idle worker of the kernel, which leaves its CPU as 'other'."""
        self.assertEqual(
            self.states((9, 0, WAKE, 0), (12, 0, IN, 0)),
            ([(0, 'running'), (5, 'blocked'), (9, 'waiting'), (12, 'running')],
             4))
        self.assertEqual(
            self.states((12, 0, IN, 0)),
            ([(0, 'running'), (5, 'off-cpu'), (12, 'running')], 0))


if __name__ == '__main__':
    unittest.main()
