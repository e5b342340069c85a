#!/usr/bin/env python3
"""Copies of a trace that is being recorded, by cp, tar and rsync and by a reader
that is held up: each is sound, its records are the first ones of the whole
trace's streams, none is missing between them, and its books balance.

usage: recording_copies_test.py COUNTRACE HOOK_WORKLOAD RUNTIME_LIBRARY
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

import running_programs_test as running
from trace_checks import FULL, babeltrace_counts, run

ROUNDS = 12 if FULL else 2  # a half of them with the kernel
PIECE = 512  # bytes: programs that copy read multiples of it
COPIED = 'was copied before its recording ended'
RSYNC = ('rsync', '-aS', '--ignore-times', '--delete')


def with_cp(trace, copy):
    return run('cp', '-r', trace, copy)


def with_tar(trace, copy):
    """Its status is 1 if a file changed while it was read."""
    copy.mkdir()
    done = run('sh', '-c', 'tar -C "$1" -cSf "$2.tar" . ; test $? -le 1 && '
               'tar -C "$2" -xSf "$2.tar"', 'sh', trace, copy)
    return done


def with_rsync(trace, copy):
    return run(*RSYNC, f'{trace}/', f'{copy}/')


def parts_of(trace):
    return {path.name: path.read_bytes() for path in trace.iterdir()
            if path.is_file()}


class RecordingCopies(running.Running):
    def report_of(self, trace):
        done = self.countrace('report', '--format', 'json', trace)
        return json.loads(done.stdout), done.stderr

    def grow(self, ticks=20000):
        """Waits until each thread has stored so many more."""
        before = self.ticks()
        running.wait_until(lambda: all(now >= old + ticks for now, old in
                                       zip(self.ticks(), before)), 'ticks')

    def held_up(self, trace, copy):
        """Each file as it is read by a program that waits behind the last byte
        that was stored: what it reads then is newer than what it has."""
        early = parts_of(trace)
        self.grow()
        late = parts_of(trace)
        copy.mkdir()
        for name, part in early.items():
            end = len(part.rstrip(b'\0')) // PIECE * PIECE + PIECE
            (copy / name).write_bytes(part[:end] + late[name][end:])
        return subprocess.CompletedProcess((), 0)

    def ticks_of(self, trace):
        lines = self.countrace('script', '--hook', 'workload:tick', trace).stdout
        return running.by_thread(lines.splitlines(), 'workload:tick')

    def check_copy(self, copy, stored, copied_ns):
        """Returns the ticks of its threads."""
        data, said = self.report_of(copy)
        self.assertIn(COPIED, said)
        self.assertNotIn('still being recorded', said)
        self.check_books(data)
        self.losses.append(self.losses_of(data))
        self.assertLessEqual(data['trace']['end_ns'], copied_ns)
        self.assertIn('sound', self.countrace('verify', copy).stdout)
        self.countrace('info', copy)
        ticks = self.ticks_of(copy)
        # All that was stored before it was copied.
        self.assertGreaterEqual(
            sum(numbers[-1] + 1 for numbers in ticks.values()), stored)
        return ticks

    def check_recovered(self, copy, ticks):
        """A trace of its own: the recording does not notice."""
        self.countrace('recover', copy)
        self.assertIn('sound', self.countrace('verify', copy).stdout)
        events, _, errors = babeltrace_counts(copy)
        lines = self.count_lines(f'"{self.countrace_program}" script "{copy}"')
        self.assertEqual((events, errors), (lines, ''))
        self.assertEqual(self.ticks_of(copy), ticks)

    @staticmethod
    def losses_of(data):
        return [data['loss'][name] for name in ('discarded_events',
                                                'discarded_packets')]

    def copy_while_recorded(self, process, recorder, rounds):
        """Copies at any moment; each is read while the recording goes on."""
        generator = random.Random(1729)
        tools = [with_cp, with_tar, self.held_up]
        if shutil.which('rsync'):
            tools.append(with_rsync)
        else:
            print('no rsync: it copies nothing')
        copies = {}
        self.grow(1000)
        for index in range(rounds):
            for tool in tools:
                again = tool is with_rsync  # into the same folder
                copy = self.work / (
                    f'{tool.__name__}-{"again" if again else index}.ctf')
                self.grow(generator.randrange(1, 3000))
                stored = sum(self.ticks())
                done = tool(self.trace, copy)
                self.assertEqual(done.returncode, 0, done.stderr)
                copied_ns = time.monotonic_ns()
                # The recording goes on, and does not grow meanwhile.
                process.send_signal(signal.SIGSTOP)
                copies[copy] = self.check_copy(copy, stored, copied_ns)
                if not again:
                    self.check_recovered(copy, copies[copy])
                process.send_signal(signal.SIGCONT)
        self.assertIsNone(process.poll())
        self.assertIsNone(recorder.poll())
        return copies

    def check_against_whole(self, copies):
        whole = self.ticks_of(self.trace)
        self.assertEqual(2, len(whole))
        lost = self.losses_of(self.report_of(self.trace)[0])
        for losses in self.losses:
            self.assertLessEqual(losses[0], lost[0])
            self.assertLessEqual(losses[1], lost[1])
        for copy, ticks in copies.items():
            for tid, numbers in ticks.items():
                self.assertEqual(numbers, whole[tid][:len(numbers)], copy)
        last = self.work / 'with_rsync-again.ctf'
        if last in copies:
            done = with_rsync(self.trace, last)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(parts_of(last), parts_of(self.trace))

    def record_and_copy(self, options, rounds):
        self.losses = []
        process = self.start_ticks(pause_us=2000)
        recorder = self.begin(*options(process))
        self.await_joined(process)
        copies = self.copy_while_recorded(process, recorder, rounds)
        self.end(recorder)
        self.check_against_whole(copies)

    def test_copies_of_a_recording_of_hooks(self):
        self.record_and_copy(
            lambda process: ('--no-kernel', '-p', str(process.pid)), ROUNDS)

    def test_copies_of_a_recording_with_the_kernel(self):
        self.needs_root()
        self.record_and_copy(lambda _: ('-a',), ROUNDS // 2)


if __name__ == '__main__':
    running.COUNTRACE, running.WORKLOAD, running.LIBRARY = map(
        os.path.abspath, sys.argv[1:4])
    running.KERNEL = []
    running.Recording.countrace_program = running.COUNTRACE
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
