#!/usr/bin/env python3
"""Prints the table of budgets: our figure, the peer's or the limit's of the
same run, and the ratio. Figures are medians; machines are noisy, so trust the
ratios.

usage: run_bench.py BUILD_DIRECTORY [--runs N] [--only PART] [--write FILE]
"""
import argparse
import datetime
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import begin_bench
import benchmark_page
import live_lag
import parallel_forecast
import replay_frames

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
import recorder_cost  # noqa: E402

HEADER = ('what', 'countrace', 'beside it', 'its figure', 'ratio', 'goal')
ROWS = []
# The parts, in the order in which they run.
TITLES = {
    'hook': 'Hooks in a program',
    'first_hook': 'The first hook of a process and of a thread',
    'counts': 'A program reads its own counts',
    'decode': 'Reading a short trace',
    'reading': 'Reading a long trace',
    'begin': 'Begin and end of a recording',
    'dispatch': 'Records of the kernel',
    'kernel_hook': 'System calls, USDT probes, uprobes',
    'load': 'A server under load',
    'compile': 'A compilation',
    'foreign': 'Traces of LTTng',
    'index': "The timeline's index",
    'replay': 'Replay',
    'page': 'The page while it plays',
    'live': 'A timeline that follows a recording',
    'parallel': 'What more CPUs could give a report',
}


def shown(value, digits=1):
    """The number as text; never "-0.0"."""
    return f'{round(value, digits) + 0:,.{digits}f}'


def row(what, ours, unit, peer_name, peer, goal):
    ratio = shown(ours / peer, 2) if peer else '-'
    ROWS.append((what, f'{shown(ours)} {unit}', peer_name,
                 f'{shown(peer)} {unit}' if peer else '-', ratio, goal))


def run(command, **kwargs):
    result = subprocess.run(command, capture_output=True, text=True,
                            timeout=900, check=False, **kwargs)
    if result.returncode != 0:
        sys.exit(f'run_bench: failed ({result.returncode}): '
                 f'{" ".join(map(str, command))}\n{result.stderr}')
    return result.stdout


def figures(output):
    values = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) >= 2:
            values[words[0]] = [float(word) for word in words[1:]]
    return values


def medians(outputs):
    parsed = [figures(output) for output in outputs]
    return {name: [statistics.median(p[name][i] for p in parsed)
                   for i in range(len(parsed[0][name]))]
            for name in parsed[0]}


def directory_bytes(path, pattern):
    return sum(p.stat().st_size for p in pathlib.Path(path).glob(pattern))


class Lttng:
    """A private LTTng session daemon, user-space tracing only."""

    def __init__(self, work):
        self.env = dict(os.environ, LTTNG_HOME=str(work), HOME=str(work))
        self.work = work

    def __enter__(self):
        subprocess.run(['lttng-sessiond', '--no-kernel', '--background'],
                       env=self.env, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *unused):
        subprocess.run(['lttng', 'destroy', '--all'], env=self.env,
                       capture_output=True, check=False)
        pid = pathlib.Path('/var/run/lttng/lttng-sessiond.pid')
        if pid.exists():
            subprocess.run(['kill', pid.read_text().strip()], check=False)

    def record(self, command, output, channel_options, preload=None,
               events='countrace_peer:*'):
        def lttng(*words):
            return run(['lttng', *words], env=self.env)
        lttng('create', 'bench', f'--output={output}')
        lttng('enable-channel', '-u', 'ch', *channel_options)
        lttng('enable-event', '-u', '-c', 'ch', events)
        lttng('start')
        env = dict(self.env, LTTNG_UST_REGISTER_TIMEOUT='3000')
        if preload:
            env['LD_PRELOAD'] = str(preload)
        text = run(command, env=env)
        lttng('stop')
        lttng('destroy', 'bench')
        return text


