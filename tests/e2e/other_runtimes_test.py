#!/usr/bin/env python3
"""Programs whose runtime libraries are not g++'s and glibc's alone: sanitizers,
other allocators, musl, Go, exceptions, coroutines. Recorded, each has its own
output and exit status, and every call of its hooks is in the trace.

usage: other_runtimes_test.py COUNTRACE INCLUDE_FOLDER
"""
import ctypes.util
import os
import platform
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

# A return probe on any of these functions would kill its program.
PROBED_PROGRAMS = {
    'exceptions.cc': ('''
#include <cstdio>
#include <stdexcept>
#include <string>
extern "C" __attribute__((noinline)) int thrower(int x) {
  if (x % 3 == 0) throw std::runtime_error(std::to_string(x));
  return x;
}
extern "C" __attribute__((noinline)) int middle(int x) {
  return thrower(x) + 1;
}
int main(int argc, char**) {
  int sum = 0;
  for (int i = 0; i < 30; ++i) {
    try {
      sum += middle(i);
    } catch (const std::exception& error) {
      sum += 100;
    }
  }
  std::printf("%d %d\\n", argc, sum);
  return 7;
}
''', {'middle': 30, 'thrower': 30, 'main': 1}),
    'jumps.c': ('''
#include <setjmp.h>
#include <stdio.h>
static jmp_buf begin;
__attribute__((noinline)) void leave(int i) { longjmp(begin, i); }
int main(int argc, char** argv) {
  volatile int sum = 0;
  const int i = setjmp(begin);
  sum += i;
  if (i < 20) leave(i + 1);
  printf("%d %d\\n", argc, sum);
  return argv[1] == NULL ? 7 : 8;
}
''', {'leave': 20, 'main': 1}),
    'coroutines.c': ('''
#include <stdio.h>
#include <ucontext.h>
static ucontext_t all, each[2];
static char stacks[2][65536];
static int now;
__attribute__((noinline)) int step(int i) {
  swapcontext(&each[now], &all);
  return i + 1;
}
static void run(void) {
  int steps = 0;
  while (steps < 10) steps = step(steps);
  printf("%d\\n", steps);
}
int main(void) {
  for (int k = 0; k < 2; ++k) {
    getcontext(&each[k]);
    each[k].uc_stack.ss_sp = stacks[k];
    each[k].uc_stack.ss_size = sizeof stacks[k];
    each[k].uc_link = &all;
    makecontext(&each[k], run, 0);
  }
  for (int i = 0; i < 11; ++i) {
    for (now = 0; now < 2; ++now) swapcontext(&all, &each[now]);
  }
  return 7;
}
''', {'step': 20, 'main': 1}),
}

# `outer_walk` calls no pointer itself.
CALLBACK_LIBRARY = '''
__attribute__((noinline)) int walk(int n, int (*visit)(int)) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += visit(i);
  return sum;
}
int outer_walk(int n, int (*visit)(int)) { return walk(n, visit) + 1; }
'''
# A part of another library; its symbols have no versions.
FAR_LIBRARY = '''
int walk(int n, int (*visit)(int));
int far_walk(int n, int (*visit)(int)) { return walk(n, visit) + 2; }
'''
CALLBACK_PROGRAM = '''
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
extern "C" int walk(int n, int (*visit)(int));
extern "C" int outer_walk(int n, int (*visit)(int));
extern "C" int far_walk(int n, int (*visit)(int));
static int visit(int i) {
  if (i == 3) throw std::runtime_error("stop");
  return i;
}
static int compare(const void*, const void*) { return visit(3); }
int main() {
  int caught = 0, values[] = {3, 2, 1};
  for (int i = 0; i < 80; ++i) {
    try {
      if (i % 4 == 0) walk(10, visit);
      if (i % 4 == 1) outer_walk(10, visit);
      if (i % 4 == 2) qsort(values, 3, sizeof values[0], compare);
      if (i % 4 == 3) far_walk(10, visit);
    } catch (const std::exception&) {
      ++caught;
    }
  }
  std::printf("caught %d\\n", caught);
  return 7;
}
'''

