#!/usr/bin/env python3
"""A recorder is killed (SIGKILL) while everything is attached: the kernel is
as it was before, the traced programs continue, the recorded part can be read,
and the same program can be recorded again.

usage: recorder_killed_test.py COUNTRACE ATTACHED_PROGRAM
"""
import json
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import time
import unittest

from trace_checks import FULL, Recording

PROGRAM = None
TRACEFS = pathlib.Path('/sys/kernel/tracing')
SWITCHES = ('uprobe_events', 'kprobe_events', 'set_event', 'events/enable',
            'current_tracer')


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f'not within {seconds} s: {what}')


def bpf_ids(kind):
    """Ids of all BPF programs, links or maps of the kernel."""
    text = subprocess.run(['bpftool', '-j', kind, 'show'], text=True,
                          capture_output=True, timeout=60, check=True).stdout
    return {row['id'] for row in json.loads(text or '[]')}


def state_of(pid):
    stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    return stat.rpartition(')')[2].split()[0]


def descriptors(pid):
    return [str(link.readlink())
            for link in pathlib.Path(f'/proc/{pid}/fd').iterdir()]


class RecorderKilled(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('bpftool', 'babeltrace2')
        self.progress = self.work / 'progress'
        self.hooks = ('--kernel', 'syscalls,faults,irq,softirq', '--hook',
                      f'uprobe:{PROGRAM}:attached_step', '--hook',
                      f'usdt:{PROGRAM}:attached:tick', '--hook',
                      'tracepoint:sched:sched_process_exec')

    def start_program(self):
        program = subprocess.Popen([PROGRAM, str(self.progress)],
                                   stdin=subprocess.PIPE)
        self.addCleanup(self.end, program)
        wait_for(lambda: self.steps() > 0, 'the program runs')
        return program

    def start_recorder(self, *options, **kwargs):
        recorder = subprocess.Popen(
            [self.countrace_program, 'record', '-q', '--force', '-o',
             str(self.trace), *map(str, options)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, **kwargs)
        self.addCleanup(self.end, recorder)
        return recorder

    def end(self, process):
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()

    def state(self):
        """(steps of the program, listeners to its probe)"""
        try:
            return struct.unpack('<QQ', self.progress.read_bytes()[:16])
        except (OSError, struct.error):
            return 0, 0

    def steps(self):
        return self.state()[0]

    def tracefs(self):
        return {name: (TRACEFS / name).read_text() for name in SWITCHES
                if (TRACEFS / name).exists()}

    def held_by(self, pid):
        """BPF objects that a process holds: {kind: ids}."""
        held = {'prog': set(), 'link': set(), 'map': set()}
        for info in pathlib.Path(f'/proc/{pid}/fdinfo').iterdir():
            try:
                text = info.read_text()
            except OSError:  # closed meanwhile
                continue
            for kind, number in re.findall(r'^(prog|link|map)_id:\s+(\d+)',
                                           text, re.M):
                held[kind].add(int(number))
        return held

    def check_nothing_left(self, held):
        # The kernel frees them with a delay.
        for kind, ids in held.items():
            wait_for(lambda ids=ids, kind=kind: not ids & bpf_ids(kind),
                     f'BPF {kind} {ids} of the killed recorder gone')
        wait_for(lambda: self.state()[1] == 0, 'a probe without listeners')
        self.assertEqual(self.tracefs(), self.tracefs_before)

    def check_goes_on(self, program):
        self.assertIsNone(program.poll())
        steps = self.steps()
        wait_for(lambda: self.steps() > steps + 100, 'the program goes on')
        for link in descriptors(program.pid):
            self.assertNotRegex(link, 'perf_event|bpf')

    def check_trace(self):
        """The report before and after recovery is the same. Returns the
        uprobe's hits."""
        before = self.hits()
        lines = self.count_lines(
            f'"{self.countrace_program}" script "{self.trace}"')
        info = self.countrace('info', self.trace)
        self.assertIn('recover', info.stdout + info.stderr)
        self.countrace('recover', self.trace)
        self.assertEqual(self.check_readable(), lines)
        self.assertEqual(self.hits(), before)
        self.check_books(self.report())
        return before

    def hits(self):
        rows = self.report('--by', 'hook')['hooks']
        return {row['hook']: row['hits'] for row in rows}

    def kill_while_attached(self, program, *options):
        self.tracefs_before = self.tracefs()
        recorder = self.start_recorder(*self.hooks, *options)
        wait_for(lambda: self.state()[1] > 0, 'the probe has a listener')
        steps = self.steps()
        wait_for(lambda: self.steps() > steps + 500, 'steps are recorded')
        held = self.held_by(recorder.pid)
        self.assertGreater(len(held['prog']), 10)
        self.assertGreater(len(held['link']), 10)
        # Its rings are read, which takes longer beside others.
        wait_for(lambda: self.hits().get('attached:tick', 0) > 400, 'records')
        recorder.kill()
        recorder.wait()
        self.check_nothing_left(held)
        self.check_goes_on(program)

    def test_everything_attached_to_the_whole_machine(self):
        self.needs_back_end('bpf')
        program = self.start_program()
        self.kill_while_attached(program, '-a')
        name = pathlib.Path(PROGRAM).name
        segments = {row['segment']: row['calls']
                    for row in self.report()['segments']
                    if row['pid'] == program.pid}
        self.assertGreater(segments[f'{name}:attached_step'], 100)
        self.assertGreater(segments['syscall:getppid'], 100)
        self.assertGreater(self.check_trace()['attached:tick'], 100)
        self.record_again(program)

    def record_again(self, program):
        # Until it has gone on.
        steps = ('import struct, sys, time\n'
                 'def steps(): return struct.unpack("<Q", open(sys.argv[1], "rb").read(8))[0]\n'
                 'least = steps() + 50\n'
                 'while steps() < least: time.sleep(0.01)\n')
        run = self.countrace('record', '--force', '-o', self.trace,
                             *self.hooks, '-p', program.pid, '--',
                             sys.executable, '-c', steps, self.progress)
        self.assertIn('nothing was lost', run.stderr)
        self.check_readable()
        data = self.report()
        self.check_books(data)
        name = pathlib.Path(PROGRAM).name
        rows = {row['segment']: row for row in data['segments']
                if row['pid'] == program.pid}
        steps = rows[f'{name}:attached_step']
        self.assertGreater(steps['calls'], 10)
        # The recording may begin and end inside a step.
        self.assertAlmostEqual(self.hits()['attached:tick'], steps['calls'],
                               delta=2)
        wait_for(lambda: self.state()[1] == 0, 'a probe without listeners')

    def test_everything_attached_to_a_process(self):
        self.needs_back_end('bpf')
        program = self.start_program()
        self.kill_while_attached(program, '-p', program.pid)
        self.assertGreater(self.check_trace()['attached:tick'], 100)

    def test_its_own_command_goes_on_without_it(self):
        for back_end in ('bpf', 'perf'):
            with self.subTest(back_end=back_end):
                self.needs_back_end(back_end)
                self.tracefs_before = self.tracefs()
                self.progress.unlink(missing_ok=True)
                hooks = self.hooks if back_end == 'bpf' else ()
                recorder = self.start_recorder(
                    '--backend', back_end, *hooks, '--', PROGRAM,
                    self.progress, stdin=subprocess.PIPE)
                wait_for(lambda: self.steps() > 500, 'the command runs')
                held = self.held_by(recorder.pid)
                child = int(subprocess.run(
                    ['pgrep', '-P', str(recorder.pid)], text=True,
                    capture_output=True, check=True).stdout)
                for link in descriptors(child):
                    self.assertNotRegex(link, 'perf_event|bpf')
                recorder.kill()
                recorder.wait()
                self.check_nothing_left(held)
                steps = self.steps()
                wait_for(lambda before=steps: self.steps() > before + 100,
                         'it goes on')
                self.check_trace()
                recorder.stdin.close()  # the command's stdin, too: it ends
                wait_for(lambda of=child: not pathlib.Path(f'/proc/{of}').exists(),
                         'the command ends')

    def test_killed_at_any_moment(self):
        """Kills while it loads, attaches, begins, records."""
        self.needs_back_end('bpf')
        program = self.start_program()
        self.tracefs_before = self.tracefs()
        generator = random.Random(1729)
        for index in range(60 if FULL else 5):
            delay = generator.uniform(0.0, 0.6)
            with self.subTest(round=index, delay=delay):
                recorder = self.start_recorder(*self.hooks, '-a')
                time.sleep(delay)
                # Stopped, so that it acquires nothing more before it is
                # killed.
                recorder.send_signal(signal.SIGSTOP)
                wait_for(lambda pid=recorder.pid: state_of(pid) in 'TZ',
                         'the recorder stops')
                held = self.held_by(recorder.pid)
                recorder.kill()
                recorder.wait()
                self.check_nothing_left(held)
                self.check_goes_on(program)
                if (self.trace / '.session').exists():
                    self.countrace('report', self.trace)
                    self.countrace('recover', self.trace)
                    self.countrace('verify', self.trace)


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
