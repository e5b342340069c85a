#!/usr/bin/env python3
"""One pid, several processes and threads one after the other: each has a
separate row, with its own time, calls and system calls.

usage: pid_reuse_test.py COUNTRACE PID_REUSE
"""
import collections
import re
import sys
import unittest

from trace_checks import FULL, UNREPORTED_NS, Recording, foreign_ns

REUSE = None
CANNOT = 77

Reused = collections.namedtuple('Reused', 'id name cpu_us calls')


class PidReuse(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('babeltrace2')

    def record(self, options, mode, rounds):
        foreign = foreign_ns()
        run = self.countrace('record', '--force', '-o', self.trace, *options,
                             '--', REUSE, mode, rounds, check=False)
        if run.returncode == CANNOT:
            self.skipTest('SKIPPED: ids cannot be chosen here: '
                          f'{run.stderr.strip().splitlines()[0]}')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.foreign_ns = foreign_ns() - foreign + UNREPORTED_NS
        self.check_readable()
        self.reused = [
            Reused(int(number), name, int(cpu), int(calls))
            for number, name, cpu, calls in re.findall(
                r'^reused (\d+) (\S+) (\d+) (\d+)$', run.stdout, re.M)]
        self.assertEqual(len(self.reused), rounds)
        self.assertEqual(len({one.id for one in self.reused}), 1)
        self.id = self.reused[0].id
        data = self.report()
        # Programs of others, which -a records too, may not have joined.
        loss = dict(data['loss'], not_joined=0)
        self.assertFalse({name: lost for name, lost in loss.items()
                          if isinstance(lost, int) and lost and
                          name != 'is_loss'}, run.stderr)
        self.check_books(data)
        # Time that the report itself does not attribute.
        self.unattributed_ns = sum(row['unattributed_ns']
                                   for row in data['cpus'])
        return data

    def ways(self, every=FULL):
        """(options, whether system calls are recorded): all, or one of each
        back end and scope."""
        syscalls = ('--kernel', 'syscalls')
        ways = [('bpf', syscalls, ()), ('perf', (), ('-a',))]
        if every:
            ways += [('bpf', syscalls, ('-a',)), ('perf', (), ()),
                     ('bpf', (), ()), ('bpf', (), ('-a',))]
        for back_end, hooks, scope in ways:
            self.needs_back_end(back_end)
            yield ('--backend', back_end, *hooks, *scope), bool(hooks)

    def check_rows(self, rows):
        """Each has one row, with its name and the kernel's figure for its
        time."""
        by_name = {row['comm']: row for row in rows if row['tid'] == self.id}
        self.assertEqual(len([row for row in rows if row['tid'] == self.id]),
                         1 + len(self.reused))  # 1: who showed the id is free
        for one in self.reused:
            row = by_name[one.name]
            allowed = (one.cpu_us * 20 + 4000000 + self.foreign_ns +
                       self.unattributed_ns)
            if 'exec-runtime' in row['counts']:
                self.assertLessEqual(
                    abs(row['counts']['exec-runtime'] - one.cpu_us * 1000),
                    allowed, (one, row))
            # Part of each switch lies in our interval, not in the kernel's
            # account (docs/numbers.md).
            self.assertLessEqual(
                abs(row['on_cpu_ns'] - one.cpu_us * 1000),
                allowed + 20_000 * row['dispatches'], (one, row))

    def calls(self, data, segment):
        return sorted(row['calls'] for row in data['segments']
                      if row['segment'] == segment and row['pid'] == self.id)

    def test_processes(self):
        for options, syscalls in self.ways(every=True):
            with self.subTest(options=options):
                data = self.record(options, 'processes', 4)
                self.check_rows(data['threads'])
                rows = [row for row in data['processes']
                        if row['pid'] == self.id]
                self.assertEqual(
                    {row['comm'] for row in rows},
                    {one.name for one in self.reused} | {'pid_reuse'})
                truth = sorted(one.calls for one in self.reused)
                self.assertEqual(self.calls(data, 'reuse:round'), truth)
                if syscalls:
                    self.assertEqual(self.calls(data, 'syscall:getppid'),
                                     truth)

    def test_threads(self):
        for options, syscalls in self.ways():
            with self.subTest(options=options):
                data = self.record(options, 'threads', 4)
                self.check_rows(data['threads'])
                processes = sorted(one.calls for one in self.reused
                                   if one.name.startswith('process'))
                threads = sum(one.calls for one in self.reused
                              if one.name.startswith('thread'))
                owner = [row['pid'] for row in data['threads']
                         if row['comm'] == self.reused[1].name]
                self.assertEqual(len(owner), 1)
                segments = ['reuse:round']
                segments += ['syscall:getppid'] if syscalls else []
                for segment in segments:
                    self.assertEqual(self.calls(data, segment), processes)
                    self.assertEqual(
                        [row['calls'] for row in data['segments']
                         if row['segment'] == segment
                         and row['pid'] == owner[0]], [threads])

    def test_at_once(self):
        """The next one begins right after the previous one has ended."""
        rounds = 1000 if FULL else 60
        for options, syscalls in self.ways():
            with self.subTest(options=options):
                data = self.record(options, 'quick', rounds)
                names = collections.Counter(
                    row['comm'] for row in data['processes']
                    if row['pid'] == self.id)
                self.assertEqual(
                    names, {'pid_reuse': 1,
                            **{one.name: 1 for one in self.reused}})
                self.assertEqual(self.calls(data, 'reuse:round'), [1] * rounds)
                if syscalls:
                    self.assertEqual(self.calls(data, 'syscall:getppid'),
                                     [1] * rounds)


if __name__ == '__main__':
    Recording.countrace_program, REUSE = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
