#!/usr/bin/env python3
"""Three hosts that ask each other, each in a network namespace, and their traces
with clocks of known offset and drift: `report` finds them within its bound, no
request is received before it was sent, and the books are the hosts' sums.

usage: hosts_test.py COUNTRACE THREE_HOSTS RECORD_HOSTS
"""
import json
import os
import pathlib
import random
import re
import shutil
import sys
import unittest
import uuid

import shifted_trace
import trace_checks

PAIRS = ('--pairs', 'rpc:call.arg0,rpc:handle.arg0')
ENTERS = ('rpc:call__enter', 'rpc:handle__enter')
REQUESTS = 150
HOSTS = 'abc'
# 100 in a full run.
RUNS = 100 if trace_checks.FULL else 6
MS = 1000000


class Hosts(unittest.TestCase):
    program = record_hosts = None  # set by main
    work = said = None

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest('SKIPPED: needs root')
        if not shutil.which('ip'):
            raise unittest.SkipTest('SKIPPED: needs ip of iproute2')
        trial = trace_checks.run('ip', 'netns', 'add', f'countrace{os.getpid()}')
        if trial.returncode != 0:
            raise unittest.SkipTest(f'SKIPPED: ip netns: {trial.stderr.strip()}')
        trace_checks.run('ip', 'netns', 'del', f'countrace{os.getpid()}')
        recording = trace_checks.Recording()
        recording.setUp()
        cls.addClassCleanup(recording.doCleanups)
        cls.work = recording.work
        done = trace_checks.run(
            cls.record_hosts, trace_checks.Recording.countrace_program,
            cls.program, cls.work / 'fleet', REQUESTS, timeout=600)
        assert done.returncode == 0, done.stderr
        cls.said = done.stdout

    def trace(self, host):
        return self.work / 'fleet' / f'{host}.ctf'

    def shifted(self, host, offset_ns, drift_ppb):
        """A copy of another boot; returns its path and its clock."""
        copy = self.work / f'{host}-{offset_ns}-{drift_ppb}.ctf'
        self.addCleanup(shutil.rmtree, copy, ignore_errors=True)
        clock = shifted_trace.shift_trace(self.trace(host), copy, str(uuid.uuid4()),
                                          offset_ns, drift_ppb)
        return copy, clock

    def report(self, *options):
        return json.loads(trace_checks.countrace('report', '--format', 'json',
                                                 *options).stdout)

    def numbers(self, host):
        """The requests of its calls and handlings, in the order of their begins."""
        script = trace_checks.countrace('script', '--format', 'jsonl',
                                        self.trace(host)).stdout
        events = [json.loads(line) for line in script.splitlines()]
        return [(event['event'].removesuffix('__enter'), event['fields']['arg0'])
                for event in events if event['event'] in ENTERS]

    def sides(self, given):
        """By request and side: begin and end on the common clock."""
        sides = {}
        for host in HOSTS:
            lines = trace_checks.countrace(
                'query', '--format', 'jsonl', *PAIRS,
                'SELECT segment, begin_ns, end_ns FROM calls WHERE host = '
                f"'{host}' AND segment LIKE 'rpc:%' ORDER BY begin_ns",
                *given).stdout.splitlines()
            rows = [json.loads(line) for line in lines]
            numbers = self.numbers(host)
            self.assertEqual([row['segment'] for row in rows],
                             [segment for segment, _ in numbers])
            for row, side in zip(rows, numbers):
                sides[side[1], side[0]] = row['begin_ns'], row['end_ns']
        return sides

    def test_one_boot_is_one_clock(self):
        sent = [tuple(map(int, found)) for found in
                re.findall(r'sent (\d+) handled (\d+)', self.said)]
        self.assertEqual(sent, [(2 * REQUESTS, 2 * REQUESTS)] * 3)
        data = self.report(self.work / 'fleet')
        hosts = {host['host']: host for host in data['trace']['hosts']}
        self.assertEqual(sorted(hosts), list(HOSTS))
        for host in hosts.values():
            self.assertEqual((host['offset_ns'], host['within_ns']), (0, 0))
        calls = {(row['host'], row['segment']): row['calls']
                 for row in data['segments'] if row['segment'].startswith('rpc:')}
        self.assertEqual(calls, {(host, segment): 2 * REQUESTS for host in HOSTS
                                 for segment in ('rpc:call', 'rpc:handle')})

    def test_books_are_the_sums_of_the_hosts(self):
        given = [f'{host}={self.trace(host)}' for host in HOSTS]
        fleet = self.report(*given)
        own = {host: self.report(self.trace(host)) for host in HOSTS}
        for event, books in fleet['books'].items():
            self.assertEqual(books['residual'], 0, event)
            for account in (*trace_checks.ACCOUNTS, 'total'):
                self.assertEqual(
                    books[account],
                    sum(data['books'][event][account] for data in own.values()),
                    (event, account))
        for table in ('processes', 'threads', 'segments', 'segment_paths', 'hooks',
                      'cpus'):
            for host, data in own.items():
                rows = [{name: value for name, value in row.items()
                         if name != 'host'}
                        for row in fleet[table] if row['host'] == host]
                self.assertEqual(rows, data[table], (table, host))
        by_host = {row['host']: row for row in
                   self.report('--by', 'host', *given)['processes']}
        for host, data in own.items():
            self.assertEqual(
                by_host[host]['on_cpu_ns'],
                sum(row['on_cpu_ns'] for row in data['processes']))

    def test_offset_and_drift_are_within_the_bound(self):
        chance = random.Random(48)
        for number in range(RUNS):
            with self.subTest(number=number):
                # First 50 ms and 100 ppm, then anything.
                offset = 50 * MS if number == 0 else chance.randint(
                    0, 2 * 10**13)  # this machine's clock may be near 0
                drift = 100000 if number == 0 else chance.randint(-150000, 150000)
                b, b_clock = self.shifted('b', 0 if number == 0 else offset, drift)
                c, c_clock = self.shifted('c', offset, 0 if number == 0 else -drift)
                data = self.report(*PAIRS, f'a={self.trace("a")}', f'b={b}',
                                   f'c={c}')
                hosts = {host['host']: host for host in data['trace']['hosts']}
                for name, clock in (('b', b_clock), ('c', c_clock)):
                    host = hosts[name]
                    self.assertIn('messages with', host['clock'])
                    own = self.report(self.trace(name))['trace']
                    # What began at own[begin] is shown at begin_ns.
                    for edge in ('begin_ns', 'end_ns'):
                        self.assertLessEqual(abs(host[edge] - own[edge]),
                                             host['within_ns'] + 1,
                                             (name, edge, host))
                    # Its clock runs fast by that, so the way back is slower.
                    truth = -clock.drift_ppb / (1 + clock.drift_ppb * 1e-9)
                    lower, upper = host['bounds']['drift_ppb']
                    self.assertLessEqual(lower, truth)
                    self.assertLessEqual(truth, upper)
                    self.assertLess(host['within_ns'], 100 * MS, host)
                    self.assertAlmostEqual(
                        clock.of(own['begin_ns']) + host['offset_ns'],
                        own['begin_ns'], delta=host['within_ns'] + 1)

    def test_nothing_is_received_before_it_was_sent(self):
        b, _ = self.shifted('b', 50 * MS, 100000)
        c, _ = self.shifted('c', 7 * 10**12, -50000)
        sides = self.sides([f'a={self.trace("a")}', f'b={b}', f'c={c}'])
        calls = {number: times for (number, side), times in sides.items()
                 if side == 'rpc:call'}
        self.assertEqual(len(calls), 6 * REQUESTS)
        for number, (sent, answered) in calls.items():
            received, _ = sides[number, 'rpc:handle']
            self.assertLessEqual(sent, received, number)
            self.assertLessEqual(received, answered, number)

    def test_parts_of_the_common_time_make_the_whole(self):
        b, _ = self.shifted('b', 7 * 10**12, 100000)
        # The shifted one is first: the others' clocks begin after its own 0.
        given = [*PAIRS, f'b={b}', f'a={self.trace("a")}']
        parts = [self.report('--by', 'segment', *part, *given)['segments'] for part in
                 ([], ['--to', '40%'], ['--from', '40%'])]
        whole, *halves = [{(row['host'], row['segment']): row['calls'] for row in rows}
                          for rows in parts]
        self.assertEqual(len(whole), 4)
        for key, calls in whole.items():
            self.assertEqual(sum(half.get(key, 0) for half in halves), calls, key)

    def test_without_a_common_clock_the_ways_are_named(self):
        b, _ = self.shifted('b', 50 * MS, 0)
        given = [f'a={self.trace("a")}', f'b={b}']
        done = trace_checks.countrace('report', *given, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        for way in ('same boot', 'NTP or PTP', '--pairs'):
            self.assertIn(way, done.stderr)
        none = trace_checks.countrace('report', '--pairs', 'rpc:cal.x,rpc:y.z',
                                      *given, check=False)
        self.assertNotEqual(none.returncode, 0)
        self.assertIn('no host has such messages', none.stderr)


if __name__ == '__main__':
    trace_checks.Recording.countrace_program = pathlib.Path(sys.argv[1])
    Hosts.program, Hosts.record_hosts = sys.argv[2:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
