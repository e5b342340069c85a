#!/usr/bin/env python3
"""Damaged copies of our own traces, with every verb that reads one: no crash,
no hang, no change of the trace, books that balance, and each damage is either
noticed or changes no number.

Usage: damaged_traces_test.py COUNTRACE SYNTHETIC_TRACE
"""
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

for folder in ('import', 'oracle'):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / folder))
from file_damage import cut, flip, maximize, splice, zero  # noqa: E402
from packet_checksum import crc32c  # noqa: E402

COUNTRACE, SYNTHETIC = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
FULL = 'COUNTRACE_TEST_FULL' in os.environ
VARIANTS = 500 if FULL else 60
PACKET = 8192
SESSION_FILES = ('.session', '.hooks')


def streams(trace):
    return sorted(path for path in trace.iterdir()
                  if path.name.startswith(('cpu-', 'thread-')))


def packets(path):
    """The packets of a stream; all but the last have PACKET bytes."""
    data = path.read_bytes()
    return [data[at:at + PACKET] for at in range(0, len(data), PACKET)]


def damage_bytes(damage):
    def apply(trace, dice, files):
        path = dice.choice(files)
        data = bytearray(path.read_bytes())
        damage(data, dice)
        path.write_bytes(data)
    apply.__name__ = damage.__name__
    return apply


