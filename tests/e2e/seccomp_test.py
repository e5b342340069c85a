#!/usr/bin/env python3
"""Programs that set a seccomp filter: recorded, each ends as it does alone, and
every call of its hooks is in the trace, or counted as lost with the cause.

usage: seccomp_test.py COUNTRACE SECCOMP_WORKLOAD RUNTIME_LIBRARY
"""
import os
import subprocess
import sys
import unittest

from trace_checks import Recording

PROGRAM = RUNTIME = None
CALLS = 150_000  # as many as fit into the sub-buffers that are ready before
FEW = 10  # before the filter
CONTROL_FILES = '/dev/shm/countrace-control-'


class Seccomp(Recording):
    def run_alone(self, mode, calls):
        run = subprocess.run([PROGRAM, mode, str(calls)], text=True,
                             capture_output=True, timeout=60, check=False)
        self.assertEqual((run.returncode, run.stdout, run.stderr),
                         (7, 'done\n', ''), mode)

    def stored(self):
        hooks = self.report('--by', 'hook')['hooks']
        return sum(row['hits'] for row in hooks
                   if row['hook'].startswith('confined:'))

    def check_recorded(self, mode, calls, *options, threads=1, more=0,
                       under=()):
        """Returns the loss by cause, and what `record` printed."""
        self.run_alone(mode, calls)
        run = self.countrace('record', '--force', '-o', self.trace, *options,
                             '--', *under, PROGRAM, mode, calls, check=False)
        loss = self.report()['loss']['by_cause']
        self.assertEqual(run.stdout, 'done\n', run.stderr)
        self.assertEqual(run.returncode, 7, run.stderr)
        self.assertEqual(self.stored() + sum(loss.values()),
                         2 * (FEW + more + calls * threads), loss)
        self.check_readable(lossless=not loss)
        return loss, run.stderr

    def check_complete(self, mode, **kwargs):
        loss, said = self.check_recorded(mode, CALLS, '--no-kernel', **kwargs)
        self.assertEqual(loss, {}, said)
        self.assertIn('nothing was lost', said)

    def test_a_filter_that_kills(self):
        self.check_complete('filter')

    def test_a_filter_while_a_sub_buffer_is_made(self):
        # The preparer is slow, and is in the middle of one when the filter is
        # set: the thread waits for it.
        self.needs_strace()
        self.check_complete('filter', under=(
            'strace', '-f', '-qq', '-o', '/dev/null', '-e',
            'trace=madvise,futex', '-e', 'inject=madvise:delay_enter=50000',
            '-e', 'inject=futex:delay_exit=20000'))

    def test_a_filter_that_is_set_by_the_number_of_the_call(self):
        self.check_complete('filter-by-number')

    def test_a_filter_that_the_kernel_refuses(self):
        self.check_complete('refused')

    def test_strict_mode(self):
        # It forbids even the raw counter.
        loss, said = self.check_recorded('strict', CALLS, '--no-kernel')
        self.assertEqual(loss, {'no_resource': 2 * CALLS}, said)
        self.assertIn('seccomp filter or in its strict mode', said)

    def test_a_filter_in_a_forked_child(self):
        self.check_complete('child', threads=2, more=FEW)

    def test_many_calls(self):
        # The preparer makes what is not ready; it may be late.
        loss, said = self.check_recorded('filter', 10 * CALLS, '--no-kernel')
        self.assertLessEqual(set(loss), {'no_sub_buffer'}, said)

    def test_threads_that_start_under_a_filter(self):
        loss, said = self.check_recorded('later-threads', CALLS, '--no-kernel',
                                         threads=4)
        self.assertLessEqual(set(loss), {'no_sub_buffer'}, said)
        # Each has a stream from its first record on.
        data = self.report()
        self.assertEqual(len({row['tid'] for row in data['threads']}), 4, said)

    def test_a_filter_for_every_thread(self):
        # It covers the preparer: what is ready is used, the rest is lost.
        loss, said = self.check_recorded('every-thread', 10 * CALLS,
                                         '--no-kernel', threads=2)
        self.assertGreater(self.stored(), 2 * CALLS, said)
        self.assertLessEqual(set(loss), {'no_sub_buffer', 'no_resource'}, said)
        self.assertNotIn('nothing was lost', said)

    def test_with_counters_and_kernel_records(self):
        self.needs_root()
        loss, said = self.check_recorded('filter', CALLS, '-e', 'page-faults')
        self.assertLessEqual(set(loss), {'no_sub_buffer'}, said)

    def test_nothing_is_left_behind(self):
        for mode in ('filter', 'every-thread', 'strict'):
            run = self.countrace(
                'record', '--force', '--no-kernel', '-o', self.trace, '--',
                'sh', '-c', f'echo $$; exec {PROGRAM} {mode} 10', check=False)
            pid = int(run.stdout.split()[0])
            self.assertEqual(run.returncode, 7, run.stderr)
            self.assertFalse(os.path.exists(CONTROL_FILES + str(pid)), mode)

    def test_outside_of_a_recording(self):
        for mode in ('filter', 'every-thread', 'later-threads', 'strict'):
            run = subprocess.run([PROGRAM, mode, '10'], text=True,
                                 capture_output=True, timeout=60, check=False,
                                 env=dict(os.environ, LD_PRELOAD=RUNTIME))
            self.assertEqual((run.returncode, run.stdout), (7, 'done\n'),
                             mode)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM, RUNTIME = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
