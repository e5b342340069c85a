#!/usr/bin/env python3
"""Records real programs, and compares `report` and `state` of each trace with
the oracle, digit by digit. A trace that differs is kept.

usage: live_test.py COUNTRACE JUMP_WORKLOAD KERNEL_HOOK_WORKLOAD PROCESS_STORM
                    SIGNAL_RETURNS HOOK_SETS_WORKLOAD COROUTINE_WORKLOAD [TEST...]
"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import oracle
from comparison import Comparison

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
import trace_checks  # noqa: E402

PROGRAMS = {}  # the workloads of our own, by name
WORKING = set()  # back ends that were tried
# One of so many numbers may be skipped because it is not exact, as calls are
# that began before the recording; if no records were lost.
SKIPPED = 5

# `record`: options. `command`: what runs under the recorder, with {work} (a
# folder of the test's own), {pid} and the names of PROGRAMS. `before`: runs when
# the recording begins; its pid is {pid}. `least`: numbers that must be compared.
# `rows`: segments and commands that must have a row.
Case = collections.namedtuple('Case', 'record command least rows needs before',
                              defaults=((), None))

REDIS = 'redis-server --port 0 --unixsocket {work}/redis --save ""'
BENCHMARK = ('until redis-cli -s {work}/redis ping; do sleep 0.05; done; '
             'redis-benchmark -s {work}/redis -n 1500 -c 10 -t set,get -q')
REDIS_NEEDS = ('redis-server', 'redis-benchmark', 'redis-cli')
SQL = ('create table t(a integer primary key, b text);'
       'with recursive n(i) as (select 1 union all select i + 1 from n '
       'where i < 9000) insert into t select i, hex(randomblob(40)) from n;'
       'create index tb on t(b); select count(*) from t where b like "%AB%";')
PYTHON = textwrap.dedent('''\
    import subprocess, threading, time
    def work():
        for _ in range(40):
            sum(range(20000))
            time.sleep(0.001)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads: each.start()
    subprocess.run(["true"], check=True)
    for each in threads: each.join()
    ''')
MAKEFILE = textwrap.dedent('''\
    all: $(foreach n,$(shell seq 24),out-$(n))
    out-%:
    \t@seq $* 2000 | sort > $@; wc -l < $@ >/dev/null
    ''')
PIPES = 'for i in 1 2 3 4; do seq 3000 | sort -R | sort | wc -l; done'
SETS = ('-e', 'task-clock,page-faults,{{minor-faults,cpu-clock}},'
        '{{cpu-migrations}},{{page-faults:u}}')
HOOK_SETS = ('page-faults,{{minor-faults}},{{context-switches,page-faults:u}},'
             '{{cpu-migrations}}')
EVERYTHING = ('--kernel', 'syscalls,wakeups,faults,irq,softirq')

CASES = {
    'redis': Case(
        EVERYTHING, REDIS + ' & ' + BENCHMARK + '; '
        'redis-cli -s {work}/redis shutdown nosave; wait',
        5000, ('redis-server', 'redis-benchmark', 'syscall:epoll_wait'),
        REDIS_NEEDS),
    'sqlite3': Case(
        ('--kernel', 'syscalls,faults,block'),
        "sqlite3 {work}/db '" + SQL + "'",
        800, ('sqlite3', 'syscall:pwrite64', 'fault:user'), ('sqlite3',)),
    'python3': Case(
        ('-a', '--no-fault-records', '--kernel', 'irq,softirq'),
        f"python3 -c '{PYTHON}'",
        1000, ('python3', 'true', 'softirq:RCU')),
    'make': Case(
        ('--kernel', 'syscalls,wakeups'),
        f"cd {{work}}; printf '%s' '{MAKEFILE}' > Makefile; make -j3",
        20000, ('make', 'sort', 'syscall:execve'), ('make',)),
    'two threads of xz': Case(
        EVERYTHING, 'seq 300000 > {work}/in; xz -2 -T2 --block-size=512KiB '
        '{work}/in', 1500, ('xz', 'syscall:futex'), ('xz',)),
    'fork storm': Case(
        EVERYTHING, '{process_storm} storm 4 30 3', 20000,
        ('process_storm', 'syscall:getppid')),
    'uprobe': Case(
        ('--kernel', 'syscalls,faults', '--hook-events', 'page-faults',
         '--hook', 'uprobe:{kernel_hook_workload}:kernel_hook_step'),
        '{kernel_hook_workload} 300 10 2', 700,
        ('e2e:step', 'kernel_hook_workload:kernel_hook_step')),
    'signals': Case(
        ('--kernel', 'syscalls,irq,softirq,wakeups'), '{signal_returns} 300',
        500, ('signal_returns', 'syscall:rt_sigreturn')),
    'jumps': Case(
        ('--kernel', 'syscalls', '--hook-events', 'page-faults'),
        '{jump_workload} deep 300; {jump_workload} signal 300', 2000,
        ('jump:left', 'jump:work')),
    'coroutines': Case(
        ('--kernel', 'syscalls,faults,wakeups'),
        '{coroutine_workload_O2} turns 200', 1500,
        ('coro:step', 'coro:plain')),
    'marked by name': Case(
        ('-a', '--mark', 'sort', '--kernel', 'syscalls'),
        PIPES, 500, ('sort', 'syscall:read')),
    'unmarked': Case(
        ('-a', '--mark', 'sort', '--count', 'unmarked', '--kernel', 'wakeups',
         '-e', 'task-clock,context-switches'),
        PIPES, 1000, ('seq', 'wc')),
    'kernel mode of unmarked': Case(
        ('-a', '--backend', 'perf', '--mark', 'sort', '--count',
         'kernel,unmarked', '-e', 'page-faults'),
        PIPES, 1000, ('seq', 'wc')),
    'user mode': Case(
        ('--count', 'user,marked', '-e', 'page-faults'),
        PIPES, 300, ('seq', 'sort')),
    'running process': Case(
        ('-p', '{pid}', *EVERYTHING), BENCHMARK,
        700, ('redis-server', 'syscall:epoll_wait'), REDIS_NEEDS, REDIS),
    'running process, perf': Case(
        ('-p', '{pid}', '--backend', 'perf'), BENCHMARK, 100,
        ('redis-server',), REDIS_NEEDS, REDIS),
    'event sets': Case(
        ('-a', *SETS), PIPES, 500, ('sort', 'seq')),
    'event sets, perf': Case(
        ('--backend', 'perf', *SETS), PIPES, 200, ('sort', 'seq')),
    'event sets of hooks': Case(
        ('--hook-events', HOOK_SETS, '--rotate', '1ms'),
        '{hook_sets_workload} 1000', 500, ('sets:drift', 'sets:none')),
    'each call a rotation': Case(
        ('--hook-events', HOOK_SETS, '--rotate=instance'),
        '{hook_sets_workload} 400', 500, ('sets:drift', 'sets:first')),
    'samples': Case(
        ('--kernel', 'syscalls,faults', '--sample', '499', '--sample',
         'every=10:page-faults'), PIPES, 10000, ('sort', 'syscall:read')),
    'samples of two periods': Case(
        ('--sample', 'every=100:page-faults', '--sample', '1999'), PIPES, 800,
        ('sort',)),
    'off-cpu': Case(
        ('-a', '--kernel', 'wakeups', '--sample', '499', '--offcpu', '500us',
         '--wakeup-stacks'), '{process_storm} storm 4 30 3', 8000,
        ('process_storm',)),
    'off-cpu, dwarf': Case(
        (*EVERYTHING, '--offcpu', '1ms', '--call-graph', 'dwarf', '--sample',
         '499'), REDIS + ' & ' + BENCHMARK + '; '
        'redis-cli -s {work}/redis shutdown nosave; wait', 5000,
        ('redis-server', 'syscall:epoll_wait'), REDIS_NEEDS),
}
LOST = Case(
    ('--kernel', 'syscalls,faults,irq,softirq', '--kernel-ring', '64K'),
    'dd if=/dev/zero of=/dev/null bs=1 count=40000; '
    '{process_storm} storm 4 20 50', 1000, ('process_storm',))
# Recorded by both back ends at once, each compared with the oracle.
BOTH = '{process_storm} storm 3 30 3'
BOTH_LEAST = 1500


class Live(trace_checks.Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('babeltrace2')

    def filled(self, text, pid=0):
        return text.format(work=self.work, pid=pid, **PROGRAMS)

    def start(self, command):
        process = subprocess.Popen(['sh', '-c', 'exec ' + self.filled(command)],
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def check(self, trace, least):
        """Compares all numbers; returns the report."""
        comparison = Comparison()
        tables = oracle.compare(self.countrace_program, str(trace), comparison)
        equal, bounded = comparison.equal, comparison.bounded
        summary = (f'{len(tables.trace.records)} records, {equal} numbers '
                   f'equal, {bounded} within bounds, {comparison.skipped} '
                   'skipped')
        print(f'{self.id().rpartition(".")[2]}: {summary}', flush=True)
        if comparison.differences:
            kept = pathlib.Path(tempfile.mkdtemp(prefix='countrace-differs-'))
            shutil.copytree(trace, kept / trace.name)
            self.fail('\n'.join(comparison.differences[:oracle.SHOWN] +
                                [f'kept: {kept / trace.name}']))
        self.assertGreaterEqual(equal + bounded, least, summary)
        if not tables.lossy:
            self.assertLessEqual(comparison.skipped * SKIPPED, equal + bounded)
        return json.loads(self.countrace('report', '--format', 'json',
                                         trace).stdout)

    def needs_back_end(self, name):
        if name not in WORKING:
            super().needs_back_end(name)
            WORKING.add(name)

    def run_case(self, case):
        self.needs(*case.needs)
        self.needs_back_end('perf' if 'perf' in case.record else 'bpf')
        pid = self.start(case.before) if case.before else 0
        options = [self.filled(each, pid) for each in case.record]
        self.countrace('record', '-q', '-o', self.trace, *options, '--',
                       'sh', '-c', self.filled(case.command))
        data = self.check(self.trace, case.least)
        found = {row['segment'] for row in data['segments']} | {
            row['comm'] for row in data['processes']}
        self.assertLessEqual(set(case.rows), found)
        return data

    def test_lost_records(self):
        data = self.run_case(LOST)
        self.assertGreater(data['loss']['discarded_events'], 0)

    def test_both_back_ends_of_one_run(self):
        traces = {name: self.work / name for name in ('perf', 'bpf')}
        inner = []
        for name, trace in traces.items():
            self.needs_back_end(name)
            inner += [self.countrace_program, 'record', '-q', '--backend', name,
                      '-o', str(trace), '--']
        subprocess.run([*inner, 'sh', '-c', self.filled(BOTH)], timeout=120,
                       stdout=subprocess.DEVNULL, check=True)
        rows = []
        for trace in traces.values():
            data = self.check(trace, BOTH_LEAST)
            rows.append({row['pid']: (row['comm'], row['parent_pid'],
                                      row['counts']['page-faults'])
                         for row in data['processes']
                         if row['comm'] == 'process_storm'
                         and row['quality'] == 'exact'})
        both = rows[0].keys() & rows[1].keys()
        self.assertGreater(len(both), 60)
        for pid in both:
            self.assertEqual(rows[0][pid], rows[1][pid])


def add_tests():
    def test_of(case):
        def test(self):
            self.run_case(case)
        return test

    for name, case in CASES.items():
        words = name.replace(',', '').replace('-', '_').replace(' ', '_')
        setattr(Live, 'test_' + words, test_of(case))


if __name__ == '__main__':
    trace_checks.Recording.countrace_program = sys.argv[1]
    PROGRAMS.update((pathlib.Path(path).name, path) for path in sys.argv[2:8])
    add_tests()
    unittest.main(argv=sys.argv[:1] + sys.argv[8:], verbosity=2)
