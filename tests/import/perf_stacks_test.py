#!/usr/bin/env python3
"""Stacks of imported perf.data files beside those of perf script: chains of
calls by DWARF, damaged copies of them, and files that are others by now.

Usage: perf_stacks_test.py COUNTRACE STACKS_WORKLOAD SAMPLES_WORKLOAD
"""
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import struct
import sys
import unittest

from file_damage import cut, flip, maximize, splice, zero
from perf_file import HAS_BUILD_ID, set_flags
from perf_stacks import PerfStacks, run

WORKLOAD = SAMPLES = ''
CHAIN = ('main', 'Outer', 'Middle', 'Leaf')
PROGRAM = '''
import json
for i in range(150):
    json.dumps(json.loads(json.dumps([{'a': [1, 2, 3, {'b': i}]}] * 50)))
    sorted(range(10000), key=lambda x: -x)
    open('/proc/self/maps').read()
'''


class StacksByDwarf(PerfStacks):
    @staticmethod
    def own(chain):
        """The functions of the program itself, from main on."""
        program = pathlib.Path(WORKLOAD).name
        names = [name for name, dso in chain if dso == program]
        return tuple(names[names.index('main'):] if 'main' in names else names)

    def test_chains(self):
        for what, inner in (('chain', CHAIN), ('sort', ('main', 'SortAll', 'Compare', 'Leaf'))):
            ours = self.check(self.perf_record(WORKLOAD, what, 250), 0.97)
            found = sum(count for chain, count in ours.items()
                        if self.own(chain)[:4] == inner and chain[0][0] == '_start')
            self.assertGreater(found / sum(ours.values()), 0.85, ours.most_common(5))

    def test_interpreter(self):
        """Deep stacks of a program without frame pointers, and of the kernel above them."""
        file = self.perf_record(sys.executable, '-c', PROGRAM)
        ours = self.check(file, 0.95)
        both = sum(count for chain, count in ours.items()
                   if chain[-1][1] == '[kernel]' and chain[0][1] != '[kernel]')
        self.assertGreater(both, 0, ours.most_common(5))

    def test_stacks_that_are_cut(self):
        usual = []
        for how, least in (('dwarf', 0.85), ('dwarf,16384', 0.85), ('dwarf,65528', 0)):
            file = self.perf_record(WORKLOAD, 'deep', 250, how=how)
            ours = self.check(file, 0.97)
            cut = sum(count for chain, count in ours.items()
                      if chain[0][1] == '[truncated stack]')
            self.assertGreaterEqual(cut / sum(ours.values()), least, ours.most_common(3))
            usual.append(len(ours.most_common(1)[0][0]))
            text = run(self.countrace, 'report', '--no-progress', file, env=self.environment).stdout
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
        text = run(self.countrace, 'report', '--no-progress', file, env=self.environment).stdout
        return share, ''.join(line for line in text.splitlines() if 'not unwound' in line)

    def test_only_the_recorded_file_is_read(self):
        program = self.folder / 'program'
        for options, how in ((('--buildid-mmap',), 'by build id'), (('-B',), 'by inode')):
            shutil.copy(WORKLOAD, program)
            file = self.perf_record(program, 'chain', 150, build_ids=options)
            share, note = self.not_unwound(file)
            self.assertLess(share, 0.1, (how, note))
            program.rename(self.folder / how)  # nothing else gets its inode's number
            shutil.copy(WORKLOAD if how == 'by inode' else SAMPLES, program)
            share, note = self.not_unwound(file)
            self.assertGreater(share, 0.9, how)
            self.assertRegex(note, r'of \d+ stacks of \d+: .*not here as they were recorded: '
                             + str(program))
            program.unlink()
            share, note = self.not_unwound(file)
            self.assertGreater(share, 0.9, how)
            self.assertIn(str(program), note)

    def test_flag_of_another_recording(self):
        file = self.perf_record(WORKLOAD, 'chain', 150, build_ids=('-B',))
        set_flags(file, HAS_BUILD_ID)
        share, note = self.not_unwound(file)
        self.assertLess(share, 0.1, note)

    def test_build_ids_of_a_pipe(self):
        """Of what perf inject puts in, and of mappings."""
        program, file = self.folder / 'program', self.folder / 'perf.data'
        recording = ('perf record -q -B -F 997 -e cpu-clock --call-graph dwarf -o - %s '
                     f'-- {program} chain 150')
        for script, finished in ((recording % '' + f' | perf inject -b > {file}', True),
                                 (recording % '--buildid-mmap' + f' > {file}', True),
                                 (recording % '' + f' > {file}', False)):
            shutil.copy(WORKLOAD, program)
            done = run('/bin/sh', '-c', script, env=self.environment)
            if done.returncode != 0:
                self.skipTest('SKIPPED: perf cannot record here: ' + done.stderr[:200])
            self.assertLess(self.not_unwound(file)[0], 0.1, script)
            # The same file in another place on the disk: only a build id says so.
            shutil.copy(WORKLOAD, self.folder / 'copy')
            (self.folder / 'copy').rename(program)
            share, note = self.not_unwound(file)
            if finished:
                self.assertLess(share, 0.1, (script, note))
            else:
                self.assertGreater(share, 0.9, script)
            shutil.copy(SAMPLES, program)
            self.assertGreater(self.not_unwound(file)[0], 0.9, script)

    def test_files_that_perf_kept(self):
        program = self.folder / 'program'
        shutil.copy(WORKLOAD, program)
        file = self.perf_record(program, 'chain', 150, build_ids=('--buildid-all',) * 9)
        if not list(self.home.glob('.debug/.build-id/*/*/elf')):
            self.skipTest('SKIPPED: perf keeps no files')
        program.unlink()
        share, note = self.not_unwound(file)
        self.assertLess(share, 0.1, note)
        shutil.rmtree(self.home / '.debug')
        self.assertGreater(self.not_unwound(file)[0], 0.9)

    def test_other_processor(self):
        file = self.perf_record(WORKLOAD, 'chain', 150)
        data = file.read_bytes()
        own = os.uname().machine.encode() + b'\0'
        file.write_bytes(data.replace(b'\0\0\0' + own, b'\0\0\0' + b'm68k'.ljust(len(own), b'\0')))
        share, note = self.not_unwound(file)
        self.assertGreater(share, 0.9)
        self.assertIn('(m68k)', note)

    def test_damaged(self):
        sound = self.perf_record(WORKLOAD, 'chain', 60).read_bytes()
        read = 0

        def read_damaged(number):
            dice = random.Random(number)
            data = bytearray(sound)
            damage = dice.choice((flip, flip, flip, cut, zero, splice, maximize))
            for _ in range(dice.choice((1, 1, 100)) if damage is flip else 1):
                damage(data, dice)
            victim = self.folder / f'victim-{number}.data'
            victim.write_bytes(data)
            done = run(self.countrace, 'report', '--no-progress', '--by', 'calltree',
                       '--import-limit', 'cpu=10s', victim, env=self.environment, errors='replace')
            victim.unlink()
            return damage, done

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(read_damaged, range(60)))
        for number, (damage, done) in enumerate(results):
            with self.subTest(number=number, damage=damage.__name__):
                self.assertIn(done.returncode, (0, 1), done)
                self.assertNotIn('died', done.stderr)
                self.assertNotIn('limit', done.stderr)
                if done.returncode == 0:
                    read += 1
                else:
                    self.assertRegex(done.stderr, r'^countrace report: \S.{20}')
        self.assertGreater(read, 5)


