#!/usr/bin/env python3
"""Dump rules at kernel-side hooks that test a call's arguments, its return
value and its caller: exactly the selected records carry the counters.

usage: kernel_dump_rules_test.py COUNTRACE DUMP_RULE_WORKLOAD
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import unittest

from trace_checks import Recording, countrace

WORKLOAD = None
CALLS = 1000


def code_of(function):
    """(begin, end) of a function, as `nm` prints them."""
    for line in subprocess.run(['nm', '-S', WORKLOAD], text=True, check=True,
                               capture_output=True).stdout.splitlines():
        words = line.split()
        if words[-1] == function and len(words) == 4:
            return int(words[0], 16), int(words[0], 16) + int(words[1], 16)
    raise AssertionError(function)


class KernelDumpRules(Recording):
    def setUp(self):
        super().setUp()
        self.needs_back_end('bpf')
        self.program = pathlib.Path(WORKLOAD).name

    def dumps(self, *options):
        """{hook: (records with counters at enters or points, at exits)}"""
        said = countrace('record', '--force', '-o', self.trace, *options, '--',
                         WORKLOAD, CALLS).stderr
        unknown = re.search(r'caller could not be looked up.*records=(\d+)',
                            said)
        self.unknown_callers = int(unknown[1]) if unknown else 0
        countrace('verify', self.trace)
        line = re.compile(r'\[[\d.]+\] cpu-\d+ (\S+:\S.*?)'
                          r'(?:__(enter|exit))?: \{ tid = ')
        found = collections.defaultdict(lambda: [0, 0])
        records = collections.Counter()
        for text in countrace('script', self.trace).stdout.splitlines():
            match = line.match(text)
            if match:
                hook, place = match.groups()
                records[hook] += 1
                found[hook][place == 'exit'] += 'task_clock = ' in text
        self.records = records
        return {hook: tuple(counts) for hook, counts in found.items()}

    def check_dumps(self, found, expected):
        """Less those whose caller the recorder says it could not look up."""
        for dumps, most in zip(found, expected, strict=True):
            self.assertLessEqual(dumps, most)
            self.assertGreaterEqual(dumps, most - self.unknown_callers)

    def check_function(self, rule, enters, exits=None):
        rule = f'{self.program}:rule_target {rule}'
        with self.subTest(rule=rule):
            found = self.dumps('--hook', f'uprobe:{WORKLOAD}:rule_target',
                               '--dump', rule)
            hook = f'{self.program}:rule_target'
            self.assertEqual(self.records[hook], 2 * CALLS)
            self.check_dumps(found[hook], (enters, exits or enters))

    def test_arguments_of_a_function(self):
        self.check_function('if arg0 > 900', 99)
        self.check_function('if arg1 < -989', 10)
        self.check_function('if arg0 >= 100 and arg1 > -200', 100)
        self.check_function('if arg0 & 0x200 every 10', 48)  # 512 to 999

    def test_callers_of_a_function(self):
        even, odd = code_of('rule_even'), code_of('rule_odd')
        for begin, end in (even, odd):
            self.check_function(
                f'from {self.program}+{begin:#x}-{end:#x}', CALLS // 2)
        self.check_function(
            f'if arg0 < 10 from {self.program}+{odd[0]:#x}-{odd[1]:#x}', 5)
        self.check_function(f'from {self.program}', CALLS)
        self.check_function('from libc.so', 0)
        # Outside the code, at any load address.
        self.check_function('from 0x10-0x20', 0)

    def test_what_a_function_returned(self):
        # rule_target(i, -i) returns i. Each enter may qualify.
        self.check_function('if ret >= 900', CALLS, 100)
        self.check_function('if ret >= 900 and arg0 < 950', 950, 50)
        self.check_function('if ret >= 900 every 7', CALLS, 100 // 7)

    def test_system_calls(self):
        for rule, call, enters, exits in (
                ('dup3 if arg1 == 905', 'dup3', CALLS // 10, CALLS // 10),
                ('dup3 if ret == 905', 'dup3', CALLS, CALLS // 10),
                ('getppid from libc.so', 'getppid', CALLS, CALLS),
                (f'getppid from {self.program}', 'getppid', 0, 0)):
            with self.subTest(rule=rule):
                found = self.dumps('--kernel', 'syscalls', '--dump',
                                   'syscall:' + rule)
                self.check_dumps(found['syscall:' + call], (enters, exits))
                self.assertEqual(sum(map(sum, found.values())),
                                 sum(found['syscall:' + call]))

    def test_offsets_in_a_library_wherever_it_is_loaded(self):
        path = next(line.split()[2] for line in subprocess.run(
            ['ldd', WORKLOAD], text=True, check=True,
            capture_output=True).stdout.splitlines() if 'libc.so' in line)
        symbol = next(line.split() for line in subprocess.run(
            ['nm', '-D', '-S', path], text=True, check=True,
            capture_output=True).stdout.splitlines()
            if re.search(r' [TW] syscall(@|$)', line))
        begin, size = int(symbol[0], 16), int(symbol[1], 16)
        for at, count in ((begin, CALLS), (begin + size, 0)):
            rule = (f'syscall:getppid from {pathlib.Path(path).name}'
                    f'+{at:#x}-{at + size:#x}')
            with self.subTest(rule=rule):
                found = self.dumps('--kernel', 'syscalls', '--dump', rule)
                self.check_dumps(found['syscall:getppid'], (count, count))

    def test_system_calls_that_failed(self):
        rule = 'syscall:close if ret < 0'
        found = self.dumps('--kernel', 'syscalls', '--dump', rule)
        # Calls of the loader and the runtime library succeed.
        self.assertEqual(found['syscall:close'][1], CALLS)
        row = self.dry_run(rule)
        self.assertEqual(row['quality'], 'exact')
        self.assertEqual(row['dumps'], sum(found['syscall:close']))

    def test_numbers(self):
        found = self.dumps('-a', '--kernel', 'softirq,irq', '--dump',
                           'softirq:* if number == 1')
        self.assertGreater(sum(found['softirq:TIMER']), 0)
        self.assertEqual(sum(map(sum, found.values())),
                         sum(found['softirq:TIMER']))
        row = self.dry_run('softirq:* if number == 1')
        self.assertEqual((row['dumps'], row['quality']),
                         (self.records['softirq:TIMER'], 'exact'))

    def test_faults(self):
        found = self.dumps('--kernel', 'faults', '--dump',
                           'fault:user if arg0 >= 0x1000')
        self.assertGreater(found['fault:user'][0], 0)
        self.assertEqual(sum(found['fault:user']), self.records['fault:user'])
        found = self.dumps('--kernel', 'faults', '--dump',
                           'fault:user if arg0 < 0x1000')
        self.assertEqual(found['fault:user'], (0, 0))

    def test_arguments_of_a_usdt_probe(self):
        for rule, count in (
                ('if arg0 < -989', 10), ('if arg0 < -10 and arg1 < 20', 9),
                ('if arg2 == 7 every 3', CALLS // 3), ('if arg2 != 7', 0),
                (f'from {self.program}', CALLS), ('from libc.so', 0)):
            with self.subTest(rule=rule):
                found = self.dumps('--hook', f'usdt:{WORKLOAD}:rules:step',
                                   '--dump', 'rules:step ' + rule)
                self.assertEqual(self.records['rules:step'], CALLS)
                self.check_dumps(found['rules:step'], (count, 0))

    def test_fields_of_a_tracepoint(self):
        close = self.close_number()
        found = self.dumps(
            '--hook', 'tracepoint:raw_syscalls:sys_enter', '--kernel',
            'syscalls', '--dump', f'raw_syscalls:* if arg0 == {close}')
        # The tracepoint also has the calls of the runtime library.
        with_dump, without = found['raw_syscalls:sys_enter']
        closes = self.records['syscall:close'] // 2
        self.assertGreaterEqual(with_dump, closes)
        self.assertLess(with_dump, closes + 100)
        self.assertEqual(0, without)

    @staticmethod
    def close_number():
        return {'x86_64': 3, 'aarch64': 57, 'ppc64le': 6}[
            subprocess.run(['uname', '-m'], text=True, check=True,
                           capture_output=True).stdout.strip()]

    def dry_run(self, rule):
        run = countrace('record', '--dry-run-rules', self.trace, '--format',
                        'json', '--dump', rule)
        self.talk = run.stderr
        return json.loads(run.stdout)['rules'][0]

    def test_the_dry_run_says_what_the_log_does_not_hold(self):
        hook = f'{self.program}:rule_target'
        self.dumps('--hook', f'uprobe:{WORKLOAD}:rule_target', '--dump', hook)
        row = self.dry_run(f'{hook} if ret >= 900')
        self.assertEqual((row['dumps'], row['quality']), (CALLS + 100, 'exact'))
        self.assertNotIn('does not hold', self.talk)
        for rule, most in ((f'{hook} if arg0 > 900', 2 * CALLS),
                           (f'{hook} if arg0 > 900 every 10', CALLS // 5),
                           (f'{hook} from libc.so', 2 * CALLS)):
            with self.subTest(rule=rule):
                row = self.dry_run(rule)
                self.assertEqual((row['dumps_least'], row['dumps'],
                                  row['quality']), (0, most, 'bounded'))
                self.assertIn(rule, self.talk)
                self.assertIn('which the log does not hold', self.talk)

    def test_what_cannot_be_asked_is_refused(self):
        function = ('--hook', f'uprobe:{WORKLOAD}:rule_target')
        probe = ('--hook', f'usdt:{WORKLOAD}:rules:step')
        hook = f'{self.program}:rule_target'
        for options, rule, words in (
                (function, f'{hook} if arg0 == "x"', 'integers'),
                (function, f'{hook} if arg0 > 1.5', 'integers'),
                (function, f'{hook} if number == 1', 'no `number`'),
                (function, f'{hook} from {self.program}+0x1-0x2', 'no code'),
                (function, f'{hook} from nowhere.so+0x1-0x2', 'nowhere.so'),
                (probe, 'rules:step if arg3 == 1', '3 arguments'),
                (probe, 'rules:step if ret == 1', 'no `ret`'),
                (('--kernel', 'irq'), 'irq:* if arg0 == 1', 'no arg0'),
                (('--kernel', 'softirq'), 'softirq:* from libc.so', 'calls'),
                (('--hook', 'tracepoint:sched:sched_switch'),
                 'sched:* if arg0 == 1', 'field 1')):
            with self.subTest(rule=rule):
                run = countrace('record', '-a', '-o', self.trace, *options,
                                '--dump', rule, '--', 'true', check=False)
                self.assertIn(run.returncode, (1, 2), run.stderr)
                for word in (rule, words):
                    self.assertIn(word, run.stderr)
                self.assertFalse(self.trace.exists())


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
