#!/usr/bin/env python3
"""Static hooks in LTTng traces, with Debian's real lttng-sessiond: each event
with its name, id and payload, in the exact number, and only while a session
enables them; `record --backend lttng`; both recorders at the same time.

usage: lttng_hooks_test.py COUNTRACE LTTNG_WORKLOAD LIBRARY PROVIDER LINKED
"""
import collections
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lttng_session
from trace_checks import Recording, countrace

COUNTRACE = WORKLOAD = LIBRARY = PROVIDER = LINKED = None
TEXT = 511  # bytes of a string


def counts(events):
    return collections.Counter((e['event'].split(':')[1], e['name'])
                               for e in events)


class Lttng(Recording):
    def setUp(self):
        for tool in ('lttng-sessiond', 'lttng', 'babeltrace2'):
            if not shutil.which(tool):
                self.skipTest(f'SKIPPED: needs {tool}')
        super().setUp()
        self.trace = self.work / 'trace.lttng'
        self.folders = self.daemons_folders()

    def record(self, *command, options=()):
        return countrace('record', '--backend', 'lttng', '--no-kernel',
                         *options, '-o', self.trace, '--', *command)

    def recorded(self, *command, options=()):
        self.record(WORKLOAD, *command, options=options)
        return lttng_session.events(self.trace)

    def daemons_folders(self):
        return set(glob.glob('/tmp/countrace-lttng.*'))

    def assert_nothing_is_left(self):
        for _ in range(200):  # another process may be recording, too
            left = self.daemons_folders() - self.folders
            if not left:
                return
            time.sleep(0.05)
        self.fail(f'folders are left: {left}')


