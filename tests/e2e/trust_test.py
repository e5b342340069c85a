#!/usr/bin/env python3
"""What another user can do to a recording of root that his program joined, and
to root's programs in it: docs/security.md. Every attack runs as that user.

usage: trust_test.py COUNTRACE HOOK_WORKLOAD RUNTIME_LIBRARY
"""
import fcntl
import mmap
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import running_programs_test as running
from running_programs_test import all_lines, countrace, maps, script, wait_until

WORKLOAD = LIBRARY = None
OTHER_USER = 65534
TICKS = 25

# Run as the other user in each of the folders that he may know of.
ATTACKS = {
    'truncate': '''
for name in ('.session', '.hooks', '.incomplete', '.kernel_hooks'):
    with trial(name):
        os.truncate(path(name), 0)
''',
    'values': '''
with trial('.session'):
    with open(path('.session'), 'r+b') as file:
        for offset in (*range(52, 2048, 4),):
            file.seek(offset)
            file.write(b'\\xff\\xff\\xff\\x7f')
''',
    'lock': '''
for name in ('.hooks', '.incomplete', '.session'):
    with trial(name):
        held.append(open(path(name), 'rb'))
        fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
''',
    'plant': '''
for name in ('cpu-0', 'metadata', 'stranger', '.triggers', '.thread_ids'):
    with trial(name):
        os.mkdir(path(name))
        os.mkfifo(path(name) + '/x')
for name in ('thread-1-0', '.kernel_hooks'):
    with trial(name):
        os.mkfifo(path(name))
for name in ('thread-1-1', 'cpu-1', '.hooks'):
    with trial(name):
        if os.path.exists(path(name)):
            os.unlink(path(name))
        os.symlink('/etc/passwd', path(name))
with trial('thread-1-2'):
    with open(path('thread-1-2'), 'wb') as file:
        file.truncate(4 << 40)
with trial('thread-1-3'):
    os.mkdir(path('thread-1-3'))
    os.mkdir(path('thread-1-3') + '/deep')
with trial('.session'):
    os.rename(path('.session'), path('.gone'))
    os.mkfifo(path('.session'))
''',
    'hooks': '''
with trial('.hooks'):
    with open(path('.hooks'), 'r+b') as file:
        file.truncate(1 << 40)
''',
}

ATTACK = '''
import contextlib, fcntl, os, time
held, done = [], []

@contextlib.contextmanager
def trial(name):
    try:
        yield
        done.append(path(name))
    except OSError as error:
        print('refused', path(name), error, file=out)

for folder in folders:
    path = lambda name: folder + '/' + name
%s
print('done', *done, file=out)
out.close()
time.sleep(1000)
'''


