#!/usr/bin/env python3
"""The effect of each privilege: a command's hooks are always recorded, the
rest as far as allowed. For each missing part, the recording and `countrace
doctor` name the capability or sysctl, and doctor's remedy works.

usage: recorder_privileges_test.py COUNTRACE HOOK_WORKLOAD
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from trace_checks import Recording, with_tracefs

WORKLOAD = None
OTHER_USER = 65534
TICKS = 25
PARANOID = pathlib.Path('/proc/sys/kernel/perf_event_paranoid')
LIBRARY = 'libcountrace-runtime.so.0'


class Privileges(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('setpriv', 'babeltrace2')
        # A folder that another user can read; the build may be in a home
        # folder.
        self.bin = self.work / 'bin'
        out = self.work / 'out'
        self.bin.mkdir()
        out.mkdir()
        self.work.chmod(0o755)
        os.chown(out, OTHER_USER, OTHER_USER)
        self.trace = out / 'trace.ctf'
        self.program = shutil.copy(self.countrace_program, self.bin)
        self.workload = shutil.copy(WORKLOAD, self.bin)
        library = json.loads(self.countrace('doctor', '--format', 'json',
                                            check=False).stdout)
        shutil.copy(library['capabilities'][0]['detail'], self.bin / LIBRARY)
        self.set_paranoid(2)

    def set_paranoid(self, value):
        before = PARANOID.read_text()
        if int(before) == value:
            return
        try:
            PARANOID.write_text(str(value))
        except OSError as error:
            self.skipTest(f'SKIPPED: cannot set {PARANOID}: {error}')
        self.addCleanup(PARANOID.write_text, before)

    def run_as(self, capabilities, *arguments, program=None):
        """Runs as another user with these capabilities only."""
        names = ''.join(f',+{name}' for name in capabilities)
        return subprocess.run(
            ['setpriv', '--reuid', str(OTHER_USER), '--regid', str(OTHER_USER),
             '--clear-groups', '--inh-caps', '-all' + names, '--ambient-caps',
             '-all' + names, 'sh', '-c', 'exec "$0" "$@"',
             program or self.program,
             *map(str, arguments)], text=True, capture_output=True,
            timeout=120, check=False)

    def needs_closed_tracefs(self):
        trial = self.run_as((), '-r', '/sys/kernel/tracing/events/sched/'
                            'sched_switch/id', program='test')
        if trial.returncode == 0:
            self.skipTest('SKIPPED: tracefs is open to everybody here')

    def doctor(self, capabilities):
        run = self.run_as(capabilities, 'doctor', '--format', 'json')
        rows = {row['name']: row
                for row in json.loads(run.stdout)['capabilities']}
        missing = rows['kernel-records']['status'] == 'missing'
        self.assertEqual(run.returncode, 1 if missing else 0)
        for row in rows.values():
            self.assertEqual(row['status'] == 'ok', not row['effect'], row)
        return rows

    def record(self, capabilities, *options, command=None):
        command = command or (self.workload, 'ticks', '1', TICKS)
        return self.run_as(capabilities, 'record', '--force', '-o', self.trace,
                           *options, '--', *command)

    def check_command(self, capabilities, *options, words=(), left_out=0):
        """Checks that its hooks are recorded and the messages have the words,
        with the number of requests that are not. Returns the messages and the
        report."""
        run = self.record(capabilities, *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual('nothing was lost' in run.stderr, left_out == 0,
                         run.stderr)
        self.check_readable()
        hits = [row['hits'] for row in self.report('--by', 'hook')['hooks']
                if row['hook'] == 'workload:tick']
        self.assertEqual(hits[0], TICKS)
        data = self.report()
        self.check_books(data)
        self.assertEqual(data['loss']['unavailable'], left_out, data['loss'])
        return run.stderr, data

    def check_refused(self, capabilities, *options, words=()):
        run = self.record(capabilities, *options, command=('true',))
        self.assertEqual(run.returncode, 5, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertFalse(self.trace.exists())

    def check_machine(self, capabilities, *options):
        run = self.record(capabilities, '-a', *options, command=('true',))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check_readable()
        self.check_books(self.report())
        self.assertGreater(len(self.report()['processes']), 1)

    def test_user_namespace(self):
        """Root there has all capabilities, and none that the kernel's records
        need: none is asked for."""
        inside = ['unshare', '-U', '-r']
        trial = subprocess.run([*inside, 'true'], capture_output=True,
                               check=False)
        if trial.returncode != 0:
            self.skipTest('SKIPPED: no user namespaces here')
        os.chown(self.trace.parent, 0, 0)
        outside = 'outside this user namespace'

        def run(*arguments):
            return subprocess.run(
                [*inside, self.countrace_program, *map(str, arguments)],
                text=True, capture_output=True, timeout=60, check=False)
        for options in (('-a',), ('--kernel', 'syscalls')):
            refused = run('record', *options, '-o', self.trace, '--', 'true')
            self.assertEqual(refused.returncode, 5, refused.stderr)
            self.assertIn(outside, refused.stderr)
            self.assertNotIn('run as root', refused.stderr)
            self.assertFalse(self.trace.exists())
        recorded = run('record', '-o', self.trace, '--', self.workload, 'ticks',
                       '1', TICKS)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.assertIn(outside, recorded.stderr)
        self.assertIn('1 processes with hooks joined', recorded.stderr)
        rows = {row['name']: row for row in json.loads(
            run('doctor', '--format', 'json').stdout)['capabilities']}
        for name in ('privilege', 'kernel-records', 'bpf'):
            self.assertNotEqual(rows[name]['status'], 'ok', rows[name])
            self.assertIn(outside, rows[name]['fix'])
            self.assertNotIn('setcap', rows[name]['fix'])

    def test_root(self):
        run = self.countrace('doctor', '--format', 'json', check=False)
        rows = {row['name']: row
                for row in json.loads(run.stdout)['capabilities']}
        if rows['kernel-records']['status'] != 'ok':
            self.skipTest('SKIPPED: no kernel records here even for root: '
                          + rows['kernel-records']['detail'])
        self.assertEqual(run.returncode, 0)
        for name in ('privilege', 'tracefs', 'hook-counters', 'user-probes'):
            self.assertEqual(rows[name]['status'], 'ok')
        self.countrace('record', '-a', '-o', self.trace, '--', 'true')
        self.check_books(self.report())

    def test_few_open_files(self):
        """The limit is raised as far as the user may; else the number that is named is enough."""
        self.needs_back_end('bpf')

        def record(limit):
            return subprocess.run(
                ['sh', '-c', f'ulimit {limit}; exec "$@"', 'sh',
                 'setpriv', '--bounding-set', '-sys_resource', self.countrace_program,
                 'record', '--force', '-o', self.trace, '--kernel',
                 'syscalls,faults,wakeups', '--sample', '199', '--offcpu', '1ms',
                 '--', 'sh', '-c', 'ulimit -Sn'],
                text=True, capture_output=True, timeout=120, check=False)
        run = record('-Sn 64')
        self.assertEqual((run.returncode, run.stdout), (0, '64\n'), run.stderr)
        run = record('-n 64')
        self.assertEqual((run.returncode, run.stdout), (1, ''), run.stderr)
        needed = re.search(r'the limit is 64: `ulimit -n (\d+)`', run.stderr)
        self.assertIsNotNone(needed, run.stderr)
        run = record(f'-n {needed[1]}')
        self.assertEqual((run.returncode, run.stdout), (0, f'{needed[1]}\n'), run.stderr)

    def test_cap_bpf_and_cap_perfmon(self):
        self.needs_back_end('bpf')
        self.needs_closed_tracefs()
        capabilities = ('bpf', 'perfmon')
        rows = self.doctor(capabilities)
        self.assertEqual(rows['kernel-records']['status'], 'ok')
        self.assertEqual(rows['bpf']['status'], 'ok')
        self.assertEqual(rows['privilege']['status'], 'ok')
        self.assertEqual(rows['tracefs']['status'], 'missing')
        self.assertIn('CAP_DAC_READ_SEARCH', rows['tracefs']['detail'])
        self.assertIn('cap_dac_read_search', rows['tracefs']['fix'])
        probe = ('--hook', f'uprobe:{self.workload}:main')
        said, data = self.check_command(
            capabilities, '--best-effort', '--kernel', 'syscalls,faults',
            *probe, left_out=int(rows['user-probes']['status'] != 'ok'))
        segments = {row['segment'] for row in data['segments']}
        self.assertIn('syscall:exit_group', segments)
        # Kernels without links of many uprobes (before 6.6) take these from
        # CAP_SYS_ADMIN only.
        if rows['user-probes']['status'] == 'ok':
            self.assertIn('hook_workload:main', segments)
        else:
            self.assertRegex(said, 'hook_workload:main.*CAP_SYS_ADMIN')
            self.assertIn('CAP_SYS_ADMIN', rows['user-probes']['detail'])
            shutil.rmtree(self.trace)
            for scope in ((), ('-a',)):
                self.check_refused(capabilities, *scope, *probe, words=(
                    'CAP_SYS_ADMIN', 'hook_workload:main', '--best-effort'))
        self.check_machine(capabilities, '--kernel', 'syscalls,irq')
        # A tracepoint's number is in tracefs.
        tracepoint = ('--hook', 'tracepoint:sched:sched_process_exec')
        words = (tracepoint[1], 'CAP_DAC_READ_SEARCH')
        self.check_command(capabilities, '--best-effort', *tracepoint,
                           words=words, left_out=1)
        shutil.rmtree(self.trace)
        # All that is missing is named, not the first of it alone.
        for scope in ((), ('-a',)):
            self.check_refused(
                capabilities, *scope, *tracepoint, '--kernel', 'block',
                words=(*words, '--kernel block', '--best-effort'))

    def test_cap_perfmon_alone(self):
        self.needs_closed_tracefs()
        rows = self.doctor(('perfmon',))
        self.assertEqual(rows['privilege']['status'], 'ok')
        self.assertEqual(rows['hook-counters']['status'], 'ok')
        self.assertEqual(rows['kernel-records']['status'], 'missing')
        for word in ('CAP_BPF', 'CAP_DAC_READ_SEARCH'):
            self.assertIn(word, rows['kernel-records']['detail'])
        words = ('CAP_BPF', 'CAP_DAC_READ_SEARCH', 'setcap',
                 'User hooks')
        asked = ('--kernel', 'syscalls,wakeups', '--hook',
                 f'uprobe:{self.workload}:main')
        said, _ = self.check_command(
            ('perfmon',), '--best-effort', '--hook-events', 'page-faults',
            *asked, words=words, left_out=3)
        # perf_event_paranoid would not help.
        self.assertNotIn('sysctl', said)
        self.assertNotIn('user mode only', said)
        shutil.rmtree(self.trace)
        self.check_refused(('perfmon',), '-a', words=words)
        self.check_refused(('perfmon',), *asked, words=(
            '--kernel syscalls, --kernel wakeups, --hook uprobe:', 'CAP_BPF',
            'setcap', '--best-effort'))

    def test_cap_perfmon_with_tracefs(self):
        self.needs_back_end('perf')
        capabilities = ('perfmon', 'dac_read_search')
        rows = self.doctor(capabilities)
        self.assertEqual(rows['kernel-records']['status'], 'ok')
        self.assertEqual(rows['bpf']['status'], 'limited')
        self.assertIn('without CAP_BPF', rows['bpf']['detail'])
        self.assertNotIn('CAP_PERFMON', rows['bpf']['detail'])
        said, data = self.check_command(
            capabilities, '--best-effort', '--kernel', 'syscalls',
            left_out=1, words=(
                'Kernel records come from perf rings', 'CAP_BPF',
                'Not recorded: --kernel syscalls'))
        self.assertIn('task-clock', data['books'])
        self.assertEqual(said.count('CAP_BPF'), 1)
        self.check_machine(capabilities)
        shutil.rmtree(self.trace)
        self.check_refused(capabilities, '-a', '--backend', 'bpf',
                           words=('CAP_BPF', 'cap_bpf'))

    def test_cap_bpf_alone(self):
        self.needs_closed_tracefs()
        rows = self.doctor(('bpf',))
        self.assertEqual(rows['privilege']['status'], 'missing')
        self.assertIn('CAP_PERFMON', rows['bpf']['detail'])
        self.check_command(('bpf',), words=('CAP_PERFMON',))
        shutil.rmtree(self.trace)
        self.check_refused(('bpf',), '-a', words=('CAP_PERFMON',))

    def test_plain_user(self):
        self.needs_closed_tracefs()
        for paranoid in (2, 1, -1):
            with self.subTest(paranoid=paranoid):
                self.set_paranoid(paranoid)
                rows = self.doctor(())
                self.assertIn(f'kernel.perf_event_paranoid={paranoid} ',
                              rows['privilege']['detail'])
                self.assertEqual(rows['privilege']['status'],
                                 'ok' if paranoid == -1 else 'missing')
                self.assertEqual(rows['kernel-records']['status'], 'missing')
                self.assertEqual(rows['hook-counters']['status'],
                                 'limited' if paranoid == 2 else 'ok')
                words = ('CAP_BPF and CAP_PERFMON', 'CAP_DAC_READ_SEARCH',
                         'setcap')
                said, data = self.check_command((), '--hook-events',
                                                'page-faults', words=words)
                self.assertEqual(
                    bool(re.search(r'user mode only.*perf_event_paranoid=2',
                                   said)), paranoid == 2)
                self.assertIn('page-faults', ' '.join(data['trace']['events'])
                              + said)
                shutil.rmtree(self.trace)
                self.check_refused((), '-a', words=words)
                self.check_refused((), '-p', os.getpid(), words=words)

    def test_paranoid_is_enough_beside_tracefs(self):
        self.needs_back_end('perf')
        open_tracefs = ('dac_read_search',)
        for paranoid, enough in ((2, False), (1, False), (-1, True)):
            with self.subTest(paranoid=paranoid):
                self.set_paranoid(paranoid)
                rows = self.doctor(open_tracefs)
                self.assertEqual(rows['kernel-records']['status'],
                                 'ok' if enough else 'missing')
                if enough:
                    self.check_command(open_tracefs)
                    self.check_machine(open_tracefs)
                    continue
                words = (f'perf_event_paranoid={paranoid}', 'CAP_PERFMON',
                         'sysctl kernel.perf_event_paranoid=-1')
                self.check_command(open_tracefs, words=words)
                shutil.rmtree(self.trace)
                self.check_refused(open_tracefs, '-a', words=words)

    def test_what_doctor_advises_works(self):
        self.needs_back_end('bpf')
        self.needs('setcap', 'install')
        fix = self.doctor(())['kernel-records']['fix']
        self.program = self.make_privileged(pathlib.Path(self.program), fix,
                                            OTHER_USER)
        rows = self.doctor(())
        for name in ('privilege', 'tracefs', 'kernel-records', 'bpf'):
            self.assertEqual(rows[name]['status'], 'ok', rows[name])
        said, data = self.check_command(
            (), '--kernel', 'syscalls', '--hook',
            'tracepoint:sched:sched_process_exec')
        self.assertNotIn('not recorded', said)
        self.assertNotIn('cost of a hook', said)
        metadata = (self.trace / 'metadata').read_text(encoding='latin-1')
        self.assertRegex(metadata, r'own_hook_ps = [1-9]')
        self.assertIn('syscall:exit_group',
                      {row['segment'] for row in data['segments']})
        self.check_no_library_of_the_caller_runs()
        self.check_machine(())
        if rows['user-probes']['status'] != 'ok':
            shutil.rmtree(self.trace)
            self.check_refused((), '-a', '--hook',
                               f'uprobe:{self.workload}:main',
                               words=('CAP_SYS_ADMIN',))

    def check_no_library_of_the_caller_runs(self):
        """The program has capabilities now, and its caller has none."""
        library = shutil.copy(self.bin / LIBRARY, self.work / 'chosen.so')
        os.environ['COUNTRACE_RUNTIME'] = str(library)
        self.addCleanup(os.environ.pop, 'COUNTRACE_RUNTIME', None)
        shutil.rmtree(self.trace)
        said, _ = self.check_command(())
        self.assertIn('runs no library that COUNTRACE_RUNTIME names', said)
        del os.environ['COUNTRACE_RUNTIME']
        shutil.rmtree(self.trace)


if __name__ == '__main__':
    with_tracefs()
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
