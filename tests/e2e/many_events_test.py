#!/usr/bin/env python3
"""More events than a dump has values, in many sets: over a program that makes
many kinds of system calls, each equally often, and prints how often. Estimates
hold that number within their intervals, with both back ends; an event whose set
had no turn is named and absent, never 0; and every verb that reads such a trace
works.

usage: many_events_test.py COUNTRACE MANY_CALLS
"""
import json
import os
import re
import resource
import subprocess
import sys
import unittest

import trace_checks

PROGRAM = None
ALWAYS = ['task-clock', 'page-faults', 'context-switches']
# None of these happens.
SILENT = ('reboot', 'swapon', 'swapoff', 'sethostname', 'setdomainname',
          'pivot_root', 'acct', 'settimeofday', 'adjtimex', 'quotactl',
          'vhangup', 'mlockall', 'setns', 'unshare', 'chroot',
          'fanotify_init', 'syslog', 'mq_open', 'mq_timedsend', 'msgget',
          'msgsnd', 'semget', 'semop', 'shmat', 'shmget', 'keyctl', 'add_key',
          'request_key', 'migrate_pages', 'move_pages', 'mbind', 'vmsplice',
          'tee')


def tracefs_has(system, name):
    return any(os.path.isdir(f'{root}/events/{system}/{name}')
               for root in ('/sys/kernel/tracing', '/sys/kernel/debug/tracing'))


def tracepoint(kind, call):
    return f'syscalls:sys_{kind}_{call}'


