#!/usr/bin/env python3
"""`report --by fault`: the page faults of a program of known faults, by kind and
range, are those of its books.

usage: fault_rows_test.py COUNTRACE PAGE_TOUCHER
"""
import json
import re
import sys
import unittest

import trace_checks

MS = 300
RANGE = 2 << 20
# Touches the pages of a file that is not in memory; prints where they are, and
# how many of its faults waited for a device meanwhile.
READER = '''
import mmap, os, resource, sys
PAGES = 256
with open(sys.argv[1], 'w+b') as file:
    file.write(os.urandom(PAGES * mmap.PAGESIZE))
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    memory = mmap.mmap(file.fileno(), 0)
    memory.madvise(mmap.MADV_RANDOM)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    sum(memory[i * mmap.PAGESIZE] for i in range(PAGES))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    for line in open('/proc/self/maps'):
        if sys.argv[1] in line:
            print('pid', os.getpid(), 'at', *line.split()[0].split('-'), 'major', after - before)
'''


class FaultRows(trace_checks.Recording):
    toucher = None  # set by main

    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')

    def record(self, *options, command):
        done = self.countrace('record', '--force', '-o', self.trace, '-e',
                              'task-clock,page-faults', *options, '--', *command)
        return done.stdout

    def rows(self, *options):
        done = self.countrace('report', '--by', 'fault', '--format', 'json', *options,
                              self.trace)
        return json.loads(done.stdout)['faults']

    def check_sums(self):
        data = self.report()
        self.check_books(data)
        self.assertEqual(data['faults'], self.rows())
        for process in data['processes']:
            rows = [row for row in data['faults'] if row['pid'] == process['pid']]
            self.assertEqual(process['counts']['page-faults'],
                             sum(row['faults'] for row in rows), process)
        return data

    def test_rows_add_up_to_the_books(self):
        out = self.record('--kernel', 'faults', command=(self.toucher, MS))
        pid, pages = map(int, re.search(r'pid (\d+) pages (\d+)', out).groups())
        data = self.check_sums()
        lost = data['loss']['discarded_events']
        rows = [row for row in data['faults'] if row['pid'] == pid]
        # Each mapping is at the place of the one before: in one range, or two.
        touched = sorted((row['faults'] for row in rows if row['kind'] == 'user'),
                         reverse=True)
        self.assertGreaterEqual(sum(touched[:2]), pages - lost)
        for row in rows:
            self.assertEqual(0, int(row['range'], 16) % RANGE, row)
            if row['kind'] is None:  # in an exec, before the program's own
                self.assertIsNone(row['major'], row)
            else:
                self.assertLessEqual(row['major'], row['faults'], row)
        for kind in ('user', 'kernel'):
            calls = [row['calls'] for row in data['segments']
                     if row['pid'] == pid and row['segment'] == f'fault:{kind}']
            # A fault that failed, or was repeated, has no end of its own.
            self.assertLessEqual(sum(row['faults'] for row in rows if row['kind'] == kind),
                                 sum(calls) + lost)
        groups = self.rows('--process', pid, '--group-by', 'kind')
        self.assertEqual(len({row['kind'] for row in rows}), len(groups))
        self.assertEqual(sum(row['faults'] for row in rows),
                         sum(row['faults'] for row in groups))
        text = self.countrace('report', '--by', 'fault', self.trace).stdout
        self.assertRegex(text, r'pid +command +kind +range +faults +major')

    def test_kinds_are_absent_without_their_hooks(self):
        self.record(command=(self.toucher, MS))
        for row in self.check_sums()['faults']:
            self.assertIsNone(row['kind'])
            self.assertIsNone(row['major'])

    def test_major_faults_are_where_the_file_is(self):
        out = self.record('--kernel', 'faults',
                          command=(sys.executable, '-c', READER, self.work / 'read'))
        pid, begin, end, major = re.search(r'pid (\d+) at (\w+) (\w+) major (\d+)', out).groups()
        if int(major) == 0:
            self.skipTest('SKIPPED: a file of this folder stays in memory')
        first, last = int(begin, 16) // RANGE * RANGE, int(end, 16)
        rows = [row for row in self.check_sums()['faults'] if row['pid'] == int(pid)]
        there = [row for row in rows if first <= int(row['range'], 16) < last]
        # The loop's are some of all; a range can hold other files, too.
        self.assertGreaterEqual(sum(row['major'] or 0 for row in rows), int(major))
        self.assertGreater(sum(row['major'] or 0 for row in there), 0)

    def test_a_trace_without_faults_says_so(self):
        self.countrace('record', '--force', '-o', self.trace, '-e', 'task-clock', '--',
                       self.toucher, 1)
        self.assertIsNone(self.report()['faults'])
        text = self.countrace('report', '--by', 'fault', self.trace).stdout
        self.assertIn('no page faults were recorded', text)


if __name__ == '__main__':
    trace_checks.Recording.countrace_program = sys.argv[1]
    FaultRows.toucher = sys.argv[2]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
