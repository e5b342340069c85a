#!/usr/bin/env python3
"""Programs that give up access to their files after they have started: another
user, another root, other mounts, no descriptors. Recorded, each ends as it does
alone, and every call of its hooks is in the trace, or counted as lost with the
cause.

usage: less_access_test.py COUNTRACE LESS_ACCESS_WORKLOAD RUNTIME_LIBRARY
"""
import os
import signal
import subprocess
import sys
import unittest

from trace_checks import Recording

PROGRAM = RUNTIME = None
CALLS = 150_000
SPARE_STREAMS = 64  # runtime/inprocess/ring/spare_streams.h
DAEMON = 'chroot,group,user,close'
WAYS = (DAEMON, 'mounts', 'pivot', 'user-namespace', 'landlock',
        'capabilities', 'user-by-number')


class LessAccess(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.empty = self.work / 'empty'
        self.empty.mkdir()

    def folder(self, ways):
        # In other mounts the trace is covered.
        return self.work if ways == 'mounts' else self.empty

    def command(self, ways, calls, kind, count):
        return [PROGRAM, ways, str(calls), kind, str(count),
                str(self.folder(ways))]

    def check_recorded(self, ways, calls, kind, count, *options):
        """Returns the loss by cause, and what `record` printed."""
        command = self.command(ways, calls, kind, count)
        alone = subprocess.run(command, text=True, capture_output=True,
                               timeout=60, check=False)
        if alone.returncode == 3:
            self.skipTest(f'SKIPPED: {alone.stderr.strip()}')
        run = self.countrace('record', '--force', '-o', self.trace, *options,
                             '--', *command, check=False)
        self.assertEqual((run.returncode, run.stdout),
                         (alone.returncode, alone.stdout), run.stderr)
        data = self.report()
        self.check_books(data)
        loss = data['loss']['by_cause']
        stored = sum(row['hits'] for row in
                     self.report('--by', 'hook')['hooks']
                     if row['hook'].startswith('less:'))
        self.assertEqual(stored + sum(loss.values()),
                         2 * (1 + calls * max(count, 1)), loss)
        if calls * count <= CALLS:  # babeltrace2 is slow
            self.check_readable(lossless=not loss)
        return loss, run.stderr

    def check_complete(self, *arguments):
        loss, said = self.check_recorded(*arguments)
        self.assertEqual(loss, {}, said)
        self.assertIn('nothing was lost', said)

    def test_threads_that_start_later(self):
        for ways in WAYS:
            for threads in (0, 1, 4):
                with self.subTest(ways=ways, threads=threads):
                    self.check_complete(ways, CALLS, 'threads', threads,
                                        '--no-kernel')

    def test_children_that_start_later(self):
        self.check_complete(DAEMON, CALLS, 'forks', 4, '--no-kernel')
        self.check_complete(DAEMON, CALLS, 'chain', 4, '--no-kernel')

    def test_with_counters_and_kernel_records(self):
        self.check_complete(DAEMON, CALLS, 'threads', 4, '-e', 'page-faults')

    def test_children_in_a_chroot_know_their_namespaces(self):
        """Without /proc, they take what their parent knew."""
        for ways, shifted in (
                ('chroot', ['unshare', '-p', '-f', '--kill-child']),
                ('chroot', ['unshare', '-T', '--monotonic', '100000']),
                # A child's first record then needs new clock parameters.
                ('chroot,pause', ['unshare', '-T', '--monotonic', '100000']),
                ('pause', ['unshare', '-T', '--monotonic', '100000'])):
            with self.subTest(ways=ways, shifted=shifted):
                if subprocess.run([*shifted, 'true'], check=False,
                                  capture_output=True).returncode != 0:
                    self.skipTest('SKIPPED: no such namespaces here')
                self.countrace('record', '--force', '-o', self.trace, '--',
                               *shifted,
                               *self.command(ways, 500, 'forks', 2))
                self.countrace('verify', self.trace)
                data = self.report()
                self.assertLess(data['trace']['end_ns']
                                - data['trace']['begin_ns'], 100 * 10**9)
                self.assertEqual(sum(row['calls'] for row in data['segments']),
                                 2 * 500 + 1)
                # The kernel saw the processes that have the calls.
                on_cpu = {row['pid'] for row in data['processes']
                          if (row['on_cpu_ns'] or 0) > 0}
                pids = {row['pid'] for row in data['segments']}
                self.assertEqual(len(pids), 3)
                self.assertLessEqual(pids, on_cpu)

    def test_more_children_than_spare_streams(self):
        children = SPARE_STREAMS + 8
        loss, said = self.check_recorded(DAEMON, 100, 'forks', children,
                                         '--no-kernel')
        self.assertEqual(set(loss), {'no_resource'}, said)
        self.assertLessEqual(loss['no_resource'],
                             2 * 100 * (children - SPARE_STREAMS), said)
        self.assertIn('given up access to the trace', said)
        self.assertIn('given up access to the trace',
                      self.countrace('report', self.trace).stdout)

    def test_streams_without_a_thread_are_removed(self):
        self.check_complete(DAEMON, 10, 'threads', 0, '--no-kernel')
        self.assertEqual(len(list(self.trace.glob('thread-*'))), 1)

    def test_bounded_traces(self):
        # No tail is larger than what the recording allows.
        for options in (['--mode', 'discard', '--size', '4M'],
                        ['--flight', '4M']):
            with self.subTest(options=options):
                self.countrace(
                    'record', '--force', '--no-kernel', '-o', self.trace,
                    *options, '--', *self.command(DAEMON, CALLS, 'threads', 4))
                self.countrace('verify', self.trace)
                self.assertIn('trace_full', self.report()['loss']['by_cause'])

    def test_a_file_size_limit(self):
        run = self.countrace(
            'record', '--force', '--no-kernel', '-o', self.trace, '--', 'sh',
            '-c', 'ulimit -f 8192; exec "$@"', 'sh',
            *self.command(DAEMON, CALLS, 'threads', 4))
        self.assertTrue(run.stdout.startswith('done'), run.stderr)
        self.check_readable(lossless='nothing was lost' in run.stderr)

    def test_a_killed_recorder(self):
        """The trace of a program that lives on can be read and repaired."""
        recorder = subprocess.Popen(
            [self.countrace_program, 'record', '-q', '--force', '--no-kernel',
             '-o', str(self.trace), '--', 'sh', '-c', '"$@"; kill -9 $PPID', 'sh',
             *self.command(DAEMON, CALLS, 'threads', 4)],
            stdout=subprocess.DEVNULL)
        self.assertEqual(recorder.wait(timeout=60), -signal.SIGKILL)
        segment, = self.report()['segments']
        self.assertEqual(segment['calls'], 4 * CALLS + 1)
        self.countrace('recover', self.trace)
        self.check_readable()
        for file in self.trace.glob('thread-*'):
            self.assertLessEqual(file.stat().st_size, 1 << 30)

    def test_a_snapshot(self):
        flight = subprocess.Popen(
            [self.countrace_program, 'record', '-q', '--force', '--no-kernel',
             '--flight', '64M', '-o', str(self.trace), '--', 'sh',
             '-c', '"$@"; read line', 'sh',
             *self.command(DAEMON, CALLS, 'threads', 1)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.assertTrue(flight.stdout.readline().startswith('done'))
            copy = self.work / 'copy.ctf'
            # It takes minutes to read the zeros of all holes.
            self.countrace('snapshot', '-o', copy, self.trace)
        finally:
            flight.communicate('\n', timeout=60)
        self.trace = copy
        segment, = self.report()['segments']
        self.assertEqual(segment['calls'], CALLS + 1)

    def test_outside_of_a_recording(self):
        for ways in WAYS:
            command = self.command(ways, 10, 'threads', 2)
            runs = [subprocess.run(command, text=True, capture_output=True,
                                   timeout=60, check=False,
                                   env=dict(os.environ, **more))
                    for more in ({}, {'LD_PRELOAD': RUNTIME})]
            self.assertEqual(*((run.returncode, run.stdout, run.stderr)
                               for run in runs), ways)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM, RUNTIME = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
