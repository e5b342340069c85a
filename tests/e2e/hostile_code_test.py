#!/usr/bin/env python3
"""Files that a sampled program's user made to cost memory or time, or to have
their opening do something: root's recorder is as small and as fast as beside an
honest one, and loses no record of another process (docs/security.md).

usage: hostile_code_test.py COUNTRACE WORKLOAD
"""
import ctypes
import json
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from trace_checks import FULL

COUNTRACE = WORKLOAD = ''
OTHER_USER = 65534
# Limits of the promise: the recorder's own memory, and how much later than
# beside an honest program a recording ends.
MOST_KIB = 150 * 1024
LATER_S = 1.0
# A busy machine makes it later, too: of a file that costs no more time on a CPU.
# One that lets the recorder wait does so for 20 s, the limit of a file's names.
BUSY_S = 10.0
RECORDED = '1500ms' if FULL else '700ms'
GIB = 1 << 30

PT_LOAD, PT_NOTE = 1, 4


# 0.8 MB of names, and how often a map of 255 MB has them.
NAMES = b''.join(b'%x 40 Name%dOfAFunctionThatIsNeverCalled\n' % (0x1000 + 64 * i, i)
                 for i in range(1 << 14))
TIMES = (255 << 20) // len(NAMES)


def most_cost_s():
    """A slow processor takes longer for each file: six times as long as to find
    the lines of 255 MB here, which takes 0.16 s where a second is the limit."""
    begin = time.process_time()
    for _ in range(TIMES):
        NAMES.split(b'\n')
    return max(LATER_S, 6 * (time.process_time() - begin))


def shown(times):
    return '{:.2f} s ({:.2f} s on CPUs)'.format(*times)


def elf_head(headers_at=64, headers=1, sections_at=0, sections=0):
    """Of a 64-bit file of this machine."""
    order = 1 if sys.byteorder == 'little' else 2
    return (b'\x7fELF' + bytes([2, order, 1]) + bytes(9) +
            struct.pack('=HHIQQQIHHHHHH', 3, os.uname().machine == 'aarch64' and 183 or 62, 1, 0,
                        headers_at, sections_at, 0, 64, 56, headers, 64, sections, 0))


def segment(kind, offset, size):
    return struct.pack('=IIQQQQQQ', kind, 5, offset, 0, 0, size, size, 4)


def section(kind, offset, size, info=0):
    return struct.pack('=IIQQQQIIQQ', 0, kind, 0, 0, offset, size, 0, info, 4, 0)


def huge_notes(file):
    file.write(elf_head() + segment(PT_NOTE, 4096, 3 * GIB))
    return 3 * GIB + 4096


def huge_note_section(file):
    file.write(elf_head(headers=0, sections_at=4096, sections=2))
    file.seek(4096)
    file.write(section(0, 0, 0) + section(7, 8192, 3 * GIB))
    return 3 * GIB + 8192


def many_sections(file):
    """12 million: their number is in the first one."""
    file.write(elf_head(headers=0, sections_at=4096, sections=0))
    file.seek(4096)
    file.write(section(0, 0, 12_000_000))
    return 12_000_000 * 64 + 4096


def many_segments(file):
    """57 million: their number is in the first section."""
    file.write(elf_head(headers_at=8192, headers=0xffff, sections_at=4096, sections=1))
    file.seek(4096)
    file.write(section(0, 0, 0, info=57_000_000))
    return 57_000_000 * 56 + 8192


def honest(file):
    file.write(elf_head() + segment(PT_LOAD, 0, 4096))
    return 8192


class OpenWatch:
    """Counts how often a file is opened (inotify)."""

    IN_OPEN = 0x20

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, os.fsencode(path), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), str(path))

    def count(self):
        try:
            return len(os.read(self.fd, 65536)) // 16
        except BlockingIOError:
            return 0

    def close(self):
        os.close(self.fd)