def hook_rows(build, work, runs):
    bench = [build / 'tests/bench/hook_bench', '500000', '1']
    countrace = build / 'cli/countrace'
    trace = work / 'hooks.ctf'
    record = [countrace, 'record', '-q', '--no-kernel', '--force', '-o', trace,
              '--']
    off = medians([run(bench) for _ in range(runs)])
    on = medians([run([*record, *bench]) for _ in range(runs)])
    shared = medians([run([*record, 'taskset', '-c', '1', *bench])
                      for _ in range(runs)])
    # Less than the noise of the two loops: 0, not a negative time.
    row('hook, off',
        max(0.0, off['enter_exit'][0] - off['empty_loop'][0]), 'ns',
        'empty loop', off['empty_loop'][0], '<= 1 ns')
    row('enter + exit', on['enter_exit'][0], 'ns', 'two raw clock reads',
        on['two_raw_clock_reads'][0], '<= 1.3 x')
    row('enter + exit, helper on the same CPU', shared['enter_exit'][0], 'ns',
        'two raw clock reads', shared['two_raw_clock_reads'][0], '')
    row('enter + exit', on['enter_exit'][0], 'ns', 'two clock_gettime',
        on['two_clock_gettime'][0], '')
    row('hook with u64', on['hook_u64'][0], 'ns', 'one raw clock read',
        on['two_raw_clock_reads'][0] / 2, '')
    row('level, raised or lowered', on['level'][0], 'ns', 'hook with u64',
        on['hook_u64'][0], '')
    if not shutil.which('lttng-sessiond'):
        print('SKIPPED: LTTng-UST beside it: no lttng-sessiond')
        return
    peer = build / 'tests/bench/lttng_peer_bench'
    with Lttng(work) as lttng:
        lttng.record([peer, '1000'], work / 'lttng-first', [])
        for name, options in (
                ('LTTng-UST, default channel', []),
                ('LTTng-UST, 4 x 64 MiB',
                 ['--subbuf-size=64M', '--num-subbuf=4'])):
            output = work / 'lttng-out'
            texts = []
            for _ in range(runs):
                shutil.rmtree(output, ignore_errors=True)
                texts.append(lttng.record([peer, '500000', '1'], output,
                                          options))
            values = medians(texts)
            row('enter + exit', on['enter_exit'][0], 'ns', name,
                values['lttng_enter_exit'][0], '<= 1/6')
        lttng_bytes = directory_bytes(output, '**/ch_*') / counted(output)
        lttng_hook_rows(build, work, runs, lttng, off)
    run([*record, build / 'tests/runtime/inprocess/hook_workload', 'pairs',
         '2', '1000000'])
    records = figures(run([build / 'tests/bench/decode_bench',
                           trace]))['decode'][0]
    row('bytes a record, no payload',
        directory_bytes(trace, 'thread-*') / records, 'B',
        'LTTng-UST (with a u64)', lttng_bytes, '<= 8')


def first_hook_rows(build, work, runs):
    """The recorder and LTTng take turns."""
    if not shutil.which('lttng-sessiond'):
        print('SKIPPED: LTTng-UST beside it: no lttng-sessiond')
        return
    bench, countrace = build / 'tests/bench', build / 'cli/countrace'
    record = [countrace, 'record', '-q', '--no-kernel', '--force', '-o',
              work / 'first.ctf', '--', bench / 'first_hook_bench']
    ours, theirs = [], []
    with Lttng(work) as lttng:
        for _ in range(runs + 1):  # the first one reads files
            output = work / 'lttng-first'
            shutil.rmtree(output, ignore_errors=True)
            ours.append(run(record))
            theirs.append(lttng.record([bench / 'lttng_first_hook_bench'],
                                       output, []))
    ours, theirs = medians(ours[1:]), medians(theirs[1:])
    for of in 'process', 'thread':
        row(f'first hook of a {of}', ours[f'first_of_{of}'][0] / 1000, 'us',
            'LTTng-UST', theirs[f'first_of_{of}'][0] / 1000, '<= 1,000 us')


def counts_rows(build, runs):
    """One read of countrace/counts.h; its instructions are counted by itself,
    where there is a PMU."""
    values = medians([run([build / 'tests/bench/counts_bench', '300000'])
                      for _ in range(runs)])
    for name, what in (('software', 'read of 2 software events'),
                       ('hardware', 'read of cycles, instructions')):
        if f'{name}_counts' not in values:
            print(f'SKIPPED: {what}: this machine does not count them')
            continue
        row(what, values[f'{name}_counts'][0], 'ns', 'group read(2)',
            values[f'{name}_read'][0], '')
        if f'{name}_counts_instructions' in values:
            row(what, values[f'{name}_counts_instructions'][0], 'instructions',
                'group read(2)', values[f'{name}_read_instructions'][0], '')


