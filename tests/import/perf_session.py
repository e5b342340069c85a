"""Records with the real perf, and runs countrace and `perf script` on the
result."""

import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import tempfile

from perf_file import set_flags

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
        for build_ids in ((), (), ('-B',)):
            done = subprocess.run(
                ['perf', 'record', '-q', *build_ids, '-o', str(file), *options,
                 '--', *map(str, command)], capture_output=True, text=True,
                timeout=120)
            # It crashes where it reads build ids that are none (set_flags).
            if done.returncode >= 0:
                break
        if done.returncode != 0:
            raise AssertionError(f'{options}: {done.stderr}')
        set_flags(file, 0)
        return file, done.stdout

    def begin(self, *options):
        """A perf record that runs until it is ended, and records already."""
        control, answer = self.folder / 'control', self.folder / 'answer'
        for fifo in (control, answer):
            fifo.unlink(missing_ok=True)
            os.mkfifo(fifo)
        perf = subprocess.Popen(
            ['perf', 'record', '-q', '-B', '-D', '-1', '--control',
             f'fifo:{control},{answer}', *map(str, options)],
            stderr=subprocess.PIPE)
        # Both ends of both, as perf has them: no open waits for the other.
        with open(control, 'r+b', 0) as commands, \
                open(answer, 'r+b', 0) as answers:
            commands.write(b'enable\n')
            ready, _, _ = select.select([answers], [], [], 60)
            acknowledged = answers.read(4) if ready else b'nothing'
        if acknowledged != b'ack\n':
            perf.kill()
            raise AssertionError(f'perf record: {perf.communicate()[1]}')
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
