#!/usr/bin/env python3
"""What ended blocked time, on two processes that pass bytes over a pipe: the
writer wakes the reader, in its system call; all times add up. And `report
--where` on the same trace: rows filtered as Python filters the JSON.

usage: wakers_test.py COUNTRACE WAKER_WORKLOAD
"""
import collections
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from trace_checks import Recording, countrace

WORKLOAD = None
TIMES = 20


class Wakers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-wakers-'))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.trace = cls.work / 'trace.ctf'
        run = countrace('record', '--backend', 'bpf', '-a', '--kernel',
                        'wakeups,syscalls,irq,softirq', '-o', cls.trace, '--',
                        WORKLOAD, TIMES, check=False)
        if run.returncode != 0:
            raise unittest.SkipTest('SKIPPED: wake-ups need BPF: ' +
                                    run.stderr.strip())
        cls.reader, cls.writer = map(int, re.search(
            r'^pid (\d+) child (\d+)', run.stdout, re.M).groups())
        cls.report = json.loads(countrace('report', '--format', 'json',
                                          cls.trace).stdout)

    def rows(self, *path):
        return [row for row in self.report['wakers']
                if row['pid'] == self.reader and row['path'] == list(path)]

    def test_the_writer_wakes_the_reader_in_its_system_call(self):
        rows = self.rows('reader:wait', 'syscall:read')
        by_writer = [row for row in rows
                     if row['waker'].get('pid') == self.writer]
        self.assertEqual([('thread', 'writer', 'syscall:write')],
                         [(row['waker']['kind'], row['waker']['comm'],
                           row['waker'].get('segment')) for row in by_writer])
        # The kernel of a virtual machine may hide a switch.
        self.assertGreaterEqual(by_writer[0]['times'], TIMES * 3 // 4)
        self.assertLessEqual(by_writer[0]['times'], TIMES)
        self.assertGreater(by_writer[0]['blocked_ns'], 0)
        self.assertLessEqual(by_writer[0]['longest_ns'],
                             by_writer[0]['blocked_ns'])
        # Only the writer wakes a pipe's reader.
        others = sum(row['times'] for row in rows if row not in by_writer)
        self.assertLessEqual(others, TIMES // 4, rows)

    def test_nobody_sleeps_on_the_readers_account(self):
        """A timer's interrupt ends the writer's pauses."""
        pauses = [row for row in self.report['wakers']
                  if row['pid'] == self.writer and
                  row['segment'] == 'syscall:clock_nanosleep']
        self.assertGreaterEqual(sum(row['times'] for row in pauses), TIMES)
        for row in pauses:
            self.assertEqual('writer:make', row['path'][0])

    def test_an_interrupt_is_not_the_process_that_it_interrupted(self):
        """Also where interrupts are not recorded, and of a command."""
        trace = self.work / 'without.ctf'
        run = countrace('record', '--backend', 'bpf', '--kernel',
                        'wakeups,syscalls', '-o', trace, '--', WORKLOAD, TIMES)
        writer = int(re.search(r' child (\d+)', run.stdout).group(1))
        rows = json.loads(countrace('report', '--by', 'waker', '--format',
                                    'json', trace).stdout)['wakers']
        times = collections.Counter()
        for row in rows:
            if (row['pid'], row['segment']) == (writer,
                                                'syscall:clock_nanosleep'):
                times[row['waker']['kind']] += row['times']
        # Or its wake-up came before its switch.
        self.assertLessEqual(set(times), {'interrupt', 'not_told'})
        self.assertGreaterEqual(times['interrupt'], TIMES * 3 // 4)

    def test_wakers_add_up_to_the_blocked_time(self):
        threads, wakers = collections.Counter(), collections.Counter()
        for row in self.report['threads']:
            threads[row['pid']] += row['blocked_ns']
        for row in self.report['wakers']:
            wakers[row['pid']] += row['blocked_ns']
        self.assertGreater(len(threads), 3)
        self.assertEqual(+threads, +wakers)
        segments = {row['segment']: row for row in self.report['segments']
                    if row['pid'] == self.reader}
        wait = segments['reader:wait']
        of_wait = [row for row in self.report['wakers']
                   if row['pid'] == self.reader and
                   row['path'][:1] == ['reader:wait']]
        self.assertEqual(wait['blocked_ns']['incl'],
                         sum(row['blocked_ns'] for row in of_wait))
        self.assertEqual(wait['blocked_ns']['excl'],
                         sum(row['blocked_ns'] for row in of_wait
                             if row['path'] == ['reader:wait']))
        for row in self.report['segments']:
            self.assertLessEqual(
                row['wait_ns']['incl'] + row['blocked_ns']['incl'],
                row['off_cpu_ns']['incl'], row['segment'])

    def test_text_shows_who_woke_whom(self):
        text = countrace('report', '--by', 'waker', '--rows', '0',
                         self.trace).stdout
        self.assertRegex(text, rf'reader:wait > syscall:read +writer '
                               rf'\(pid {self.writer}\) +syscall:write')
        whole = countrace('report', self.trace).stdout
        self.assertIn('WAKERS: what ended blocked time', whole)

    def test_where_is_a_filter_of_the_json(self):
        expressions = {
            f'waker.pid == {self.writer} && path =~ "^reader:wait"':
                ('wakers', lambda row: row['waker'].get('pid') == self.writer and
                 row['path'][:1] == ['reader:wait']),
            'comm == "reader" && segment =~ "^reader:|syscall:re.d$"':
                ('segments', lambda row: row['comm'] == 'reader' and
                 re.search('^reader:|syscall:re.d$', row['segment'])),
            'wall_ns > 1ms && !(calls < 10) || comm == "writer"':
                ('segment_paths', lambda row: row['wall_ns']['incl'] > 10**6
                 and row['calls'] >= 10 or row['comm'] == 'writer'),
            'wait_ns >= 0.02ms || blocked_ns > 1.5ms':
                ('threads', lambda row: row['wait_ns'] >= 20000 or
                 row['blocked_ns'] > 1500000),
            'page-faults > 10 && comm !~ "^k"':
                ('processes', lambda row: row['counts']['page-faults'] > 10
                 and not row['comm'].startswith('k')),
        }
        for expression, (table, wanted) in expressions.items():
            with self.subTest(expression):
                shown = json.loads(countrace(
                    'report', '--format', 'json', '--where', expression,
                    self.trace).stdout)
                expected = [row for row in self.report[table] if wanted(row)]
                self.assertEqual(expected, shown[table])
                self.assertNotEqual([], expected)
                self.assertLess(len(expected), len(self.report[table]))
                self.assertEqual(self.report['books'], shown['books'])

    def test_where_chooses_who_is_shown_over_time(self):
        intervals = json.loads(countrace(
            'report', '--by', 'time', '--format', 'json', '--where',
            'comm == "writer"', self.trace).stdout)['intervals']
        process, = [row for row in self.report['processes']
                    if row['pid'] == self.writer]
        self.assertEqual(process['on_cpu_ns'],
                         sum(row['selected']['on_cpu_ns']
                             for row in intervals))


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
