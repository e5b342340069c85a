#!/usr/bin/env python3
"""`countrace stat --top` in a terminal, beside a program with hooks.

Usage: stat_top_test.py COUNTRACE RUNTIME_LIBRARY REQUEST_PIPELINE
       [unittest options]
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import pseudo_terminal

COUNTRACE = LIBRARY = PIPELINE = ''


class Top(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: kernel records need root')
        self.folder = tempfile.mkdtemp(prefix='countrace-top-')
        os.environ['TMPDIR'] = self.folder
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(os.environ.pop, 'TMPDIR')

    def start(self, *arguments, **options):
        terminal = pseudo_terminal.Terminal(COUNTRACE, 'stat', '--top', *arguments, **options)
        self.addCleanup(self.kill, terminal)
        return terminal

    def kill(self, terminal):
        try:
            os.kill(terminal.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def hooked(self):
        program = subprocess.Popen([PIPELINE, '1000000000'], stdout=subprocess.DEVNULL,
                                   env={**os.environ, 'LD_PRELOAD': LIBRARY})

        def end():
            program.kill()
            program.wait()
        self.addCleanup(end)
        return program.pid

    def check_end(self, terminal):
        self.assertEqual(terminal.end(), 0, terminal.output[-300:])
        self.assertTrue(terminal.output.endswith(b'\x1b[0m\x1b[?25h\x1b[?1049l'),
                        terminal.output[-100:])
        self.assertEqual([], list(pathlib.Path(self.folder).iterdir()))

    def test_tables_and_keys(self):
        pid = self.hooked()
        top = self.start('--every', '300ms', columns=120, lines=36)
        shows, lines = top.shows, lambda: top.screen.lines

        def pipeline():
            return [line for line in lines() if line.split()[:1] == [str(pid)]]
        top.wait_for(lambda: pipeline() and shows('server:render')(), 'rows of the pipeline')
        self.assertIn('the machine', lines()[0])
        head = re.search(r'CPUs: ([\d.]+) % busy, ([\d.]+) % idle.* of .*; '
                         r'countrace itself ([\d.]+) %', lines()[1])
        busy, idle, own = map(float, head.groups())
        self.assertLessEqual(busy + idle, 100.1)
        self.assertGreater(busy, own)
        self.assertIn('q quit', lines()[35])
        top.keys('p')
        top.wait_for(lambda: not shows('SEGMENTS')() and shows('PROCESSES')(), 'processes alone')
        top.keys('t')
        top.wait_for(shows('THREADS'), 'threads')
        top.keys('>>')
        top.wait_for(shows('  by wait_ns'), 'an order')
        top.keys('<<s')
        top.wait_for(lambda: shows('SEGMENTS')() and not shows('  by ')(), 'segments')
        top.keys(' ')
        top.wait_until(shows('PAUSED'), 'a pause')
        still = list(lines())
        for _ in range(10):
            top.read(0.1)
        self.assertEqual(still, lines())
        top.keys(' ')
        top.wait_for(lambda: not shows('PAUSED')() and lines() != still, 'the next interval')
        top.resize(50, 20)
        top.wait_for(lambda: b'50 x 20 places; --top needs 60 x 12' in top.output, 'a message')
        top.keys('q')
        self.check_end(top)

    def test_one_process_and_a_signal(self):
        pid = self.hooked()
        top = self.start('-p', str(pid), '--every', '200ms', columns=100)
        top.wait_for(top.shows('server:render'), 'segments')
        self.assertIn(f'pid {pid}', top.screen.lines[0])
        os.kill(top.pid, signal.SIGTERM)
        self.check_end(top)

    def test_ends_with_its_time(self):
        top = self.start('--for', '500ms', '--every', '100ms')
        self.check_end(top)

    def test_usage(self):
        for arguments, message in (
                (['--', 'true'], "which is the command's"),
                (['--json'], 'leave out --json'),
                (['--every', '1ms'], 'at least 100ms'),
                (['-a', '-p', '1'], 'give one of them'),
                ([], '--top needs a terminal')):
            done = subprocess.run([COUNTRACE, 'stat', '--top', *arguments], text=True,
                                  capture_output=True, stdin=subprocess.DEVNULL, check=False)
            self.assertEqual((2, ''), (done.returncode, done.stdout), arguments)
            self.assertIn(message, done.stderr)


if __name__ == '__main__':
    COUNTRACE, LIBRARY, PIPELINE = map(os.path.abspath, sys.argv[1:4])
    del sys.argv[1:4]
    unittest.main()
