#!/usr/bin/env python3
"""Files that a sampled user made to stop or fill who looks at his samples:
`report`, `annotate` and `view` end, name the other files, and the books add up.

The libraries are changed after the recording, and keep their build ids: what is
recorded are their functions, and what is read are hostile files.

usage: hostile_symbols_test.py COUNTRACE HOST LIBRARY
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

import hostile_elf

COUNTRACE = HOST = LIBRARY = ''
RATE = 997
MiB = 1 << 20
BOMB = 1536 * MiB
# The limit, the mapped file, and the program itself.
MOST_KIB = 1300 * 1024
# A request has 20 s of CPU time, and other tests run beside this one.
PATIENCE = 100
SECRET = 'countrace-secret-text'
LIMITS = '1 GiB of memory', '20 s of CPU time'


class HostileSymbols(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest('SKIPPED: samples of whole CPUs need root')
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='countrace-hostile-'))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.folder.chmod(0o755)
        cls.good, cls.bad = cls.folder / 'good.so', cls.folder / 'bad.so'
        shutil.copy(LIBRARY, cls.bad)
        # Another build id, and a source that is here.
        cls.elf = cls.bad.read_bytes()
        cls.source = cls.folder / 'source.c'
        cls.source.write_text('one of one\n' * 8)
        cls.good.write_bytes(hostile_elf.with_source(cls.elf, cls.source))
        cls.trace = cls.folder / 'trace.ctf'
        done = subprocess.run(
            [COUNTRACE, 'record', '--sample', str(RATE), '-o', cls.trace, '--',
             HOST, '300', cls.good, cls.bad], capture_output=True, check=False, timeout=120)
        assert done.returncode == 0, done
        cls.environment = {**os.environ, 'HOME': str(cls.folder), 'DEBUGINFOD_URLS': ''}

    def setUp(self):
        self.write(self.elf)

    def write(self, elf, owner=0):
        self.bad.unlink(missing_ok=True)
        self.bad.write_bytes(elf)
        os.chown(self.bad, owner, owner)

    def run_verb(self, verb, *arguments):
        """Also `self.most_kib`: the most memory that it, or a process that it
        started and waited for, had."""
        words = [str(word) for word in (COUNTRACE, verb, '--no-progress', *arguments, self.trace)]
        with (tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as err,
              subprocess.Popen(words, stdout=out, stderr=err, env=self.environment) as process):
            end = time.monotonic() + PATIENCE
            ended = 0
            while not ended:
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                if time.monotonic() > end:
                    process.kill()
                    self.fail(f'{words} goes on')
                time.sleep(0.01)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.most_kib = usage.ru_maxrss
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(words, process.returncode, out.read(), err.read())

    def report(self):
        """Samples of the functions of each library; the notes."""
        done = self.run_verb('report', '--format', 'json', '--by', 'function', '--rows', '0')
        self.assertEqual(0, done.returncode, done)
        data = json.loads(done.stdout)
        names = {'good.so': {}, 'bad.so': {}}
        hits = 0
        for row in data['rows']:
            hits += row['self_samples']
            if row['dso'] in names:
                of = names[row['dso']]
                of[row['function']] = of.get(row['function'], 0) + row['self_samples']
        books, = data['books']
        # The books balance: each sample is in a row, each period in an account.
        self.assertEqual(books['samples'], hits)
        self.assertEqual(books['counted'],
                         books['processes'] + books['idle'] + books['outside'] +
                         books['residual'])
        return names, data['notes']

    def check_limited(self):
        """A slow processor comes to the end of its time first."""
        names, notes = self.report()
        self.assertIn('Spin', names['good.so'], notes)
        self.assertEqual(1, len(names['bad.so']), notes)
        self.assertLessEqual(set(names['bad.so']), {f'[not named: {limit}]' for limit in LIMITS})
        self.assertTrue(any('bad.so' in note and limit in note for note in notes
                            for limit in LIMITS), notes)
        self.assertLess(self.most_kib, MOST_KIB)

    def check(self, limit=None):
        names, notes = self.report()
        self.assertIn('Spin', names['good.so'], notes)
        if limit is None:
            self.assertEqual({'Spin'}, set(names['bad.so']) - {'[stripped]'}, notes)
            return
        self.assertEqual({f'[not named: {limit}]'}, set(names['bad.so']), notes)
        self.assertTrue(any('bad.so' in note and limit in note for note in notes), notes)

    def annotate(self, *options, dso='bad.so'):
        return self.run_verb('annotate', '--format', 'json', '--only', 'lines', *options,
                             '--dso', dso, 'Spin')

    def texts(self, *options, dso='bad.so'):
        done = self.annotate(*options, dso=dso)
        self.assertEqual(0, done.returncode, done)
        data = json.loads(done.stdout)
        return ''.join(line['text'] or '' for event in data['events']
                       for line in event['lines']), data['notes']

    def test_as_it_was_recorded(self):
        self.check()
        text, notes = self.texts(dso='good.so')
        self.assertIn('one of one', text, notes)

    def test_debug_links(self):
        os.mkfifo(self.folder / 'pipe')
        below = self.folder / 'below'
        below.mkdir()
        os.mkfifo(below / 'pipe')
        for name in ('pipe', 'below/pipe', f'../{self.folder.name}/pipe',
                     '../' * 12 + str(below / 'pipe')[1:], '..', '.', ''):
            with self.subTest(name):
                self.write(hostile_elf.with_sections(
                    self.elf, {'.gnu_debuglink': hostile_elf.debug_link(name)},
                    hidden=('.debug_info', '.symtab')))
                self.check()

    def test_devices_are_not_opened(self):
        if shutil.which('strace') is None:
            self.skipTest('SKIPPED: no strace')
        log = self.folder / 'strace'
        for name in ('../' * 12 + 'dev/ptmx', 'link'):
            (self.folder / 'link').unlink(missing_ok=True)
            (self.folder / 'link').symlink_to('/dev/ptmx')
            self.write(hostile_elf.with_sections(
                self.elf, {'.gnu_debuglink': hostile_elf.debug_link(name)},
                hidden=('.debug_info', '.symtab')))
            done = subprocess.run(
                ['strace', '-f', '-qq', '-e', 'trace=open,openat,openat2', '-o', log, COUNTRACE,
                 'report', '--by', 'function', self.trace], capture_output=True, check=False,
                timeout=PATIENCE, env=self.environment)
            self.assertEqual(0, done.returncode, done)
            opened = [line for line in log.read_text().splitlines()
                      if ('ptmx' in line or '/link"' in line) and 'O_PATH' not in line]
            self.assertEqual([], opened)

    def test_compressed_debug_information(self):
        self.write(hostile_elf.with_sections(
            self.elf, {'.debug_info': hostile_elf.zlib_bomb(BOMB)}))
        self.check_limited()

    def test_compressed_symbols(self):
        self.write(hostile_elf.with_sections(
            self.elf, {'.gnu_debugdata': hostile_elf.lzma_bomb(BOMB)},
            hidden=('.symtab', '.debug_info')))
        self.check_limited()

    def test_lines_without_end(self):
        self.write(hostile_elf.with_sections(
            self.elf, {'.debug_line': hostile_elf.line_bomb(40_000_000)}))
        self.check_limited()
        done = self.run_verb('report', '--by', 'line')
        self.assertEqual(0, done.returncode, done)
        self.assertTrue(any(f'[not named: {limit}]' in done.stdout for limit in LIMITS), done)

    def test_more_files_than_there_is_room_for(self):
        os.truncate(self.bad, 9 << 30)
        self.check('8 GiB of files')

    def test_notes_without_end(self):
        elf = bytearray(self.elf)
        at = int.from_bytes(elf[32:40], 'little')
        for number in range(int.from_bytes(elf[56:58], 'little')):
            header = at + number * 56
            if int.from_bytes(elf[header:header + 4], 'little') == 4:
                elf[header + 32:header + 40] = (3 << 30).to_bytes(8, 'little')
        self.write(elf)
        os.truncate(self.bad, (3 << 30) + len(elf))
        names, notes = self.report()
        self.assertIn('Spin', names['good.so'], notes)

    def test_sources_that_are_no_files(self):
        os.mkfifo(self.folder / 'source-pipe')
        paths = [self.folder / 'source-pipe', '/dev/zero', '/proc/kmsg', '/proc/self/pagemap',
                 '/proc/self/environ', '/sys/kernel/tracing/trace_pipe',
                 '/sys/kernel/debug/tracing/trace_pipe', '/proc/self/mem']
        for path in paths:
            for owner in (0, 65534):
                with self.subTest(path=path, owner=owner):
                    self.write(hostile_elf.with_source(self.elf, path), owner)
                    text, notes = self.texts()
                    self.assertEqual('', text)
                    self.assertTrue(any(str(path) in note for note in notes), notes)

    def test_sources_of_others(self):
        secret = self.folder / 'secret.c'
        secret.write_text(f'{SECRET}\n' * 8)
        secret.chmod(0o600)
        link = self.folder / 'link.c'
        link.symlink_to(secret)
        for path in (secret, link):
            # Root's own program may name it; another user's may not.
            self.write(hostile_elf.with_source(self.elf, path), 0)
            self.assertIn(SECRET, self.texts()[0])
            self.write(hostile_elf.with_source(self.elf, path), 65534)
            text, notes = self.texts()
            self.assertNotIn(SECRET, text)
            self.assertTrue(any('Permission denied' in note for note in notes), notes)
        os.chown(secret, 65534, 65534)
        self.assertIn(SECRET, self.texts()[0])

    def test_sources_of_a_copy(self):
        """A file that perf kept is no witness of where the sources are."""
        readelf = subprocess.run(['readelf', '-n', self.bad], capture_output=True, text=True,
                                 check=False)
        build_id = re.search('Build ID: ([0-9a-f]+)', readelf.stdout)
        self.assertTrue(build_id, readelf)
        number = build_id[1]
        kept = self.folder / '.debug/.build-id' / number[:2] / number[2:]
        kept.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, self.folder / '.debug')
        (kept / 'elf').write_bytes(hostile_elf.with_source(self.elf, self.source))
        self.bad.unlink()
        text, notes = self.texts()
        self.assertEqual('', text)
        self.assertTrue(any('--source' in note for note in notes), notes)
        text, notes = self.texts('--source', self.folder)
        self.assertIn('one of one', text, notes)

    def test_view(self):
        self.write(hostile_elf.with_sections(
            self.elf, {'.debug_line': hostile_elf.line_bomb(40_000_000)}))
        server = subprocess.Popen(
            [COUNTRACE, 'view', '--no-progress', self.trace], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=self.environment)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        url = ''
        while 'http://' not in url:
            url = server.stdout.readline()
        place = urllib.parse.urlsplit(re.search(r'http://\S+', url)[0])
        token = re.search(r'token=(\w+)', place.query)[1]

        def ask(path):
            client = http.client.HTTPConnection(place.hostname, place.port, timeout=PATIENCE)
            with contextlib.closing(client):
                client.request('GET', path, headers={'Authorization': 'Bearer ' + token})
                answer = client.getresponse()
                return answer.status, answer.read()

        naming = threading.Event()
        answers = []

        def ask_names():
            naming.set()
            try:
                answers.append(ask('/api/v1/functions')[0])
            except (OSError, http.client.HTTPException):
                pass  # the server has ended

        while ask('/api/v1/trace')[0] == 503:
            time.sleep(0.05)
        threads = [threading.Thread(target=ask_names) for _ in range(6)]
        for thread in threads:
            thread.start()
        naming.wait()
        # Six requests for names at once, and the others are answered.
        for path in ('/api/v1/trace', '/api/v1/processes'):
            self.assertEqual(200, ask(path)[0], path)
        begin = time.monotonic()
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE)
        # The limit is 1 s; other tests run beside this one.
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(0, server.returncode)
        for thread in threads:
            thread.join()
        self.assertTrue(all(status in (200, 409) for status in answers), answers)


if __name__ == '__main__':
    COUNTRACE, HOST, LIBRARY = sys.argv[1:4]
    del sys.argv[1:4]
    unittest.main()
