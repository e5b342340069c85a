"""One program recorded with one pair of options: the truth that it printed, and
the tables of the report.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from cpu_quota import CpuQuota  # noqa: E402

TIMEOUT = 120
TRIALS = 5
# Half of a CPU, in parts that leave some throttles to a short program.
QUOTA_US, PERIOD_US = 10_000, 20_000
PROVIDERS = {'calls': 'pairs', 'waits': 'waits', 'ring': 'ring', 'disk': 'disk'}
# What a program says by its status 77.
NOT_HERE = {'ring': 'the kernel has no io_uring',
            'disk': 'the file system has no direct access'}


class Failed(Exception):
    pass


class NotHere(Exception):
    """The program cannot run on this machine."""


class Recording:
    def __init__(self, countrace, runtime, program, pair, folder):
        self.countrace, self.runtime = countrace, runtime
        self.program, self.pair, self.folder = program, pair, folder
        self.kind = program.name.removeprefix('pairs_')
        self.trace = folder / 'trace.ctf'
        self.truth = None
        self.err = ''
        self.tables = {}
        self.quota_folder = ''
        self.throttled_ns = self.throttles = None  # of the cgroup

    @property
    def words(self):
        return [str(self.countrace), 'record', '--force', '-o', str(self.trace),
                *self.pair.words(self.program, PROVIDERS[self.kind])]

    @property
    def prefix(self):
        return [word.format(quota=self.quota_folder) for word in self.pair.prefix]

    def run(self):
        if not self.pair.has('quota'):
            self.run_free()
            return
        try:
            quota = CpuQuota(f'countrace-{self.folder.name}', QUOTA_US, PERIOD_US)
        except LookupError as error:
            raise NotHere(str(error)) from None
        self.quota_folder = quota.folder
        try:
            self.run_free()
            self.throttled_ns, self.throttles = quota.stat()
        finally:
            quota.remove()

    def run_free(self):
        for _ in range(TRIALS):
            shutil.rmtree(self.trace, ignore_errors=True)
            status, text = (self.attached() if self.pair.scope == 'pid'
                            else self.started())
            # A recording of the machine beside this one may have been first.
            if 'takes part in the recording' not in self.err:
                break
        if self.pair.refusal:
            if status != 2 or self.pair.refusal not in self.err:
                raise Failed(f'is not refused: status {status}, {self.err}')
            return
        if status == 77:
            raise NotHere(NOT_HERE.get(self.kind, 'status 77'))
        if status != 0:
            raise Failed(f'status {status}: {self.err}')
        self.truth = json.loads(text)

    def started(self):
        done = subprocess.run(
            [*self.words, '--', *self.prefix, str(self.program)], text=True,
            capture_output=True, timeout=TIMEOUT, check=False, cwd=self.folder,
            stdin=subprocess.DEVNULL)
        self.err = done.stderr
        return done.returncode, done.stdout

    def attached(self):
        """The program waits until the recording has begun."""
        gate, end = self.folder / 'gate', self.folder / 'end'
        for fifo in (gate, end):
            fifo.unlink(missing_ok=True)
            os.mkfifo(fifo)
        output = self.folder / 'output'
        with open(output, 'w', encoding='utf-8') as file:
            program = subprocess.Popen(
                [*self.prefix, str(self.program), str(gate)],
                stdin=subprocess.DEVNULL, stdout=file, cwd=self.folder,
                env=dict(os.environ, LD_PRELOAD=str(self.runtime)))
        recorder = subprocess.Popen(
            [*self.words, '-p', self.inner_pid(program), '--', 'sh', '-c',
             'printf g >gate; read x <end'],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            cwd=self.folder)
        release = os.open(end, os.O_RDWR)  # needs no reader
        try:
            if self.pair.refusal:
                program.kill()
            program.wait(timeout=TIMEOUT)
            os.write(release, b'\n')
            self.err = recorder.communicate(timeout=TIMEOUT)[1]
        finally:
            program.kill()
            program.wait()
            recorder.kill()
            recorder.wait()
            os.close(release)
        return recorder.returncode or program.returncode, output.read_text()

    def inner_pid(self, program):
        """The pid of the program behind the prefix, when it waits at its gate."""
        while True:
            if program.poll() is not None:
                raise Failed(f'the program ended at once: {program.returncode}')
            pids = [program.pid, *self.children(program.pid)]
            for pid in pids:
                if self.can_join(pid):
                    return str(pid)
            time.sleep(0.005)

    def can_join(self, pid):
        """Whether it is the program, and its runtime library is ready."""
        try:
            name = pathlib.Path(f'/proc/{pid}/comm').read_text().strip()
            maps = pathlib.Path(f'/proc/{pid}/maps').read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return name == self.program.name and 'countrace-control-' in maps

    @staticmethod
    def children(pid):
        try:
            text = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text()
        except FileNotFoundError:
            return []
        return [int(word) for word in text.split()]

    def report(self, *options):
        """A table of the report, read once; None where the trace has none."""
        if options not in self.tables:
            done = subprocess.run(
                [str(self.countrace), 'report', '--no-progress', '--format', 'json',
                 *options, str(self.trace)], text=True, capture_output=True,
                timeout=TIMEOUT, check=False)
            if done.returncode != 0:
                raise Failed(f'report {options}: {done.stderr}')
            self.tables[options] = json.loads(done.stdout)
        return self.tables[options]
