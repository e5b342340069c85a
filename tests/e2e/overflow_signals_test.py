#!/usr/bin/env python3
"""`record --signal-every`: the signals that a program gets, against the page faults
that it has.

usage: overflow_signals_test.py COUNTRACE SIGNAL_WORKLOAD
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

COUNTRACE = PROGRAM = ''
PAGES = 5000


class OverflowSignals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='countrace-signals-')
        self.addCleanup(folder.cleanup)
        self.trace = pathlib.Path(folder.name) / 'trace.ctf'

    def words(self, text, *command):
        return [COUNTRACE, 'record', '--force', '-o', str(self.trace), '--signal-every', text,
                *map(str, command)]

    def record(self, text, *command, status=0):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: BPF programs need root')
        done = subprocess.run(self.words(text, *command), capture_output=True, text=True,
                              timeout=120, check=False)
        if 'built without BPF' in done.stderr:
            self.skipTest('SKIPPED: built without BPF')
        self.assertEqual(status, done.returncode, done)
        return done

    def check(self, text, period):
        """Each thread has its own count, from its begin on."""
        found = {who: (int(signals), int(faults)) for who, signals, faults in
                 re.findall(r'(?m)^(\w+) (\d+) (\d+)$', text)}
        self.assertEqual({'main', 'thread', 'child'}, set(found), text)
        for who, times in (('main', 1), ('thread', 2), ('child', 3)):
            signals, faults = found[who]
            self.assertGreaterEqual(faults, times * PAGES, found)
            self.assertLessEqual(abs(signals - faults / period), 2, (who, period, found))
        return sum(signals for signals, _ in found.values())

    def sent(self, done):
        match = re.search(r'(SIG\w+) was sent (\d+) times, at each (\d+) page-faults of a thread',
                          done.stderr)
        self.assertTrue(match, done)
        return match[1], int(match[2]), int(match[3])

    def test_known_page_faults(self):
        for period in (20, 100, 1000):
            done = self.record(f'{period}:page-faults', '--', PROGRAM, PAGES,
                               int(signal.SIGPROF))
            total = self.check(done.stdout, period)
            name, sent, of = self.sent(done)
            self.assertEqual(('SIGPROF', period), (name, of))
            # What came in between was not printed.
            self.assertLessEqual(total, sent)
            self.assertLessEqual(sent, total + 30)

    def test_chosen_signal_behind_an_exec(self):
        done = self.record('100:page-faults=SIGUSR1', '--', 'sh', '-c',
                           f'exec {PROGRAM} {PAGES} {int(signal.SIGUSR1)}')
        self.check(done.stdout, 100)
        self.assertEqual('SIGUSR1', self.sent(done)[0])

    def test_no_handler_no_signal(self):
        """The default action of SIGPROF would end the program."""
        done = self.record('100:page-faults', '--', PROGRAM, PAGES, 0)
        self.assertEqual(0, self.sent(done)[1], done)
        unhandled = int(re.search(r'; (\d+) times not, as the program had no handler',
                                  done.stderr)[1])
        self.assertGreaterEqual(unhandled, 6 * PAGES / 100 - 2)

    def test_running_program(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: BPF programs need root')
        with subprocess.Popen([PROGRAM, str(PAGES), str(int(signal.SIGUSR2)), 'wait'],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as program:
            self.assertEqual('ready\n', program.stdout.readline())
            # The command only says that the recording has begun.
            with subprocess.Popen(self.words('50:page-faults=USR2', '-p', program.pid, '--', 'sh',
                                             '-c', 'echo begun; cat'), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as recorder:
                if recorder.stdout.readline() != 'begun\n':
                    self.fail(recorder.stderr.read())
                text, _ = program.communicate('go\n', timeout=60)
                _, messages = recorder.communicate('', timeout=60)
                self.assertEqual(0, recorder.returncode, messages)
        self.check(text, 50)
        self.assertIn('SIGUSR2 was sent', messages)

    def test_without_privilege(self):
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('SKIPPED: needs root and setpriv')
        self.trace.parent.chmod(0o777)
        user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
        if subprocess.run([*user, PROGRAM, '1', '0'], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest('SKIPPED: other users may not read the build folder')
        done = subprocess.run(user + self.words('100:page-faults', '--', '/bin/true'),
                              capture_output=True, text=True, timeout=60, check=False)
        if 'built without BPF' in done.stderr:
            self.skipTest('SKIPPED: built without BPF')
        self.assertEqual(5, done.returncode, done)
        self.assertIn('needs root or CAP_BPF', done.stderr)
        self.assertNotIn('libbpf', done.stderr)
        self.assertFalse(self.trace.exists())

    def test_wrong_requests(self):
        for text, words in (('', 'want a number'), ('x', 'want a number'),
                            (':page-faults', 'want a number'), ('0:page-faults', 'PERIOD'),
                            ('every=5:page-faults', 'no such signal'),
                            ('100:page-faults=', 'no such signal'),
                            ('100:page-faults=SIGNONE', 'no such signal'),
                            ('100:page-faults=SIGKILL', 'no program can handle'),
                            ('100:no-such-event', 'no-such-event'),
                            ('5', 'nanoseconds'),
                            ('9:sched:sched_switch', 'no tracepoints')):
            if 'sched' in text and os.geteuid() != 0:
                continue
            done = subprocess.run(self.words(text, '--', '/bin/true'), capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(2, done.returncode, (text, done))
            self.assertIn(words, done.stderr, text)
            self.assertFalse(self.trace.exists(), text)
        for options in (['-a'], ['--backend', 'lttng', '--', '/bin/true']):
            done = subprocess.run(self.words('100:page-faults', *options), capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(2, done.returncode, (options, done))
            self.assertIn('--signal-every', done.stderr)


if __name__ == '__main__':
    COUNTRACE, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
