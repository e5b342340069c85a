"""Runs the real `countrace` for end-to-end tests, and checks the properties of
every trace: sound, the same for babeltrace2, books that balance."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FULL = bool(os.environ.get('COUNTRACE_TEST_FULL'))
ACCOUNTS = ('processes', 'own', 'idle', 'interrupts', 'outside',
            'unattributed')


def with_tracefs():
    """Runs this program again where tracefs is mounted, if it is nowhere: root
    can do without the mount, users with capabilities cannot."""
    point = '/sys/kernel/tracing'
    if os.geteuid() != 0 or os.path.ismount(point) or not shutil.which(
            'unshare'):
        return
    mounted = subprocess.run(
        ['unshare', '-m', 'mount', '-t', 'tracefs', 'nodev', point],
        capture_output=True, check=False)
    if mounted.returncode == 0:
        os.execvp('unshare', [
            'unshare', '-m', 'sh', '-c',
            f'mount -t tracefs nodev {point} && exec "$@"', 'sh',
            sys.executable, *sys.argv])


def run(*arguments, **options):
    """Runs a program that may fail."""
    options.setdefault('timeout', 120)
    return subprocess.run([*map(str, arguments)], **{
        'text': True, 'capture_output': True, 'check': False, **options})


def countrace(*arguments, check=True, program=None, **options):
    """Runs a verb of the program that the test's main has set."""
    options.setdefault('timeout', 300)
    done = run(program or Recording.countrace_program, *arguments, **options)
    if check and done.returncode != 0:
        raise AssertionError(f'countrace {arguments}: {done.returncode}\n'
                             f'{done.stdout}\n{done.stderr}')
    return done


def side_by_side(function, items):
    """The results for the items, as many at a time as there are CPUs."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def babeltrace_counts(trace):
    """What babeltrace2 reads of a trace: its events, how many losses, and what it
    says on stderr. It decodes each field, and prints none: that takes ten times
    as long.
    """
    done = run('babeltrace2', trace, '-c', 'sink.utils.counter',
               '--params=step=+0', timeout=300)
    events = re.findall(r'(\d+) Event message', done.stdout)
    losses = re.findall(r'(\d+) Discarded (?:event|packet) message', done.stdout)
    return sum(map(int, events)), sum(map(int, losses)), done.stderr


HIDES_SWITCHES = 'were not shown by the kernel'


def hides_switches(data):
    """Some virtual machines hide switches of their supervisor's threads: what
    lies around such a switch is not exact."""
    return any(HIDES_SWITCHES in message for message in data['loss']['messages'])


def exact_qualities(data):
    """Those of a row whose calls are all known."""
    return ('exact', 'bounded') if hides_switches(data) else ('exact',)


TICK_NS = 1000000000 // os.sysconf('SC_CLK_TCK')
# Stolen time of less than a tick on each CPU is not reported.
UNREPORTED_NS = (1 + os.cpu_count()) * TICK_NS


def foreign_ns():
    """Time that is in our intervals and not in the kernel's times: stolen time,
    and CPU time of the threads of process 1, whose switches some virtual
    machines hide (decision 8)."""
    fields = pathlib.Path('/proc/stat').read_text().splitlines()[0].split()
    total = int(fields[8]) * TICK_NS
    for task in pathlib.Path('/proc/1/task').glob('*/schedstat'):
        try:
            total += int(task.read_text().split()[0])
        except OSError:
            continue
    return total


class Recording(unittest.TestCase):
    """A test with a private folder, and the trace in it."""
    countrace_program = None  # set by the test's main

    parent = None  # of the traces' directory; None: the usual one

    def setUp(self):
        self.work = pathlib.Path(
            tempfile.mkdtemp(prefix='countrace-e2e-', dir=self.parent))
        self.trace = self.work / 'trace.ctf'
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def countrace(self, *arguments, **options):
        return countrace(*arguments, program=self.countrace_program, **options)

    def needs_root(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: needs root')

    def needs(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f'SKIPPED: needs {program}')

    def needs_strace(self):
        self.needs('strace')
        run = subprocess.run(['strace', '-o', '/dev/null', 'true'],
                             capture_output=True, check=False)
        if run.returncode != 0:
            self.skipTest('SKIPPED: strace may not trace here')

    def needs_back_end(self, name):
        """Skips if the kernel does not allow it, even to root."""
        run = self.countrace('record', '-q', '--backend', name, '-a',
                             '--force', '-o', self.work / 'trial.ctf', '--', 'true', check=False)
        if run.returncode != 0:
            self.skipTest(f'SKIPPED: back end {name}: {run.stderr.strip()}')

    def make_privileged(self, program, fix, group):
        """Runs the command that doctor printed for `program`, a file in a
        folder of the test, and returns the program for the group."""
        if os.statvfs(program).f_flag & os.ST_NOSUID:
            self.skipTest(f'SKIPPED: {program.parent} is mounted nosuid')
        command = fix.replace('GROUP', str(group)).replace('sudo ', '')
        path = f'{program.parent}:{os.environ["PATH"]}'
        made = subprocess.run(['sh', '-c', command], text=True,
                              capture_output=True, check=False,
                              env={**os.environ, 'PATH': path})
        if made.returncode != 0 and 'apabilities' in made.stderr:
            self.skipTest(f'SKIPPED: {made.stderr.strip()}')
        self.assertEqual(made.returncode, 0, made.stderr)
        privileged = program.with_name('countrace-privileged')
        status = privileged.stat()
        self.assertEqual(
            (status.st_uid, status.st_gid, status.st_mode & 0o7777),
            (0, group, 0o750))
        return privileged

    def report(self, *options):
        return json.loads(self.countrace('report', '--format', 'json',
                                         *options, self.trace).stdout)

    def check_readable(self, lossless=True):
        """Sound, and every reader sees the same number of records."""
        self.countrace('verify', self.trace)
        theirs, losses, errors = babeltrace_counts(self.trace)
        if lossless:
            self.assertEqual((losses, errors), (0, ''))
        # Lines are counted, not kept: there can be millions.
        ours = self.count_lines(
            f'"{self.countrace_program}" script "{self.trace}"')
        self.assertEqual(theirs, ours)
        return ours

    def count_lines(self, command):
        return int(subprocess.run(f'{command} | wc -l', shell=True, text=True,
                                  capture_output=True, timeout=300,
                                  check=True).stdout)

    def event_counts(self, *names):
        """Records of kernel events by name, as `script` prints them."""
        counts = dict.fromkeys(names, 0)
        script = subprocess.Popen(
            [self.countrace_program, 'script', str(self.trace)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with script:
            pattern = re.compile(r'cpu-\d+ (\w+): ')
            for line in script.stdout:
                found = pattern.search(line)
                if found and found.group(1) in counts:
                    counts[found.group(1)] += 1
        self.assertEqual(script.returncode, 0)
        return counts

    def check_books(self, data):
        for event, books in data['books'].items():
            self.assertEqual(books['residual'], 0, event)
            self.assertEqual(sum(books[name] for name in ACCOUNTS),
                             books['total'], event)
        loss = data['loss']
        self.assertEqual(sum(loss['by_cause'].values()),
                         loss['discarded_events'])