class CodeMadeAtRunTime(PerfStacks):
    def record_code(self, what, clock=('-k', 'CLOCK_MONOTONIC')):
        """The recorded file, and that in which the program described its code."""
        file = self.perf_record(SAMPLES, what, 400, self.folder, how='fp', clock=clock)
        # Where perf crashed it was begun again.
        *others, dump = sorted(self.folder.glob('jit-*.dump'),
                               key=lambda path: path.stat().st_mtime_ns) or [None]
        if dump is None:
            self.skipTest('SKIPPED: no machine code of this processor')
        for other in others:
            other.unlink()
        return file, dump

    def made(self, file):
        """The share of each function among the samples of such code; the notes of the trace."""
        data = self.report('function', file)
        rows = [row for row in data['rows'] if row['dso'] == '[jit]']
        every = sum(row['self_samples'] for row in rows)
        self.assertGreater(every, 200, data['rows'][:5])
        text = run(self.countrace, 'report', '--no-progress', file, env=self.environment)
        return {row['function']: row['self_samples'] / every for row in rows
                if row['self_samples']}, text.stdout + text.stderr

    def test_where_it_was_and_was_moved_to(self):
        file, dump = self.record_code('dump')
        made, said = self.made(file)
        self.assertEqual({'DumpedAtRunTime(int)'}, set(made))
        self.assertNotIn(dump.name, said)

    def test_memory_that_is_used_again(self):
        file, dump = self.record_code('reuse')
        made, said = self.made(file)
        self.assertEqual({'Early', 'Late'}, set(made))
        self.assertAlmostEqual(0.3, made['Late'], delta=0.12)
        self.assertNotIn(dump.name, said)

    def test_times_of_another_clock(self):
        file, dump = self.record_code('reuse', clock=())
        made, said = self.made(file)
        # Early was moved away from there before.
        self.assertEqual({'Early', 'Late'}, set(made))
        self.assertAlmostEqual(0.8, made['Late'], delta=0.12)
        self.assertIn(f"{dump.name}: functions were at the same address one after the other", said)

    def test_a_file_that_is_gone_or_another_one(self):
        recorded = {}  # by clock: the file, its dump, and a copy of that
        for clock in ((), ('-k', 'CLOCK_MONOTONIC')):
            file, dump = self.record_code('dump', clock)
            kept = self.folder / f'kept-{len(recorded)}'
            recorded[clock] = (file.rename(f'{file}-{len(recorded)}'), dump,
                               shutil.copy2(dump, kept))
            dump.unlink()
        for change, clock, why in (
                (None, ('-k', 'CLOCK_MONOTONIC'), 'the copy is read'),
                (lambda dump: dump.unlink(), (), 'No such file or directory'),
                (lambda dump: os.utime(dump, (2**31, 2**31)), (),
                 'it was changed after the recording'),
                (self.make_later, ('-k', 'CLOCK_MONOTONIC'), 'it is of a later program'),
                (self.cut, ('-k', 'CLOCK_MONOTONIC'),
                 'at byte 0 it has no whole head'),
                (lambda dump: os.chown(dump, 65534, 65534), (), 'Permission denied')):
            with self.subTest(why):
                file, dump, kept = recorded[clock]
                shutil.copy2(kept, dump)
                if change is None:
                    made, _ = self.made(file)
                    self.assertEqual({'DumpedAtRunTime(int)'}, set(made))
                    continue
                change(dump)
                made, said = self.made(file)
                dump.unlink(missing_ok=True)
                self.assertEqual({'[jit]'}, set(made))
                self.assertIn(f'{dump.name}: {why}', said)

    def test_a_map_file(self):
        before = set(pathlib.Path('/tmp').glob('perf-*.map'))
        file = self.perf_record(SAMPLES, 'code', 400, how='fp')
        maps = sorted(set(pathlib.Path('/tmp').glob('perf-*.map')) - before,
                      key=lambda path: path.stat().st_mtime_ns)
        self.addCleanup(lambda: [each.unlink(missing_ok=True) for each in maps])
        if not maps:
            self.skipTest('SKIPPED: no machine code of this processor')
        names = {line.split(None, 2)[2] for line in maps[-1].read_text().splitlines()}
        made, said = self.made(file)
        self.assertLessEqual(set(made), names)
        self.assertNotIn(maps[-1].name, said)
        os.utime(maps[-1], (2**31, 2**31))
        made, said = self.made(file)
        self.assertEqual({'[jit]'}, set(made))
        self.assertIn(f'{maps[-1].name}: it was changed after the recording', said)

    @staticmethod
    def cut(dump):
        """It was not changed after the recording."""
        changed_ns = dump.stat().st_mtime_ns
        os.truncate(dump, 10)
        os.utime(dump, ns=(changed_ns, changed_ns))

    @staticmethod
    def make_later(dump):
        """As a later process of the same number would have written it."""
        data = bytearray(dump.read_bytes())
        at = 40
        while at + 16 <= len(data):
            size, = struct.unpack_from('<I', data, at + 4)
            time_ns, = struct.unpack_from('<Q', data, at + 8)
            struct.pack_into('<Q', data, at + 8, time_ns + 10**12)
            at += size
        dump.write_bytes(data)


if __name__ == '__main__':
    SAMPLES, WORKLOAD, PerfStacks.countrace = (sys.argv.pop() for _ in range(3))
    unittest.main()
