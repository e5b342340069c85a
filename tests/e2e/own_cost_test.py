#!/usr/bin/env python3
"""The cost of recording is an account of the books: hook records times the
measured cost of one, for each process, and the time of the recorder's own
programs in the kernel.

usage: own_cost_test.py COUNTRACE HOOK_COST_WORKLOAD
"""
import json
import pathlib
import re
import sys
import time
import unittest

from trace_checks import Recording, countrace

WORKLOAD = None
CALLS = 50_000
CLOCK = 'task-clock'


class OwnCost(Recording):
    def record(self, *options, command=None):
        run = countrace('record', '--force', '-o', self.trace, *options, '--',
                        *(command or (WORKLOAD, CALLS)))
        self.talk = run.stderr
        countrace('verify', self.trace)
        text = (self.trace / 'metadata').read_text(encoding='latin-1')
        self.cost = {name: int(value) for name, value in
                     re.findall(r'(own_hook\w+) = (\d+);', text)}
        data = json.loads(countrace('report', '--format', 'json',
                                    self.trace).stdout)
        for event, books in data['books'].items():
            self.assertEqual(books['residual'], 0, event)
        return data

    def program(self, data):
        name = pathlib.Path(WORKLOAD).name[:15]
        rows = [row for row in data['processes'] if row['comm'] == name]
        self.assertEqual(len(rows), 1, rows)
        return rows[0]

    def segment(self, data):
        rows = [row for row in data['segments']
                if row['segment'] == 'cost:tiny']
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]['calls'], CALLS)
        return rows[0]

    @staticmethod
    def ns(ps):
        return (ps + 500) // 1000

    def test_hooks_cost_what_was_calibrated(self):
        data = self.record()
        # It was measured, and is plausible.
        self.assertGreater(self.cost['own_hook_ps'], 100)
        self.assertLess(self.cost['own_hook_ps'], 100_000_000)
        self.assertGreaterEqual(self.cost['own_hook_cpu_ps'],
                                self.cost['own_hook_ps'])
        self.assertEqual(self.cost['own_hook_dump_ps'], 0)
        row = self.program(data)
        # One segment of CALLS calls, and one hook for each tenth.
        records = 2 * CALLS + CALLS // 10
        self.assertEqual(row['recording_ns'], min(
            self.ns(records * self.cost['own_hook_cpu_ps']),
            row['on_cpu_ns'] or 1 << 63))
        tiny = self.segment(data)
        self.assertEqual(tiny['recording_ns'],
                         min(self.ns(CALLS * self.cost['own_hook_ps']),
                             tiny['wall_ns']['incl']))
        # The hook takes most of such a segment, and the report shows that.
        text = countrace('report', '--by', 'segment', self.trace).stdout
        said = re.search(r'\(about [\d.]+ % of cost:tiny in .* are its '
                         r'hooks and those in it\)', text)
        self.assertEqual(tiny['recording_ns'] * 10 > tiny['wall_ns']['incl'],
                         said is not None, text)
        if CLOCK in data['books']:
            recording = data['books'][CLOCK]['recording']
            self.assertEqual(recording['hooks'], row['recording_ns'])
            self.assertEqual(recording['total'], recording['hooks'] +
                             recording.get('bpf', 0))
            self.assertEqual(recording['quality'], 'scaled')
            # Equal if calibration met a slow moment: then the cost is limited
            # to it.
            self.assertLessEqual(recording['hooks'],
                                 data['books'][CLOCK]['processes'])
        for event, books in data['books'].items():
            if event != CLOCK:
                self.assertIsNone(books['recording'])

    def test_counters_at_hooks_cost_more(self):
        data = self.record('--hook-events', 'task-clock,page-faults',
                           '--dump', 'cost:tiny every 10')
        # Each is a system call, or several register reads.
        self.assertGreater(self.cost['own_hook_dump_ps'],
                           self.cost['own_hook_ps'])
        records, dumps = 2 * CALLS + CALLS // 10, 2 * (CALLS // 10)
        counters = self.cost['own_hook_dump_ps'] - self.cost['own_hook_ps']
        row = self.program(data)
        self.assertEqual(row['recording_ns'], min(
            self.ns(records * self.cost['own_hook_cpu_ps'] +
                    dumps * counters), row['on_cpu_ns'] or 1 << 63))

    def test_without_hooks_nothing_is_measured(self):
        data = self.record(command=('true',))
        self.assertEqual(self.cost, {})
        for row in data['processes'] + data['segments']:
            self.assertIsNone(row['recording_ns'])
        for books in data['books'].values():
            recording = books['recording']
            self.assertTrue(recording is None or 'hooks' not in recording)

    def test_the_kernel_side_is_shared_out(self):
        data = self.record('-a', '--kernel', 'syscalls')
        if data['trace']['own_bpf_sampled_ns'] == 0:
            self.skipTest('SKIPPED: this kernel does not measure BPF')
        books = data['books']['task-clock']
        recording = books['recording']
        self.assertEqual(recording['bpf'], data['trace']['own_bpf_ns'])
        self.assertEqual(
            recording['bpf'] + recording['hooks'],
            sum(recording[place] for place in (
                'processes', 'idle', 'interrupts', 'unattributed')))

    def test_nothing_is_left_behind_and_it_is_quick(self):
        before = set(pathlib.Path('/dev/shm').glob('countrace-cost-*'))
        took = []
        for library in (True, False):
            begin = time.monotonic()
            self.record('--no-kernel', command=(WORKLOAD, 1) if library else
                        ('true',))
            took.append(time.monotonic() - begin)
        left = set(pathlib.Path('/dev/shm').glob('countrace-cost-*')) - before
        # A few programs of other recordings that calibrate at the moment.
        deadline = time.monotonic() + 20
        while (any(path.exists() for path in left) and
               time.monotonic() < deadline):
            time.sleep(0.1)
        self.assertEqual({path for path in left if path.exists()}, set())
        print(f'with calibration {took[0] * 1e3:.0f} ms, '
              f'without {took[1] * 1e3:.0f} ms')


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
