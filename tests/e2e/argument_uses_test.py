#!/usr/bin/env python3
"""What readers make of arguments in a real recording: exports, with and without
texts.

usage: argument_uses_test.py COUNTRACE
"""
import csv
import io
import json
import sqlite3
import sys
import unittest
import zlib

from trace_checks import Recording, with_tracefs

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


if __name__ == '__main__':
    with_tracefs()
    Recording.countrace_program = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
