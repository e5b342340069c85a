"""What a recording may leave behind: BPF objects, probes, perf descriptors,
mounts, processes, files in shared memory.

The caller is a subreaper with its own mount namespace and /dev/shm, so that
orphans are its children, and files are of its recordings only.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
TRACEFS = pathlib.Path('/sys/kernel/tracing')
SWITCHES = ('uprobe_events', 'kprobe_events', 'set_event', 'events/enable',
            'current_tracer')
THREADS = 15  # their number, of the fields behind the parent in /proc/PID/stat
KINDS = ('prog', 'link', 'map')


def adopt_orphans():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid=None):
    """Living ones of this process, with their command names.

    An ended process that its parent has not waited for may have living children,
    and a process whose first thread has ended other threads: they have its files.
    Twice if there seem to be none: /proc is no instant, and a process has
    another parent while it is read if the one it had ends."""
    return scan_descendants(pid) or scan_descendants(pid)


def scan_descendants(pid=None):
    parents, ended = {}, set()
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            text = stat.read_text()
        except OSError:  # it has ended
            continue
        name, _, rest = text.partition('(')[2].rpartition(')')
        state, parent, *fields = rest.split()
        parents[int(stat.parent.name)] = int(parent), name
        if state in 'ZX' and int(fields[THREADS]) <= 1:
            ended.add(int(stat.parent.name))
    found = {}
    while True:
        more = {each: name for each, (parent, name) in parents.items()
                if each not in found
                and (parent in found or parent == (pid or os.getpid()))}
        if not more:
            return {each: name for each, name in found.items()
                    if each not in ended}
        found.update(more)


def reap():
    """Ended orphans; the caller has no other children now."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def bpf_objects():
    found = set()
    for kind in KINDS:
        text = subprocess.run(['bpftool', '-j', kind, 'show'], text=True,
                              capture_output=True, timeout=60,
                              check=False).stdout
        rows = json.loads(text or '[]')
        if isinstance(rows, list):
            # An error, where one went while bpftool listed them.
            found |= {(kind, row['id']) for row in rows if 'id' in row}
    return found


def held_bpf_objects():
    """Those to which a living process has a descriptor."""
    held = set()
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            for info in (process / 'fdinfo').iterdir():
                with contextlib.suppress(OSError):  # it was closed meanwhile
                    held |= {(kind, int(number)) for kind, number in re.findall(
                        r'^(prog|link|map)_id:\s+(\d+)', info.read_text(),
                        re.M)}
        except OSError:
            continue  # it has ended meanwhile
    return held


def shared_files():
    return {str(path) for folder in ('/dev/shm', '/tmp')
            for pattern in ('countrace-control-*', 'countrace-cost-*',
                            '.countrace-*', 'sem.*')
            for path in pathlib.Path(folder).glob(pattern)}


def snapshot():
    mounts = pathlib.Path('/proc/self/mountinfo').read_text().splitlines()
    found = {('mount', line) for line in mounts}
    found |= {('file', path) for path in shared_files()}
    found |= bpf_objects()
    for name in SWITCHES:
        if (TRACEFS / name).exists():
            found.add(('tracefs', name, (TRACEFS / name).read_text()))
    return found


def left_since(before):
    """Empty, or what is there and was not: the kernel frees with a delay, and
    what another process holds is not ours."""
    deadline = time.monotonic() + 30
    while True:
        reap()
        left = {('process', pid, name)
                for pid, name in descendants().items()}
        left |= snapshot() - before
        if left and not descendants():
            left -= held_bpf_objects()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def foreign_descriptors(pid):
    """Of a recorded program: those to perf events and BPF objects."""
    found = []
    for link in pathlib.Path(f'/proc/{pid}/fd').glob('*'):
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if re.search('perf_event|bpf', target):
            found.append(target)
    return found


def patched(pid, file, offset):
    """True if the code of a process differs from its file at this offset: a
    uprobe is there."""
    for line in pathlib.Path(f'/proc/{pid}/maps').read_text().splitlines():
        span, rights, begin, _, _, *path = line.split(None, 5)
        if not path or 'x' not in rights:
            continue
        first, last = (int(each, 16) for each in span.split('-'))
        begin = int(begin, 16)
        if not (os.path.exists(path[0]) and os.path.samefile(path[0], file)
                and begin <= offset < begin + last - first):
            continue
        with open(f'/proc/{pid}/mem', 'rb', buffering=0) as memory:
            memory.seek(first + offset - begin)
            now = memory.read(8)
        with open(file, 'rb') as code:
            code.seek(offset)
            return now != code.read(8)
    return False
