#!/usr/bin/env python3
"""Programs that run already join a recording and leave it again, and their
hooks are switched from outside; checked through the real `countrace`.

usage: running_programs_test.py COUNTRACE HOOK_WORKLOAD RUNTIME_LIBRARY
"""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from trace_checks import FULL, Recording, babeltrace_counts, countrace

COUNTRACE = WORKLOAD = LIBRARY = None
SHORT_PROGRAMS = 1000 if FULL else 50
OTHER_USER = 65534
# After 256 ticks of a thread: every tick is read again, by several readers.
PAUSE_US = 50 if FULL else 1000
KERNEL = ['--no-kernel']  # the kernel's side is tested elsewhere


def all_lines(trace):
    return countrace('script', trace).stdout.splitlines()


def script(trace):
    """The records of programs and the kernel."""
    return [line for line in all_lines(trace) if '] clock clock_sample: ' not in line]


def by_thread(lines, hook):
    """Payloads of a point hook, in order, for each tid."""
    found = {}
    for line in lines:
        match = re.match(r'\[\S+\] \d+/(\d+) ' + hook +
                         r': \{ arg0 = (\d+) \}', line)
        if match:
            found.setdefault(int(match[1]), []).append(int(match[2]))
    return found


def wait_until(condition, what):
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f'never: {what}')
        time.sleep(0.005)


def maps(pid):
    return pathlib.Path(f'/proc/{pid}/maps').read_text(encoding='utf-8')


class Running(Recording):
    def start(self, *arguments, program=None, controlled=True, **kwargs):
        """The workload, preloaded, outside of any recording."""
        environment = dict(os.environ, LD_PRELOAD=LIBRARY)
        environment.update(kwargs.pop('environment', {}))
        # Not a pipe without a reader: it fills, and its writer stops.
        kwargs.setdefault('stdout', subprocess.DEVNULL)
        process = subprocess.Popen(
            [program or WORKLOAD, *map(str, arguments)], env=environment,
            stderr=subprocess.PIPE, text=True, **kwargs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stderr.close)
        if process.stdout:
            self.addCleanup(process.stdout.close)
        if controlled:
            wait_until(lambda: 'countrace-control-' in maps(process.pid),
                       'a control page')
        return process

    def start_ticks(self, threads=2, pause_us=PAUSE_US, **kwargs):
        counters = self.work / 'counters'
        with open(counters, 'wb') as file:
            file.truncate(4096)
        os.chmod(counters, 0o666)
        process = self.start('killed', counters, threads, pause_us, **kwargs)
        wait_until(lambda: all(self.committed()[:threads]), 'ticks')
        return process

    def forked(self, **kwargs):
        """A child that does not exec and ticks."""
        # Each has its own file: truncating one that another child has mapped
        # would kill that child.
        descriptor, counters = tempfile.mkstemp(dir=self.work)
        os.close(descriptor)
        with open(counters, 'wb') as file:
            file.truncate(4096)
        parent = self.start('forked', counters, stdout=subprocess.PIPE,
                            **kwargs)
        child = int(re.match(r'child (\d+)', parent.stdout.readline())[1])
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.child_counters = counters
        return child

    # By the trace's name: a recording of the whole system from elsewhere may
    # have invited the process, too.
    def await_joined(self, process):
        wait_until(lambda: f'{self.trace}/thread-' in maps(process.pid),
                   'joined')

    def await_left(self, process):
        wait_until(lambda: f'{self.trace}/thread-' not in maps(process.pid),
                   'left')

    def await_stopped(self, process):
        """Each of its threads: one may go on until it has a CPU."""
        def stopped():
            states = [task.read_text().rpartition(')')[2].split()[0] for task in
                      pathlib.Path(f'/proc/{process.pid}/task').glob('*/stat')]
            return set(states) == {'T'}
        wait_until(stopped, 'stopped')

    def committed(self):
        with open(self.work / 'counters', 'rb') as file:
            return struct.unpack('<8Q', file.read(64))

    def record(self, process, *options, trace=None, check=True, **kwargs):
        return countrace('record', *KERNEL, '-o', trace or self.trace, '-p',
                         process.pid, *options, check=check, **kwargs)

    def begin(self, *options, trace=None):
        """A recorder that runs until end()."""
        recorder = subprocess.Popen(
            [COUNTRACE, 'record', *KERNEL, '-o', str(trace or self.trace),
             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.stdout.close)
        return recorder

    def end(self, recorder):
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, errors)
        return errors

    def record_progress(self, pid, progress, *options, trace=None):
        """What a recorder said that ran until the process had joined and each
        number of `progress()` had grown since: no duration is long enough for
        that on a busy machine. By 3: an event may be on its way.
        """
        trace = trace or self.trace
        recorder = self.begin('-p', str(pid), *options, trace=trace)
        try:
            wait_until(lambda: re.search(rf'{trace}\S*/thread-', maps(pid)),
                       'joined')
            before = progress()
            wait_until(lambda: all(now >= old + 3 for now, old in
                                   zip(progress(), before)), 'progress')
        except AssertionError as never:
            raise AssertionError(self.end(recorder)) from never
        return self.end(recorder)

    def ticks(self):
        return self.committed()[:2]

    @staticmethod
    def sleeps(pid):
        """How often the main thread has slept, once in each workload:long."""
        status = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='utf-8')
        return [int(re.search(r'(?m)^voluntary_ctxt_switches:\s+(\d+)', status)[1])]

    def check_sound(self, trace):
        self.assertIn('sound', countrace('verify', trace).stdout)
        self.assertEqual(babeltrace_counts(trace), (len(all_lines(trace)), 0, ''))

    def check_complete(self, trace, before, after):
        """Every tick of the interval is recorded, once."""
        self.check_sound(trace)
        found = by_thread(script(trace), 'workload:tick')
        self.assertEqual(len(found), 2)
        for ticks in found.values():
            self.assertEqual(ticks, list(range(ticks[0], ticks[-1] + 1)))
        # Which thread has which counter is not known: the bounds hold for one
        # of the two orders.
        spans = sorted((ticks[0], ticks[-1]) for ticks in found.values())
        self.assertTrue(any(
            all(before[i] <= first and last < after[i] + 1
                for i, (first, last) in zip(order, spans))
            for order in ((0, 1), (1, 0))), (before, spans, after))