class Events(Lttng):
    def test_name_id_and_payload_of_every_type(self):
        found = {e['name'].split(':')[1]: e for e in self.recorded('values')
                 if e['event'] != 'countrace:exit'}
        self.assertEqual({'countrace:hook'}, {
            e['event'] for name, e in found.items() if name != 'scope'})

        def shown(name):
            return found[name]['payload'], found[name]['values']
        self.assertEqual(('()', []), shown('none'))
        self.assertEqual(
            ('(-9223372036854775808, -1, 18446744073709551615, 7, 1, 3)',
             [-2**63, -1, -1, 7, 1, 3]), shown('integers'))
        self.assertEqual(('(2.5, 0.1, -1e+300, 0.3333333432674408)',
                          [2, 0, -2**63, 0]), shown('doubles'))
        self.assertEqual((r'("plain", "a\"b\\c\x0a\x7f", "(null)")',
                          [5, 7, 6]), shown('strings'))
        self.assertEqual(('(0xabcdef)', [0xabcdef]), shown('pointer'))
        self.assertEqual(('("' + 'x' * TEXT + '")', [600]), shown('long'))
        text, values = shown('longer')
        self.assertEqual([400, 400, 400, 5], values)
        self.assertTrue(text.startswith('("' + 'a' * 400 + '", "' + 'b' * 400 +
                                        '", "ccc'))
        self.assertTrue(text.endswith('c...)'), text)
        self.assertLessEqual(len(text), 1023)
        self.assertEqual([0, 17, 18], [found[name]['id'] for name in
                                       ('none', 'numbered', 'scope')])
        self.assertEqual(('(4096, "GET")', [4096, 3]), shown('scope'))
        self.assertEqual('countrace:enter', found['scope']['event'])

    def test_hooks_written_in_c(self):
        found = self.recorded('c', 20)
        self.assertEqual(
            ['enter', 'hook', 'hook', 'exit'] * 20,
            [e['event'].split(':')[1] for e in found])
        self.assertEqual([f'({i}, "text")' for i in range(20)], [
            e['payload'] for e in found if e['event'] == 'countrace:enter'])
        self.assertEqual({('(-1, 2, 0.5, "s", 0x10)', (-1, 2, 0, 1, 16))}, {
            (e['payload'], tuple(e['values'])) for e in found
            if e['name'] == 'lttng_test:c_hook'})

    def test_hooks_before_and_behind_main(self):
        self.record('env', 'LTTNG_TEST_EDGES=1', WORKLOAD, 'edges')
        self.assertEqual(
            ['lttng_test:before_main', 'lttng_test:in_main',
             'lttng_test:behind_main'],
            [e['name'] for e in lttng_session.events(self.trace)])

    def test_every_event_of_every_thread(self):
        done = self.record(WORKLOAD, 'threads', 4, 2000)
        tids = {int(t) for t in re.findall(r'tid (\d+)', done.stdout)}
        self.assertEqual(4, len(tids))
        found = lttng_session.events(self.trace)
        by_thread = collections.defaultdict(list)
        for event in found:
            by_thread[event['vtid']].append(event)
        self.assertEqual(tids, set(by_thread))
        for events in by_thread.values():
            self.assertEqual(
                [(kind, i) for i in range(2000)
                 for kind in ('enter', 'hook', 'exit')],
                [(e['event'].split(':')[1], i // 3)
                 for i, e in enumerate(events)])
            self.assertEqual([i for i in range(2000) for _ in (0, 1)],
                             [e['values'][0] for e in events if e['values']])

    def test_forked_children_are_processes_of_their_own(self):
        done = self.record(WORKLOAD, 'fork', 300)
        pids = list(map(int, re.findall(r'pid (\d+)', done.stdout)))
        self.assertEqual(3, len(set(pids)))
        found = lttng_session.events(self.trace)
        self.assertEqual(
            {pid: 900 for pid in pids},
            dict(collections.Counter(e['vpid'] for e in found)))
        # Their threads' numbers are also their own, not cached ones.
        self.assertEqual({(pid, pid) for pid in pids},
                         {(e['vpid'], e['vtid']) for e in found})

    def test_hooks_of_signal_handlers_lie_inside_what_they_interrupt(self):
        self.assertEqual(['enter', 'hook', 'exit'] * 500, [
            e['event'].split(':')[1] for e in self.recorded('signals', 500)])

    def test_a_library_that_comes_and_goes(self):
        found = self.recorded('library', LIBRARY, 50)
        self.assertEqual({('enter', 'lttng_test:in_library'): 50,
                          ('exit', 'lttng_test:in_library'): 50},
                         dict(counts(found)))
        self.assertEqual(list(range(50)),
                         [e['values'][0] for e in found if e['values']])

    def test_filters_see_names_and_values(self):
        found = self.recorded('threads', 1, 10, options=(
            '--hooks', 'lttng_test:ins*,other:*'))
        self.assertEqual({('hook', 'lttng_test:inside'): 10},
                         dict(counts(found)))

    def test_counters_as_contexts(self):
        found = self.recorded('threads', 1, 100, options=(
            '-e', 'task-clock,page-faults'))
        clocks = [e['perf_thread_task_clock'] for e in found]
        self.assertEqual(300, len(clocks))
        self.assertEqual(sorted(clocks), clocks)
        self.assertGreater(clocks[-1], clocks[0])
        self.assertTrue(all('perf_thread_page_fault' in e for e in found))


class Sessions(Lttng):
    """A session of the user: the provider alone, without countrace."""

    def setUp(self):
        super().setUp()
        self.daemon = self.enterContext(lttng_session.Daemon()) if hasattr(
            self, 'enterContext') else lttng_session.Daemon()
        self.environment = {**self.daemon.environment, 'LD_PRELOAD': PROVIDER}

    def steps(self, running):
        def step(number):
            running.stdin.write(f'{number}\n')
            running.stdin.flush()
            answer = running.stdout.readline().split()
            self.assertEqual(str(number), answer[0])
            return int(answer[1])  # gates that are open
        return step

    def test_hooks_are_on_exactly_while_the_session_runs(self):
        lttng = self.daemon.lttng
        with lttng_session.program([WORKLOAD, 'steps'],
                                   self.environment) as running:
            step = self.steps(running)
            gates = [step(1)]
            lttng('create', 'one', f'--output={self.trace}')
            lttng('enable-event', '-u', 'countrace:*')
            gates.append(step(2))
            lttng('start')
            gates.append(step(3))
            lttng('stop')
            gates.append(step(4))
            lttng('start')
            gates.append(step(5))
            lttng('disable-event', '-u', 'countrace:*')
            gates.append(step(6))
            lttng('enable-event', '-u', 'countrace:*')
            gates.append(step(7))
            lttng('destroy')
            gates.append(step(8))
        every_site = max(gates)
        self.assertGreater(every_site, 10)
        self.assertEqual([0, 0, every_site, 0, every_site, 0, every_site, 0],
                         gates)
        found = lttng_session.events(self.trace)
        self.assertEqual([number for number in (3, 5, 7) for _ in range(3)],
                         [e['values'][0] for e in found if e['values']])
        self.assertEqual(
            ['hook', 'enter', 'exit', 'enter', 'exit'] * 3,
            [e['event'].split(':')[1] for e in found])

    def test_switched_while_threads_run_and_the_other_recorder_comes_and_goes(
            self):
        """All code that writes to a gate, at the same time: no crash, no exit
        without its enter, no payload of another hook."""
        lttng = self.daemon.lttng
        runtime = next(pathlib.Path(PROVIDER).parents[2].rglob(
            'libcountrace-runtime.so'))
        environment = {**self.environment,
                       'LD_PRELOAD': f'{PROVIDER}:{runtime}'}
        lttng('create', 'one', f'--output={self.trace}')
        lttng('enable-channel', '-u', 'c', '--subbuf-size=4M')
        lttng('enable-event', '-u', '-c', 'c', 'countrace:*')
        lttng('add-context', '-u', '-c', 'c', '-t', 'vtid')
        turns, ours_calls = 5, []
        with lttng_session.program([WORKLOAD, 'until-eof', 3],
                                   environment) as running:
            self.assertEqual('ready\n', running.stdout.readline())
            for i in range(turns):
                lttng('start')
                ours = self.work / f'ours{i}.ctf'
                countrace('record', '-q', '--no-kernel', '-p', running.pid,
                          '--for', '30ms', '-o', ours)
                lttng('stop')
                calls = {row['segment']: row['calls'] for row in
                         json.loads(countrace('report', '--format', 'json',
                                              ours).stdout)['segments']}
                ours_calls.append(calls.get('lttng_test:segment', 0))
        self.assertEqual(0, running.returncode)
        # On a busy machine its threads have no CPU within one of them.
        self.assertGreater(sum(ours_calls[1:]), 0, ours_calls)
        lttng('destroy')
        by_thread = collections.defaultdict(list)
        for event in lttng_session.events(self.trace):
            by_thread[event['vtid']].append(event)
        self.assertEqual(3, len(by_thread))
        for events in by_thread.values():
            self.assertGreater(len(events), 100)
            inside, cut = None, 0
            for event in events:
                kind = event['event'].split(':')[1]
                if kind == 'enter':
                    cut += inside is not None  # its exit fell into a pause
                    inside = event['values'][0]
                elif kind == 'exit':
                    cut += inside is None
                    inside = None
                elif event['payload'] != f'("{inside}")':
                    cut += 1
                    inside = None
            # Twice per cycle: at its beginning and at its end.
            self.assertLessEqual(cut, 4 * turns)

    def test_a_program_that_links_the_provider(self):
        lttng = self.daemon.lttng
        lttng('create', 'one', f'--output={self.trace}')
        lttng('enable-event', '-u', 'countrace:*')
        lttng('start')
        subprocess.run([LINKED, 'threads', '2', '100'], check=True, timeout=60,
                       env=self.daemon.environment, stdout=subprocess.DEVNULL)
        lttng('destroy')
        self.assertEqual(600, len(lttng_session.events(self.trace)))

    def test_only_what_is_enabled(self):
        lttng = self.daemon.lttng
        lttng('create', 'one', f'--output={self.trace}')
        lttng('enable-event', '-u', 'countrace:hook', '--filter',
              'values[0] == 2')
        lttng('start')
        with lttng_session.program([WORKLOAD, 'steps'],
                                   self.environment) as running:
            step = self.steps(running)
            open_gates = [step(1), step(2), step(3)]
        lttng('stop')
        lttng('destroy')
        self.assertEqual([('countrace:hook', [2])],
                         [(e['event'], e['values'])
                          for e in lttng_session.events(self.trace)])
        # Point hooks only.
        self.assertEqual(1, len(set(open_gates)))
        self.assertGreater(open_gates[0], 0)

    def test_no_event_is_enabled_no_gate_is_open(self):
        lttng = self.daemon.lttng
        lttng('create', 'one', f'--output={self.trace}')
        lttng('enable-event', '-u', 'other:*')
        lttng('start')
        with lttng_session.program([WORKLOAD, 'steps'],
                                   self.environment) as running:
            self.assertEqual(0, self.steps(running)(1))

    def test_events_are_listed(self):
        with lttng_session.program([WORKLOAD, 'steps'],
                                   self.environment) as running:
            self.steps(running)(1)
            text = self.daemon.lttng('list', '-u', '--fields')
        for event in ('enter', 'exit', 'hook'):
            self.assertIn(f'countrace:{event} ', text)
        for field in ('id', 'name', 'payload', 'values'):
            self.assertIn(f'field: {field} ', text)

    def tearDown(self):
        if not hasattr(self, 'enterContext'):
            self.daemon.close()


class OffCost(unittest.TestCase):
    def instructions(self, environment):
        valgrind = shutil.which('valgrind')
        if not valgrind:
            self.skipTest('SKIPPED: needs valgrind')
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [valgrind, '--tool=callgrind', '--collect-atstart=no',
                 '--toggle-collect=loop_of_hooks',
                 f'--callgrind-out-file={folder}/out', WORKLOAD, 'loop',
                 '10000'], env={**os.environ, **environment}, text=True,
                capture_output=True, timeout=120, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return int(re.search(r'Collected : (\d+)', done.stderr)[1])

    def test_without_a_session_the_provider_costs_no_instruction(self):
        without = self.instructions({})
        self.assertGreater(without, 10000)
        self.assertEqual(without, self.instructions({'LD_PRELOAD': PROVIDER}))
        print(f'instructions a segment and a hook: {without / 10000:.2f}, with '
              'and without the provider')


class BothRecorders(Lttng):
    def test_the_same_calls_and_times_within_the_clocks_error(self):
        ours = self.work / 'ours.ctf'
        # The outer recorder preloads the provider, the inner one the runtime.
        self.record(COUNTRACE, 'record', '-q', '--no-kernel', '-o', ours, '--',
                    WORKLOAD, 'calls', 2, 500)
        theirs = lttng_session.events(self.trace)
        report = json.loads(countrace('report', '--format', 'json',
                                      ours).stdout)
        self.assertEqual(0, report['loss']['discarded_events'])
        in_report = {row['segment']: row['calls']
                     for row in report['segments']}
        enters = collections.Counter(e['name'] for e in theirs
                                     if e['event'] == 'countrace:enter')
        exits = collections.Counter(e['name'] for e in theirs
                                    if e['event'] == 'countrace:exit')
        self.assertEqual({'lttng_test:outer': 1000,
                          'lttng_test:inner': 1998}, in_report)
        self.assertEqual(in_report, dict(enters))
        self.assertEqual(in_report, dict(exits))

        hooks = {row['hook']: row['id'] for row in json.loads(countrace(
            'list', 'hooks', ours, '--format', 'json').stdout)['hooks']}
        self.assertEqual({(e['name'], hooks[e['name']]) for e in theirs},
                         {(e['name'], e['id']) for e in theirs})
        self.compare_times(self.native(ours), theirs)

    def native(self, trace):
        """Records of hooks by thread: (ns, kind, name)."""
        by_thread = collections.defaultdict(list)
        for line in countrace('script', trace).stdout.splitlines():
            match = re.match(r'\[(\d+)\.(\d{9})\] \d+/(\d+) '
                             r'(lttng_test:\w+?)__(enter|exit):', line)
            if match:
                seconds, ns, tid, name, kind = match.groups()
                by_thread[int(tid)].append(
                    (int(seconds) * 10**9 + int(ns), kind, name))
        return by_thread

    def compare_times(self, ours, theirs):
        by_thread = collections.defaultdict(list)
        for event in theirs:
            by_thread[event['vtid']].append(event)
        self.assertEqual(set(ours), set(by_thread))
        self.assertEqual(2, len(ours))
        # Largest difference between the two clocks.
        error = 1000
        behind, apart = [], []
        for tid, records in ours.items():
            events = by_thread[tid]
            self.assertEqual(
                [(kind, name) for _, kind, name in records],
                [(e['event'].split(':')[1], e['name']) for e in events])
            times = [ns for ns, _, _ in records]
            lttngs = [e['time'] for e in events]
            # At each hook the runtime reads the clock first, then LTTng; the
            # next hook comes after both.
            for ns, lttng, after in zip(times, lttngs, times[1:]):
                self.assertLessEqual(ns - error, lttng)
                self.assertLessEqual(lttng, after + error)
            behind += [lttng - ns for ns, lttng in zip(times, lttngs)]
            open_calls = []
            for (ns, kind, _), lttng in zip(records, lttngs):
                if kind == 'enter':
                    open_calls.append((ns, lttng))
                else:
                    begin, lttng_begin = open_calls.pop()
                    apart.append(abs((lttng - lttng_begin) - (ns - begin)))
            self.assertEqual([], open_calls)
        behind.sort()
        apart.sort()
        # Most calls are not interrupted between one recorder and the other.
        self.assertLess(apart[len(apart) // 2], 10 * error)
        print(f'LTTng behind countrace at a hook: {behind[0]} ns least, '
              f'{behind[len(behind) // 2]} ns median; durations of '
              f'{len(apart)} calls: {apart[len(apart) // 2]} ns apart, median')

    def test_the_same_payload(self):
        ours = self.work / 'ours.ctf'
        self.record(COUNTRACE, 'record', '-q', '--no-kernel', '-o', ours, '--',
                    WORKLOAD, 'values')
        theirs = {e['name']: e['payload']
                  for e in lttng_session.events(self.trace)
                  if e['event'] == 'countrace:hook'}
        native = dict(re.findall(r'(lttng_test:\w+): \{ (.*) \}',
                                 countrace('script', ours).stdout))
        self.assertEqual('("' + 'x' * TEXT + '")', theirs['lttng_test:long'])
        # Where it was cut, ours says so.
        self.assertEqual('arg0 = "' + 'x' * (TEXT - 3) + '..."',
                         native['lttng_test:long'])
        self.assertEqual(
            theirs['lttng_test:integers'],
            '(' + re.sub(r'arg\d = ', '', native['lttng_test:integers']) + ')')


class RecordVerb(Lttng):
    def test_exit_statuses_and_messages(self):
        for command, expected in ((('sh', '-c', 'exit 7'), 7),
                                  (('sh', '-c', 'kill -9 $$'), 137),
                                  (('/nonexistent/x',), 127),
                                  (('/etc/passwd',), 126)):
            with self.subTest(command=command):
                done = countrace('record', '--backend', 'lttng', '--force',
                                 '-o', self.trace, '--', *command, check=False)
                self.assertEqual(expected, done.returncode, done.stderr)
        self.assertFalse(self.trace.exists())  # nothing was recorded
        self.assert_nothing_is_left()

    def test_output_is_replaced_only_by_force(self):
        self.record(WORKLOAD, 'threads', 1, 1)
        again = countrace('record', '--backend', 'lttng', '-o', self.trace,
                          '--', WORKLOAD, 'threads', 1, 2, check=False)
        self.assertEqual(1, again.returncode)
        self.assertIn('--force', again.stderr)
        self.record(WORKLOAD, 'threads', 1, 2, options=('--force',))
        self.assertEqual(6, len(lttng_session.events(self.trace)))
        (self.trace / 'mine.txt').write_text('no trace')
        refused = countrace('record', '--backend', 'lttng', '--force', '-o',
                            self.trace, '--', 'true', check=False)
        self.assertEqual(1, refused.returncode)
        self.assertTrue((self.trace / 'mine.txt').exists())
        self.assertTrue((self.trace / 'ust').exists())

    def test_refusals_teach(self):
        for options, word in ((('-a',), '--all-cpus'),
                              (('--flight', '1M'), '--flight'),
                              (('--hook-events', 'page-faults'),
                               '--hook-events'),
                              (('-e', 'nonsense'), 'countrace list events'),
                              (('-e', 'sched:sched_switch'), 'tracepoint'),
                              (('--hooks', 'a:[bc]'), '`*` only')):
            with self.subTest(options=options):
                done = countrace('record', '--backend', 'lttng', *options,
                                 '-o', self.trace, '--', 'true', check=False)
                self.assertEqual(2, done.returncode, done.stderr)
                self.assertIn(word, done.stderr)
        bare = self.work / 'bin'
        bare.mkdir()
        done = countrace('record', '--backend', 'lttng', '-o', self.trace,
                         '--', '/bin/true', check=False,
                         env={**os.environ, 'PATH': str(bare)})
        self.assertEqual(1, done.returncode)
        self.assertIn('apt-get install lttng-tools', done.stderr)
        self.assertFalse(self.trace.exists())

    def test_a_counter_that_cannot_be_opened_is_refused(self):
        listed = json.loads(countrace('list', 'events', '--format',
                                      'json').stdout)['events']
        here = {e['event'] for e in listed if e['hooks']}
        missing = [name for name in ('cycles', 'instructions', 'cache-misses')
                   if name not in here]
        if not missing:
            self.skipTest('SKIPPED: this machine has all hardware events')
        done = countrace('record', '--backend', 'lttng', '-e', missing[0],
                         '-o', self.trace, '--', 'true', check=False)
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertIn('record nothing at all', done.stderr)

    def start(self, *command):
        running = subprocess.Popen(
            [COUNTRACE, 'record', '--backend', 'lttng', '--no-kernel', '-o',
             self.trace, '--', *map(str, command)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(running.stdin.close)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.stderr.close)
        running.stdin.write('1\n')
        running.stdin.flush()
        self.assertTrue(running.stdout.readline())
        return running

    def test_ctrl_c_takes_everything_down_and_keeps_the_trace(self):
        running = self.start(WORKLOAD, 'steps')
        daemons = self.daemons_of(running.pid)
        self.assertEqual(1, len(daemons))
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(130, running.wait(60))
        self.assertEqual(5, len(lttng_session.events(self.trace)))
        self.assert_gone(daemons)
        self.assert_nothing_is_left()

    def test_the_daemon_ends_with_a_killed_recorder(self):
        running = self.start(WORKLOAD, 'steps')
        daemons = self.daemons_of(running.pid)
        environment = pathlib.Path(f'/proc/{daemons[0]}/environ').read_text()
        home = pathlib.Path(re.search(r'LTTNG_HOME=([^\0]+)', environment)[1])
        running.kill()
        running.wait(60)
        self.assert_gone(daemons)
        self.assertTrue(home.parent.name.startswith('countrace-lttng.'))
        shutil.rmtree(home.parent)

    def daemons_of(self, pid):
        text = subprocess.run(['ps', '--ppid', str(pid), '-o', 'pid=,comm='],
                              text=True, capture_output=True,
                              check=False).stdout
        return [int(line.split()[0]) for line in text.splitlines()
                if line.split()[1].startswith('lttng-sessiond')]

    def assert_gone(self, pids):
        for _ in range(400):
            left = [pid for pid in pids
                    if os.path.exists(f'/proc/{pid}') and 'Z' not in
                    pathlib.Path(f'/proc/{pid}/stat').read_text().split()[2]]
            if not left:
                return
            time.sleep(0.05)
        self.fail(f'daemons still run: {left}')

    def test_losses_are_told(self):
        done = countrace(
            'record', '--backend', 'lttng', '--no-kernel', '--sub-buffer-size',
            '4K', '--sub-buffers', '2', '--fail-on-loss', '-o', self.trace,
            '--', WORKLOAD, 'threads', 2, 200000, check=False)
        # It prints a total now and then; the last one counts.
        kept = int(re.findall(r'(\d+) Event messages', subprocess.run(
            ['babeltrace2', str(self.trace), '-c', 'sink.utils.counter'],
            text=True, capture_output=True, check=True,
            timeout=120).stdout)[-1])
        self.assertEqual(3, done.returncode, done.stderr)
        lost = int(re.search(r'; ([\d,]+) event records were lost',
                             done.stderr)[1].replace(',', ''))
        self.assertEqual(2 * 200000 * 3, kept + lost)
        self.assertIn('--sub-buffer-size', done.stderr)

    def test_as_an_ordinary_user(self):
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('SKIPPED: needs root, to become another user')
        os.chmod(self.work, 0o777)
        done = subprocess.run(
            ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
             COUNTRACE, 'record', '--backend', 'lttng', '-o', self.trace, '--',
             WORKLOAD, 'threads', '1', '5'], text=True, capture_output=True,
            timeout=120, check=False, env={**os.environ, 'HOME': '/nonexistent'})
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('No kernel events', done.stderr)
        self.assertEqual(15, len(lttng_session.events(self.trace)))
        self.assert_nothing_is_left()

    def test_root_without_mount_namespaces_is_told(self):
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('SKIPPED: needs root, to become less')
        done = subprocess.run(
            ['setpriv', '--bounding-set=-sys_admin', '--inh-caps=-sys_admin',
             COUNTRACE, 'record', '--backend', 'lttng', '-o', self.trace, '--',
             'true'], text=True, capture_output=True, timeout=120, check=False)
        self.assertEqual(5, done.returncode, done.stderr)
        self.assertIn('CAP_SYS_ADMIN', done.stderr)
        self.assertFalse(self.trace.exists())
        self.assert_nothing_is_left()

    def test_the_users_own_daemon_is_not_touched(self):
        with lttng_session.Daemon() as users:
            users.lttng('create', 'mine', f'--output={self.work / "mine"}')
            users.lttng('enable-event', '-u', 'countrace:*')
            users.lttng('start')
            before = users.lttng('--mi', 'xml', 'list')
            # As in the user's shell: the user's /run/lttng and LTTNG_HOME.
            done = subprocess.run(
                [*users.inside, COUNTRACE, 'record', '--backend', 'lttng',
                 '--no-kernel', '-o', str(self.trace), '--', WORKLOAD,
                 'threads', '1', '5'], env=users.environment, text=True,
                capture_output=True, timeout=120, check=False)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(before, users.lttng('--mi', 'xml', 'list'))
            self.assertIsNone(users.daemon.poll())
        self.assertEqual(15, len(lttng_session.events(self.trace)))


class Documentation(Lttng):
    """The commands of docs/lttng.md in order, exactly as written there, and
    the part of their output that the page shows, except for numbers."""

    def commands(self):
        text = (pathlib.Path(__file__).resolve().parents[2] /
                'docs/lttng.md').read_text()
        text = text[text.index('## Your hooks in LTTng'):
                    text.index('## Limits')]
        found = []
        for line in re.findall(r'(?m)^    (.*)$', text):
            if line.startswith('$ '):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return found

    def test_commands_and_their_output(self):
        (self.work / 'server').symlink_to(pathlib.Path(WORKLOAD).resolve())
        folder = pathlib.Path(COUNTRACE).resolve().parent
        checked = 0
        with lttng_session.Daemon() as daemon:
            environment = {
                **daemon.environment,
                'PATH': f'{folder}:{os.environ["PATH"]}',
                'LD_LIBRARY_PATH': str(pathlib.Path(PROVIDER).parent)}
            if daemon.inside:
                # Root's is at /run/lttng; through LTTNG_HOME the program would
                # find the same daemon again, and write each event twice.
                environment['LTTNG_HOME'] = str(self.work)
            for command, shown in self.commands():
                done = subprocess.run(
                    [*daemon.inside, 'sh', '-c', command], text=True,
                    cwd=self.work, env=environment, timeout=120,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    check=False)
                self.assertEqual(0, done.returncode,
                                 f'{command}: {done.stdout}')
                for line in shown:
                    wanted = re.sub(r'[\d.,]+(\\ [KM]?i?B| ms)?', r'N', line)
                    wanted = wanted.replace('/home/me', '')
                    self.assertTrue(any(
                        wanted == re.sub(r'[\d.,]+(\\ [KM]?i?B| ms)?', r'N',
                                         each.replace(str(self.work), ''))
                        for each in done.stdout.splitlines()),
                        f'{command} does not print {line}:\n'
                        f'{done.stdout[:1500]}')
                    checked += 1
                checked += 1
        self.assertGreater(checked, 18)
        slow = lttng_session.events(self.work / 'slow.lttng')
        self.assertEqual({('server:bytes', '(4096)')},
                         {(e['name'], e['payload']) for e in slow})
        self.assertEqual(50, len(slow))
        self.assertEqual(300, len(lttng_session.events(
            self.work / 'run.lttng')))
        self.assertEqual({'server:handle'}, {e['name'] for e in
                         lttng_session.events(self.work / 'counted.lttng')})


if __name__ == '__main__':
    COUNTRACE, WORKLOAD, LIBRARY, PROVIDER, LINKED = sys.argv[1:6]
    Recording.countrace_program = COUNTRACE
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