def lttng_hook_rows(build, work, runs, lttng, off):
    """Our hooks as LTTng's events, beside LTTng's own tracepoints."""
    provider = build / 'hooks/lttng/libcountrace-lttng.so'
    if not provider.exists():
        print('SKIPPED: hooks in LTTng: built without LTTng-UST')
        return
    bench = [build / 'tests/bench/hook_bench', '200000', '1']
    peer = [build / 'tests/bench/lttng_peer_bench', '200000', '1']

    def figures_of(command, *arguments, **options):
        texts = []
        for _ in range(runs):
            output = work / 'lttng-hooks'
            shutil.rmtree(output, ignore_errors=True)
            texts.append(lttng.record([*command, *arguments], output,
                                      ['--subbuf-size=64M', '--num-subbuf=4'],
                                      **options))
        return medians(texts)

    # A session daemon runs, and no session has enabled our events.
    idle = figures_of(bench, preload=provider)
    # The loop is in both figures.
    row('loop with a hook, off, LTTng provider in it', idle['enter_exit'][0],
        'ns', 'without it', off['enter_exit'][0], '1')
    ours = figures_of(bench, preload=provider, events='countrace:*')
    plain = figures_of(peer)['lttng_enter_exit'][0]
    same = figures_of(peer, 'same')['lttng_enter_exit'][0]
    row('enter + exit, into LTTng', ours['enter_exit'][0], 'ns',
        'tracepoints, the same fields', same, '')
    row('enter + exit, into LTTng', ours['enter_exit'][0], 'ns',
        'tracepoints, one u64', plain, '')
    row('hook with u64, into LTTng', ours['hook_u64'][0], 'ns',
        'tracepoint, one u64', plain / 2, '')


def counted(trace):
    """Event messages babeltrace2 counts in `trace`."""
    totals = [int(line.split()[0])
              for line in run(['babeltrace2', trace, '-c',
                               'sink.utils.counter']).splitlines()
              if line.endswith(' Event messages')]
    return totals[-1]


def decode_rows(build, work):
    trace = work / 'pairs.ctf'
    run([build / 'cli/countrace', 'record', '-q', '--no-kernel', '--force',
         '-o', trace, '--',
         build / 'tests/runtime/inprocess/hook_workload', 'pairs', '2',
         '3000000'])
    ours = figures(run([build / 'tests/bench/decode_bench', trace]))
    begin = os.times()
    run(['babeltrace2', trace, '-c', 'sink.utils.counter'])
    end = os.times()
    peer_seconds = (end.children_user - begin.children_user +
                    end.children_system - begin.children_system)
    records, seconds = ours['decode']
    peer = records / peer_seconds / 1e6
    row('decode', records / seconds / 1e6, 'M/s',
        'babeltrace2 sink.utils.counter', peer, '>= 15 x')
    records, seconds = ours['rmap']
    row('full rmap', records / seconds / 1e6, 'M/s', 'babeltrace2', peer,
        '>= 20 M/s')


