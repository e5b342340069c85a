#!/usr/bin/env python3
"""Runs the commands of docs/collecting.md, in their order, with Debian's real
rsync and lttng-relayd, on their usual ports in a network of the test's own; what
is collected is what the program did.

usage: collecting_test.py COUNTRACE IMPORT_PROGRAM RUNTIME_LIBRARY LTTNG_WORKLOAD
       PROVIDER PLUGIN DOCUMENT
"""
import collections
import fcntl
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import unittest

import lttng_session
from running_programs_test import wait_until
from trace_checks import Recording

TOOLS = ('rsync', 'lttng', 'lttng-sessiond', 'lttng-relayd', 'babeltrace2',
         'unshare')
OWN = '--in-namespaces-of-its-own'
CALLS, THREADS = 2000, 2  # of ./server in the document


def enter_namespaces():
    """Runs this program again where it has the network alone; the relay daemon
    ends with it."""
    if sys.argv[-1] == OWN:
        sys.argv.pop()
        up = struct.pack('16sH22x', b'lo', 0x41)  # IFF_UP, IFF_RUNNING
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS
        return
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    space = ['unshare', '-m', '-n', '--pid', '--fork', '--kill-child',
             '--mount-proc']
    if missing:
        print(f'SKIPPED: needs {missing}')
    elif subprocess.run([*space, 'true'], capture_output=True,
                        check=False).returncode != 0:
        print('SKIPPED: no network namespace may be made here')
    else:
        os.execvp(space[0], [*space, sys.executable, *sys.argv, OWN])
    sys.exit(0)


class Collecting(Recording):
    def setUp(self):
        super().setUp()
        self.here = self.work / 'here'
        programs = self.work / 'bin'
        for folder in (self.here, programs):
            folder.mkdir()
        for file, name in FILES.items():
            shutil.copy(file, programs / name)
        server = self.here / 'server'
        server.write_text(f'#!/bin/sh\nexec {WORKLOAD} $SERVER\n')
        server.chmod(0o755)
        self.daemon = lttng_session.Daemon()
        self.addCleanup(self.daemon.close)
        self.environment = {
            # The daemon is root's: by its home, too, a program would register
            # with it twice.
            **os.environ, 'LTTNG_HOME': str(self.work),
            'COLLECTOR': '127.0.0.1', 'SERVER': f'threads {THREADS} {CALLS}',
            'PATH': f'{programs}:{os.environ["PATH"]}',
            'LD_LIBRARY_PATH': str(programs),
            'BABELTRACE_PLUGIN_PATH': str(programs),
            'COUNTRACE_RUNTIME': str(programs / 'libcountrace-runtime.so')}

    def run_block(self, block):
        # A file: a daemon keeps a pipe open.
        log = self.work / 'log'
        with open(log, 'w', encoding='utf-8') as out:
            done = subprocess.run(
                [*self.daemon.inside, 'bash', '-euc', block], cwd=self.here,
                env=self.environment, stdout=out, stderr=out, timeout=300,
                stdin=subprocess.DEVNULL, check=False)
        text = log.read_text(encoding='utf-8')
        self.assertEqual(done.returncode, 0, f'{block}\n{text}')
        return text

    def json_of(self, trace):
        done = self.countrace('report', '--format', 'json', trace)
        return json.loads(done.stdout)

    def copy_while_recorded(self, record, copy, copy_rest):
        """The last copy is the whole trace."""
        recorder = subprocess.Popen(
            ['bash', '-euc', record], cwd=self.here, stdin=subprocess.PIPE,
            env={**self.environment, 'SERVER': f'until-eof {THREADS}'})
        try:
            wait_until(lambda: 'lttng_test:segment' in self.countrace(
                'report', self.here / 'web.ctf', check=False).stdout, 'calls')
            self.assertIn('lttng_test:segment', self.run_block(copy))
        finally:
            recorder.stdin.close()
            self.assertEqual(recorder.wait(60), 0)
        self.assertIn('sound', self.run_block(copy_rest))
        copy, whole = (self.json_of(self.here / name) for name in (
            'collected/web1.ctf', 'web.ctf'))
        for name in ('segments', 'threads', 'loss', 'books'):
            self.assertEqual(copy[name], whole[name])

    def check_relayed(self):
        """Calls, threads and times are those of each event."""
        trace, = self.here.glob('relayed/*/web-*')
        counts, wall, open_calls = collections.Counter(), 0, {}
        for event in lttng_session.events(trace):
            kind = event['event'].split(':')[1]
            counts[event['vtid'], kind] += 1
            if kind == 'enter':
                open_calls[event['vtid']] = event['time']
            elif kind == 'exit':
                wall += event['time'] - open_calls.pop(event['vtid'])
        self.assertEqual([CALLS] * 3 * THREADS, list(counts.values()))
        data = self.json_of(trace)
        row, = data['segments']
        self.assertEqual((row['segment'], row['calls'], row['wall_ns']['incl']),
                         ('lttng_test:segment', CALLS * THREADS, wall))
        self.assertEqual({tid for tid, _ in counts},
                         {row['tid'] for row in data['threads']})
        self.assertEqual(0, data['loss']['discarded_events'])

    def check_live(self):
        text = (self.here / 'now.txt').read_text(encoding='utf-8')
        self.assertRegex(text, re.compile(
            rf'^ +{CALLS * THREADS:,} .* lttng_test:segment$', re.M))
        self.assertIn(f'captured {3 * CALLS * THREADS:,} records; nothing was '
                      'lost', text)

    def test_the_commands_of_the_document(self):
        blocks = re.findall(r'```sh\n(.*?)```', DOCUMENT.read_text(), re.S)
        record, copy, copy_rest, relay, stored, reported, live = blocks
        self.copy_while_recorded(record, copy, copy_rest)
        self.run_block(relay)
        self.run_block(stored)
        self.assertIn('lttng_test:segment', self.run_block(reported))
        self.check_relayed()
        self.run_block(live)
        self.check_live()


if __name__ == '__main__':
    enter_namespaces()
    (COUNTRACE, IMPORT, RUNTIME, WORKLOAD, PROVIDER, PLUGIN, DOCUMENT) = (
        pathlib.Path(word).resolve() for word in sys.argv[1:8])
    FILES = {COUNTRACE: 'countrace', IMPORT: 'countrace-import',
             RUNTIME: 'libcountrace-runtime.so',
             PROVIDER: 'libcountrace-lttng.so', PLUGIN: PLUGIN.name}
    Recording.countrace_program = COUNTRACE
    unittest.main(argv=[sys.argv[0], *sys.argv[8:]], verbosity=2)