# Threads that are cancelled where they wait, or end themselves: what stands in
# their frames is run by unwinding.
CANCELLED_PROGRAMS = {
    'destructors.cc': ('g++', [], '''
#include <pthread.h>
#include <unistd.h>
#include <cstdio>
extern "C" long wait_in_library(int file);
static int left, ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
struct Lock {
  Lock() { pthread_mutex_lock(&mutex); }
  ~Lock() {
    ++left;
    pthread_mutex_unlock(&mutex);
  }
};
static void* work(void* number) {
  Lock lock;
  switch ((long)number % 4) {
    case 0: pthread_cond_wait(&changed, &mutex); break;
    case 1: wait_in_library(ends[0]); break;
    case 2: pause(); break;
    case 3: pthread_exit(number);
  }
  return nullptr;
}
int main() {
  if (pipe(ends) != 0) return 1;
  for (long i = 0; i < 24; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, work, (void*)i);
    if (i % 4 != 3) pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  std::printf("left %d\\n", left);
  return 7;
}
'''),
    'cleanup.c': ('gcc', ['-fexceptions'], '''
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
long wait_in_library(int file);
static int left, ends[2];
static void leave(int* unused) { (void)unused; ++left; }
__attribute__((noinline)) static void* work(void* number) {
  __attribute__((cleanup(leave))) int here = 0;
  if ((long)number % 2) pthread_exit(number);
  wait_in_library(ends[here]);
  return NULL;
}
__attribute__((noinline)) static void* begin(void* number) {
  __attribute__((cleanup(leave))) int here = 0;
  return (char*)work(number) + here;
}
int main(void) {
  if (pipe(ends) != 0) return 1;
  for (long i = 0; i < 12; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, begin, (void*)i);
    if (i % 2 == 0) pthread_cancel(thread);
    pthread_join(thread, NULL);
  }
  printf("left %d\\n", left);
  return 7;
}
''')}
WAITING_LIBRARY = '''
#include <unistd.h>
long wait_in_library(int file) {
  char byte;
  return read(file, &byte, 1) + 1;
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
        # No call that it does not know.
        self.assertNotIn('WARNING', run.stderr)
        self.assertEqual((run.returncode, run.stdout), (7, 'child 3\n'),
                         run.stderr)

    def test_probes_on_all_functions_change_no_program(self):
        self.needs_root()
        self.needs_back_end('bpf')
        for name, (text, calls) in PROBED_PROGRAMS.items():
            with self.subTest(program=name):
                source = self.work / name
                source.write_text(text)
                program = source.with_suffix('')
                subprocess.run(
                    ['g++' if name.endswith('.cc') else 'gcc', '-O2', source,
                     '-o', program], check=True, timeout=120)
                plain = subprocess.run([program], capture_output=True,
                                       text=True, timeout=60, check=False)
                self.assertEqual(plain.returncode, 7)
                run = self.countrace(
                    'record', '--force', '--hook', f'uprobe:{program}:*',
                    '-o', self.trace, '--', program, check=False)
                self.assertEqual((run.returncode, run.stdout),
                                 (7, plain.stdout), run.stderr)
                # Exits of a segment are hits, too.
                found = {row['hook']: row['hits'] for row in
                         self.report('--by', 'hook')['hooks']}
                found |= {row['segment']: row['calls']
                          for row in self.report()['segments']}
                self.assertEqual(
                    {each: found.get(f'{program.name}:{each}')
                     for each in calls}, calls)

    def test_callbacks_throw_through_functions_of_c_libraries(self):
        self.needs_root()
        self.needs_back_end('bpf')
        if platform.machine() != 'x86_64':
            self.skipTest('SKIPPED: functions that call back are recognised '
                          'on x86-64')
        library, program = self.work / 'libwalk.so', self.work / 'callbacks'
        far = self.work / 'libfar.so'
        shared = ['-shared', '-fPIC']
        for text, output, compiler, options in (
                (CALLBACK_LIBRARY, library, 'gcc', shared),
                (FAR_LIBRARY, far, 'gcc', [*shared, library]),
                (CALLBACK_PROGRAM, program, 'g++', [library, far])):
            source = output.with_suffix('.c' if compiler == 'gcc' else '.cc')
            source.write_text(text)
            subprocess.run([compiler, '-O1', source, '-o', output, *options],
                           check=True, timeout=120)
        run = self.countrace(
            'record', '--hook', f'uprobe:{library}:*walk',
            '--hook', f'uprobe:{far}:far_walk',
            '--hook', 'uprobe:libc.so.6:qsort', '-o', self.trace, '--',
            program, check=False)
        self.assertEqual((run.returncode, run.stdout), (7, 'caught 80\n'),
                         run.stderr)
        hits = {row['hook']: row['hits']
                for row in self.report('--by', 'hook')['hooks']}
        hits |= {row['segment']: row['calls']
                 for row in self.report()['segments']}
        self.assertEqual([hits.get(each) for each in (
            'libwalk.so:walk', 'libwalk.so:outer_walk', 'libc.so.6:qsort',
            'libfar.so:far_walk')], [60, 20, 20, 20], hits)

    def test_threads_end_through_functions_with_probes(self):
        self.needs_root()
        self.needs_back_end('bpf')
        if platform.machine() != 'x86_64':
            self.skipTest('SKIPPED: functions that may be unwound are '
                          'recognised on x86-64')
        library = self.work / 'libwaiting.so'
        source = library.with_suffix('.c')
        source.write_text(WAITING_LIBRARY)
        subprocess.run(['gcc', '-O1', '-shared', '-fPIC', source, '-o',
                        library], check=True, timeout=120)
        waiting = [f'libc.so.6:{each}' for each in (
            'pthread_cond_wait', 'pause', 'read', 'pthread_exit')]
        for name, (compiler, options, text) in CANCELLED_PROGRAMS.items():
            source = self.work / name
            source.write_text(text)
            program = source.with_suffix('')
            subprocess.run([compiler, '-O1', *options, source, '-o', program,
                            library, '-pthread'], check=True, timeout=120)
            hooks = [f'{library}:wait_in_library', f'{program}:*', *waiting]
            with self.subTest(program=name):
                run = self.countrace(
                    'record', '--force', '-o', self.trace,
                    *(word for each in hooks
                      for word in ('--hook', f'uprobe:{each}')),
                    '--', program, check=False)
                self.assertEqual((run.returncode, run.stdout),
                                 (7, 'left 24\n'), run.stderr)
                hits = {row['segment']: row['calls']
                        for row in self.report()['segments']}
                self.assertEqual(hits.get('libwaiting.so:wait_in_library'), 6,
                                 hits)

    def test_no_probe_where_the_kernel_would_emulate_another_instruction(self):
        self.needs_root()
        self.needs_back_end('bpf')
        if platform.machine() != 'x86_64':
            self.skipTest('SKIPPED: instructions of x86-64')
        source, program = self.work / 'p.c', self.work / 'p'
        # Without AVX it would be a jump as well, and do nothing.
        source.write_text('''
