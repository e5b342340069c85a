#!/usr/bin/env python3
"""README as a new user reads it: each command of its table of questions runs
exactly as written, and its C and C++ compile with the standards it names.

Usage: readme_test.py COUNTRACE REQUEST_PIPELINE CC CXX.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / 'README.md').read_text()
COUNTRACE = PIPELINE = CC = CXX = None


def section(title):
    return README.split(f'\n## {title}\n', 1)[1].split('\n## ', 1)[0]


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return str(probe.getsockname()[1])


class Readme(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-readme-'))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def start_redis(self):
        server = subprocess.Popen(
            ['redis-server', '--port', free_port(), '--save', '', '--dir',
             self.work], stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)

    def test_every_command_of_the_questions_works_as_typed(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: needs root')
        for program in ('redis-server', 'perf', 'pidof'):
            if not shutil.which(program):
                self.skipTest(f'SKIPPED: needs {program}')
        self.start_redis()
        # perf 6.1 aborts at the build ids of some programs that run meanwhile.
        subprocess.run(['perf', 'record', '-q', '-a', '-B', '-N', '-o',
                        'perf.data', '-e', 'sched:sched_switch', '--', 'true'],
                       cwd=self.work, check=True, timeout=60)
        path = os.pathsep.join([str(COUNTRACE.parent), str(PIPELINE.parent),
                                os.environ['PATH']])
        commands = [command for line in section('Questions').splitlines()
                    if line.startswith('|')
                    for command in re.findall(r'`((?:countrace|for) [^`]*)`', line)]
        self.assertGreater(len(commands), 10)
        time.sleep(0.5)  # redis-server comes up
        for command in commands:
            begin = time.monotonic()
            done = subprocess.run(['bash', '-euc', command], cwd=self.work,
                                  env=dict(os.environ, PATH=path), text=True,
                                  capture_output=True, check=False,
                                  stdin=subprocess.DEVNULL, timeout=120)
            print(f'{time.monotonic() - begin:6.1f} s  {command}', flush=True)
            self.assertEqual(0, done.returncode,
                             f'{command}\n{done.stdout}\n{done.stderr}')

    def test_its_programs_compile_with_the_standards_it_names(self):
        before = {
            'cpp': '#include <string>\nstruct Request { int id; int size; };\n',
            'c': ''}
        for language, compiler, standard in (('cpp', CXX, 'c++17'),
                                             ('c', CC, 'gnu11')):
            block = re.search(rf'```{language}\n(.*?)```',
                              section('Your own code'), re.S)[1]
            source = self.work / f'readme.{language}'
            source.write_text(before[language] + block)
            done = subprocess.run(
                [compiler, f'-std={standard}', '-Wall', '-Wextra', '-Werror',
                 '-fsyntax-only', f'-I{ROOT / "hooks/include"}', source],
                text=True, capture_output=True, check=False, timeout=60)
            self.assertEqual(0, done.returncode, done.stderr)


if __name__ == '__main__':
    COUNTRACE, PIPELINE, CC, CXX = (pathlib.Path(word).resolve()
                                    for word in sys.argv[1:5])
    unittest.main(argv=sys.argv[:1], verbosity=2)
