"""Records with the real perf, and runs countrace and `perf script` on the
result."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

TIME = re.compile(r'^\s*(?P<comm>.+?)\s+(?P<tid>\d+)(?:\s+\[(?P<cpu>\d+)\])?'
                  r'\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<rest>.*)$')


class PerfSession:
    def __init__(self, countrace, folder):
        self.countrace = pathlib.Path(countrace)
        self.folder = pathlib.Path(folder)
        self.count = 0

    @staticmethod
    def missing(*events):
        """Why perf cannot record `events` of the whole system, or None."""
        if shutil.which('perf') is None:
            return 'perf is not installed (linux-perf)'
        with tempfile.TemporaryDirectory() as folder:
            words = [word for event in events for word in ('-e', event)]
            done = subprocess.run(
                ['perf', 'record', '-q', '-a', '-o', f'{folder}/p', *words,
                 '--', 'true'], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            return 'perf cannot record here: ' + ' '.join(done.stderr.split())
        return None

    def record(self, command, *options, file=None):
        """Runs `command` under perf record; returns the file and the output."""
        if file is None:
            self.count += 1
            file = self.folder / f'perf-{self.count}.data'
        done = subprocess.run(
            ['perf', 'record', '-q', '-o', str(file), *options, '--',
             *map(str, command)], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f'{options}: {done.stderr}')
        return file, done.stdout

    @staticmethod
    def begin(*options):
        """A perf record that is already recording, and runs until it is ended.
        """
        perf = subprocess.Popen(['perf', 'record', '-q', *map(str, options)],
                                stderr=subprocess.PIPE)
        process = pathlib.Path(f'/proc/{perf.pid}')
        deadline = time.monotonic() + 60
        idle = 0
        # Its buffers are mapped, and it waits for them to fill.
        while idle < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
            mapped = 'perf_event' in (process / 'maps').read_text()
            state = (process / 'stat').read_text().rpartition(')')[2].split()[0]
            idle = idle + 1 if mapped and state == 'S' else 0
        return perf

    def run(self, verb, *words, check=True, environment=None):
        done = subprocess.run(
            [str(self.countrace), verb, *map(str, words)], capture_output=True,
            text=True, errors='replace', timeout=120,
            env=dict(os.environ, **(environment or {})))
        if check and done.returncode != 0:
            raise AssertionError(f'{verb} {words}: {done.stderr}')
        return done

    def report(self, *words):
        return json.loads(
            self.run('report', '--format', 'json', *words).stdout)

    def script(self, file, *options):
        """perf script's lines: dicts of comm, tid, cpu, ns, rest."""
        done = subprocess.run(
            ['perf', 'script', '--ns', '-i', str(file), *options],
            capture_output=True, text=True, errors='replace', timeout=120)
        lines = []
        for line in done.stdout.splitlines():
            found = TIME.match(line)
            if not found:
                continue
            entry = found.groupdict()
            entry['time'] = int(entry['s']) * 10**9 + int(entry['ns'])
            lines.append(entry)
        return lines


def processes(report):
    return {row['pid']: row for row in report['processes']}


def segments(report):
    rows = {}
    for row in report['segments']:
        rows[row['segment']] = rows.get(row['segment'], 0) + row['calls']
    return rows
