#!/usr/bin/env python3
"""`countrace-privileged`, made by the command that `countrace doctor` prints,
records the machine, and opens no file for its user that he could not open
before, whatever the verb.

usage: file_rights_test.py COUNTRACE HOOK_WORKLOAD
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

from trace_checks import Recording, side_by_side, with_tracefs

WORKLOAD = None
USER = 65534
STRANGER = 65533
LIBRARY = 'libcountrace-runtime.so.0'
IMPORTER = 'countrace-import'
# It is in every file that the user may not read.
SECRET = 'rosebud'
# They keep what records, but no right over files in effect.
RECORDERS = {'record', 'stat', 'doctor', 'list'}
DAC_READ_SEARCH = 1 << 2
BPF_AND_PERFMON = 1 << 39 | 1 << 38
OVER_FILES = DAC_READ_SEARCH | 1 << 1  # CAP_DAC_OVERRIDE
# What the help texts call a file.
FILE_WORDS = r'(?:[A-Z]+=)?(?:FILE|DIR|PATH|TRACE|TABLE|SOURCE|PROGRAM)\b'
# Where a verb opens a file that its user names; each must be refused. OWN is a
# trace of the user's, NEW a place for output. New verbs need no line here:
# see uses().
REFUSED = {
    'record': ['-o NEW --no-kernel -- PROGRAM',
               '-o TRACE/x --no-kernel -- true',
               '-o NEW --hook uprobe:PROGRAM:main -- true',
               '-o NEW --hook usdt:PROGRAM:*:* -- true',
               '-o NEW --dry-run-rules TRACE --dump workload:tick'],
    'stat': ['-- PROGRAM', '--counts RULES --cost r10000',
             '-e task-clock --cost RULES -- true'],
    'list': ['hooks TRACE', 'hooks PROGRAM', 'functions PROGRAM',
             'probes PROGRAM', 'metrics --rules RULES'],
    'report': ['TRACE', '--by function TRACE', '--rules RULES OWN',
               '--metrics=ipc --with a=TRACE OWN'],
    'annotate': ['main TRACE'],
    'diff': ['OWN TRACE', 'TRACE OWN', '--before TRACE --after OWN'],
    'state': ['--at 50% TRACE'],
    'view': ['TRACE'],
    'replay': ['--record-cast NEW TRACE', '--record-cast TRACE/x OWN'],
    'script': ['TRACE'],
    'info': ['TRACE'],
    'verify': ['TRACE'],
    'recover': ['TRACE'],
    'snapshot': ['-o NEW TRACE'],
    'export': ['--to html -o NEW TRACE', '--to html -o TRACE/x OWN'],
    'import': ['-o NEW TRACE', '-o NEW --map RULES OWN'],
}
SPIN = '''
static void spin(void);
int main(void) { spin(); }
#line 1 "%s"
static void spin(void) { for (volatile long i = 0; i < 300000000; ++i) {} }
'''


class FileRights(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('setpriv', 'setcap', 'install')
        self.work.chmod(0o755)
        self.bin = self.work / 'bin'
        self.out = self.work / 'out'
        self.bin.mkdir()
        self.out.mkdir()
        os.chown(self.out, USER, USER)
        self.plain = pathlib.Path(shutil.copy(self.countrace_program,
                                              self.bin))
        self.workload = shutil.copy(WORKLOAD, self.bin)
        shutil.copy(self.doctor(self.countrace_program)[0]['detail'],
                    self.bin / LIBRARY)
        build = pathlib.Path(self.countrace_program).parent.parent
        for importer in (build / 'logformat/import').glob(IMPORTER):
            shutil.copy(importer, self.bin)
        shutil.copy(build / 'rmap/countrace-code', self.bin)
        fix = next((row['fix'] for row in self.doctor(self.plain, self.user)
                    if 'setcap' in row['fix']), None)
        if fix is None:
            self.skipTest('SKIPPED: users may record without a privilege')
        self.assertIn('members of GROUP can then record every process', fix)
        self.privileged = self.make_privileged(self.plain, fix, USER)

    def doctor(self, program, run=None):
        run = run or (lambda *command: subprocess.run(
            [*map(str, command)], text=True, capture_output=True, timeout=60,
            check=False))
        return json.loads(
            run(program, 'doctor', '--format', 'json').stdout)['capabilities']

    def command(self, *command, user=USER, options=()):
        # By a shell without capabilities, as users start programs: setpriv
        # has all until it executes one.
        return ['setpriv', '--reuid', str(user), '--regid', str(user),
                '--clear-groups', *options, 'sh', '-c', 'exec "$0" "$@"',
                *map(str, command)]

    def user(self, *command, cwd=None, **kwargs):
        return subprocess.run(
            self.command(*command, **kwargs), text=True, errors='replace',
            capture_output=True, timeout=60, check=False, cwd=cwd or self.out,
            stdin=subprocess.DEVNULL)

    def verbs(self):
        text = self.user(self.plain, 'help').stdout
        verbs = re.findall(r'^  (\w+) ', text[text.index('\nverbs:'):
                                              text.index('\nA trace is')],
                           re.M)
        self.assertGreater(len(verbs), 15)
        self.assertLessEqual(RECORDERS | set(REFUSED), set(verbs))
        return verbs

    def uses(self, verb):
        """Forms of a verb that may read FILE: from its help text."""
        options = re.findall(rf'^ +(?:-\w, )?(--[\w-]+) {FILE_WORDS}',
                             self.user(self.plain, 'help', verb).stdout, re.M)
        return [*REFUSED.get(verb, []), 'FILE', 'x FILE',
                *(f'{option} FILE FILE' for option in options)]

    def own_trace(self):
        trace = self.out / 'own.ctf'
        recorded = self.user(
            self.privileged, 'record', '-o', trace, '--', self.workload,
            'ticks', '1', '5')
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        return trace

    def victims(self):
        """Files of root's with the secret in them, each with what stands for
        it in a use: in a closed folder, closed itself, and behind a link of
        the user's (to the one before)."""
        closed = self.work / 'closed'
        closed.mkdir(mode=0o700)
        self.countrace('record', '--no-kernel', '-o', closed / 'TRACE', '--',
                       'sh', '-c', f'"$0" ticks 1 5 {SECRET}', self.workload)
        (closed / 'RULES').write_text(
            f'[[metric]]\nname = "{SECRET}"\nformula = "wall_ns"\n')
        (closed / 'SOURCE').write_text(f'// {SECRET}\n')
        shutil.copy(self.workload, closed / 'PROGRAM')
        with open(closed / 'PROGRAM', 'a', encoding='ascii') as program:
            program.write(SECRET)
        for kind in ('TRACE', 'RULES', 'SOURCE', 'PROGRAM'):
            path = closed / kind
            alone = self.work / f'closed-{kind}'
            if path.is_dir():
                shutil.copytree(path, alone)
            else:
                shutil.copy(path, alone)
            alone.chmod(0o700)
            link = self.out / f'link-{kind}'
            link.symlink_to(alone)
            yield from ((path, (kind, 'FILE')), (alone, (kind,)),
                        (link, (kind, 'FILE')))

    def outcome(self, folder, program, verb, use, **files):
        """In a new folder of the user's, which goes."""
        folder.mkdir()
        os.chown(folder, USER, USER)
        files['NEW'] = folder / 'new'
        words = re.sub('|'.join(files), lambda word: str(files[word[0]]), use)
        run = self.user(program, verb, *words.split(' '), cwd=folder)
        shutil.rmtree(folder)
        return run.returncode, run.stdout, run.stderr

    def test_no_verb_opens_what_its_user_may_not(self):
        own = self.own_trace()
        victims = list(self.victims())
        cases = [(verb, use, victim, {'OWN': own, **dict.fromkeys(names, victim)})
                 for verb in self.verbs() for use in self.uses(verb)
                 for victim, names in victims
                 if any(name in use for name in names)]

        def outcomes(number):
            verb, use, _, files = cases[number]
            folder = self.out / f'case-{number}'
            return [self.outcome(folder, program, verb, use, **files)
                    for program in (self.privileged, self.plain)
                    if program is self.privileged or verb not in RECORDERS]

        for (verb, use, victim, _), (first, *same) in zip(
                cases, side_by_side(outcomes, range(len(cases)))):
            with self.subTest(verb=verb, use=use, victim=str(victim)):
                status, out, err = first
                self.assertNotIn(SECRET, out + err)
                if use in REFUSED.get(verb, []):
                    self.assertIn('Permission denied', err)
                    self.assertNotEqual(status, 0)
                for plain in same:
                    self.assertEqual(first, plain)

    @contextlib.contextmanager
    def held(self, *command, **kwargs):
        """Its number and status, while it waits at its first output."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, b'x' * 4096)
        process = subprocess.Popen(self.command(*command, **kwargs),
                                   stdout=writer, stderr=writer)
        try:
            status = pathlib.Path(f'/proc/{process.pid}/status')
            end = time.monotonic() + 60
            while True:
                lines = dict(line.split(':\t', 1) for line in
                             status.read_text().splitlines() if ':\t' in line)
                if (lines['Name'].startswith('countrace') and
                        lines['State'].startswith('S')):
                    break
                self.assertLess(time.monotonic(), end)
                self.assertIsNone(process.poll())
                time.sleep(0.005)
            yield process.pid, lines
        finally:
            process.kill()
            process.wait()
            os.close(reader)
            os.close(writer)

    def capabilities_of(self, *command, **kwargs):
        with self.held(*command, **kwargs) as (_, lines):
            return {name: int(lines[f'Cap{name}'], 16)
                    for name in ('Inh', 'Prm', 'Eff', 'Amb')}

    def test_its_user_does_not_look_into_it(self):
        for verb in ('record', 'report'):
            for program, status in ((self.plain, 0), (self.privileged, 1)):
                with self.held(program, verb, '--help') as (pid, _):
                    looked = self.user('head', '-c', '1', f'/proc/{pid}/maps')
                    self.assertEqual(looked.returncode, status, looked.stderr)

    def test_verbs_that_do_not_record_have_no_capability(self):
        inherit = ('--inh-caps', '+dac_read_search')
        for verb in self.verbs():
            with self.subTest(verb=verb):
                sets = self.capabilities_of(self.privileged, verb, '--help',
                                            options=inherit)
                if verb in RECORDERS:
                    self.assertEqual(sets['Eff'] & OVER_FILES, 0)
                    self.assertNotEqual(sets['Eff'], 0)
                    self.assertEqual(sets['Prm'] & OVER_FILES, DAC_READ_SEARCH)
                else:
                    self.assertEqual(set(sets.values()), {0})
        # Before anything is said of a wrong verb, too.
        for wrong in ('no-such-verb', '--no-such-option'):
            self.assertEqual(set(self.capabilities_of(
                self.privileged, wrong).values()), {0})

    def test_rights_that_are_not_of_the_file_stay(self):
        root = self.capabilities_of(self.privileged, 'report', '--help',
                                    user=0)
        self.assertNotEqual(root['Eff'] & DAC_READ_SEARCH, 0)
        self.assertEqual(root['Eff'], root['Prm'])
        # The user may read all files.
        given = self.capabilities_of(
            self.plain, 'report', '--help',
            options=('--inh-caps', '+dac_read_search', '--ambient-caps',
                     '+dac_read_search'))
        self.assertEqual(given['Eff'], DAC_READ_SEARCH)
        # The command has what it would have without a recorder.
        show = ('grep', '^Cap', '/proc/self/status')
        recorded = self.user(self.privileged, 'record', '-q', '-o',
                             self.out / 'own.ctf', '--', *show)
        self.assertEqual(recorded.stdout, self.user(*show).stdout)

    def test_more_rights_than_the_command_gives(self):
        """An administrator gave the file also rights to write files, or made
        it set-user-ID."""
        closed = self.work / 'closed'
        closed.mkdir(mode=0o700)
        generous = shutil.copy(self.plain, self.bin / 'countrace-generous')
        subprocess.run(['setcap', 'cap_bpf,cap_perfmon,cap_dac_override,'
                        'cap_dac_read_search,cap_chown,cap_fowner+ep',
                        generous], check=True)
        sets = self.capabilities_of(generous, 'record', '--help')
        self.assertEqual(sets['Eff'], BPF_AND_PERFMON)
        self.assertEqual(sets['Prm'], BPF_AND_PERFMON | OVER_FILES)
        set_user_id = shutil.copy(self.plain, self.bin / 'countrace-setuid')
        os.chmod(set_user_id, 0o4755)
        for verb in ('record', 'report'):
            self.assertEqual(set(self.capabilities_of(
                set_user_id, verb, '--help').values()), {0})
        for program in (generous, set_user_id):
            refused = self.user(program, 'record', '--no-kernel', '-o',
                                closed / 'trace', '--', 'true')
            self.assertIn('Permission denied', refused.stderr)
            trace = self.out / f'of-{pathlib.Path(program).name}'
            self.user(program, 'record', '--no-kernel', '-o', trace, '--',
                      'true')
            self.assertEqual(trace.stat().st_uid, USER)

    def test_a_program_names_a_source_file_that_is_closed(self):
        self.needs('gcc')
        source = self.work / 'source.txt'
        source.write_text(f'{SECRET}\n' * 3)
        program = self.out / 'spin'
        (self.out / 'spin.c').write_text(SPIN % source)
        subprocess.run(['gcc', '-g', '-O1', '-o', program,
                        self.out / 'spin.c'], check=True)
        os.chown(program, USER, USER)
        trace = self.out / 'own.ctf'
        recorded = self.user(self.privileged, 'record', '--sample', '997',
                             '-o', trace, '--', program)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)

        def annotated():
            run = self.user(self.privileged, 'annotate', '--all', 'spin',
                            trace)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(source.name, run.stdout)
            return run.stdout + run.stderr
        self.assertIn(SECRET, annotated())  # while all may read it
        source.chmod(0o600)
        self.assertNotIn(SECRET, annotated())

    def test_names_of_tracepoints_lead_nowhere(self):
        secret = self.work / 'secret'
        secret.write_text(SECRET)
        secret.chmod(0o600)
        place = self.out / 'place'
        place.mkdir()
        for name in ('id', 'format'):
            (place / name).symlink_to(secret)
        system = '../' * 8 + str(self.out).lstrip('/')
        for arguments in (
                ('record', '-o', self.out / 'own.ctf', '--hook',
                 f'tracepoint:{system}:place', '--', 'true'),
                ('record', '-o', self.out / 'own.ctf', '-a', '-e',
                 f'{system}:place', '--', 'true'),
                ('stat', '-e', f'{system}:place', '--', 'true'),
                ('list', 'tracepoints', f'{system}:place')):
            run = self.user(self.privileged, *arguments)
            self.assertNotIn(SECRET, run.stdout + run.stderr)
            if 'list' not in arguments:
                self.assertNotEqual(run.returncode, 0)

    def test_the_group_records_the_machine(self):
        denied = self.user(self.privileged, 'version', user=STRANGER)
        self.assertIn('Permission denied', denied.stderr)
        rows = {row['name']: row
                for row in self.doctor(self.privileged, self.user)}
        for name in ('runtime-library', 'privilege', 'tracefs',
                     'kernel-records', 'bpf'):
            self.assertEqual(rows[name]['status'], 'ok', rows[name])

        self.trace = self.out / 'own.ctf'
        tracepoint = 'sched:sched_process_exec'
        run = self.user(
            self.privileged, 'record', '-a', '--kernel', 'syscalls,block',
            '--hook', f'tracepoint:{tracepoint}', '--sample', '499',
            '--offcpu', '1ms', '-o', self.trace, '--', self.workload, 'ticks',
            '1', '25')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('1 processes with hooks joined', run.stderr)
        data = self.report()
        self.check_books(data)
        self.assertIn('syscall:exit_group',
                      {row['segment'] for row in data['segments']})
        hits = {row['hook']: row['hits']
                for row in self.report('--by', 'hook')['hooks']}
        self.assertEqual(hits['workload:tick'], 25)
        self.assertGreater(hits[tracepoint], 0)
        # Processes of other users are in it.
        self.assertGreater(len(data['processes']), 1)
        counted = self.user(self.privileged, 'stat', '-a', '--json', '-e',
                            'sched:sched_switch', '--', self.workload,
                            'ticks', '1', '25')
        self.assertEqual(counted.returncode, 0, counted.stderr)
        self.assertIn('sched:sched_switch', counted.stderr)
        listed = self.user(self.privileged, 'list', 'tracepoints', 'sched:*')
        self.assertIn(tracepoint, listed.stdout.split())
        self.assertIn(tracepoint, self.user(
            self.privileged, 'list', 'events').stdout)


if __name__ == '__main__':
    with_tracefs()
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