class Trust(running.Running):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: needs root')
        self.bin = self.work / 'bin'
        self.bin.mkdir()
        self.work.chmod(0o755)
        self.others = shutil.copy(WORKLOAD, self.bin)
        self.others_library = shutil.copy(LIBRARY, self.bin)
        self.recorder = None

    def as_other_user(self):
        os.setgroups([])
        os.setgid(OTHER_USER)
        os.setuid(OTHER_USER)

    def start_other(self, *arguments, **kwargs):
        return self.start(*arguments, program=self.others,
                          environment={'LD_PRELOAD': self.others_library},
                          preexec_fn=self.as_other_user, **kwargs)

    def begin_with(self, *processes, options=()):
        """A recording of root that these processes take part in."""
        self.recorder = self.begin(
            '-p', ','.join(str(process.pid) for process in processes),
            *options)
        try:
            for process in processes:  # and a hook ran
                wait_until(lambda process=process: re.search(
                    rf'{self.trace}\S*/thread-', maps(process.pid)), 'joined')
        except AssertionError as never:
            self.recorder.terminate()
            raise AssertionError(self.recorder.communicate()) from never

    def folders(self, process):
        """What the other user learns from his own process."""
        found = {str(self.trace)}
        for line in maps(process.pid).splitlines():
            match = re.search(rf'({self.trace}.*)/[^/]+$', line)
            if match:
                found.add(match[1])
        return sorted(found)

    def attack(self, kind, process):
        code = ATTACK % '\n'.join(
            '    ' + line for line in ATTACKS[kind].splitlines())
        reading, writing = os.pipe()
        # A fork: that user may not be allowed to start our interpreter.
        attacker = os.fork()
        if attacker == 0:
            try:
                os.close(reading)
                self.as_other_user()
                with open(writing, 'w', encoding='utf-8') as out:
                    exec(code, {'folders': self.folders(process),
                                'out': out})
            finally:
                os._exit(1)
        os.close(writing)
        self.addCleanup(os.waitpid, attacker, 0)
        self.addCleanup(os.kill, attacker, signal.SIGKILL)
        with open(reading, encoding='utf-8') as answers:
            done = answers.readlines()[-1]
        self.assertTrue(done.startswith('done'), 'the attack did not run')
        # Nothing in root's own folder.
        for place in done.split()[1:]:
            self.assertNotEqual(pathlib.Path(place).parent, self.trace)

    def check_roots_program(self):
        """It starts, runs and ends as without the attack."""
        program = subprocess.Popen(
            [WORKLOAD, 'ticks', '1', str(TICKS)], stdout=subprocess.DEVNULL,
            env=dict(os.environ, LD_PRELOAD=LIBRARY,
                     COUNTRACE_SESSION=str(self.trace)))
        self.addCleanup(program.kill)
        self.assertEqual(program.wait(timeout=20), 0)
        return program.pid

    def finish(self):
        self.recorder.send_signal(signal.SIGINT)
        _, errors = self.recorder.communicate(timeout=60)
        self.assertIn(self.recorder.returncode, (0, 1), errors)
        self.assertIn('sound', countrace('verify', self.trace).stdout)
        babeltrace = subprocess.run(['babeltrace2', str(self.trace)], text=True,
                                    capture_output=True, timeout=120,
                                    check=False)
        self.assertEqual(len(babeltrace.stdout.splitlines()),
                         len(all_lines(self.trace)))
        # It may warn of what the other user did to his own records.
        for line in babeltrace.stderr.splitlines():
            self.assertRegex(line, rf'^$|thread-\d+-\d+-{OTHER_USER}')
        self.assertEqual(os.stat(self.trace).st_mode & 0o7777, 0o700)
        self.assertEqual(os.listxattr(self.trace), [])
        return errors

    def check_roots_records(self, pid):
        ticks = [int(match[1]) for match in (
            re.match(rf'\[\S+\] {pid}/\d+ workload:tick: '
                     r'\{ arg0 = (\d+) \}', line)
            for line in script(self.trace)) if match]
        self.assertEqual(ticks, list(range(TICKS)))

    def check_attack(self, kind):
        root, other = self.start('long', 1), self.start_other('long', 1)
        self.begin_with(root, other)
        self.attack(kind, other)
        pid = self.check_roots_program()
        self.assertIsNone(root.poll())
        self.assertIsNone(self.recorder.poll())
        errors = self.finish()
        self.check_roots_records(pid)
        self.assertIsNone(root.poll())
        return errors

    def test_files_cut_to_nothing(self):
        self.check_attack('truncate')

    def test_values_of_the_session(self):
        self.check_attack('values')

    def test_locks_that_are_held(self):
        self.check_attack('lock')

    def test_planted_files(self):
        errors = self.check_attack('plant')
        for name in ('thread-1-0', 'thread-1-1', 'thread-1-3'):
            self.assertIn(name, errors)

    def test_an_endless_list_of_hooks(self):
        self.check_attack('hooks')

    def test_recorder_killed(self):
        other = self.start_other('long', 1)
        self.begin_with(other)
        pid = self.check_roots_program()
        self.recorder.kill()
        self.recorder.wait()
        wait_until(lambda: f'{self.trace}' not in maps(other.pid), 'left')
        self.assertIn('.user-65534', countrace('report', self.trace).stdout)
        countrace('recover', self.trace)
        self.check_roots_records(pid)
        self.assertIn(f' {other.pid}/', '\n'.join(script(self.trace)))
        self.assertEqual(os.stat(self.trace).st_mode & 0o7777, 0o700)

    def test_snapshot(self):
        other = self.start_other('long', 1)
        self.begin_with(other)
        pid = self.check_roots_program()
        taken = self.work / 'taken.ctf'
        countrace('snapshot', self.trace, '-o', taken)
        self.assertIn(f' {other.pid}/', '\n'.join(script(taken)))
        errors = self.finish()
        self.assertIn('nothing was lost', errors)
        self.check_roots_records(pid)

    def test_a_flight_recording_refuses_other_users(self):
        other = self.start_other('long', 1)
        run = self.record(other, '--flight', '1M', '--for', '10ms')
        self.assertIn(f'belongs to user {OTHER_USER}', run.stderr)
        self.assertIn('1 process with hooks did not join', run.stderr)
        self.assertNotIn('nothing was lost', run.stderr)

    def test_the_control_page_of_a_killed_program(self):
        other = self.start_other('long', 1)
        page = pathlib.Path(f'/dev/shm/countrace-control-{other.pid}')
        record = ('record', '-q', '--no-kernel', '--force', '-o', self.trace,
                  '--', 'true')
        countrace(*record)
        self.assertTrue(page.exists())
        other.kill()
        other.wait()
        self.assertTrue(page.exists())
        countrace(*record)
        self.assertFalse(page.exists())

    def test_a_control_page_that_its_user_locks(self):
        other = self.start_other('long', 1)
        with open(f'/dev/shm/countrace-control-{other.pid}', 'rb') as page:
            fcntl.flock(page, fcntl.LOCK_EX)
            run = countrace('record', '--no-kernel', '-a', '--for', '10ms',
                            '-o', self.trace)
        self.assertIn(f'process {other.pid}, whose control page', run.stderr)
        self.assertRegex(run.stderr, r'\d+ process(es)? with hooks did not join')

    def test_a_control_page_that_its_user_leases(self):
        """An open of a leased file waits for its owner, up to 45 s."""
        reading, writing = os.pipe()
        owner = os.fork()
        if owner == 0:
            try:
                self.as_other_user()
                signal.signal(signal.SIGIO, signal.SIG_IGN)
                path = f'/dev/shm/countrace-control-{os.getpid()}'
                page = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                os.ftruncate(page, 1 << 20)
                mapped = mmap.mmap(page, 1 << 20)
                fcntl.fcntl(page, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                os.write(writing, b'leased')
                time.sleep(1000)
                mapped.close()
            finally:
                os._exit(1)
        os.close(writing)
        self.addCleanup(pathlib.Path(f'/dev/shm/countrace-control-{owner}')
                        .unlink, missing_ok=True)
        self.addCleanup(os.waitpid, owner, 0)
        self.addCleanup(os.kill, owner, signal.SIGKILL)
        with open(reading, 'rb') as answer:
            self.assertEqual(b'leased', answer.read(6))
        run = subprocess.run(
            [running.COUNTRACE, 'record', '--no-kernel', '-a', '--for', '10ms',
             '-o', self.trace], text=True, capture_output=True, timeout=30,
            check=False)
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertIn(f'process {owner}', run.stderr)

    def test_a_held_lock_does_not_keep_programs_from_starting(self):
        other = self.start_other('long', 1)
        self.begin_with(other)
        folder = self.folders(other)[-1]
        self.attack('lock', other)
        late = subprocess.Popen(
            [self.others, 'ticks', '1', str(TICKS)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=self.as_other_user,
            env=dict(os.environ, LD_PRELOAD=self.others_library,
                     COUNTRACE_SESSION=folder))
        self.addCleanup(late.kill)
        self.assertEqual(late.wait(timeout=20), 0)
        self.assertRegex(self.finish(), 'no_resource.*lock')


if __name__ == '__main__':
    running.COUNTRACE, running.WORKLOAD, running.LIBRARY = sys.argv[1:4]
    running.Recording.countrace_program = running.COUNTRACE
    WORKLOAD, LIBRARY = sys.argv[2:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
