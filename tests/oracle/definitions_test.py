#!/usr/bin/env python3
"""Computes the examples of docs/definitions.md, and the cases of
tests/rmap/cases, with the oracle and with countrace: both must give the
document's numbers, and agree in all others.

usage: definitions_test.py COUNTRACE
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import case_file
import oracle
from comparison import Comparison, same
from instants import Instants

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTRACE = None
BLOCK = re.compile(r'^```(trace|numbers)\n(.*?)^```$', re.M | re.S)
LEAST_EXAMPLES, LEAST_CASES = 11, 45
BEYOND = '# Beyond docs/definitions.md'  # a case that only its tables check


def examples():
    """(trace lines, lines of numbers) of each example."""
    text = (ROOT / 'docs/definitions.md').read_text()
    found = []
    for kind, body in BLOCK.findall(text):
        if kind == 'trace':
            found.append((body.splitlines(), []))
        else:
            found[-1][1].extend(body.splitlines())
    return found


def json_of(*arguments):
    run = subprocess.run([COUNTRACE, *map(str, arguments), '--format', 'json'],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def matches(row, condition):
    name, value = condition.split('=', 1)
    found = row.get(name)
    return ('>'.join(found) if isinstance(found, list) else str(found)) == value


def number(row, path):
    """`counts.context-switches.incl` of a row; the length of a list."""
    value = row
    for name in path.split('.'):
        value = value.get(name)  # what is not known is absent
    if isinstance(value, dict):
        value = value['count']
    return len(value) if isinstance(value, list) else value


class Definitions(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-oracle-'))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def tables_of_product(self, trace, words):
        if words[0] != 'state':
            return json_of('report', trace), words
        (state,) = json_of('state', '--all', '--at', words[1], trace)['states']
        return state, words[2:]

    def tables_of_oracle(self, tables, words):
        if words[0] == 'state':
            return Instants(tables).at(int(words[1])), words[2:]
        if words[0] == 'books':
            return {'books': tables.books()}, words
        names = {'cpus': tables.cpu_rows}
        rows = names.get(words[0]) or getattr(tables, words[0])
        return {words[0]: rows()}, words

    def row(self, source, words):
        if words[0] == 'books':
            return source['books'][words[1]]
        rows = [row for row in source[words[0]]
                if all(matches(row, each) for each in words[1:])]
        self.assertEqual(len(rows), 1, words)
        return rows[0]

    def check_numbers(self, trace, lines):
        tables = oracle.reconstruct(trace)
        for line in lines:
            where, _, assignments = line.partition(': ')
            words = where.split()
            theirs = self.row(*self.tables_of_product(trace, words))
            ours = self.row(*self.tables_of_oracle(tables, words))
            for assignment in assignments.split(', '):
                path, text = assignment.split(' ')
                wanted = (int(text) if text.isdigit() else
                          None if text == 'null' else text)
                with self.subTest(line=where, number=path):
                    self.assertTrue(same(path, number(ours, path), wanted),
                                    ('oracle', number(ours, path), wanted))
                    self.assertTrue(same(path, number(theirs, path), wanted),
                                    ('report', number(theirs, path), wanted))

    def check_rest(self, trace):
        comparison = Comparison()
        oracle.compare(COUNTRACE, str(trace), comparison)
        self.assertFalse(comparison.differences,
                         '\n'.join(comparison.differences))
        self.assertGreater(comparison.equal, 0)

    def test_examples_of_the_document(self):
        found = examples()
        self.assertGreaterEqual(len(found), LEAST_EXAMPLES)
        for index, (trace_lines, numbers) in enumerate(found):
            trace = self.work / f'example-{index}'
            case_file.write_case(trace_lines, trace)
            with self.subTest(example=trace_lines):
                self.assertTrue(numbers)
                self.check_numbers(trace, numbers)
                self.check_rest(trace)

    def test_cases_of_the_reconstruction(self):
        compared = 0
        for path in sorted((ROOT / 'tests/rmap/cases').glob('*.rmapcase')):
            text = path.read_text().split('---')[0]
            if BEYOND in text:
                continue
            lines = [line for line in text.splitlines()
                     if line and not line.startswith('#')]
            trace = self.work / path.stem
            try:
                case_file.write_case(lines, trace)
            except case_file.NotSupported as why:
                print(f'{path.stem}: not written: {why}')
                continue
            with self.subTest(case=path.stem):
                self.check_rest(trace)
            compared += 1
        self.assertGreaterEqual(compared, LEAST_CASES)


if __name__ == '__main__':
    COUNTRACE = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
