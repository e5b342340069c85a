#!/usr/bin/env python3
"""Levels of a real program: what its threads used while each was up, and the
calls that began meanwhile.

usage: levels_test.py COUNTRACE LEVEL_WORKLOAD
"""
import json
import os
import pathlib
import re
import shlex
import sys
import unittest

from trace_checks import Recording

WORKLOAD = None
PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'levels.md'
# Faults of the hooks themselves: their stream's first pages, their code.
OWN = 60


class Levels(Recording):
    def record(self, *options):
        run = self.countrace('record', *options, '-o', self.trace, '--',
                             WORKLOAD)
        self.check_readable()
        rows = self.report('--by', 'level')['levels']
        self.assertEqual({row['scope'] for row in rows}, {'thread', 'process'})
        by_pages = sorted((row for row in rows if row['scope'] == 'thread'),
                          key=lambda row: row['pid'] != row['tid'])
        self.assertEqual([row['level'] for row in by_pages],
                         ['shop:cold_cache'] * 2)
        process, = (row for row in rows if row['scope'] == 'process')
        names = ('main', 'other', 'open')
        pages = dict(line.split() for line in run.stdout.splitlines())
        return {name: (row, int(pages[name]))
                for name, row in zip(names, (*by_pages, process))}

    def segments(self, *options):
        return sorted((row['calls'], row.get('level.cold_cache'))
                      for row in self.report('--by', 'segment',
                                             *options)['segments'])

    def test_times_without_kernel_records(self):
        rows = self.record('--no-kernel')
        for row, _ in rows.values():
            self.assertEqual(row['times'], 1)
            self.assertGreater(row['up_ns'], 0)
            self.assertIsNone(row['on_cpu_ns'])
        self.assertGreater(rows['open'][0]['up_ns'], rows['main'][0]['up_ns'])
        self.assertGreater(rows['main'][0]['up_ns'], rows['other'][0]['up_ns'])
        self.assertEqual(rows['main'][0]['quality'], 'exact')
        # Without kernel records the end of a thread is not recorded.
        self.assertEqual(rows['other'][0]['quality'], 'bounded')

    def test_calls_that_begin_while_it_is_up(self):
        self.record('--no-kernel')
        self.assertEqual(self.segments('--where', 'level.cold_cache'), [(2, 1)])
        self.assertEqual(self.segments('--where', 'level.cold_cache == 0'),
                         [(4, 0)])
        self.assertEqual(self.segments('--where', 'level.open',
                                       '--columns', 'calls'), [(4, None)])
        self.assertEqual(self.segments('--group-by', 'level.cold_cache'),
                         [(2, 1), (4, 0)])

    def test_an_exec_lowers_it(self):
        self.needs_root()
        self.countrace('record', '-o', self.trace, '--', WORKLOAD, 'exec')
        records = [json.loads(line) for line in self.countrace(
            'script', '--format', 'jsonl', self.trace).stdout.splitlines()]
        changes = [(one['time_ns'], one['fields']['on']) for one in records
                   if one['event'] == 'shop:open']
        exec_ns, = (one['time_ns'] for one in records if one['event'] == 'exec'
                    and one['time_ns'] > changes[0][0])
        self.assertEqual([on for _, on in changes], [1, 1, 0])
        row, = (row for row in self.report('--by', 'level')['levels']
                if row['level'] == 'shop:open')
        self.assertEqual(row['times'], 2)
        self.assertEqual(row['up_ns'], exec_ns - changes[0][0] + changes[2][0] - changes[1][0])
        # The calls of the new program began with it down.
        self.assertEqual(self.segments('--where', 'level.cold_cache', '--columns', 'calls'),
                         [(3, None)])

    def test_a_flight_recording_that_lost_where_it_was_raised(self):
        # Each CPU has a ring: a thread that moved would leave the record in the one it left.
        self.countrace('record', '--no-kernel', '--flight', '1M', '-o', self.trace, '--',
                       'taskset', '-c', str(min(os.sched_getaffinity(0))),
                       WORKLOAD, 'ticks', '300000')
        records = [json.loads(line) for line in self.countrace(
            'script', '--format', 'jsonl', self.trace).stdout.splitlines()]
        changes = [one for one in records if one['event'] == 'shop:ticking']
        self.assertEqual([one['fields']['on'] for one in changes], [0])
        self.assertLess(len(records), 200000)
        answer = self.report('--by', 'level')
        row, = answer['levels']
        least, most = row['bounds']['up_ns']
        self.assertLessEqual(least, changes[0]['time_ns'] - answer['trace']['begin_ns'])
        self.assertGreaterEqual(most, changes[0]['time_ns'] - answer['trace']['begin_ns'])

    def test_where_it_is_no_value(self):
        self.record('--no-kernel')
        for verb in (['script'], ['report', '--slowest', '3', 'shop:touch']):
            refused = self.countrace(*verb, '--where', 'level.cold_cache', self.trace, check=False)
            self.assertEqual(2, refused.returncode)
            self.assertIn("script --hook '*:cold_cache'", refused.stderr)
        own = self.countrace('script', '--hook', '*:cold_cache', self.trace).stdout
        self.assertEqual(own.count('cold_cache'), 3)

    def test_a_trace_with_a_pause(self):
        """What lies in it is in no row; counts of dumps around it are of both."""
        rows = self.record('--trigger', 'hook shop:open if on == 0 then pause')
        for row, _ in rows.values():
            self.assertEqual(row['times'], 1)
            self.assertGreater(min(row['up_ns'], row['on_cpu_ns']), 0)
            self.assertEqual(row['counts'], {})
        self.assertEqual(self.segments('--columns', 'calls'), [(5, None)])
        refused = self.countrace('report', '--given', 'pages > 400', self.trace, check=False)
        self.assertEqual(1, refused.returncode)
        self.assertIn('leaves out pauses', refused.stderr)

    def test_commands_of_the_page(self):
        self.record('--no-kernel')
        commands = re.findall(r'^    countrace (.*)$', PAGE.read_text(), re.MULTILINE)
        self.assertGreaterEqual(len(commands), 3)
        for command in commands:
            with self.subTest(command):
                words = shlex.split(command.replace('shop.ctf', str(self.trace)))
                printed = self.countrace(*words).stdout
                self.assertRegex(printed, 'shop:(cold_cache|touch)')

    def test_other_verbs(self):
        """A level is a row of the one world of tables, and a point elsewhere."""
        self.record('--no-kernel')
        rows = json.loads(self.countrace(
            'query', 'SELECT level, up_ns FROM levels ORDER BY up_ns DESC', '--format', 'json',
            self.trace).stdout)
        self.assertIn('shop:open', str(rows))
        self.assertEqual(self.countrace('script', self.trace).stdout.count('shop:cold_cache'), 3)
        copy = self.work / 'copy.ctf'
        self.countrace('record', '--no-kernel', '-o', copy, '--', WORKLOAD)
        diff = self.countrace('diff', self.trace, copy, check=False)
        self.assertIn(diff.returncode, (0, 4), diff.stderr)
        halves = [self.report('--by', 'level', option, '50%')['levels']
                  for option in ('--from', '--to')]
        whole = self.report('--by', 'level')['levels']
        for row in whole:
            name = (row['level'], row['tid'])
            parts = [part['up_ns'] for half in halves for part in half
                     if (part['level'], part['tid']) == name]
            self.assertEqual(sum(parts), row['up_ns'], name)
        self.assertIn('shop:open', self.countrace(
            'export', '--to', 'csv', '--table', 'levels', self.trace).stdout)

    def test_counts_while_it_is_up(self):
        self.needs_root()
        rows = self.record('-a', '-e', 'task-clock,page-faults')
        for name, (row, pages) in rows.items():
            with self.subTest(name):
                faults = row['counts']['page-faults']
                self.assertGreaterEqual(faults, pages)
                self.assertLessEqual(faults, pages + OWN)
                self.assertNotIn('page-faults', str(row.get('bounds', {})))
                # The kernel's clock may differ from the dispatches' by little,
                # and is then split by time.
                self.assertIn(row['quality'], ('exact', 'inferred', 'bounded'))
                self.assertAlmostEqual(
                    row['counts']['task-clock'] / row['on_cpu_ns'], 1,
                    delta=0.05)
                self.assertLessEqual(row['on_cpu_ns'], 2 * row['up_ns'])
                if row['scope'] == 'thread':
                    self.assertLessEqual(row['on_cpu_ns'], row['up_ns'])


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