def peak_megabytes(command):
    """Largest resident memory of `command`, mapped files included."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f'run_bench: failed: {" ".join(map(str, command))}')
    return usage.ru_maxrss / 1024


def reading_rows(build, work, records):
    """Long traces with four counters in every record, of 20 and of 2,000
    threads."""
    def trace(name, count, threads):
        path = work / name
        run([build / 'tests/bench/synthetic_trace', path, str(count),
             str(threads), '200'])
        return path

    def rates(path):
        return figures(run([build / 'tests/bench/decode_bench', path]))

    def report(path):
        return [build / 'cli/countrace', 'report', '--no-progress', path]

    long = trace('long.ctf', records, 20)
    ours = rates(long)
    what = f'{records / 1e6:.0f} M records, 4 counters each'
    begin = os.times()
    run(['babeltrace2', long, '-c', 'sink.utils.counter'])
    end = os.times()
    peer = records / (end.children_user - begin.children_user +
                      end.children_system - begin.children_system) / 1e6
    count, seconds = ours['decode']
    row(f'decode, {what}', count / seconds / 1e6, 'M/s',
        'babeltrace2 sink.utils.counter', peer, '>= 100 M/s')
    count, seconds = ours['rmap']
    row(f'full rmap, {what}', count / seconds / 1e6, 'M/s', 'babeltrace2',
        peer, '>= 20 M/s')
    tenth = trace('tenth.ctf', records // 10, 20)
    row(f'peak memory, {what}', peak_megabytes(report(long)), 'MB',
        'of a tenth as many', peak_megabytes(report(tenth)), '1')
    begin = time.monotonic()
    run(report(long))
    reported = time.monotonic() - begin
    for what_to, goal, peer in (
            (['sqlite'], '<= 60 s for 10 M', ''),
            (['csv', '--table', 'calls'], '<= 20 s for 10 M', ''),
            (['perfetto'], '<= 15 s for 10 M, 1.5 x the trace', ''),
            (['pprof', '--weight', 'wall'], '<= 2 x', 'report'),
            (['folded', '--weight', 'wall'], '<= 2 x', 'report')):
        exported = [build / 'cli/countrace', 'export', '--to', *what_to, '--force',
                    '-o', work / 'exported', long]
        begin = time.monotonic()
        peak = peak_megabytes(exported)
        seconds = time.monotonic() - begin
        size = (work / 'exported').stat().st_size / directory_bytes(long, '*')
        row(f'export --to {what_to[0]}, {what}, {peak:.0f} MB, '
            f'{size:.2f} x the trace', seconds, 's', peer,
            reported if peer else 0, goal)
        (work / 'exported').unlink()
    shutil.rmtree(long)
    many = trace('many.ctf', records // 10, 2000)
    row('full rmap of 2,000 streams', rates(many)['rmap'][1] * 1e3, 'ms',
        'of 20, as many records', rates(tenth)['rmap'][1] * 1e3, '<= 2 x')
    shutil.rmtree(many)
    recorded_rows(build, work, records // 5, rates, report)


def recorded_rows(build, work, records, rates, report):
    """The same of a recording: two threads, counters read by system calls."""
    def record(name, count):
        trace = work / name
        run([build / 'cli/countrace', 'record', '-q', '--force', '-o', trace,
             '--hook-events', 'task-clock,page-faults,context-switches,'
             'minor-faults', '--',
             build / 'tests/runtime/inprocess/hook_workload', 'pairs', '2',
             str(count // 4)])
        return trace
    trace, tenth = record('recorded.ctf', records), record('less.ctf',
                                                           records // 10)
    ours = rates(trace)
    what = f'{records / 1e6:.0f} M recorded, 4 counters each'
    count, seconds = ours['decode']
    row(f'decode, {what}', count / seconds / 1e6, 'M/s', '', 0, '>= 100 M/s')
    count, seconds = ours['rmap']
    row(f'full rmap, {what}', count / seconds / 1e6, 'M/s', '', 0,
        '>= 20 M/s')
    row(f'peak memory, {what}', peak_megabytes(report(trace)), 'MB',
        'of a tenth as many', peak_megabytes(report(tenth)), '1')


def dispatch_rows(build, work, runs):
    # Both on one CPU, the first: some sandboxes hide switches of the others.
    ping_pong = [build / 'tests/bench/ping_pong', '100000', '0']
    events = '{sched:sched_switch,cpu-clock,task-clock,page-faults}:S'
    data = work / 'perf.data'
    if os.geteuid() != 0:
        print('SKIPPED: dispatch record: needs root')
        return
    def figure(*command):
        return figures(run([*command, *ping_pong]))['round_trip'][0]
    bare, perf = [], []
    ours = {'bpf': [], 'perf': []}
    for _ in range(runs):
        bare.append(figure())
        for name, values in ours.items():
            values.append(figure(
                build / 'cli/countrace', 'record', '-q', '-a', '--backend',
                name, '--force', '-o', work / f'{name}.ctf', '--'))
        if shutil.which('perf'):
            perf.append(figure('perf', 'record', '-q', '-a', '-e', events,
                               '-o', data, '--'))
    base = statistics.median(bare)
    peer = (statistics.median(perf) - base) / 2 if perf else 0
    for name, goal in (('bpf', '<= 1/3'), ('perf', '')):
        row(f'dispatch record, {name} back end',
            (statistics.median(ours[name]) - base) / 2, 'ns',
            'perf record, group of 4', peer, goal)
    trace = work / 'bpf.ctf'
    info = figures(run([build / 'tests/bench/decode_bench', trace]))
    row('bytes a dispatch', directory_bytes(trace, 'cpu-*') /
        info['decode'][0], 'B', 'perf record',
        data.stat().st_size / info['decode'][0] if perf else 0, '<= 48 B')


def kernel_hook_rows(build, work, runs):
    if os.geteuid() != 0:
        print('SKIPPED: kernel hooks: need root')
        return
    bench = build / 'tests/bench/kernel_hook_bench'
    # The program is not preloaded: the kernel alone writes.
    ours = (build / 'cli/countrace', 'record', '-q', '-a', '--backend', 'bpf',
            '--force', '-o', work / 'hooks.ctf')
    perf = ('perf', 'trace', '-s', '-o', work / 'perf-trace.txt')

    def figure(what, *recorder):
        words = [*recorder, 'taskset', '-c', '0', 'env', '-u', 'LD_PRELOAD',
                 bench, what, '200000']
        return statistics.median(figures(run(words))[what][0]
                                 for _ in range(runs))

    base = figure('syscall')
    peer = figure('syscall', *perf, '--') - base if shutil.which('perf') else 0
    row('system call, enter + exit',
        figure('syscall', *ours, '--kernel', 'syscalls', '--') - base, 'ns',
        'perf trace -s', peer, '< 1')
    # With the arguments beside without them; in their ratio, <= 1.6. The peers print theirs.
    for what, name in (('name', 'a file name'), ('file', 'a descriptor and its file')):
        base = figure(what)
        without = figure(what, *ours, '--kernel', 'syscalls', '--') - base
        args = figure(what, *ours, '--args', '--') - base
        row(f'system call with {name}, --args', args, 'ns', 'without --args', without, '<= 1.6')
        for peer in (['perf', 'trace', '-o', work / 'perf-trace.txt'],
                     ['strace', '-f', '-o', work / 'strace.txt']):
            if shutil.which(peer[0]):
                row(f'system call with {name}, --args', args, 'ns', ' '.join(map(str, peer[:2])),
                    figure(what, *peer, *(['--'] if peer[0] == 'perf' else [])) - base, '< 1')
    read = figure('read') - figure('syscall')
    for what, hook, name, goal in (
            ('usdt', f'usdt:{bench}:bench:point', 'USDT probe, 4 counters',
             '<= 450 ns'),
            ('function', f'uprobe:{bench}:kernel_hook_bench_function',
             'uprobe, enter + return, 4 counters', '')):
        row(name, figure(what, *ours, '--hook', hook, '--') - figure(what),
            'ns', 'read(2) of 4 counters', read, goal)


    bare = figure('tracepoint')
    hook = 'tracepoint:syscalls:sys_enter_lseek'
    plain, stored = [], []
    for _ in range(runs):  # in turns, so that both see the same machine
        for hook_list, costs in (('', plain), ('(fd,offset,whence)', stored)):
            costs.append(figure('tracepoint', *ours, '--hook',
                                hook + hook_list, '--') - bare)
    row('tracepoint, three arguments', statistics.median(stored), 'ns',
        'the same without', statistics.median(plain), '<= 1.2')


class Redis:
    """A redis server on a free port of the loopback interface."""

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = str(probe.getsockname()[1])
        self.server = subprocess.Popen(
            ['redis-server', '--port', self.port, '--save', ''],
            stdout=subprocess.DEVNULL)
        for _ in range(100):
            if subprocess.run(['redis-cli', '-p', self.port, 'ping'],
                              capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.05)
        return self

    def __exit__(self, *unused):
        self.server.terminate()
        self.server.wait(timeout=30)

    def seconds(self, *recorder):
        """Of 100,000 SETs, under `recorder`."""
        text = run([*recorder, 'redis-benchmark', '-p', self.port, '-n',
                    '100000', '-t', 'set', '--csv'])
        rates = re.findall(r'^"SET","([0-9.]+)"', text, re.M)
        return 100000 / float(rates[0])


def limited_cost(build, work):
    """Of 10 s, with system calls, by the kernel's measures."""
    with Redis() as redis, recorder_cost.measured_programs():
        load = subprocess.Popen(['redis-benchmark', '-p', redis.port, '-n', '1000000000',
                                 '-t', 'set', '-q'], stdout=subprocess.DEVNULL)
        recorder = subprocess.Popen(
            [build / 'cli/countrace', 'record', '-q', '-a', '--force', '-o',
             work / 'limited.ctf', '--max-cpu', '1%', '--kernel', 'syscalls'])
        time.sleep(3)
        spent, begun = recorder_cost.spent_ns(recorder.pid), time.monotonic_ns()
        time.sleep(10)
        cost = 100 * (recorder_cost.spent_ns(recorder.pid) - spent) / (
            time.monotonic_ns() - begun)
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
        load.kill()
        load.wait()
    return cost


