#!/usr/bin/env python3
"""A thread that its CPU quota stops: its throttled time is that of the cgroup's
`cpu.stat`, and it waits for no other thread. cgroup v1 or v2.

usage: quota_test.py COUNTRACE
"""
import pathlib
import re
import sys

import trace_checks

# Joins the cgroup with all its files read: the kernel counts a throttled group,
# too, while its thread reads a file. Ends once it had this much of a CPU.
BURN = ('import os, sys, time\n'
        'with open(sys.argv[1], "w") as procs: procs.write(str(os.getpid()))\n'
        'end = time.process_time() + 0.035\n'
        'while time.process_time() < end: pass\n'
        'os._exit(0)')
# On a busy machine it also waits for a CPU once it has a quota again, some ms
# each time: little beside a period.
QUOTA_US, PERIOD_US = 10000, 1000000


def mounts(kind, option=None):
    with open('/proc/self/mounts', encoding='utf-8') as file:
        for line in file:
            fields = line.split()
            if fields[2] == kind and (option is None or
                                      option in fields[3].split(',')):
                yield pathlib.Path(fields[1])


class Quota(trace_checks.Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.cgroup = self.make_cgroup()
        self.addCleanup(self.cgroup.rmdir)

    def make_cgroup(self):
        name = f'countrace-{self.work.name}'
        for mount in mounts('cgroup2'):
            if 'cpu' not in (mount / 'cgroup.subtree_control').read_text(
                    ).split():
                continue
            (mount / name).mkdir()
            (mount / name / 'cpu.max').write_text(f'{QUOTA_US} {PERIOD_US}')
            (mount / name / 'cpu.weight').write_text('10000')
            self.scale = 1000
            return mount / name
        for mount in mounts('cgroup', 'cpu'):
            (mount / name).mkdir()
            (mount / name / 'cpu.cfs_period_us').write_text(str(PERIOD_US))
            (mount / name / 'cpu.cfs_quota_us').write_text(str(QUOTA_US))
            # It gets a CPU at once, before other programs.
            (mount / name / 'cpu.shares').write_text('262144')
            self.scale = 1
            return mount / name
        self.skipTest('SKIPPED: no cgroup hierarchy with the cpu controller')
        return None

    def stat(self):
        """Throttled time in ns, and how often."""
        values = dict(line.split() for line in (
            self.cgroup / 'cpu.stat').read_text().splitlines())
        time = values.get('throttled_time', values.get('throttled_usec'))
        return int(time) * self.scale, int(values['nr_throttled'])

    def record(self, back_end, *options):
        self.needs_back_end(back_end)
        self.countrace('record', '--backend', back_end, '--force', *options,
                       '-o', self.trace, '--', sys.executable, '-c', BURN,
                       self.cgroup / 'cgroup.procs')
        return self.stat()

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
        time, times = self.stat()
        self.assertRegex(numbers, r'(?m)^ +[\d.]+ m?s +throttled\b')
        throttles = re.search(r'(?m)^ +(\d+) +throttles\b', numbers)
        self.assertLessEqual(abs(int(throttles.group(1)) - times), 1)

    def test_perf_does_not_say_it(self):
        self.record('perf')
        for row in self.report('--by', 'thread')['threads']:
            self.assertIsNone(row['throttled_ns'])


if __name__ == '__main__':
    Quota.countrace_program = sys.argv.pop(1)
    trace_checks.unittest.main(verbosity=2)
