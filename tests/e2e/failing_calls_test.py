#!/usr/bin/env python3
"""The n-th allocation, write, mmap, open, fork, bpf or perf_event_open call of
`record`, of the program's runtime or of a reading verb fails, for n = 1 to the
last: no crash, no hang, an error that says something, the program's own result
as ever, and no trace that says "nothing was lost" when something was.

usage: failing_calls_test.py COUNTRACE HOOK_WORKLOAD FAILING_CALLS

In short runs 2 to 4 of the n of each call; all with COUNTRACE_TEST_FULL=1, and
1,000 of the allocations. FAILING_CALLS_SAMPLE=N: N of each.
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import unittest

from trace_checks import FULL, Recording

WORKLOAD = PRELOADED = None
SAMPLE_GIVEN = 'FAILING_CALLS_SAMPLE' in os.environ
SAMPLE = int(os.environ.get('FAILING_CALLS_SAMPLE', 0)) or (0 if FULL else 2)
ALLOCATIONS = SAMPLE or 1000
THREADS, PAIRS = 2, 500
# An error that the call can have, and one that is said of a full machine.
CALLS = {'openat': 'EMFILE', 'mmap': 'ENOMEM', 'write': 'ENOSPC',
         'pwrite64': 'ENOSPC', 'pwritev': 'ENOSPC', 'read': 'EIO',
         'clone,clone3,fork,vfork': 'EAGAIN', 'bpf': 'ENOMEM',
         'perf_event_open': 'EMFILE', 'ftruncate': 'EFBIG',
         'fallocate': 'ENOSPC', 'rename': 'EACCES', 'unlinkat': 'EACCES',
         'ioctl': 'ENOMEM', 'mkdir': 'ENOSPC', 'fstat,newfstatat': 'ENOMEM',
         'socketpair,socket,pipe2,pidfd_open,epoll_create1,inotify_init1':
         'EMFILE', 'mprotect,mremap,madvise': 'ENOMEM', 'ppoll,poll': 'ENOMEM',
         'flock,fcntl': 'ENOLCK',
         'setpriority,sched_setaffinity': 'EPERM'}
PATIENCE = 60  # seconds


class Failing(Recording):
    def setUp(self):
        super().setUp()
        self.random = random.Random(1729)
        self.tried = collections.Counter()
        self.outcomes = collections.Counter()
        self.failures = []

    def run_all(self, name, count, one):
        """Calls one(n) for all n, or a sample if there are more than 4."""
        numbers = range(1, count + 1)
        limit = ALLOCATIONS if name == 'allocation' else SAMPLE
        if limit and max(limit, 4) < count:
            numbers = sorted(self.random.sample(numbers, limit))
        for n in numbers:
            try:
                self.outcomes[one(n)] += 1
            except AssertionError as error:
                self.failures.append(f'{name} {n}: {error}')
                print(f'{name} {n}: {error}', flush=True)
            self.tried[name] += 1

    def tearDown(self):
        for name, tried in sorted(self.tried.items()):
            print(f'  {name:30} tried {tried:5}')
        print(f'  outcomes {dict(self.outcomes)}, '
              f'{len(self.failures)} FAILED', flush=True)
        self.assertEqual(self.failures, [])

    def execute(self, command, **kwargs):
        try:
            run = subprocess.run(
                list(map(str, command)), text=True, capture_output=True,
                timeout=PATIENCE, check=False, errors='replace',
                stdin=subprocess.DEVNULL, **kwargs)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f'hangs: {error.stderr}') from error
        self.assertGreaterEqual(run.returncode, 0,
                                f'signal: {run.stderr[-500:]}')
        self.assertLess(run.returncode, 128, f'signal: {run.stderr[-500:]}')
        return run

    def count_calls(self, call, command):
        log = self.work / 'strace'
        self.execute(['strace', '-qq', '-o', log, '-e', f'trace={call}',
                      '-e', 'signal=none', *command])
        return len(log.read_text(errors='replace').splitlines())

    def inject(self, call, n, command):
        log = self.work / 'strace'
        return self.execute(
            ['strace', '-qq', '-o', log, '-e', f'trace={call}', '-e',
             'signal=none', '-e', f'inject={call}:error={CALLS[call]}:when={n}',
             *command])

    def failing(self, program, n, command):
        """Runs a command of whose part `program` the n-th allocation
        fails."""
        environment = dict(os.environ, LD_PRELOAD=str(PRELOADED),
                           FAILING_PROGRAM=program,
                           FAILING_NUMBER=str(n),
                           FAILING_LOG=str(self.work / 'made'))
        return self.execute(command, env=environment)

    def count_failing(self, program, command):
        self.failing(program, 0, command)
        return int((self.work / 'made').read_text())

    # --- What holds of every run -------------------------------------------

    def check_recording(self, run):
        """Returns what came of it."""
        emitted = re.findall(r'^emitted \d+ (\d+)$', run.stdout, re.M)
        if run.returncode != 0:
            self.assertTrue(run.stderr.strip(), 'exit without a word')
        if not emitted:
            self.assertNotEqual(run.returncode, 0, 'not run, exit 0')
        else:
            self.assertEqual(emitted, [str(2 * PAIRS)] * THREADS,
                             'result of the program')
        complete = 'nothing was lost' in run.stderr
        lost = self.missing(complete)
        if complete:
            self.assertEqual(lost, 0, f'"nothing was lost": {run.stderr}')
            return 'complete'
        if run.returncode == 0 and emitted:
            return 'loss said' if lost is not None else 'no trace'
        return 'not run' if not emitted else 'failed, said'

    def missing(self, complete):
        """Calls that the trace lacks and does not say; None: no trace."""
        if not self.trace.exists():
            self.assertFalse(complete, 'no trace')
            return None
        run = self.execute([self.countrace_program, 'report', '--format',
                            'json', self.trace])
        if run.returncode != 0:
            self.assertFalse(complete, f'not read: {run.stderr}')
            return None
        data = json.loads(run.stdout)
        self.check_books(data)
        for file in self.trace.glob('.unread-*'):
            for verb in ('report', 'verify'):
                read = self.execute([self.countrace_program, verb, self.trace])
                self.assertIn(f'{file.name[len(".unread-"):]} is gone',
                              read.stdout + read.stderr)
        calls = sum(row['calls'] for row in data['segments']
                    if row['segment'] == 'workload:pair')
        missing = THREADS * PAIRS - calls
        loss = data['loss']
        said = (loss['discarded_events'] or loss['discarded_packets'] or
                loss['not_joined'] or loss['messages'])
        if not complete and not said and missing:
            # A trace that says nothing is one that was not finished.
            info = self.execute([self.countrace_program, 'info', self.trace])
            # Or the program did not get so far as to run.
            if ('recover' not in info.stdout + info.stderr
                    and missing != THREADS * PAIRS):
                raise AssertionError(f'{missing} calls missing, unsaid')
        return missing if complete or not said else 0


class OfRecord(Failing):
    """In the recorder; its command does not fail."""


    def command(self):
        return [self.countrace_program, 'record', '--force', '-o', self.trace,
                '--', WORKLOAD, 'pairs', THREADS, PAIRS]

    def check(self, run):
        return self.check_recording(run)

    def test_system_calls(self):
        self.needs_strace()
        for call in os.environ.get('FAILING_CALLS', '').split() or CALLS:
            count = self.count_calls(call, self.command())
            self.run_all(call, count,
                         lambda n, call=call: self.check(
                             self.inject(call, n, self.command())))

    def test_allocations(self):
        count = self.count_failing('countrace', self.command())
        self.run_all('allocation', count, lambda n: self.check(
            self.failing('countrace', n, self.command())))


class WithKernel(OfRecord):
    def setUp(self):
        super().setUp()
        if not FULL and not SAMPLE_GIVEN:
            self.skipTest('SKIPPED: it is long: COUNTRACE_TEST_FULL=1')
        self.needs_root()
        self.needs_back_end('bpf')

    def command(self):
        return [self.countrace_program, 'record', '--force', '-o', self.trace,
                '--kernel', 'syscalls,irq', '--hook',
                f'uprobe:{WORKLOAD}:main', '--', WORKLOAD, 'pairs', THREADS,
                PAIRS]


class OfProgram(OfRecord):
    """In the runtime library inside of the recorded program."""

    def traced(self, *options):
        """strace counts the calls of each thread apart."""
        command = self.command()
        at = command.index('--') + 1
        return [*command[:at], 'strace', '-f', '-qq', '-i', '-e',
                'signal=none', '-o', self.work / 'program', *options,
                *command[at:]]

    def own_calls(self, call):
        """Which calls are the library's in every thread that has so many: all
        are made at one address, where alone namespaces are asked for."""
        self.execute(self.traced('-e', f'trace={call},readlinkat'))
        log = (self.work / 'program').read_text(errors='replace')
        made = re.findall(r'^(\d+) +\[(\w+)\] (\w+)\(', log, re.M)
        own = next(at for _, at, name in made if name == 'readlinkat')
        numbers = {True: set(), False: set()}
        count = collections.Counter()
        for thread, at, name in made:
            if name == 'readlinkat':
                continue
            count[thread] += 1
            numbers[at == own].add(count[thread])
        self.assertTrue(numbers[True] - numbers[False], call)
        return sorted(numbers[True] - numbers[False])

    def test_system_calls(self):
        self.needs_strace()
        calls = {call: self.own_calls(call) for call in (
            'openat', 'mmap', 'pwrite64', 'pwritev', 'ftruncate', 'fallocate',
            'fstat,newfstatat', 'flock,fcntl')}
        # The helper thread, which the C library starts.
        calls['clone,clone3,fork,vfork'] = [1]
        for call, numbers in calls.items():
            self.run_all(
                call, len(numbers),
                lambda n, call=call, numbers=numbers: self.check(
                    self.execute(self.traced(
                        '-e', f'trace={call}', '-e',
                        f'inject={call}:error={CALLS[call]}:'
                        f'when={numbers[n - 1]}'))))

    def test_allocations(self):
        self.skipTest('the runtime does not allocate')


class OfReport(OfRecord):
    def setUp(self):
        super().setUp()
        self.countrace('record', '--force', '-o', self.trace, '--', WORKLOAD,
                       'pairs', THREADS, PAIRS)
        self.expected = self.countrace(*self.verb(), self.trace).stdout

    def verb(self):
        return ['report', '--format', 'json']

    def command(self):
        return [self.countrace_program, *self.verb(), self.trace]

    def check(self, run):
        if run.returncode != 0:
            self.assertTrue((run.stdout + run.stderr).strip(),
                            'exit without a word')
            return 'failed, said'
        if run.stdout != self.expected:
            self.assertTrue(run.stderr.strip(), 'another report, unsaid')
            return 'differs, said'
        return 'same'


class OfVerify(OfReport):
    def verb(self):
        return ['verify']


class OfScript(OfReport):
    def verb(self):
        return ['script']


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD, PRELOADED = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
