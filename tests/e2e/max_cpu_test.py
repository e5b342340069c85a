#!/usr/bin/env python3
"""`record --max-cpu`: what recording costs, measured by the kernel, stays within
the limit, what was left out is said, and no number hides it.

usage: max_cpu_test.py COUNTRACE STAT_WORKLOAD
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import recorder_cost
import trace_checks
from trace_checks import FULL, Recording

WORKLOAD = None
SHARE, MORE = 1.0, 0.3  # per cent of one CPU
WINDOWS, WINDOW_S = (3, 10) if FULL else (6, 5)
# Page faults as fast as the machine makes them.
STORM = '''
import mmap
while True:
    with mmap.mmap(-1, 64 << 20) as memory:
        for page in range(0, len(memory), 4096):
            memory[page] = 1
'''


class MaxCpu(Recording):
    def setUp(self):
        super().setUp()
        self.pids = set()  # of what runs all of the time
        if os.geteuid() != 0 or not recorder_cost.SWITCH.exists():
            self.skipTest('SKIPPED: the run time of BPF programs needs root')

    def start(self, *words):
        process = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.pids.add(process.pid)

    def start_recorder(self, *options):
        recorder = subprocess.Popen(
            [str(word) for word in (self.countrace_program, 'record', '-a', '-o',
                                    self.trace, *options)],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        for _ in range(1000):
            if (self.trace / '.session').exists():
                return recorder
            if recorder.poll() is not None:
                break
            time.sleep(0.02)
        said = recorder.stderr.read() if recorder.poll() is not None else ''
        if 'Cannot' in said:
            self.skipTest('SKIPPED: ' + said.strip())
        self.fail(f'the recording did not begin: {said}')

    def end(self, recorder):
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=120)
        self.assertIn(recorder.returncode, (0, 3), said)
        return said

    def cost(self, recorder):
        """Per cent of a CPU, in windows; further ones only where the first is more
        than the limit: it counts then on the average of all."""
        spent, begun = recorder_cost.spent_ns(recorder.pid), time.monotonic_ns()
        for _ in range(WINDOWS):
            time.sleep(WINDOW_S)
            cost = 100 * (recorder_cost.spent_ns(recorder.pid) - spent) / (
                time.monotonic_ns() - begun)
            if cost <= SHARE + MORE and not FULL:
                break
        return cost

    def check_held(self, cost, said):
        above = re.search(r'did not hold for .* alone took ([\d.]+)% of a CPU', said)
        print(f'{cost:.2f} % of a CPU{", as it says" if above else ""}')
        if above:  # dispatches are never thinned: by how much, it says
            self.assertGreater(float(above[1]), SHARE)
        else:
            self.assertLessEqual(cost, SHARE + MORE, said)

    def check_said(self, said):
        self.assertRegex(said, r'Left out for --max-cpu 1%, of [\d.]+ s: system calls and '
                               r'faults as segments for [\d.]+ s, in \d+ stretches')
        data = self.report('--by', 'segment', '--rows', '0')
        loss = data['loss']
        self.assertGreater(loss['left_out_ms'], 1000, loss)
        self.assertFalse(loss['is_loss'] and not loss['discarded_events'], loss)
        self.assertTrue(any('Left out for' in text for text in loss['messages']), loss)
        for event, book in data['books'].items():
            self.assertEqual(0, book['residual'], event)
        rows = [row for row in data['segments'] if row['pid'] in self.pids and
                row['segment'].startswith(('syscall:', 'fault:'))]
        self.assertTrue(any(row['calls'] > 100 for row in rows), rows)
        # Those that were not recorded were not counted either.
        for row in rows:
            self.assertIn('bounded', row.get('qualities', [row['quality']]), row)
            self.assertIsNone(row['bounds']['calls'][1], row)
        text = self.countrace('report', self.trace).stdout
        self.assertRegex(text, r'captured .* ms without all calls or samples, for --max-cpu')

    def test_a_storm_of_page_faults(self):
        with recorder_cost.measured_programs():
            for _ in range(os.cpu_count()):
                self.start(sys.executable, '-c', STORM)
            recorder = self.start_recorder('--max-cpu', '1%', '--kernel',
                                           'syscalls,faults')
            cost = self.cost(recorder)
            said = self.end(recorder)
        self.check_held(cost, said)
        self.check_said(said)

    def test_redis_benchmark(self):
        if not shutil.which('redis-benchmark'):
            self.skipTest('SKIPPED: needs redis-benchmark')
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        self.start('redis-server', '--port', port, '--save', '', '--bind', '127.0.0.1')
        for _ in range(600):
            with socket.socket() as client:
                if client.connect_ex(('127.0.0.1', port)) == 0:
                    break
            time.sleep(0.05)
        with recorder_cost.measured_programs():
            self.start('redis-benchmark', '-p', port, '-n', 10**9, '-t', 'get', '-q')
            recorder = self.start_recorder('--max-cpu', '1%', '--kernel', 'syscalls')
            cost = self.cost(recorder)
            said = self.end(recorder)
        self.check_held(cost, said)
        self.check_said(said)

    def test_samples_are_left_out_last(self):
        recorder = self.start_recorder('--max-cpu', '0.1%', '--sample', '1997',
                                       '--call-graph', 'dwarf', '--kernel', 'syscalls')
        self.start(sys.executable, '-c', STORM)
        time.sleep(4)
        said = self.end(recorder)
        found = re.search(r'in \d+ stretches, and (\d+) samples, in [\d.]+ s', said)
        self.assertIsNotNone(found, said)
        book = self.report('--by', 'function', '--rows', '0')['books'][0]
        self.assertGreaterEqual(book['lost'], int(found[1]), book)

    def test_what_fits_is_not_thinned(self):
        done = self.countrace('record', '--max-cpu', '100%', '--kernel', 'syscalls', '-o',
                              self.trace, '--', WORKLOAD, 'forks', 20, 20)
        self.assertNotIn('Left out', done.stderr)
        self.assertEqual(0, self.report()['loss']['left_out_ms'])

    def test_a_snapshot_says_it_too(self):
        recorder = self.start_recorder('--max-cpu', '0.1%', '--flight', '64M',
                                       '--kernel', 'syscalls')
        self.start(sys.executable, '-c', 'import os\nwhile True: os.getppid()')
        time.sleep(3)
        snapshot = self.work / 'snapshot.ctf'
        self.countrace('snapshot', '-o', snapshot, self.trace)
        self.end(recorder)
        loss = json.loads(self.countrace('report', '--format', 'json', '--by', 'process',
                                         snapshot).stdout)['loss']
        self.assertGreater(loss['left_out_ms'], 0, loss)

    def test_a_killed_recorder_says_it_too(self):
        recorder = self.start_recorder('--max-cpu', '0.1%', '--kernel', 'syscalls')
        self.start(sys.executable, '-c', 'import os\nwhile True: os.getppid()')
        time.sleep(3)
        recorder.kill()
        recorder.wait()
        self.countrace('recover', self.trace)
        self.assertGreater(self.report('--by', 'process')['loss']['left_out_ms'], 0)

    def test_a_call_that_is_left_out_does_not_last(self):
        recorder = self.start_recorder(
            '--max-cpu', '0.1%', '--kernel', 'syscalls', '--trigger',
            'segment syscall:getppid > 900ms')
        self.start(sys.executable, '-c', 'import os\nwhile True: os.getppid()')
        time.sleep(6)
        said = self.end(recorder)
        self.assertIn('Left out', said)
        self.assertNotIn('snapshot:', said)

    def test_wrong_limits(self):
        for words, said in (
                (('--max-cpu', '0'), '--max-cpu 0: not from 0.1% to 100% of one CPU'),
                (('--max-cpu', '0%'), '--max-cpu 0%: not from 0.1% to 100%'),
                (('--max-cpu', '200%'), '--max-cpu 200%: not from 0.1% to 100%'),
                (('--max-cpu', 'abc'), 'write it like 1%'),
                (('--max-cpu', 'nan%'), 'write it like 1%'),
                (('--max-cpu', '-1%'), 'write it like 1%'),
                (('--max-cpu', '1'), 'write it like 1%'),
                (('--max-cpu', '1%', '--no-kernel'), '--max-cpu and --no-kernel'),
                (('--max-cpu', '1%', '--offcpu', '1ms'), '--max-cpu and --offcpu'),
                (('--max-cpu', '1%', '--backend', 'perf'), 'leave out --backend perf'),
                (('--max-cpu', '1%', '--backend', 'lttng'), '--max-cpu is not possible')):
            done = self.countrace('record', *words, '-o', self.trace, '--', 'true',
                                  check=False)
            self.assertEqual(2, done.returncode, (words, done))
            self.assertIn(said, done.stderr, words)
            self.assertFalse(self.trace.exists(), words)


if __name__ == '__main__':
    MaxCpu.countrace_program, WORKLOAD = sys.argv.pop(1), sys.argv.pop(1)
    trace_checks.unittest.main(verbosity=2)
