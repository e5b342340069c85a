#!/usr/bin/env python3
"""A task that clone(CLONE_VM) made shares its creator's thread-local storage:
the creator's calls are recorded, the task's are counted as lost.

usage: shared_storage_test.py COUNTRACE SHARED_STORAGE_WORKLOAD
"""
import sys
import unittest

from trace_checks import Recording

PROGRAM = None
CALLS = 150_000


class SharedStorage(Recording):
    def test_a_task_beside_its_creator(self):
        run = self.countrace('record', '--no-kernel', '-o', self.trace, '--',
                             PROGRAM, CALLS, check=False)
        self.assertEqual((run.returncode, run.stdout), (0, 'done\n'),
                         run.stderr)
        self.assertNotIn('nothing was lost', run.stderr)
        self.assertIn('clone(CLONE_VM)', run.stderr)
        self.assertEqual(self.report()['loss']['by_cause'],
                         {'no_resource': 2 * CALLS})
        segments = {row['segment']: row['calls']
                    for row in self.report()['segments']}
        self.assertEqual(segments, {'shared:thread': CALLS})
        self.check_readable(lossless=False)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
