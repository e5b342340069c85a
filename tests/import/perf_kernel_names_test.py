#!/usr/bin/env python3
"""Names of the kernel's functions in imported perf.data files: those of perf
script, from this kernel or from symbols that were kept, wherever it lay.

Usage: perf_kernel_names_test.py COUNTRACE
"""
import collections
import functools
import pathlib
import re
import shutil
import sys
import unittest

from perf_stacks import PerfStacks, run

PROGRAM = "for i in range(2500): open('/proc/self/maps').read()"
OTHER_ID = bytes(range(20, 40))
MOVED_BY = 0x1200000


def own_id():
    notes = pathlib.Path('/sys/kernel/notes').read_bytes()
    at = notes.index(b'\x03\0\0\0GNU\0')
    return notes[at + 8:at + 28]


@functools.cache
def one_name_each():
    """Another name of the same address by names. perf means to choose as we do, but takes the last
    one: when it chooses, the others have no bytes yet."""
    by_address = collections.defaultdict(list)
    for line in pathlib.Path('/proc/kallsyms').read_text(encoding='utf-8').splitlines():
        address, _, name = line.split()[:3]
        by_address[address].append(name)
    return {name: min(names) for names in by_address.values() for name in names
            if len(names) > 1}


class KernelNames(PerfStacks):
    def record(self, how='fp', command=(sys.executable, '-c', PROGRAM)):
        return self.perf_record(*command, how=how, build_ids=('--buildid-mmap', '-N', '-N'))

    @staticmethod
    def of_kernel(stacks):
        """How many samples have each chain of the kernel's functions."""
        out, one_name = collections.Counter(), one_name_each()
        for chain, count in stacks.items():
            names = tuple(one_name.get(name, name) for name, dso in chain if dso == '[kernel]')
            if names:
                out[names] += count
        return out

    def names(self, file):
        return self.of_kernel(self.stacks(file))

    def note(self, file):
        text = run(self.countrace, 'report', '--no-progress', file, env=self.environment).stdout
        return ''.join(line for line in text.splitlines() if "the kernel's functions" in line)

    def test_names_are_those_of_perf(self):
        for how in ('fp', 'dwarf'):
            file = self.record(how)
            ours, theirs = self.names(file), self.of_kernel(self.perf_stacks(file))
            self.assertGreater(sum(ours.values()), 50)
            self.assertGreater(len({name for chain in ours for name in chain}), 20)
            self.assertEqual((theirs - ours, ours - theirs), ({}, {}))
            self.assertEqual('', self.note(file))

    def other_kernel(self):
        """A file as if another kernel had been recorded, with the chains of the real one."""
        file = self.record()
        names = self.names(file)
        self.assertGreater(len(names), 20)
        data = file.read_bytes()
        self.assertIn(own_id(), data)
        file.write_bytes(data.replace(own_id(), OTHER_ID))
        self.assertEqual({'?'}, {name for chain in self.names(file) for name in chain})
        self.assertRegex(self.note(file), f'its build id is {OTHER_ID.hex()}, that of the running '
                         f'one {own_id().hex()}, and neither')
        return file, names

    def test_symbols_that_perf_kept(self):
        """... of a boot in which the kernel lay elsewhere."""
        file, names = self.other_kernel()
        lines = []
        for line in pathlib.Path('/proc/kallsyms').read_text(encoding='utf-8').splitlines():
            address, _, rest = line.partition(' ')
            lines.append(f'{int(address, 16) + MOVED_BY & (1 << 64) - 1:x} {rest}\n')
        folder = self.home / '.debug/[kernel.kallsyms]' / OTHER_ID.hex()
        folder.mkdir(parents=True)
        (folder / 'kallsyms').write_text(''.join(lines), encoding='utf-8')
        self.assertEqual(names, self.names(file))
        self.assertEqual('', self.note(file))
        # Nothing says where the kernel lay in that boot.
        text = re.sub(' _s?text\n', ' other\n', ''.join(lines))
        (folder / 'kallsyms').write_text(text, encoding='utf-8')
        self.assertIn('neither', self.note(file))

    def test_vmlinux(self):
        if shutil.which('gcc') is None:
            self.skipTest('SKIPPED: no gcc')
        file, names = self.other_kernel()
        found = {name for chain in names for name in chain}
        one_name = one_name_each()
        source, places = ['.text\n'], collections.Counter()
        for line in pathlib.Path('/proc/kallsyms').read_text(encoding='utf-8').splitlines():
            address, kind, name = line.split()[:3]
            places[one_name.get(name, name)] += one_name.get(name, name) == name
            if one_name.get(name, name) in found or name in ('_text', '_stext'):
                source.append(f'.type {name}, @function\n.set {name}, '
                              f'{int(address, 16) - MOVED_BY:#x}\n')
                if kind.isupper():
                    source.append(f'.globl {name}\n')
        (self.folder / 'kernel.s').write_text(''.join(source) + '.globl _start\n_start: ret\n',
                                              encoding='utf-8')
        place = self.home / '.debug/.build-id' / OTHER_ID.hex()[:2] / OTHER_ID.hex()[2:]
        place.mkdir(parents=True)
        for build_id, expected in ((bytes(20), '?'), (OTHER_ID, names)):
            done = run('gcc', '-nostdlib', '-static', f'-Wl,--build-id=0x{build_id.hex()}', '-o',
                       place / 'elf', self.folder / 'kernel.s')
            self.assertEqual(0, done.returncode, done)
            found = self.names(file)
            if expected == '?':  # another file
                self.assertEqual({'?'}, {name for chain in found for name in chain})
                continue
            # A name that static functions share stands for one of them in the source.
            expected = collections.Counter({chain: count for chain, count in names.items()
                                            if all(places[name] == 1 for name in chain)})
            self.assertGreater(sum(expected.values()), sum(names.values()) / 3)
            self.assertEqual({}, expected - found)

    def test_users_who_may_not_see_addresses(self):
        if shutil.which('setpriv') is None:
            self.skipTest('SKIPPED: no setpriv')
        file = self.record()
        for place in (self.folder, file):
            place.chmod(0o755)
        user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
        if not run(*user, 'head', '-1', '/proc/kallsyms').stdout.startswith('0000000000000000 '):
            self.skipTest('SKIPPED: every user may see them')
        done = run(*user, self.countrace, 'report', '--no-progress', file, env=self.environment)
        if 'ermission denied' in done.stderr:
            self.skipTest('SKIPPED: other users may not read the build folder')
        self.assertEqual(0, done.returncode, done)
        self.assertIn('the kernel hides its addresses from this user', done.stdout)

    def test_file_without_build_ids(self):
        file = self.perf_record(sys.executable, '-c', PROGRAM, how='fp', build_ids=('-B',))
        self.assertEqual({'?'}, {name for chain in self.names(file) for name in chain})
        self.assertIn('the file has no build id of its kernel', self.note(file))


if __name__ == '__main__':
    PerfStacks.countrace = sys.argv.pop()
    unittest.main()
