#!/usr/bin/env python3
"""Programs whose runtime libraries are not g++'s and glibc's alone: sanitizers,
other allocators, musl, Go. Recorded, each has its own output and exit status,
and every call of its hooks is in the trace.

usage: other_runtimes_test.py COUNTRACE INCLUDE_FOLDER
"""
import ctypes.util
import os
import shutil
import subprocess
import sys
import unittest

from trace_checks import Recording

INCLUDE = None
CALLS = 1000
PROGRAM = '''
#include <countrace/hooks.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void* work(void* text) {
  for (int i = 0; i < 500; ++i) {
    COUNTRACE_ENTER("other", "call", i);
    free(malloc((size_t)i));
    COUNTRACE_EXIT("other", "call");
  }
  return text;
}
int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, &work, NULL) != 0) return 1;
  work(NULL);
  pthread_join(thread, NULL);
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    work(NULL);
    _exit(3);
  }
  waitpid(child, &status, 0);
  printf("child %d\\n", WEXITSTATUS(status));
  return 7;
}
'''
GO_PROGRAM = '''
package main

import "fmt"

//go:noinline
func deep(n int) int {
\tvar pad [512]byte // stacks grow, and are moved
\tif n == 0 {
\t\treturn int(pad[0])
\t}
\treturn deep(n-1) + 1
}

func main() {
\tdone := make(chan int)
\tfor i := 0; i < 20; i++ {
\t\tgo func() { done <- deep(100) }()
\t}
\tsum := 0
\tfor i := 0; i < 20; i++ {
\t\tsum += <-done
\t}
\tfmt.Println(sum)
}
'''


class OtherRuntimes(Recording):
    def build(self, compiler, *options):
        if shutil.which(compiler) is None:
            self.skipTest(f'SKIPPED: needs {compiler}')
        source, program = self.work / 'p.c', self.work / 'p'
        source.write_text(PROGRAM)
        done = subprocess.run(
            [compiler, '-O1', '-I', INCLUDE, source, '-o', program, *options,
             '-pthread'], capture_output=True, text=True, timeout=120,
            check=False)
        if done.returncode != 0:
            self.skipTest(f'SKIPPED: {compiler} {options}: {done.stderr}')
        return program

    def check_recorded(self, program, environment=None):
        environment = dict(os.environ, **(environment or {}))
        plain = subprocess.run([program], capture_output=True, text=True,
                               timeout=120, check=False, env=environment)
        self.assertEqual((plain.returncode, plain.stdout), (7, 'child 3\n'),
                         plain.stderr)
        run = self.countrace('record', '-q', '--no-kernel', '-o', self.trace,
                             '--', program, check=False, env=environment)
        self.assertEqual((run.returncode, run.stdout, run.stderr),
                         (7, plain.stdout, plain.stderr))
        self.check_readable()
        calls = sum(row['calls'] for row in self.report()['segments']
                    if row['segment'] == 'other:call')
        self.assertEqual(calls, 3 * CALLS // 2)

    def test_address_sanitizer_of_gcc(self):
        self.check_recorded(self.build('gcc', '-fsanitize=address'))

    def test_address_sanitizer_with_options_of_the_user(self):
        self.check_recorded(self.build('gcc', '-fsanitize=address'),
                            {'ASAN_OPTIONS': 'detect_stack_use_after_return=1'})

    def test_undefined_and_leak_sanitizers_of_gcc(self):
        self.check_recorded(self.build('gcc', '-fsanitize=undefined,leak'))

    def test_thread_sanitizer_of_gcc(self):
        self.check_recorded(self.build('gcc', '-fsanitize=thread'))

    def test_address_sanitizer_of_clang(self):
        self.check_recorded(self.build('clang-14', '-fsanitize=address'))

    def test_memory_sanitizer_of_clang(self):
        self.check_recorded(self.build('clang-14', '-fsanitize=memory'))

    def test_thread_sanitizer_of_clang(self):
        self.check_recorded(self.build('clang-14', '-fsanitize=thread'))

    def test_musl(self):
        self.check_recorded(self.build('musl-gcc'))

    def test_preloaded_allocators(self):
        program = self.build('gcc')
        found = 0
        for name in ('jemalloc', 'tcmalloc_minimal'):
            library = ctypes.util.find_library(name)
            if library is None:
                continue
            found += 1
            with self.subTest(library=library):
                self.trace = self.work / f'{name}.ctf'
                self.check_recorded(program, {'LD_PRELOAD': library})
        if not found:
            self.skipTest('SKIPPED: needs libjemalloc2 or libtcmalloc')

    def test_valgrind_traces_the_hooks_of_its_program(self):
        self.needs('valgrind')
        program = self.build('gcc')
        run = self.countrace('record', '-q', '--no-kernel', '-o', self.trace,
                             '--', 'valgrind', '-q', program, check=False)
        self.assertEqual((run.returncode, run.stdout), (7, 'child 3\n'),
                         run.stderr)

    def test_probes_on_a_go_program_are_points(self):
        self.needs_root()
        self.needs('go')
        self.needs_back_end('bpf')
        source, program = self.work / 'p.go', self.work / 'p'
        source.write_text(GO_PROGRAM)
        subprocess.run(['go', 'build', '-o', program, source], check=True,
                       timeout=300, cwd=self.work,
                       env=dict(os.environ, GOCACHE=str(self.work / 'cache'),
                                GO111MODULE='off'))
        run = self.countrace('record', '--hook', f'uprobe:{program}:main.deep',
                             '-o', self.trace, '--', program)
        self.assertEqual(run.stdout, '2000\n')
        self.assertIn('is a Go program', run.stderr)
        hits = [row['hits'] for row in self.report('--by', 'hook')['hooks']
                if row['hook'] == 'p:main.deep']
        # A call that makes its stack grow begins again in the new one.
        self.assertGreaterEqual(sum(hits), 20 * 101)
        self.assertLessEqual(sum(hits), 20 * (101 + 10))


if __name__ == '__main__':
    Recording.countrace_program, INCLUDE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
