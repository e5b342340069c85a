#!/usr/bin/env python3
"""In a pid namespace, as every container has one: rows have the numbers that
the user sees there, and what cannot be named rightly is refused. In a time
namespace: the times of hooks are those of the kernel's records.

usage: namespaces_test.py COUNTRACE PAGE_TOUCHER PROCESS_STORM HOOK_WORKLOAD
"""
import re
import subprocess
import sys
import time

import trace_checks

# A command that ends when process $0 has had 100 page faults more: a duration may
# end before it has a CPU.
FAULTS = ('faults() { cut -d" " -f10 /proc/$0/stat; }; most=$(($(faults) + 100)); '
          'while [ $(faults) -lt $most ]; do sleep 0.01; done')
# In ids of threads outside the recorder's namespace (FORMAT.md, section 3).
OUTSIDE = 0x800000


class Namespaces(trace_checks.Recording):
    toucher = storm = hooks = None  # set by main

    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('unshare')
        self.needs_back_end('bpf')

    def inside(self, script, mount_proc=True):
        """Runs a shell script as process 1 of a new pid namespace."""
        run = subprocess.run(
            ['unshare', '-pf', *(['--mount-proc'] if mount_proc else []),
             'sh', '-c', script], text=True, capture_output=True, timeout=120,
            check=False)
        return run

    def record(self, options, command='', mount_proc=True):
        return self.inside(
            f'{self.countrace_program} record --force -o {self.trace} '
            f'{options} {command}; echo status $?', mount_proc)

    def status(self, run):
        return int(re.search(r'status (\d+)', run.stdout).group(1))

    def row(self, data, pid):
        rows = [row for row in data['processes'] if row['pid'] == pid]
        self.assertEqual(len(rows), 1, data['processes'])
        return rows[0]

    def check_toucher(self, data, said):
        pid, pages = map(int, re.search(r'pid (\d+) pages (\d+)',
                                        said).groups())
        self.assertLess(pid, 1000)
        row = self.row(data, pid)
        self.assertEqual(row['comm'], 'page_toucher')
        self.assertGreaterEqual(row['counts']['page-faults'], pages)
        self.assertLess(row['counts']['page-faults'], pages + 1000)
        self.assertGreater(row['on_cpu_ns'], 0)
        self.assertGreater(row['dispatches'], 0)
        return row

    def test_a_command(self):
        run = self.record('--', f'{self.toucher} 100')
        self.assertEqual(self.status(run), 0, run.stderr)
        data = self.report()
        self.check_books(data)
        row = self.check_toucher(data, run.stdout)
        self.assertEqual([each['pid'] for each in data['processes']],
                         [row['pid']])
        self.check_readable()

    def test_its_hooks_are_of_the_same_process(self):
        run = self.record('--', f'{self.hooks} ticks 2 5000')
        self.assertEqual(self.status(run), 0, run.stderr)
        data = self.report()
        self.check_books(data)
        emitted = {int(tid): int(count) for tid, count in
                   re.findall(r'^emitted (\d+) (\d+)$', run.stdout, re.M)}
        self.assertEqual(len(emitted), 2, run.stdout)
        threads = {row['tid']: row for row in data['threads']}
        for tid in emitted:
            self.assertGreater(threads[tid]['on_cpu_ns'], 0)
        hits = sum(row['hits'] for row in data['hooks'])
        self.assertEqual(hits, sum(emitted.values()))

    def test_a_running_process(self):
        # It runs until it was recorded, however long the recorder takes.
        run = self.inside(
            f'{self.toucher} 600000 & echo pid $!; '
            f'{self.countrace_program} record --force -o {self.trace} -p $! '
            f"-- sh -c '{FAULTS}' $!; echo status $?; kill $!")
        self.assertEqual(self.status(run), 0, run.stderr)
        data = self.report()
        self.check_books(data)
        pid = int(re.search(r'pid (\d+)', run.stdout).group(1))
        self.assertEqual(self.row(data, pid)['comm'], 'page_toucher')
        self.assertGreater(self.row(data, pid)['counts']['page-faults'], 0)

    def test_the_whole_system_names_all_it_sees(self):
        beside = subprocess.Popen([self.toucher, '600000'],
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(beside.wait)
        self.addCleanup(beside.kill)
        run = self.record('-a --', f'{self.toucher} 300')
        self.assertEqual(self.status(run), 0, run.stderr)
        data = self.report()
        self.check_books(data)
        self.check_toucher(data, run.stdout)
        outside = self.row(data, beside.pid | OUTSIDE)
        self.assertEqual(outside['comm'], 'page_toucher')
        self.assertGreater(outside['on_cpu_ns'], 0)

    def test_forks_and_execs(self):
        run = self.record('--kernel syscalls --', f'{self.storm} storm 3 20 5')
        self.assertEqual(self.status(run), 0, run.stderr)
        forks = int(re.search(r'forks (\d+)', run.stdout).group(1))
        data = self.report()
        self.check_books(data)
        rows = data['processes']
        self.assertEqual(len({row['pid'] for row in rows}), len(rows))
        self.assertEqual(len(rows), forks + 1)
        for row in rows:
            self.assertLess(row['pid'], OUTSIDE)
        # Each of them exited, also those whose number the kernel had taken
        # back at the last switch.
        self.assertEqual(data['books']['task-clock']['unattributed'], 0)

    def test_marks_by_name(self):
        run = self.record('-a --mark comm:page_toucher --count marked --',
                          f'{self.toucher} 300')
        self.assertEqual(self.status(run), 0, run.stderr)
        data = self.report()
        self.check_books(data)
        self.check_toucher(data, run.stdout)

    def two_containers(self, *options):
        """Records hooks of two programs that are process 1 of a namespace."""
        inside = f'unshare -pf --mount-proc {self.hooks} ticks 3 20000'
        run = self.countrace('record', '--force', '-o', self.trace, *options,
                             '--', 'sh', '-c', f'{inside} & {inside} & wait')
        self.assertIn('nothing was lost', run.stderr)
        emitted = [int(count) for count in
                   re.findall(r'^emitted \d+ (\d+)$', run.stdout, re.M)]
        self.assertEqual(len(emitted), 6, run.stdout)
        data = self.report()
        self.assertEqual(sum(row['hits'] for row in data['hooks']),
                         sum(emitted))
        return data

    def test_hooks_of_containers_below(self):
        data = self.two_containers()
        self.check_books(data)
        self.check_readable()
        processes = {row['pid']: row for row in data['processes']}
        pids = {row['pid'] for row in data['hooks']}
        self.assertEqual(len(pids), 2, data['hooks'])
        for pid in pids:
            self.assertGreater(pid, 1)
            self.assertLess(pid, OUTSIDE)
            self.assertEqual(processes[pid]['comm'], 'hook_workload')
            threads = [row for row in data['threads'] if row['pid'] == pid]
            self.assertGreaterEqual(len(threads), 4)
            for row in threads:
                self.assertGreater(row['dispatches'], 0, row)

    def test_hooks_of_containers_below_without_kernel_records(self):
        # Nothing says which number the recorder has for them: each has one of
        # its own, and none is taken for another process.
        data = self.two_containers('--no-kernel')
        pids = {row['pid'] for row in data['hooks']}
        self.assertEqual(len(pids), 2, data['hooks'])
        self.assertTrue(all(pid >= OUTSIDE for pid in pids), pids)

    def test_hooks_of_a_container_below_with_perf(self):
        """perf's rings do not have the number that the program has there; the
        recorder looks it up while the program runs."""
        self.needs_back_end('perf')
        run = self.countrace(
            'record', '--force', '-o', self.trace, '--backend', 'perf', '--',
            'unshare', '-pf', '--kill-child', '--mount-proc', self.hooks,
            'clock', '1', '64000', '1000')
        self.assertIn('nothing was lost', run.stderr)
        data = self.report()
        self.check_books(data)
        row, = data['hooks']
        self.assertLess(row['pid'], OUTSIDE)
        self.assertEqual(self.row(data, row['pid'])['comm'], 'hook_workload')
        self.assertFalse([each for each in data['threads']
                          if each['dispatches'] == 0])

    def test_a_running_process_of_a_container_below(self):
        program = subprocess.Popen(
            ['unshare', '-pf', '--kill-child', '--mount-proc', self.toucher,
             '600000'], stdout=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        found = subprocess.run(
            f'until pgrep -P {program.pid}; do sleep 0.01; done', shell=True,
            text=True, capture_output=True, check=True, timeout=20)
        pid = int(found.stdout)
        self.countrace('record', '--force', '-o', self.trace, '-p', pid,
                       '--', 'sh', '-c', FAULTS, pid)
        data = self.report()
        self.check_books(data)
        self.assertEqual(self.row(data, pid)['comm'], 'page_toucher')

    def check_times(self, wall_ns):
        data = self.report()
        self.check_books(data)
        trace = data['trace']
        self.assertLess(trace['end_ns'] - trace['begin_ns'], wall_ns)
        row, = [row for row in data['segments']
                if row['segment'] == 'workload:pair']
        # Some us in one or two dispatches: a clock that is off by 1 ms would
        # put all calls elsewhere.
        self.assertEqual(row['calls'], 3000)
        self.assertGreater(row['on_cpu_ns']['incl'], 0)
        threads = {each['tid']: each for each in data['threads']}
        for each in threads.values():
            self.assertGreaterEqual(each['first_seen_ns'], trace['begin_ns'])
            self.assertLessEqual(each['last_seen_ns'], trace['end_ns'])

    def test_time_namespaces(self):
        shifted = ['unshare', '-T', '--monotonic', '100000']
        if subprocess.run([*shifted, 'true'], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest('SKIPPED: no time namespaces here')
        record = [self.countrace_program, 'record', '--force', '-o',
                  str(self.trace), '--']
        program = [self.hooks, 'pairs', '1', '3000']
        for command in ([*record, *shifted, *program],
                        [*shifted, *record, *program]):
            with self.subTest(command=command):
                begin = time.monotonic_ns()
                subprocess.run(command, check=True, timeout=60,
                               capture_output=True)
                self.check_times(time.monotonic_ns() - begin)

    def test_numbers_of_another_namespace_are_refused(self):
        for options, mount_proc, reason in (
                ('-a --for 1s', False, '/proc shows another pid namespace'),
                ('-a --for 1s --backend perf', True, 'host\'s thread numbers'),
                ('-p 1 --for 1s --backend perf', True, 'host\'s thread numbers'
                 )):
            with self.subTest(options=options):
                run = self.record(options, mount_proc=mount_proc)
                self.assertEqual(self.status(run), 5, run.stderr)
                self.assertIn(reason, run.stderr)
                # No privilege would help.
                for hint in ('setcap', 'sysctl', 'as root'):
                    self.assertNotIn(hint, run.stderr)
                self.assertFalse(self.trace.exists())


if __name__ == '__main__':
    (Namespaces.countrace_program, Namespaces.toucher, Namespaces.storm,
     Namespaces.hooks) = sys.argv[1:5]
    trace_checks.unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