def load_rows(build, work, runs):
    if os.geteuid() != 0 or not shutil.which('redis-server'):
        print('SKIPPED: redis-benchmark: needs root and redis-server')
        return
    events = '{sched:sched_switch,cpu-clock,task-clock,page-faults}:S'
    bare, ours, perf, full, perf_trace = [], [], [], [], []
    with Redis() as redis:
        for _ in range(runs):
            bare.append(redis.seconds())
            ours.append(redis.seconds(
                build / 'cli/countrace', 'record', '-q', '-a', '--force', '-o',
                work / 'redis.ctf', '--'))
            if shutil.which('perf'):
                perf.append(redis.seconds(
                    'perf', 'record', '-q', '-a', '-e', events, '-o',
                    work / 'redis.data', '--'))
                perf_trace.append(redis.seconds(
                    'perf', 'trace', '-s', '-a', '-o', work / 'trace.txt',
                    '--'))
            full.append(redis.seconds(
                build / 'cli/countrace', 'record', '-q', '-a', '--force', '-o',
                work / 'redis.ctf', '--kernel', 'syscalls,irq,softirq,faults',
                '--'))
    base = statistics.median(bare)

    def slower(values):
        return (statistics.median(values) / base - 1) * 100
    # Both are near 0: a ratio has no meaning.
    ROWS.append(('redis-benchmark, slower by', f'{slower(ours):.1f} %',
                 'perf record, group of 4',
                 f'{slower(perf):.1f} %' if perf else '-', '-', '<= 2 %'))
    ROWS.append(('redis-benchmark, recorder with --max-cpu 1 %, per cent of a CPU',
                 f'{limited_cost(build, work):.2f} %', '', '-', '-', '<= 1.3 %'))
    ROWS.append(('redis-benchmark, full kernel segments, slower by',
                 f'{slower(full):.1f} %', 'perf trace -s (system calls only)',
                 f'{slower(perf_trace):.1f} %' if perf else '-', '-', '< 1'))


