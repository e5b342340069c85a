#!/usr/bin/env python3
"""Kernel segments and dynamic hooks, checked on a program whose system calls,
page faults and calls are known: every call is at its node of the call tree,
the books balance, and counts of interrupts belong to no thread.

usage: kernel_hooks_test.py COUNTRACE KERNEL_HOOK_WORKLOAD USDT_PAIRS
"""
import collections
import fnmatch
import json
import os
import pathlib
import platform
import pty
import re
import shutil
import subprocess
import sys
import unittest

from trace_checks import Recording, babeltrace_counts, countrace

COUNTRACE = WORKLOAD = PAIRS = None
CALLS, SYSCALLS, PAGES = 300, 20, 3


class KernelHooks(Recording):
    def setUp(self):
        super().setUp()
        self.needs_back_end('bpf')

    def record(self, *options, command=None):
        command = command or (WORKLOAD, CALLS, SYSCALLS, PAGES)
        run = countrace('record', '--force', '-o', self.trace, *options, '--',
                        *command)
        # Seen once, with one record; why is not known.
        back = re.search(r'went back and were clamped: records=(\d+)', run.stderr)
        self.assertLessEqual(int(back.group(1)) if back else 0, 3, run.stderr)
        self.said = run.stderr
        self.check_readable()
        ids = re.search(r'^pid (\d+) child (\d+)', run.stdout, re.M)
        if ids:
            self.pid, self.child = int(ids.group(1)), int(ids.group(2))
        return json.loads(countrace('report', '--format', 'json',
                                    self.trace).stdout)

    def check_readable(self):
        """Sound, and every reader sees the same number of records."""
        countrace('verify', self.trace)
        ours = countrace('script', self.trace).stdout.splitlines()
        self.assertEqual(babeltrace_counts(self.trace), (len(ours), 0, ''))

    def check_books(self, data):
        self.assertEqual(data['loss']['discarded_events'], 0)
        for event, books in data['books'].items():
            self.assertEqual(books['residual'], 0, event)
            accounts = sum(books[name] for name in (
                'processes', 'own', 'idle', 'interrupts', 'outside',
                'unattributed'))
            self.assertEqual(accounts, books['total'], event)

    def rows(self, data, segment, pid=None):
        return [row for row in data['segments'] if row['segment'] == segment
                and pid in (None, row['pid'])]

    def one(self, data, segment, pid=None):
        rows = self.rows(data, segment, pid)
        self.assertEqual(len(rows), 1, (segment, rows))
        return rows[0]

    def hits(self, hook):
        rows = json.loads(countrace('report', '--by', 'hook', '--format',
                                    'json', self.trace).stdout)['hooks']
        return {row['pid']: row['hits'] for row in rows
                if row['hook'] == hook}

    def path(self, *names):
        rows = json.loads(countrace('report', '--by', 'path', '--format',
                                    'json', self.trace).stdout)['segment_paths']
        found = [row for row in rows if tuple(row['path']) == names
                 and row['pid'] == self.pid]
        self.assertEqual(len(found), 1, names)
        return found[0]

    def check_tree(self, data):
        program = pathlib.Path(WORKLOAD).name
        function = program + ':kernel_hook_step'
        self.assertEqual(self.one(data, function, self.pid)['calls'], CALLS)
        # uprobe > static segment > the kernel's work in it.
        self.assertEqual(self.path(function, 'e2e:step')['calls'], CALLS)
        calls = self.path(function, 'e2e:step', 'syscall:getppid')
        self.assertEqual(calls['calls'], CALLS * SYSCALLS)
        faults = self.path(function, 'e2e:step', 'fault:user')
        self.assertGreaterEqual(faults['calls'], CALLS * PAGES)
        counted = faults['counts']['page-faults']['incl']
        self.assertEqual(counted, faults['calls'])
        step = self.one(data, 'e2e:step', self.pid)
        inner = calls['on_cpu_ns']['incl'] + faults['on_cpu_ns']['incl']
        self.assertLessEqual(inner, step['on_cpu_ns']['incl'])
        # Each fault is in a kernel segment.
        for kind in ('fault:user', 'fault:kernel'):
            for row in self.rows(data, kind, self.pid):
                self.assertEqual(row['counts']['page-faults']['incl'],
                                 row['calls'] - row.get('end_inferred', 0))

    def test_a_command_and_what_it_forks(self):
        for _ in range(2):  # the second replaces a trace of many hooks
            data = self.record('--kernel', 'syscalls,faults,irq,softirq',
                               '--hook', f'uprobe:{WORKLOAD}:kernel_hook_step')
        self.check_books(data)
        self.check_tree(data)
        # fork and exec: enter and exit of both, each call once.
        self.assertEqual(self.one(data, 'syscall:wait4', self.pid)['calls'], 1)
        execs = self.one(data, 'syscall:execve', self.child)
        # A shell's search through PATH: one succeeds, those before fail.
        self.assertGreaterEqual(execs['calls'], 1)
        self.assertEqual(execs['begin_inferred'], 0)
        self.assertEqual(execs['end_inferred'], 0)
        ends = self.one(data, 'syscall:exit_group', self.child)
        self.assertEqual((ends['calls'], ends['end_inferred']), (1, 0))
        # No other process.
        members = {row['pid'] for row in data['processes']}
        self.assertLessEqual({self.pid, self.child}, members)
        self.assertLessEqual({row['pid'] for row in data['segments']},
                             members | {0})

    def test_the_steps_before_exec_are_not_the_commands(self):
        """Neither the search in PATH nor the wait for the recording."""
        path = '/nowhere-a:/nowhere-b:' + os.environ['PATH']
        for scope in ((), ('-a',)):
            with self.subTest(scope=scope):
                run = subprocess.run(
                    [COUNTRACE, 'record', '--force', '-o', self.trace, *scope,
                     '--kernel', 'syscalls,faults', '--', 'sh', '-c',
                     'echo $$'], text=True, capture_output=True, check=True,
                    timeout=120, env=os.environ | {'PATH': path})
                of_it = rf'cpu-\d+ (\S+): .*\bpid = {run.stdout.strip()}\b'
                lines = countrace('script', self.trace).stdout
                names = re.findall(of_it, lines)
                hooks = [name for name in names if '__' in name]
                self.assertEqual(hooks[0], 'syscall:execve__enter')
                self.assertEqual(names.count('syscall:execve__enter'), 1)
                self.assertLess(names.index(hooks[0]), names.index('exec'))

    def test_failed_calls_have_their_errno(self):
        script = """
import os
for call, path in ((os.rmdir, '/none'), (os.rmdir, '/proc'), (os.rmdir, '/none')):
    try:
        call(path)
    except OSError:
        pass
"""
        data = self.record('--kernel', 'syscalls',
                           command=(sys.executable, '-c', script))
        row, = [row for row in data['segments']
                if row['segment'] == 'syscall:rmdir']
        self.assertEqual(3, row['calls'])
        self.assertEqual(3, row['failed'])
        self.assertEqual({'ENOENT': 2, 'EBUSY': 1},
                         {name: calls for name, calls in row['errors'].items()
                          if calls})
        text = countrace('report', '--by', 'segment', '--where',
                         'errors.EBUSY > 0', '--columns',
                         'calls,failed,segment', self.trace).stdout
        self.assertRegex(text, r'(?m)^ +3 +3 +syscall:rmdir')

    def test_the_whole_machine(self):
        data = self.record('-a', '--kernel', 'syscalls,faults,irq,softirq',
                           '--hook', f'uprobe:{WORKLOAD}:kernel_hook_step')
        self.check_books(data)
        self.check_tree(data)
        # The time of recording is measured, and smaller than the whole.
        sampled = data['trace']['own_bpf_sampled_ns']
        if sampled == 0:
            print('SKIPPED: own cost: this kernel does not measure BPF')
        else:
            self.assertGreater(data['trace']['own_bpf_ns'], 0)
            self.assertLess(data['trace']['own_bpf_ns'],
                            data['books']['task-clock']['total'])
        # The timer alone interrupts more than once.
        clock = data['books']['task-clock']
        self.assertGreater(clock['interrupts'], 0)
        inside = sum(row['on_cpu_ns']['excl'] for row in data['segments']
                     if row['pid'] == 0)
        self.assertLessEqual(inside, clock['interrupts'])
        self.assertGreater(inside, clock['interrupts'] // 2)
        interrupts = sum(row['interrupts_ns'] for row in json.loads(
            countrace('report', '--by', 'cpu', '--format', 'json',
                      self.trace).stdout)['cpus'])
        self.assertEqual(interrupts, clock['interrupts'])

    def test_the_kernels_way_into_a_probe_is_no_system_call(self):
        """Some kernels run the program of a return probe in one."""
        data = self.record('--kernel', 'syscalls', '--hook',
                           f'uprobe:{WORKLOAD}:kernel_hook_step')
        self.check_tree_of_probe(data)
        names = {row['segment'] for row in data['segments']}
        names |= {row['hook'] for row in data['hooks']}
        for number in ('335', '336', '65535', 'uretprobe', 'uprobe'):
            self.assertNotIn('syscall:' + number, names)

    def check_tree_of_probe(self, data):
        name = pathlib.Path(WORKLOAD).name + ':kernel_hook_step'
        row = self.one(data, name, self.pid)
        self.assertEqual((row['calls'], row['end_inferred']), (CALLS, 0))

    def test_attaching_shows_its_progress(self):
        ours, its = pty.openpty()
        run = subprocess.run(
            [COUNTRACE, 'record', '--force', '-o', self.trace, '--hook',
             f'uprobe:{WORKLOAD}:*', '--', 'true'], stderr=its, check=True,
            timeout=120, env=os.environ | {'TERM': 'xterm'})
        os.close(its)
        shown = b''
        try:
            while data := os.read(ours, 65536):
                shown += data
        except OSError:
            pass  # the end of a terminal
        os.close(ours)
        self.assertEqual(run.returncode, 0)
        self.assertRegex(shown, rb'attaching probes +\d+ %')

    def test_probes_of_a_file_share_a_link(self):
        """Attached one by one, each takes the kernel 0.1 s."""
        file, glob = '/usr/bin/python3', 'PyL*_*'
        listed = countrace('list', 'functions', file, glob).stdout.split()
        version = tuple(map(int, platform.release().split('.')[:2]))
        if version < (6, 6) or len(listed) < 20:
            self.skipTest('SKIPPED: needs Linux 6.6 and functions of python3')
        links = subprocess.run(
            [COUNTRACE, 'record', '-q', '--force', '-o', self.trace, '--hook',
             f'uprobe:{file}:{glob}', '--', 'sh', '-c',
             'ls -l /proc/$PPID/fd | grep -c bpf'], text=True, check=True,
            capture_output=True, timeout=120).stdout
        without = subprocess.run(
            [COUNTRACE, 'record', '-q', '--force', '-o', self.trace, '--',
             'sh', '-c', 'ls -l /proc/$PPID/fd | grep -c bpf'], text=True,
            check=True, capture_output=True, timeout=120).stdout
        self.assertLess(int(links), int(without) + len(listed))

    def test_usdt_probes_dumped_by_the_kernel(self):
        # The same hooks, by the program itself and by the kernel.
        data = self.record('--hook', f'usdt:{WORKLOAD}:e2e:*')
        self.check_books(data)
        steps = self.rows(data, 'e2e:step', self.pid)
        self.assertEqual([row['calls'] for row in steps], [CALLS, CALLS])
        self.assertEqual(self.hits('e2e:pages')[self.pid], CALLS)
        text = countrace('script', self.trace).stdout
        dumps = re.findall(r'cpu-\d+ e2e:pages: .*task_clock = (\d+)', text)
        self.assertEqual(len(dumps), CALLS)

    def test_usdt_pairs_of_other_programs_are_segments(self):
        data = self.record('--hook', f'usdt:{PAIRS}:pairs:*',
                           command=(PAIRS, 7))
        # The program's own records of these hooks are points.
        segments = {row['segment']: row['calls'] for row in data['segments']}
        self.assertEqual(segments, {
            'pairs:query': 7, 'pairs:function': 7, 'pairs:gc': 7})
        self.assertEqual(sum(self.hits('pairs:gc').values()), 14)
        listed = json.loads(countrace('list', 'probes', PAIRS, '--format',
                                      'json').stdout)['probes']
        self.assertEqual(
            [(row['probe'], row['kind'], row['places']) for row in listed],
            [('pairs:commit__start', 'point', 1),
             ('pairs:function', 'segment', 2), ('pairs:gc', 'segment', 2),
             ('pairs:query', 'segment', 2)])

    def test_presets_are_kernel_words(self):
        for preset, hook in (('syscalls', 'syscall:'), ('locks', 'syscall:')):
            with self.subTest(preset=preset):
                data = self.record('--preset', preset, command=('true',))
                self.assertTrue(any(row['segment'].startswith(hook)
                                    for row in data['segments']))
        self.assertIsNotNone(data['threads'][0]['blocked_ns'])

    def test_tracepoints(self):
        data = self.record(
            '--hook', 'tracepoint:sched:sched_process_exec', '--hook',
            'tracepoint:raw_syscalls:sys_enter/sys_exit', '--kernel',
            'syscalls')
        self.check_books(data)
        self.assertEqual(sum(self.hits('sched:sched_process_exec').values()),
                         2)
        pair = self.one(data, 'raw_syscalls:sys_enter/sys_exit', self.child)
        calls = sum(row['calls'] for row in data['segments']
                    if row['pid'] == self.child
                    and row['segment'].startswith('syscall:'))
        # The tracepoint also has the calls of the runtime library.
        self.assertGreaterEqual(pair['calls'], calls)
        self.assertLess(pair['calls'], 2 * calls)

    def test_requests_to_a_block_device(self):
        size = 1 << 20
        written = self.work / 'written'
        device = os.stat(self.work).st_dev
        numbers = f'{os.major(device)}:{os.minor(device)}'
        link = pathlib.Path('/sys/dev/block') / numbers
        if not link.exists() or (link / 'partition').exists():
            self.skipTest('SKIPPED: needs a folder on a whole block device')
        data = self.record(
            '-a', '--kernel', 'block', command=[
                'dd', 'if=/dev/zero', f'of={written}', f'bs={size}', 'count=4',
                'oflag=direct,sync', 'status=none'])
        name = f'{numbers} {os.path.basename(os.readlink(link))}'
        requests = collections.defaultdict(int)
        records = countrace('script', '--format', 'jsonl', '--hook', 'block:*',
                            self.trace).stdout.splitlines()
        for record in map(json.loads, records):
            fields = record['fields']
            self.assertEqual(fields['bytes'] % 512, 0)
            requests[record['event'], fields['device']] += fields['bytes']
        issued = requests['block:block_rq_issue', name]
        self.assertGreaterEqual(issued, 4 * size)
        rows = [row for row in data['hooks']
                if row['hook'].startswith('block:')]
        for key, expected in requests.items():
            self.assertEqual(expected, sum(
                row['bytes'] for row in rows
                if (row['hook'], row['device']) == key))
        chosen = json.loads(countrace(
            'report', '--by', 'hook', '--format', 'json', '--where',
            f'device == "{name}" && bytes > 1Mi', self.trace).stdout)['hooks']
        self.assertEqual(chosen, [row for row in rows if row['device'] == name
                                  and row['bytes'] > 1 << 20])
        self.assertTrue(chosen)

    def test_hardware_like_counters_are_dumped_at_the_hooks(self):
        # Only dumps have this counter: no other record repeats it.
        data = self.record('--kernel', 'syscalls', '-e',
                           'task-clock,raw_syscalls:sys_enter')
        self.check_books(data)
        row = self.one(data, 'syscall:getppid', self.pid)
        self.assertEqual(row['calls'], CALLS * SYSCALLS)
        # The tracepoint's counter and our program run at the same event, in an
        # order that the kernel chooses: each call counts its own enter, or
        # none.
        counted = row['counts']['raw_syscalls:sys_enter']
        self.assertIn(counted['incl'], (0, CALLS * SYSCALLS))
        self.assertEqual(counted['quality'], 'exact')

    def kernel_records(self):
        """(time in ns, hook, place, cpu, tid, whether it has the counters)."""
        line = re.compile(r'\[(\d+)\.(\d+)\] cpu-(\d+) (\S+:\S.*?)'
                          r'(?:__(enter|exit))?: \{ tid = (\d+), pid = ')
        records = []
        for text in countrace('script', self.trace).stdout.splitlines():
            found = line.match(text)
            if found:
                seconds, ns, cpu, hook, place, tid = found.groups()
                records.append((int(seconds) * 10**9 + int(ns), hook,
                                place or 'point', int(cpu), int(tid),
                                'task_clock = ' in text))
        return records

    def check_dry_run(self, rules):
        """For each rule, the replay selects exactly the records that the
        kernel dumped."""
        options = [word for rule in rules for word in ('--dump', rule)]
        rows = json.loads(countrace(
            'record', '--dry-run-rules', self.trace, '--format', 'json',
            *options).stdout)['rules'][:len(rules)]
        seen, dumped = collections.Counter(), collections.Counter()
        for _, hook, _, _, _, dump in self.kernel_records():
            rule = next((i for i, text in enumerate(rules)
                         if fnmatch.fnmatchcase(hook, text.split()[0])), None)
            if rule is None:
                self.assertFalse(dump, hook)
            else:
                seen[rule] += 1
                dumped[rule] += dump
        for i, rule in enumerate(rules):
            with self.subTest(rule=rule):
                self.assertEqual(rows[i]['dumps'], dumped[i], self.said)
        return dumped

    def test_rules_choose_whose_records_carry_counters(self):
        rules = ['*:kernel_hook_step every 10', 'syscall:getppid every 7',
                 'fault:user']
        options = [word for rule in rules for word in ('--dump', rule)]
        data = self.record('--kernel', 'syscalls,faults', '--hook',
                           f'uprobe:{WORKLOAD}:kernel_hook_step', *options)
        self.check_books(data)
        self.check_tree(data)
        dumps = self.check_dry_run(rules)
        self.assertEqual(dumps[0], 2 * (CALLS // 10))
        self.assertEqual(dumps[1], 2 * (CALLS * SYSCALLS // 7))
        faults = sum(hook == 'fault:user'
                     for _, hook, *_ in self.kernel_records())
        self.assertEqual(dumps[2], faults)
        # Always the seventh, and its exit with it.
        calls = [record for record in self.kernel_records()
                 if record[1] == 'syscall:getppid' and record[4] == self.pid]
        for i, (enter, leave) in enumerate(zip(calls[::2], calls[1::2])):
            self.assertEqual((enter[2], leave[2]), ('enter', 'exit'))
            self.assertEqual((enter[5], leave[5]), ((i + 1) % 7 == 0,) * 2)

    def test_rules_of_times_and_of_cpus_agree_with_their_replay(self):
        for rules in (
                ['softirq:* every 2', 'irq:* every 3', 'syscall:* every 5',
                 'fault:* every 4', 'sched:* every 3'],
                ['syscall:* every 2 at most every 1ms', 'irq:local_timer never',
                 'fault:* every 2 ticks', 'softirq:* at most every 5ms',
                 'irq:*']):
            options = [word for rule in rules for word in ('--dump', rule)]
            # A rule's state is not stored, which is said, where an interrupt
            # comes while its CPU stores another one in the same bucket.
            for _ in range(3):
                data = self.record('-a', '--kernel-ring', '32M', '--kernel',
                                   'syscalls,faults,irq,softirq',
                                   '--hook', 'tracepoint:sched:sched_switch',
                                   *options)
                self.check_books(data)
                if 'could not be evaluated' not in self.said:
                    self.assertGreater(sum(self.check_dry_run(rules).values()), 0)
                    break
            else:
                records = int(re.search(r'could not be evaluated.*: records=(\d+);',
                                        self.said)[1])
                self.assertLess(records, data['trace']['records'] / 100)
                # `SKIPPED:` would hide the failures of other tests of this program.
                print('not compared: an interrupt came in between each time')
        last = {}
        for time_ns, hook, place, _, tid, dump in self.kernel_records():
            if dump and place == 'enter' and hook.startswith('syscall:'):
                if (hook, tid) in last:
                    self.assertGreaterEqual(time_ns - last[hook, tid], 10**6,
                                            (hook, tid, time_ns, self.said))
                last[hook, tid] = time_ns
        self.assertIn(('syscall:getppid', self.pid), last)

    def test_rules_begin_anew_with_each_thread(self):
        # Each process makes a known number of system calls and ends. Tids are
        # not used again here, but the child of a fork never continues in its
        # parent's calls.
        loop = f'for i in 1 2 3 4; do {WORKLOAD} 1 8 1; done'
        self.record('--kernel', 'syscalls', '--dump', 'syscall:getppid every 3',
                    command=('sh', '-c', loop))
        dumps = collections.Counter(
            (tid, place) for _, hook, place, _, tid, dump
            in self.kernel_records() if dump)
        self.assertEqual(sorted(dumps.values()), [2] * 8)
        self.check_dry_run(['syscall:getppid every 3'])

    def test_rules_that_kernel_hooks_cannot_be_asked_are_refused(self):
        for rule, words in (
                ('syscall:read if arg0 == "x"', ('syscall:read', 'integers',
                                              "'syscall*:* never'")),
                ('syscall:* if arg0 > 1.5', ('syscall:', 'decimals'))):
            run = countrace('record', '-o', self.trace, '--kernel', 'syscalls',
                            '--dump', rule, '--', 'true', check=False)
            self.assertEqual(run.returncode, 2, run.stderr)
            for word in (rule, *words):
                self.assertIn(word, run.stderr)
            self.assertFalse(self.trace.exists())
        # With a rule before it, it applies to hooks of programs only.
        self.record('--kernel', 'syscalls', '--hook-events', 'page-faults',
                    '--dump', 'syscall*:* never', '--dump', '* if arg0 == 3')
        self.assertEqual(self.check_dry_run(['syscall*:* never'])[0], 0)

    def test_what_cannot_be_is_said(self):
        for options, code, *words in (
                (['--hook', f'uprobe:{WORKLOAD}:kernel_hook_stop'], 2,
                 'kernel_hook_step'),
                (['--hook', f'uprobe:{WORKLOAD}x:f'], 1, 'Cannot read'),
                (['--hook', 'uprobe:no_such_program:f'], 1, 'PATH'),
                (['--hook', '/dev/null'], 2, 'uprobe:FILE:FUNCTION'),
                (['--hook', f'usdt:{WORKLOAD}:e2e:no'], 2, 'no USDT probe'),
                (['--hook', 'usdt:sh:a:b'], 2, 'no USDT probes'),
                (['--hook', 'tracepoint:sched:no'], 2, 'list tracepoints'),
                (['--hook', f'uprobe:{WORKLOAD}:*', '--no-kernel'], 2,
                 '--no-kernel'),
                (['--kernel', 'irq', '--backend', 'perf'], 2,
                 '--backend perf')):
            with self.subTest(options=options):
                run = countrace('record', '-o', self.trace, *options, '--',
                                'true', check=False)
                self.assertEqual(run.returncode, code, run.stderr)
                for word in words:
                    self.assertIn(word, run.stderr)
                self.assertFalse(self.trace.exists())

    def test_without_bpf_it_says_so_and_records_the_rest(self):
        if not shutil.which('setpriv'):
            self.skipTest('SKIPPED: needs setpriv')
        def record(*options):
            return subprocess.run(
                ['setpriv', '--bounding-set', '-bpf,-sys_admin', COUNTRACE,
                 'record', '-o', str(self.trace), '--kernel', 'syscalls',
                 *options, '--', 'true'], text=True, capture_output=True,
                timeout=60, check=False)
        run = record()
        self.assertEqual(run.returncode, 5, run.stderr)
        for word in ('--kernel syscalls', 'CAP_BPF', '--best-effort'):
            self.assertIn(word, run.stderr)
        self.assertNotIn('sysctl', run.stderr)  # it opens perf, not BPF
        run = record('--best-effort')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('Not recorded: --kernel syscalls: kernel segments and '
                      'dynamic hooks need the BPF back end', run.stderr)

    def test_hooks_left_out_without_kernel_records_are_named(self):
        if os.getuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('SKIPPED: needs root and setpriv')
        run = subprocess.run(
            ['setpriv', '--bounding-set', '-bpf,-sys_admin,-perfmon,'
             '-dac_read_search,-dac_override', COUNTRACE, 'record', '-o',
             str(self.trace), '--best-effort', '--kernel', 'syscalls', '--hook',
             'uprobe:libc.so.6:pause', '--', 'true'], text=True,
            capture_output=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        if 'No kernel records' not in run.stderr:
            self.skipTest('SKIPPED: kernel records need no privilege here')
        self.assertIn('Not recorded: --kernel syscalls, --hook '
                      'uprobe:libc.so.6:pause: without kernel records',
                      run.stderr)

    def kernel_function(self, hook):
        return countrace('record', '--force', '-o', self.trace, '--hook', hook,
                         '--', WORKLOAD, CALLS, SYSCALLS, PAGES, check=False)

    def test_a_function_of_the_kernel_is_recorded_or_says_what_is_missing(self):
        run = self.kernel_function('kfunc:ksys_read')
        listed = countrace('list', 'functions', '--format', 'json', 'kernel',
                           'ksys_read')
        (row,) = json.loads(listed.stdout)['functions']
        if run.returncode == 0:  # tests/emulated counts its calls
            self.assertIn(row['hook'], ('fentry', 'kprobe'))
            self.assertGreater(row['price_ns'], 0)
            return
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertRegex(run.stderr, 'kfunc:ksys_read: .*(CONFIG_|root|needs)')
        if os.getuid() == 0:
            self.assertEqual((row['hook'], row['price_ns']), ('none', None))
            self.assertIn(row['why_not'], run.stderr)
            self.assertNotIn('run as root', run.stderr)

    def test_wrong_functions_of_the_kernel(self):
        for hook, why in (('kfunc:no_such_function', 'no function .* matches'),
                          ('kfunc:ksys_read(nope)', 'no argument "nope": there '
                           r'are fd \(unsigned int\), buf')):
            run = self.kernel_function(hook)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertRegex(run.stderr, why)

    def test_tracepoints_are_listed(self):
        run = countrace('list', 'tracepoints', 'sched:sched_s*')
        self.assertIn('sched:sched_switch', run.stdout.split())


if __name__ == '__main__':
    COUNTRACE, WORKLOAD, PAIRS = sys.argv[1:4]
    Recording.countrace_program = COUNTRACE
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