class JoinAndLeave(Running):
    def test_one_process_joins_one_recording_after_the_other(self):
        process = self.start_ticks()
        for index in range(20 if FULL else 5):
            trace = self.work / f'{index}.ctf'
            options = ['--hook-events', 'page-faults'] if index == 3 else []
            before = self.committed()
            said = self.record_progress(process.pid, self.ticks, *options,
                                        trace=trace)
            after = self.committed()
            self.assertIn('nothing was lost', said)
            self.assertIn('1 processes with hooks joined', said)
            if index == 3:
                self.check_sound(trace)
            else:
                self.check_complete(trace, before, after)
            # Idle again: nothing of the recording is mapped any more.
            self.assertNotIn(str(self.work / f'{index}.ctf'),
                             maps(process.pid))
            self.assertIsNone(process.poll())

    def test_the_same_name_again(self):
        process = self.start_ticks()
        for _ in range(5):
            said = self.record_progress(process.pid, self.ticks, '--force')
            self.assertIn('1 processes with hooks joined', said)
            self.check_sound(self.trace)

    def test_signal_handlers_short_threads_and_forks(self):
        for arguments in (('storm', 10**9, 200), ('short', 10**9, 10),
                          ('forks', 10**9, 2)):
            with self.subTest(arguments=arguments):
                process = self.start(*arguments)
                for index in range(4):
                    options = (['--hook-events', 'page-faults']
                               if index % 2 else [])
                    self.record(process, '--for', '40ms', '--force', *options)
                    self.assertIn('sound',
                                  countrace('verify', self.trace).stdout)
                    self.assertIsNone(process.poll())
                process.kill()
                self.assertEqual(process.stderr.read(), '')

    def test_recording_begins_and_ends_inside_of_a_segment(self):
        process = self.start('long', 100)
        self.record_progress(process.pid, lambda: self.sleeps(process.pid))
        self.check_sound(self.trace)
        lines = script(self.trace)
        # Entered before the recording: no enter was recorded, so no exit is.
        self.assertRegex(lines[0], 'workload:long__enter')
        self.assertRegex(lines[-1], 'workload:long__enter')
        # An exit after the recording is written nowhere.
        self.assertIsNone(process.poll())
        data = json.loads(countrace('report', '--format', 'json',
                                    self.trace).stdout)
        (segment,) = data['segments']
        self.assertGreaterEqual(segment['calls'], 1)

    def test_stopped_process_is_named_and_joins_later(self):
        process = self.start_ticks()
        process.send_signal(signal.SIGSTOP)
        self.await_stopped(process)
        run = self.record(process, '--for', '10ms')
        self.assertIn(f'process {process.pid}', run.stderr)
        self.assertIn('kill -CONT', run.stderr)
        process.send_signal(signal.SIGCONT)
        said = self.record_progress(process.pid, self.ticks, '--force')
        self.assertIn('1 processes with hooks joined', said)
        self.check_sound(self.trace)

    def test_stopped_while_it_records(self):
        process = self.start_ticks()
        recorder = self.begin('-p', str(process.pid))
        self.await_joined(process)
        process.send_signal(signal.SIGSTOP)
        self.await_stopped(process)
        self.assertIn('did not leave', self.end(recorder))
        self.assertIn('sound', countrace('verify', self.trace).stdout)
        process.send_signal(signal.SIGCONT)
        other = self.work / 'other.ctf'
        self.record(process, '--for', '50ms', trace=other)
        self.check_sound(other)
        self.assertIsNone(process.poll())

    def test_recorder_killed(self):
        process = self.start_ticks()
        recorder = self.begin('-p', str(process.pid))
        self.await_joined(process)
        recorder.kill()
        recorder.wait()
        self.await_left(process)
        countrace('recover', self.trace)
        self.check_sound(self.trace)
        self.record(process, '--for', '50ms', '--force')
        self.check_sound(self.trace)

    def test_new_program_joins_without_the_environment(self):
        recorder = self.begin('-a')
        wait_until((self.trace / '.session').exists, 'a session')
        process = self.start('long', 1)
        self.await_joined(process)
        self.end(recorder)
        self.check_sound(self.trace)
        self.assertIn('workload:long', '\n'.join(script(self.trace)))

    def test_program_that_execs_goes_on(self):
        shell = ('sleep 0.3; exec "$0" "$@"')
        process = self.start('-c', shell, WORKLOAD, 'long', '1',
                             program='/bin/sh', controlled=False)
        recorder = self.begin('-p', str(process.pid))
        self.await_joined(process)
        self.end(recorder)
        self.check_sound(self.trace)
        self.assertIn('workload:long', '\n'.join(script(self.trace)))

    def test_process_of_a_command_is_controlled_too(self):
        recorder = self.begin('--', WORKLOAD, 'long', '5')
        wait_until((self.trace / '.session').exists, 'a session')
        found = []

        def started():
            found[:] = subprocess.run(
                ['pgrep', '-P', str(recorder.pid), 'hook_workload'],
                text=True, capture_output=True, check=False).stdout.split()
            return found and 'countrace-control-' in maps(found[0])
        wait_until(started, 'the command')
        listed = countrace('hooks', 'list', '-p', found[0])
        self.assertIn(str(self.trace), listed.stderr)
        os.kill(int(found[0]), signal.SIGKILL)
        recorder.communicate(timeout=60)

    def test_what_cannot_join_is_named(self):
        plain = subprocess.Popen(['sleep', '100'])
        self.addCleanup(plain.wait)
        self.addCleanup(plain.kill)
        run = self.record(plain, '--for', '10ms')
        self.assertIn('no countrace runtime library', run.stderr)

        child = self.forked()
        run = countrace('record', *KERNEL, '-p', child, '--for', '10ms', '-o',
                        self.work / 'forked.ctf')
        self.assertRegex(run.stderr, r'was forked by process \d+')

        child = self.forked(environment={'COUNTRACE_CONTROL': 'forks'})
        wait_until(lambda: f'countrace-control-{child}' in maps(child),
                   'a control page')
        for _ in range(3):
            said = self.record_progress(child, lambda: struct.unpack(
                '<Q', pathlib.Path(self.child_counters).read_bytes()[:8]),
                '--force')
            self.assertIn('1 processes with hooks joined', said)
            self.check_sound(self.trace)
            self.assertNotEqual(script(self.trace), [])

        switched_off = self.start('long', 1, controlled=False,
                                  environment={'COUNTRACE_CONTROL': 'off'})
        run = self.record(switched_off, '--for', '10ms', '--force')
        self.assertIn('COUNTRACE_CONTROL=off', run.stderr)

        process = self.start('long', 1)
        recorder = self.begin('--force', '-p', str(process.pid))
        self.await_joined(process)
        run = self.record(process, '--for', '10ms',
                          trace=self.work / 'second.ctf')
        self.assertIn(f'takes part in the recording {self.trace}', run.stderr)
        self.end(recorder)

    def test_many_programs_make_few_messages(self):
        """Short ones that join, and more without the runtime than are named,
        which start when the recording has begun."""
        recorder = self.begin('-a')
        wait_until((self.trace / '.session').exists, 'a session')
        first = self.start('long', 1)
        wait_until(lambda: f'{self.trace}' in maps(first.pid), 'joined')
        for _ in range(SHORT_PROGRAMS // 50):
            several = [self.start('ticks', 1, 2, controlled=False)
                       for _ in range(50)]
            for process in several:
                self.assertEqual(0, process.wait(timeout=60))
        for _ in range(25):
            self.start('long', 1, environment={'LD_PRELOAD': ''},
                       controlled=False)
        errors = self.end(recorder)
        self.assertLess(errors.count('\n'), 60)
        self.assertNotIn('nothing was lost', errors)
        self.assertIn('No user hooks of', errors)
        loss = json.loads(countrace('report', '--format', 'json',
                                    self.trace).stdout)['loss']
        self.assertLess(len(loss['messages']), 60)
        self.assertTrue(any('no countrace runtime' in text
                            for text in loss['messages']))
        self.assertRegex(errors, r'No user hooks of \d+ more processes')
        self.check_sound(self.trace)

    def test_hooks_without_the_runtime_are_in_the_loss(self):
        process = self.start('long', 1, environment={'LD_PRELOAD': ''},
                             controlled=False)
        run = self.record(process, '--for', '10ms')
        self.assertIn('no countrace runtime library', run.stderr)
        self.assertIn('1 process with hooks did not join', run.stderr)
        self.assertNotIn('nothing was lost', run.stderr)
        loss = json.loads(countrace('report', '--format', 'json',
                                    self.trace).stdout)['loss']
        self.assertEqual(loss['not_joined'], 1)
        self.assertIn('no countrace runtime', loss['messages'][0])

    def test_processes_in_another_recording_share_a_line(self):
        processes = [self.start('long', 1) for _ in range(3)]
        recorder = self.begin(
            '-p', ','.join(str(process.pid) for process in processes))
        for process in processes:
            self.await_joined(process)
        run = countrace('record', *KERNEL, '-a', '--for', '10ms', '-o',
                        self.work / 'second.ctf')
        self.end(recorder)
        lines = [line for line in run.stderr.splitlines()
                 if str(self.trace) in line]
        self.assertEqual(len(lines), 1, run.stderr)
        # Other recordings may run beside.
        count = re.search(r'No user hooks of (\d+) processes', lines[0])
        self.assertGreaterEqual(int(count[1]), 3)

    def test_idle_process_costs_nothing(self):
        process = self.start('long', 100000)
        tasks = pathlib.Path(f'/proc/{process.pid}/task')

        def switches():
            total = {}
            for task in tasks.iterdir():
                status = (task / 'status').read_text(encoding='utf-8')
                name = re.search(r'Name:\s+(\S+)', status)[1]
                count = re.search(r'^voluntary_ctxt_switches:\s+(\d+)',
                                  status, re.M)[1]
                total[name] = int(count)
            return total
        # The thread starts after the page is mapped, and sleeps once.
        wait_until(lambda: switches().get('countrace'), 'a sleeping thread')
        before = switches()
        time.sleep(1.5)  # a thread that polled would have shown it
        self.assertEqual(switches()['countrace'], before['countrace'])

    def test_control_file_goes_with_its_process(self):
        process = self.start('ticks', 1, 10, controlled=False)
        process.wait(timeout=30)
        self.assertFalse(
            pathlib.Path(f'/dev/shm/countrace-control-{process.pid}').exists())
        running = self.start('long', 1)
        for arguments in (('record', *KERNEL, '-a', '--for', '10ms'),
                          ('record', *KERNEL, '--force', '--', 'true'),
                          ('hooks', 'list', '-p', running.pid), ('doctor',)):
            with self.subTest(arguments=arguments):
                killed = self.start('long', 1)
                killed.kill()
                killed.wait()
                self.assertTrue(self.control_file(killed.pid).exists())
                countrace(*arguments, cwd=self.work, check=False)
                self.assertFalse(self.control_file(killed.pid).exists())
        self.assertTrue(self.control_file(running.pid).exists())

    def control_file(self, pid):
        return pathlib.Path(f'/dev/shm/countrace-control-{pid}')

    def test_control_file_of_a_reused_pid_goes(self):
        """What a killed process left under the pid of a process that lives."""
        mapped = self.start('long', 1)
        other = subprocess.Popen(['sleep', '60'])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        left = self.control_file(other.pid)
        self.addCleanup(left.unlink, missing_ok=True)
        page = self.control_file(mapped.pid).read_bytes()
        left.write_bytes(page)
        # Two of other pid namespaces, where their pid is any process: one that
        # is not known, and one that has no process any more. No process has
        # them open.
        foreign, gone = (self.control_file(pid) for pid in (99999999, 99999998))
        for place, number in ((foreign, 0), (gone, 1)):
            self.addCleanup(place.unlink, missing_ok=True)
            place.write_bytes(page[:16] + number.to_bytes(8, 'little') +
                              page[24:])
        countrace('doctor', check=False)
        self.assertFalse(left.exists())
        self.assertFalse(gone.exists())
        self.assertFalse(foreign.exists())
        self.assertTrue(self.control_file(mapped.pid).exists())

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_control_files_of_another_pid_namespace(self):
        """Seen from there, our processes have no number: the page of one that
        lives stays, that of a killed one goes."""
        running, killed = self.start('long', 1), self.start('long', 1)
        killed.kill()
        killed.wait()
        subprocess.run(['unshare', '--pid', '--fork', '--mount-proc',
                        COUNTRACE, 'doctor'], check=False,
                       stdout=subprocess.DEVNULL, timeout=60)
        self.assertTrue(self.control_file(running.pid).exists())
        self.assertFalse(self.control_file(killed.pid).exists())

    def start_below(self, *arguments, **kwargs):
        """The workload as process 1 of a pid namespace; its pid here."""
        outer = self.start('-pf', '--kill-child', '--mount-proc', WORKLOAD,
                           *arguments, program='unshare', controlled=False,
                           **kwargs)
        children = pathlib.Path(f'/proc/{outer.pid}/task/{outer.pid}/children')
        wait_until(lambda: [pid for pid in children.read_text().split() if
                            'countrace-control-' in maps(pid)], 'a control page')
        return int(children.read_text()), outer

    def counters_file(self):
        counters = self.work / 'counters'
        with open(counters, 'wb') as file:
            file.truncate(4096)
        return counters

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_process_one_of_a_pid_namespace(self):
        """It is no fork of our process 1, which has the same number."""
        pid, _ = self.start_below('killed', self.counters_file(), 2,
                                  PAUSE_US)
        listed = countrace('hooks', 'list', '-p', pid).stdout
        self.assertIn('workload:tick', listed)
        wait_until(lambda: all(self.committed()[:2]), 'ticks')
        said = self.record_progress(pid, self.ticks)
        self.assertIn('1 processes with hooks joined', said)
        ticks = by_thread(script(self.trace), 'workload:tick')
        self.assertEqual(len(ticks), 2)
        for numbers in ticks.values():
            self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_a_fork_in_a_pid_namespace(self):
        """Its parent is named by the number that it has here."""
        parent, outer = self.start_below('forked', self.counters_file(),
                                         stdout=subprocess.PIPE)
        outer.stdout.readline()
        children = pathlib.Path(f'/proc/{parent}/task/{parent}/children')
        result = countrace('hooks', 'list', '-p', int(children.read_text()),
                           check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f'was forked by process {parent} and did not exec',
                      result.stderr)

    def test_unfinished_files_of_killed_programs_go(self):
        """Those that are a minute old, or of our pid namespace, or of one that
        has no process any more: in another one this pid may live."""
        own = os.stat('/proc/self/ns/pid').st_ino
        dead = subprocess.Popen(['true'])
        dead.wait()
        places = []
        for name in (f'.countrace-control-new-{dead.pid}',
                     f'countrace-cost-{dead.pid}-abcdef',
                     f'countrace-cost-{os.getpid()}-abcdef',
                     f'countrace-cost-{dead.pid}-young',
                     f'countrace-cost-{dead.pid}-{own}-young',
                     # Also process 1 of a container, of another number here.
                     'countrace-cost-1-1-young'):
            place = pathlib.Path('/dev/shm', name)
            self.addCleanup(subprocess.run, ['rm', '-rf', str(place)],
                            check=True)
            if name.startswith('.'):
                place.touch()
            else:
                place.mkdir()
                (place / 'thread-1').touch()
            if 'young' not in name:
                os.utime(place, (0, 0))
            places.append(place)
        countrace('doctor', check=False)
        # Only the initial pid namespace has all processes.
        initial = own == 4026531836
        self.assertEqual([False, False, True, True, False, not initial],
                         [place.exists() for place in places])


class OtherUsers(Running):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('needs root and setpriv')
        # A folder that user 65534 may read and write.
        self.shared = pathlib.Path(tempfile.mkdtemp(prefix='countrace-e2e-'))
        self.addCleanup(shutil.rmtree, self.shared, ignore_errors=True)
        os.chmod(self.shared, 0o777)
        os.chmod(self.work, 0o755)
        for source in (COUNTRACE, WORKLOAD, LIBRARY):
            shutil.copy(source, self.shared)

    def as_nobody(self):
        os.setgroups([])
        os.setgid(OTHER_USER)
        os.setuid(OTHER_USER)

    def copied(self, path):
        return str(self.shared / pathlib.Path(path).name)

    def test_same_user_without_privilege(self):
        process = self.start('long', 1, program=self.copied(WORKLOAD),
                             environment={'LD_PRELOAD': self.copied(LIBRARY)},
                             preexec_fn=self.as_nobody)
        trace = self.shared / 'other.ctf'
        joined = 'until grep -q "$0.*/thread-" /proc/$1/maps; do sleep 0.01; done'
        run = subprocess.run(
            [self.copied(COUNTRACE), 'record', '-p', str(process.pid), '-o',
             str(trace), '--', 'sh', '-c', joined, str(trace), str(process.pid)],
            text=True, capture_output=True,
            env=dict(os.environ, COUNTRACE_RUNTIME=self.copied(LIBRARY)),
            timeout=60, check=False, preexec_fn=self.as_nobody)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('1 processes with hooks joined', run.stderr)
        self.check_sound(trace)

    def test_root_records_it_and_shuts_the_door_behind(self):
        process = self.start('long', 1, program=self.copied(WORKLOAD),
                             environment={'LD_PRELOAD': self.copied(LIBRARY)},
                             preexec_fn=self.as_nobody)
        trace = self.shared / 'root.ctf'
        for _ in range(2):
            said = self.record_progress(
                process.pid, lambda: self.sleeps(process.pid), '--force',
                trace=trace)
            self.assertIn('1 processes with hooks joined', said)
            self.check_sound(trace)
            self.assertEqual(os.stat(trace).st_mode & 0o7777, 0o700)
            self.assertEqual(os.listxattr(trace), [])
            self.assertIn(f' {process.pid}/', '\n'.join(script(trace)))
            self.assertIn(f'{OTHER_USER}', ' '.join(os.listdir(trace)))
        closed = self.shared / 'closed'
        closed.mkdir(mode=0o700)
        run = self.record(process, '--for', '10ms', trace=closed / 'x.ctf')
        self.assertIn('Permission denied', run.stderr)
        self.assertIn('-o', run.stderr)

    def test_another_users_process_is_refused(self):
        process = self.start('long', 1)
        for arguments in (('hooks', 'disable', '-p', str(process.pid), '*'),
                          ('hooks', 'list', '-p', str(process.pid))):
            run = subprocess.run(
                [self.copied(COUNTRACE), *arguments], text=True,
                capture_output=True, timeout=60, check=False,
                preexec_fn=self.as_nobody)
            self.assertEqual(run.returncode, 5, run.stderr)
            self.assertIn('another user', run.stderr)
        listed = countrace('hooks', 'list', '-p', process.pid, '--format',
                           'json')
        self.assertEqual({'on'}, {hook['state'] for hook in
                                  json.loads(listed.stdout)['hooks']})


class Hooks(Running):
    def hooks(self, process, *arguments):
        run = countrace('hooks', 'list', '-p', process.pid, '--format', 'json',
                        *arguments)
        return json.loads(run.stdout)['hooks']

    def state(self, process, name):
        states = {hook['state'] for hook in self.hooks(process, name)}
        self.assertEqual(len(states), 1, (name, states))
        return states.pop()

    def test_list(self):
        process = self.start('long', 1)
        hooks = self.hooks(process)
        names = {hook['hook'] for hook in hooks}
        self.assertLessEqual({'workload:tick', 'workload:long',
                              'workload:pair'}, names)
        sources = {hook['location'].rsplit(':', 1)[0] for hook in hooks}
        self.assertEqual({pathlib.Path(source).name for source in sources},
                         {'hook_workload.cc'})
        locations = [hook['location'] for hook in hooks]
        self.assertEqual(len(locations), len(set(locations)))
        kinds = {hook['hook']: hook['kind'] for hook in hooks}
        self.assertEqual(kinds['workload:tick'], 'point')
        self.assertEqual(kinds['workload:long'], 'segment')
        self.assertEqual({hook['id'] for hook in hooks}, {'-'})

        recorder = self.begin('-p', str(process.pid))
        self.await_joined(process)
        # tick has two ids: one for each type of its payload.
        recorded = {(hook['hook'], int(hook['id']))
                    for hook in self.hooks(process)}
        self.end(recorder)
        listed = json.loads(countrace('list', 'hooks', self.trace, '--format',
                                      'json').stdout)['hooks']
        self.assertEqual(recorded, {(hook['hook'], hook['id'])
                                    for hook in listed})

    def test_switches_take_effect_at_once(self):
        process = self.start_ticks()
        recorder = self.begin('-p', str(process.pid))
        self.await_joined(process)
        off, on = [], []
        for _ in range(10):
            countrace('hooks', 'disable', '-p', process.pid, '*:tick')
            off.append(self.committed())
            time.sleep(0.01)
            on.append(self.committed())
            countrace('hooks', 'enable', '-p', process.pid, 'work*:ti?k')
            time.sleep(0.01)
        self.end(recorder)
        self.check_sound(self.trace)
        found = by_thread(script(self.trace), 'workload:tick')
        self.assertEqual(len(found), 2)
        spans = sorted(found.values())
        matched = False
        for order in ((0, 1), (1, 0)):
            # A hook in flight while it was switched off may still record.
            matched |= all(
                not any(a[i] + 1 < tick < b[i] for tick in ticks)
                for i, ticks in zip(order, spans) for a, b in zip(off, on))
        self.assertTrue(matched)
        for ticks in spans:
            self.assertEqual(ticks, sorted(set(ticks)))
            gaps = sum(b != a + 1 for a, b in zip(ticks, ticks[1:]))
            self.assertGreaterEqual(gaps, 1)

    def test_disabled_before_a_recording_stays_off(self):
        process = self.start('long', 1)
        countrace('hooks', 'disable', '-p', process.pid, 'workload:long')
        self.assertEqual(self.state(process, 'workload:long'), 'off')
        self.assertEqual(self.state(process, 'workload:tick'), 'on')
        self.record(process, '--for', '30ms')
        self.assertEqual(script(self.trace), [])
        countrace('hooks', 'enable', '-p', process.pid, '*')
        self.record_progress(process.pid, lambda: self.sleeps(process.pid),
                             '--force')
        self.assertNotEqual(script(self.trace), [])

    def test_enable_widens_the_filter_of_its_recording_only(self):
        process = self.start('long', 1)
        recorder = self.begin('-p', str(process.pid), '--hooks',
                              'workload:tick')
        wait_until(lambda: str(self.trace) in countrace(
            'hooks', 'list', '-p', process.pid).stderr, 'joined')
        self.assertEqual(self.state(process, 'workload:long'), 'off')
        self.assertEqual(self.state(process, 'workload:tick'), 'on')
        countrace('hooks', 'enable', '-p', process.pid, '*:long')
        self.assertEqual(self.state(process, 'workload:long'), 'on')
        self.await_joined(process)
        self.end(recorder)
        self.assertIn('workload:long', '\n'.join(script(self.trace)))
        self.record(process, '--for', '30ms', '--hooks', 'workload:tick',
                    '--force')
        self.assertEqual(script(self.trace), [])

    def test_errors(self):
        process = self.start('long', 1)
        plain = subprocess.Popen(['sleep', '100'])
        self.addCleanup(plain.wait)
        self.addCleanup(plain.kill)
        for status, text, arguments in (
                (1, 'no process 99999999', ('list', '-p', '99999999')),
                (1, 'no countrace runtime library', ('list', '-p', plain.pid)),
                (1, 'matches "nothing:*"',
                 ('disable', '-p', process.pid, 'nothing:*')),
                (1, 'matches "nothing:*"',
                 ('list', '-p', process.pid, 'nothing:*')),
                (2, 'not a process id', ('list', '-p', 'me')),
                (2, '-p PID is missing', ('list',)),
                (2, 'say what to do', ('-p', process.pid)),
                (2, 'cannot `toggle`', ('toggle', '-p', process.pid)),
                (2, 'which hooks to enable', ('enable', '-p', process.pid)),
                (1, 'too long', ('enable', '-p', process.pid, 'x' * 300))):
            with self.subTest(arguments=arguments):
                run = countrace('hooks', *arguments, check=False)
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertIn(text, run.stderr)

    def test_many_globs(self):
        process = self.start('long', 1)
        for index in range(64):
            countrace('hooks', 'disable', '-p', process.pid,
                      '*' * (index + 1) + 'long')
        run = countrace('hooks', 'disable', '-p', process.pid, '*:tick',
                        check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("enable", run.stderr)
        countrace('hooks', 'enable', '-p', process.pid, '*')
        countrace('hooks', 'disable', '-p', process.pid, '*:tick')
        self.assertEqual(self.state(process, 'workload:tick'), 'off')


if __name__ == '__main__':
    COUNTRACE, WORKLOAD, LIBRARY = sys.argv[1:4]
    Recording.countrace_program = COUNTRACE
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
