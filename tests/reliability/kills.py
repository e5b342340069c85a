#!/usr/bin/env python3
"""Recorder, program, both or their process groups are killed (SIGKILL) at a
random moment, over the same programs, modes and environments as the matrix. A
killed recorder's program does its work, its code is as in its file, there is a
trace that can be read or none, and once the next countrace command has run
nothing is left.

usage: kills.py COUNTRACE [--hooked HOOK_WORKLOAD] [--rounds N]
                [--programs A,B] [--modes A,B] [--seed N]

The modes `everything`, `dwarf` and `flight` record all that can be recorded;
half of their rounds kill in the first two seconds, while the recording begins.
Without --rounds: 20, or 1,000 with COUNTRACE_TEST_FULL=1. A failed round prints
what repeats it. Exit: 0 none failed.
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import campaign

sys.path.insert(0, str(campaign.HERE.parent / 'real'))
import left_behind  # noqa: E402
import matrix  # noqa: E402
from cells import Cells, Failed, check_equal  # noqa: E402
from programs import PROGRAMS, Hooked  # noqa: E402

# With all that can be recorded, in three ways.
FULLEST = {
    'everything': (),
    'dwarf': ('--call-graph', 'dwarf'),
    'flight': ('--flight', '16M', '--snapshots', '64M', '--trigger',
               'segment syscall:* > 1ms at most every 1s')}
EVERYTHING = ('--kernel', 'syscalls,faults,wakeups,irq,softirq,block',
              '--sample', '199', '--offcpu', '1ms', '--wakeup-stacks')
BEGINNING = 2  # seconds
MODES = ('plain', '-p', '-a', 'syscalls', 'uprobe', 'all', *FULLEST)
ENVIRONMENTS = ('host', 'below', 'container')
VICTIMS = ('recorder', 'program', 'both', 'group')
OF_COUNTRACE = ('countrace', 'unshare')
PATIENCE = 60  # seconds


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended meanwhile


def group_of(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None  # it has ended meanwhile


def offset_of(countrace, file, function):
    listed = subprocess.run(
        [str(countrace), 'list', 'functions', file, function, '--format',
         'csv'], text=True, capture_output=True, check=True).stdout
    return int(listed.splitlines()[1].split(',')[-1], 0)


class Site:
    """What rounds of a program in an environment have in common."""

    def __init__(self, countrace, program, build, folder, environment):
        prefix = (matrix.namespaces(program, 'below')
                  if environment == 'below' else [])
        self.around = (matrix.namespaces(program, 'container')
                       if environment == 'container' else [])
        self.cells = Cells(countrace, program, build, folder, prefix)
        self.program = program
        begin = time.monotonic()
        self.cells.run_reference()
        self.seconds = time.monotonic() - begin
        file, _, function = program.probe(build).rpartition(':')
        self.probe = f'uprobe:{file}:{function}'
        self.file = file
        self.offset = offset_of(countrace, file, function)

    def options(self, mode):
        if mode in FULLEST:
            return [*EVERYTHING, '--hook', self.probe, *FULLEST[mode]]
        return {'syscalls': ['--kernel', 'syscalls'],
                'uprobe': ['--hook', self.probe],
                'all': ['--kernel', 'syscalls,faults,irq,softirq', '--hook',
                        self.probe, '--hook',
                        'tracepoint:sched:sched_process_exec']}.get(mode, [])


class Kills:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-real-'))
        self.work.chmod(0o755)
        self.sites = {}
        self.builds = {}
        self.done = collections.Counter()
        self.memory = []  # KiB of each killed recorder
        self.disk = 0  # bytes of a trace at most

    def run(self):
        programs = []
        for program in self.options.programs:
            why = program.missing()
            if why is None:
                programs.append(program)
            else:
                print(f'{program.name:10} SKIPPED: {why}')
        failed = 0
        try:
            self.before = left_behind.snapshot()
            self.check_detectors()
            for number in range(self.options.rounds if programs else 0):
                failed += not self.one(number, programs)
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
        for (victim, mode), count in sorted(self.done.items()):
            print(f'{victim:9} {mode:9} {count:5}')
        campaign.print_line(
            'kills', seed=self.options.seed, rounds=sum(self.done.values()),
            failed=failed, memory=self.memory, disk=self.disk)
        return failed

    def check_detectors(self):
        """What the rounds look for is seen while a recording goes on."""
        file, function = '/usr/bin/python3', 'PyOS_double_to_string'
        offset = offset_of(self.options.countrace, file, function)
        program = subprocess.Popen([file, '-c', 'input()'],
                                   stdin=subprocess.PIPE)
        recorder = subprocess.Popen(
            [str(self.options.countrace), 'record', '-q', '--force', '-o',
             str(self.work / 'detected.ctf'), '--hook',
             f'uprobe:{file}:{function}', '-p', str(program.pid)])
        deadline = time.monotonic() + PATIENCE
        while True:
            kinds = {each[0] for each in left_behind.snapshot() - self.before}
            if (left_behind.patched(program.pid, file, offset)
                    and {'prog', 'link', 'map'} <= kinds
                    and left_behind.foreign_descriptors(recorder.pid)):
                break
            if time.monotonic() > deadline or recorder.poll() is not None:
                raise Failed(f'a recording is not seen: {kinds}')
            time.sleep(0.02)
        program.communicate(b'\n')
        recorder.wait()
        left = left_behind.left_since(self.before)
        if left:
            raise Failed(f'left behind: {left}')

    def site(self, program, environment):
        key = program.name, environment
        if key not in self.sites:
            if program.name not in self.builds:
                build = self.work / f'{program.name}-build'
                build.mkdir()
                Cells.give(program, build)
                matrix.program_build(program, build)
                self.builds[program.name] = build
            self.sites[key] = Site(
                self.options.countrace, program, self.builds[program.name],
                self.work / f'{program.name}-{environment}', environment)
        return self.sites[key]

    def one(self, number, programs):
        program = self.random.choice(programs)
        environment = self.random.choice(ENVIRONMENTS)
        mode = self.random.choice(self.options.modes)
        victim = self.random.choice(VICTIMS)
        moment = self.random.random()
        early = mode in FULLEST and self.random.random() < 0.5
        what = (f'round {number}: {program.name} {environment} {mode}, '
                f'{victim} killed')
        try:
            site = self.site(program, environment)
            seconds = 0.2 + 1.3 * site.seconds
            if mode in FULLEST:
                seconds = BEGINNING + (0 if early else seconds)
            after = moment * seconds
            what += f' after {after:.3f} s'
            self.kill(site, mode, victim, after)
        except (Failed, OSError, subprocess.SubprocessError) as error:
            print(f'{what}: FAILED: {type(error).__name__} {error}', flush=True)
            self.end_all()
            self.before |= left_behind.snapshot()  # what is left is known now
            return False
        finally:
            self.done[victim, mode] += 1
        if self.options.rounds < 100 or number % 50 == 49:
            print(f'{what}: ok', flush=True)
        return True

    def kill(self, site, mode, victim, after):
        cells = site.cells
        for trace in cells.folder.glob(f'*{cells.trace.name}*'):
            shutil.rmtree(trace, ignore_errors=True)
        command = cells.command()
        output = cells.folder / 'output'
        record = [str(cells.countrace_program), 'record', '-q', '--force',
                  '-o', str(cells.trace), *site.options(mode)]
        with open(output, 'w', encoding='utf-8') as file:
            common = {'stdin': subprocess.DEVNULL, 'stdout': file,
                      'stderr': subprocess.DEVNULL, 'cwd': cells.folder,
                      # As a shell does; killed as one by victim `group`.
                      'preexec_fn': os.setpgrp}
            if mode in ('-p', '-a'):
                own = subprocess.Popen(command, **common)
                who = ['-a'] if mode == '-a' else ['-p', str(own.pid)]
                if site.around:  # its processes are not in that namespace
                    who = ['-a']
                children = [own, subprocess.Popen(
                    [*site.around, *record, *who], **common)]
            else:
                children = [subprocess.Popen(
                    [*site.around, *record, '--', *command], **common)]
        time.sleep(after)
        self.memory += [kib for pid, name in left_behind.descendants().items()
                        if name == 'countrace'
                        and (kib := campaign.own_memory_kib(pid)) is not None]
        self.strike(victim)
        if victim == 'recorder':
            self.check_code(site)
        self.end(children, victim)
        self.check_output(site, output, victim, mode)
        self.next_command(cells)
        left = left_behind.left_since(self.before)
        if left:
            raise Failed(f'left behind: {left}')

    def strike(self, victim):
        if victim == 'group':
            groups = {group_of(pid) for pid in left_behind.descendants()}
            for group in groups - {None, os.getpgrp()}:
                send(-group, signal.SIGKILL)
            return
        for pid, name in left_behind.descendants().items():
            if name == 'countrace' and victim == 'program':
                continue
            if name not in OF_COUNTRACE and victim == 'recorder':
                continue
            if name == 'unshare' and victim != 'both':
                continue
            send(pid, signal.SIGKILL)

    def check_code(self, site):
        """Of the programs that go on without their recorder."""
        deadline = time.monotonic() + PATIENCE
        while True:
            alive = left_behind.descendants()
            recorders = [name for name in alive.values() if name == 'countrace']
            bad = []
            for pid in alive:
                try:
                    if left_behind.foreign_descriptors(pid):
                        bad.append((pid, 'descriptors'))
                    if left_behind.patched(pid, site.file, site.offset):
                        bad.append((pid, 'uprobe'))
                except (OSError, ValueError):
                    pass  # it has ended
            if not recorders and not bad:
                return
            if time.monotonic() > deadline:
                raise Failed(f'in the programs: {bad} {alive}')
            time.sleep(0.01)

    def end(self, children, victim):
        """All end by themselves; a recorder of the machine is interrupted."""
        deadline = time.monotonic() + PATIENCE
        while True:
            for child in children:
                child.poll()
            alive = left_behind.descendants()
            # And what was forked meanwhile, or is in no group of ours.
            if victim != 'recorder':
                self.strike('both' if victim == 'group' else victim)
            if not alive and not left_behind.descendants():
                return
            if set(alive.values()) <= set(OF_COUNTRACE):
                for pid, name in alive.items():
                    if name == 'countrace':
                        send(pid, signal.SIGINT)
                time.sleep(0.1)
            if time.monotonic() > deadline:
                raise Failed(f'still there: {alive}')
            left_behind.reap()
            time.sleep(0.01)

    def end_all(self):
        for pid in left_behind.descendants():
            send(pid, signal.SIGKILL)

    def check_output(self, site, output, victim, mode):
        text = output.read_text()
        if victim != 'recorder':
            return
        if mode not in ('-p', '-a') and (not text or site.around):
            # Killed before the program began; or as process 1 of a container,
            # with which the kernel ends the program, whatever it had written.
            return
        check_equal(site.program.output(text), site.cells.output, 'output')

    def next_command(self, cells):
        run = cells.execute([cells.countrace_program, *self.random.choice((
            ('doctor',),
            ('record', '-q', '--force', '-o', cells.folder / 'next.ctf', '--',
             'true')))])
        if run.returncode not in (0, 1, 5):
            raise Failed(f'the next command: {run.returncode} {run.stderr}')
        for trace in self.traces(cells):
            self.disk = max(self.disk, campaign.disk_bytes(trace))
            verbs = ['info', 'report', 'verify']
            if (trace / '.incomplete').exists():
                # As it was left, and recovered.
                verbs = ['report', 'recover', *verbs]
            for verb in verbs:
                run = cells.execute([cells.countrace_program, verb, trace])
                check_equal(run.returncode, 0,
                            f'{verb} {trace.name}: {run.stdout} {run.stderr} '
                            f'{sorted(os.listdir(trace))}')

    @staticmethod
    def traces(cells):
        """With snapshots; not the folder of one that had no name yet, which
        the next recording removes."""
        return sorted(trace for trace in
                      cells.folder.glob(f'*{cells.trace.name}*')
                      if '.new-' not in trace.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('countrace', type=pathlib.Path)
    parser.add_argument('--rounds', type=int,
                        default=1000 if matrix.FULL else 20)
    parser.add_argument('--seed', type=int, default=1729)
    parser.add_argument('--modes', default=','.join(MODES))
    parser.add_argument('--programs')
    parser.add_argument('--hooked', type=pathlib.Path)
    parser.add_argument(matrix.INSIDE, action='store_true', dest='inside')
    options = parser.parse_args()
    options.countrace = options.countrace.resolve()
    options.modes = options.modes.split(',')
    names = (options.programs.split(',') if options.programs else
             [each.name for each in PROGRAMS if each.in_ci or matrix.FULL])
    options.programs = [each for each in PROGRAMS if each.name in names]
    if options.hooked:
        options.programs.append(Hooked(options.hooked.resolve()))
    matrix.require_root_and_own_mounts(options)
    sys.exit(1 if Kills(options).run() else 0)


if __name__ == '__main__':
    main()
