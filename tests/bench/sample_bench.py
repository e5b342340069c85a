#!/usr/bin/env python3
"""What samples with stacks cost, beside `perf record -g` at the same rate, and
how long their tables take: medians of runs by turns, in CPU time of the program
and of its recorder. It asserts nothing. countrace samples whole CPUs, also for
the others on them, and records their dispatches; perf samples the program. The
column `perf switches` is of perf that records the same: all CPUs, with their
switches.

usage: sample_bench.py BUILD [--runs N] [--samples N] [--skip-report]
Needs root. Without perf its columns are empty. With `dwarf` stacks are copied,
by countrace also unwound, which perf leaves to its report.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


PERIODS = {'one period': 'exactly=1000:page-faults', 'two periods': 'every=1000:page-faults'}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=1800, check=False, **options)
    if done.returncode != 0:
        sys.exit(f'sample_bench: failed ({done.returncode}): {words}\n{done.stderr}')
    return done


def peak_of(*words):
    """Seconds, CPU seconds and peak megabytes of a program, and what it printed."""
    begin = time.monotonic()
    child = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f'sample_bench: failed: {words}')
    cpu = usage.ru_utime + usage.ru_stime
    return time.monotonic() - begin, cpu, usage.ru_maxrss / 1024, text


class Recorders:
    def __init__(self, build, folder):
        self.program = build / 'tests/bench/sampled_calls'
        self.countrace = build / 'cli/countrace'
        self.trace, self.data = folder / 'trace.ctf', folder / 'perf.data'
        self.perf = shutil.which('perf')

    def words(self, recorder, what, rate):
        program = [self.program, *what]
        recorder, _, dwarf = recorder.partition(' ')
        if recorder == 'countrace':
            return [self.countrace, 'record', '-q', '--force', '--no-fault-records',
                    '-o', self.trace, *(['--call-graph', dwarf] if dwarf else []), '--sample',
                    'every=1:page-faults' if rate == 1 else rate, '--', *program]
        if recorder in PERIODS:
            return self.words('countrace', what, PERIODS[recorder])
        if recorder == 'perf' and dwarf == 'switches':
            return ['perf', 'record', '-q', '-a', '-N', '-B', '-g', '--switch-events', '-e',
                    'cpu-clock', '-F', rate, '-o', self.data, '--', *program]
        if recorder == 'perf':
            chains = ['--call-graph', dwarf] if dwarf else ['-g']
            every = ['-e', 'page-faults', '-c', '1'] if rate == 1 else ['-e', 'cpu-clock', '-F',
                                                                       rate]
            # Without build ids, at which perf 6.1 now and then crashes.
            return ['perf', 'record', '-q', '-N', '-B', *chains, *every, '-o', self.data, '--',
                    *program]
        return program

    def seconds(self, recorder, what, rate):
        """CPU time of the program, and of its recorder beside it."""
        with subprocess.Popen([str(word) for word in self.words(recorder, what, rate)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as child:
            text = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if not text or (child.returncode != 0 and recorder != 'perf'):
            sys.exit(f'sample_bench: failed ({child.returncode}): {recorder} {what} {rate}')
        program = int(text.split()[-1]) / 1e9
        return program, max(usage.ru_utime + usage.ru_stime - program, 0)


def overhead(recorders, what, rate, runs, names=()):
    """Medians of CPU times: of the program alone, and under each recorder."""
    if not names:
        names = ['countrace'] + (['perf'] if recorders.perf else [])
        names += [name + ' dwarf' for name in names]
    names = ['alone', *names]
    times = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            times[name].append(recorders.seconds(name, what, rate))
    return {name: [statistics.median(part) for part in zip(*values)]
            for name, values in times.items()}


def beside(recorders, rate, runs):
    """The same of a program that is not counted: another one is recorded meanwhile."""
    modes = {'alone': None, 'frame pointers': (), 'dwarf': ('--call-graph', 'dwarf')}
    times = {name: [] for name in modes}
    for _ in range(runs):
        for name, options in modes.items():
            own, recorder = 0, None
            if options is not None:
                words = [recorders.countrace, 'record', '-q', '--force', '-o', recorders.trace,
                         '--sample', rate, *options, '--', 'sh', '-c', 'echo; read line']
                recorder = subprocess.Popen([str(word) for word in words], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                recorder.stdout.readline()
            program = int(run(recorders.program, 'work', '600000').stdout.split()[-1]) / 1e9
            if recorder is not None:
                recorder.stdin.close()
                _, status, usage = os.wait4(recorder.pid, 0)
                recorder.returncode = os.waitstatus_to_exitcode(status)
                own = usage.ru_utime + usage.ru_stime
            times[name].append((program, own))
    return {name: [statistics.median(part) for part in zip(*values)]
            for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--samples', type=int, default=10_000_000)
    parser.add_argument('--skip-report', action='store_true')
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='countrace-bench-') as name:
        recorders = Recorders(wanted.build.resolve(), pathlib.Path(name))
        for rate in (199, 997, 4999):
            most = int(pathlib.Path('/proc/sys/kernel/perf_event_max_sample_rate').read_text())
            if rate > most:
                continue
            found = overhead(recorders, ['work', '300000'], rate, wanted.runs)
            alone = found.pop('alone')[0]
            print(f'cpu-clock at {rate} Hz, a program of {alone:.2f} s: ' + '; '.join(
                f'{who} {100 * (program / alone - 1):+.2f} %, itself {100 * own / alone:.1f} %'
                for who, (program, own) in found.items()), flush=True)
        names = ['countrace'] + (['perf', 'perf switches'] if recorders.perf else [])
        for what, times in (('begin and end', 1), ('a longer program', 1_500_000)):
            found = overhead(recorders, ['work', times], 997, wanted.runs, names)
            alone = found.pop('alone')[0]
            print(f'cpu-clock at 997 Hz, {what} ({alone:.2f} s): ' + '; '.join(
                f'{who} itself {own:.3f} s' for who, (_, own) in found.items()), flush=True)
        found = beside(recorders, 997, wanted.runs)
        alone = found.pop('alone')[0]
        print(f'cpu-clock at 997 Hz, beside one that is not counted ({alone:.2f} s): ' + '; '.join(
            f'{who} {100 * (program / alone - 1):+.2f} %, itself {own:.3f} s'
            for who, (program, own) in found.items()), flush=True)
        faults = 300_000
        found = overhead(recorders, ['faults', faults], 1, wanted.runs)
        alone = found.pop('alone')[0]
        print(f'each page fault of {alone / faults * 1e9:.0f} ns: ' + '; '.join(
            f'{who} {(program - alone) / faults * 1e9:+.0f} ns, itself '
            f'{own / faults * 1e9:.0f} ns'
            for who, (program, own) in found.items()), flush=True)
        found = overhead(recorders, ['faults', faults], 1, wanted.runs, PERIODS)
        print(f'{faults:,} page faults: ' + '; '.join(
            f'{who} {1e3 * program:.0f} ms' for who, (program, _) in found.items()), flush=True)
        if wanted.skip_report:
            return
        run(*recorders.words('countrace', ['faults', wanted.samples], 1))
        size = sum(file.stat().st_size for file in recorders.trace.iterdir())
        for by in ('function', 'calltree', 'line'):
            for _ in range(2):  # the second has what the first one read
                seconds, cpu, peak, text = peak_of(recorders.countrace, 'report', '--no-progress',
                                              '--by', by, '--format', 'json', recorders.trace)
            books, = json.loads(text)['books']
            print(f'--by {by}: {books["samples"]:,} samples, {books["lost"]:,} lost, '
                  f'{size / 2**20:,.0f} MiB: {seconds:.2f} s ({cpu:.2f} s of CPU), '
                  f'{peak:,.0f} MiB', flush=True)


if __name__ == '__main__':
    main()
