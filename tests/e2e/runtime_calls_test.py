#!/usr/bin/env python3
"""What the runtime library calls: no function of the C library that a preloaded
library may replace, the kernel's clock, system calls that are not the
program's, and nothing that makes the first hook wait.

usage: runtime_calls_test.py COUNTRACE RUNTIME_LIBRARY WORKLOAD REPLACEMENTS
"""
import collections
import pathlib
import re
import subprocess
import sys
import unittest

from trace_checks import Recording

RUNTIME = WORKLOAD = REPLACEMENTS = None
README = pathlib.Path(__file__).parents[2] / 'runtime/README.md'
CALLS = 1000
# What other calls there were the C library made, at the program's start.
OWN_CALLS = {'flock', 'ftruncate', 'futex_waitv', 'kill', 'membarrier',
             'pwritev', 'readlinkat', 'renameat', 'close_range'}


class RuntimeCalls(Recording):
    def record(self, *command, options=(), status=7, env=None):
        run = self.countrace('record', '--force', *options, '-o', self.trace,
                             '--', *command, check=False, env=env)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run

    def check_length(self, data):
        # Generous: the wrong one was of hours or years.
        self.assertLess(data['trace']['end_ns'] - data['trace']['begin_ns'],
                        120e9)

    def check_times(self, work_ms):
        """One process with the workload's calls, in the recording's time."""
        self.check_readable()
        data = self.report()
        self.check_length(data)
        rows = {row['segment']: row for row in data['segments']}
        self.assertEqual(rows['calls:call']['calls'], 2 * CALLS)
        work = rows['calls:work']
        self.assertEqual(work['quality'], 'exact')
        if work['on_cpu_ns'] is not None:
            # The workload's clock counts whole ms. It was 0.
            self.assertGreaterEqual(work['on_cpu_ns']['incl'],
                                    0.9 * work_ms * 1e6)
        pids = [row['pid'] for row in data['processes']]
        self.assertEqual(len(pids), len(set(pids)), pids)

    def test_functions_that_a_preloaded_library_replaces(self):
        ours = '$LD_PRELOAD:' + REPLACEMENTS
        theirs = REPLACEMENTS + ':$LD_PRELOAD'
        for preloaded in ours, theirs:
            with self.subTest(preloaded=preloaded):
                run = self.record(
                    'sh', '-c', f'LD_PRELOAD={preloaded} exec "$0" "$@"',
                    WORKLOAD, str(CALLS), '50')
                self.assertNotIn('called by the runtime', run.stderr)
                self.check_times(50)

    def test_they_are_the_functions_of_the_list(self):
        """Functions of the C library that the runtime library calls."""
        self.needs('nm')
        text = README.read_text(encoding='utf-8')
        table = text.split('### Functions of the C library')[1].split('##')[0]
        listed = set()
        for line in table.splitlines():
            if line.startswith('| `'):
                listed |= set(re.findall(r'`(\w+)`', line.split('|')[1]))
        symbols = subprocess.run(
            ['nm', '-D', '--undefined-only', RUNTIME], capture_output=True,
            text=True, check=True).stdout
        called = {line.split()[1].split('@')[0]
                  for line in symbols.splitlines()}
        # The loader's, and what sanitizers of this build add.
        called = {name for name in called if not re.match(
            r'_ITM|__gmon|__cxa_finalize|__asan|__ubsan|__tsan|__sanit', name)}
        self.assertEqual(called, listed)

    def test_faketime(self):
        self.needs('faketime')
        self.record('faketime', '2020-01-01', WORKLOAD, str(CALLS), '50')
        self.check_times(50)

    def test_faketime_of_the_recorder(self):
        self.needs('faketime')
        run = subprocess.run(
            ['faketime', '-f', '-15d', self.countrace_program, 'record',
             '--force', '-o', self.trace, '--', WORKLOAD, str(CALLS), '50'],
            text=True, capture_output=True, timeout=120, check=False)
        self.assertEqual(run.returncode, 7, run.stdout + run.stderr)
        self.check_times(50)

    def test_another_clock_is_refused_by_name(self):
        """Of a time namespace, where no /proc shows how far it is ahead."""
        self.needs_root()
        self.needs('unshare')
        unshare = ['unshare', '--time', '--monotonic', '100000', '--mount',
                   '--fork', 'sh', '-c',
                   'mount -t tmpfs none /proc && exec "$0" "$@"']
        if subprocess.run([*unshare, 'true'], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest('SKIPPED: no time namespaces here')
        run = self.record(*unshare, WORKLOAD, str(CALLS))
        refused = r'hooks of \S+ \(pid \d+\) are not in the trace.*100.* ahead'
        self.assertRegex(run.stderr, refused)
        verified = self.countrace('verify', self.trace)
        self.assertIn('1 process with hooks did not join', verified.stdout)
        data = self.report()
        self.check_length(data)
        self.assertEqual(data['loss']['not_joined'], 1)
        self.check_readable()

    def test_the_table_of_descriptors_grows_before_the_second_thread(self):
        """Later the kernel lets the first hook wait for 6 to 15 ms."""
        self.needs_strace()
        calls = self.work / 'calls'
        self.record('strace', '-f', '-o', calls, WORKLOAD, '10',
                    options=['--no-kernel'])
        lines = calls.read_text().splitlines()
        grown = [i for i, line in enumerate(lines)
                 if re.search(r'F_DUPFD_CLOEXEC, [1-9]\d\d', line)]
        cloned = [i for i, line in enumerate(lines) if 'clone' in line]
        self.assertTrue(grown and cloned, lines)
        self.assertLess(grown[0], cloned[0], lines[grown[0]])

    def test_its_system_calls_are_not_the_programs(self):
        self.needs_root()
        self.needs_back_end('bpf')
        self.record(WORKLOAD, str(CALLS), '50',
                    options=['--kernel', 'syscalls', '--backend', 'bpf'])
        calls = collections.Counter()
        for row in self.report()['segments']:
            if row['segment'].startswith('syscall:'):
                calls[row['segment'].split(':')[1]] += row['calls']
        # The workload's own, and no other thread's: with the helper thread's
        # futex_waitv, and what the hooks' streams take.
        self.assertGreater(calls['clock_gettime'], 10)
        self.assertEqual(calls['exit_group'], 1)
        self.assertEqual({name: calls[name] for name in OWN_CALLS
                          if calls[name]}, {})
        self.check_readable()

    def test_a_handler_that_begins_in_one_of_them_is_the_programs(self):
        """It has the registers of the call, with the mark."""
        self.needs_root()
        self.needs_back_end('bpf')
        run = self.record(WORKLOAD, '20000', '0', 'signals', options=[
            '--kernel', 'syscalls', '--backend', 'bpf', '--kernel-ring', '8M'])
        data = self.report()
        calls = sum(row['calls'] for row in data['segments']
                    if row['segment'] == 'syscall:getppid')
        # A full ring of the kernel's counts what it has no room for.
        self.assertLessEqual(calls, int(run.stdout))
        self.assertGreaterEqual(calls + data['loss']['discarded_events'],
                                int(run.stdout))
        self.assertGreaterEqual(calls, 1)

    def test_texts_that_were_cut_say_so(self):
        """The workload's have 510 to 514 bytes, of which 511 fit."""
        self.record(WORKLOAD, '10', options=['--no-kernel'])
        script = self.countrace('script', self.trace).stdout
        texts = dict(re.findall(r'calls:text: .*= (\d+), .*"(x+\.*)"', script))
        for size in 510, 511:
            self.assertEqual(texts[str(size)], size * 'x')
        for size in 512, 513, 514:
            self.assertEqual(texts[str(size)], 508 * 'x' + '...')
        self.assertEqual(self.report()['loss']['cut_texts'], 3)
        self.assertIn('3 long texts were cut',
                      self.countrace('verify', self.trace).stdout)
        self.check_readable()


if __name__ == '__main__':
    (Recording.countrace_program, RUNTIME, WORKLOAD,
     REPLACEMENTS) = sys.argv[1:5]
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
