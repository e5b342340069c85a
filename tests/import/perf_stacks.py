"""Records stacks with the real perf, and counts them as countrace and perf
script print them."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from perf_file import set_flags

RATE = 997
ENDS = ('[truncated stack]', '[stack not unwound]', '[unknown]')


def run(*arguments, **options):
    options.setdefault('text', True)
    return subprocess.run([str(word) for word in arguments], capture_output=True, check=False,
                          timeout=120, **options)


class PerfStacks(unittest.TestCase):
    countrace = ''

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

    def perf_record(self, *command, build_ids=('-N', '-N', '--buildid-mmap'), how='dwarf',
                    clock=()):
        """`build_ids`: options to try. perf crashes where the kernel sets that flag, unless it
        requests build ids itself or reads none (-B)."""
        file = self.folder / 'perf.data'
        for option in build_ids:
            done = self.perf('record', '-q', option, *clock, '-F', RATE, '-e', 'cpu-clock',
                             '--call-graph', how, '-o', file, '--', *command)
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
        """A frame as both tools name it: of libraries they choose different names of one place;
        ours have none of stubs."""
        dso = '[kernel]' if path.startswith('[kernel') else pathlib.Path(path).name
        if dso == '[vdso]':
            name = '[unknown]'
        if '.so' in dso or '@plt' in name or name in ('[unknown]', '[stripped]', '[kernel]'):
            return '?', dso
        return name.partition('(')[0], dso

    def report(self, by, file, *arguments):
        done = run(self.countrace, 'report', '--no-progress', '--format', 'json', '--by', by,
                   *arguments, file, env=self.environment)
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
    def agreement(ours, theirs):
        """The share of the samples that have the same chain in both."""
        def known(stacks):
            """Where a stack is cut off, ours say so, and theirs may have a wrong frame;
            perf does not go through the vdso."""
            out = collections.Counter()
            for chain, count in stacks.items():
                chain = chain[1:] if chain[0][1] in ENDS else chain
                vdso = [i for i, (_, dso) in enumerate(chain) if dso == '[vdso]']
                out[chain[vdso[0]:] if vdso else chain] += count
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
