#!/usr/bin/env python3
"""A recording begins with what it needs and no more: a kill before and while it
begins leaves a trace that can be read, or none; only the BPF programs that are
used are loaded; the cost of probes is measured once, and the file that keeps it
is believed only if it is of this boot and of this user alone.

usage: recording_start_test.py COUNTRACE PROBED_WORKLOAD
"""
import collections
import contextlib
import json
import os
import pathlib
import platform
import random
import re
import shutil
import subprocess
import sys
import time
import unittest

from trace_checks import FULL, Recording, side_by_side

WORKLOAD = None
ALL = ('--kernel', 'wakeups,syscalls,irq,softirq,faults,block', '--sample',
       '99', '--offcpu', '1ms')
OTHER_USER = 65534
LANES = 2  # of kills, side by side
# Nine numbers: of a probe's parts before, inside and after a call, each with its
# limits. The kernel's would not be these.
KEPT = '101 51 201 303 151 401 505 251 601'


@contextlib.contextmanager
def named(what):
    """Says in what a check failed."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f'{what}: {error}') from error


def program_names(pid):
    """Names of the BPF programs that a process holds."""
    ids = set()
    for info in pathlib.Path(f'/proc/{pid}/fdinfo').iterdir():
        try:
            ids |= set(re.findall(r'^prog_id:\s+(\d+)', info.read_text(), re.M))
        except OSError:  # closed meanwhile
            continue
    text = subprocess.run(['bpftool', '-j', 'prog', 'show'], text=True,
                          capture_output=True, timeout=60, check=True).stdout
    # Some bpftools print whole names, others the 15 bytes that the kernel has.
    return sorted(program['name'][:15] for program in json.loads(text)
                  if str(program['id']) in ids and 'name' in program)


class RecordingStart(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('bpftool')
        self.needs_back_end('bpf')
        shutil.rmtree(self.work / 'trial.ctf')

    def check_killed_trace(self, trace, existed):
        """Returns whether there is one."""
        if not trace.exists():
            self.assertFalse(existed)
            return False
        for verb in ('info', 'report', 'script'):
            self.countrace(verb, trace)
        self.countrace('recover', trace)
        self.countrace('verify', trace)
        self.assertFalse((trace / '.session').exists())
        return True

    def kill_after(self, trace, seconds, *options):
        recorder = subprocess.Popen(
            [self.countrace_program, 'record', '-q', '--force', '-o',
             trace, *ALL, '--hook', f'uprobe:{WORKLOAD}:stepped_300',
             *options, '--', 'sleep', '100'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        recorder.kill()
        recorder.wait()

    def test_a_kill_while_it_begins_leaves_a_trace_or_none(self):
        rounds = (1000 if FULL else 24) // LANES

        def kill_again_and_again(lane):
            generator = random.Random(40 + lane)
            trace, seen = self.work / f'{lane}.ctf', set()
            for index in range(rounds):
                delay = generator.uniform(0.0, 2.0 if FULL else 1.0)
                with named(f'{lane=} {index=} {delay=}'):
                    existed = trace.exists()
                    self.kill_after(trace, delay)
                    seen.add(self.check_killed_trace(trace, existed))
                    if index % 2:
                        shutil.rmtree(trace, ignore_errors=True)
            return seen
        self.assertIn(True, set().union(
            *side_by_side(kill_again_and_again, range(LANES))))

    def begin_under_strace(self, trace, *options):
        calls = trace.parent / 'calls'
        command = ['strace', '-o', calls, *options, self.countrace_program,
                   'record', '-q', '--force', '-o', trace, '--kernel',
                   'syscalls', '--', 'true']
        subprocess.run(command, capture_output=True, timeout=120, check=False)
        text = calls.read_text()
        calls.unlink()
        return text

    def test_a_kill_at_a_call_that_changes_files_leaves_a_trace_or_none(self):
        """Before each of them, with an old trace and without one."""
        self.needs_strace()
        side_by_side(self.kill_at_each_call, (False, True))

    def kill_at_each_call(self, old):
        names = ('mkdir', 'flock', 'fallocate', 'rename', 'renameat2', 'clone',
                 'unlink', 'unlinkat', 'ftruncate')
        lane = self.work / f'old-{old}'
        lane.mkdir()
        trace, kept, folders = lane / 'trace.ctf', self.work / 'kept', set()
        if old:
            self.countrace('record', '-q', '-o', trace, '--', 'true')
            shutil.copytree(trace, kept)
        text = self.begin_under_strace(trace, '-e', 'trace=' + ','.join(names))
        # Until the command is there: the end is another test's.
        text = text.partition('/.session")')[0]
        places = collections.Counter(re.findall(r'^(\w+)\(', text, re.M))
        self.assertGreater(places['rename'], 0)
        for name, most in places.items():
            for count in range(1, most + 1):
                shutil.rmtree(trace, ignore_errors=True)
                if old:
                    shutil.copytree(kept, trace)
                with named(f'{name=} {count=} {old=}'):
                    self.begin_under_strace(
                        trace, '-e',
                        f'inject={name}:signal=KILL:when={count}')
                    self.check_killed_trace(trace, old)
                    folders.update(lane.glob('trace.ctf.new-*'))
        # Some had made a folder that did not have its name yet; the next
        # recording removes it.
        self.assertGreater(len(folders), 1)
        self.countrace('record', '-q', '--force', '-o', trace, '--', 'true')
        self.assertEqual(list(lane.glob('trace.ctf*')), [trace])

    def test_only_folders_of_killed_recorders_are_removed(self):
        pids = []
        for _ in range(3):
            with subprocess.Popen(['true']) as ended:
                pids.append(ended.pid)
        left, filled = (
            self.work / f'{self.trace.name}.new-{pid}' for pid in pids[:2])
        others = self.work / f'other.ctf.new-{pids[2]}'
        living = self.work / f'{self.trace.name}.new-{os.getpid()}'
        named = self.work / f'{self.trace.name}.new-folder'
        for folder in (left, filled, others, living, named):
            folder.mkdir()
        (filled / 'text').write_text('of the user')
        self.countrace('record', '-q', '-o', self.trace, '--', 'true')
        self.assertEqual(set(self.work.iterdir()),
                         {self.trace, filled, others, living, named})

    def test_a_killed_recording_is_replaced(self):
        self.kill_after(self.trace, 0.3)
        self.countrace('record', '-q', '--force', '-o', self.trace, '--',
                       'true')
        self.countrace('verify', self.trace)
        left = [path.name for path in self.work.iterdir()]
        self.assertEqual(left, [self.trace.name])

    def test_a_refused_recording_leaves_the_old_trace_or_none(self):
        self.needs('setpriv')
        # Without capabilities the kernel refuses it after the folder is made.
        refused = ['setpriv', '--bounding-set', '-all', '--inh-caps', '-all',
                   self.countrace_program, 'record', '--force', '-o',
                   self.trace, '--offcpu', '1ms', '--', 'true']

        def refuse():
            run = subprocess.run(refused, text=True, capture_output=True,
                                 timeout=120, check=False)
            self.assertIn('--offcpu', run.stderr)
            self.assertNotEqual(run.returncode, 0)
        refuse()
        self.assertEqual(list(self.work.iterdir()), [])
        self.countrace('record', '-q', '-o', self.trace, '--', 'true')
        old = sorted(self.trace.iterdir())
        refuse()
        self.assertEqual(sorted(self.trace.iterdir()), old)
        self.assertEqual(list(self.work.iterdir()), [self.trace])

    def programs_of(self, *options):
        ready = self.work / 'ready'
        with subprocess.Popen(
                [self.countrace_program, 'record', '-q', '--force', '-o',
                 self.trace, *options, '--', 'sh', '-c',
                 f'echo > {ready}; read line'],
                stdin=subprocess.PIPE) as recorder:
            deadline = time.monotonic() + 60
            while not ready.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            names = program_names(recorder.pid)
        ready.unlink()
        return names

    def test_how_often_the_types_of_the_kernel_are_read(self):
        """Some 15 ms each time: by libbpf, and where wake-ups are recorded for the
        place of the count of interrupts.
        """
        self.needs_strace()
        for options, times in ((('--kernel', 'syscalls,faults'), 1), (ALL, 2)):
            calls = self.work / 'calls'
            subprocess.run(
                ['strace', '-f', '-e', 'trace=openat', '-o', calls,
                 self.countrace_program, 'record', '-q', '--force', '-o', self.trace,
                 *options, '--', 'true'], capture_output=True, timeout=120, check=True)
            self.assertEqual(calls.read_text().count('/sys/kernel/btf/vmlinux"'),
                             times, options)

    def test_only_the_programs_that_are_used_are_loaded(self):
        hooks = {'on_user_probe', 'on_tracepoint', 'on_syscall_ente',
                 'on_irq_enter', 'on_softirq_ente', 'name_code', 'on_waking'}
        probe = ('--hook', f'uprobe:{WORKLOAD}:stepped_300')
        for options, used in (
                ((), set()),
                (('--kernel', 'syscalls'), {'on_syscall_ente'}),
                (probe, {'on_user_probe'}),
                (('--hook', 'tracepoint:sched:sched_process_exec'),
                 {'on_tracepoint'}),
                (('--kernel', 'wakeups', '--sample', '99'),
                 {'on_waking', 'name_code'})):
            with self.subTest(options=options):
                names = self.programs_of(*options)
                self.assertIn('on_switch', names)
                self.assertEqual(hooks & set(names), used)
                # One for all probes.
                of_probes = [name for name in names
                             if name.startswith('on_user_probe')]
                self.assertEqual(len(of_probes), 1 if 'on_user_probe' in used
                                 else 0)


@unittest.skipIf(platform.machine() != 'x86_64',
                 'SKIPPED: the cost of probes is measured on x86-64 alone')
class KeptCosts(Recording):
    """Recordings that see a /run of this test."""

    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('unshare')
        self.needs_back_end('bpf')
        self.run_folder = self.work / 'run'
        self.run_folder.mkdir(mode=0o755)
        self.folder = self.run_folder / 'countrace'
        self.file = self.folder / 'measured'

    def recorded_cost(self, *options):
        """Six numbers of the hook, as the trace has them."""
        script = 'mount --bind "$1" /run && shift && exec "$@"'
        result = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', script, 'sh', self.run_folder,
             self.countrace_program, 'record', '-q', '--force', '-o',
             self.trace, '--hook', f'uprobe:{WORKLOAD}:stepped_300', *options,
             '--', WORKLOAD, '1'], text=True, capture_output=True, timeout=120,
            check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.trace / 'metadata').read_text(encoding='latin-1')
        found = re.findall(r'probe-segment\\t-\\t\w+:stepped_300\\t[^"]*\\t'
                           r'((?: ?\d+){6})"', text)
        self.assertEqual(len(found), 1)
        return found[0].split()

    def falsify(self):
        """Writes costs that the kernel would not have."""
        lines = self.file.read_text().splitlines()
        self.assertEqual(len(lines), 2)
        key, numbers = lines[1].split('\t')
        self.assertEqual(len(numbers.split()), 9)
        self.file.write_text(f'{lines[0]}\n{key}\t{KEPT}\n')

    def is_kept(self, cost):
        # Inside; and before and after together.
        return cost == ['303', '151', '401', '606', '302', '802']

    def test_they_are_measured_once(self):
        self.assertFalse(self.is_kept(self.recorded_cost()))
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.folder.stat().st_mode & 0o777, 0o700)
        self.falsify()
        self.assertTrue(self.is_kept(self.recorded_cost()))
        # Another set of events costs something else.
        kept = self.file.read_text()
        self.assertFalse(self.is_kept(self.recorded_cost('-e', 'task-clock')))
        self.assertIn(kept.splitlines()[1], self.file.read_text())
        self.assertEqual(len(self.file.read_text().splitlines()), 3)
        self.assertEqual([path.name for path in self.folder.iterdir()],
                         ['measured'])

    def test_a_file_that_others_could_write_is_not_believed(self):
        def of_another_user():
            os.chown(self.file, OTHER_USER, OTHER_USER)

        def writable_by_all():
            self.file.chmod(0o666)

        def a_link():
            self.file.rename(self.work / 'elsewhere')
            self.file.symlink_to(self.work / 'elsewhere')

        def a_pipe():
            self.file.unlink()
            os.mkfifo(self.file, 0o600)

        def of_another_boot():
            text = self.file.read_text()
            boot = text.split()[1]
            self.assertEqual(len(boot), 36)
            self.file.write_text(text.replace(boot, boot[::-1], 1))

        def of_another_kernel():
            text = self.file.read_text()
            release = platform.release()
            self.assertIn(release, text.splitlines()[0])
            self.file.write_text(text.replace(release, '1.0.0', 1))

        def damaged():
            self.file.write_text(self.file.read_text().replace(KEPT, KEPT[:-4]))

        def cut():
            text = self.file.read_text()
            self.file.write_text(text[:-1])

        def a_folder_of_another_user():
            os.chown(self.folder, OTHER_USER, OTHER_USER)

        def a_folder_that_all_can_write():
            self.folder.chmod(0o777)

        self.recorded_cost()
        self.falsify()
        believed = shutil.copytree(self.folder, self.work / 'believed')

        def restore():
            shutil.rmtree(self.folder)
            shutil.copytree(believed, self.folder)

        restore()
        self.assertTrue(self.is_kept(self.recorded_cost()))
        for change in (of_another_user, writable_by_all, a_link, a_pipe,
                       of_another_boot, of_another_kernel, damaged, cut,
                       a_folder_of_another_user, a_folder_that_all_can_write):
            with self.subTest(change.__name__):
                restore()
                change()
                self.assertFalse(self.is_kept(self.recorded_cost()))
        # Nothing was written where others can.
        self.assertIn(KEPT, self.file.read_text())


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = map(
        lambda path: str(pathlib.Path(path).resolve()), sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
