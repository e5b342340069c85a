"""How far `view --live` is behind a recording, by its size: what the newest
index lacks, and what a step costs."""
import contextlib
import json
import os
import re
import resource
import statistics
import subprocess
import time
import urllib.request

POLL_S = 0.02
STEPS = 5  # of view --live, at each size


@contextlib.contextmanager
def growing(build, work):
    """A recording of system calls, and a function that makes it grow to a
    number of MB."""
    trace, end, go = work / 'live.ctf', work / 'end', work / 'go'
    script = (f'while [ ! -e {end} ]; do if [ -e {go} ]; then dd if=/dev/zero '
              'of=/dev/null bs=1 count=20000 2>/dev/null; else sleep 0.01; fi; '
              'done')
    with subprocess.Popen([build / 'cli/countrace', 'record', '-q', '-o', trace,
                           '--kernel', 'syscalls', '--', 'sh', '-c',
                           script]) as recorder:
        def size():
            return sum(file.stat().st_blocks * 512 for file in
                       trace.glob('[ct]*-*')) / 1e6

        def grow_to(megabytes):
            go.touch()
            while size() < megabytes:
                time.sleep(POLL_S)
            go.unlink()
            return size()
        try:
            while not (trace / '.session').exists():
                time.sleep(POLL_S)
            yield trace, grow_to
        finally:
            end.touch()
            recorder.wait()


def cpu_seconds(*command):
    """Of the children until then, and with this command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime -
            before.ru_utime - before.ru_stime)


def step_costs(build, trace, work):
    """CPU time in s, medians: of a copy, of its index, and of a report, which
    reads the same records."""
    countrace, copy = build / 'cli/countrace', work / 'copy.ctf'
    copying, indexing, reading = [], [], []
    for _ in range(3):
        copying.append(cpu_seconds(countrace, 'snapshot', '--force', '-o', copy,
                                   trace))
        indexing.append(cpu_seconds(countrace, 'state', '--no-progress', '--at',
                                    '50%', copy))
        reading.append(cpu_seconds(countrace, 'report', '--no-progress', copy))
    return [statistics.median(times) for times in (copying, indexing, reading)]


def lags(build, trace):
    """What the newest index lacks, in s, every 20 ms over some steps."""
    with subprocess.Popen([build / 'cli/countrace', 'view', '--live', trace],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as server:
        base, token = re.match(r'(http://[^/]+)/\?token=(\w+)',
                               server.stdout.readline()).groups()
        request = urllib.request.Request(
            f'{base}/api/v1/index', headers={'Authorization': f'Bearer {token}'})
        found, indexes = [], set()
        while len(indexes) <= STEPS:
            with urllib.request.urlopen(request, timeout=60) as answer:
                growth = json.load(answer)
            indexes.add(growth['index'])
            if len(indexes) > 1:
                found.append(growth['late_ns'] / 1e9)
            time.sleep(POLL_S)
        server.terminate()
    return found


def measure(build, work, sizes):
    """(MB, step_costs(), median lag, longest lag) of each size."""
    os.environ['XDG_RUNTIME_DIR'] = str(work)  # where a server keeps its address
    with growing(build, work) as (trace, grow_to):
        for megabytes in sizes:
            size = grow_to(megabytes)
            costs = step_costs(build, trace, work)
            behind = lags(build, trace)
            yield size, costs, statistics.median(behind), max(behind)