#include <stdio.h>
asm(".globl clear\\n.type clear,@function\\nclear:\\n\\t.byte 0xc5,0xf9,0xeb\\n"
    "\\t.byte 0xc9\\n\\tret\\n.size clear,.-clear");
void clear(void);
__attribute__((noinline)) int other(int i) { return i + 1; }
int main(int argc, char** argv) {
  if (__builtin_cpu_supports("avx")) clear();
  printf("%d\\n", other(argc));
  return argv[0] == NULL;
}
''')
        subprocess.run(['gcc', '-O1', source, '-o', program], check=True,
                       timeout=120)
        run = self.countrace('record', '--hook', f'uprobe:{program}:*',
                             '-o', self.trace, '--', program)
        self.assertEqual(run.stdout, '2\n')
        self.assertIn('Not recorded: clear of', run.stderr)
        listed = self.countrace('list', 'functions', program).stdout
        self.assertRegex(listed, r'(?m)^clear +none ')
        self.assertRegex(listed, r'(?m)^other +segment ')
        run = self.countrace('record', '--hook', f'uprobe:{program}:clear',
                             '--force', '-o', self.trace, '--', program,
                             check=False)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn('would take its first instruction for a jump', run.stderr)

    def test_probes_on_setjmp_itself_are_points(self):
        self.needs_root()
        self.needs_back_end('bpf')
        source, program = self.work / 'jumps.c', self.work / 'jumps'
        source.write_text(PROBED_PROGRAMS['jumps.c'][0])
        for options in [], ['-static']:
            subprocess.run(['gcc', '-O2', *options, source, '-o', program],
                           check=True, timeout=120)
            file = program if options else 'libc.so.6'
            run = self.countrace('record', '--force', '--hook',
                                 f'uprobe:{file}:_setjmp', '-o', self.trace,
                                 '--', program, check=False)
            self.assertEqual((run.returncode, run.stdout), (7, '1 210\n'),
                             run.stderr)
            self.assertIn('as points, not segments: _setjmp', run.stderr)

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
