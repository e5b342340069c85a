#!/usr/bin/env python3
"""The promises of a recording, checked on real programs through the real
`countrace`: nothing is lost or the loss is counted, after a kill at any point,
with a full disk; each record belongs to its thread, books balance, babeltrace2
agrees.

usage: recorded_programs_test.py COUNTRACE HOOK_WORKLOAD REQUEST_PIPELINE
"""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from trace_checks import FULL, Recording, babeltrace_counts, countrace

COUNTRACE = WORKLOAD = PIPELINE = None


def report(trace, *options):
    return json.loads(countrace('report', '--format', 'json', *options,
                                trace).stdout)


def emitted(text):
    counts = collections.Counter()
    for tid, count in re.findall(r'^emitted (\d+) (\d+)$', text, re.M):
        counts[int(tid)] += int(count)
    return counts


def script_lines(trace):
    return countrace('script', trace).stdout.splitlines()


def count_lines(trace, text=''):
    """Those of `script` that have the text. Not kept: there can be millions."""
    with subprocess.Popen([COUNTRACE, 'script', str(trace)],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as script:
        counted = subprocess.run(['grep', '-cF', '--', text], text=True,
                                 stdin=script.stdout, timeout=300, check=False,
                                 stdout=subprocess.PIPE)
    if script.returncode != 0:
        raise AssertionError(f'script {trace}: {script.returncode}')
    return int(counted.stdout)


def recorded(trace):
    """(records of thread streams, discarded) according to `script` and
    `report`."""
    loss = report(trace)['loss']
    records = count_lines(trace) - count_lines(trace, '] clock clock_sample: ')
    return records, loss['discarded_events'], loss['by_cause']


class Recorded(Recording):
    def check_babeltrace_agrees(self, trace, lines=None):
        if lines is None:
            lines = count_lines(trace)
        self.assertEqual(babeltrace_counts(trace), (lines, 0, ''))


class NothingIsLost(Recorded):
    def test_two_processes_of_eight_threads_at_full_speed(self):
        pairs = 1000000 if FULL else 200000
        shell = (f'"{WORKLOAD}" pairs 8 {pairs} & "{WORKLOAD}" pairs 8 '
                 f'{pairs}; wait')
        run = countrace('record', '--no-kernel', '--sub-buffers', '16', '-o',
                        self.trace, '--', 'sh', '-c', shell)
        counts = emitted(run.stdout)
        self.assertEqual(len(counts), 16)
        self.assertEqual(sum(counts.values()), 16 * 2 * pairs)
        self.assertNotIn('offset', run.stderr)  # nothing to repair
        data = report(self.trace)
        self.assertEqual({row['comm'] for row in data['processes']},
                         {'hook_workload'})  # without kernel records
        lost = data['loss']['discarded_events']
        self.assertEqual(sum(data['loss']['by_cause'].values()), lost)
        self.assertEqual(data['trace']['records'] + lost,
                         sum(counts.values()))
        self.assertEqual(lost, 0)
        calls = sum(row['calls'] for row in data['segments']
                    if row['segment'] == 'workload:pair')
        self.assertEqual(calls, 16 * pairs)

    def test_signal_storm(self):
        run = countrace('record', '-o', self.trace, '--', WORKLOAD, 'storm',
                        '3000', '100')
        self.assertEqual(count_lines(self.trace, ' workload:'),
                         sum(emitted(run.stdout).values()))

    def test_nested_signal_handlers_need_little_stack(self):
        """Else the workload would die where signals are slower than its timer."""
        subprocess.run(['sh', '-c', 'ulimit -s 256; exec "$@"', 'sh', WORKLOAD, 'storm', '10000',
                        '1'], check=True, capture_output=True, timeout=120)

    def test_hooks_in_nested_signal_handlers_are_all_counted(self):
        """20 million of them in full runs."""
        goal, hooks, handlers = 20_000_000 if FULL else 1, 0, 0
        while hooks < goal:
            trace = self.work / 'nested.ctf'
            run = countrace('record', '--no-kernel', '--force', '-o', trace,
                            '--', WORKLOAD, 'storm', '10000', '20')
            data = report(trace, '--by', 'hook')
            hits = {row['hook']: row['hits'] for row in data['hooks']}
            lost = data['loss']['discarded_events']
            made = sum(emitted(run.stdout).values())
            self.assertEqual(sum(hits.values()) + lost, made)
            ticks, calls = map(int, re.search(
                r'^ticks (\d+) handlers (\d+)$', run.stdout, re.M).groups())
            if lost == 0:
                self.assertEqual(hits, {'workload:tick': ticks,
                                        'workload:pair': 2 * ticks,
                                        'workload:handler': 2 * calls,
                                        'workload:in_handler': calls})
            hooks, handlers = hooks + made, handlers + calls
        print(f'{hooks:,} hooks, {handlers:,} handlers')

    def test_every_record_is_under_its_thread(self):
        for arguments in (('short', '1000', '10'), ('forks', '200', '2')):
            with self.subTest(arguments=arguments):
                trace = self.work / f'{arguments[0]}.ctf'
                run = countrace('record', '--no-kernel', '--sub-buffers', '16',
                                '-o', trace, '--', WORKLOAD, *arguments)
                counts = emitted(run.stdout)
                found = collections.Counter(
                    int(tid) for tid in
                    re.findall(r'^\[[^\]]*\] \S*?(\d+) workload:',
                               '\n'.join(script_lines(trace)), re.M))
                lost = report(trace)['loss']['discarded_events']
                self.assertEqual(sum(found.values()) + lost,
                                 sum(counts.values()))
                if lost == 0:
                    self.assertEqual(found, counts)

    def test_exit_status_output_and_signals_pass_through(self):
        run = countrace('record', '--no-kernel', '-o', self.trace, '--', 'sh',
                        '-c', 'echo out; echo err >&2; exit 37', check=False)
        self.assertEqual(run.returncode, 37)
        self.assertEqual(run.stdout, 'out\n')
        self.assertIn('err\n', run.stderr)
        run = countrace('record', '--no-kernel', '--force', '-o', self.trace,
                        '--', 'sh', '-c', 'kill -TERM $$', check=False)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        run = countrace('record', '--no-kernel', '--force', '-o', self.trace,
                        '--', WORKLOAD, 'exec', '5', check=False)
        self.assertEqual(run.returncode, 7)


class Killed(Recorded):
    """kill -9 of the program, of the recorder, and of both."""

    def start(self, counters, kernel):
        with open(counters, 'wb') as file:
            file.truncate(4096)
        options = [] if kernel else ['--no-kernel']
        recorder = subprocess.Popen(
            [COUNTRACE, 'record', '-q', *options, '-o', str(self.trace),
             '--force', '--', WORKLOAD, 'killed', str(counters), '2', '50'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        program = None
        deadline = time.monotonic() + 20
        while program is None and time.monotonic() < deadline:
            found = subprocess.run(['pgrep', '-P', str(recorder.pid)],
                                   capture_output=True, text=True, check=False)
            words = found.stdout.split()
            program = int(words[0]) if words else None
        self.assertIsNotNone(program)
        return recorder, program

    def committed(self, counters):
        with open(counters, 'rb') as file:
            return struct.unpack('<QQ', file.read(16))

    def test_what_was_committed_is_there(self):
        rounds = 200 if FULL else 21
        generator = random.Random(4711)
        for index in range(rounds):
            victim = ('program', 'recorder', 'both')[index % 3]
            with self.subTest(round=index, victim=victim):
                self.one_round(victim, generator.uniform(0.0, 0.12),
                               kernel=index % 2 == 0 and os.geteuid() == 0)

    def check_nothing_left_in_kernel(self):
        if os.geteuid() != 0 or not shutil.which('bpftool'):
            print('SKIPPED: what is left in the kernel: needs root and bpftool')
            return
        for _ in range(500):  # the kernel frees them a little later
            programs = subprocess.run(['bpftool', 'prog', 'show'], text=True,
                                      capture_output=True, check=True).stdout
            if 'name on_switch' not in programs:
                return
            time.sleep(0.02)
        self.fail(f'BPF programs outlive their recorder:\n{programs}')

    def one_round(self, victim, delay, kernel):
        counters = self.work / 'counters'
        recorder, program = self.start(counters, kernel)
        time.sleep(delay)
        if victim in ('program', 'both'):
            os.kill(program, signal.SIGKILL)
        if victim in ('recorder', 'both'):
            recorder.kill()
        if victim == 'recorder':
            at_kill = self.committed(counters)
            time.sleep(0.02)
            try:
                os.kill(program, signal.SIGKILL)  # it ran on undisturbed
            except ProcessLookupError:
                self.fail('the program died with its recorder')
        recorder.wait(timeout=60)
        self.check_nothing_left_in_kernel()
        deadline = time.monotonic() + 10
        while pathlib.Path(f'/proc/{program}').exists():
            if pathlib.Path(f'/proc/{program}/stat').read_text().split(
                    ')')[1].split()[0] == 'Z' or time.monotonic() > deadline:
                break
        committed = self.committed(counters)
        if victim == 'recorder':
            committed = at_kill
        if not (self.trace / '.session').exists() and not (
                self.trace / 'metadata').exists():
            self.assertEqual(sum(committed), 0)  # killed before it began
            return
        before = count_lines(self.trace, 'workload:tick')
        data = report(self.trace)
        # Programs that copy files would wait for the recorder's pipe.
        self.assertFalse((self.trace / '.unjoined').exists())
        lost = data['loss']['discarded_events']
        hits = sum(row['hits'] for row in data['hooks']
                   if row['hook'] == 'workload:tick')
        self.assertGreaterEqual(before + lost, sum(committed))
        self.assertEqual(hits, before)
        countrace('recover', self.trace)
        countrace('verify', self.trace)
        events, losses, errors = babeltrace_counts(self.trace)
        if lost == 0:
            self.assertEqual((losses, errors), (0, ''))
        self.assertEqual(events, count_lines(self.trace))
        self.assertEqual(count_lines(self.trace, 'workload:tick'), before)


class Full(Recorded):
    def test_disk_full_is_a_counted_loss(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: mounting a small tmpfs needs root')
        disk = self.work / 'disk'
        disk.mkdir()
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk],
                       check=True)
        self.addCleanup(subprocess.run, ['umount', str(disk)], check=False)
        trace = disk / 'trace.ctf'
        run = countrace('record', '--no-kernel', '-o', trace, '--', WORKLOAD,
                        'pairs', '4', '200000')
        self.assertEqual(len(emitted(run.stdout)), 4)  # it finished normally
        self.assertRegex(run.stderr, r'(?i)space|disk')
        records, lost, by_cause = recorded(trace)
        self.assertEqual(records + lost, sum(emitted(run.stdout).values()))
        self.assertGreater(by_cause['disk_full'], 0)
        self.check_babeltrace_readable(trace)

    def check_babeltrace_readable(self, trace):
        events, _, _ = babeltrace_counts(trace)  # discarded events are a warning
        self.assertEqual(events, count_lines(trace))

    def test_descriptor_limit(self):
        run = countrace('record', '--no-kernel', '-o', self.trace, '--',
                        WORKLOAD, 'no_fds', '1000')
        records, lost, by_cause = recorded(self.trace)
        self.assertEqual(records + lost, 1000)
        self.assertEqual(by_cause.get('no_resource', 0), lost)
        if lost:
            self.assertRegex(run.stderr, r'ulimit|RLIMIT|descriptor')

    def test_unwritable_directory(self):
        run = countrace('record', '-o', '/proc/nowhere/trace.ctf', '--', 'true',
                        check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn('/proc/nowhere', run.stderr)


@unittest.skipIf(os.geteuid() != 0, 'SKIPPED: kernel records need root')
class Books(Recorded):
    def test_request_pipeline_is_accounted_exactly(self):
        run = countrace('record', '-a', '-o', self.trace, '--', PIPELINE)
        true_calls = {name: int(count) for name, count in
                      re.findall(r'^(\S+:\S+) (\d+)$', run.stdout, re.M)}
        self.assertTrue(true_calls)
        data = report(self.trace)
        self.assertEqual(data['loss']['discarded_events'], 0)
        calls = collections.Counter()
        for row in data['segments']:
            calls[row['segment']] += row['calls']
        segments = set(calls)  # the hook table counts their enters and exits
        for row in data['hooks']:
            if row['hook'] not in segments:
                calls[row['hook']] += row['hits']
        for name, count in true_calls.items():
            self.assertEqual(calls[name], count, name)
        for event in ('task-clock', 'page-faults', 'context-switches'):
            self.assertEqual(data['books'][event]['residual'], 0, event)
        wall = sum(row['wall_ns'] for row in data['cpus'])
        used = sum(row['busy_ns'] + row['idle_ns'] + row['unattributed_ns']
                   for row in data['cpus'])
        self.assertLessEqual(abs(wall - used), wall / 1000)
        self.check_babeltrace_agrees(self.trace)

    def test_a_sleeping_segment_shows_its_switches_inside(self):
        countrace('record', '-o', self.trace, '--', WORKLOAD, 'faults', '200',
                  '10')
        rows = {row['segment']: row for row in report(self.trace)['segments']}
        sleeps, faults = rows['workload:sleeps'], rows['workload:faults']
        self.assertGreaterEqual(sleeps['counts']['context-switches']['incl'],
                                10)
        self.assertGreater(sleeps['off_cpu_ns']['incl'], 10 * 1900000)
        self.assertGreaterEqual(faults['counts']['page-faults']['incl'],
                                10 * 200)
        self.assertLessEqual(faults['counts']['page-faults']['incl'],
                             10 * 200 + 50)
        self.assertEqual(faults['counts']['page-faults']['quality'], 'exact')

    def test_on_cpu_time_agrees_with_the_scheduler(self):
        # Two spinning processes share a core; a third sleeps beside them.
        shell = (f'"{WORKLOAD}" spin 1500 0 & "{WORKLOAD}" spin 1500 0 & '
                 'sleep 2; wait')
        stolen_ns = self.stolen_ns()
        run = countrace('record', '-o', self.trace, '--', 'sh', '-c', shell)
        # schedstat leaves out stolen time; our intervals cannot. Less than a
        # tick of it on each CPU is not reported, and a program's reading of its
        # own account is as old as the last tick.
        tick_ns = 1000000000 // os.sysconf('SC_CLK_TCK')
        stolen_ns = (self.stolen_ns() - stolen_ns +
                     (1 + os.cpu_count()) * tick_ns)
        truth = {int(pid): int(ns) for pid, ns in
                 re.findall(r'^schedstat (\d+) (\d+)', run.stdout, re.M)}
        self.assertEqual(len(truth), 2)
        rows = {row['pid']: row for row in report(self.trace)['processes']}
        for pid, ns in truth.items():
            self.assertLessEqual(abs(rows[pid]['on_cpu_ns'] - ns),
                                 ns / 100 + stolen_ns)
            account_ns = rows[pid]['counts'].get('exec-runtime')
            if account_ns is not None and rows[pid]['quality'] == 'exact':
                self.assertLessEqual(abs(account_ns - ns), ns / 500 + tick_ns)

    def test_without_the_right_to_bpf_perf_rings_are_used_and_named(self):
        run = subprocess.run(
            ['setpriv', '--bounding-set', '-bpf,-sys_admin', COUNTRACE,
             'record', '-a', '-o', self.trace, '--', 'true'],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr.count('Kernel records come from perf'), 1)
        self.assertGreater(len(report(self.trace)['processes']), 1)
        forced = subprocess.run(
            ['setpriv', '--bounding-set', '-bpf,-sys_admin', COUNTRACE,
             'record', '-a', '--force', '--backend', 'bpf', '-o', self.trace,
             '--', 'true'],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(forced.returncode, 5, forced.stderr)
        self.assertIn('cap_bpf', forced.stderr)

    def test_waiting_time_agrees_with_the_scheduler(self):
        # A thread that wakes up often, on a core that two others keep busy.
        sleeper = ('import os, time\n'
                   'os.sched_setaffinity(0, {0})\n'
                   'os.nice(15)\n'
                   'for _ in range(200): time.sleep(0.005)\n'
                   # From here on it never waits, so its reading of its own
                   # statistics is complete.
                   'param = os.sched_param(1)\n'
                   'os.sched_setscheduler(0, os.SCHED_FIFO, param)\n'
                   'stat = open("/proc/self/schedstat").read()\n'
                   'print("schedstat", os.getpid(), stat, flush=True)\n'
                   'os._exit(0)\n')
        shell = (f'"{WORKLOAD}" spin 1500 0 & "{WORKLOAD}" spin 1500 0 & '
                 f"python3 -c '{sleeper}'; wait")
        stolen_ns = self.stolen_ns()
        run = countrace('record', '--kernel', 'wakeups', '-o', self.trace, '--',
                        'sh', '-c', shell, check=False)
        if 'Cannot record --kernel wakeups' in run.stderr:
            self.skipTest('SKIPPED: wake-ups need BPF, which does not work here')
        self.assertEqual(run.returncode, 0, run.stderr)
        stolen_ns = self.stolen_ns() - stolen_ns
        truth = {int(pid): int(ns) for pid, ns in
                 re.findall(r'^schedstat (\d+) \d+ (\d+)', run.stdout, re.M)}
        self.assertEqual(len(truth), 3)
        rows = {row['tid']: row for row in report(self.trace)['threads']}
        for tid, ns in truth.items():
            self.assertGreater(ns, 20000000)  # there was something to wait for
            # A spinner may wait a slice after it has read its own statistics,
            # if other threads compete as well.
            self.assertLessEqual(abs(rows[tid]['wait_ns'] - ns),
                                 ns / 25 + 8000000 + stolen_ns, (tid, truth))

    def stolen_ns(self):
        fields = pathlib.Path('/proc/stat').read_text().splitlines()[1].split()
        assert fields[0] == 'cpu0'
        return int(fields[8]) * 1000000000 // os.sysconf('SC_CLK_TCK')


class Damaged(Recorded):
    def test_any_cut_or_flip_is_an_error_or_a_counted_loss(self):
        countrace('record', '--no-kernel', '-o', self.trace, '--', WORKLOAD,
                  'ticks', '2', '2000')
        generator = random.Random(1)
        streams = sorted(self.trace.glob('thread-*'))
        for index in range(120 if FULL else 30):
            copy = self.work / 'copy.ctf'
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self.trace, copy)
            victim = copy / generator.choice(
                [*streams, self.trace / 'metadata']).name
            content = bytearray(victim.read_bytes())
            if index % 2:
                del content[generator.randrange(len(content)):]
            else:
                content[generator.randrange(len(content))] ^= (
                    1 << generator.randrange(8))
            victim.write_bytes(content)
            for verb in ('report', 'script', 'verify', 'info'):
                run = countrace(verb, copy, check=False)
                self.assertIn(run.returncode, (0, 1), (index, verb, run.stderr))

    def test_foreign_and_empty_inputs_are_named(self):
        (self.work / 'file').write_text('hello')
        (self.work / 'empty').mkdir()
        for name in ('file', 'empty', 'missing'):
            for verb in ('report', 'script', 'info', 'recover'):
                run = countrace(verb, self.work / name, check=False)
                self.assertEqual(run.returncode, 1, (name, verb))
                self.assertIn(name, run.stderr)


if __name__ == '__main__':
    COUNTRACE, WORKLOAD, PIPELINE = sys.argv[1:4]
    Recording.countrace_program = COUNTRACE
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