def head(data, dice):
    """One byte of a packet's head: numbers, times, sizes, counts."""
    at = dice.randrange(max(1, len(data) // PACKET)) * PACKET
    data[min(len(data) - 1, at + dice.randrange(176))] ^= 1 << dice.randrange(8)


def swap_files(trace, dice, files):
    one, two = dice.sample(streams(trace), 2)
    one.rename(trace / '.swap')
    two.rename(one)
    (trace / '.swap').rename(two)


def copy_file(trace, dice, files):
    one = dice.choice(streams(trace))
    name = one.name.rpartition('-')[0] + '-77'
    if dice.random() < 0.5:  # over another one
        name = dice.choice([x for x in streams(trace) if x != one]).name
    shutil.copy(one, trace / name)


def reorder(trace, dice, files):
    path = dice.choice(streams(trace))
    parts = packets(path)
    one, two = (dice.randrange(len(parts)) for _ in range(2))
    parts[one], parts[two] = parts[two], parts[one]
    path.write_bytes(b''.join(parts))


def repeat(trace, dice, files):
    path = dice.choice(streams(trace))
    parts = packets(path)
    parts.insert(dice.randrange(len(parts) + 1), dice.choice(parts))
    path.write_bytes(b''.join(parts))


def drop(trace, dice, files):
    path = dice.choice(streams(trace))
    parts = packets(path)
    del parts[dice.randrange(len(parts))]
    path.write_bytes(b''.join(parts))


def empty(trace, dice, files):
    dice.choice(files).write_bytes(b'')


def remove(trace, dice, files):
    dice.choice(files).unlink()


def foreign(trace, dice, files):
    """A stream of another trace, under a new name or an old one."""
    data = bytearray(dice.choice(streams(trace)).read_bytes())
    for at in range(0, len(data), PACKET):
        data[at + 4] ^= 1
    name = dice.choice(('cpu-9', 'thread-9-9', dice.choice(files).name))
    (trace / name).write_bytes(data)


# Words of a head that may say anything: times, counts of losses, clocks, CPU,
# process, thread, event set, counters, flags.
HEAD_WORDS = (32, 40, *range(68, 176, 4))


def sealed(trace, dice, files):
    """Records or a head that lie, with the right checksum: what the program
    that wrote them, or an attacker, can make of them."""
    path = dice.choice(streams(trace))
    parts = [bytearray(part) for part in packets(path)]
    for part in dice.sample(parts, min(len(parts), dice.randint(1, 3))):
        content = min(struct.unpack_from('<Q', part, 40)[0] // 8, len(part))
        for _ in range(dice.randint(1, 8)):
            if dice.random() < 0.3:
                at = dice.choice(HEAD_WORDS)
            else:
                at = 176 + 8 * dice.randrange(max(1, (content - 176) // 8))
            value = dice.choice((
                0, 1, 0xffff, 1 << 31, (1 << 32) - 1, dice.getrandbits(32),
                struct.unpack_from('<I', part, at)[0] ^ 1 << dice.randrange(32)))
            struct.pack_into('<I', part, at + 4 * dice.randrange(2)
                             if at >= 176 else at, value)
        content = struct.unpack_from('<Q', part, 40)[0] // 8
        if not 176 <= content <= len(part):
            continue
        part[60:64] = bytes(4)
        part[60:64] = crc32c(part[:-(-content // 8) * 8]).to_bytes(4, 'little')
    path.write_bytes(b''.join(parts))


BYTES = [damage_bytes(each) for each in (flip, flip, head, head, cut, zero,
                                         splice, maximize)]
FILES = [swap_files, copy_file, reorder, repeat, drop, empty, remove, foreign]


def run(*words):
    return subprocess.run([COUNTRACE, *words], capture_output=True, text=True,
                          errors='replace', timeout=60)


def content(trace):
    return {path.name: path.read_bytes() for path in trace.iterdir()
            if path.name != '.timeline.pvx'}  # the viewer's index


def numbers(report):
    """What a report says without where it was read."""
    return {key: value for key, value in report.items() if key != 'trace'}


class DamagedTraces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-damaged-',
                                                 dir=place))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.sound, cls.expected = {}, {}
        for name, extra in (('finished', ()), ('killed', ('killed',))):
            trace = cls.work / name
            subprocess.run([SYNTHETIC, trace, '6000', '3', '40', str(PACKET),
                            *extra], check=True, timeout=60)
            cls.sound[name] = trace
            cls.expected[name] = cls.report(trace)[1]

    @staticmethod
    def report(trace):
        done = run('report', '--format', 'json', trace)
        return done, json.loads(done.stdout) if done.returncode == 0 else None

    def check(self, kind, number):
        dice = random.Random(number)
        trace = self.work / 'damaged'
        shutil.rmtree(trace, ignore_errors=True)
        shutil.copytree(self.sound[kind], trace)
        others = ['metadata'] if kind == 'finished' else list(SESSION_FILES)
        files = streams(trace)
        if dice.random() < 0.2:
            files = [trace / name for name in others]
        damage = dice.choice(BYTES if files[0].name in others
                             else BYTES + FILES)
        damage(trace, dice, files)
        with self.subTest(kind=kind, number=number, damage=damage.__name__):
            self.read(kind, trace, damage.__name__)

    def read(self, kind, trace, name):
        """What a sealed one says cannot be compared with the truth."""
        before = content(trace)
        done, report = self.report(trace)
        verbs = [done]
        verbs += [run('script', trace), run('info', trace),
                  run('state', '--at', '50%', trace),
                  run('diff', self.sound[kind], trace)]
        verified = run('verify', '--format', 'json', trace)
        for each in (*verbs, verified):
            self.assertIn(each.returncode, (0, 1, 4), each)
            if each.returncode == 1 and each is not verified:
                self.assertRegex(each.stderr, r'countrace')
        self.assertEqual(before, content(trace), 'the trace has changed')
        if kind == 'finished':
            found = verified.returncode != 0 or \
                json.loads(verified.stdout)['findings']
        if report is not None:
            for event, books in report['books'].items():
                self.assertEqual(0, books['residual'], event)
            same = numbers(report) == numbers(self.expected[kind])
            if kind == 'finished' and name != 'sealed':
                said = report['loss']['discarded_packets'] or \
                    report['loss']['messages'] or done.stderr
                self.assertTrue(same or said, f'{name}: not noticed')
                self.assertTrue(same or found, 'verify')
        recovered = run('recover', trace)
        self.assertIn(recovered.returncode, (0, 1), recovered)
        if recovered.returncode == 0:
            again = run('verify', trace)
            self.outcomes['recovered' if again.returncode == 0
                          else 'recovered, not sound'] += 1

    def test_damaged_copies(self):
        self.outcomes = dict.fromkeys(('recovered', 'recovered, not sound'), 0)
        for number in range(VARIANTS):
            self.check('finished' if number % 4 else 'killed', number)
        print(f'\n{VARIANTS} variants: {self.outcomes}')

    def test_lies_with_the_right_checksum(self):
        self.outcomes = dict.fromkeys(('recovered', 'recovered, not sound'), 0)
        for number in range(VARIANTS // 3):
            dice = random.Random(number)
            trace = self.work / 'damaged'
            shutil.rmtree(trace, ignore_errors=True)
            shutil.copytree(self.sound['finished'], trace)
            sealed(trace, dice, streams(trace))
            with self.subTest(number=number):
                self.read('finished', trace, 'sealed')
        print(f'\n{VARIANTS // 3} variants: {self.outcomes}')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
