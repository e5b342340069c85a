#!/usr/bin/env python3
"""A thread that waits while a CPU is idle: said where it might have run there,
as the records show, and never of one that is pinned elsewhere.

usage: idle_cpu_test.py COUNTRACE
"""
import collections
import os
import re
import sys

import trace_checks
from cpu_quota import CpuQuota

LEAST_NS = 500_000
# Two processes compete for one CPU; each round they may use all for a while,
# until the kernel moves one of them.
HOGS = ('import os, sys, time\n'
        'rounds, wide = int(sys.argv[1]), int(sys.argv[2])\n'
        'cpus = sorted(os.sched_getaffinity(0))\n'
        'def spin(seconds):\n'
        '    end = time.monotonic() + seconds\n'
        '    while time.monotonic() < end: pass\n'
        'os.sched_setaffinity(0, cpus[:1])\n'
        'first = os.getpid()\n'
        'for _ in range(2): os.fork()\n'
        'if os.getpid() != first: os.write(1, b"%d\\n" % os.getpid())\n'
        'for _ in range(rounds):\n'
        '    os.sched_setaffinity(0, cpus[:1])\n'
        '    spin(0.02)\n'
        '    if wide: os.sched_setaffinity(0, cpus)\n'
        '    spin(0.02)\n'
        # All have ended, and left their cgroup, when the first one has.
        'try:\n'
        '    while True: os.wait()\n'
        'except ChildProcessError: pass\n')
RECORD = re.compile(r'^\[(\d+)\.(\d+)\] cpu-(\d+) '
                    r'(dispatch|switch_in|counters|wakeup): '
                    r'\{ (.*?)[,}]? ?\}?$')
FIELD = re.compile(r'(\w+) = (\d+)')


def overlaps(waits, idle):
    """By tid: time of its waits in which a CPU was idle for long."""
    sums = collections.Counter()
    for tid, begin, end in waits:
        parts = sorted(
            (max(begin, since), min(end, until)) for stays in idle.values()
            for since, until in stays
            if min(end, until) - max(begin, since) > LEAST_NS)
        covered = begin
        for since, until in parts:
            sums[tid] += max(0, until - max(since, covered))
            covered = max(covered, until)
    return sums


class IdleCpu(trace_checks.Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest('SKIPPED: needs two CPUs')

    def record(self, rounds, wide, events=('-e', 'task-clock'), before=()):
        """Returns the pids of the command's processes but the first, which
        began on any CPU."""
        done = self.countrace('record', '-a', '--backend', 'bpf', '--force',
                              '-q', '--kernel', 'wakeups', *events,
                              '-o', self.trace, '--', *before, sys.executable,
                              '-c', HOGS, rounds, wide)
        return {int(pid) for pid in done.stdout.split()}

    def said(self):
        sums = collections.Counter()
        for row in self.report('--by', 'preemptor', '--rows', '0')['preemptors']:
            if row['preemptor']['kind'] == 'idle_allowed':
                sums[row['tid']] += row['wait_ns']
        return sums

    def truth(self):
        """From the records alone, and how far it may be off: the times of
        switches that the kernel did not show are computed."""
        idle = collections.defaultdict(list)
        since, waiting, free, waits = {}, {}, {}, []
        script = self.countrace('script', self.trace).stdout
        for line in script.splitlines():
            found = RECORD.match(line)
            if not found:
                continue
            seconds, ns, cpu, event, text = found.groups()
            time = int(seconds) * 10**9 + int(ns)
            fields = {name: int(value) for name, value in FIELD.findall(text)}
            if event == 'wakeup':
                tid = fields['wakee_tid']
                if tid not in free or free[tid][1] and tid not in waiting:
                    waiting.setdefault(tid, time)
                continue
            if event == 'counters':
                if fields['reason'] == 0 and fields['running_tid'] == 0:
                    since[cpu] = time
                elif fields['reason'] == 1 and cpu in since:
                    idle[cpu].append((since.pop(cpu), time))
                continue
            left, entered = fields['prev_tid'], fields['next_tid']
            state = fields['prev_state']
            if left == 0 and cpu in since:
                idle[cpu].append((since.pop(cpu), time))
            if left and event == 'switch_in':
                free.pop(left, None)  # the kernel does not show it
            elif left:
                free[left] = state & 0x400, True  # might use any, is off CPU
                waiting.pop(left, None)
                if state & 0x100 or not state & 0x3ff:
                    waiting[left] = time
                    if state & 0x200:  # throttled
                        free[left] = 0, True
            if entered:
                begun = waiting.pop(entered, None)
                if begun is not None and free.get(entered, (0,))[0] and (
                        event == 'dispatch' and state & 0x800):
                    waits.append((entered, begun, time))
                free[entered] = 0, False
            else:
                since[cpu] = time
        return overlaps(waits, idle), 1000 * script.count(' switch_in: ')

    def check_said(self, *arguments, **options):
        """Returns whether it is said of the command's processes."""
        pids = self.record(*arguments, **options)
        truth, off_ns = self.truth()
        said = self.said()
        for tid in said | truth:
            self.assertLessEqual(abs(said[tid] - truth[tid]), off_ns, tid)
        return any(truth[pid] for pid in pids)

    def test_it_is_said_where_the_records_show_it(self):
        if not any(self.check_said(20, 1) for _ in range(5)):
            self.skipTest('SKIPPED: needs a CPU that is idle beside the test')
        text = self.countrace('report', '--by', 'preemptor', '--rows', '0',
                              self.trace).stdout
        self.assertIn('[idle] although allowed there', text)

    def test_it_is_said_with_event_sets(self):
        # Their dumps cut the time of an idle CPU into parts.
        sets = ('-e', 'task-clock,{page-faults},{minor-faults}', '--rotate', '2ms')
        if not any(self.check_said(20, 1, events=sets) for _ in range(5)):
            self.skipTest('SKIPPED: needs a CPU that is idle beside the test')

    def test_a_quota_is_no_idle_cpu(self):
        try:
            quota = CpuQuota(f'countrace-idle-{os.getpid()}', 60_000, 100_000)
        except LookupError as error:
            self.skipTest(f'SKIPPED: {error}')
        self.addCleanup(quota.remove)
        join = f'echo $$ >{quota.folder}/cgroup.procs; exec "$@"'
        for _ in range(5):
            self.check_said(10, 1, before=('sh', '-c', join, 'sh'))
            if quota.stat()[1] > 0:
                return
        self.skipTest('SKIPPED: needs more of a CPU than the quota has')

    def test_it_is_not_said_of_pinned_threads(self):
        pids = self.record(10, 0)
        threads = [row for row in self.report('--by', 'thread')['threads']
                   if row['tid'] in pids]
        # They waited for each other, whatever the other CPUs did.
        self.assertGreater(sum(row['wait_ns'] for row in threads), 100_000_000)
        said = self.said()
        self.assertEqual([said[row['tid']] for row in threads],
                         [0] * len(threads))


if __name__ == '__main__':
    IdleCpu.countrace_program = sys.argv.pop(1)
    trace_checks.unittest.main(verbosity=2)
