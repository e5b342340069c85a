#!/usr/bin/env python3
"""Traces say who made them and what the clocks were: with kernel records and
without, of a recorder that was killed, in snapshots and flight recordings.
Pages have no ids unless they are asked for.

usage: clock_samples_test.py COUNTRACE
"""
import base64
import gzip
import hashlib
import hmac
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from trace_checks import Recording, run

APPLICATION = bytes.fromhex('dfe895dfbaf846fcafd32ca353fbb7d8')
CONTAINER = '0123456789abcdef' * 4
STA_UNSYNC = 0x40


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f'not within {seconds} s: {what}')


def machine_hash():
    """As machine-id(5) says; None: the machine has no id."""
    try:
        key = bytes.fromhex(pathlib.Path('/etc/machine-id').read_text().strip())
    except (OSError, ValueError):
        return None
    if len(key) != 16:
        return None
    value = bytearray(hmac.new(key, APPLICATION, hashlib.sha256).digest()[:16])
    value[6] = value[6] & 0x0f | 0x40
    value[8] = value[8] & 0x3f | 0x80
    return value.hex()


def has_libsystemd():
    return run(sys.executable, '-c',
               'import ctypes; ctypes.CDLL("libsystemd.so.0")').returncode == 0


def own_cgroup(test, name):
    """A new cgroup with this name, in any hierarchy that allows it."""
    for line in pathlib.Path('/proc/mounts').read_text().splitlines():
        _, mount, kind, options = line.split()[:4]
        if not kind.startswith('cgroup') or 'cpuset' in options:
            continue
        folder = pathlib.Path(mount) / name
        try:
            folder.mkdir()
        except OSError:
            continue
        test.addCleanup(folder.rmdir)
        if (folder / 'cgroup.procs').exists():
            return folder
    return None


def offset_now():
    """CLOCK_REALTIME - CLOCK_MONOTONIC, and the width of the reading."""
    def read():
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        now = time.clock_gettime_ns(time.CLOCK_REALTIME)
        width = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - before
        return width, now - before - width // 2
    width, offset = min(read() for _ in range(50))
    return offset, width


