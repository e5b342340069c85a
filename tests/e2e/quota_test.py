#!/usr/bin/env python3
"""A thread that its CPU quota stops: its throttled time is that of the cgroup's
`cpu.stat`, and it waits for no other thread. cgroup v1 or v2.

usage: quota_test.py COUNTRACE
"""
import os
import re
import sys

import cpu_quota
import trace_checks

# Joins the cgroup with all its files read: the kernel counts a throttled group,
# too, while its thread reads a file, and each CPU's part of it, so it stays on
# one. Ends once it had this much of a CPU.
BURN = ('import os, sys, time\n'
        'os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n'
        'with open(sys.argv[1], "w") as procs: procs.write(str(os.getpid()))\n'
        'end = time.process_time() + 0.035\n'
        'while time.process_time() < end: pass\n'
        'os._exit(0)')
# On a busy machine it also waits for a CPU once it has a quota again, some ms
# each time: little beside a period.
QUOTA_US, PERIOD_US = 10000, 1000000


class Quota(trace_checks.Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        try:
            self.quota = cpu_quota.CpuQuota(f'countrace-{self.work.name}',
                                            QUOTA_US, PERIOD_US)
        except LookupError as error:
            self.skipTest(f'SKIPPED: {error}')
        self.addCleanup(self.quota.remove)
        self.cgroup = self.quota.folder

    def record(self, back_end, *options):
        self.needs_back_end(back_end)
        self.countrace('record', '--backend', back_end, '--force', *options,
                       '-o', self.trace, '--', sys.executable, '-c', BURN,
                       self.cgroup / 'cgroup.procs')
        return self.quota.stat()

    def test_its_throttled_time_is_the_cgroups(self):
        truth, times = self.record('bpf', '--kernel', 'wakeups')
        self.assertGreater(times, 1)
        threads = self.report('--by', 'thread')['threads']
        throttled = sum(row['throttled_ns'] for row in threads)
        self.assertLess(abs(throttled - truth), truth / 50,
                        (throttled, truth, times, threads))
        for row in threads:
            self.assertLessEqual(row['throttled_ns'], row['wait_ns'])
        rows = self.report('--by', 'preemptor')['preemptors']
        by_quota = [row for row in rows
                    if row['preemptor']['kind'] == 'throttled']
        self.assertEqual(sum(row['wait_ns'] for row in by_quota), throttled)
        # None of it is another one's.
        self.assertEqual(
            sum(row['wait_ns'] for row in rows) - throttled,
            sum(row['wait_ns'] - row['throttled_ns'] for row in threads))
        self.assertLessEqual(abs(sum(row['times'] for row in by_quota) - times),
                             1)
        text = self.countrace('report', '--by', 'preemptor', self.trace).stdout
        self.assertIn(f'[quota of /{self.cgroup.name}]', text)

    def test_stat_has_it(self):
        self.needs_back_end('bpf')
        numbers = self.countrace('stat', '--', sys.executable, '-c', BURN,
                                 self.cgroup / 'cgroup.procs').stderr
        time, times = self.quota.stat()
        self.assertRegex(numbers, r'(?m)^ +[\d.]+ m?s +throttled\b')
        throttles = re.search(r'(?m)^ +(\d+) +throttles\b', numbers)
        self.assertLessEqual(abs(int(throttles.group(1)) - times), 1)

    def within(self, *arguments):
        """countrace in the cgroup, as in a container with a quota."""
        procs = self.cgroup / 'cgroup.procs'
        self.quota.limit(10000, 50000)  # for the recorder, too
        before = self.quota.stat()
        done = self.countrace(*arguments, '--', sys.executable, '-c', BURN,
                              procs, preexec_fn=lambda: procs.write_text(
                                  str(os.getpid())))
        after = self.quota.stat()
        return done, after[0] - before[0], after[1] - before[1]

    def test_stat_has_what_the_cgroup_counts(self):
        done, _, times = self.within('stat')
        said = re.search(r'(?m)^ +(\d+) +nr_throttled .*'
                         + re.escape(f'/{self.cgroup.name}'), done.stderr)
        self.assertIsNotNone(said, done.stderr)
        # At most those of the whole life of countrace.
        self.assertLessEqual(int(said.group(1)), times)
        self.assertGreater(int(said.group(1)), 0)

    def test_what_no_record_shows_is_a_note(self):
        for back_end in ('perf', 'bpf'):
            with self.subTest(back_end=back_end):
                self.needs_back_end(back_end)
                self.within('record', '-q', '--force', '--backend', back_end,
                            '-o', self.trace)
                text = self.countrace('report', self.trace).stdout
                note = re.search(
                    r'not known: throttled ([\d.]+) (m?s) by its CPU quota '
                    r'\(cpu\.stat of /(.*)\); this recording does not show',
                    text)
                if back_end == 'bpf':
                    self.assertIsNone(note, text)
                    continue
                self.assertIsNotNone(note, text)
                self.assertEqual(note.group(3), self.cgroup.name)

    def test_perf_does_not_say_it(self):
        self.record('perf')
        for row in self.report('--by', 'thread')['threads']:
            self.assertIsNone(row['throttled_ns'])


if __name__ == '__main__':
    Quota.countrace_program = sys.argv.pop(1)
    trace_checks.unittest.main(verbosity=2)
