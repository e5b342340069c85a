#!/usr/bin/env python3
"""The whole machine is recorded under mixed loads and a fork storm: the books
add up, each lost record is counted with its cause, and the recorder's memory
stays where it was; a flight recording with triggers uses no more disk than it
may.

usage: soak.py COUNTRACE PROCESS_STORM [--minutes N] [--only record|flight]
               [--piece MINUTES] [--pause SECONDS] [--every SECONDS]
               [--snapshots MIB]

Each part takes N minutes (default 0.25; 60 with COUNTRACE_TEST_FULL=1). A
recording is read every --piece minutes (5), so that the disk holds so much of
it. --pause: seconds between two loads (2). --every: seconds from one snapshot
to the next at least (1), --snapshots: what they may occupy (128).

Memory is flat if what a recorder keeps differs by no more than 2 MiB in the
second half of its recording. It keeps the least of what it has in each of
twenty windows: a recorder that is late reads full rings at once, and returns
that memory later.

Prints its figures. Exit: 0 all held, 1 not, SKIPPED without root or stress-ng.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import campaign

FULL = bool(os.environ.get('COUNTRACE_TEST_FULL'))
# Never --io, --sync or what fills memory: other programs use this machine.
STRESSORS = ('--switch 2', '--futex 2', '--fork 2', '--vm 1 --vm-bytes 32M',
             '--timer 1 --timer-freq 2000', '--pipe 2', '--sem 2',
             '--fault 1', '--clone 2 --clone-max 32', '--cpu 2', '--signal 1',
             '--mmap 1 --mmap-bytes 16M', '--sock 1', '--exec 1', '--yield 2')
KERNEL = 'syscalls,irq,softirq,faults,wakeups'
ACCOUNTS = ('processes', 'own', 'idle', 'interrupts', 'outside',
            'unattributed')
FLIGHT_BYTES = 32 << 20
WINDOWS = 20
LEAST_SAMPLES = 10  # of a window
FLAT_KIB = 2 << 10
# A recorder that is late reads full rings of 8 MiB for each CPU at once. Its bytes
# and its list of records need as much each, and a vector that grows up to twice
# that.
FULL_RINGS_KIB = 4 * (8 << 10) * os.cpu_count()


class Load(threading.Thread):
    """One stressor after the other, each for a second before a pause, beside a
    storm of processes."""

    def __init__(self, storm, pause):
        super().__init__(daemon=True)
        self.storm, self.pause, self.end = storm, pause, threading.Event()
        self.runs = collections.Counter()

    def run(self):
        quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL,
                 'check': False}
        while not self.end.is_set():
            for stressor in STRESSORS:
                if self.end.is_set():
                    return
                subprocess.run(['stress-ng', '--timeout', '1s', '--temp-path',
                                '/dev/shm', *stressor.split()], **quiet)
                subprocess.run([self.storm, 'storm', '4', '20', '20'], **quiet)
                self.runs[stressor] += 1
                self.end.wait(self.pause)


class Memory(threading.Thread):
    """KiB of anonymous memory of a process, every half second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.samples = pid, []

    def run(self):
        while True:
            kib = campaign.own_memory_kib(self.pid)
            if kib is None:
                return
            self.samples.append(kib)
            time.sleep(0.5)


def kept(samples):
    """The least of each window, without the end, when a trace is finished.
    Empty: the recording was too short to say."""
    samples = samples[:-2]
    size = len(samples) // WINDOWS
    if size < LEAST_SAMPLES:
        return []
    return [min(samples[i * size:(i + 1) * size]) for i in range(WINDOWS)]


