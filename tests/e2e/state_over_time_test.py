#!/usr/bin/env python3
"""A real recording, read at instants and by intervals: `state` equals a linear
replay of the output of `script`, and the sums over `report --by time` are
those of the report.

usage: state_over_time_test.py COUNTRACE KERNEL_HOOK_WORKLOAD
"""
import json
import random
import re
import sys
import unittest

from trace_checks import Recording, countrace

WORKLOAD = None
LINE = re.compile(r'\[(\d+)\.(\d+)\] (\S+) (\S+?):(?: \{ (.*) \})?$')


class Replay:
    """The thread on each CPU, and the open calls of each thread with hooks,
    from the records of `script` one by one."""

    def __init__(self, trace):
        self.records = []
        for line in countrace('script', trace).stdout.splitlines():
            match = LINE.match(line)
            if match:
                seconds, ns, where, event, fields = match.groups()
                numbers = dict(re.findall(r'(\w+) = (-?\d+)', fields or ''))
                self.records.append((int(seconds) * 10**9 + int(ns), where,
                                     event, numbers))

    def at(self, at_ns):
        running, calls = {}, {}
        for time_ns, where, event, numbers in self.records:
            if time_ns > at_ns:
                break
            if event in ('dispatch', 'switch_in'):
                running[where] = int(numbers['next_tid'])
            elif event == 'counters':
                running[where] = int(numbers['running_tid'])
                if numbers['reason'] == '1':  # the recording of the CPU ends
                    del running[where]
            elif '/' in where and event.endswith('__enter'):
                calls.setdefault(where, []).append((event[:-7], time_ns))
            elif '/' in where and event.endswith('__exit'):
                calls[where].pop()
        return running, calls


class StateAndTime(Recording):
    def setUp(self):
        super().setUp()
        self.needs_back_end('auto')
        countrace('record', '-a', '-o', self.trace, '--', WORKLOAD, 300, 20, 3)
        self.data = json.loads(
            countrace('report', '--format', 'json', self.trace).stdout)

    def test_state_equals_a_replay(self):
        replay = Replay(self.trace)
        self.assertGreater(len(replay.records), 1000)
        loss = self.data['loss']['discarded_events']
        times = sorted({record[0] for record in replay.records})
        chance = random.Random(1)
        known = 0
        for at_ns in chance.sample(times[5:-5], 40):
            (state,) = json.loads(
                countrace('state', '--at', at_ns, '--format', 'json',
                          self.trace).stdout)['states']
            running, calls = replay.at(at_ns)
            self.assertEqual(at_ns, state['t_ns'])
            for cpu in state['cpus']:
                if cpu['account'] == 'unknown' or loss or state['in_loss']:
                    continue
                known += 1
                self.assertEqual(running[f"cpu-{cpu['cpu']}"],
                                 cpu.get('tid', 0), (at_ns, cpu))
            open_now = {
                f"{thread['pid']}/{thread['tid']}":
                    [(call['segment'], call['begin_ns'])
                     for call in thread['segments']]
                for thread in state['threads'] if thread['segments']}
            self.assertEqual({who: stack for who, stack in calls.items()
                              if stack}, open_now, at_ns)
            for thread in state['threads']:
                for call in thread['segments']:
                    self.assertLessEqual(call['on_cpu_ns'], call['inside_ns'])
        self.assertGreater(known, 20)

    def test_a_commands_counts_over_time_are_its_own(self):
        trace = self.trace.with_name('command.ctf')
        countrace('record', '-o', trace, '--', WORKLOAD, 200, 10, 3)
        text = countrace('report', '--by', 'time', '--every', '1ms', '--rows',
                         '0', trace).stdout
        self.assertIn("counts are those of the command's processes", text)
        table = [re.split(r' {2,}', line.strip()) for line in
                 text.splitlines() if re.match(r' +(from s|\d)', line)]
        column = table[0].index('page-faults')
        processes = json.loads(countrace('report', '--format', 'json',
                                         trace).stdout)['processes']
        # Each fault has a record, so that no interval has an estimate.
        self.assertEqual(
            sum(row['counts']['page-faults'] for row in processes),
            sum(int(row[column].replace(',', '')) for row in table[1:]))

    def test_intervals_add_up_to_the_report(self):
        over_time = json.loads(
            countrace('report', '--by', 'time', '--every', '777us', '--format',
                      'json', self.trace).stdout)
        intervals = over_time['intervals']
        self.assertGreater(len(intervals), 5)
        for event, book in self.data['books'].items():
            # The recorder's process is one of the processes here.
            book['processes'] += book.get('own', 0)
            for account in ('processes', 'idle', 'interrupts', 'outside',
                            'unattributed'):
                self.assertEqual(
                    book[account], sum(interval['counts'][event][account]
                                       for interval in intervals),
                    (event, account))
        self.assertEqual(
            sum(row['on_cpu_ns'] for row in self.data['processes']),
            sum(interval['cpu_ns']['processes'] for interval in intervals))
        for interval in intervals:
            self.assertLessEqual(
                sum(interval['cpu_ns'].values()),
                over_time['trace']['cpus'] *
                (interval['end_ns'] - interval['begin_ns']))


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
