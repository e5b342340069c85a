#!/usr/bin/env python3
"""Trace folders with files that no recorder leaves there: pipes, devices,
links, streams of terabytes without data, thousands of files. Every verb ends,
with what it read or with an error.

Usage: odd_folders_test.py COUNTRACE SYNTHETIC_TRACE [unittest options]
"""
import csv
import fcntl
import io
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

COUNTRACE, SYNTHETIC = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
FULL = 'COUNTRACE_TEST_FULL' in os.environ
MANY = 100_000 if FULL else 3_000
THREADS = 10_000 if FULL else 500
VERBS = [['report'], ['report', '--by', 'path', '--format', 'csv'], ['script'],
         ['verify'], ['verify', '--format', 'csv'], ['info'],
         ['state', '--at', '50%'], ['diff', 'sound'],
         ['import', '-o', 'imported'], ['recover']]
# Far more than any of them needs; with less, a busy machine would fail.
PATIENCE = 120
HEAD = 176


def pipes(trace):
    for name in ('thread-1-1', 'cpu-7', 'x'):
        os.mkfifo(trace / name)


def pipe_for_metadata(trace):
    (trace / 'metadata').unlink()
    os.mkfifo(trace / 'metadata')


def pipes_for_session_files(trace):
    (trace / 'metadata').unlink()
    for name in ('.session', '.hooks', '.incomplete', '.owners'):
        os.mkfifo(trace / name)


def links(trace):
    for number, to in enumerate(('/dev/zero', '/dev/tty', '.', 'cpu-5')):
        (trace / f'cpu-{number + 5}').symlink_to(to)


def device_for_metadata(trace):
    (trace / 'metadata').unlink()
    (trace / 'metadata').symlink_to('/dev/zero')


def folders(trace):
    (trace / 'thread-8-8').mkdir()
    (trace / '/'.join(['deep'] * 100)).mkdir(parents=True)


def terabytes_of_nothing(trace):
    for number in range(5):
        with open(trace / f'thread-9-{number}', 'wb') as file:
            file.truncate(1 << 42)
    os.truncate(trace / 'cpu-0', 1 << 42)


def terabytes_with_islands(trace):
    with open(trace / 'thread-9-1', 'wb') as file:
        file.truncate(1 << 42)
        for number in range(2000):
            file.seek(number << 31)
            file.write(b'x')


def packets_of_holes(trace):
    """Heads that claim 1 GiB of records each, which are in holes."""
    first = (trace / 'cpu-0').read_bytes()[:HEAD]
    size = 1 << 30
    with open(trace / 'cpu-0', 'wb') as file:
        for number in range(1000):
            head = bytearray(first)
            struct.pack_into('<QQII', head, 40, size * 8, size * 8, number, 7)
            file.seek(number * size)
            file.write(head)
        file.truncate(1000 * size)


def huge_metadata(trace):
    os.truncate(trace / 'metadata', 1 << 40)


def huge_session(trace):
    (trace / 'metadata').unlink()
    for name in ('.session', '.hooks', '.incomplete'):
        (trace / name).touch()
        os.truncate(trace / name, 1 << 40)


def many_files(trace):
    for number in range(MANY):
        (trace / f'x{number}').touch()
        (trace / f'.x{number}').touch()


def many_empty_streams(trace):
    for number in range(MANY):
        (trace / f'thread-5-{number}').touch()


def empty(trace):
    for file in trace.iterdir():
        file.unlink()


def empty_files(trace):
    for file in trace.iterdir():
        os.truncate(file, 0)


def sockets(trace):
    """In place of streams, of the session files and of the metadata."""
    (trace / 'metadata').unlink()
    for name in ('thread-1-1', 'cpu-7', '.session', '.incomplete', 'metadata'):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(trace / name))


def loops(trace):
    """Links to themselves, to each other, to the memory of the reader."""
    (trace / 'cpu-6').symlink_to('cpu-6')
    (trace / 'cpu-7').symlink_to('cpu-8')
    (trace / 'cpu-8').symlink_to('cpu-7')
    (trace / 'thread-7-7').symlink_to('/proc/self/mem')
    (trace / 'thread-7-8').symlink_to('/proc/self/fd')
    (trace / '.owners').symlink_to('/proc/self/pagemap')


def hard_links(trace):
    """The same stream under other names: its calls would count twice."""
    for number, file in enumerate(sorted(trace.glob('[ct]*-*'))):
        os.link(file, trace / f'thread-99-{number}')
        os.link(file, trace / f'cpu-{number + 90}')


def strange_names(trace):
    """No text, the longest, control characters, words of a shell."""
    names = [b'\xff\xfe\n', b'x' * 255, b'cpu-\x1b]0;t\x07', b'thread-1-1\n',
             b'thread--1--1', b'cpu-99999999999999999999', b'$(id);`id`',
             b'-o', b'--help', b'%s%n', b'thread-1-1-' + b'9' * 200]
    for name in names:
        shutil.copy(trace / 'cpu-0', os.path.join(os.fsencode(trace), name))


CASES = [pipes, pipe_for_metadata, pipes_for_session_files, links,
         device_for_metadata, folders, terabytes_of_nothing,
         terabytes_with_islands, packets_of_holes, huge_metadata, huge_session,
         many_files, many_empty_streams, empty, empty_files, sockets, loops,
         hard_links, strange_names]


