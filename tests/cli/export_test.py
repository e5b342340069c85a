#!/usr/bin/env python3
"""countrace export --to html: what it makes, and what it refuses. What the page
shows is tested in a browser (tests/viewer/browser_export_test.mjs).

Usage: export_test.py COUNTRACE SERVER_TRACES HAS_MODULE [unittest options].
"""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

COUNTRACE, SERVER_TRACES, HAS_MODULE = sys.argv[1:4]


class Traces(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix='countrace-export-')
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        subprocess.run([SERVER_TRACES, '2'], cwd=self.folder, check=True)
        self.page = self.folder / 'page.html'

    def export(self, *arguments, **options):
        return subprocess.run(
            [COUNTRACE, 'export', '--to', 'html', *arguments], cwd=self.folder,
            capture_output=True, text=True, timeout=120, check=False, **options)

    def files(self):
        return {path.name for path in self.folder.iterdir()}

    def assert_refused(self, run, *words):
        """Exit 1, a message with these words, and no file left."""
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(run.stdout, '')
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertFalse([name for name in self.files() if '.tmp' in name])


class WithoutModule(Traces):
    """A program built without the compiler of the module."""

    def test_names_the_command_that_builds_it(self):
        before = self.files()
        self.assert_refused(self.export('-o', 'page.html', 'old1.ctf'),
                            'scripts/setup && cmake --preset dev')
        self.assertEqual(self.files(), before)


class Export(Traces):
    def test_makes_one_private_file_the_same_each_time(self):
        before = self.files()
        run = self.export('-o', 'page.html', 'old1.ctf')
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, '', ''))
        self.assertEqual(self.files() - before, {'page.html'})
        self.assertEqual(self.page.stat().st_mode & 0o777, 0o600)
        page = self.page.read_bytes()
        self.assertTrue(page.startswith(b'<!doctype html>'))
        self.assertFalse(re.search(rb'(?:src|href)="/', page))
        # An index that is not finished, damaged or missing is built again.
        index = self.folder / 'old1.ctf/.timeline.pvx'
        for spoil in (lambda: index.write_bytes(index.read_bytes()[:5000]),
                      lambda: index.write_bytes(b'x' * 9000), index.unlink):
            spoil()
            run = self.export('--force', '-o', 'page.html', 'old1.ctf')
            self.assertEqual((run.returncode, run.stderr), (0, ''))
            self.assertEqual(self.page.read_bytes(), page)

    def test_a_part_is_a_smaller_file_and_leaves_the_index_alone(self):
        self.export('-o', 'page.html', 'old1.ctf')
        before = self.files()
        part = self.folder / 'part.html'
        for where in (('--from', '30%', '--until', '60%'),
                      ('--at', '50%', '--window', '1ms'),
                      ('--around', '50%', '--window', '1ms')):
            run = self.export('--force', '-o', 'part.html', *where, 'old1.ctf')
            self.assertEqual((run.returncode, run.stderr), (0, ''))
            self.assertLess(part.stat().st_size, self.page.stat().st_size)
        # All of it is a part, too, and says so.
        self.export('--force', '-o', 'part.html', '--from', 'begin', 'old1.ctf')
        self.assertEqual(self.files() - before, {'part.html'})
        self.export('--force', '-o', 'again.html', 'old1.ctf')
        self.assertEqual((self.folder / 'again.html').read_bytes(),
                         self.page.read_bytes())

    def test_ranges_that_are_none(self):
        for where, says in (
                (('--from', '60%', '--until', '30%'), 'range is empty'),
                (('--from', '99h'), 'not in the trace'),
                (('--until', ''), '--until, --at and --around need an instant'),
                (('--at', '1ms', '--from', '1ms'), '--from and --until'),
                (('--window', '1ms'), '--window needs --at'),
                (('--to', '1ms'), 'not one of html')):
            run = self.export('-o', 'page.html', *where, 'old1.ctf')
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(says, run.stderr)
            self.assertFalse(self.page.exists())

    def test_no_trace(self):
        (self.folder / 'empty').mkdir()
        (self.folder / 'text').write_text('hello\n')
        for name in ('empty', 'text', 'gone'):
            self.assert_refused(self.export('-o', 'page.html', name), name)
            self.assertFalse(self.page.exists())

    def test_an_existing_file_is_replaced_by_force_only(self):
        self.page.write_text('mine')
        run = self.export('-o', 'page.html', 'old1.ctf')
        self.assert_refused(run, 'page.html exists; --force replaces it')
        self.assertEqual(self.page.read_text(), 'mine')
        # A failure leaves what is there.
        self.assert_refused(self.export('--force', '-o', 'page.html', 'gone'))
        self.assertEqual(self.page.read_text(), 'mine')
        run = self.export('--force', '-o', 'page.html', 'old1.ctf')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('<!doctype html>', self.page.read_text())

    def test_what_is_no_file_stays(self):
        (self.folder / 'folder').mkdir()
        (self.folder / 'link').symlink_to('elsewhere')
        for name in ('folder', 'link'):
            self.assert_refused(
                self.export('--force', '-o', name, 'old1.ctf'), name,
                'no regular file')
        self.assertTrue((self.folder / 'link').is_symlink())
        self.assert_refused(
            self.export('-o', 'gone/page.html', 'old1.ctf'), 'gone/page.html',
            'No such file or directory')

    def test_a_full_disk(self):
        self.export('-o', 'page.html', 'old1.ctf')
        self.page.unlink()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        run = self.export('-o', 'page.html', 'old1.ctf', preexec_fn=limit)
        self.assert_refused(run, 'page.html', os.strerror(27))
        self.assertFalse(self.page.exists())


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0],
                        'Export' if HAS_MODULE == 'ON' else 'WithoutModule',
                        *sys.argv[4:]])
