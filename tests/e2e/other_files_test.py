#!/usr/bin/env python3
"""Names are those of the file that ran, not of another one at its path: one
that was built again, or that another container has there.

usage: other_files_test.py COUNTRACE SAMPLES_WORKLOAD
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from trace_checks import Recording, run

COUNTRACE = WORKLOAD = ''
RATE = 997


class OtherFiles(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.program = self.work / 'program'

    def objcopy(self, source, target, *options):
        if shutil.which('objcopy') is None:
            self.skipTest('SKIPPED: no objcopy')
        done = run('objcopy', *options, source, target)
        self.assertEqual(0, done.returncode, done)

    def without_build_id(self, target):
        self.objcopy(WORKLOAD, target, '--remove-section=.note.gnu.build-id')

    def record(self, *arguments):
        done = run(COUNTRACE, 'record', '--force', '-o', self.trace, '--sample', RATE, *arguments)
        self.assertEqual(0, done.returncode, done)

    def names(self, of, *options, trace=None):
        """Samples of each function of the files called `of`; the report's notes."""
        done = run(COUNTRACE, 'report', '--no-progress', '--format', 'json', '--by', 'function',
                   *options, trace or self.trace,
                   # Without what perf keeps in ~/.debug.
                   env={**os.environ, 'HOME': str(self.work), 'DEBUGINFOD_URLS': ''})
        self.assertEqual(0, done.returncode, done)
        data = json.loads(done.stdout)
        names = {}
        for row in data['rows']:
            if row['dso'] == of:
                name = re.sub(r'\(.*', '', row['function'])
                names[name] = names.get(name, 0) + row['self_samples']
        return names, data['notes']

    def check_burns(self, names):
        """Which one ran meanwhile depends on the load of the machine."""
        self.assertTrue(any(name.startswith('Burn') for name in names), names)

    def check_built_again(self, trace=None):
        names, notes = self.names('program', trace=trace)
        self.check_burns(names)
        self.assertEqual([], notes)
        # The same functions at the same places would be luck.
        with open(self.program, 'ab') as file:
            file.write(b'built again')
        names, notes = self.names('program', trace=trace)
        self.assertEqual({'[stripped]'}, set(names), notes)
        self.assertTrue(any('another file' in note for note in notes), notes)

    def test_built_again_without_build_id(self):
        self.without_build_id(self.program)
        self.record('--', self.program, 'cpu', 150)
        self.check_built_again()

    def test_a_running_one_without_build_id(self):
        self.without_build_id(self.program)
        with subprocess.Popen([self.program, 'cpu', '3000'], stdout=subprocess.DEVNULL) as child:
            self.record('-p', child.pid, '--for', '0.6s')
        self.check_built_again()

    def test_a_file_of_symbols_alone(self):
        """It has the build id, and the code's places in the file are not in it."""
        shutil.copy(WORKLOAD, self.program)
        self.record('--', self.program, 'cpu', 150)
        self.objcopy(WORKLOAD, self.program, '--only-keep-debug')
        names, notes = self.names('program')
        self.assertEqual({'[stripped]'}, set(names), notes)
        self.assertTrue(any('symbols' in note for note in notes), notes)

    def test_built_again_and_imported(self):
        if shutil.which('perf') is None:
            self.skipTest('SKIPPED: no perf')
        self.without_build_id(self.program)
        file = self.work / 'perf.data'
        # perf's table of build ids may crash it.
        done = run('perf', 'record', '-q', '-N', '-B', '-g', '-e', 'cpu-clock', '-o', file,
                   self.program, 'cpu', 150)
        if done.returncode != 0:
            self.skipTest('SKIPPED: perf cannot record here: ' + done.stderr[:200])
        imported = self.work / 'imported.ctf'
        done = run(COUNTRACE, 'import', '--no-progress', '-o', imported, file)
        self.assertEqual(0, done.returncode, done)
        self.check_built_again(trace=imported)
        # Imported only now, it is known that the file is another one.
        names, notes = self.names('program', trace=file)
        self.assertEqual({'[stripped]'}, set(names), notes)

    def in_other_root(self, program, *words):
        """A process in whose mount namespace another file is at the program's path."""
        child = subprocess.Popen(
            ['unshare', '-m', 'sh', '-c', 'mount --bind "$1" "$2" && exec "$2" "$3" "$4"', 'sh',
             program, self.program, *map(str, words)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdout.close)
        return child

    def wait_for(self, child, program):
        """Until it runs."""
        while child.poll() is None:
            if os.path.exists(f'/proc/{child.pid}/exe') and os.path.samefile(
                    f'/proc/{child.pid}/exe', program):
                return
        self.skipTest('SKIPPED: no mount namespaces here')

    def check_other_root(self, other):
        shutil.copy(WORKLOAD, self.program)
        here = subprocess.Popen([self.program, 'cpu', '5000'], stdout=subprocess.DEVNULL)
        self.addCleanup(here.wait)
        self.addCleanup(here.kill)
        there = self.in_other_root(other, 'cpu', 5000)
        self.wait_for(here, self.program)
        self.wait_for(there, other)
        self.record('-a', '--for', '1s')
        names, notes = self.names('program', '--process', here.pid)
        self.check_burns(names)
        names, notes = self.names('program', '--process', there.pid)
        self.assertEqual({'[stripped]'}, set(names), notes)

    def test_another_build_in_a_container(self):
        note = self.work / 'note'
        other = self.work / 'other'
        self.objcopy(WORKLOAD, other, f'--dump-section=.note.gnu.build-id={note}')
        note.write_bytes(note.read_bytes()[:-4] + b'othe')
        self.objcopy(WORKLOAD, other, f'--update-section=.note.gnu.build-id={note}')
        self.check_other_root(other)

    def test_one_without_build_id_in_a_container(self):
        other = self.work / 'other'
        self.without_build_id(other)
        self.check_other_root(other)

    def test_map_of_code_in_a_container(self):
        """Made at run time: its map is in the container's /tmp, with its number there."""
        words = ['unshare', '-mpf', '--kill-child', '--mount-proc', 'sh', '-c',
                 'mount -t tmpfs none /tmp && exec "$1" code 5000', 'sh', WORKLOAD]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as child:
            self.addCleanup(child.kill)
            self.record('-a', '--for', '0.7s')
            running = child.poll() is None
            child.kill()
        if not running:
            self.skipTest('SKIPPED: no namespaces, or no machine code of this processor')
        names, notes = self.names('[jit]', '--process', 'samples_workloa')
        self.assertGreater(names.get('MadeAtRunTime one', 0), 30, (names, notes))


if __name__ == '__main__':
    COUNTRACE, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