class ManyEvents(trace_checks.Recording):
    def setUp(self):
        self.needs_root()
        super().setUp()
        if not tracefs_has('syscalls', 'sys_enter_getppid'):
            self.skipTest('SKIPPED: no tracepoints of system calls')

    def calls(self):
        names = subprocess.run([PROGRAM, '1'], text=True, capture_output=True,
                               check=True).stdout.splitlines()[1].split()
        self.assertGreaterEqual(len(names), 32)
        return names

    def events(self, in_set):
        """125 events in sets, and which of them the program makes."""
        calls = self.calls()
        made = [tracepoint('enter', name) for name in calls]
        made += [tracepoint('exit', name) for name in calls]
        silent = [tracepoint(kind, name) for name in SILENT
                  for kind in ('enter', 'exit')
                  if tracefs_has('syscalls', f'sys_{kind}_{name}')]
        # A set has events of both kinds, and enters and exits of other calls.
        mixed = [event for pair in zip(made, silent) for event in pair]
        mixed += made[len(silent):]
        del mixed[125:]
        self.assertEqual(len(mixed), 125)
        sets = [mixed[i:i + in_set] for i in range(0, 125, in_set)]
        text = ','.join(ALWAYS + ['{' + ','.join(one) + '}' for one in sets])
        return text, sets, set(made)

    def check_intervals(self, numbers, sets, made, run, on_cpu_ns):
        """`numbers`: {event: (value, lo, hi)}; `run`: what the program printed."""
        calls = int(re.search(r'^calls (\d+)', run.stdout, re.M)[1])
        slowest, fastest = (float(rate) * on_cpu_ns / 1e3 for rate in re.search(
            r'^rates (\S+) (\S+)', run.stdout, re.M).groups())
        wrong, tried = [], 0
        for event in (event for one in sets for event in one):
            if event not in numbers:
                continue
            value, low, high = numbers[event]
            truth = calls if event in made else 0
            if low is None:
                continue
            tried += event in made
            if not low <= truth <= (truth if high is None else high):
                wrong.append((event, value, low, high))
        # How many intervals hold the truth is calibrated where the rate of calls
        # does not change (tests/rmap). Beside other work, and where a host takes
        # CPU time, it differs from turn to turn, for all events of a set together:
        # all turns of a set may be where the program was slowest, or fastest. What
        # no call made must be 0.
        for event, value, low, high in wrong:
            self.assertIn(event, made, (value, low, high))
            self.assertGreater(value, 0.8 * slowest, (event, wrong, run.stdout))
            self.assertLess(value, 1.2 * fastest, (event, wrong, run.stdout))
        return calls, tried, wrong, fastest

    def check(self, back_end):
        self.needs_back_end(back_end)
        events, sets, made = self.events(in_set=4)
        # With perf a record of a switch has all counts, a KiB.
        run = self.countrace('record', '--backend', back_end, '-e', events,
                             '--kernel-ring', '64M', '-o', self.trace, '--',
                             PROGRAM, '2000')
        report = self.report()
        self.assertEqual(len(report['trace']['events']), 3 + 125)
        row = next(row for row in report['processes']
                   if row['comm'] == 'many_calls')
        numbers = {}
        for event in (event for one in sets for event in one):
            scaled = row['scaled'][event]
            self.assertLess(scaled['running_ns'], 0.2 * scaled['enabled_ns'])
            self.assertGreaterEqual(scaled['slices'], 4, event)
            bounds = row.get('bounds', {}).get(f'counts.{event}')
            numbers[event] = (row['counts'][event], *(bounds or (None, None)))
        calls, tried, wrong, fastest = self.check_intervals(
            numbers, sets, made, run, row['on_cpu_ns'])
        self.assertGreater(tried, 50)
        off = [abs(numbers[event][0] - calls) / calls for event in made
               if event in numbers]
        print(f'{back_end}: {len(sets)} sets, {calls} calls of each kind, '
              f'estimates are {100 * sum(off) / len(off):.1f} % off on '
              f'average, {len(wrong)} of {tried} intervals do not hold it, the '
              f'fastest 20 ms are {fastest / calls:.2f} of the mean')
        # Where the host takes CPU time while one set is counted, all others are
        # counted in the fast part.
        self.assertLess(sum(off) / len(off), 0.1 + max(0, fastest / calls - 1))
        for event, books in report['books'].items():
            self.assertEqual(books['residual'], 0, event)
        self.check_verbs(sets)

    def check_verbs(self, sets):
        last = sets[-1][-1]
        metadata = (self.trace / 'metadata').read_text()
        self.assertIn('countrace_format = 4;', metadata)
        self.countrace('verify', self.trace)
        shown = subprocess.run(['babeltrace2', str(self.trace)], text=True,
                               capture_output=True, timeout=300, check=True)
        self.assertEqual(shown.stderr, '')
        self.assertIn(re.sub(r'\W', '_', last) + ' = ', shown.stdout)
        info = self.countrace('info', self.trace).stdout
        self.assertIn(last, info)
        for by in ('process', 'thread', 'cpu', 'time'):
            text = self.countrace('report', '--by', by, self.trace).stdout
            self.assertIn('many_calls' if by in ('process', 'thread') else last,
                          text)
        # Not a row, nor a name in a line, for each event.
        text = self.countrace('report', self.trace).stdout
        self.assertIn('more rows not shown', text)
        self.assertIn(', ...)', text)
        self.assertLess(len(text.splitlines()), 100)
        csv = self.countrace('report', '--by', 'process', '--format', 'csv',
                             self.trace).stdout
        self.assertIn(last, csv.splitlines()[0])
        same = self.countrace('diff', self.trace, self.trace)
        self.assertEqual(same.returncode, 0)
        state = json.loads(self.countrace('state', '--at', '1s', '--format',
                                          'json', self.trace).stdout)
        self.assertTrue(state)
        self.countrace('script', self.trace)

    def test_bpf(self):
        self.check('bpf')

    def test_perf(self):
        self.check('perf')

    def stat(self, events, *words, **options):
        run = self.countrace('stat', '--json', '-o', self.work / 'stat.json',
                             '-e', events, *words, **options)
        stat = json.loads((self.work / 'stat.json').read_text())
        numbers = {number['name']: (number['value'], number.get('lo'),
                                    number.get('hi'))
                   for number in stat['numbers']}
        return numbers, stat.get('notes', []), run

    def test_stat_counts_all_sets_in_a_second_of_cpu_time(self):
        events, sets, made = self.events(in_set=2)
        self.assertEqual(len(sets), 63)
        # On each CPU a thread, so that few turns come while none runs.
        numbers, notes, run = self.stat(events, '--', PROGRAM, '1000',
                                        os.cpu_count())
        self.check_intervals(numbers, sets, made, run, numbers['on-cpu'][0])
        missing = self.missing(sets, numbers, notes)
        self.assertLess(len(missing), 20, notes)

    def missing(self, sets, numbers, notes):
        """The events without a number, each of which a note names."""
        missing = [event for one in sets for event in one
                   if event not in numbers]
        said = [note for note in notes if note.startswith('not counted')]
        self.assertEqual(len(said), 1 if missing else 0, notes)
        if missing:
            self.assertIn('none of the turns of their sets', said[0])
            self.assertEqual(said[0].split(': ', 1)[1].split(', '), missing)
        return missing

    def test_stat_names_what_had_no_turn(self):
        """And opens more descriptors than the usual limit allows."""
        def limit():
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
        events, sets, made = self.events(in_set=2)
        numbers, notes, run = self.stat(
            events, '--', 'sh', '-c', f'ulimit -n; exec {PROGRAM} 5',
            preexec_fn=limit)
        # The command's own limit is what it was.
        self.assertEqual(run.stdout.split()[0], '100')
        self.assertEqual(run.stderr, '')
        missing = self.missing(sets, numbers, notes)
        self.assertGreater(len(missing), 10)
        self.assertLess(len(missing), 125)
        for event in made & set(numbers):
            value, _, high = numbers[event]
            self.assertTrue(value > 0 or high is None or high > 0, event)

    def test_more_than_a_recording_has_room_for(self):
        many = ','.join('{' + ','.join(f'r{4096 + 8 * i + j:x}'
                                       for j in range(8)) + '}'
                        for i in range(33))
        run = self.countrace('stat', '-e', many, '--', 'true', check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn('events=264, at most 256', run.stderr)


if __name__ == '__main__':
    trace_checks.Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
