#!/usr/bin/env python3
"""Programs that close all descriptors that they have, and use the numbers
again: none of theirs is read, written or closed by the runtime library.

usage: closed_descriptors_test.py COUNTRACE CLOSED_DESCRIPTORS_WORKLOAD
"""
import subprocess
import sys
import unittest

from trace_checks import FULL, Recording

PROGRAM = None
CALLS = 2000
EVENTS = 'page-faults,{task-clock},{cpu-clock}'  # groups that take turns


class ClosedDescriptors(Recording):
    def alone(self, *arguments):
        run = subprocess.run([PROGRAM, *arguments], text=True,
                             capture_output=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def record(self, *arguments, options=()):
        run = self.countrace('record', '--force', '--no-kernel', '-o',
                             self.trace, *options, '--', PROGRAM, *arguments,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run

    def test_pipes_on_numbers_that_counters_had(self):
        for way in 'closefrom', 'close_range', 'number', 'loop':
            with self.subTest(way=way):
                alone = self.alone(way, str(CALLS))
                run = self.record(way, CALLS,
                                  options=['--hook-events', EVENTS])
                self.assertEqual(run.stdout, alone)
                self.countrace('verify', self.trace)
                # The child has no free number for its stream's file.
                lost = self.report()['loss']['discarded_events']
                hits = sum(row['hits'] for row in
                           self.report('--by', 'hook')['hooks'])
                self.assertEqual(hits + lost, 2 * 4 * CALLS)

    def test_files_on_numbers_that_streams_had(self):
        """A helper thread makes the sub-buffers meanwhile."""
        files = self.work / 'files'
        files.mkdir()
        self.record('files', files, 2000 if FULL else 300)
        self.countrace('verify', self.trace)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
