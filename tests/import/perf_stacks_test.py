#!/usr/bin/env python3
"""Stacks of imported perf.data files beside those of perf script: chains of
calls by DWARF, damaged copies of them, and files that are others by now.

Usage: perf_stacks_test.py COUNTRACE STACKS_WORKLOAD SAMPLES_WORKLOAD
"""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from file_damage import cut, flip, maximize, splice, zero

COUNTRACE = WORKLOAD = SAMPLES = ''
RATE = 997
CHAIN = ('main', 'Outer', 'Middle', 'Leaf')
MMAP2, HAS_BUILD_ID = 10, 1 << 14
ENDS = ('[truncated stack]', '[stack not unwound]', '[unknown]')
ASKS_BUILD_IDS = 1 << 34
PROGRAM = '''
import json
for i in range(150):
    json.dumps(json.loads(json.dumps([{'a': [1, 2, 3, {'b': i}]}] * 50)))
    sorted(range(10000), key=lambda x: -x)
    open('/proc/self/maps').read()
'''


def run(*arguments, **options):
    options.setdefault('text', True)
    return subprocess.run([str(word) for word in arguments], capture_output=True, check=False,
                          timeout=120, **options)


def set_flags(file, wanted):
    """Sets or clears the flag of mappings with a build id. The kernel sets it also where another
    program's events ask for build ids: perf 6.1 takes the number of the device for a size then,
    and crashes."""
    data = bytearray(file.read_bytes())
    entry, attrs, begin = (struct.unpack_from('<Q', data, at)[0] for at in (16, 24, 40))
    if struct.unpack_from('<Q', data, attrs + 40)[0] & ASKS_BUILD_IDS or entry == 0:
        return
    end = begin + struct.unpack_from('<Q', data, 48)[0]
    at = begin
    while at + 8 <= end:
        kind, misc, size = struct.unpack_from('<IHH', data, at)
        if kind == MMAP2:
            struct.pack_into('<H', data, at + 4, misc & ~HAS_BUILD_ID | wanted)
        at += size
    file.write_bytes(data)


