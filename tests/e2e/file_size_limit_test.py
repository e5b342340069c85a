#!/usr/bin/env python3
"""A limit of file sizes (ulimit -f) ends neither the recorder nor the program:
what no file can take is counted, with the limit as its cause.

usage: file_size_limit_test.py COUNTRACE FILE_SIZE_WORKLOAD
"""
import sys
import unittest

from trace_checks import Recording

PROGRAM = None
CALLS = 500_000
LIMIT = 1 << 20


class FileSizeLimit(Recording):
    def check_counted(self, run):
        self.assertEqual((run.returncode, run.stdout),
                         (4, f'calls {CALLS}\n'), run.stderr)
        self.assertIn('cause=no_resource', run.stderr)
        self.assertIn('ulimit -f', run.stderr)
        self.assertNotIn('disk', run.stderr)
        self.check_readable(lossless=False)
        loss = self.report()['loss']
        hooks = self.report('--by', 'hook')['hooks']
        stored = sum(row['hits'] for row in hooks
                     if row['hook'].startswith('limited:'))
        self.assertGreater(stored, 0)
        return stored, loss['by_cause'].get('no_resource', 0)

    def test_a_limit_that_the_program_sets(self):
        run = self.countrace('record', '--no-kernel', '-o', self.trace, '--',
                             PROGRAM, LIMIT, CALLS, check=False)
        stored, discarded = self.check_counted(run)
        self.assertEqual(stored + discarded, 2 * CALLS)

    def test_a_limit_of_the_recorder_and_its_command(self):
        self.needs_root()
        self.countrace_program, program = 'prlimit', self.countrace_program
        run = self.countrace(f'--fsize={LIMIT}', program, 'record', '-o',
                             self.trace, '--', PROGRAM, 0, CALLS, check=False)
        self.countrace_program = program
        stored, discarded = self.check_counted(run)
        self.assertGreaterEqual(stored + discarded, 2 * CALLS)

    def test_a_limit_below_the_smallest_recording(self):
        self.countrace_program, program = 'prlimit', self.countrace_program
        for limit in (0, 4096):
            run = self.countrace(f'--fsize={limit}', program, 'record',
                                 '--no-kernel', '-o', self.trace, '--', 'true',
                                 check=False)
            # Not a signal.
            self.assertIn(run.returncode, range(1, 128), run.stderr)
            self.assertIn('ulimit -f', run.stderr)
            self.assertFalse(self.trace.exists())
        self.countrace_program = program

    def test_records_of_hooks_that_no_file_takes_are_counted(self):
        run = self.countrace(
            'record', '--no-kernel', '--fail-on-loss', '-o', self.trace, '--',
            'sh', '-c', f'ulimit -f 0; "{PROGRAM}" 0 30000; true', check=False)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn('ulimit -f', run.stderr)
        self.assertIn('60,000 event records were lost', run.stderr)
        self.assertEqual(self.report()['loss']['by_cause'],
                         {'no_resource': 60_000})

    def test_the_command_has_the_users_disposition(self):
        run = self.countrace('record', '--no-kernel', '-o', self.trace, '--',
                             'prlimit', '--fsize=1000', 'dd', 'if=/dev/zero',
                             f'of={self.work}/zeros', 'bs=4000', 'count=1',
                             check=False)
        self.assertEqual(run.returncode, 128 + 25, run.stderr)  # SIGXFSZ


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
