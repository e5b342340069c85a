#!/usr/bin/env python3
"""`record` says why a program's hooks were not recorded, and what records
them.

usage: unjoined_programs_test.py COUNTRACE INCLUDE_FOLDER
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

COUNTRACE = INCLUDE = None
HOOKS = '''#include <countrace/hooks.h>
int main(void) {
  COUNTRACE_ENTER("app", "work");
  COUNTRACE_EXIT("app", "work");
  return 0;
}
'''
PLAIN = '''void __cyg_profile_func_enter(void* function, void* caller);
int work(int n) { return n + 1; }
int main(void) { return work(-1); }
'''
# As the macros of <sys/sdt.h> write it.
PROBE = r'''int main(void) {
  __asm__ volatile("990: nop\n"
                   ".pushsection .note.stapsdt,\"\",\"note\"\n"
                   ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
                   "991: .asciz \"stapsdt\"\n992: .balign 4\n"
                   "993: .8byte 990b\n.8byte 0\n.8byte 0\n"
                   ".asciz \"other\"\n.asciz \"probe\"\n.asciz \"\"\n"
                   "994: .balign 4\n.popsection\n");
  return 0;
}
'''


class Unjoined(unittest.TestCase):
    def setUp(self):
        if shutil.which('cc') is None:
            self.skipTest('SKIPPED: needs a C compiler')
        # Not on a device that ignores privileges of programs.
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-e2e-'))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.program = self.work / 'app'

    def build(self, text, *options):
        source = self.work / 'app.c'
        source.write_text(text)
        subprocess.run(['cc', '-O1', '-I', INCLUDE, *options, '-o',
                        self.program, source], check=True)

    def record(self, *command, options=('--no-kernel',)):
        run = subprocess.run(
            [COUNTRACE, 'record', *options, '--force', '-o',
             self.work / 'trace.ctf', '--', *(command or (self.program,))],
            text=True, capture_output=True, timeout=60, check=False,
            cwd=self.work)
        self.assertEqual(0, run.returncode, run.stderr)
        return run.stderr

    def test_static(self):
        self.build(HOOKS, '-static')
        said = self.record()
        self.assertIn(f'{self.program} has hooks but is static', said)
        self.assertIn('link countrace::runtime_static', said)
        self.assertIn('1 process with hooks did not join', said)
        self.assertNotIn('nothing was lost', said)
        loss = json.loads(subprocess.run(
            [COUNTRACE, 'report', '--format', 'json',
             self.work / 'trace.ctf'], text=True, capture_output=True,
            timeout=60, check=True).stdout)['loss']
        self.assertEqual(1, loss['not_joined'])
        self.assertIn('has hooks but is static', loss['messages'][0])
        self.check_remedy()

    def check_remedy(self):
        """The option that the message names records the hooks."""
        if os.geteuid() != 0:
            return
        option = f'usdt:{self.program}:app:*'
        self.assertIn(f"--hook '{option}'", self.record())
        run = subprocess.run(
            [COUNTRACE, 'record', '--force', '--hook', option, '-o',
             self.work / 'trace.ctf', '--', self.program], text=True,
            capture_output=True, timeout=60, check=False)
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertNotIn('has hooks but', run.stderr)
        rows = subprocess.run(
            [COUNTRACE, 'report', '--by', 'segment', '--format', 'csv',
             self.work / 'trace.ctf'], text=True, capture_output=True,
            timeout=60, check=True).stdout
        self.assertIn('app:work', rows)

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_other_privileges(self):
        self.build(HOOKS)
        self.program.chmod(0o4755)
        self.check_other_user('has hooks but is set-user-ID')

    def check_other_user(self, reason):
        """Only to another user are they new privileges."""
        self.work.chmod(0o777)
        copy = self.work / 'countrace'
        shutil.copy(COUNTRACE, copy)
        library = self.work / 'libcountrace-runtime.so.0'
        shutil.copy(next(pathlib.Path(COUNTRACE).parent.parent.rglob(
            library.name)), library)
        run = subprocess.run(
            ['setpriv', '--reuid', '65534', '--regid', '65534',
             '--clear-groups', copy, 'record', '--no-kernel', '-o',
             self.work / 'other.ctf', '--', self.program], text=True,
            capture_output=True, timeout=60, check=False,
            env={**os.environ, 'COUNTRACE_RUNTIME': str(library)})
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertIn(reason, run.stderr)
        self.assertIn('link countrace::runtime,', run.stderr)

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_file_capabilities(self):
        # linux/capability.h: revision 2, effective; CAP_NET_RAW permitted.
        self.build(HOOKS)
        try:
            os.setxattr(self.program, 'security.capability',
                        struct.pack('<5I', 0x02000001, 1 << 13, 0, 0, 0))
        except OSError as error:
            self.skipTest(f'SKIPPED: no file capabilities here: {error}')
        self.check_other_user('has hooks but is a program with file '
                              'capabilities')

    def test_empty_environment(self):
        self.build(HOOKS)
        # env(1) executes the program as the same process.
        said = self.record('env', '-i', self.program)
        self.assertIn('0 processes with hooks joined', said)
        self.assertIn('1 processes with hooks joined', self.record())

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_read_only_sandbox(self):
        self.build(HOOKS)
        trace = self.work / 'trace.ctf'
        read_only = (f'mount --bind {self.work} {self.work} && '
                     f'mount -o remount,ro,bind {self.work} && ')
        twice = f'{self.program} && {self.program}'
        said = self.record('unshare', '-m', 'sh', '-c', read_only + twice)
        self.assertIn(f'{self.program} has hooks but did not join: its sandbox '
                      f'shows {trace} read-only', said)
        self.assertIn('2 processes with hooks did not join', said)
        self.assertNotIn('nothing was lost', said)
        self.assertFalse((trace / '.unjoined').exists())
        # As bwrap --ro-bind / / --bind TRACE TRACE.
        said = self.record(
            'unshare', '-m', 'sh', '-c',
            f'mount --bind {trace} {trace} && {read_only}'
            f'mount --bind -o rw {trace} {trace}; mount -o remount,rw,bind '
            f'{trace} && {twice}')
        self.assertIn('2 processes with hooks joined; nothing was lost', said)

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_another_user(self):
        self.build(HOOKS)
        self.work.chmod(0o755)
        library = self.work / 'libcountrace-runtime.so.0'
        shutil.copy(next(pathlib.Path(COUNTRACE).parent.parent.rglob(
            library.name)), library)
        user = ('setpriv', '--reuid', '65534', '--regid', '65534',
                '--clear-groups', self.program)
        environment = {**os.environ, 'COUNTRACE_RUNTIME': str(library)}
        with unittest.mock.patch.dict(os.environ, environment):
            said = self.record(*user)
        self.assertIn(f'{self.program} has hooks but did not join: it ran as '
                      'another user', said)
        self.assertIn(f"--hook 'usdt:{self.program}:*'", said)
        self.assertIn('1 process with hooks did not join', said)
        self.assertFalse(self.place().exists())

    def place(self):
        """The pipe for other users (runtime/unjoined_place.h)."""
        digits = 0xcbf29ce484222325
        for byte in os.fsencode(self.work / 'trace.ctf'):
            digits = (digits ^ byte) * 0x100000001b3 % 2**64
        return pathlib.Path(f'/dev/shm/countrace-unjoined-{digits:016x}')

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_another_user_who_never_stops_to_report(self):
        """Also while the recorder reads the pipe."""
        writer = self.work / 'writer.py'
        writer.write_text(
            'import os, struct\n'
            'os.setuid(65534)\n'
            f'pipe = os.open({str(self.place())!r}, os.O_WRONLY)\n'
            'def report(number):\n'
            "    os.write(pipe, struct.pack('I508s', 13, "
            "b'/forged\\n%d' % number))\n"
            'report(0)\n'
            'if os.fork() == 0:\n'
            '    for n in range(1, 10**9): report(n)\n')
        said = self.record(sys.executable, writer)
        forged = said.count('it ran as another user')
        self.assertIn('/forged\\x0a0 has hooks', said)
        self.assertTrue(0 < forged <= 128, said)
        self.assertFalse(self.place().exists())

    @unittest.skipUnless(os.geteuid() == 0, 'SKIPPED: needs root')
    def test_the_pipe_of_a_killed_recorder_is_removed(self):
        left = pathlib.Path('/dev/shm/countrace-unjoined-0123456789abcdef')
        self.addCleanup(left.unlink, missing_ok=True)
        os.mkfifo(left, 0o622)
        reader = os.open(left, os.O_RDONLY | os.O_NONBLOCK)
        self.record('true')
        self.assertTrue(left.exists())  # a recorder reads it
        os.close(reader)
        self.record('true')
        self.assertFalse(left.exists())

    def needs_kernel_records(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: kernel records need root')
        if 'Cannot' in self.record('true', options=('--best-effort',
                                                    '--backend', 'bpf')):
            self.skipTest('SKIPPED: needs BPF')

    def test_each_process_of_a_command(self):
        """Not only the command's own program: also what ran for a
        millisecond, from other folders, by a script."""
        self.needs_kernel_records()
        self.build(HOOKS, '-static')
        static = self.program.rename(self.work / 'static')
        self.build(HOOKS)
        script = self.work / 'script'
        script.write_text(f'#!{static}\n')
        script.chmod(0o755)
        said = self.record(
            'sh', '-c', f'cd /; env -i {self.program}; cd {self.work}; ./app; '
            f'./static; {script}; :', options=())
        self.assertIn(f'{self.program} has hooks but did not join. Did it get '
                      'an empty environment?', said)
        self.assertIn(f'{static} has hooks but is static', said)
        self.assertIn('1 processes with hooks joined; 3 processes with hooks '
                      'did not join', said)
        loss = json.loads(subprocess.run(
            [COUNTRACE, 'report', '--format', 'json',
             self.work / 'trace.ctf'], text=True, capture_output=True,
            timeout=60, check=True).stdout)['loss']
        self.assertEqual(3, loss['not_joined'])
        self.assertIn('3 processes with hooks joined; nothing was lost',
                      self.record('sh', '-c', './app; ./app; exec ./app',
                                  options=()))

    def test_processes_of_a_command_without_bpf(self):
        """Those that run when the recorder looks, every 100 ms."""
        self.build('#include <unistd.h>\n'
                   + HOOKS.replace('return 0', 'return usleep(1500000)'))
        said = self.record('sh', '-c', f'cd /; env -i {self.program} & '
                           f'{self.program}; wait')
        self.assertIn(f'{self.program} has hooks but did not join', said)
        self.assertIn('1 processes with hooks joined; 1 process with hooks '
                      'did not join', said)

    def test_child_that_has_not_executed_yet_without_bpf(self):
        """As posix_spawn() makes it: it shares the memory of its parent, and
        joins nothing."""
        self.build('#include <unistd.h>\n' + HOOKS.replace(
            'return 0', 'if (vfork() == 0) { usleep(500000); _exit(0); } '
            'return 0'))
        self.assertIn('1 processes with hooks joined; nothing was lost',
                      self.record())

    def test_programs_that_run_during_a_recording_of_the_machine(self):
        """Not one that began before and ended after it, but each that began
        and ended meanwhile."""
        self.needs_kernel_records()
        self.build(HOOKS)
        said = self.record('env', '-u', 'LD_PRELOAD', 'sh', '-c',
                           './app; ./app', options=('-a',))
        self.assertIn(f'{self.program} has hooks but started without the '
                      'runtime library: link countrace::runtime', said)
        # And what others run on this machine meanwhile.
        processes = re.search(r'(\d+) processes with hooks did not join', said)
        self.assertGreaterEqual(int(processes.group(1)), 2, said)

    def test_instrumented_functions(self):
        self.build(PLAIN, '-finstrument-functions')
        said = self.record()
        self.assertIn('built with -finstrument-functions', said)
        self.assertIn(f"--hook 'uprobe:{self.program}:FUNCTION'", said)

    def test_probes_of_others(self):
        self.build(PROBE)
        said = self.record()
        self.assertIn(f'{self.program} has no hooks of countrace, but USDT '
                      'probes', said)
        self.assertIn(f"--hook 'usdt:{self.program}:other:*' records them",
                      said)

    def test_no_hooks(self):
        self.build('int main(void) { return 0; }\n')
        said = self.record()
        self.assertNotIn('hooks but', said)
        self.assertNotIn('probes', said)


if __name__ == '__main__':
    COUNTRACE, INCLUDE = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
