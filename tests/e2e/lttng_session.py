"""A private lttng-sessiond for the test, and LTTng traces read by babeltrace2.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile


class Daemon:
    """Debian's lttng-sessiond, started and stopped here. As root it gets a
    /run/lttng that only it and its clients see, by a mount namespace."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='lttng-e2e-',
                                                    dir='/tmp'))
        self.home = self.folder / 'home'
        self.run = self.folder / 'run'
        for folder in (self.home, self.run, self.folder / 'none'):
            folder.mkdir()
        self.inside = []
        if os.geteuid() == 0:
            pathlib.Path('/run/lttng').mkdir(exist_ok=True)
            (self.home / '.lttng').symlink_to('../run')
            self.inside = ['unshare', '-m', 'sh', '-c',
                           'mount --make-rprivate / && '
                           f'mount --bind {self.run} /run/lttng && '
                           'exec "$@"', 'sh']
        else:
            (self.home / '.lttng').mkdir()
        self.environment = {**os.environ, 'LTTNG_HOME': str(self.home)}
        ready = {signal.SIGUSR1, signal.SIGCHLD}
        old = signal.pthread_sigmask(signal.SIG_BLOCK, ready)
        with open(self.folder / 'log', 'wb') as log:
            self.daemon = subprocess.Popen(
                [*self.inside, 'lttng-sessiond', '--sig-parent', '--no-kernel',
                 f'--load={self.folder}/none'], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=lambda: signal.pthread_sigmask(
                    signal.SIG_UNBLOCK, ready))
        said = signal.sigtimedwait(ready, 30)
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
        if said is None or said.si_signo != signal.SIGUSR1:
            text = (self.folder / 'log').read_text()
            self.close()
            raise AssertionError(f'lttng-sessiond did not start: {text}')

    def lttng(self, *words, check=True):
        done = subprocess.run([*self.inside, 'lttng', '-n', *map(str, words)],
                              env=self.environment, text=True, timeout=60,
                              capture_output=True, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f'lttng {words}: {done.stdout}{done.stderr}')
        return done.stdout

    def close(self):
        self.daemon.terminate()
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


VALUE = re.compile(r'\b(\w+) = (?:"((?:[^"\\]|\\.)*)"|(-?\d+)|'
                   r'\[((?: \[\d+\] = -?\d+,?)*) \])')


def events(trace):
    """Events of `trace` in order: dictionaries of all fields and contexts, with
    `event` and `time` (ns of the trace's clock, CLOCK_MONOTONIC)."""
    done = subprocess.run(['babeltrace2', '--clock-cycles', '--no-delta',
                           str(trace)], text=True, timeout=120,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f'babeltrace2: {done.stderr}')
    found = []
    for line in done.stdout.splitlines():
        head = re.match(r'\[(\d+)\] (?:\S+ )?(countrace:\w+): ', line)
        if not head:
            raise AssertionError(f'not understood: {line}')
        event = {'time': int(head[1]), 'event': head[2]}
        for match in VALUE.finditer(line, head.end()):
            key, text, number, numbers = match.groups()
            if text is not None:
                event[key] = re.sub(r'\\(.)', r'\1', text)
            elif number is not None:
                event[key] = int(number)
            else:
                event[key] = [int(n) for n in
                              re.findall(r'= (-?\d+)', numbers)]
        found.append(event)
    return found


@contextlib.contextmanager
def program(command, environment):
    """A program that reads commands on stdin; it ends with the block."""
    running = subprocess.Popen(list(map(str, command)), env=environment,
                               text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        yield running
    finally:
        running.stdin.close()
        running.wait(30)
        running.stdout.close()