def compile_rows(build, work, runs):
    """A compilation on all CPUs: many short processes, many page faults."""
    if os.geteuid() != 0 or not shutil.which('make'):
        print('SKIPPED: compilation: needs root and make')
        return
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = sorted((root / 'runtime/inprocess').glob('*.cc'))[:8]
    include = f'-I{root} -I{root}/hooks/include'
    (work / 'Makefile').write_text(
        'all: ' + ' '.join(f'{s.stem}.o' for s in sources) + '\n' + ''.join(
            f'{s.stem}.o:\n\tg++ -std=c++20 -O1 {include} -c {s} -o $@\n'
            for s in sources))
    events = '{sched:sched_switch,cpu-clock,task-clock,page-faults}:S'

    def seconds(*recorder):
        for made in work.glob('*.o'):
            made.unlink()
        # Timed inside, without the recorder's start and end.
        text = run([*recorder, 'sh', '-c',
                    'date +%s.%N; make -s -j "$0" -C "$1"; date +%s.%N',
                    str(os.cpu_count()), work])
        begin, end = map(float, text.split())
        return end - begin

    seconds()
    bare, ours, perf = [], [], []
    for _ in range(runs):
        bare.append(seconds())
        ours.append(seconds(build / 'cli/countrace', 'record', '-q', '-a',
                            '--force', '-o', work / 'make.ctf', '--'))
        if shutil.which('perf'):
            perf.append(seconds('perf', 'record', '-q', '-a', '-e', events,
                                '-o', work / 'make.data', '--'))
    base = statistics.median(bare)

    def slower(values):
        return (statistics.median(values) / base - 1) * 100
    ROWS.append(('make -j of C++, slower by', f'{slower(ours):.1f} %',
                 'perf record, group of 4',
                 f'{slower(perf):.1f} %' if perf else '-', '-', '<= 2 %'))