class PerfStacks(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0 or shutil.which('perf') is None:
            self.skipTest('SKIPPED: needs root and perf')
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='countrace-perf-stacks-'))
        self.trace = self.folder / 'trace.ctf'
        # perf's folder of copies, which other programs do not change.
        self.home = self.folder / 'home'
        self.home.mkdir()
        self.environment = dict(os.environ, HOME=str(self.home))

    def tearDown(self):
        if hasattr(self, 'folder'):
            shutil.rmtree(self.folder)

    def perf(self, *arguments, **options):
        return run('perf', '--buildid-dir', self.home / '.debug', *arguments, **options)

    def perf_record(self, *arguments, file='perf.data', how='dwarf', keep=False):
        file = self.folder / file
        options = () if keep else ('-N',)
        for _ in range(9):  # it crashes where the kernel sets that flag
            done = self.perf('record', '-q', *options, '-F', RATE, '-e', 'cpu-clock',
                             '--call-graph', how, '-o', file, *arguments)
            if done.returncode >= 0:
                break
        if done.returncode != 0:
            self.skipTest('SKIPPED: perf cannot record here: ' + done.stderr[:200])
        set_flags(file, 0)
        return file

    def perf_stacks(self, file, *arguments):
        """How many samples have each chain of (function, file), outermost first."""
        done = self.perf('script', '-i', file, '--no-inline', '--max-stack', 1024, '-F',
                         'ip,sym,dso', *arguments)
        self.assertEqual(0, done.returncode, done.stderr[:300])
        stacks = collections.Counter()
        for block in done.stdout.split('\n\n'):
            frames = [re.fullmatch(r'\s+[0-9a-f]+ (.*) \((.*)\)', line)
                      for line in block.splitlines()]
            chain = tuple(self.frame(one[1], one[2]) for one in reversed(frames) if one)
            if chain:
                stacks[chain] += 1
        return stacks

    @staticmethod
    def frame(name, path):
        """A frame as both tools name it: of libraries they choose different names of one place; ours
        have none of stubs."""
        dso = '[kernel]' if path.startswith('[kernel') else pathlib.Path(path).name
        if '.so' in dso or '@plt' in name or name in ('[unknown]', '[stripped]') or path.startswith('['):
            return '?', dso
        return name.partition('(')[0], dso

    def report(self, by, file, *arguments):
        done = run(COUNTRACE, 'report', '--no-progress', '--format', 'json', '--by', by, *arguments,
                   file, env=self.environment)
        self.assertEqual(0, done.returncode, done)
        return json.loads(done.stdout)

    def stacks(self, file, *arguments):
        stacks, open_rows = collections.Counter(), []
        for row in self.report('calltree', file, '--rows', 0, *arguments)['rows']:
            del open_rows[row['depth']:]
            open_rows.append(row)
            chain = tuple(self.frame(one['function'], one['dso']) for one in open_rows
                          if not one['inlined'])
            stacks[chain] += row['self_samples']
        return +stacks

    @staticmethod
    def own(chain, program=''):
        """The functions of the program itself, from main on."""
        program = pathlib.Path(program or WORKLOAD).name
        names = [name for name, dso in chain if dso == program]
        return tuple(names[names.index('main'):] if 'main' in names else names)

    @staticmethod
    def agreement(ours, theirs):
        """The share of the samples that have the same chain in both."""
        def known(stacks):
            """Where a stack is cut off, ours say so, and theirs may have a wrong frame."""
            out = collections.Counter()
            for chain, count in stacks.items():
                out[chain[1:] if chain[0][1] in ENDS else chain] += count
            return out
        ours, theirs = known(ours), known(theirs)
        return sum((ours & theirs).values()) / max(sum(theirs.values()), 1)

    def check(self, file, least):
        ours, theirs = self.stacks(file), self.perf_stacks(file)
        self.assertEqual(sum(theirs.values()), sum(ours.values()))
        self.assertGreater(sum(ours.values()), 80)
        share = self.agreement(ours, theirs)
        self.assertGreaterEqual(share, least, ((ours - theirs).most_common(3),
                                               (theirs - ours).most_common(3)))
        return ours

    def test_chains(self):
        for what, inner in (('chain', CHAIN), ('sort', ('main', 'SortAll', 'Compare', 'Leaf'))):
            ours = self.check(self.perf_record('--', WORKLOAD, what, 250), 0.97)
            found = sum(count for chain, count in ours.items()
                        if self.own(chain)[:4] == inner and chain[0][0] == '_start')
            self.assertGreater(found / sum(ours.values()), 0.85, ours.most_common(5))

    def test_interpreter(self):
        """Deep stacks of a program without frame pointers, and of the kernel above them."""
        file = self.perf_record('--', sys.executable, '-c', PROGRAM)
        ours = self.check(file, 0.95)
        both = sum(count for chain, count in ours.items()
                   if chain[-1][1] == '[kernel]' and chain[0][1] != '[kernel]')
        self.assertGreater(both, 0, ours.most_common(5))

    def test_stacks_that_are_cut(self):
        usual = []
        for how, least in (('dwarf', 0.85), ('dwarf,16384', 0.85), ('dwarf,65528', 0)):
            file = self.perf_record('--', WORKLOAD, 'deep', 250, how=how)
            ours = self.check(file, 0.97)
            cut = sum(count for chain, count in ours.items()
                      if chain[0][1] == '[truncated stack]')
            self.assertGreaterEqual(cut / sum(ours.values()), least, ours.most_common(3))
            usual.append(len(ours.most_common(1)[0][0]))
            text = run(COUNTRACE, 'report', '--no-progress', file, env=self.environment).stdout
            said = re.search(r'function of (\d+) stacks of \d+: they went on .* '
                             r'--call-graph dwarf,(\d+)', text)
            self.assertEqual(cut, int(said[1]) if said else 0, text[-900:])
            if least:
                self.assertEqual(how.partition(',')[2] or '8192', said[2])
        self.assertLess(usual[0] + 5, usual[1])
        self.assertLess(usual[1] + 5, usual[2])

    def not_unwound(self, file):
        """The share of stacks that no rule leads on from, and what is said of them."""
        stacks = self.stacks(file)
        share = sum(count for chain, count in stacks.items()
                    if chain[0][1] == '[stack not unwound]') / sum(stacks.values())
        text = run(COUNTRACE, 'report', '--no-progress', file, env=self.environment).stdout
        return share, ''.join(line for line in text.splitlines() if 'not unwound' in line)

    def test_only_the_recorded_file_is_read(self):
        program = self.folder / 'program'
        for option, how in (('-N', 'by build id'), ('-B', 'by its place on the disk')):
            shutil.copy(WORKLOAD, program)
            file = self.perf_record(option, '--', program, 'chain', 150)
            share, note = self.not_unwound(file)
            self.assertLess(share, 0.1, (how, note))
            program.unlink()
            shutil.copy(SAMPLES if option == '-N' else WORKLOAD, program)
            share, note = self.not_unwound(file)
            self.assertGreater(share, 0.9, how)
            self.assertRegex(note, r'of \d+ stacks of \d+: .*not here as they were recorded: '
                             + str(program))
            program.unlink()
            share, note = self.not_unwound(file)
            self.assertGreater(share, 0.9, how)
            self.assertIn(str(program), note)

    def test_flag_of_another_recording(self):
        file = self.perf_record('-B', '--', WORKLOAD, 'chain', 150)
        set_flags(file, HAS_BUILD_ID)
        share, note = self.not_unwound(file)
        self.assertLess(share, 0.1, note)

    def test_files_that_perf_kept(self):
        program = self.folder / 'program'
        shutil.copy(WORKLOAD, program)
        file = self.perf_record('--', program, 'chain', 150, keep=True)
        if not list(self.home.glob('.debug/.build-id/*/*/elf')):
            self.skipTest('SKIPPED: perf keeps no files')
        program.unlink()
        share, note = self.not_unwound(file)
        self.assertLess(share, 0.1, note)
        shutil.rmtree(self.home / '.debug')
        self.assertGreater(self.not_unwound(file)[0], 0.9)

    def test_other_processor(self):
        file = self.perf_record('--', WORKLOAD, 'chain', 150)
        data = file.read_bytes()
        own = os.uname().machine.encode() + b'\0'
        file.write_bytes(data.replace(b'\0\0\0' + own, b'\0\0\0' + b'm68k'.ljust(len(own), b'\0')))
        share, note = self.not_unwound(file)
        self.assertGreater(share, 0.9)
        self.assertIn('(m68k)', note)

    def test_damaged(self):
        sound = self.perf_record('--', WORKLOAD, 'chain', 60).read_bytes()
        victim = self.folder / 'victim.data'
        read = 0
        for number in range(60):
            dice = random.Random(number)
            data = bytearray(sound)
            damage = dice.choice((flip, flip, flip, cut, zero, splice, maximize))
            for _ in range(dice.choice((1, 1, 100)) if damage is flip else 1):
                damage(data, dice)
            victim.write_bytes(data)
            done = run(COUNTRACE, 'report', '--no-progress', '--by', 'calltree', '--import-limit',
                       'cpu=10s', victim, env=self.environment, errors='replace')
            with self.subTest(number=number, damage=damage.__name__):
                self.assertIn(done.returncode, (0, 1), done)
                self.assertNotIn('died', done.stderr)
                self.assertNotIn('limit', done.stderr)
                if done.returncode == 0:
                    read += 1
                else:
                    self.assertRegex(done.stderr, r'^countrace report: \S.{20}')
        self.assertGreater(read, 5)


if __name__ == '__main__':
    SAMPLES, WORKLOAD, COUNTRACE = (sys.argv.pop() for _ in range(3))
    unittest.main()
