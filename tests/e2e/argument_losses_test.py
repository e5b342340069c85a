#!/usr/bin/env python3
"""Arguments where records are lost, overwritten, left out or have several sets
of counters: what is there has the values of its own call, and what is not
there is counted.

usage: argument_losses_test.py COUNTRACE ARGUMENT_LOSSES_WORKLOAD
"""
import collections
import json
import re
import subprocess
import sys
import time
import unittest

from trace_checks import FULL, Recording, countrace, with_tracefs

WORKLOAD = None
ROUNDS = 20_000


def text_of(index):
    text = chr(ord('a') + index % 26) * (index % 200) + f'.{index}'
    return text if len(text) <= 128 else text[:127] + '...'


class ArgumentLosses(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')
        # By what a hook is called: its option, and how many records a round has.
        self.hooks = {
            'argument_losses_workload:known': (
                f'uprobe:{WORKLOAD}:known(index,large,text)', 2),
            'known:hit': (
                f'usdt:{WORKLOAD}:known:hit(index=arg0,large:u64=arg1,text:str=arg2)', 1)}

    def record(self, *options, rounds=ROUNDS, calls=1):
        """On one CPU, so that there is one order; without the hooks' own records."""
        done = countrace('record', '--force', '-o', self.trace, '--hooks', 'none:*', *options,
                         '--', 'taskset', '-c', '0', WORKLOAD, rounds, calls)
        return done.stderr

    def check_values(self):
        """The rounds of each hook's and system call's records, in order."""
        found = collections.defaultdict(list)
        script = subprocess.Popen(
            [self.countrace_program, 'script', '--format', 'jsonl', self.trace], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with script:
            for line in script.stdout:
                record = json.loads(line)
                event, fields = record.get('event', ''), record['fields']
                hook = event.removesuffix('__enter').removesuffix('__exit')
                if hook in self.hooks and event.endswith('__exit'):
                    found[event].append(fields['ret'])
                elif hook in self.hooks:
                    index = fields['index']
                    self.assertEqual([fields['large'], fields['text']],
                                     [index << 40 | index, text_of(index)], line)
                    found[hook].append(index)
                elif event == 'syscall:lseek__enter' and fields.get('whence', 0) >= 1000:
                    self.assertEqual((2**64 - 1) & fields['fd'] | 2**32 - 1, 2**64 - 1, line)
                    self.assertEqual(fields['file'], '', line)
                    found['lseek'].append(fields['offset'])
        self.assertEqual(script.returncode, 0)
        return found

    def check_rounds(self, rounds, most_gaps=0):
        """They are all, in order, but for so many gaps. Returns how many are missing."""
        gaps = [pair for pair in zip(rounds, rounds[1:]) if pair[1] != pair[0] + 1]
        self.assertEqual((rounds[0], rounds[-1], len(gaps)), (0, ROUNDS - 1, most_gaps), gaps[:9])
        self.assertTrue(all(first < second for first, second in gaps))
        return ROUNDS - len(rounds)

    def test_a_full_ring(self):
        for hook, (option, records) in self.hooks.items():
            with self.subTest(hook):
                said = self.record('--kernel-ring', '16K', '--hook', option)
                self.assertRegex(said, r'--kernel-ring \d+[KM] would have had room')
                found = self.check_values()
                self.check_readable(lossless=False)
                data = self.report()
                self.check_books(data)
                there = len(found[hook]) + len(found[hook + '__exit'])
                script = self.countrace('script', self.trace)
                lost = sum(map(int, re.findall(r'cpu-0 discarded (\d+) records: kernel_ring_full',
                                               script.stdout + script.stderr)))
                self.assertGreater(len(found[hook]), 0)
                self.assertGreater(lost, 0)
                # Other records of this CPU are lost, too: dispatches, forks, execs, of
                # other processes as well; losses are counted by ring.
                self.assertGreaterEqual(there + lost, records * ROUNDS)
                self.assertTrue(found[hook] == sorted(set(found[hook])))

    def test_what_a_flight_recording_keeps(self):
        """The begin, which names threads, and the newest; what is between is counted."""
        for options in (['--flight', '512K'], ['--flight', '1h', '--size', '512K']):
            for hook, (option, records) in self.hooks.items():
                with self.subTest(hook):
                    self.record(*options, '--hook', option)
                    found = self.check_values()
                    self.check_readable(lossless=False)
                    missing = self.check_rounds(found[hook], most_gaps=1)
                    if records == 2:
                        missing += self.check_rounds(found[hook + '__exit'], most_gaps=1)
                    overwritten = self.report()['loss']['overwritten']
                    self.assertGreaterEqual(overwritten, missing)
                    self.assertLess(overwritten, missing + 2000)

    def test_a_limit_of_programs_own_streams(self):
        for hook, (option, records) in self.hooks.items():
            with self.subTest(hook):
                self.record('--mode', 'discard', '--size', '64K', '--hook', option)
                found = self.check_values()
                self.check_readable()
                self.check_rounds(found[hook])
                if records == 2:
                    self.check_rounds(found[hook + '__exit'])

    def test_a_limit_of_cost_leaves_out_no_hook(self):
        """System calls are left out for a while, those that are there are right."""
        for hook, (option, _) in self.hooks.items():
            with self.subTest(hook):
                said = self.record('--max-cpu', '0.1%', '--args', '--hook', option,
                                   rounds=10_000, calls=1000)
                self.assertIn('Left out for --max-cpu 0.1%', said)
                found = self.check_values()
                data = self.report()
                self.check_books(data)
                lost = data['loss']['discarded_events']
                self.assertLessEqual(10_000 - lost, len(found[hook]))
                self.assertTrue(found[hook] == sorted(set(found[hook])))
                self.assertTrue(found['lseek'] == sorted(found['lseek']))
                self.assertGreater(data['loss']['left_out_ms'], 0)
                self.assertLess(len(found['lseek']), 10_000_000)

    def test_sets_of_events(self):
        for hook, (option, records) in self.hooks.items():
            with self.subTest(hook):
                self.record('-e', '{task-clock,page-faults},{context-switches,minor-faults}',
                            '--hook', option)
                found = self.check_values()
                self.check_readable()
                self.check_rounds(found[hook])
                if records == 2:
                    self.check_rounds(found[hook + '__exit'])
                data = self.report('--by', 'hook')
                row = next(row for row in data['hooks'] if row['hook'] == hook)
                self.assertEqual(ROUNDS, row['hits'] // records)
                self.check_books(self.report())

    def test_a_million_events_lose_no_more_than_without(self):
        """By default, or it is said which size would have had room, and it has."""
        rounds = 1_000_000 if FULL else 100_000
        plain = f'uprobe-enter:{WORKLOAD}:known'
        ways = {'uprobe': (['--hook', plain], ['--hook', plain + '(*)']),
                'usdt': (['--hook', f'usdt:{WORKLOAD}:known:hit'],
                         ['--hook', f'usdt:{WORKLOAD}:known:hit(arg0,arg1,arg2:str)']),
                'tracepoint': (['--hook', 'tracepoint:raw_syscalls:sys_enter'],
                               ['--hook', 'tracepoint:raw_syscalls:sys_enter()']),
                'system calls': (['--kernel', 'syscalls'], ['--args'])}
        for way, (without, arguments) in ways.items():
            with self.subTest(way):
                lost = {}
                for name, options in (('without', without), ('with', arguments)):
                    begun = time.monotonic()
                    said = self.record(*options, rounds=rounds)
                    took = time.monotonic() - begun
                    records = re.search(r': ([\d,]+) records, ', said).group(1)
                    lost[name] = self.report('--by', 'process')['loss']['discarded_events']
                    print(f'{way} {name} arguments: {records} records, {lost[name]} lost, '
                          f'{took:.1f} s')
                    self.assertGreaterEqual(int(records.replace(',', '')) + lost[name], rounds)
                if lost['with'] <= lost['without']:
                    continue
                named = re.search(r'--kernel-ring (\d+[KM]) would have had room', said)
                self.assertIsNotNone(named, said)
                self.record(*arguments, '--kernel-ring', named.group(1), rounds=rounds)
                again = self.report('--by', 'process')['loss']['discarded_events']
                print(f'{way}: with --kernel-ring {named.group(1)} {again} lost')
                self.assertLessEqual(again, lost['without'])


if __name__ == '__main__':
    with_tracefs()
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
