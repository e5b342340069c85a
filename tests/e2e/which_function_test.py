#!/usr/bin/env python3
"""docs/which-function.md: all its commands, in order, with Debian's nginx and
postgres; then what the page says of the reports.

usage: which_function_test.py COUNTRACE
"""
import json
import pathlib
import pwd
import re
import socket
import subprocess
import sys
import unittest

from trace_checks import Recording

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'which-function.md'
BLOCK = re.compile(r'^```sh\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class WhichFunction(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('nginx', 'ab', 'gzip', 'runuser', 'pgbench')
        if not sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin/initdb')):
            self.skipTest('SKIPPED: needs postgresql')
        try:
            pwd.getpwnam('postgres')
        except KeyError:
            self.skipTest('SKIPPED: needs the user postgres')
        self.needs_back_end('bpf')

    def run_page(self):
        """What the commands printed."""
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        script = '\n'.join(BLOCK.findall(PAGE.read_text()))
        self.assertIn('countrace report', script)
        self.assertIn('8742', script)
        folder = self.work / 'tour'
        folder.mkdir()
        for each in (self.work, folder):
            each.chmod(0o755)
        program = pathlib.Path(self.countrace_program).resolve()
        named = f'countrace() {{ "{program}" "$@"; }}\nset -e\n'
        # Servers must not outlive a command that fails.
        run = subprocess.Popen(
            ['sh', '-c', named + script.replace('8742', str(port))], cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            printed, errors = run.communicate(timeout=180)
        finally:
            run.kill()
            subprocess.run(['pkill', '-f', str(self.work)], check=False)
        self.assertEqual(0, run.returncode, errors + printed)
        self.trace = folder / 'nginx.ctf'
        return printed

    def shares(self, trace, by, pattern, process):
        """Share of the samples, and how many there are."""
        done = self.countrace('report', '--by', by, '--process', process, '--format', 'json',
                              '--no-progress', self.work / 'tour' / trace)
        rows = json.loads(done.stdout)['rows']
        samples = sum(row['self_samples'] for row in rows)
        found = sum(row['total_samples'] for row in rows if re.match(pattern, row[by]))
        return found / max(samples, 1), samples

    def test_page(self):
        printed = self.run_page()
        for word in ('libz.so', 'heap_getnextslot', 'books of cpu-clock', 'no verdict'):
            self.assertIn(word, printed)
        share, samples = self.shares('nginx.ctf', 'dso', r'libz\.so', 'nginx')
        self.assertGreater(samples, 50, printed)
        self.assertGreater(share, 0.6, printed)
        share, samples = self.shares('static.ctf', 'dso', r'libz\.so', 'nginx')
        # Its start may be sampled: of few samples, one in the library as it is loaded.
        self.assertLessEqual(share * samples, max(1, 0.2 * samples), printed)
        share, before = self.shares('before.ctf', 'function', 'ExecScan$', 'postgres')
        self.assertGreater(share, 0.7, printed)
        share, _ = self.shares('before.ctf', 'function', 'heap_getnextslot$', 'postgres')
        self.assertGreater(share, 0.2, printed)
        _, after = self.shares('after.ctf', 'function', 'ExecScan$', 'postgres')
        self.assertLess(after, before / 3, printed)


if __name__ == '__main__':
    Recording.countrace_program = sys.argv.pop(1)
    unittest.main()
