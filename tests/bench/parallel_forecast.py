"""What N CPUs could gain for a report, if threads were reconstructed in
parallel (docs/decisions/24): a forecast from the instructions that callgrind
counts, as no machine here has many CPUs.

    A  records of CPUs: who runs where, which process; one after the other
    B  what threads do between: calls, decoding of their streams; by thread
    C  the tables, after the end

A runs beside B, and one thread's B is one piece: so N CPUs take at least
C + max(A, the largest thread's B, (A + B) / N). Handing records from A to B is
left out: it costs as much as part of B.
"""
import re
import shutil
import subprocess
import sys

CPUS = (2, 8, 32, 64)
KERNEL = 'syscalls,irq,softirq,faults,wakeups'
WHOLE = r'countrace::rmap::Reconstruct\('
TABLES = r'countrace::rmap::BuildTables\('
OF_THREADS = (r'KernelHooks::OnThreadHook\(', r'KernelHooks::OnUnnamedExit\(',
              r'StreamCursor::DeliverThreadRecords\(')


def run(command, **kwargs):
    result = subprocess.run([str(part) for part in command], text=True,
                            capture_output=True, check=False, **kwargs)
    if result.returncode != 0:
        sys.exit(f'parallel_forecast: failed ({result.returncode}): '
                 f'{" ".join(map(str, command))}\n{result.stderr[-2000:]}')
    return result.stdout


def instructions(build, work, trace):
    """(A, B, C) of a report of `trace`."""
    out = work / 'callgrind.out'
    run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}',
         build / 'cli/countrace', 'report', '--no-progress', trace])
    lines = run(['callgrind_annotate', '--inclusive=yes', '--threshold=100',
                 out]).splitlines()

    def inclusive(pattern):
        counts = [int(line.split('(', 1)[0].replace(',', ''))
                  for line in lines
                  if re.match(r' *[\d,]+ \(', line) and re.search(pattern, line)]
        return max(counts, default=0)
    whole, tables = inclusive(WHOLE), inclusive(TABLES)
    threads = sum(map(inclusive, OF_THREADS))
    return whole - tables - threads, threads, tables


def largest_share(build, trace):
    """The part of the hook records that one thread has."""
    for line in run([build / 'tests/bench/decode_bench', '--threads',
                     trace]).splitlines():
        if line.startswith('largest_thread '):
            return float(line.split()[1])
    return sys.exit('parallel_forecast: decode_bench prints no largest_thread')


def traces(build, work):
    """(what, a function that makes the trace) of each kind."""
    countrace, storm = build / 'cli/countrace', build / 'tests/e2e/process_storm'

    def generated(threads):
        return lambda path: run([build / 'tests/bench/synthetic_trace', path,
                                 1_000_000, threads, 200])

    def recorded(*command):
        return lambda path: run([countrace, 'record', '-q', '-a', '--force',
                                 '-o', path, *command])
    work_of_calls = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=4k',
                     'count=100000']
    yield 'hooks of 20 threads', generated(20)
    yield 'hooks of one thread', generated(1)
    yield 'context switches', recorded(
        '--', build / 'tests/bench/ping_pong', 100000, 0)
    yield 'all kernel segments', recorded(
        '--kernel', KERNEL, '--', *work_of_calls)
    yield '5,000 processes, all kernel segments', recorded(
        '--kernel', KERNEL, '--', storm, 'storm', 8, 250, 20)


def rows(build, work):
    """Cells of the table: what, forecast, beside it, its figure, ratio, goal."""
    for what, make in traces(build, work):
        trace = work / 'forecast.ctf'
        make(trace)
        a, b, c = instructions(build, work, trace)
        largest = largest_share(build, trace) * b
        gains = [(a + b + c) / (c + max(a, largest, (a + b) / cpus))
                 for cpus in CPUS]
        yield (f'at most on {", ".join(map(str, CPUS))} CPUs: {what}',
               ', '.join(f'{gain:.1f}' for gain in gains) + ' x',
               'records of CPUs, threads, tables',
               ', '.join(f'{100 * part / (a + b + c):.0f}'
                         for part in (a, b, c)) + ' %', '-', '')
        shutil.rmtree(trace)