class HostileCode(unittest.TestCase):
    honest = None  # time, and time on CPUs, of a recording beside an honest file

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: samples of others\' programs need root')
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='countrace-hostile-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.code = self.folder / 'code'
        # Where the other user may read them.
        self.program, self.honest_program = self.folder / 'program', self.folder / 'honest'
        for program in (self.program, self.honest_program):
            shutil.copy(WORKLOAD, program)
            program.chmod(0o755)
        self.give(self.folder)
        victim = subprocess.Popen([WORKLOAD, 'calls'])
        self.addCleanup(self.end, victim)
        self.victim = victim.pid
        if self.honest is None:
            HostileCode.honest = self.honest_times()

    @staticmethod
    def give(path):
        os.chown(path, OTHER_USER, OTHER_USER)

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def make(self, write):
        """A sparse file, and another name of it."""
        with open(self.code, 'wb') as file:
            size = write(file)
        os.truncate(self.code, size)
        self.give(self.code)
        os.link(self.code, self.folder / 'code.later')

    def start(self, mapped=None, program=None):
        """The other user's program, and its address; it waits."""
        process = subprocess.Popen([program or self.program, 'run', mapped or self.code], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   user=OTHER_USER, group=OTHER_USER, extra_groups=[])
        self.addCleanup(self.end, process)
        number, address = process.stdout.readline().split()
        self.assertEqual(process.pid, int(number))
        return process, int(address, 16)

    @staticmethod
    def go(process, line='work'):
        process.stdin.write(line + '\n')
        process.stdin.flush()
        assert process.stdout.readline() == 'mapped\n'

    def record(self, process):
        """Times and memory of a recording, and what it printed."""
        trace = self.folder / 'trace.ctf'
        begin = time.monotonic()
        with subprocess.Popen(
                [COUNTRACE, 'record', '--force', '-o', trace, '-p', f'{process.pid},{self.victim}',
                 '--kernel', 'syscalls', '--sample', '199', '--for', RECORDED],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
            said = recorder.stderr.read()
            _, status, used = os.wait4(recorder.pid, 0)
            recorder.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - begin
        self.assertEqual(0, recorder.returncode, said)
        done = subprocess.run([COUNTRACE, 'report', '--no-progress', '--format', 'json', '--by',
                               'process', trace], capture_output=True, text=True, check=True,
                              timeout=120)
        loss = json.loads(done.stdout)['loss']
        self.assertEqual((0, 0), (loss['discarded_events'], loss['discarded_packets']), loss)
        return (took, used.ru_utime + used.ru_stime), used.ru_maxrss, said

    def samples(self, by='function'):
        """Of all programs, by file and function."""
        done = subprocess.run([COUNTRACE, 'report', '--no-progress', '--format', 'json', '--by',
                               by, self.folder / 'trace.ctf'], capture_output=True, text=True,
                              check=True, timeout=120)
        return {(row['dso'], row.get('function')): row['self_samples']
                for row in json.loads(done.stdout)['rows']}

    def check(self, process):
        # The machine may be busy just now: what a file costs, it costs each time,
        # and beside an honest one that is recorded in between.
        for _ in range(3):
            times, kib, said = self.record(process)
            print(f'{self.id().rpartition(".")[2]}: {shown(times)}, {kib / 1024:.0f} MiB; '
                  f'beside an honest file {shown(self.honest)}')
            self.assertLessEqual(kib, MOST_KIB)
            later, costs = (time - honest for time, honest in zip(times, self.honest))
            if later <= LATER_S or later <= BUSY_S and costs <= most_cost_s():
                return said
            HostileCode.honest = tuple(map(max, self.honest, self.honest_times()))
        self.fail(f'{shown(times)}, {shown(self.honest)} beside an honest file')

    def honest_times(self):
        """The longer ones of two: the machine may be busy."""
        path = self.folder / 'honest code'
        with open(path, 'wb') as file:
            size = honest(file)
        os.truncate(path, size)
        process, _ = self.start(mapped=path, program=self.honest_program)
        self.go(process)
        longest = tuple(map(max, *(self.record(process)[0] for _ in range(2))))
        self.end(process)
        return longest

    def check_mapped(self, write):
        self.make(write)
        process, _ = self.start()
        self.go(process)
        self.check(process)
        # The same mapped while it is recorded.
        process.kill()
        process, _ = self.start(mapped=self.folder / 'code.later')
        os.link(self.code, self.folder / 'code.later.later')
        self.go(process)
        self.check(process)

    def test_huge_notes(self):
        self.check_mapped(huge_notes)

    def test_huge_note_section(self):
        self.check_mapped(huge_note_section)

    def test_many_sections(self):
        self.check_mapped(many_sections)

    def test_many_segments(self):
        self.check_mapped(many_segments)

    def test_own_program(self):
        """Which runs, and has a table of 12 million sections."""
        at = (os.path.getsize(self.program) + 4095) // 4096 * 4096
        with open(self.program, 'r+b') as file:
            file.seek(at)
            file.write(section(0, 0, 12_000_000))
            file.seek(40)
            file.write(struct.pack('=Q', at))
            file.seek(60)  # their number, and that of their names
            file.write(struct.pack('=HH', 0, 0))
        os.truncate(self.program, at + 12_000_000 * 64)
        self.give(self.program)
        process, _ = self.start(mapped='-')
        self.go(process)
        self.check(process)
        self.assertGreater(self.samples('dso')['program', None], 10)

    def start_made_code(self, mapped='-'):
        process, address = self.start(mapped=mapped)
        if os.uname().machine != 'x86_64':
            self.skipTest('SKIPPED: no machine code of this processor')
        return process, address

    def test_perf_map(self):
        """256 MB of names; the one that counts comes last."""
        process, address = self.start_made_code()
        path = pathlib.Path(f'/tmp/perf-{process.pid}.map')
        self.addCleanup(path.unlink)
        with open(path, 'wb') as file:
            for _ in range(TIMES):
                file.write(NAMES)
            file.write(b'%x 1000 %s\n' % (address, b'x' * 100_000))
            file.write(b'%x 1000 TheOne\n' % address)
        self.give(path)
        self.go(process, 'code')
        self.check(process)
        self.assertGreater(self.samples().get(('[jit]', 'TheOne'), 0), 10)

    def test_jit_dump(self):
        """200,000 names of 4,000 bytes, 10,000 of them of one address."""
        dump = self.folder / 'jit-1.dump'
        process, address = self.start_made_code(mapped=dump)
        with open(dump, 'wb') as file:
            file.write(struct.pack('=IIIIIIQQ', 0x4A695444, 1, 40, 62, 0, process.pid, 0, 0))
            name = b'x' * 4000 + b'\0'

            def load(i, where):
                return (struct.pack('=IIQIIQQQQ', 0, 56 + len(name), i, process.pid, process.pid,
                                    where, where, 64, i) + name)
            for i in range(200_000):
                file.write(load(i, address if i >= 190_000 else 0x1000 + 64 * i))
        self.give(dump)
        self.go(process, 'code')
        said = self.check(process)
        self.assertRegex(said, r'jit-1\.dump: names of functions from byte \d+ on are missing: '
                               r'those of all processes together have at most 64 MiB of memory')
        # Those that were read are names of it.
        self.assertGreater(sum(hits for (dso, function), hits in self.samples().items()
                               if dso == '[jit]' and function.startswith('xxx')), 10)

    def check_deleted(self, make):
        """`code (deleted)` is the path of the mapped file by now."""
        self.make(honest)
        process, _ = self.start()
        self.go(process)
        self.code.unlink()
        (self.folder / 'code.later').unlink()
        watched = make(self.folder / 'code (deleted)')
        watch = OpenWatch(watched)
        self.addCleanup(watch.close)
        with open(watched, 'rb', opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)):
            self.assertEqual(1, watch.count())
        self.check(process)
        self.assertEqual(0, watch.count(), 'it was opened')

    def test_pipe(self):
        def make(path):
            os.mkfifo(path)
            return path
        self.check_deleted(make)

    def test_device(self):
        def make(path):
            device = self.folder / 'device'
            try:
                os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))  # as /dev/null
                with open(device, 'rb'):
                    pass
            except PermissionError:
                self.skipTest('SKIPPED: no device can be made here')
            path.symlink_to(device)
            return device
        self.check_deleted(make)


if __name__ == '__main__':
    COUNTRACE, WORKLOAD = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
