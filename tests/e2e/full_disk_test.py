#!/usr/bin/env python3
"""A disk that fills up while samples and counts are taken: the limits of what
is printed hold what no longer found room.

usage: full_disk_test.py COUNTRACE STAT_WORKLOAD HOOK_WORKLOAD
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

COUNTRACE = WORKLOAD = HOOKS = ''
CHILDREN, PAGES = 20000, 20


class FullDisk(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: counts of whole CPUs, and mounts, need root')
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='countrace-full-'))
        self.addCleanup(shutil.rmtree, self.folder)

    def on_a_disk_of(self, size, script):
        """Runs a script in a folder that takes so much."""
        words = ['unshare', '-m', 'sh', '-c',
                 f'mount -t tmpfs -o size={size} none "$1" && cd "$1" && {script}', 'sh',
                 self.folder, COUNTRACE, WORKLOAD, HOOKS]
        done = subprocess.run([str(word) for word in words], capture_output=True, check=False,
                              text=True, timeout=120)
        if 'unshare' in done.stderr or 'mount:' in done.stderr:
            self.skipTest('SKIPPED: no mounts here: ' + done.stderr[:100])
        return done

    def stat(self, size):
        done = self.on_a_disk_of(size, 'TMPDIR=$1 "$2" stat --json -- '
                                 f'"$3" forks {CHILDREN} {PAGES}')
        self.assertEqual(0, done.returncode, done)
        data = json.loads(done.stderr)
        return {number['name']: number for number in data['numbers']}, data['loss']

    def check_open(self, numbers, names):
        for name in names:
            self.assertEqual('bounded', numbers[name]['quality'], numbers[name])
            self.assertIsNone(numbers[name]['hi'], numbers[name])

    def test_stat_whose_end_is_lost(self):
        numbers, loss = self.stat('3m')
        if 'page-faults' not in numbers:
            self.skipTest('SKIPPED: needs kernel records')
        self.assertGreater(loss['by_cause']['disk_full'], CHILDREN // 10, loss)
        self.check_open(numbers, ('on-cpu', 'page-faults', 'context-switches', 'exec-runtime',
                                  'voluntary-switches'))

    def test_stat_of_which_all_is_lost(self):
        numbers, loss = self.stat('2m')
        self.assertGreater(loss['by_cause']['disk_full'], CHILDREN // 10, loss)
        self.check_open(numbers, ('on-cpu', 'voluntary-switches'))

    def test_stat_that_has_room(self):
        numbers, loss = self.stat('64m')
        faults = numbers['page-faults']
        self.assertFalse(loss['is_loss'], loss)
        self.assertGreaterEqual(faults['value'], CHILDREN * PAGES, faults)
        self.assertIsNotNone(faults.get('hi', 0), faults)

    def test_a_small_disk_is_used_before_it_is_full(self):
        """Packets of the usual size are most of it: for each CPU one, for each thread some.

        Left are a 24th for the end, and packets of a sixteenth for each CPU and four more
        (disk_room.cc): one of each CPU, and of each of three threads one with four that are ready.
        """
        cpus = os.cpu_count()
        packet = max(8192 / (3 << 20), 1 / 16 / (cpus + 4))
        least = 1 - 1 / 24 - packet * (cpus + 3 * 5)
        for what in ('--no-kernel', '--kernel syscalls'):
            with self.subTest(what):
                done = self.on_a_disk_of(
                    '3m', f'"$2" record -q {what} -o t.ctf -- "$4" pairs 2 400000 >/dev/null && '
                    'df --output=pcent . && exec "$2" report --format json t.ctf')
                self.assertEqual(0, done.returncode, done)
                used, _, rest = done.stdout.partition('{')
                loss = json.loads('{' + rest)['loss']
                self.assertGreater(loss['by_cause']['disk_full'], 100_000, loss)
                self.assertGreaterEqual(int(used.split()[-1].rstrip('%')), int(100 * least))

    def test_samples(self):
        done = self.on_a_disk_of(
            '3m', '"$2" record -q --sample 997 -o t.ctf -- '
            f'"$3" forks {CHILDREN} {PAGES} && "$2" report --no-progress --by function t.ctf && '
            'exec "$2" report --no-progress --by function --format json t.ctf')
        self.assertEqual(0, done.returncode, done)
        text, _, rest = done.stdout.partition('{')
        self.assertIn('any may have been a sample', text)
        data = json.loads('{' + rest)
        books = data['books'][0]
        self.assertIsNone(books['counted'], books)
        self.assertGreater(books['lost_records'], 1000, books)
        period = books['processes'] / books['samples']
        for row in data['rows']:
            self.assertGreaterEqual(row['self_hi'] + period,
                                    row['self'] + books['lost_records'] * period, row)


if __name__ == '__main__':
    COUNTRACE, WORKLOAD, HOOKS = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