def foreign_rows(build, work, runs, events=10_000_000):
    """An LTTng trace: the report of it, conversion and all, beside the library
    that reads it for us and throws the events away."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] /
                           'import'))
    from lttng_session import LttngSession
    workload = build / 'tests/import/ust_workload'
    if LttngSession.missing() or not workload.exists():
        print('SKIPPED: LTTng trace: no lttng-tools, or no ust_workload')
        return
    folder = work / 'lttng-read'
    folder.mkdir()
    for parent in (work, folder):
        parent.chmod(0o711)
    shutil.copy(workload, folder / 'ust_workload')
    with LttngSession(folder) as lttng:
        traces = [lttng.record([folder / 'ust_workload', 'ticks', str(count)],
                               channel=['--subbuf-size=32M', '--num-subbuf=8'],
                               events=['shop:tick'])
                  # The smaller size is more than the library maps at once.
                  for count in (events * 3 // 10, events)]

    def seconds(*command):
        begin = time.monotonic()
        text = run(command)
        return time.monotonic() - begin, text
    ours, floor = [], []
    for _ in range(runs):
        took, text = seconds('babeltrace2', traces[1], '-c',
                             'sink.utils.counter', '-p', 'step=+0')
        floor.append(took)
        if f'{events} Event' not in text:
            print('SKIPPED: LTTng trace: LTTng lost some of its events')
            return
        took, text = seconds(build / 'cli/countrace', 'report', traces[1])
        ours.append(took)
        if f'captured {events:,} records; nothing was lost' not in text:
            sys.exit(f'run_bench: not {events} events: {text}')
    row(f'report of {events // 10**6} M LTTng events', statistics.median(ours),
        's', 'babeltrace2, counts them', statistics.median(floor), '<= 1.3')
    small, large = (peak_megabytes([build / 'cli/countrace', 'import', '--force',
                                    '-o', work / 'imported.ctf', trace])
                    for trace in traces)
    row(f'peak memory, import of {events // 10**6} M LTTng events', large, 'MB',
        'of 3 tenths as many', small, '1')


def index_rows(build, work, runs, records):
    """Its size, beside the trace's, and the CPU time that building it takes,
    beside a report's."""
    def measure(trace, what, goal):
        outputs = [run([build / 'tests/bench/index_bench', trace])
                   for _ in range(runs)]
        own, whole, _ = figures(outputs[0])['index']
        row(f'index, {what}', own / 1e6, 'MB', 'its trace', whole / 1e6, goal)
        return medians(outputs)['build'][0]

    recorded = work / 'recorded.ctf'
    everywhere = ['-a'] if os.geteuid() == 0 else []
    run([build / 'cli/countrace', 'record', '-q', '--force', *everywhere, '-o',
         recorded, '--',
         build / 'examples/request_pipeline/request_pipeline', '40000', '3'])
    measure(recorded, 'a recording', '<= 0.5 x')
    long = work / 'long.ctf'
    run([build / 'tests/bench/synthetic_trace', long, str(records), '20',
         '200'])
    what = f'{records / 1e6:.0f} M records'
    seconds = measure(long, what, '<= 0.3 x')
    report = figures(run([build / 'tests/bench/decode_bench', long]))['rmap'][1]
    row(f'building it, {what}', seconds, 's of CPU', 'a report', report,
        f'<= {records / 1e7:.1f} s')


def replay_rows(build, work, records):
    """Exact frames, of which the page and the terminal show 30 a second."""
    def rows(trace, what):
        rate, processes = replay_frames.of_the_server(build, trace)
        what = what or f'{processes:,} processes'
        row(f'frames of the page, {what}', rate, '/s of CPU', 'shown', 30,
            '>= 1 x')
        row(f'frames in the terminal, {what}',
            replay_frames.of_the_terminal(build, trace, work), '/s of CPU',
            'shown', 30, '>= 1 x')

    rows(replay_frames.fork_storm(build, work, 1400), '')
    long = work / 'long.ctf'
    run([build / 'tests/bench/synthetic_trace', long, str(records), '20',
         '200'])
    rows(long, f'{records / 1e6:.0f} M records')


def page_rows(build, work):
    """A replay in a browser, of all of a trace and of a 200th, and zooms. At 30
    instants a second 20 % of a core are 6.7 ms each, 50 % 16.7."""
    script = (pathlib.Path(__file__).resolve().parents[1] /
              'viewer/play_speed.mjs')
    found = figures(run(['node', script, build / 'cli/countrace',
                         replay_frames.fork_storm(build, work, 1400)]))
    where = f'{found["processes"][0]:,.0f} processes'
    figures_of_parts = (
        ('instants', 'instants', '/s', 'asked for', 30, '>= 30 /s'),
        ('95 % of frames', 'frame_ms', 'ms', '30 a second', 1000 / 30,
         '<= 34 ms'),
        ('CPU time an instant, server', 'server_ms', 'ms', 'a frame of 30',
         1000 / 30, '<= 6.7 ms'),
        ('CPU time an instant, page', 'page_ms', 'ms', 'a frame of 30',
         1000 / 30, '<= 16.7 ms'))
    for name, part in (('whole', 'all'), ('near', '1/200')):
        for what, key, unit, beside, figure, goal in figures_of_parts:
            row(f'{what}, {part} of {where}', found[f'{name}_{key}'][0], unit,
                beside, figure, goal)
    row(f'95 % of zooms: first tiles, {where}', found['zoom_ms'][0], 'ms', '', 0,
        '<= 100 ms')


def live_rows(build, work):
    """A step of view --live is a copy and its index, of all so far."""
    for size, costs, behind, longest in live_lag.measure(
            build, work, (10, 100, 234)):
        copying, indexing, reading = (1000 * seconds for seconds in costs)
        what = f'view --live, {size:.0f} MB recorded'
        row(f'{what}: behind', 1000 * behind, 'ms', 'at most', 1000 * longest,
            '<= 1,000 ms')
        row(f'{what}: CPU time of a step', copying + indexing, 'ms',
            'copying and reading alone', copying + reading, '')


