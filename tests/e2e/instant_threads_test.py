#!/usr/bin/env python3
"""The threads that the page shows of an instant are those of `state --at`, the
first ones by rank: on six kinds of traces, at random instants.

usage: instant_threads_test.py COUNTRACE WORKLOAD LTTNG_PROVIDER
"""
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request

import lttng_session
from trace_checks import FULL, Recording, countrace, run

WORKLOAD = PROVIDER = None
INSTANTS = 100 if FULL else 12
SHOWN = 12  # of the page
RANKS = {'running': 0, 'waiting': 1, 'throttled': 1, 'blocked': 2,
         'off-cpu': 2, 'ended': 2, 'unknown': 3}
WORK = 'i=0; while [ $i -lt 12 ]; do ls -R /usr/lib >/dev/null; i=$((i+1)); done'


class Page:
    """What `countrace view` answers, from the index of the whole trace."""

    def __init__(self, trace):
        self.server = subprocess.Popen(
            [Recording.countrace_program, 'view', trace], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in self.server.stdout:
            found = re.search(r'(http://127.0.0.1:\d+)/\?token=(\w+)', line)
            if found:
                break
        self.origin, self.token = found.groups()
        while not self.ask('index')['whole']:
            pass

    def ask(self, what):
        request = urllib.request.Request(
            f'{self.origin}/api/v1/{what}',
            headers={'Authorization': f'Bearer {self.token}'})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.server.terminate()
        self.server.wait(20)
        self.server.stdout.close()


class InstantThreads(Recording):
    def compare(self, trace):
        """Returns how many threads the page showed in all."""
        choice = random.Random(20261129)
        shown = 0
        with Page(trace) as page:
            ids = {item['thread']: (item['pid'], item['tid'])
                   for item in page.ask('threads')['items']}
            duration_ns = page.ask('trace')['duration_ns']
            window_ns = duration_ns // 50
            for _ in range(INSTANTS):
                at_ns = choice.randrange(duration_ns)
                printed = json.loads(countrace(
                    'state', '--at', f'{at_ns}ns', '--window',
                    f'{window_ns}ns', '--format', 'jsonl', trace).stdout)
                state = page.ask(f'state?t={at_ns}&top={SHOWN}&window={window_ns}')
                every = page.ask(f'state?t={at_ns}&top=1000&window={window_ns}')
                with self.subTest(trace=trace.name, at_ns=at_ns):
                    self.assertEqual(at_ns, printed['offset_ns'])
                    self.assertEqual(
                        sorted((t['pid'], t['tid']) for t in printed['threads']),
                        sorted(ids[t['thread']] for t in every['threads']))
                    self.assertEqual(every['threads'][:SHOWN], state['threads'])
                    self.assertEqual(
                        max(0, len(every['threads']) - SHOWN),
                        state['threads_left_out'])
                    order = [(RANKS[t['state']], -t['recent_ns'])
                             for t in every['threads']]
                    self.assertEqual(sorted(order), order)
                    shown += len(state['threads'])
        return shown

    def record(self, *words):
        return countrace('record', '-o', self.trace, *words)

    def test_a_command_with_hooks(self):
        self.needs_back_end('auto')
        self.record('--', WORKLOAD, 300, 20, 3)
        self.assertGreater(self.compare(self.trace), 0)

    def test_the_machine_with_system_calls(self):
        self.needs_back_end('auto')
        self.record('-a', '--kernel', 'syscalls,wakeups', '--', 'sh', '-c', WORK)
        self.assertGreater(self.compare(self.trace), INSTANTS)

    def test_losses(self):
        self.needs_back_end('auto')
        # The recorder stands still, so its rings become full.
        done = self.record('-a', '--kernel', 'syscalls', '--kernel-ring', '16K', '--', 'sh', '-c',
                           f'kill -STOP $PPID; ls -R /usr/lib >/dev/null; kill -CONT $PPID; {WORK}')
        self.assertIn('lost', done.stderr)
        self.assertGreater(self.compare(self.trace), INSTANTS)

    def test_hooks_alone(self):
        self.record('--no-kernel', '--', WORKLOAD, 3000, 20, 3)
        self.assertGreater(self.compare(self.trace), 0)

    def test_an_imported_profile(self):
        if not shutil.which('perf'):
            self.skipTest('SKIPPED: perf is not installed')
        data = self.work / 'perf.data'
        done = run('perf', 'record', '-q', '-a', '-e', 'cpu-clock', '-e',
                   'sched:sched_switch', '-o', data, '--', 'sh', '-c', WORK)
        if done.returncode != 0:
            self.skipTest(f'SKIPPED: perf record: {done.stderr[:200]}')
        countrace('import', '-o', self.trace, data)
        self.assertGreater(self.compare(self.trace), 0)

    def test_hooks_in_a_session_of_lttng(self):
        if not PROVIDER or not shutil.which('lttng-sessiond'):
            self.skipTest('SKIPPED: built without LTTng, or no lttng-sessiond')
        with lttng_session.Daemon() as daemon:
            daemon.lttng('create', 'one', f'--output={self.trace}')
            daemon.lttng('enable-event', '-u', 'countrace:*')
            for context in ('vpid', 'vtid', 'procname'):
                daemon.lttng('add-context', '-u', '-t', context)
            daemon.lttng('start')
            done = run(WORKLOAD, 3000, 20, 3,
                       env={**daemon.environment, 'LD_PRELOAD': PROVIDER})
            self.assertEqual(0, done.returncode, done.stderr)
            daemon.lttng('destroy')
        metadata = next(pathlib.Path(self.trace).rglob('metadata'))
        self.assertGreater(self.compare(metadata.parent), 0)


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    PROVIDER = sys.argv[3] if len(sys.argv) > 3 else None
    unittest.main(argv=sys.argv[:1])