class Soak:
    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-soak-'))
        self.failed = []
        self.figures = collections.Counter()
        self.memory = []  # KiB, in the order of time
        self.disk = 0  # bytes at most

    def check(self, holds, claim):
        if not holds:
            self.failed.append(claim)
            print(f'FAILED: {claim}', flush=True)

    def countrace(self, *arguments):
        return subprocess.run([self.options.countrace, *map(str, arguments)],
                              text=True, capture_output=True, check=False)

    def start(self, *arguments):
        with open(self.work / 'log', 'w', encoding='utf-8') as log:
            recorder = subprocess.Popen(
                [self.options.countrace, 'record', '-a', '--force', *arguments],
                stderr=log, stdout=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL)
        memory = Memory(recorder.pid)
        memory.start()
        return recorder, memory

    def stop(self, name, recorder, memory):
        recorder.send_signal(signal.SIGINT)
        code = recorder.wait()
        memory.join()
        self.memory += memory.samples
        # Before the trace is read, which takes long.
        self.check_memory(name, memory.samples)
        text = (self.work / 'log').read_text(encoding='utf-8')
        self.check(code == 0, f'record exits with {code}: {text[-2000:]}')
        return text

    # --- A recording of everything ------------------------------------------

    def record(self, seconds):
        left = seconds
        while left > 0:
            piece = min(left, self.options.piece * 60)
            left -= piece
            trace = self.work / 'trace.ctf'
            started = self.start('--kernel', KERNEL, '-o', str(trace))
            time.sleep(piece)
            text = self.stop('record', *started)
            used = campaign.disk_bytes(trace)
            self.figures['bytes'] += used
            self.disk = max(self.disk, used)
            self.check_trace(trace, text)
            shutil.rmtree(trace)

    def check_trace(self, trace, text):
        verified = self.countrace('verify', trace)
        self.check(verified.returncode == 0, f'verify: {verified.stdout}')
        # Not each of some hundred thousand processes.
        run = self.countrace('report', '--format', 'json', '--by', 'cpu', trace)
        self.check(run.returncode == 0, f'report: {run.stderr}')
        data = json.loads(run.stdout)
        for event, books in data['books'].items():
            self.check(books['residual'] == 0, f'{event}: residual')
            self.check(sum(books[name] for name in ACCOUNTS)
                       == books['total'], f'{event}: accounts')
        loss = data['loss']
        self.check(sum(loss['by_cause'].values()) == loss['discarded_events'],
                   f'causes of a loss: {loss}')
        for cause, count in loss['by_cause'].items():
            self.figures[f'lost {cause}'] += count
            self.check(count == 0 or cause == 'kernel_recursion'
                       or f'cause={cause} count={count}' in text,
                       f'{cause} is not said: {text[-2000:]}')
        self.check(loss['text'] in text, f"{loss['text']}: {text[-2000:]}")
        self.figures['records'] += data['trace']['records']

    def check_memory(self, name, samples):
        windows = kept(samples)
        if not windows:
            return
        print(f'{name}: kept in each window, KiB: '
              f'{" ".join(map(str, windows))}', flush=True)
        second = windows[WINDOWS // 2:]
        self.check(max(second) - min(second) <= FLAT_KIB,
                   f'{name}: memory from {min(second)} to {max(second)} KiB')
        most = min(second) + FULL_RINGS_KIB + FLAT_KIB
        self.check(max(samples) <= most,
                   f'{name}: {max(samples)} KiB, at most {most}')

    def end_part(self, name, rounds, failed_before):
        campaign.print_line(
            f'soak-{name}', rounds=rounds,
            failed=len(self.failed) - failed_before, disk=self.disk,
            memory=self.memory)
        self.memory, self.disk = [], 0

    # --- A flight recording with triggers ------------------------------------

    def flight(self, seconds):
        trace = self.work / 'flight.ctf'
        limit = self.options.snapshots << 20
        started = self.start(
            '--flight', str(FLIGHT_BYTES), '--snapshots', str(limit),
            '--kernel', 'syscalls', '--trigger',
            f'segment syscall:futex > 1ms at most every {self.options.every}s',
            '-o', str(trace))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(0.5)
            self.disk = max(self.disk, campaign.disk_bytes(self.work))
        text = self.stop('flight', *started)
        snapshots = sorted(self.work.glob('flight.ctf.snapshot-*'))
        # One snapshot may begin below the limit and end above it; streams of a
        # flight recording grow by a sub-buffer before they are cut.
        bound = limit + 3 * FLIGHT_BYTES
        self.check(self.disk <= bound,
                   f'{self.disk} bytes of disk, at most {bound}')
        self.check(snapshots, f'no snapshot: {text[-2000:]}')
        for snapshot in snapshots:
            verified = self.countrace('verify', snapshot)
            self.check(verified.returncode == 0,
                       f'{snapshot.name}: {verified.stdout}')
        # Once the next snapshot may begin, the limit has been reached.
        if seconds >= 60 * self.options.every:
            self.check('--snapshots' in text, 'the limit is not said')
        print(f'flight: {len(snapshots)} snapshots, at most '
              f'{self.disk >> 20} MiB of disk of {bound >> 20}')
        return len(snapshots)

    def run(self):
        seconds = self.options.minutes * 60
        load = Load(self.options.storm, self.options.pause)
        load.start()
        try:
            if self.options.only != 'flight':
                self.record(seconds)
                self.end_part('record', self.figures['records'], 0)
                for name, value in sorted(self.figures.items()):
                    print(f'record: {name} {value:,}')
            if self.options.only != 'record':
                before = len(self.failed)
                self.end_part('flight', self.flight(seconds), before)
        finally:
            load.end.set()
            load.join()
            shutil.rmtree(self.work, ignore_errors=True)
        print(f'{sum(load.runs.values())} loads of {len(STRESSORS)} kinds, '
              f'{len(self.failed)} FAILED')
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('countrace')
    parser.add_argument('storm')
    parser.add_argument('--minutes', type=float, default=60 if FULL else 0.25)
    parser.add_argument('--only', choices=('record', 'flight'))
    parser.add_argument('--piece', type=float, default=5)
    parser.add_argument('--pause', type=float, default=2)
    parser.add_argument('--every', type=int, default=1)
    parser.add_argument('--snapshots', type=int, default=128)
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which('stress-ng'):
        print('SKIPPED: needs root and stress-ng')
        return 0
    return Soak(options).run()


if __name__ == '__main__':
    sys.exit(main())
