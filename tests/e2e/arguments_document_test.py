#!/usr/bin/env python3
"""docs/arguments.md: each of its commands works, and theirs where the tool is
installed and may trace here.

usage: arguments_document_test.py COUNTRACE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from trace_checks import Recording, run, with_tracefs

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'arguments.md'
# Indented lines, and what stands in cells of tables.
COMMAND = re.compile(r'^    (countrace .*)$|`(countrace [^`]*)` \|', re.MULTILINE)
THEIRS = re.compile(r'^\| `((?:strace|bpftrace|perf) .*?)` \|', re.MULTILINE)

SERVER = """
#include <stdio.h>
__attribute__((noinline)) int handle(const char* path, unsigned size) {
  __asm__ volatile("" : "+r"(size));
  return path[1] == 'i' && size > 0;
}
int main(void) {
  unsigned i, handled = 0;
  char path[64];
  for (i = 0; i < 300; ++i) {
    snprintf(path, sizeof(path), "/index.%u", i % 5);
    handled += (unsigned)handle(path, i * 10);
  }
  return handled == 0;
}
"""
QUERIES = """
#include <countrace/hooks.h>
static void query(const char* statement) {
  COUNTRACE_SEGMENT("db", "query", statement);
}
int main() {
  for (int i = 0; i < 20; ++i) query(i % 2 ? "select 1" : "select 2");
}
"""
# One trace that answers the questions.
QUESTIONS = """
git -C repository status; cat missing /etc/passwd file; ./queries
python3 -c "
import socket
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for size in (10, 20): to.sendto(bytes(size), ('127.0.0.1', 9))"
true
"""


class Document(Recording):
    @classmethod
    def setUpClass(cls):
        cls.text = PAGE.read_text()
        cls.commands = [one or other for one, other in COMMAND.findall(cls.text)]

    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('git', 'gcc', 'g++', 'python3')
        self.needs_back_end('bpf')
        bin_folder = self.work / 'bin'
        bin_folder.mkdir()
        program = pathlib.Path(self.countrace_program).resolve()
        (bin_folder / 'countrace').symlink_to(program)
        self.env = {**os.environ, 'PATH': f'{bin_folder}:{os.environ["PATH"]}'}
        (self.work / 'server.c').write_text(SERVER)
        (self.work / 'queries.cc').write_text(QUERIES)
        (self.work / 'file').write_text('text\n')
        (self.work / 'program.py').write_text('def f(): pass\nf()\n')
        self.sh('gcc -g -O1 -o server server.c')
        self.sh(f'g++ -O1 -std=c++17 -I{ROOT}/hooks/include -o queries queries.cc')
        self.sh('git init -q repository')

    def sh(self, command):
        done = run('sh', '-c', command, cwd=self.work, env=self.env,
                   errors='replace', stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f'{command}\n{done.stdout}{done.stderr}')
        return done.stdout

    def record(self, command):
        """Runs it where no trace is; every hook of it has values in records."""
        shutil.rmtree(self.work / 'countrace.ctf', ignore_errors=True)
        command = command.replace('10s', '1s').replace('git status',
                                                       'git -C repository status')
        self.sh(command)
        if '--for' in command:
            return  # nothing need happen on the machine
        names = re.findall(r'[(,](\w+)', command) or ['filename']
        records = self.sh('countrace script')
        self.assertRegex(records, rf'\b{names[0]} = |, size = ' if '(*)' not in command
                         else r'\bpath = ')

    def test_every_command(self):
        self.assertGreater(len(self.commands), 25)
        recorded = [command for command in self.commands
                    if command.startswith('countrace record')]
        self.assertGreater(len(recorded), 6)
        for command in recorded:
            with self.subTest(command):
                if '/usr/bin/python3.11' in command and not os.path.exists(
                        '/usr/bin/python3.11'):
                    continue
                self.record(command)
        shutil.rmtree(self.work / 'countrace.ctf')
        (self.work / 'questions').write_text(QUESTIONS)
        self.sh("countrace record --kernel syscalls --args --hook 'tracepoint:net:"
                "net_dev_queue(len,name)' --hook 'uprobe:./server:handle(*)' -- sh -c "
                "'. ./questions; ./server'")
        for command in self.commands:
            if command in recorded:
                continue
            with self.subTest(command):
                printed = self.sh(command)
                if ' export ' not in command:
                    lines = printed.strip().splitlines()
                    rows = 1 if ' script ' in command else 3
                    self.assertGreaterEqual(len(lines), rows, printed)

    def test_theirs(self):
        theirs = THEIRS.findall(self.text)
        self.assertGreater(len(theirs), 9)
        may = {
            'strace': run('strace', '-o', '/dev/null', 'true').returncode == 0
                      if shutil.which('strace') else False,
            'perf': shutil.which('perf') and run(
                'perf', 'trace', '-o', '/dev/null', 'true').returncode == 0,
            'bpftrace': shutil.which('bpftrace') is not None}
        ran = 0
        try:
            for command in theirs:
                tool = command.split()[0]
                if not may[tool]:
                    continue
                with self.subTest(command):
                    self.sh(command.replace('git status', 'git -C repository status'))
                    ran += 1
        finally:
            if may['perf']:
                subprocess.run(['perf', 'probe', '-q', '-d', 'probe_server:handle'],
                               check=False, capture_output=True)
        print(f'{ran} of their {len(theirs)} commands were run')


if __name__ == '__main__':
    with_tracefs()
    Recording.countrace_program = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