class ClockSamples(Recording):
    def setUp(self):
        super().setUp()
        self.offset, self.width = offset_now()

    def info(self, trace=None):
        return json.loads(self.countrace('info', '--format', 'json',
                                         trace or self.trace).stdout)

    def samples(self, trace=None):
        lines = self.countrace('script', '--format', 'jsonl', '--hook',
                               'clock_sample', trace or self.trace).stdout
        return [json.loads(line) for line in lines.splitlines()]

    def record(self, *options, command=('sleep', '0.1')):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        done = self.countrace('record', '-o', self.trace, *options, '--',
                              *command)
        return before, time.clock_gettime_ns(time.CLOCK_MONOTONIC), done

    def check_samples(self, before_ns, after_ns, least, trace=None):
        samples = self.samples(trace)
        self.assertGreaterEqual(len(samples), least)
        times = [sample['time_ns'] for sample in samples]
        self.assertEqual(times, sorted(set(times)))
        self.assertLess(before_ns, times[0])
        self.assertLess(times[-1], after_ns)
        info = self.info(trace)
        self.assertLessEqual(info['begin_ns'], times[0])
        self.assertEqual(info['clock']['samples'], len(samples))
        self.check_offsets(samples)
        last = samples[-1]['fields']
        synchronised = (0 <= last['state'] < 5 and
                        not last['status'] & STA_UNSYNC)
        text = info['clock']['text']
        self.assertEqual('; synchronised, at most ' in text, synchronised, text)
        shown = self.countrace('info', trace or self.trace).stdout
        self.assertIn(f'\nclock          {text}\n', shown)
        return samples

    def check_offsets(self, samples):
        """CLOCK_REALTIME is slewed with CLOCK_MONOTONIC, so their difference is
        the same in all samples, within their widths, unless it was stepped."""
        for sample in samples:
            fields = sample['fields']
            # Whole seconds more than CLOCK_REALTIME, which was read before it.
            ahead = fields['tai_ns'] - fields['realtime_ns']
            self.assertLessEqual(ahead % 10**9, fields['width_ns'])
        offsets = [sample['fields']['realtime_ns'] - sample['time_ns']
                   for sample in samples]
        widths = [sample['fields']['width_ns'] for sample in samples]
        now, width = offset_now()
        stepped = abs(now - self.offset) > (width + self.width) / 2 + 1
        for i in range(1, len(samples)):
            a, b = samples[i - 1]['fields'], samples[i]['fields']
            if not stepped:
                self.assertLessEqual(abs(offsets[i] - offsets[i - 1]),
                                     (widths[i] + widths[i - 1]) / 2 + 1)
            self.assertEqual(a['raw'] == 0, b['raw'] == 0)
            self.assertTrue(a['raw'] == 0 or a['raw'] < b['raw'])

    def check_identity(self, container=None):
        info = self.info()
        boot = pathlib.Path('/proc/sys/kernel/random/boot_id').read_text()
        self.assertEqual(info['boot_id'], boot.strip())
        expected = machine_hash() if has_libsystemd() else None
        self.assertEqual(info.get('machine_hash'), expected)
        self.assertEqual(info.get('container'), container)
        metadata = (self.trace / 'metadata').read_text()
        raw = pathlib.Path('/etc/machine-id')
        if raw.exists() and raw.read_text().strip():
            self.assertNotIn(raw.read_text().strip(), metadata)
        return {key: info[key] for key in ('boot_id', 'machine_hash',
                                           'container') if key in info}

    def test_with_kernel_records(self):
        self.needs_root()
        before, after, done = self.record('-a')
        self.assertIn('nothing was lost', done.stderr)
        self.check_samples(before, after, 2)
        self.check_readable()
        ids = self.check_identity()
        meta = self.countrace('query', '--format', 'jsonl',
                              'select key, value from meta', self.trace).stdout
        rows = {row['key']: row['value']
                for row in map(json.loads, meta.splitlines())}
        self.assertEqual({key: rows[key] for key in ids}, ids)

    def test_without_kernel_records(self):
        before, after, _ = self.record('--no-kernel')
        self.check_samples(before, after, 2)
        self.assertEqual(self.check_readable(), len(self.samples()))
        self.check_identity()

    def test_babeltrace_reads_them_as_events(self):
        self.needs('babeltrace2')
        self.record('--no-kernel')
        text = run('babeltrace2', self.trace)
        self.assertEqual(text.stderr, '')
        lines = [line for line in text.stdout.splitlines()
                 if ' clock_sample: ' in line]
        for sample in self.samples():
            fields = sample['fields']
            self.assertTrue(any(
                all(re.search(rf'\b{name} = {value}\b', line)
                    for name, value in fields.items()) for line in lines),
                (fields, lines))

    def test_a_sample_every_ten_seconds(self):
        before, after, _ = self.record('--no-kernel', command=('sleep', '21'))
        times = [sample['time_ns']
                 for sample in self.check_samples(before, after, 4)]
        for one, other in zip(times, times[1:-1]):
            self.assertGreaterEqual(other - one, 10**10)

    def start(self, *options):
        recorder = subprocess.Popen(
            [self.countrace_program, 'record', '-q', '-o', str(self.trace),
             *options, '--', 'cat'], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        self.addCleanup(recorder.stdin.close)  # which ends the command
        wait_for((self.trace / '.session').exists, 'the recording')
        return recorder

    def test_a_killed_recorder(self):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        recorder = self.start('--no-kernel')
        recorder.kill()
        recorder.wait()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        unfinished = self.check_samples(before, after, 1)
        self.countrace('recover', self.trace)
        self.assertEqual(self.check_samples(before, after, 1), unfinished)
        self.check_readable(lossless=False)
        self.check_identity()

    def test_snapshots_of_flight_recordings(self):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        recorder = self.start('--no-kernel', '--flight', '1M')
        copy = self.work / 'copy.ctf'
        self.countrace('snapshot', self.trace, '-o', copy)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.check_samples(before, now, 1, trace=copy)
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        samples = self.check_samples(before, after, 2)
        self.assertEqual(samples[0], self.samples(copy)[0])
        self.check_readable()

    def test_a_container(self):
        self.needs_root()
        group = own_cgroup(self, f'docker-{CONTAINER}.scope')
        if group is None:
            self.skipTest('SKIPPED: no hierarchy of cgroups can be written')

        def join():
            (group / 'cgroup.procs').write_text(str(os.getpid()))
        self.countrace('record', '--no-kernel', '-o', self.trace, '--', 'true',
                       preexec_fn=join)
        wait_for(lambda: not (group / 'cgroup.procs').read_text(), 'its end')
        self.check_identity(container=CONTAINER)
        self.check_page()

    def page(self, *options):
        """All that a page holds, unpacked."""
        file = self.work / 'page.html'
        done = self.countrace('export', '--to', 'html', '--force', '-o', file,
                              *options, self.trace, check=False)
        if 'was built without' in done.stderr:
            self.skipTest('SKIPPED: no module for pages was built')
        self.assertEqual(done.returncode, 0, done.stderr)
        text = file.read_text()
        parts = re.findall(r'class="index-part">([^<]*)<', text)
        self.assertTrue(parts)
        packed = b''.join(map(base64.b64decode, parts))
        return text + gzip.decompress(packed).decode('latin-1')

    def check_page(self):
        ids = self.check_identity(container=CONTAINER)
        page = self.page()
        for name, value in ids.items():
            self.assertNotIn(value, page, name)
        page = self.page('--with-ids')
        for name, value in ids.items():
            self.assertIn(f'<meta name="countrace.{name}" content="{value}">',
                          page)
        refused = self.countrace('export', '--to', 'csv', '--table', 'calls',
                                 '--with-ids', self.trace, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn('--with-ids', refused.stderr)


if __name__ == '__main__':
    Recording.countrace_program = sys.argv.pop(1)
    unittest.main()
