"""Recordings of shares_workload, whose functions' shares are known, sampled by
CPU time, by page fault and by call of malloc: what the intervals say of them.
"""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess

# What is counted, how much of it, and how it is sampled: some 400 to 1,000
# samples, in an order of functions without a period.
KINDS = {'cpu': (5000, '997'),
         'pages': (60000, 'every=100:page-faults'),
         'allocations': (60000, 'every=100:{malloc}')}
FUNCTIONS = ('Half', 'Third', 'Fifth')
TRACING = pathlib.Path('/sys/kernel/tracing')


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=300, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f'failed ({done.returncode}): {words}\n{done.stderr}')
    return done.stdout


class Malloc:
    """A tracepoint at each call of malloc, in a copy of the C library that only the
    program uses: it slows no other program.
    """

    def __init__(self, program, folder):
        library = re.search(r'libc\.so\.6 => (\S+)', run('ldd', program))[1]
        self.folder = folder / 'library'
        self.folder.mkdir()
        copy = self.folder / 'libc.so.6'
        shutil.copy(library, copy)
        address = int(re.search(r'(?m)^([0-9a-f]+) T malloc(@|$)',
                                run('nm', '-D', copy))[1], 16)
        # A segment's offset, its address, and further on its bytes.
        for line in re.findall(r'LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)',
                               run('readelf', '-lW', copy)):
            offset, start, size = (int(number, 16) for number in line)
            if start <= address < start + size:
                address += offset - start
                break
        self.name = f'countrace_calls/malloc_{os.getpid()}'
        self.define(f'p:{self.name} {copy}:{address:#x}')

    @staticmethod
    def define(text):
        # Appends to the machine's probes; open() would seek, which this file refuses.
        file = os.open(TRACING / 'uprobe_events', os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, (text + '\n').encode())
        finally:
            os.close(file)

    @property
    def event(self):
        return self.name.replace('/', ':')

    @property
    def words(self):
        """Before the program's: it has this library, countrace has not."""
        return ['env', f'LD_LIBRARY_PATH={self.folder}']

    def close(self):
        self.define(f'-:{self.name}')


class KnownShares:
    def __init__(self, countrace, program, folder, with_malloc=True, options=()):
        self.countrace, self.program, self.options = countrace, program, options
        self.trace = folder / 'trace.ctf'
        self.malloc = Malloc(program, folder) if with_malloc else None

    def close(self):
        if self.malloc:
            self.malloc.close()

    def record(self, sample, *what):
        """What the program printed, and the table of its functions."""
        library = self.malloc.words if self.malloc else []
        words = [self.countrace, 'record', '-q', '--force', '--no-fault-records',
                 *self.options, '-o', self.trace, '--sample', sample, '--', *library,
                 self.program, *what]
        truth = json.loads(run(*words))
        return truth, json.loads(self.report())

    def report(self, *options):
        return run(self.countrace, 'report', '--no-progress', '--format', 'json', '--by',
                   'function', *options, self.trace)

    def shares(self, kind, seed):
        """Of each function: the known share, the measured one, and its interval."""
        times, sample = KINDS[kind]
        truth, data = self.record(sample.format(malloc=self.malloc.event), kind, times, seed)
        books, = data['books']
        if books['lost'] != 0 or books['throttled'] != 0:
            raise RuntimeError(f'samples were lost: {books}')
        for name in FUNCTIONS:
            row, = [row for row in data['rows'] if row['function'] == name + '(char)']
            yield (truth[name] / truth['all'],
                   *(row[field] / books['processes'] for field in ('total', 'total_lo',
                                                                   'total_hi')),
                   books['samples'])


    def times(self, seed, others):
        """Each function's CPU time, its limits, and their half width without the samples
        that are missing, as a part of that of a binomial share. `others`: pids of the
        same program beside.
        """
        times, sample = KINDS['cpu']
        truth, data = self.record(sample, 'cpu', times, seed)
        books, = data['books']
        rows = json.loads(self.report('--group-by', 'process'))['rows']
        for name in FUNCTIONS:
            row, = [row for row in rows
                    if row['function'] == name + '(char)' and row['pid'] not in others]
            half = 1.96 * books['processes'] * standard_error(
                row['total'] / books['processes'], books['samples'])
            low, high = row['total_lo'], row['total_hi']
            missing = max(0, books['residual_of_processes'])
            yield truth[name], low, high, ((high - low) / 2 - missing) / half


def standard_error(share, samples):
    return math.sqrt(share * (1 - share) / samples)
