#!/usr/bin/env python3
"""Programs that users run x ways to record them: each does the same work as
without countrace, the counts are the program's own, nothing is left behind.

usage: matrix.py COUNTRACE [--programs A,B] [--modes A,B] [--environments A,B]

Without --programs: those of CI, or all with COUNTRACE_TEST_FULL=1. Prints the
table at the end. Exit: 0 no cell FAILED.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import left_behind
from cells import MODES, Cells, Failed
from programs import PROGRAMS

FULL = bool(os.environ.get('COUNTRACE_TEST_FULL'))
INSIDE = '--inside-of-own-namespaces'
# Where the recorder and the program are.
ENVIRONMENTS = {
    'host': 'both on the host',
    'below': 'the program in pid, mount and user namespaces, the recorder on '
             'the host',
    'container': 'both in a pid and a mount namespace, as root',
    'rootless': 'both in pid, mount and user namespaces',
}


def enter_own_mounts():
    """This program again, in a mount namespace with its own /dev/shm."""
    script = 'mount -t tmpfs none /dev/shm && exec "$@"'
    os.execvp('unshare', ['unshare', '-m', 'sh', '-c', script, 'sh',
                          sys.executable, *sys.argv, INSIDE])


def namespaces(program, kind):
    """The command that makes them, and starts what follows in them."""
    if kind == 'container':
        return ['unshare', '-pfm', '--kill-child', '--mount-proc']
    user = (['--map-user=1000', '--map-group=1000'] if program.drops_root
            else ['-r'])
    return ['unshare', '-U', *user, '-pfm', '--kill-child', '--mount-proc']


class Matrix:
    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-real-'))
        self.work.chmod(0o755)
        self.results = {}  # (program, environment, mode): text

    def run(self):
        try:
            for program in self.options.programs:
                self.run_program(program)
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
        self.print_table()
        return any(text.startswith('FAILED') for text in self.results.values())

    def note(self, program, environment, mode, text):
        self.results[program.name, environment, mode] = text
        print(f'{program.name:10} {environment:10} {mode:9} {text}', flush=True)

    def run_program(self, program):
        cells = [(environment, mode)
                 for environment in self.options.environments
                 for mode in self.options.modes]
        why = program.missing()
        if why is not None:
            for cell in cells:
                self.results[(program.name, *cell)] = '-'
            print(f'{program.name:10} SKIPPED: {why}', flush=True)
            return
        begin = time.monotonic()
        build = self.work / f'{program.name}-build'
        build.mkdir()
        Cells.give(program, build)
        program_build(program, build)
        for environment in self.options.environments:
            before = left_behind.snapshot()
            try:
                if environment in ('host', 'below'):
                    self.run_here(program, build, environment)
                else:
                    self.run_in_namespaces(program, build, environment)
                left = left_behind.left_since(before)
                if left:
                    raise Failed(f'left behind: {left}')
            except (Failed, subprocess.SubprocessError, OSError) as error:
                traceback.print_exc()
                self.note(program, environment, self.options.modes[-1],
                          f'FAILED: {error}')
        shutil.rmtree(build)
        print(f'{program.name:10} took {time.monotonic() - begin:.1f} s',
              flush=True)

    def run_here(self, program, build, environment):
        folder = self.work / f'{program.name}-{environment}'
        prefix = (namespaces(program, environment) if environment == 'below'
                  else [])
        cells = Cells(self.options.countrace, program, build, folder, prefix)
        for mode, text in cells.run(self.options.modes):
            self.note(program, environment, mode, text)

    def run_in_namespaces(self, program, build, environment):
        folder = self.work / f'{program.name}-{environment}'
        answer = self.work / 'answer.jsonl'
        if environment == 'rootless' and program.drops_root:
            # The user there is this one: files of another are closed to it.
            own = self.work / f'{program.name}-own-build'
            build = pathlib.Path(shutil.copytree(build, own))
        command = [*namespaces(program, environment), sys.executable, __file__,
                   str(self.options.countrace), '--programs', program.name,
                   '--modes', ','.join(self.options.modes), '--cells',
                   environment, str(build), str(folder), str(answer)]
        done = subprocess.run(command, timeout=600, check=False)
        lines = answer.read_text().splitlines() if answer.exists() else []
        for line in lines:
            self.note(program, environment, *json.loads(line))
        answer.unlink(missing_ok=True)
        if done.returncode != 0 or len(lines) != len(self.options.modes):
            raise Failed(f'{len(lines)} cells, status {done.returncode}')

    def print_table(self):
        print()
        environments = self.options.environments
        for each in environments:
            print(f'{each}: {ENVIRONMENTS[each]}')
        print()
        widths = [max(8, *(len(self.short(program, each, mode))
                           for program in self.options.programs))
                  for each in environments for mode in self.options.modes]
        columns = [(each, mode) for each in environments
                   for mode in self.options.modes]
        for row in (0, 1):
            cells = [column[row] for column in columns]
            if row == 0:  # an environment once
                cells = [name if i % len(self.options.modes) == 0 else ''
                         for i, name in enumerate(cells)]
            print(f'{"" if row == 0 else "program":10} ' + ' '.join(
                f'{cell:{width}}' for cell, width in zip(cells, widths)))
        for program in self.options.programs:
            print(f'{program.name:10} ' + ' '.join(
                f'{self.short(program, *column):{width}}'
                for column, width in zip(columns, widths)))
        skipped = [each for each in self.options.programs if each.missing()]
        for program in skipped:
            print(f'{program.name}: SKIPPED: {program.missing()}')

    def short(self, program, environment, mode):
        text = self.results.get((program.name, environment, mode), '?')
        return text.partition(':')[0]


def program_build(program, build):
    """As the user that runs the program."""
    if program.drops_root:
        Cells.as_another_user(program.build, build)
    else:
        program.build(build)


def run_cells(options):
    """What the program inside of the namespaces does."""
    program, = options.programs
    environment, build, folder, answer = options.cells
    cells = Cells(options.countrace, program, pathlib.Path(build),
                  pathlib.Path(folder), [], environment)
    with open(answer, 'a', encoding='utf-8') as file:
        for mode, text in cells.run(options.modes):
            file.write(json.dumps([mode, text]) + '\n')
            file.flush()


def require_root_and_own_mounts(options):
    """Ends with SKIPPED, or begins again where nothing else is recorded."""
    for reason, works in (('needs root', os.geteuid() == 0),
                          ('needs bpftool', shutil.which('bpftool')),
                          ('needs unshare', shutil.which('unshare'))):
        if not works:
            print(f'SKIPPED: {reason}')
            sys.exit(0)
    if not options.inside:
        enter_own_mounts()
    left_behind.adopt_orphans()


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('countrace', type=pathlib.Path)
    parser.add_argument('--programs')
    parser.add_argument('--modes', default=','.join(MODES))
    parser.add_argument('--environments', default=','.join(ENVIRONMENTS))
    parser.add_argument('--cells', nargs=4)
    parser.add_argument(INSIDE, action='store_true', dest='inside')
    options = parser.parse_args()
    options.countrace = options.countrace.resolve()
    names = (options.programs.split(',') if options.programs else
             [each.name for each in PROGRAMS if each.in_ci or FULL])
    table = {program.name: program for program in PROGRAMS}
    options.programs = [table[name] for name in names]
    options.modes = options.modes.split(',')
    options.environments = options.environments.split(',')
    return options


def main():
    options = parse()
    if options.cells:
        run_cells(options)
        return
    require_root_and_own_mounts(options)
    sys.exit(Matrix(options).run())


if __name__ == '__main__':
    main()
