#!/usr/bin/env python3
"""`countrace stat` against programs whose counts are known, and beside
`perf stat`.

usage: stat_test.py COUNTRACE STAT_WORKLOAD REFUSED_EVENT
"""
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from trace_checks import Recording, run

COUNTRACE = WORKLOAD = REFUSED = ''
# Faults that differ between two runs of one program: stack, environment.
BESIDE = 12


def needs_root(test):
    if os.geteuid() != 0:
        test.skipTest('SKIPPED: kernel records need root')


def cgroup(test):
    """A new one, wherever its hierarchy is mounted."""
    with open('/proc/mounts', encoding='utf-8') as mounts:
        mount = next((line.split()[1] for line in mounts if line.split()[2] == 'cgroup2'), '/')
    group = pathlib.Path(mount, f'countrace-stat-{os.getpid()}')
    try:
        group.mkdir()
    except OSError as error:
        test.skipTest(f'SKIPPED: cannot make a cgroup: {error}')
    test.addCleanup(group.rmdir)
    return group


class Stat(Recording):
    def setUp(self):
        super().setUp()
        needs_root(self)
        self.file = self.work / 'counts'

    def stat(self, *arguments, status=0):
        """The JSON of a run, and its process."""
        done = run(COUNTRACE, 'stat', '--json', '-o', self.file, *arguments)
        self.assertEqual((status, ''), (done.returncode, done.stderr), done)
        return json.loads(self.file.read_text()), done

    def numbers(self, *arguments):
        data, _ = self.stat(*arguments)
        self.assertEqual('countrace.stat/1', data['schema'])
        return {number['name']: number for number in data['numbers']}

    def between(self, number, low, high):
        """The number lies there; if records were lost, its interval does."""
        self.assertLessEqual(number.get('lo', number['value']), high, number)
        hi = number.get('hi', number['value'])
        if hi is not None:
            self.assertGreaterEqual(hi, low, number)

    def faults(self, *arguments):
        return self.numbers('--', WORKLOAD, *arguments)['page-faults']

    def check_more(self, more, *arguments):
        """`arguments` with as many more pages have as many more faults."""
        few = self.faults(*arguments, 0)
        many = self.faults(*arguments, more)
        self.between(many, few['value'] + self.times * more - self.times * BESIDE,
                     few.get('hi', few['value']) + self.times * (more + BESIDE))

    times = 1

    def test_page_touches(self):
        self.check_more(5000, 'touch')

    def test_children(self):
        self.times = 5
        self.check_more(1000, 'forks', 5)

    def test_orphans(self):
        # Their parents never wait for them: rusage does not have them.
        self.times = 5
        self.check_more(1000, 'orphans', 5)

    def test_programs_that_children_exec(self):
        self.times = 5
        self.check_more(1000, 'execs', 5)

    def test_threads(self):
        self.times = 4
        self.check_more(1000, 'threads', 4)

    def test_rows_add_up(self):
        data, _ = self.stat('--', WORKLOAD, 'forks', 3, 500)
        numbers = {number['name']: number['value'] for number in data['numbers']}
        for table, key in (('processes', 'page-faults'), ('threads', 'page-faults')):
            self.assertEqual(4, len(data[table]))
            self.assertEqual(numbers['page-faults'],
                             sum(row['counts'][key] for row in data[table]))
        self.assertEqual(numbers['on-cpu'], sum(row['on_cpu_ns'] for row in data['threads']))
        self.assertEqual(numbers['context-switches'],
                         numbers['voluntary-switches'] + numbers['involuntary-switches'])

    def test_split_of_threads(self):
        """Threads that have ended, against what they read themselves."""
        data, done = self.stat('--', WORKLOAD, 'modes', 250)
        rows = {row['tid']: row for row in data['threads']}
        found = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
        self.assertEqual(2, len(found), done)
        if not any('user_time' in rows[tid] for tid, _, _ in found):
            self.skipTest('SKIPPED: user and system time of threads are not known here')
        for tid, user_us, system_us in found:
            row = rows[tid]
            # A host may take some of it, which the thread's own times are without.
            beside = abs(row['on_cpu_ns'] - row['counts'].get('exec-runtime', row['on_cpu_ns']))
            self.assertEqual(row['on_cpu_ns'],
                             row['user_time']['value'] + row['system_time']['value'], row)
            # The kernel's ticks are the same; one may come behind what the thread read.
            for part, read_us in ((row['user_time'], user_us), (row['system_time'], system_us)):
                self.assertLess(abs(part['value'] - read_us * 1000), 25e6 + beside, (row, found))
                self.assertLessEqual(part['lo'], part['value'])
                self.assertGreaterEqual(part['hi'], part['value'])
        first, second = (rows[tid] for tid, _, _ in sorted(
            found, key=lambda one: -one[1] / (one[1] + one[2])))
        self.assertGreater(first['user_time']['hi'], 0.8 * first['on_cpu_ns'], found)
        self.assertGreater(second['system_time']['hi'], 0.8 * second['on_cpu_ns'], found)
        text = run(COUNTRACE, 'stat', '--by', 'thread', '--', WORKLOAD, 'modes', 100).stderr
        self.assertIn('USER AND SYSTEM TIME OF THREADS', text)
        part = r'~\S+( m?s)? \[.*\]'
        self.assertRegex(text, rf'(?m)^\d+ +\d+ +[\d.]+ ms +{part} +{part} +stat_workload$')

    def test_split_of_processes_that_nobody_waits_for(self):
        """wait4(2) has neither of them; they say themselves what getrusage(2) says."""
        data, done = self.stat('--', WORKLOAD, 'strays', 200)
        rows = {row['tid']: row for row in data['threads']}
        found = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
        self.assertEqual(2, len(found), done)
        if not any('user_time' in rows[tid] for tid, _, _ in found):
            self.skipTest('SKIPPED: user and system time of threads are not known here')

        def share(user, system):
            return user / (user + system)

        # The ticks are the same: only what comes behind getrusage differs.
        for tid, user_us, system_us in found:
            parts = [rows[tid][part + '_time']['value'] for part in ('user', 'system')]
            self.assertAlmostEqual(share(*parts), share(user_us, system_us), delta=0.1)
        numbers = {number['name']: number['value'] for number in data['numbers']}
        self.assertEqual(numbers['on-cpu'], numbers['user'] + numbers['system'])
        self.assertAlmostEqual(share(numbers['user'], numbers['system']),
                               share(*(sum(one[i] for one in found) for i in (1, 2))), delta=0.1)
        self.assertGreater(numbers['user'] / (sum(one[1] for one in found) * 1000), 0.8, data)
        self.assertGreater(numbers['system'] / (sum(one[2] for one in found) * 1000), 0.8, data)

    def test_split_of_running_threads(self):
        """What a thread did before it is not counted: this one has computed."""
        script = ('import sys, time\n'
                  'while time.process_time() < 0.6: sum(range(1000))\n'
                  'print("ready", flush=True)\n'
                  'zeros = bytearray(1 << 20)\n'
                  'with open("/dev/zero", "rb", buffering=0) as file:\n'
                  '    while True: file.readinto(zeros)\n')
        with subprocess.Popen([sys.executable, '-c', script], stdout=subprocess.PIPE,
                              text=True) as program:
            try:
                self.assertEqual('ready\n', program.stdout.readline())
                data, _ = self.stat('-p', program.pid, '--for', '400ms')
            finally:
                program.kill()
        row, = [row for row in data['threads'] if row['tid'] == program.pid]
        if 'user_time' not in row:
            self.skipTest('SKIPPED: user and system time of threads are not known here')
        self.assertLess(row['user_time']['value'], row['on_cpu_ns'] * 0.5, row)

    def test_cpu_time_and_its_split(self):
        data, done = self.stat('--', WORKLOAD, 'spin', 200)
        own_ns = int(done.stdout)
        numbers = {number['name']: number for number in data['numbers']}
        # Its own clock has also what the fork took, which comes before the recording.
        self.between(numbers['exec-runtime'], own_ns * 0.97, own_ns * 1.1)
        for name in ('user', 'system'):
            self.assertEqual('scaled', numbers[name]['quality'])
            self.assertLessEqual(numbers[name]['lo'], numbers[name]['value'])
            self.assertGreaterEqual(numbers[name]['hi'], numbers[name]['value'])
        # What a host takes is in the time on a CPU, which is split, and not in its clock.
        beside = abs(numbers['on-cpu']['value'] - numbers['exec-runtime']['value'])
        self.between(numbers['user'], 1, own_ns * 1.1 + beside)
        self.assertGreaterEqual(numbers['elapsed']['value'], own_ns * 0.97)

    def test_switches(self):
        data, done = self.stat('--', WORKLOAD, 'sleep', 100)
        voluntary, involuntary = map(int, done.stdout.split())
        numbers = {number['name']: number for number in data['numbers']}
        # Its own count begins at its fork, and lacks its end.
        self.between(numbers['voluntary-switches'], voluntary - 3, voluntary + 3)
        self.between(numbers['involuntary-switches'], involuntary - 2, involuntary + 20)
        if 'blocked' in numbers:
            self.between(numbers['blocked'], 100 * 100_000, 10**12)

    def test_beside_perf_stat(self):
        perf = shutil.which('perf')
        if not perf or run(perf, 'stat', '-e', 'page-faults', '--', 'true').returncode:
            self.skipTest('SKIPPED: perf stat does not work here')

        def by_perf(pages):
            done = run(perf, 'stat', '-x,', '-e', 'page-faults', '--', WORKLOAD, 'forks', 3, pages)
            return int(done.stderr.splitlines()[-1].split(',')[0])

        theirs = by_perf(2000) - by_perf(0)
        few, many = self.faults('forks', 3, 0), self.faults('forks', 3, 2000)
        self.between(many, few['value'] + theirs - 6 * BESIDE,
                     few.get('hi', few['value']) + theirs + 6 * BESIDE)

    def test_all_events(self):
        numbers = self.numbers('--all', '--', WORKLOAD, 'touch', 3000)
        self.between(numbers['page-faults'], 3000, 3300)
        self.between(numbers['minor-faults'], 3000, 3300)
        self.assertIn('task-clock', numbers)
        for number in numbers.values():
            if number['quality'] == 'scaled' and 'counted_share' in number:
                self.assertLess(0, number['counted_share'])

    def test_event_sets_have_errors_and_hold_the_truth(self):
        numbers = self.numbers('-e', '{minor-faults},{page-faults}', '--', WORKLOAD, 'spin', 300)
        for name in ('minor-faults', 'page-faults'):
            self.assertEqual('scaled', numbers[name]['quality'])
            self.assertLess(numbers[name]['counted_share'], 1)

    def test_repeat_has_means_and_intervals(self):
        data, _ = self.stat('-r', 4, '--', WORKLOAD, 'touch', 1000)
        self.assertEqual(4, data['runs'])
        faults = next(n for n in data['numbers'] if n['name'] == 'page-faults')
        self.assertEqual(4, len(faults['values']))
        self.assertAlmostEqual(sum(faults['values']) / 4, faults['mean'])
        self.assertLessEqual(faults['lo'], faults['mean'])
        self.assertGreaterEqual(faults['hi'], faults['mean'])

    def test_costs(self):
        table = self.work / 'costs.toml'
        table.write_text('[[event]]\nname = "page-faults"\ntypical = 500\nmin = 200\nmax = 900\n')
        data, _ = self.stat('--cost', table, '--', WORKLOAD, 'touch', 1000)
        faults = next(n['value'] for n in data['numbers'] if n['name'] == 'page-faults')
        self.assertEqual(['page-faults'], [cost['name'] for cost in data['costs']])
        self.assertAlmostEqual(500 * faults, data['costs'][0]['typical_ns'])
        done = run(COUNTRACE, 'stat', '--cost', table, '--', WORKLOAD, 'touch', 1000)
        self.assertRegex(done.stderr, r'(?s)COUNTS of .*\nCOSTS\n +typical ')

    def test_a_running_process(self):
        with subprocess.Popen([WORKLOAD, 'spin', '20000'], stdout=subprocess.DEVNULL) as victim:
            try:
                # Until it has run for 3 clock ticks; the command only limits the time.
                numbers = self.numbers('-p', victim.pid, '--', 'sh', '-c', f'''
                    ran() {{ cut -d' ' -f14 /proc/{victim.pid}/stat; }}
                    until_ticks=$(($(ran) + 3))
                    while [ $(ran) -lt $until_ticks ]; do sleep 0.01; done''')
            finally:
                victim.kill()
        self.between(numbers['on-cpu'], 1, numbers['elapsed']['value'])
        self.assertEqual(numbers['on-cpu']['value'],
                         numbers['user']['value'] + numbers['system']['value'])

    def test_a_cgroup(self):
        """Wherever its hierarchy is mounted, by its path and by its name."""
        group = cgroup(self)
        with subprocess.Popen([WORKLOAD, 'spin', '20000'], stdout=subprocess.DEVNULL) as victim:
            try:
                (group / 'cgroup.procs').write_text(str(victim.pid))
                for name in f'/{group.name}', group.name:
                    numbers = self.numbers('--cgroup', name, '--', 'sh', '-c', f'''
                        ran() {{ cut -d' ' -f14,15 /proc/{victim.pid}/stat | tr ' ' +; }}
                        until_ticks=$(($(ran) + 3))
                        while [ $(($(ran))) -lt $until_ticks ]; do sleep 0.01; done''')
                    self.between(numbers['on-cpu'], 1, numbers['elapsed']['value'])
                    self.assertEqual(numbers['on-cpu']['value'],
                                     numbers['user']['value'] + numbers['system']['value'])
            finally:
                victim.kill()

    def test_the_machine_has_no_more_time_than_its_cpus(self):
        data, _ = self.stat('-a', '--for', '200ms')
        numbers = {number['name']: number['value'] for number in data['numbers']}
        self.assertLessEqual(numbers['on-cpu'], numbers['elapsed'] * data['cpus'] + data['cpus'])
        self.assertEqual('the machine', data['of'])

    def test_where_the_counts_go(self):
        done = run(COUNTRACE, 'stat', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7')
        self.assertEqual((7, 'out\n'), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r'(?s)\Aerr\nCOUNTS of sh -c .*elapsed\n.*page-faults')
        done = run(COUNTRACE, 'stat', '-a', '--for', '50ms')
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertTrue(done.stdout.startswith('COUNTS of the machine\n'))
        done = run(COUNTRACE, 'stat', '--csv', '-o', self.file, '--', 'true')
        self.assertEqual((0, '', ''), (done.returncode, done.stdout, done.stderr))
        lines = self.file.read_text().splitlines()
        self.assertEqual({9}, {len(line.split(',')) for line in lines})
        self.assertTrue(lines[0].startswith('name,unit,value,lo,hi,'))
        done = run(COUNTRACE, 'stat', '-o', self.work / 'no/such', '--', 'true')
        self.assertEqual(1, done.returncode)
        self.assertIn('no/such', done.stderr)

    def test_what_a_name_leads_to_is_written(self):
        """As /dev/null and /dev/stdout are: not replaced by a file."""
        link, pipe = self.work / 'link', self.work / 'pipe'
        self.file.write_text('longer than what follows' * 1000)
        link.symlink_to(self.file)
        os.mkfifo(pipe)
        self.assertEqual(0, run(COUNTRACE, 'stat', '--csv', '-o', link, '--', 'true').returncode)
        self.assertTrue(link.is_symlink())
        self.assertRegex(self.file.read_text(), r'(?s)\Aname,unit,.*\nelapsed,[^\0]*\Z')
        with subprocess.Popen(['cat', pipe], stdout=subprocess.PIPE, text=True) as reader:
            done = run(COUNTRACE, 'stat', '--csv', '-o', pipe, '--', 'true')
            self.assertEqual(0, done.returncode, done)
            self.assertTrue(pipe.is_fifo())
            self.assertTrue(reader.communicate(timeout=60)[0].startswith('name,unit,'))

    def test_a_table_of_threads(self):
        done = run(COUNTRACE, 'stat', '--by', 'thread', '--', WORKLOAD, 'threads', 2, 10)
        self.assertRegex(done.stderr, r'(?s)COUNTS of .*\n\nTHREADS\n +tid ')

    def test_ctrl_c_ends_the_command_and_prints(self):
        started = self.work / 'started'
        with subprocess.Popen([COUNTRACE, 'stat', '--', 'sh', '-c',
                               f'echo > {started}; exec sleep 60'], stderr=subprocess.PIPE,
                              text=True) as process:
            while not started.exists():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=60)[1]
        self.assertEqual(128 + signal.SIGINT, process.returncode)
        self.assertIn('COUNTS of sh', text)

    def test_nothing_is_left_behind(self):
        environment = dict(os.environ, TMPDIR=str(self.work))
        self.assertEqual(0, run(COUNTRACE, 'stat', '--', 'true', env=environment).returncode)
        deadline = time.monotonic() + 30
        while list(self.work.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([], list(self.work.iterdir()))

    def test_without_privilege(self):
        setpriv = shutil.which('setpriv')
        if not setpriv:
            self.skipTest('SKIPPED: no setpriv')
        without = (setpriv, '--reuid=65534', '--clear-groups', '--inh-caps=-all')
        if run(*without, COUNTRACE, 'version').returncode:
            self.skipTest('SKIPPED: others cannot run the program from its folder')
        done = run(*without, COUNTRACE, 'stat', '--json', '--', 'sh', '-c', 'exit 4')
        self.assertEqual(4, done.returncode)
        data = json.loads(done.stderr)
        names = [number['name'] for number in data['numbers']]
        self.assertEqual(['elapsed', 'user', 'system'], names[:3])
        self.assertIn('minor-faults', names)
        self.assertTrue(data['notes'])
        for refused in (['-e', 'page-faults', '--', 'true'], ['--all', '--', 'true'],
                        ['-a', '--for', '50ms'], ['--by', 'thread', '--', 'true']):
            done = run(*without, COUNTRACE, 'stat', *refused)
            self.assertEqual((5, ''), (done.returncode, done.stdout), refused)


class Live(unittest.TestCase):
    def setUp(self):
        needs_root(self)

    def lines(self, *arguments, status=0, refused=(), messages=()):
        """The objects of a run with a command: intervals, and their sum."""
        done = run(*refused, COUNTRACE, 'stat', '--json', '--every', '10ms', *arguments)
        self.assertEqual(status, done.returncode, done)
        said = [line for line in done.stderr.splitlines() if line.startswith('countrace stat: ')]
        for message in messages:
            self.assertTrue(any(message in line for line in said), said)
        # A PMU of the machine may have events that count no process.
        self.assertTrue(all('--all: ' in line for line in said), said)
        lines = [json.loads(line) for line in done.stderr.splitlines() if line not in said]
        self.assertEqual(['interval'] * (len(lines) - 1) + ['all'],
                         [line['what'] for line in lines])
        for before, after in zip(lines[:-2], lines[1:-1]):
            self.assertEqual(before['end_ns'], after['begin_ns'])
        for name, count in lines[-1]['counts'].items():
            self.assertEqual(count, sum(line['counts'][name] for line in lines[:-1]), name)
        return lines

    def test_intervals_add_up_to_known_counts(self):
        for what, processes in (('forks', 4), ('orphans', 4), ('execs', 4)):
            with self.subTest(what):
                few, many = (self.lines('--', WORKLOAD, what, processes, pages)[-1]['counts']
                             ['page-faults'] for pages in (0, 1000))
                self.assertAlmostEqual(processes * 1000, many - few, delta=processes * BESIDE)

    def test_the_exit_status_is_the_commands(self):
        self.lines('--', 'sh', '-c', 'exit 6', status=6)
        done = run(COUNTRACE, 'stat', '--every', '1s', '--', 'no-such-command')
        self.assertEqual(127, done.returncode)

    def test_a_line_is_in_the_pipe_at_once(self):
        with subprocess.Popen([COUNTRACE, 'stat', '-a', '--csv', '--every', '20ms'],
                              stdout=subprocess.PIPE, text=True) as process:
            heading, *lines = [process.stdout.readline() for _ in range(4)]
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            lines += process.communicate(timeout=60)[0].splitlines(keepends=True)
        self.assertEqual(0, process.returncode)
        self.assertTrue(heading.startswith('what,time_ns,date,user,system,context-switches,'))
        # Python 3.11 reads no nanoseconds.
        dates = [datetime.datetime.fromisoformat(line.split(',')[2][:26] + '+00:00')
                 for line in lines]
        self.assertEqual(dates, sorted(dates))
        self.assertLess(abs(dates[0].timestamp() - time.time()), 60)
        self.assertEqual({heading.count(',')}, {line.count(',') for line in lines})
        self.assertTrue(lines[-1].startswith('all,'))

    def test_a_reader_that_leaves_ends_it(self):
        with subprocess.Popen([COUNTRACE, 'stat', '-a', '--every', '10ms'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(-signal.SIGPIPE, process.wait(timeout=60))
            self.assertEqual(b'', process.stderr.read())

    def test_a_cgroup(self):
        """Its processes and those below it, not the others."""
        group = cgroup(self)
        (group / 'below').mkdir()
        self.addCleanup((group / 'below').rmdir)
        script = (f'echo $$ > {group}/below/cgroup.procs; exec {WORKLOAD} touch 3000')
        inside = self.lines('--cgroup', f'/{group.name}', '-e', 'page-faults,task-clock', '--',
                            'sh', '-c', script)[-1]['counts']
        self.assertGreaterEqual(inside['page-faults'], 3000)
        self.assertLess(inside['page-faults'], 3000 + 200)
        self.assertGreater(inside['user'] + inside['system'] + inside['task-clock'], 0)
        outside = self.lines('--cgroup', group.name, '-e', 'page-faults,task-clock', '--',
                             WORKLOAD, 'touch', '3000')[-1]['counts']
        self.assertEqual((0, 0), (outside['page-faults'], outside['task-clock']))
        done = run(COUNTRACE, 'stat', '--cgroup', '/no/such', '--every', '10ms')
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertIn('/no/such', done.stderr)

    def test_every_event(self):
        few, many = (self.lines('--all', '--', WORKLOAD, 'touch', pages)[-1]['counts']
                     for pages in (0, 2000))
        self.assertNotIn('exec-runtime', many)
        for name in ('task-clock', 'context-switches', 'minor-faults'):
            self.assertIn(name, many)
        self.assertAlmostEqual(2000, many['page-faults'] - few['page-faults'], delta=BESIDE)

    def test_every_event_but_those_that_the_kernel_refuses(self):
        """Of some PMUs it counts CPUs alone, or an event in no group."""
        alignment_faults = (REFUSED, 1, 7, 'process')
        many = self.lines(
            '--all', '--', WORKLOAD, 'touch', 2000, refused=alignment_faults,
            messages=['--all: alignment-faults is left out: the kernel refuses'])[-1]['counts']
        self.assertNotIn('alignment-faults', many)
        self.assertLess(2000, many['page-faults'])
        many = self.lines('-a', '--all', '--', WORKLOAD, 'touch', 2000,
                          refused=alignment_faults)[-1]['counts']
        self.assertIn('alignment-faults', many)
        # One that was named is not left out.
        done = run(*alignment_faults, COUNTRACE, 'stat', '--every', '10ms',
                   '-e', 'page-faults,alignment-faults', '--', 'echo', 'ran')
        self.assertEqual((2, ''), (done.returncode, done.stdout))
        self.assertIn('Cannot count alignment-faults: the kernel refuses', done.stderr)

    def test_an_event_that_the_kernel_refuses_is_named(self):
        for where in ('member', 'always'):
            with self.subTest(where), tempfile.TemporaryDirectory() as folder:
                refused = (REFUSED, 1, 7, where)
                counts = pathlib.Path(folder, 'counts')
                done = run(*refused, COUNTRACE, 'stat', '--json', '-o', counts, '--all', '--',
                           WORKLOAD, 'touch', 2000)
                self.assertEqual(0, done.returncode, done)
                names = [number['name'] for number in json.loads(counts.read_text())['numbers']]
                self.assertIn('page-faults', names)
        self.assertNotIn('alignment-faults', names)
        done = run(*refused, COUNTRACE, 'list', 'events', '--all', '--format', 'json')
        event = next(event for event in json.loads(done.stdout)['events']
                     if event['event'] == 'alignment-faults')
        self.assertEqual((False, False), (event['kernel'], event['hooks']))
        self.assertIn('Invalid argument', event['why_not'])
        done = run(*refused, COUNTRACE, 'doctor', '-e', 'page-faults,alignment-faults')
        self.assertRegex(done.stdout, 'alignment-faults: errno=22, the kernel refuses')

    def test_an_event_of_a_pmu_that_the_kernel_refuses_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            pmu = pathlib.Path(folder, 'nothing')
            (pmu / 'events').mkdir(parents=True)
            (pmu / 'type').write_text('1\n')
            (pmu / 'events/refused').write_text('config=0xfff\n')
            here = ('unshare', '-m', 'sh', '-c',
                    f'mount --bind {folder} /sys/bus/event_source/devices && exec "$@"', 'sh')
            if run(*here, 'true').returncode:
                self.skipTest('SKIPPED: no mounts here')
            for every in ([], ['--every', '10ms']):
                done = run(*here, COUNTRACE, 'stat', '--all', *every, '--', WORKLOAD, 'touch', 2000)
                self.assertEqual(0, done.returncode, done)
                self.assertRegex(done.stderr, '--all: nothing/refused/ is left out: this machine')

    def test_an_event_is_counted_on_the_cpus_that_its_pmu_names(self):
        """Each of its CPUs counts the time that passes, and the others nothing."""
        cpus = sorted(os.sched_getaffinity(0))
        if cpus != list(range(os.cpu_count())) or len(cpus) < 2:
            self.skipTest('SKIPPED: it needs two CPUs, and all of them')
        with tempfile.TemporaryDirectory() as folder:
            pmu = pathlib.Path(folder, 'package')
            (pmu / 'events').mkdir(parents=True)
            (pmu / 'type').write_text('1\n')
            (pmu / 'events/clock').write_text('config=0x1\n')  # task-clock
            here = ('unshare', '-m', 'sh', '-c',
                    f'mount --bind {folder} /sys/bus/event_source/devices && exec "$@"', 'sh')
            if run(*here, 'true').returncode:
                self.skipTest('SKIPPED: no mounts here')
            for mask, places in (('0', 1), ('1', 1), (f'0-{len(cpus) - 1}', len(cpus)),
                                 (None, len(cpus))):
                with self.subTest(mask=mask):
                    (pmu / 'cpumask').unlink(missing_ok=True)
                    if mask is not None:
                        (pmu / 'cpumask').write_text(f'{mask}\n')
                    done = run(*here, COUNTRACE, 'stat', '--json', '-a', '--every', '600s', '-e',
                               'package/clock/,cpu-clock', '--', 'sleep', '0.3')
                    self.assertEqual((0, ''), (done.returncode, done.stdout))
                    counts = json.loads(done.stderr.splitlines()[-1])['counts']
                    self.assertEqual(round(len(cpus) * counts['package/clock/'] /
                                           counts['cpu-clock']), places, counts)
            (pmu / 'cpumask').write_text('1\n')
            done = run(*here, COUNTRACE, 'list', 'events', '--format', 'json')
            event = next(event for event in json.loads(done.stdout)['events']
                         if event['event'] == 'package/clock/')
            self.assertTrue(event['kernel'], event)

    def test_running_processes_and_their_end(self):
        with subprocess.Popen([WORKLOAD, 'spin', '20000'], stdout=subprocess.DEVNULL) as victim:
            with subprocess.Popen([COUNTRACE, 'stat', '-p', str(victim.pid), '--every', '20ms'],
                                  stdout=subprocess.PIPE, text=True) as process:
                try:
                    for _ in range(3):
                        process.stdout.readline()
                finally:
                    victim.kill()
                    victim.wait()
                self.assertIn('\n       all ', process.communicate(timeout=60)[0])
        self.assertEqual(0, process.returncode)

    def test_without_privilege(self):
        setpriv = shutil.which('setpriv')
        if not setpriv or int(pathlib.Path('/proc/sys/kernel/perf_event_paranoid').read_text()) < 2:
            self.skipTest('SKIPPED: no setpriv, or others may count the kernel')
        without = (setpriv, '--reuid=65534', '--clear-groups', '--inh-caps=-all')
        if run(*without, COUNTRACE, 'version').returncode:
            self.skipTest('SKIPPED: others cannot run the program from its folder')
        done = run(*without, COUNTRACE, 'stat', '--every', '1s', '--', 'echo', 'ran')
        self.assertEqual((5, ''), (done.returncode, done.stdout))
        self.assertIn('perf_event_paranoid', done.stderr)


class Usage(unittest.TestCase):
    def check(self, what, *arguments):
        done = run(COUNTRACE, 'stat', *arguments)
        self.assertEqual((2, ''), (done.returncode, done.stdout), arguments)
        self.assertIn(what, done.stderr)

    def test_wrong_usage(self):
        self.check('nothing to count')
        self.check('give one of them', '-a', '-p', '1')
        self.check('give one of them', '-a', '--cgroup', '/x')
        self.check('not a process id', '-p', 'x')
        self.check('leave out --event', '--all', '-e', 'page-faults', '--', 'true')
        self.check('give one of the two', '--json', '--csv', '--', 'true')
        self.check('want 1 or more', '-r', '0', '--', 'true')
        self.check('runs a command again', '-r', '2', '-a')
        self.check('leave out --repeat', '-r', '2', '--by', 'thread', '--', 'true')
        self.check('leave out --by', '--csv', '--by', 'thread', '--', 'true')
        self.check('no duration', '--rotate', 'soon', '--', 'true')
        for options in (['-r', '2'], ['--by', 'thread'], ['--rotate', '10ms']):
            self.check('without a recording', '--every', '1s', *options, '--', 'true')
        self.check('at least 1ms', '--every', '10us', '--', 'true')
        self.check('leave out the braces', '--every', '1s', '-e', '{page-faults},{minor-faults}',
                   '--', 'true')
        self.check('exec-runtime', '--every', '1s', '-e', 'exec-runtime', '--', 'true')
        self.check('second table', '--cost', 'r10000', '--csv', '--', 'true')
        self.check('second table', '--cost', 'r10000', '--every', '1s', '--', 'true')
        self.check('--counts FILE', '--perfex', '--', 'true')
        self.check('leave out what is to be counted', '--counts', 'x', '--cost', 'r10000', '-a')
        self.check('needs --cost', '--counts', 'x')
        self.check('--by', '--by', 'function', '--', 'true')
        self.check('--frobnicate', '--frobnicate', '--', 'true')

    def test_files_of_costs_and_counts_that_are_not_there(self):
        for options in (['--cost', '/no/table', '--', 'true'],
                        ['--cost', '/no/table', '--counts', '/no/counts'],
                        ['--cost', 'r10000', '--counts', '/no/counts']):
            done = run(COUNTRACE, 'stat', *options)
            self.assertEqual((1, ''), (done.returncode, done.stdout))
            self.assertIn('/no/', done.stderr)

    def test_the_papers_listing(self):
        listing = pathlib.Path(__file__).parents[1] / 'rmap/stat/perfex_md.txt'
        done = run(COUNTRACE, 'stat', '--counts', listing, '--cost', 'r10000', '--perfex')
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertEqual(listing.read_text(), done.stdout)
        done = run(COUNTRACE, 'stat', '--counts', listing, '--cost', 'r10000')
        self.assertIn('1.43 % apart', done.stdout)

    def test_unknown_event(self):
        needs_root(self)
        self.check('no-such-event', '-e', 'no-such-event', '--', 'true')

    def test_a_command_that_cannot_be_run(self):
        needs_root(self)
        for command, status in (('no-such-command', 127), ('/etc/passwd', 126)):
            done = run(COUNTRACE, 'stat', '--', command)
            self.assertEqual((status, ''), (done.returncode, done.stdout))
            self.assertIn(command, done.stderr)

    def test_no_such_process(self):
        needs_root(self)
        with subprocess.Popen(['true']) as ended:
            ended.wait()
        done = run(COUNTRACE, 'stat', '-p', ended.pid, '--for', '50ms')
        self.assertEqual(1, done.returncode)
        self.assertIn(str(ended.pid), done.stderr)


if __name__ == '__main__':
    COUNTRACE, WORKLOAD, REFUSED = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
