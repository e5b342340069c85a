#!/usr/bin/env python3
"""`countrace stat -a --prometheus`: what promtool and a real Prometheus say of
it, its numbers beside those of programs that know their own, HTTP, and the file
for node_exporter.

Other programs of the machine only add to its sums: claims are lower bounds,
but for the time that passed.

usage: prometheus_test.py COUNTRACE
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import cpu_quota
import quota_test
import recorder_cost
import trace_checks

ON_CPU = 'countrace_on_cpu_seconds_total'
WAIT = 'countrace_run_queue_wait_seconds_total'
THROTTLED = 'countrace_throttled_seconds_total'
SLEEP = 'countrace_blocked_seconds_total{state="interruptible"}'
OWN = 'countrace_own_cpu_seconds_total{part="process"}'
# Ten minutes in a full run, as a site has it; else as often as can be.
EVERY, SCRAPES = ('5s', 120) if trace_checks.FULL else ('200ms', 10)
LIMIT_S = 900 if trace_checks.FULL else 120  # for what takes a second on an idle machine
SLEEPERS = 300
# Clocks of the kernel's own accounts are not CLOCK_MONOTONIC.
LEAST = 0.97

# Prints what it used of the CPU with this number, and how long it waited.
BURN = ('import os, sys, time\n'
        'os.sched_setaffinity(0, {int(sys.argv[1])})\n'
        'begin = time.process_time()\n'
        'while time.process_time() < begin + 0.3: pass\n'
        'print(time.process_time() - begin, open("/proc/self/schedstat").read(),'
        ' flush=True)\n'
        'os._exit(0)')
# Its threads sleep until its input ends.
SLEEP_UNTIL = ('import sys, threading\n'
               'end = threading.Event()\n'
               'for _ in range(int(sys.argv[1])):\n'
               '    threading.Thread(target=end.wait, daemon=True).start()\n'
               'print(flush=True)\n'
               'sys.stdin.read()\n')


def values_of(text):
    return {line.rsplit(' ', 1)[0]: float(line.rsplit(' ', 1)[1])
            for line in text.splitlines() if not line.startswith('#')}


def on_cpu(values):
    return {name: value for name, value in values.items()
            if name.startswith(ON_CPU)}


def until(claim, what):
    end = time.monotonic() + LIMIT_S
    while not (found := claim()):
        if time.monotonic() > end:
            raise AssertionError(f'not within {LIMIT_S} s: {what()}')
        time.sleep(0.05)
    return found


def get(url):
    with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
        return answer.read().decode()


class Metrics(trace_checks.Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')

    @contextlib.contextmanager
    def serving(self, where=':0', ends=signal.SIGINT):
        """The process, and its address once it says it."""
        with subprocess.Popen(
                [self.countrace_program, 'stat', '-a', '--prometheus', where],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as process:
            try:
                said = process.stderr.readline()
                found = re.search(r'http://([^/]+)/metrics', said)
                self.assertIsNotNone(found, said)
                yield process, found.group(1)
            finally:
                process.send_signal(ends)
                rest = process.communicate(timeout=LIMIT_S)
        self.assertEqual((0, ('', '')), (process.returncode, rest))

    def read(self, at):
        return values_of(get(f'http://{at}/metrics'))

    def check_by_promtool(self, text):
        self.needs('promtool')
        done = trace_checks.run('promtool', 'check', 'metrics', input=text)
        self.assertEqual((0, '', ''),
                         (done.returncode, done.stdout, done.stderr))

    def test_promtool_accepts_it(self):
        with self.serving() as (_, at):
            # Each CPU has a switch soon.
            online = len(os.sched_getaffinity(0))
            text = until(
                lambda: (got := get(f'http://{at}/metrics')).count(
                    f'\n{ON_CPU}{{') >= online and got, lambda: 'all CPUs')
        self.check_by_promtool(text)
        names = set(re.findall(r'# TYPE (\S+) counter', text))
        self.assertEqual({line.split('{')[0] for line in values_of(text)}, names)
        self.assertLessEqual(
            {ON_CPU, WAIT, 'countrace_blocked_seconds_total',
             'countrace_discarded_events_total',
             'countrace_own_cpu_seconds_total'}, names)

    def test_it_has_a_programs_cpu_time_and_waits(self):
        cpu = max(os.sched_getaffinity(0))
        with self.serving() as (_, at):
            begin, before = time.monotonic(), self.read(at)
            burners = [subprocess.Popen(
                [sys.executable, '-c', BURN, str(cpu)], text=True,
                stdout=subprocess.PIPE) for _ in range(3)]
            said = [burner.communicate(timeout=LIMIT_S)[0].split()
                    for burner in burners]
            after, end = self.read(at), time.monotonic()
        used = sum(float(words[0]) for words in said)
        waited = sum(int(words[2]) for words in said) / 1e9
        self.assertGreater(waited, 0.1)  # three on one CPU
        name = f'{ON_CPU}{{cpu="{cpu}"}}'
        self.assertGreaterEqual(after[name] - before.get(name, 0), LEAST * used)
        self.assertGreaterEqual(after[WAIT] - before[WAIT], LEAST * waited)
        for name, value in on_cpu(after).items():
            self.assertLessEqual(value - before.get(name, 0),
                                 end - begin + 0.001)

    def test_sleep_counts_while_it_goes_on(self):
        with self.serving() as (_, at), subprocess.Popen(
                [sys.executable, '-c', SLEEP_UNTIL, str(SLEEPERS)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
            sleeper.stdout.readline()
            tasks = pathlib.Path(f'/proc/{sleeper.pid}/task')
            until(lambda: all(
                (task / 'stat').read_text().rsplit(')')[1].split()[0] == 'S'
                for task in tasks.iterdir()), lambda: 'threads sleep')
            before, begin = self.read(at), time.monotonic()
            time.sleep(0.2)  # the truth is what passed
            end, after = time.monotonic(), self.read(at)
            sleeper.communicate(timeout=LIMIT_S)
        self.assertGreaterEqual(after[SLEEP] - before[SLEEP],
                                SLEEPERS * (end - begin) - 0.001)

    def test_throttled_time_is_the_cgroups(self):
        try:
            quota = cpu_quota.CpuQuota(f'countrace-{self.work.name}', 10000,
                                       1000000)
        except LookupError as error:
            self.skipTest(f'SKIPPED: {error}')
        self.addCleanup(quota.remove)
        with self.serving() as (_, at):
            before = self.read(at)
            subprocess.run([sys.executable, '-c', quota_test.BURN,
                            quota.folder / 'cgroup.procs'], check=True,
                           timeout=LIMIT_S)
            after = self.read(at)
        truth_ns, times = quota.stat()
        self.assertGreater(times, 1)
        self.assertGreaterEqual(after[THROTTLED] - before[THROTTLED],
                                LEAST * truth_ns / 1e9)
        self.assertGreaterEqual(after[WAIT] - before[WAIT],
                                after[THROTTLED] - before[THROTTLED])

    def test_its_own_time_is_the_schedulers(self):
        with self.serving() as (process, at):
            self.read(at)
            before = recorder_cost.process_ns(process.pid) / 1e9
            own = self.read(at)[OWN]
            after = recorder_cost.process_ns(process.pid) / 1e9
        self.assertLessEqual(before, own)
        # A thread on a CPU is ahead of what /proc shows, by a tick at most.
        self.assertLessEqual(own, after + 0.02)

    def test_no_counter_goes_back(self):
        with self.serving() as (_, at):
            last = self.read(at)
            for _ in range(100):
                values = self.read(at)
                for name, value in last.items():
                    self.assertGreaterEqual(values[name], value, name)
                last = values

    def test_prometheus_scrapes_it(self):
        self.needs('prometheus')
        log = self.work / 'log'
        with self.serving() as (_, at):
            config = self.work / 'prometheus.yml'
            config.write_text(json.dumps({'scrape_configs': [{
                'job_name': 'countrace', 'scrape_interval': EVERY,
                'scrape_timeout': EVERY,
                'static_configs': [{'targets': [at]}]}]}))  # JSON is YAML
            with log.open('w') as file, subprocess.Popen(
                    ['prometheus', f'--config.file={config}',
                     f'--storage.tsdb.path={self.work / "db"}',
                     '--web.listen-address=127.0.0.1:0'],
                    stdout=file, stderr=file) as prometheus:
                try:
                    self.check_scrapes(log)
                finally:
                    prometheus.terminate()

    def check_scrapes(self, log):
        server = until(lambda: re.search(
            r'"Listening on" address=(127\.0\.0\.1:\d+)', log.read_text()),
            log.read_text).group(1)

        def query(expression):
            words = urllib.parse.urlencode({'query': expression})
            answer = json.loads(get(f'http://{server}/api/v1/query?{words}'))
            self.assertEqual('success', answer['status'])
            return [float(row['value'][1]) for row in answer['data']['result']]

        def scraped():
            try:
                return query('sum_over_time(up{job="countrace"}[1h]) >= '
                             f'{SCRAPES}')
            except OSError:  # it starts
                return None
        until(scraped, log.read_text)
        if trace_checks.FULL:  # else a busy machine may miss some
            self.assertEqual([1], query('min_over_time(up[1h])'))
        self.assertGreater(query(f'sum(increase({ON_CPU}[1h]))')[0], 0)
        known = json.loads(get(f'http://{server}/api/v1/metadata'))['data']
        ours = [name for name in known if name.startswith('countrace_')]
        self.assertIn(WAIT, ours)
        for name in ours:
            self.assertEqual({0}, set(query(f'resets({name}[1h])')), name)
            self.assertEqual('counter', known[name][0]['type'])

    def test_requests_that_are_refused(self):
        with self.serving() as (_, at):
            for status, method, path, headers in (
                    (200, 'GET', '/metrics', {}),
                    (200, 'HEAD', '/metrics', {}),
                    (200, 'GET', '/metrics',
                     {'Host': at.replace('127.0.0.1', 'localhost')}),
                    (405, 'POST', '/metrics', {}),
                    (404, 'GET', '/', {}),
                    (403, 'GET', '/metrics', {'Host': 'evil.example'}),
                    (403, 'GET', '/metrics', {'Origin': 'http://evil.example'}),
                    (403, 'GET', '/metrics', {'Sec-Fetch-Site': 'cross-site'})):
                with self.subTest(method=method, path=path, headers=headers):
                    connection = http.client.HTTPConnection(at, timeout=LIMIT_S)
                    connection.request(method, path, headers=headers)
                    answer = connection.getresponse()
                    self.assertEqual(status, answer.status, answer.read())
                    self.assertEqual(
                        'text/plain; version=0.0.4; charset=utf-8' if status ==
                        200 else 'text/plain; charset=utf-8',
                        answer.getheader('Content-Type'))
                    connection.close()

    def test_slow_clients_do_not_stop_it(self):
        with self.serving() as (_, at), contextlib.ExitStack() as slow:
            host, port = at.split(':')
            for _ in range(200):
                client = slow.enter_context(
                    socket.create_connection((host, int(port)), LIMIT_S))
                with contextlib.suppress(OSError):  # it gave up this one
                    client.sendall(b'GET /metrics HT')
            self.assertIn(WAIT, self.read(at))

    def test_an_address_serves_other_names(self):
        places = [('0.0.0.0', '127.0.0.1', 200),
                  ('127.0.0.1', '127.0.0.1', 403)]
        with contextlib.suppress(OSError), socket.create_server(
                ('::1', 0), family=socket.AF_INET6):
            places.append(('[::1]', '::1', 200))
        for address, host, status in places:
            with self.subTest(address=address), self.serving(
                    f'{address}:0') as (_, at):
                self.assertTrue(at.startswith(f'{address}:'), at)
                connection = http.client.HTTPConnection(
                    host, int(at.rsplit(':', 1)[1]), timeout=LIMIT_S)
                connection.request('GET', '/metrics', headers={'Host': 'node'})
                self.assertEqual(status, connection.getresponse().status)
                connection.close()

    def test_signals_end_it_as_soon_as_it_has_an_address(self):
        for number in (signal.SIGINT, signal.SIGTERM) * 3:
            with self.serving(ends=number):
                pass

    def test_file(self):
        folder = self.work / 'textfiles'
        folder.mkdir()
        file = folder / 'countrace.prom'
        with subprocess.Popen(
                [self.countrace_program, 'stat', '-a', '--prometheus', file,
                 '--every', '5ms'], stderr=subprocess.PIPE,
                text=True) as process:
            until(file.exists, lambda: 'a file')
            seen, last = set(), 0
            while len(seen) < 20:
                text = file.read_text()
                value = values_of(text)[WAIT]  # each is whole
                self.assertTrue(text.endswith('\n'))
                self.assertGreaterEqual(value, last)
                last = value
                seen.add(file.stat().st_ino)
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            self.assertEqual('', process.communicate(timeout=LIMIT_S)[1])
        self.assertEqual(0, process.returncode)
        self.check_by_promtool(file.read_text())
        self.assertEqual(0o644, file.stat().st_mode & 0o777)
        self.assertEqual([file], list(folder.iterdir()))

    def test_it_ends_after_its_time(self):
        file = self.work / 'once.prom'
        for where in (file, ':0'):
            self.countrace('stat', '-a', '--prometheus', where, '--for', '100ms')
        self.check_by_promtool(file.read_text())


class WrongUse(trace_checks.Recording):
    def refused(self, status, *arguments, **options):
        done = self.countrace('stat', *arguments, check=False, **options)
        self.assertEqual((status, ''), (done.returncode, done.stdout), done)
        return done.stderr

    def test_usage(self):
        file = self.work / 'x.prom'
        for words, arguments in (
                ('give -a, and no command', ['--prometheus', file]),
                ('give -a, and no command',
                 ['-a', '--prometheus', file, '--', 'true']),
                ('give -a, and no command', ['-p', '1', '--prometheus', file]),
                ('other option but',
                 ['-a', '--prometheus', file, '-r', '2']),
                ('other option but', ['-a', '--prometheus', file, '--json']),
                ('scrape_interval',
                 ['-a', '--prometheus', ':0', '--every', '1s']),
                ('at least 1ms', ['-a', '--prometheus', file, '--every', '1us']),
                ('FILE.prom', ['-a', '--prometheus', self.work / 'x.txt']),
                ('FILE.prom', ['-a', '--prometheus', '']),
                (':PORT', ['-a', '--prometheus', ':65536']),
                (':PORT', ['-a', '--prometheus', '9732'])):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.refused(2, *arguments))
        self.assertEqual([], list(self.work.iterdir()))

    def test_places_that_cannot_be_used(self):
        self.needs_root()
        self.needs_back_end('bpf')
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            said = self.refused(1, '-a', '--prometheus', f':{port}')
        self.assertRegex(said, f'port={port}, .*in use. Use another port')
        for where, words in (('192.0.2.1:0', 'that `ip address` lists'),
                             ('no.address:0', 'that `ip address` lists'),
                             (self.work / 'none/x.prom', 'No such file or directory')):
            with self.subTest(where=where):
                self.assertIn(words, self.refused(1, '-a', '--prometheus', where))

    def test_without_privilege(self):
        self.needs_root()
        # Its folder may be closed to others.
        program = self.work / 'countrace'
        program.write_bytes(
            pathlib.Path(self.countrace_program).read_bytes())
        program.chmod(0o755)
        self.work.chmod(0o755)
        done = trace_checks.run(program, 'stat', '-a', '--prometheus', ':0',
                                user=65534, group=65534, extra_groups=[])
        self.assertEqual((5, ''), (done.returncode, done.stdout), done)
        self.assertIn('run as root', done.stderr)


if __name__ == '__main__':
    trace_checks.Recording.countrace_program = sys.argv.pop(1)
    trace_checks.unittest.main(verbosity=2)
