#!/usr/bin/env python3
"""The hook headers compile in every supported standard, strictly, included as
a user's own headers are; older C++ gets one clear error.

usage: standards_test.py INCLUDE_FOLDER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

INCLUDE = None
STRICT = ('-Wall', '-Wextra', '-Wpedantic', '-Werror')
VALUES = ['', ', n', ', n, 2.5', ', n, 2.5, "s"', ', n, 2.5, "s", &n',
          ', n, 2.5, "s", &n, n', ', n, 2.5, "s", &n, n, n']
C_BODY = ''.join(
    f'  COUNTRACE_ENTER("a", "s{i}"{values});\n'
    f'  COUNTRACE_HOOK("a", "h{i}"{values});\n'
    f'  COUNTRACE_HOOK_ID({i + 1}, "a", "i{i}"{values});\n'
    f'  COUNTRACE_EXIT("a", "s{i}");\n' for i, values in enumerate(VALUES))
CXX_BODY = C_BODY + ''.join(
    f'  COUNTRACE_SEGMENT("a", "g{i}"{values});\n'
    f'  COUNTRACE_SEGMENT_ID({i + 20}, "a", "k{i}"{values});\n'
    for i, values in enumerate(VALUES))


COUNTS = '#include "countrace/counts.h"\n#include <stdio.h>\n'
COUNTS_BODY = '''
  struct countrace_counts set;
  struct countrace_reading begin, end;
  n += countrace_counts_open(&set, "page-faults");
  n += countrace_counts_read(&set, &begin);
  n += countrace_counts_read(&set, &end);
  countrace_counts_between(&begin, &end, &end);
  n += (int)countrace_counts_value(&end, 0).value;
  puts(countrace_counts_text(n));
  countrace_counts_close(&set);
'''


class Standards(unittest.TestCase):
    def compile(self, compiler, standard, body, *options):
        if shutil.which(compiler) is None:
            self.skipTest(f'SKIPPED: needs {compiler}')
        with tempfile.TemporaryDirectory() as folder:
            name = 'hooks.cc' if '++' in compiler else 'hooks.c'
            source = pathlib.Path(folder, name)
            source.write_text(f'#include "countrace/hooks.h"\n'
                              f'{COUNTS if "counts" in body else ""}'
                              f'int f(int n);\nint f(int n) {{\n{body}'
                              f'  return n;\n}}\n')
            return subprocess.run(
                [compiler, f'-std={standard}', *STRICT, *options, '-I',
                 INCLUDE, '-c', source, '-o', f'{folder}/hooks.o'],
                capture_output=True, text=True, timeout=120, check=False)

    def check_clean(self, compiler, standards, body):
        for standard in standards:
            for options in ((), ('-DCOUNTRACE_DISABLE',)):
                with self.subTest(standard=standard, options=options):
                    done = self.compile(compiler, standard, body, *options)
                    self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_c_from_99_by_gcc(self):
        self.check_clean('gcc', ('c99', 'c11', 'c17', 'gnu11'), C_BODY)

    def test_c_from_99_by_clang(self):
        self.check_clean('clang-14', ('c99', 'c11', 'c17', 'gnu11'), C_BODY)

    def test_cxx_from_17_by_gcc(self):
        self.check_clean('g++', ('c++17', 'c++20', 'gnu++17'), CXX_BODY)

    def test_cxx_from_17_by_clang(self):
        self.check_clean('clang++-14', ('c++17', 'c++20', 'gnu++17'), CXX_BODY)

    def test_counts_are_read_from_each(self):
        for compiler in ('gcc', 'clang-14'):
            self.check_clean(compiler, ('c99', 'c17'), COUNTS_BODY)
        for compiler in ('g++', 'clang++-14'):
            self.check_clean(compiler, ('c++17', 'c++20'), COUNTS_BODY)

    def test_older_cxx_is_refused(self):
        for compiler in ('g++', 'clang++-14'):
            for standard in ('c++11', 'c++14'):
                with self.subTest(compiler=compiler, standard=standard):
                    done = self.compile(compiler, standard, '')
                    self.assertIn('needs C++17', done.stderr)

    def test_a_target_of_32_bits_is_refused(self):
        for compiler, standard in (('gcc', 'c11'), ('g++', 'c++17')):
            with self.subTest(compiler=compiler):
                done = self.compile(compiler, standard, '', '-m32')
                self.assertIn('needs a 64-bit target', done.stderr)
                body = C_BODY if compiler == 'gcc' else CXX_BODY
                done = self.compile(compiler, standard, body, '-m32',
                                    '-DCOUNTRACE_DISABLE')
                self.assertEqual((done.returncode, done.stderr), (0, ''))


if __name__ == '__main__':
    INCLUDE = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
