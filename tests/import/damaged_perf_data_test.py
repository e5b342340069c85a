#!/usr/bin/env python3
"""150 damaged copies of real perf.data files: countrace neither crashes nor
hangs, and names the parts that it cannot read, with their place.

A flipped bit in a value (a time, a tid) is read as that value: perf.data has
no checksums. Each cut is reported, and so is each damaged length.

Usage: damaged_perf_data_test.py COUNTRACE WORKLOAD
"""
import concurrent.futures
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from file_damage import cut, flip, maximize, splice, zero
from perf_session import PerfSession

COUNTRACE, WORKLOAD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
FILES = 150


def head(data, dice):
    """The header, and its description of the events."""
    data[dice.randrange(min(len(data), 700))] = dice.randrange(256)


def record_places(data):
    begin, size = struct.unpack_from('<QQ', data, 40)
    if struct.unpack_from('<Q', data, 8)[0] == 16:
        begin, size = 16, len(data) - 16
    at, places = begin, []
    while at + 8 <= begin + size:
        places.append(at)
        length = struct.unpack_from('<H', data, at + 6)[0]
        if length < 8:
            break
        at += length
    return places


def record_head(data, dice):
    """A record's type, flags or length."""
    data[dice.choice(record_places(data)) + dice.randrange(8)] = dice.randrange(256)


