#!/usr/bin/env python3
"""`record --sample N --call-graph dwarf` of programs whose chains of calls are
known, beside frame pointers and `perf record --call-graph dwarf`.

usage: unwound_stacks_test.py COUNTRACE WORKLOAD FRAMED_WORKLOAD SAMPLES_WORKLOAD
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'import'))
from perf_file import set_flags  # noqa: E402
from trace_checks import Recording, run

COUNTRACE = WORKLOAD = FRAMED = SAMPLES = ''
RATE = 997
CHAIN = ('main', 'Outer', 'Middle', 'Leaf')
SORT = ('main', 'SortAll', 'Compare', 'Leaf')


class UnwoundStacks(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()

    def record(self, *arguments, how='dwarf', prefix=()):
        done = run(*prefix, COUNTRACE, 'record', '--force', '-o', self.trace, '--sample', RATE,
                   '--call-graph', how, *arguments)
        self.assertEqual(0, done.returncode, done)
        return done

    def stacks(self, *arguments):
        """How many samples have each chain of (function, file), outermost first."""
        done = run(COUNTRACE, 'report', '--no-progress', '--format', 'json', '--by', 'calltree',
                   '--rows', 0, *arguments, self.trace)
        self.assertEqual(0, done.returncode, done)
        stacks, open_rows = collections.Counter(), []
        for row in json.loads(done.stdout)['rows']:
            del open_rows[row['depth']:]
            open_rows.append((row['function'], row['dso'], row['inlined']))
            chain = tuple(frame[:2] for frame in open_rows if not frame[2])
            stacks[chain] += row['self_samples']
        return +stacks

    @staticmethod
    def share(stacks, wanted):
        return (sum(count for chain, count in stacks.items() if wanted(chain))
                / max(sum(stacks.values()), 1))

    @staticmethod
    def own(chain, program):
        """The functions of the program itself, from main on, without repeated ones."""
        names = [name for name, dso in chain if dso == pathlib.Path(program).name]
        if 'main' in names:
            names = names[names.index('main'):]
        return tuple(name for at, name in enumerate(names) if at == 0 or names[at - 1] != name)

    def check(self, what, expected, program='', **options):
        program = program or WORKLOAD
        self.record('--', program, what, 250, **options)
        stacks = self.stacks()
        self.assertGreater(sum(stacks.values()), 80, stacks)
        # Start and end of the program are beside.
        self.assertGreater(self.share(stacks, lambda chain: self.own(chain, program) == expected),
                           0.85, stacks.most_common(5))
        return stacks

    def test_chain(self):
        for backend in ('bpf', 'perf'):
            self.record('--backend', backend, '--', WORKLOAD, 'chain', 250)
            stacks = self.stacks()
            whole = self.share(stacks, lambda chain: self.own(chain, WORKLOAD) == CHAIN
                               and chain[0][0] == '_start')
            self.assertGreater(whole, 0.85, (backend, stacks.most_common(5)))

    def test_callers(self):
        self.record('--', WORKLOAD, 'chain', 250)
        done = run(COUNTRACE, 'report', '--by', 'callers', '--function', 'Leaf', '--format', 'json',
                   self.trace)
        names = [row['function'] for row in json.loads(done.stdout)['rows']]
        self.assertEqual(list(reversed(CHAIN)), names[:4])

    def test_through_a_library_without_frame_pointers(self):
        stacks = self.check('sort', SORT)
        between = self.share(stacks, lambda chain: ('SortAll', pathlib.Path(WORKLOAD).name) in chain
                             and any(dso.startswith('libc.so') for _, dso in
                                     chain[[name for name, _ in chain].index('SortAll'):]))
        self.assertGreater(between, 0.85, stacks.most_common(5))

    def test_frame_pointers_say_the_same(self):
        by_pointer = self.check('chain', CHAIN, FRAMED, how='fp')
        by_rules = self.check('chain', CHAIN, FRAMED)
        most = [self.own(stacks.most_common(1)[0][0], FRAMED) for stacks in (by_pointer, by_rules)]
        self.assertEqual(most[0], most[1])
        # Without them the test above would not show anything.
        self.record('--', WORKLOAD, 'chain', 250, how='fp')
        stacks = self.stacks()
        self.assertLess(self.share(stacks, lambda chain: self.own(chain, WORKLOAD) == CHAIN), 0.1,
                        stacks.most_common(5))

    def test_threads(self):
        stacks = self.check('thread', ('InThread',) + CHAIN[1:])
        ends = self.share(stacks, lambda chain: not chain[0][0].startswith('['))
        self.assertGreater(ends, 0.9, stacks.most_common(5))

    def test_stacks_that_are_cut(self):
        done = self.record('--', WORKLOAD, 'deep', 250)
        stacks = self.stacks()
        cut = sum(count for chain, count in stacks.items() if chain[0][0] == '[truncated stack]')
        self.assertGreater(cut / sum(stacks.values()), 0.85, stacks.most_common(5))
        said = re.search(r'stacks=(\d+), bytes=8192', done.stderr)
        self.assertTrue(said, done.stderr)
        self.assertEqual(cut, int(said[1]), done.stderr)
        # More bytes, more frames; the largest have all of this program's.
        usual = len(stacks.most_common(1)[0][0])
        self.record('--', WORKLOAD, 'deep', 250, how='dwarf,16384')
        self.assertGreater(len(self.stacks().most_common(1)[0][0]), usual + 5)
        done = self.record('--', WORKLOAD, 'deep', 250, how='dwarf,65528')
        self.assertNotIn('[truncated stack]', done.stderr)
        stacks = self.stacks()
        whole = self.share(stacks, lambda chain: [name for name, _ in chain].count('Deeper') == 41
                           and self.own(chain, WORKLOAD)[:2] == ('main', 'Deeper'))
        self.assertGreater(whole, 0.85, stacks.most_common(2))

    def test_file_that_is_gone(self):
        program = self.work / 'gone'
        shutil.copy(WORKLOAD, program)
        with subprocess.Popen([program, 'chain', '60000']) as running:
            try:
                while not os.readlink(f'/proc/{running.pid}/exe').endswith('gone'):
                    time.sleep(0.01)
                program.unlink()
                # Until it has run for 10 clock ticks.
                done = self.record('-p', running.pid, '--', 'sh', '-c', '''
                    ran() { cut -d' ' -f14 /proc/$0/stat; }
                    until_ticks=$(($(ran) + 10))
                    while [ $(ran) -lt $until_ticks ]; do sleep 0.01; done''', running.pid)
            finally:
                running.kill()
        self.assertRegex(done.stderr, r'\[stack not unwound\]: stacks=\d+ of \d+')
        stacks = self.stacks()
        self.assertGreater(self.share(stacks, lambda chain: chain[0][0] == '[stack not unwound]'),
                           0.85, stacks.most_common(5))

    def test_code_made_at_run_time(self):
        done = self.record('--', SAMPLES, 'code', 150)
        if not done.stdout:
            self.skipTest('SKIPPED: no machine code of this processor')
        os.unlink(done.stdout.strip())
        stacks = self.stacks()
        made = [chain for chain in stacks.elements() if 'MadeAtRunTime one' in dict(chain)]
        self.assertGreater(len(made), 30, stacks.most_common(5))
        # It has no rules: frame pointers lead on (to the caller of the function whose frame
        # is the last one), then rules again.
        self.assertTrue(all(chain[0][0] == '_start' for chain in made), stacks.most_common(5))

    def test_processes_that_fork_and_exec(self):
        self.record('--', '/bin/sh', '-c',
                    f'{WORKLOAD} chain 100; ({WORKLOAD} chain 100); {WORKLOAD} sort 100')
        stacks = self.stacks('--process', pathlib.Path(WORKLOAD).name[:15])
        for chain, least in ((CHAIN, 0.5), (SORT, 0.2)):
            self.assertGreater(self.share(stacks, lambda one, chain=chain: self.own(one, WORKLOAD)
                                          == chain), least, stacks.most_common(9))

    def test_without_privilege(self):
        if not shutil.which('setpriv'):
            self.skipTest('SKIPPED: no setpriv')
        self.work.chmod(0o777)
        user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
        if run(*user, WORKLOAD, 'chain', 1).returncode != 0:
            self.skipTest('SKIPPED: other users may not read the build folder')
        done = run(*user, COUNTRACE, 'record', '-o', self.trace, '--sample', RATE, '--call-graph',
                   'dwarf', '--', WORKLOAD, 'chain', 250)
        if 'perf_event_paranoid' in done.stderr:
            self.skipTest('SKIPPED: kernel.perf_event_paranoid forbids it')
        self.assertEqual(0, done.returncode, done)
        stacks = self.stacks()
        self.assertGreater(self.share(stacks, lambda chain: self.own(chain, WORKLOAD) == CHAIN),
                           0.8, stacks.most_common(5))

    def test_as_perf(self):
        if shutil.which('perf') is None:
            self.skipTest('SKIPPED: no perf')
        file = self.work / 'perf.data'
        for what, expected in (('chain', CHAIN), ('sort', SORT)):
            # perf 6.1 crashes where it reads build ids that are none (set_flags).
            done = run('perf', 'record', '-q', '-N', '-B', '-F', RATE, '-e', 'cpu-clock',
                       '--call-graph', 'dwarf', '-o', file, '--', WORKLOAD, what, 250)
            text = ''
            if done.returncode == 0:
                set_flags(file, 0)
                text = run('perf', 'script', '-i', file, '--no-inline', '-F', 'ip,sym,dso').stdout
            if done.returncode != 0 or not text:
                self.skipTest('SKIPPED: perf cannot record or print here: ' + done.stderr[:200])
            theirs = collections.Counter()
            for block in text.split('\n\n'):
                frames = [re.fullmatch(r'\s+[0-9a-f]+ (.*) \((.*)\)', line)
                          for line in block.splitlines()]
                chain = [(one[1], pathlib.Path(one[2]).name) for one in reversed(frames) if one]
                if chain:
                    theirs[self.own(chain, WORKLOAD)] += 1
            ours = collections.Counter()
            for chain, count in self.check(what, expected).items():
                ours[self.own(chain, WORKLOAD)] += count
            self.assertEqual(theirs.most_common(1)[0][0], ours.most_common(1)[0][0])
            share = [each[expected] / sum(each.values()) for each in (theirs, ours)]
            self.assertLess(abs(share[0] - share[1]), 0.1, (theirs, ours))

    def test_wrong_requests(self):
        for how, words in (('', 'HOW missing'), ('lbr', 'want fp'), ('dwarf,', 'want fp'),
                           ('dwarf,0', 'want fp'), ('dwarf,x', 'want fp'), ('fp,8192', 'want fp'),
                           ('dwarf,65536', 'at most 65528 bytes of a stack, not 65536'),
                           ('dwarf,1G', 'at most 65528')):
            done = run(COUNTRACE, 'record', '-o', self.trace, '--sample', RATE,
                       f'--call-graph={how}', '--', '/bin/true')
            self.assertEqual(2, done.returncode, (how, done))
            self.assertIn(words, done.stderr, how)
            self.assertFalse(self.trace.exists(), how)
        done = run(COUNTRACE, 'record', '-o', self.trace, '--call-graph', 'dwarf', '--',
                   '/bin/true')
        self.assertEqual(2, done.returncode, done)
        self.assertIn('--sample 199', done.stderr)


if __name__ == '__main__':
    SAMPLES, FRAMED, WORKLOAD, COUNTRACE = (sys.argv.pop() for _ in range(4))
    unittest.main()