def begin_rows(build, work, runs):
    for name, peer, *times in begin_bench.measure(build, work, runs):
        ours, its, our_end, its_end = (1000 * seconds for seconds in times)
        row(f'{name}: begins after', ours, 'ms', peer, its, '<= 500 ms')
        row(f'{name}: ends after', our_end, 'ms', peer, its_end, '')


def in_repository(build):
    """The build directory as a reader of the page would type it."""
    root = pathlib.Path(__file__).resolve().parents[2]
    return build.relative_to(root) if build.is_relative_to(root) else 'BUILD'


def surroundings(build, load):
    """Where and with what a run was made."""
    def version(*command):
        if not shutil.which(command[0]):
            return []
        text = subprocess.run(command, capture_output=True, text=True,
                              check=False).stdout
        found = re.search(r'\d+(\.\d+)+', text)
        return [f'{pathlib.Path(command[0]).name} {found[0]}'] if found else []
    model = re.search(r'^(?:model name|cpu)\s*: (.*)$',
                      pathlib.Path('/proc/cpuinfo').read_text(), re.M)
    events = pathlib.Path('/sys/bus/event_source/devices')
    pmu = any((events / name).exists()
              for name in ('cpu', 'cpu_core', 'armv8_pmuv3_0'))
    return '; '.join([
        datetime.date.today().isoformat(),
        f'{os.cpu_count()} CPUs, {model[1] if model else platform.machine()}, '
        f'{"with" if pmu else "without"} a PMU',
        f'Linux {platform.release().split("-")[0]}',
        f'load average {load:.1f} at the beginning',
        *version(build / 'cli/countrace', 'version'),
        *version('perf', 'version'), *version('lttng', '--version'),
        *version('babeltrace2', '--version')])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--records', type=int, default=20_000_000,
                        help='of the long trace, 48 bytes each (default 20 M)')
    parser.add_argument('--only', metavar='PART,...',
                        help='of: ' + ', '.join(TITLES))
    parser.add_argument('--write', type=pathlib.Path, metavar='FILE',
                        help='put the tables into FILE (docs/benchmarks.md), '
                        'and the rows that README has there, too; parts that '
                        'are not run stay as they are')
    options = parser.parse_args()
    chosen = options.only.split(',') if options.only else list(TITLES)
    for name in chosen:
        if name not in TITLES:
            parser.error(f'no part {name}: {", ".join(TITLES)}')
    build = options.build.resolve()
    parts = {
        'hook': lambda work: hook_rows(build, work, options.runs),
        'first_hook': lambda work: first_hook_rows(build, work, options.runs),
        'counts': lambda work: counts_rows(build, options.runs),
        'decode': lambda work: decode_rows(build, work),
        'reading': lambda work: reading_rows(build, work, options.records),
        'begin': lambda work: begin_rows(build, work, options.runs),
        'dispatch': lambda work: dispatch_rows(build, work, options.runs),
        'kernel_hook': lambda work: kernel_hook_rows(build, work, options.runs),
        'load': lambda work: load_rows(build, work, options.runs),
        'compile': lambda work: compile_rows(build, work, options.runs),
        'foreign': lambda work: foreign_rows(build, work, options.runs),
        'index': lambda work: index_rows(build, work, options.runs,
                                         options.records),
        'replay': lambda work: replay_rows(build, work, options.records),
        'page': lambda work: page_rows(build, work),
        'live': lambda work: live_rows(build, work),
        'parallel': lambda work: ROWS.extend(
            parallel_forecast.rows(build, work)),
    }
    for name in chosen:
        begin, load = len(ROWS), os.getloadavg()[0]
        with tempfile.TemporaryDirectory(prefix='countrace-bench-') as folder:
            parts[name](pathlib.Path(folder))
        if options.write and len(ROWS) > begin:
            command = (f'python3 tests/bench/run_bench.py {in_repository(build)} '
                       f'--only {name} --runs {options.runs}')
            if name in ('reading', 'index', 'replay'):
                command += f' --records {options.records}'
            benchmark_page.write(options.write, TITLES, name, command,
                                 surroundings(build, load),
                                 [HEADER, *ROWS[begin:]])
    print(benchmark_page.table([HEADER, *ROWS]), end='')


if __name__ == '__main__':
    main()