class OddFolders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # In memory, a file of a terabyte takes only its pages.
        place = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-odd-',
                                                 dir=place))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.make('sound', 3000, 3, 40)

    @classmethod
    def make(cls, name, *numbers):
        subprocess.run([SYNTHETIC, cls.work / name, *map(str, numbers)],
                       check=True, timeout=PATIENCE)

    def run_verb(self, *words):
        shutil.rmtree(self.work / 'imported', ignore_errors=True)
        return subprocess.run([COUNTRACE, *words, 'odd'], cwd=self.work,
                              capture_output=True, text=True, errors='replace',
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)

    def view(self):
        """It prints its address when the index is made, or an error."""
        with subprocess.Popen([COUNTRACE, 'view', 'odd'], cwd=self.work,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, stdin=subprocess.DEVNULL) as view:
            try:
                self.assertTrue(select.select([view.stdout], [], [],
                                              PATIENCE)[0], 'view hangs')
                first = view.stdout.readline()
                if first:
                    view.send_signal(signal.SIGTERM)
                error = view.communicate(timeout=PATIENCE)[1]
            finally:
                view.kill()
        self.assertTrue(first or 'countrace' in error, error)
        self.assertIn(view.returncode, (0, 1, -signal.SIGTERM), error)

    def read(self, case):
        for verb in VERBS:
            done = self.run_verb(*verb)
            with self.subTest(verb=verb[0]):
                self.assertIn(done.returncode, (0, 1, 4), done.stderr[:500])
                if done.returncode == 1:
                    self.assertTrue(done.stderr or verb[0] == 'verify')
                if verb[-1] == 'csv':
                    self.check_csv(done.stdout)
                if case in (many_files, many_empty_streams):
                    self.assertLess(done.stderr.count('\n'), 100)
        self.view()

    def check_csv(self, text):
        """No cell is a formula, all lines have as many as the first."""
        rows = list(csv.reader(io.StringIO(text)))
        self.assertLessEqual(len({len(row) for row in rows}), 1)
        for row in rows:
            for cell in row:
                self.assertNotRegex(cell, r'^[=+@]|^-(?![0-9])')

    def test_every_verb_ends(self):
        for case in CASES:
            shutil.rmtree(self.work / 'odd', ignore_errors=True)
            shutil.copytree(self.work / 'sound', self.work / 'odd')
            case(self.work / 'odd')
            with self.subTest(case=case.__name__):
                self.read(case)

    def test_leased_files(self):
        """An open of one waits for its owner, up to 45 s: it is refused."""
        odd = self.work / 'odd'
        shutil.rmtree(odd, ignore_errors=True)
        shutil.copytree(self.work / 'sound', odd)
        foreign = self.work / 'foreign'
        foreign.mkdir()
        (foreign / 'metadata').write_text(
            '/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };')
        (foreign / 'stream').write_bytes(bytes(64))
        perf = self.work / 'perf.data'
        perf.write_bytes(b'PERFILE2' + bytes(1000))
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGIO, signal.SIG_DFL)
        for place, leased in ((odd, odd / 'cpu-0'), (odd, odd / 'metadata'),
                              (foreign, foreign / 'stream'),
                              (foreign, foreign / 'metadata'), (perf, perf)):
            verbs = [['report'], ['import', '-o', self.work / 'imported']]
            for verb in verbs[place == perf:]:
                with self.subTest(leased=leased.name, verb=verb[0]), \
                        open(leased, 'r+b') as file:
                    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                    done = subprocess.run(
                        [COUNTRACE, *verb, place], capture_output=True,
                        text=True, timeout=PATIENCE, check=False)
                    self.assertIn(f'{leased} is leased by another process',
                                  done.stderr)
                    self.assertEqual(1, done.returncode)

    def test_verify_prints_a_thousand_findings(self):
        """As text; a program that reads them gets all."""
        shutil.rmtree(self.work / 'odd', ignore_errors=True)
        streams = 1100
        self.make('odd', streams * 42, streams, 40)
        damaged = sorted((self.work / 'odd').glob('thread-*'))
        self.assertGreater(len(damaged), 1000)
        for file in damaged:
            with open(file, 'r+b') as stream:
                stream.seek(HEAD + 8)
                byte = stream.read(1)
                stream.seek(HEAD + 8)
                stream.write(bytes([byte[0] ^ 1]))
        text = self.run_verb('verify')
        self.assertEqual(1, text.returncode, text.stderr)
        lines = text.stdout.splitlines()
        self.assertEqual(1000, sum(line.startswith('damage: ')
                                   for line in lines))
        self.assertEqual(1002, len(lines))
        rows = self.run_verb('verify', '--format', 'jsonl').stdout.splitlines()
        findings = [row for row in map(json.loads, rows) if 'what' in row]
        self.assertGreaterEqual(len(findings), len(damaged))
        self.assertEqual(
            f'{len(findings) - 1000:,} more findings: '
            '--format jsonl has them', lines[1000])

    def test_a_trace_of_many_streams(self):
        """More than descriptors: none is kept open for a stream."""
        shutil.rmtree(self.work / 'odd', ignore_errors=True)
        self.make('odd', THREADS * 40, THREADS, 40)
        for verb in VERBS:
            if verb[0] == 'import':
                continue  # a trace of ours
            done = self.run_verb(*verb)
            with self.subTest(verb=verb[0]):
                self.assertEqual(0, done.returncode, done.stderr[:500])
        self.view()


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
