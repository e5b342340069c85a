#!/usr/bin/env python3
"""What readers make of arguments in a real recording: exports, with and without
texts; the names of flags and errors, everywhere the same; and three questions
about git, postgres and Python that `report` alone answers.

usage: argument_uses_test.py COUNTRACE
"""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import sqlite3
import sys
import unittest
import zlib

from trace_checks import Recording, run, with_tracefs

SECRET = 'no-such-secret-file'
# The command line is no text of a hook, so it must not hold the secret.
SCRIPT = f'cat "$(printf %s-%s-%s-%s {SECRET.replace("-", " ")})" /dev/null; true'
NOTE = '--no-texts leaves them out'


def unpacked(data):
    """The bytes, with those of all zlib streams in them."""
    out = data
    at = data.find(b'\x78')
    while at >= 0:
        try:
            out += zlib.decompressobj().decompress(data[at:])
        except zlib.error:
            pass
        at = data.find(b'\x78', at + 1)
    return out


class WithArguments(Recording):
    """A shell that fails to open a file, with the arguments of system calls and
    of a tracepoint; recorded once."""

    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')
        done = self.countrace(
            'record', '--force', '-o', self.trace, '--kernel', 'syscalls',
            '--args', '--hook', 'tracepoint:sched:sched_process_exec(filename,pid)',
            '--', 'sh', '-c', SCRIPT)
        self.assertIn('nothing was lost', done.stderr)

    def export(self, kind, *options):
        """The bytes of the file, and what was said."""
        output = self.work / 'output'
        done = self.countrace('export', '--to', kind, '--force', '-o', output,
                              *options, self.trace)
        return output.read_bytes(), done.stderr


class Exports(WithArguments):
    def test_texts_are_named_and_can_be_left_out(self):
        for kind, *options in (
                ('sqlite',), ('csv', '--table', 'files'),
                ('jsonl', '--table', 'files'), ('perfetto',)):
            with self.subTest(kind, options=options):
                whole, said = self.export(kind, *options)
                self.assertIn(SECRET.encode(), unpacked(whole))
                self.assertIn(NOTE, said)
                less, said = self.export(kind, *options, '--no-texts')
                self.assertNotIn(SECRET.encode(), unpacked(less))
                self.assertEqual(said, '')

    def test_what_holds_no_texts_says_nothing(self):
        for kind, *options in (
                ('csv', '--table', 'calls'), ('jsonl', '--table', 'segments'),
                ('folded', '--weight', 'wall'), ('html',)):
            with self.subTest(kind):
                data, said = self.export(kind, *options)
                self.assertNotIn(SECRET.encode(), unpacked(data))
                self.assertEqual(said, '')

    def test_numbers_stay(self):
        self.export('sqlite')
        tables = {}
        for texts in (True, False):
            self.export('sqlite', *([] if texts else ['--no-texts']))
            database = sqlite3.connect(self.work / 'output')
            tables[texts] = {
                name: database.execute(f'select * from {name}').fetchall()
                for name, in database.execute(
                    "select name from sqlite_master where type = 'table'")}
            columns = [row[1] for row in database.execute(
                'pragma table_info(files)')]
            database.close()
        self.assertEqual(tables[True].keys(), tables[False].keys())
        for name, rows in tables[True].items():
            if name not in ('points', 'files'):
                self.assertEqual(rows, tables[False][name], name)
        at = columns.index('file')
        self.assertTrue(all(row[at] is None for row in tables[False]['files']))
        for with_, without in zip(tables[True]['files'], tables[False]['files'],
                                  strict=True):
            self.assertEqual(with_[:at] + with_[at + 1:],
                             without[:at] + without[at + 1:])

    def test_payloads_keep_their_names(self):
        payloads = {}
        for texts in (True, False):
            data, _ = self.export('csv', '--table', 'points',
                                  *([] if texts else ['--no-texts']))
            payloads[texts] = [
                json.loads(row['payload'])
                for row in csv.DictReader(io.StringIO(data.decode()))
                if row['hook'] == 'sched:sched_process_exec']
        self.assertGreater(len(payloads[True]), 1)
        for with_, without in zip(payloads[True], payloads[False], strict=True):
            self.assertIsInstance(with_['filename'], str)
            self.assertEqual(without, {**with_, 'filename': None})


