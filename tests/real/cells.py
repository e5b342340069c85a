"""One program in one environment: run as it is, then recorded in each mode, and
compared.

Every check that fails raises Failed with both numbers.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

MODES = ('plain', '-p', '-a', 'syscalls', 'uprobe')
ACCOUNTS = ('processes', 'own', 'idle', 'interrupts', 'outside',
            'unattributed')
HERE = pathlib.Path(__file__).resolve().parent
UNPRIVILEGED = 65534
TIMEOUT = 120
# strace counts calls that return.
NOT_IN_STRACE = ('exit', 'exit_group')


class Failed(Exception):
    pass


def check_equal(ours, theirs, what):
    if ours != theirs:
        raise Failed(f'{what}: {ours!r}, not {theirs!r}')


def check_between(value, limits, what):
    if not limits[0] <= value <= limits[1]:
        raise Failed(f'{what}: {value}, not in {limits}')


class Cells:
    def __init__(self, countrace, program, build, folder, prefix,
                 environment='host'):
        self.countrace_program = countrace
        self.program = program
        self.build = build
        self.folder = folder  # does not exist yet
        self.prefix = list(prefix)
        self.rootless = environment == 'rootless'
        self.trace = folder / 'trace.ctf'
        self.err = ''
        folder.mkdir()

    @staticmethod
    def give(program, path):
        """Makes a new file or folder that of the user who runs the program."""
        if program.drops_root and os.geteuid() == 0:
            os.chown(path, UNPRIVILEGED, UNPRIVILEGED)

    @staticmethod
    def as_another_user(action, *arguments):
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
                os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
                action(*arguments)
            except BaseException as error:  # this process must not return
                print(error, getattr(error, 'stderr', ''), file=sys.stderr)
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            raise Failed('could not be built')

    def command(self):
        """A new run, with a new folder."""
        run = self.folder / 'run'
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        program = self.program
        command = program.command(self.build, run,
                                  bool(self.prefix) or self.rootless)
        if program.drops_root and os.geteuid() == 0:
            if self.prefix:
                # The user inside is this one.
                return [*self.prefix, *command]
            for path in (run, *run.rglob('*')):
                os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
            return ['setpriv', f'--reuid={UNPRIVILEGED}', f'--regid={UNPRIVILEGED}',
                    '--clear-groups', *command]
        return [*self.prefix, *command]

    def execute(self, command, **kwargs):
        return subprocess.run(list(map(str, command)), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT, check=False, cwd=self.folder,
                              **kwargs)

    def record(self, *arguments):
        run = self.execute([self.countrace_program, 'record', '--force', '-o',
                            self.trace, '--kernel-ring', '32M', *arguments])
        self.err = run.stderr
        return run

    def report(self, *options):
        run = self.execute([self.countrace_program, 'report', '--format',
                            'json', *options, self.trace])
        check_equal(run.returncode, 0, f'report {run.stderr}')
        return json.loads(run.stdout)

    # ---- the run that all others are compared with

    def run_reference(self):
        run = self.execute(self.command())
        check_equal(run.returncode, self.program.status,
                    f'status without countrace ({run.stdout} {run.stderr})')
        self.output = self.program.output(run.stdout)
        expected = self.program.expected_work()
        if expected is not None:
            check_equal(self.program.work(run.stdout), expected, 'own count')

    def check_unchanged(self, status, text):
        """Returns its own count."""
        check_equal(status, self.program.status, f'exit status ({self.err})')
        check_equal(self.program.output(text), self.output, 'output')
        return self.program.work(text)

    def run(self, modes):
        """(mode, result) of each."""
        try:
            self.run_reference()
        except (Failed, OSError, subprocess.SubprocessError) as error:
            yield from ((mode, f'FAILED: {error}') for mode in modes)
            return
        for mode in modes:
            try:
                text = self.run_mode(mode)
            except (Failed, OSError, subprocess.SubprocessError, KeyError,
                    ValueError) as error:
                text = f'FAILED: {type(error).__name__} {error} {self.err}'
            shutil.rmtree(self.trace, ignore_errors=True)
            yield mode, text

    def run_mode(self, mode):
        if mode == 'plain':
            return self.plain()
        if mode == 'syscalls':
            return self.syscalls()
        if mode == 'uprobe':
            return self.uprobe()
        return self.running(mode)

    # ---- checks of each trace

    def checked_report(self, *options):
        run = self.execute([self.countrace_program, 'verify', self.trace])
        check_equal(run.returncode, 0, f'verify {run.stdout} {run.stderr}')
        data = self.report(*options)
        for event, books in data.get('books', {}).items():
            check_equal(books['residual'], 0, f'residual of {event}')
            check_equal(sum(books[name] for name in ACCOUNTS), books['total'],
                        f'book of {event}')
        if 'loss' in data:
            check_equal(sum(data['loss']['by_cause'].values()),
                        data['loss']['discarded_events'], 'losses')
        return data

    def lossless(self, data):
        lost = data['loss']['discarded_events'] > 0
        check_equal(data['loss']['text'] in self.err, True,
                    f'message of losses: {self.err}')
        return not lost

    def refused(self, run, message):
        check_equal(run.returncode, 5, f'status ({run.stderr})')
        if message not in run.stderr:
            raise Failed(f'no "{message}" in {run.stderr}')
        if self.trace.exists():
            raise Failed('a refused recording left a trace')
        return 'refused'

    # ---- modes

    def measured(self, gate):
        result = self.folder / 'accounts.json'
        result.unlink(missing_ok=True)
        return result, [sys.executable, HERE / 'measured.py', gate, result]

    def plain(self):
        result, wrapper = self.measured('-')
        run = self.record('--', *wrapper, *self.command())
        work = self.check_unchanged(run.returncode, run.stdout)
        if self.rootless:
            if 'No kernel records' not in run.stderr:
                raise Failed(f'no word of missing records: {run.stderr}')
            self.checked_report()
            return 'hooks'
        data = self.checked_report()
        rows = data['processes']
        pids = {row['pid'] for row in rows}
        if not self.lossless(data):  # a fork, perhaps: a second root
            return 'ok (lost some)'
        root, = [row['pid'] for row in rows if row['parent_pid'] not in pids]
        return self.check_accounts(data, root, result, work)

    def running(self, option):
        """Attached to a process that waits until the recording has begun."""
        gate, end = self.folder / 'gate', self.folder / 'end'
        for fifo in (gate, end):
            fifo.unlink(missing_ok=True)
            os.mkfifo(fifo)
        result, wrapper = self.measured(gate)
        output = self.folder / 'output'
        with open(output, 'w', encoding='utf-8') as file:
            program = subprocess.Popen(
                [*wrapper, *self.command()], stdin=subprocess.DEVNULL,
                stdout=file, cwd=self.folder)
        who = ['-p', program.pid] if option == '-p' else ['-a']
        recorder = subprocess.Popen(
            [str(self.countrace_program), 'record', '--force', '-o',
             str(self.trace), '--kernel-ring', '32M', *map(str, who), '--',
             'sh', '-c', 'echo >gate; read x <end'], text=True,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder)
        if self.rootless:
            self.err = recorder.communicate(timeout=TIMEOUT)[1]
            text = self.refused(
                subprocess.CompletedProcess([], recorder.returncode,
                                            stderr=self.err),
                'No kernel records')
            gate.write_text('go\n')  # waits for the reader
            program.wait(timeout=TIMEOUT)
            self.check_unchanged(program.returncode, output.read_text())
            return text
        program.wait(timeout=TIMEOUT)
        release = os.open(end, os.O_RDWR)  # needs no reader
        os.write(release, b'\n')
        self.err = recorder.communicate(timeout=TIMEOUT)[1]
        os.close(release)
        check_equal(recorder.returncode, 0, f'status of record ({self.err})')
        work = self.check_unchanged(program.returncode, output.read_text())
        return self.check_accounts(self.checked_report(), program.pid, result,
                                   work)

    def check_accounts(self, data, root, result, work):
        """CPU time and faults against what wait(2) says."""
        accounts = json.loads(result.read_text())
        tree, rows = {root}, []
        while True:
            more = [row for row in data['processes']
                    if row['parent_pid'] in tree and row['pid'] not in tree]
            if not more:
                break
            tree |= {row['pid'] for row in more}
            rows += more
        if self.program.comm not in {row['comm'] for row in rows}:
            raise Failed(f'no {self.program.comm} in '
                         f'{sorted({row["comm"] for row in rows})}')
        if not self.lossless(data):
            return 'ok (lost some)'
        expected = self.program.processes(work)
        if expected is not None:
            check_equal(len(rows), expected + bool(self.prefix), 'processes')
        # Exec copies its arguments into the new stack: a fault for wait(2),
        # none for perf.
        faults = sum(row['counts']['page-faults'] for row in rows)
        check_between(accounts['faults'] - faults,
                      (0, 4 * len(rows) + accounts['faults'] // 100),
                      f'page faults fewer than {accounts["faults"]}')
        # A thread's last switch is after its last account; wait(2) has us.
        time = sum(row['counts']['exec-runtime'] for row in rows)
        threads = sum(row['threads'] for row in rows)
        exact = all(row['quality'] == 'exact' for row in rows)
        doubt = 100_000 * threads + accounts['cpu_ns'] // (500 if exact else 20)
        check_between(time - accounts['cpu_ns'], (-doubt, doubt),
                      f'exec-runtime more than {accounts["cpu_ns"]}')
        return 'ok'

    def syscalls(self):
        run = self.record('--kernel', 'syscalls', '--', *self.command())
        if self.rootless:
            return self.refused(run, 'Cannot record --kernel syscalls')
        work = self.check_unchanged(run.returncode, run.stdout)
        data = self.checked_report()
        lossless = self.lossless(data)
        succeeded, calls = {}, {}
        for row in data['segments']:
            name = row['segment'].removeprefix('syscall:')
            key = row['comm'], name
            succeeded[key] = (succeeded.get(key, 0) + row['calls']
                              - row['failed'])
            calls[name] = calls.get(name, 0) + row['calls']
        for key, (least, most) in self.program.calls(work).items():
            check_between(succeeded.get(key, 0),
                          (least if lossless else 0, most), f'calls {key}')
        if lossless and self.program.repeats_calls:
            self.check_like_strace(calls)
        return 'ok' if lossless else 'ok (lost some)'

    def check_like_strace(self, calls):
        """Under strace with the same environment, hooks alone recorded."""
        summary = self.folder / 'strace.out'
        run = self.record('--no-kernel', '--', 'strace', '-c', '-f', '-o',
                          summary, *self.command())
        self.check_unchanged(run.returncode, run.stdout)
        theirs = {}
        for line in summary.read_text().splitlines():
            found = re.match(r'\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?'
                             r'([a-z]\w*)$', line)
            if found and found.group(2) != 'total':
                theirs[found.group(2)] = int(found.group(1))
        ours = {name: count for name, count in calls.items()
                if name not in NOT_IN_STRACE}
        check_equal({name: ours.get(name, 0) for name in theirs | ours
                     if ours.get(name) != theirs.get(name)},
                    {name: theirs.get(name, 0) for name in theirs | ours
                     if ours.get(name) != theirs.get(name)}, 'like strace')

    def uprobe(self):
        file, _, function = self.program.probe(self.build).rpartition(':')
        run = self.record('--hook', f'uprobe:{file}:{function}', '--',
                          *self.command())
        if self.rootless:
            return self.refused(run, 'Cannot record --hook')
        work = self.check_unchanged(run.returncode, run.stdout)
        data = self.checked_report()
        lossless = self.lossless(data)
        hook = f'{pathlib.Path(file).name}:{function}'
        hits = sum(row['calls'] for row in data['segments']
                   if row['segment'] == hook)
        if not hits:  # points
            hits = sum(row['hits'] for row in self.report('--by', 'hook')
                       ['hooks'] if row['hook'] == hook)
        least, most = self.program.hits(work)
        check_between(hits, (least if lossless else 0, most), f'hits of {hook}')
        return 'ok' if lossless else 'ok (lost some)'
