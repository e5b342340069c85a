#!/usr/bin/env python3
"""How often 95 % intervals of multiplexed events hold the truth, live: records
programs whose page faults are known, since page-faults is always on beside the
multiplexed minor-faults, and compares.

usage: interval_calibration.py BUILD [--runs N] [--ms MS] [--backend bpf|perf]
       [--pattern steady|bursty|rare]... [--recordings N]
       interval_calibration.py BUILD --hooks instance|1ms|5ms... [--runs N]

A run is one program. Each recording has some, one after the other. Runs in
which the kernel hid a switch of the program are left out: its page faults are
not exact. With --hooks the sets rotate at user hooks, and each segment of a
program is one kind of run (tests/e2e/hook_sets_workload.cc).
"""
import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

EVENTS = 'task-clock,page-faults,{minor-faults},{page-faults:u}'
PATTERNS = ('steady', 'bursty', 'rare')
HOOK_EVENTS = 'page-faults,{minor-faults},{context-switches,task-clock}'
# So that there are tens of rotations.
HOOK_CALLS = {'instance': 800, '1ms': 4000, '5ms': 8000}


class Coverage:
    """Of the rows of one kind."""

    def __init__(self):
        self.below = self.above = self.no_limit = self.inexact = 0
        self.truths, self.errors, self.stated, self.widths = [], [], [], []

    def add_segment(self, row):
        """A segment's counts in the shape of a thread's."""
        counts = row['counts']
        bounds = {name.removesuffix('.incl'): limits
                  for name, limits in row.get('bounds', {}).items()}
        self.add({'counts': {name: count['incl']
                             for name, count in counts.items()},
                  'bounds': bounds, 'scaled': counts})

    def add(self, row):
        truth = row['counts']['page-faults']
        if 'counts.page-faults' in row.get('bounds', {}):
            self.inexact += 1
            return
        scaled = row.get('scaled', {}).get('minor-faults')
        low, high = (row.get('bounds', {}).get('counts.minor-faults') or
                     (None, None))
        if scaled is None or scaled.get('stderr') is None or high is None:
            self.no_limit += 1
            return
        self.below += truth < low
        self.above += truth > high
        self.truths.append(truth)
        self.errors.append(row['counts']['minor-faults'] - truth)
        self.stated.append(scaled['stderr'])
        self.widths.append((high - low) / 2)

    def line(self, name):
        runs = len(self.truths)
        if runs < 2:
            return f'{name}: {runs} intervals, {self.no_limit} without'
        held = 100 * (1 - (self.below + self.above) / runs)
        chance = 100 * math.sqrt(0.05 * 0.95 / runs)
        mean = max(statistics.mean(self.truths), 1)
        bias = 100 * statistics.mean(self.errors) / mean
        bias_error = (100 * statistics.stdev(self.errors) / mean /
                      math.sqrt(runs))
        spread = math.sqrt(statistics.mean(e * e for e in self.errors))
        stated = math.sqrt(statistics.mean(e * e for e in self.stated))
        ratio = f'{stated / spread:.2f} x the true one' if spread else stated
        return (f'{name}: {held:.1f} % of {runs} intervals hold the truth '
                f'(95 +- {chance:.1f} expected; it is below {self.below}, '
                f'above {self.above}); {mean:.0f} events, +-'
                f'{100 * statistics.mean(self.widths) / mean:.1f} %, stated '
                f'error {ratio}, bias '
                f'{bias:+.2f} +- {bias_error:.2f} %; {self.no_limit} runs '
                f'without an interval, {self.inexact} not exact')


def record(arguments, pattern, seeds, work):
    """(thread, process) of each program: of the thread that touches pages, and
    of all its process did."""
    trace = work / 'run.ctf'
    program = arguments.build / 'tests/e2e/page_toucher'
    commands = [f'{program} {arguments.ms} {pattern} {seed}' for seed in seeds]
    run = subprocess.run(
        [arguments.countrace, 'record', '-q', '--force', '--backend',
         arguments.backend, '-e', EVENTS, '-o', trace, '--', 'sh', '-c',
         ' && '.join(commands)], capture_output=True, text=True, check=True)
    report = json.loads(subprocess.run(
        [arguments.countrace, 'report', '--format', 'json', trace],
        capture_output=True, text=True, check=True).stdout)
    threads = {(row['pid'], row['tid']): row for row in report['threads']}
    processes = {row['pid']: row for row in report['processes']}
    for pid, tid, pages in re.findall(r'^pid (\d+) tid (\d+) pages (\d+)',
                                      run.stdout, re.M):
        thread, process = threads[int(pid), int(tid)], processes[int(pid)]
        # The program itself counts its pages; its stack has some, too.
        others = thread['counts']['page-faults'] - int(pages)
        exact = 'counts.page-faults' not in thread.get('bounds', {})
        if exact and not 0 <= others < 50:
            raise SystemExit(f'{pages} pages touched, but: {thread}')
        yield thread, process


def calibrate_hooks(arguments, rotate):
    program = arguments.build / 'tests/e2e/hook_sets_workload'
    segments = {}
    with tempfile.TemporaryDirectory() as work:
        trace = pathlib.Path(work) / 'run.ctf'
        for seed in range(arguments.runs):
            subprocess.run(
                [arguments.countrace, 'record', '-q', '--force',
                 '--hook-events', HOOK_EVENTS, f'--rotate={rotate}', '-o',
                 trace, '--', program, str(HOOK_CALLS[rotate]), str(seed)],
                check=True)
            report = json.loads(subprocess.run(
                [arguments.countrace, 'report', '--format', 'json', trace],
                capture_output=True, text=True, check=True).stdout)
            for row in report['segments']:
                if row['segment'].startswith('sets:'):
                    segments.setdefault(row['segment'],
                                        Coverage()).add_segment(row)
    for name, coverage in sorted(segments.items()):
        print(coverage.line(f'{rotate}, {name}'), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=1000)
    parser.add_argument('--recordings', type=int, default=100)
    parser.add_argument('--ms', type=int, default=200)
    parser.add_argument('--backend', default='bpf')
    parser.add_argument('--pattern', action='append', choices=PATTERNS)
    parser.add_argument('--hooks', action='append', choices=HOOK_CALLS)
    arguments = parser.parse_args()
    arguments.countrace = arguments.build / 'cli/countrace'
    if arguments.hooks:
        for rotate in arguments.hooks:
            calibrate_hooks(arguments, rotate)
        return
    for pattern in arguments.pattern or PATTERNS:
        of_thread, of_process = Coverage(), Coverage()
        with tempfile.TemporaryDirectory() as work:
            for first in range(arguments.recordings):
                seeds = range(first, arguments.runs, arguments.recordings)
                for thread, process in record(arguments, pattern, seeds,
                                              pathlib.Path(work)):
                    of_thread.add(thread)
                    of_process.add(process)
        print(of_thread.line(f'{pattern}, thread'))
        print(of_process.line(f'{pattern}, process with its start'),
              flush=True)


if __name__ == '__main__':
    main()
