"""The line that a campaign prints at its end: one day's is compared with
another's."""
import datetime
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def commit():
    """Of the tree with this script; "+": with changes."""
    run = subprocess.run(
        ['git', 'describe', '--always', '--dirty=+', '--exclude=*'], cwd=HERE,
        text=True, capture_output=True, check=False)
    return run.stdout.strip() or '-'


COMMIT, DATE = commit(), datetime.date.today()  # as it began


def own_memory_kib(pid):
    """Anonymous memory of a process; None: it has ended."""
    try:
        status = pathlib.Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith('RssAnon:'):
            return int(line.split()[1])
    return None


def disk_bytes(folder):
    """What the files in a folder occupy, while they come and go."""
    used = 0
    for file in pathlib.Path(folder).rglob('*'):
        try:
            used += file.lstat().st_blocks * 512
        except FileNotFoundError:
            pass
    return used


def print_line(name, *, seed='-', rounds, failed, memory=(), disk=0):
    """`memory`: KiB, in the order of time; `disk`: bytes at most."""
    kib = ([memory[0], max(memory), memory[-1]] if memory else ['-'] * 3)
    print(f'campaign={name} date={DATE} commit={COMMIT} '
          f'seed={seed} rounds={rounds} failed={failed} '
          f'memory_begin_kib={kib[0]} memory_max_kib={kib[1]} '
          f'memory_end_kib={kib[2]} disk_max_mib={-(-disk >> 20)}', flush=True)