class Names(WithArguments):
    def lines(self, where):
        return self.countrace('script', '--hook', 'syscall:openat', '--where',
                              where, self.trace).stdout.splitlines()

    def rows(self, *options):
        done = self.countrace('report', '--format', 'json', *options, self.trace)
        return json.loads(done.stdout)['segments']

    def test_a_text_is_compared_with_the_name_and_a_number_with_the_number(self):
        flags = os.O_CLOEXEC
        by_name = self.lines('flags =~ "O_CLOEXEC"')
        self.assertGreater(len(by_name), 0)
        self.assertEqual(by_name, self.lines(f'flags == {flags}'))
        self.assertEqual(by_name, self.lines('flags == "O_RDONLY|O_CLOEXEC"'))
        self.assertEqual(self.lines('ret == -2'), self.lines('ret =~ "ENOENT"'))
        self.assertTrue(all('ret = -2 ENOENT' in line
                            for line in self.lines('ret < 0')))

    def test_rows_are_what_script_prints(self):
        printed = {}
        for line in self.countrace('script', '--hook', 'syscall:openat',
                                   self.trace).stdout.splitlines():
            found = re.search(r'openat__(enter|exit).*\b(?:flags|ret) = ([^,}]+?)(?:,| })',
                              line)
            kind, text = found.groups()
            printed.setdefault(kind, {}).setdefault(text, 0)
            printed[kind][text] += 1
        for kind, name in (('enter', 'flags'), ('exit', 'ret')):
            with self.subTest(name):
                rows = self.rows('--by', 'segment', '--group-by', name, '--where',
                                 'segment == "syscall:openat"')
                self.assertEqual({row[name]: int(row['calls']) for row in rows},
                                 printed[kind])
        for where in ('flags =~ "O_CLOEXEC"', f'flags == {os.O_CLOEXEC}',
                      f'{os.O_CLOEXEC} == flags', 'flags == "O_RDONLY|O_CLOEXEC"'):
            rows = self.rows('--by', 'segment', '--group-by', 'flags', '--where',
                             f'segment == "syscall:openat" && {where}')
            self.assertEqual([row['flags'] for row in rows],
                             ['O_RDONLY|O_CLOEXEC'], where)
        self.assertEqual({row['ret'] for row in self.rows(
            '--by', 'segment', '--where', 'segment == "syscall:openat" && ret < 0')},
                         {'-2 ENOENT'})

    def test_slowest_calls_by_their_values(self):
        def slowest(*options):
            done = self.countrace('report', '--slowest', '1000', 'syscall:openat',
                                  '--format', 'json', *options, self.trace)
            return json.loads(done.stdout)['calls']

        every = slowest()
        for where, text in (('ret =~ "ENOENT"', '-2 ENOENT'), ('ret < 0', 'ret = -'),
                            (f'filename == "{SECRET}"', SECRET),
                            ('flags =~ "CLOEXEC" && ret >= 0', 'O_CLOEXEC')):
            with self.subTest(where):
                chosen = slowest('--where', where)
                expected = [call for call in every if text in call['payload'] and (
                    'ret >= 0' not in where or 'ret = -' not in call['payload'])]
                self.assertGreater(len(chosen), 0)
                self.assertEqual(chosen, expected)
        refused = self.countrace('report', '--slowest', '1', '*', '--where',
                                 'nonsense == 1', self.trace, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn('no hook of the trace has a value', refused.stderr)

    def test_perfetto_has_numbers_and_names(self):
        data, _ = self.export('perfetto', '--no-texts')
        data = unpacked(data)
        for text in (b'flags_name', b'O_RDONLY|O_CLOEXEC', b'-2 ENOENT'):
            self.assertIn(text, data)


class Questions(Recording):
    """Answered by `report` alone."""

    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')

    def rows(self, *options):
        done = self.countrace('report', '--format', 'csv', *options, self.trace)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def test_which_file_does_git_fail_to_open(self):
        self.needs('git')
        run('git', 'init', '-q', self.work / 'repository')
        (self.work / 'repository/.git/HEAD').write_text('ref: refs/heads/gone\n')
        self.countrace('record', '-o', self.trace, '--kernel', 'syscalls', '--args',
                       '--', 'git', '-C', self.work / 'repository', 'status')
        rows = self.rows('--by', 'file', '--where',
                         'comm == "git" && failed_opens > 0')
        self.assertIn('.git/index', {row['file'] for row in rows})
        self.assertTrue(all(int(row['failed_opens']) > 0 for row in rows))

    def test_which_python_function(self):
        python = '/usr/bin/python3.11'
        if not os.path.exists(python):
            self.skipTest(f'SKIPPED: needs {python}')
        program = self.work / 'program.py'
        program.write_text('def leaf(n):\n  return n\n'
                           'def other(n):\n  return leaf(n) + leaf(n)\n'
                           'for i in range(300): other(i)\n')
        self.countrace('record', '-o', self.trace, '--hook',
                       f'usdt:{python}:python:function__return'
                       '(file:str=arg0,function:str=arg1,line=arg2)', '--',
                       python, '-S', program)
        rows = self.rows('--by', 'hook', '--group-by', 'function')
        hits = {row['function']: int(row['hits']) for row in rows}
        self.assertEqual((hits['leaf'], hits['other']), (600, 300))
        self.assertEqual(rows[0]['function'], 'leaf')  # the largest first

    def test_which_statement_was_slow(self):
        folders = sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin'))
        self.needs('psql', 'runuser')
        if not folders:
            self.skipTest('SKIPPED: needs postgresql')
        data, bin_folder = self.work / 'db', folders[-1]
        notes = run('readelf', '-n', bin_folder / 'postgres').stdout
        if 'query__start' not in notes:
            self.skipTest('SKIPPED: this postgres has no probes')
        self.work.chmod(0o755)
        data.mkdir()
        shutil.chown(data, 'postgres')

        def as_postgres(*command):
            done = run('runuser', '-u', 'postgres', '--', *command, cwd='/',
                       stdin=None)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        as_postgres(bin_folder / 'initdb', '-A', 'trust', '--no-sync', '-D', data / 'd')
        control = (bin_folder / 'pg_ctl', '-s', '-w', '-D', data / 'd')
        as_postgres(*control, '-l', data / 'log', '-o',
                    f"-k {data} -c listen_addresses=''", 'start')
        try:
            self.countrace(
                'record', '-a', '-o', self.trace, '--hook',
                f'usdt:{bin_folder}/postgres:postgresql:query(statement:str=arg0)',
                '--', 'psql', '-h', data, '-U', 'postgres', '-c', 'select 1', '-c',
                'select pg_sleep(0.3) as nap', '-c', 'select 2')
        finally:
            as_postgres(*control, '-m', 'immediate', 'stop')
        rows = self.rows('--by', 'segment', '--group-by', 'statement', '--sort',
                         'wall_ns.max')
        self.assertEqual(rows[0]['statement'], 'select pg_sleep(0.3) as nap')
        self.assertGreaterEqual(int(rows[0]['wall_ns.max']), 300_000_000)
        self.assertLessEqual({'select 1', 'select 2'},
                             {row['statement'] for row in rows})


if __name__ == '__main__':
    with_tracefs()
    Recording.countrace_program = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