class DamagedPerfData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = PerfSession.missing('sched:sched_switch')
        if why:
            raise unittest.SkipTest('SKIPPED: ' + why)
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-damaged-'))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.perf = PerfSession(COUNTRACE, cls.work)
        run = [WORKLOAD, '10', '2']
        switches = ('-a', '--switch-events', '-e', 'sched:sched_switch')
        cls.sound = [
            cls.perf.record(run, *switches)[0],
            cls.perf.record(run, *switches, '-z')[0],
            cls.perf.record(run, '-a', '-e',
                            '{sched:sched_switch,page-faults}:S')[0],
            cls.perf.record(run, '--switch-events', '-e', 'page-faults', '-c',
                            '1')[0],
        ]
        piped = cls.work / 'piped.data'
        with piped.open('wb') as out:
            subprocess.run(['perf', 'record', '-q', '-o', '-', *switches, '--',
                            *map(str, run)], stdout=out,
                           stderr=subprocess.DEVNULL, timeout=60, check=True)
        cls.sound.append(piped)

    def read(self, file, environment):
        return subprocess.run(
            [COUNTRACE, 'report', '--import-limit', 'cpu=10s',
             '--import-limit', 'stall=10s', '--import-limit', 'memory=1G',
             file], env=environment, capture_output=True, text=True,
            errors='replace', timeout=60)

    def test_records_of_bpf_programs_need_no_id(self):
        """Linux writes some with a size that is too large, so they end with no id."""
        for kind in (17, 18):  # PERF_RECORD_KSYMBOL, PERF_RECORD_BPF_EVENT
            data = bytearray(self.sound[2].read_bytes())
            exits = [at for at in record_places(data)
                     if struct.unpack_from('<I', data, at)[0] == 4]
            size = struct.unpack_from('<H', data, exits[-1] + 6)[0]
            struct.pack_into('<I', data, exits[-1], kind)
            data[exits[-1] + 8:exits[-1] + size] = b'\xff' * (size - 8)
            file = self.work / 'bpf.data'
            file.write_bytes(data)
            done = self.read(file, os.environ)
            self.assertEqual((0, ''), (done.returncode, done.stderr), done)
            self.assertIn('captured', done.stdout)

    def test_150_damaged_files(self):
        place = self.work / 'tmp'
        place.mkdir()
        environment = dict(os.environ, TMPDIR=str(place))
        for file in self.sound:
            done = self.read(file, environment)
            self.assertEqual(0, done.returncode, done.stderr)
        read = refused = 0
        longest = 0.0
        reasons = {}

        def read_damaged(number):
            dice = random.Random(number)
            data = bytearray(dice.choice(self.sound).read_bytes())
            damage = dice.choice((flip, flip, cut, zero, splice, maximize,
                                  head, record_head, record_head))
            damage(data, dice)
            victim = self.work / f'victim-{number}.data'
            victim.write_bytes(data)
            began = time.monotonic()
            done = self.read(victim, environment)
            victim.unlink()
            return damage, done, time.monotonic() - began

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(read_damaged, range(FILES)))
        for number, (damage, done, seconds) in enumerate(results):
            with self.subTest(number=number, damage=damage.__name__):
                longest = max(longest, seconds)
                self.assertIn(done.returncode, (0, 1), done)
                if done.returncode == 0:
                    read += 1
                    self.assertIn('captured', done.stdout)
                    self.assertEqual('', done.stderr)
                else:
                    refused += 1
                    self.assertEqual('', done.stdout)
                    self.assertRegex(done.stderr, r'^countrace report: \S.{20}')
                    # The error is reported; the reader does not crash.
                    self.assertNotIn('died', done.stderr)
                    self.assertNotIn('limit', done.stderr)
                    reason = ' '.join(done.stderr.split()[4:14])
                    reasons[reason] = reasons.get(reason, 0) + 1
        self.assertEqual([], list(place.iterdir()))
        print(f'\n{read} read, {refused} refused, longest {longest:.1f} s')
        for reason, count in sorted(reasons.items(), key=lambda x: -x[1])[:9]:
            print(f'  {count:3} {reason}')
        self.assertGreater(read, 0)
        self.assertGreater(refused, 0)

    def test_every_cut_of_a_file_is_said(self):
        """In a pipe's file, only a cut at the end of a record is invisible."""
        for file in self.sound[:4]:
            data = file.read_bytes()
            dice = random.Random(7)
            for _ in range(8):
                victim = self.work / 'cut.data'
                victim.write_bytes(data[:dice.randrange(16, len(data) - 1)])
                done = self.read(victim, os.environ)
                with self.subTest(file=file.name, size=victim.stat().st_size):
                    if done.returncode == 0:
                        # The bytes behind the records are not needed.
                        begin, size = struct.unpack_from('<QQ', data, 40)
                        self.assertGreaterEqual(victim.stat().st_size,
                                                begin + size)
                    else:
                        self.assertRegex(done.stderr, r'\d+ bytes')

    def test_records_of_a_file_that_is_cut_behind_them_are_read(self):
        """What perf writes there, of the machine and of names, is missing.
        Records of tracepoints are points without names then."""
        for file in self.sound[:4]:
            data = file.read_bytes()
            begin, size = struct.unpack_from('<QQ', data, 40)
            whole = self.switches(file)
            self.assertGreater(whole, 0)
            for length in (len(data) - 1, (begin + size + len(data)) // 2,
                           begin + size + 20, begin + size):
                victim = self.work / 'behind.data'
                victim.write_bytes(data[:length])
                with self.subTest(file=file.name, length=length):
                    found = self.switches(victim)
                    if file == self.sound[3]:  # it has no tracepoints
                        self.assertEqual(whole, found)
                    info = subprocess.run(
                        [COUNTRACE, 'info', victim], text=True, check=True,
                        capture_output=True, timeout=60).stdout
                    self.assertRegex(
                        info, r'\d+ of \d+ parts .*the file is cut')

    def switches(self, file):
        done = subprocess.run(
            [COUNTRACE, 'script', file], text=True, check=True,
            capture_output=True, timeout=60)
        return sum('dispatch' in line for line in done.stdout.splitlines())

    def test_other_files_are_named(self):
        for begin, name in ((b'PERFFILE', 'perf.data file of version 1'),
                            (b'\x17\x08Dtracing', 'a trace.dat of trace-cmd'),
                            (b'\x1f\x8b\x08', 'a file packed by gzip'),
                            (b'\xfd7zXZ\0', 'a file packed by xz'),
                            (b'\x28\xb5\x2f\xfd', 'a file packed by zstd')):
            file = self.work / 'other'
            file.write_bytes(begin + bytes(1000))
            done = self.read(file, os.environ)
            self.assertEqual(1, done.returncode)
            self.assertIn(name, done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
