#!/usr/bin/env python3
"""Whose the processes of a trace are: their users, their cgroups, their numbers
in pid namespaces. Both back ends.

usage: owners_test.py COUNTRACE PAGE_TOUCHER
"""
import os
import pathlib
import pwd
import re
import subprocess
import sys
import unittest.mock

import trace_checks

OTHER_USER = 65534
UNKNOWN = '[unknown]'


def cgroup_mount():
    with open('/proc/self/mounts', encoding='utf-8') as mounts:
        for line in mounts:
            if line.split()[2] == 'cgroup2':
                return pathlib.Path(line.split()[1])
    return None


class Owners(trace_checks.Recording):
    toucher = None  # set by main

    def setUp(self):
        super().setUp()
        self.needs_root()

    def in_both(self, check):
        for back_end in ('bpf', 'perf'):
            with self.subTest(back_end=back_end):
                self.needs_back_end(back_end)
                check(back_end)

    def record(self, back_end, *arguments, environment=None):
        with unittest.mock.patch.dict(os.environ, environment or {}):
            return self.countrace('record', '--force', '--backend', back_end,
                                  '-o', self.trace, *arguments)

    def rows(self, *options):
        data = self.report(*options)
        self.check_books(data)
        return data['processes']

    def make_cgroups(self, *names):
        """Cgroups below the mount, the outer ones first."""
        mount = cgroup_mount()
        if mount is None:
            self.skipTest('SKIPPED: no cgroup v2 is mounted')
        for name in names:
            try:
                (mount / name).mkdir()
            except OSError as error:
                self.skipTest(f'SKIPPED: cannot make a cgroup: {error}')
            self.addCleanup((mount / name).rmdir)
        return mount

    def test_users(self):
        name = pwd.getpwuid(OTHER_USER).pw_name
        # One execs as another user; one becomes it, runs on and lives at the
        # end; one becomes it and ends.
        # All on one CPU: another one has no records of the time when they begin.
        code = (f'import os, time\n'
                f'os.sched_setaffinity(0, {{max(os.sched_getaffinity(0))}})\n'
                f'if os.fork() == 0:\n'
                f'    os.setuid({OTHER_USER})\n'
                f'    os.execv("{self.toucher}", ["{self.toucher}", "300"])\n'
                f'if os.fork() == 0:\n'
                f'    os.setuid({OTHER_USER})\n'
                f'    os.closerange(0, 3)\n'  # the test waits for its end
                f'    time.sleep(3)\n'
                f'    os._exit(0)\n'
                f'if os.fork() == 0:\n'
                f'    os.setuid({OTHER_USER})\n'
                f'    os._exit(0)\n'
                f'os.wait(); os.wait()\n')

        def check(back_end):
            self.record(back_end, '--', sys.executable, '-c', code)
            rows = self.rows()
            by_pid = {row['pid']: row for row in rows}
            root = [row for row in rows if row['user'] == 'root']
            self.assertEqual([row['comm'][:6] for row in root][:1], ['python'])
            others = [row for row in rows if row['user'] == name]
            self.assertEqual({row['uid'] for row in others}, {OTHER_USER})
            # The perf back end does not see the change of one that ends.
            self.assertEqual(len(others), 3 if back_end == 'bpf' else 2, rows)
            self.assertIn('page_toucher', [row['comm'] for row in others])
            self.assertEqual(len(by_pid), 4)
            groups = self.rows('--by', 'user')
            self.assertEqual({row['user'] for row in groups}, {'root', name})
            for group in groups:
                own = [row for row in rows if row['user'] == group['user']]
                self.assertEqual(group['processes'], len(own))
                self.assertEqual(group['on_cpu_ns'],
                                 sum(row['on_cpu_ns'] for row in own))
            same = self.rows('--by', 'process', '--group-by', 'user')
            self.assertEqual(same, groups)
            text = self.countrace('report', '--by', 'user', self.trace).stdout
            self.assertRegex(text, rf'(?m)^ *{name} ')
            if back_end == 'bpf':
                self.check_readable()
        self.in_both(check)

    def test_users_of_a_directory_service(self):
        """Their names are looked up when nothing is recorded any more: an
        answer may take as long as a network."""
        self.needs('gcc')
        source, library = self.work / 'names.c', self.work / 'names.so'
        log, ended = self.work / 'log', self.work / 'ended'
        source.write_text(f'''
#define _GNU_SOURCE
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int getpwuid_r(uid_t uid, struct passwd* entry, char* buffer, size_t bytes,
               struct passwd** result) {{
  if (strcmp(program_invocation_short_name, "countrace") == 0) {{
    FILE* file = fopen("{log}", "a");
    fprintf(file, "%u %d\\n", uid, access("{ended}", F_OK) == 0);
    fclose(file);
  }}
  memset(entry, 0, sizeof(*entry));
  entry->pw_name = strcpy(buffer, "remote");
  entry->pw_uid = uid;
  *result = entry;
  return bytes == 0 ? ERANGE : 0;
}}
''')
        subprocess.run(['gcc', '-shared', '-fPIC', source, '-o', library],
                       check=True, timeout=60)
        self.needs('setpriv')

        def check(back_end):
            log.unlink(missing_ok=True)
            ended.unlink(missing_ok=True)
            # The rings are read every 10 ms.
            script = (f'setpriv --reuid 43215 sleep 0.05; sleep 0.2; '
                      f'touch {ended}')
            self.record(back_end, '--', 'env', '-u', 'LD_PRELOAD', 'sh', '-c',
                        script, environment={'LD_PRELOAD': str(library)})
            # The perf back end may not see whose `touch` was, and on a busy
            # machine whose `sleep`.
            users = {row['user'] for row in self.rows()}
            if back_end == 'perf' and 'remote' not in users:
                self.assertIn(UNKNOWN, users)
                return
            self.assertEqual(log.read_text(), '43215 1\n')
            self.assertEqual(users - {UNKNOWN}, {'root', 'remote'})
        self.in_both(check)

    def test_cgroups(self):
        outer = f'countrace-test-{os.getpid()}'
        mount = self.make_cgroups(outer, f'{outer}/a', f'{outer}/b')
        script = (f'echo $$ > {mount}/{outer}/a/cgroup.procs; '
                  f'{self.toucher} 10; '
                  f'echo $$ > {mount}/{outer}/b/cgroup.procs; '
                  f'{self.toucher} 10; echo $$ > {mount}/cgroup.procs')

        def check(back_end):
            self.record(back_end, '--', 'sh', '-c', f"sh -c '{script}'; true")
            rows = self.rows()
            touchers = sorted(row['cgroup'] for row in rows
                              if row['comm'] == 'page_toucher')
            self.assertEqual(len(touchers), 2)
            known = [path for path in touchers if path != UNKNOWN]
            self.assertEqual(len(set(known)), len(known))
            self.assertLessEqual(set(known), {f'/{outer}/a', f'/{outer}/b'})
            if back_end == 'bpf':  # perf reads /proc, maybe when it is gone
                self.assertEqual(len(known), 2)
            groups = self.rows('--by', 'cgroup')
            self.assertEqual(sum(row['processes'] for row in groups),
                             len(rows))
            cgroups = {row['cgroup'] for row in groups}
            self.assertEqual(len(cgroups), len(groups))
            self.assertLessEqual(set(touchers), cgroups)
            if back_end == 'bpf':
                self.assertNotIn(UNKNOWN, cgroups)
            where = self.rows('--by', 'cgroup', '--where',
                              'comm == "page_toucher"')
            self.assertEqual(len(where), 2)
        self.in_both(check)

    def test_a_process_that_was_gone_when_the_recorder_looked(self):
        outer = f'countrace-test-{os.getpid()}'
        mount = self.make_cgroups(outer)
        # The recorder sleeps over the life of a program elsewhere. It is the
        # parent of the command.
        script = (f'kill -STOP $PPID; echo $$ > {mount}/{outer}/cgroup.procs; '
                  f'{self.toucher} 1; echo $$ > {mount}/cgroup.procs; '
                  f'kill -CONT $PPID')

        def check(back_end):
            self.record(back_end, '--', 'sh', '-c', script)
            own, = [row for row in self.rows()
                    if row['comm'] == 'page_toucher']
            self.assertEqual(own['cgroup'],
                             f'/{outer}' if back_end == 'bpf' else UNKNOWN)
            self.assertEqual(own['user'],
                             'root' if back_end == 'bpf' else UNKNOWN)
        self.in_both(check)

    def test_a_container_by_its_id(self):
        # As Docker, Podman and Kubernetes name them.
        outer = f'countrace-test-{os.getpid()}'
        names = [f'docker-{os.getpid()}aa17.scope',
                 f'cri-containerd-{os.getpid()}ab18.scope',
                 f'{os.getpid()}ab18.scope']
        inner = f'{outer}/{names[0]}/{os.getpid()}aa17'
        mount = self.make_cgroups(outer, *(f'{outer}/{name}'
                                           for name in names), inner)

        def check(back_end):
            self.record(back_end, '-a', '--mark',
                        f'cgroup:{os.getpid()}aa', '--', 'sh', '-c',
                        f'sh -c "echo 0 > {mount}/{inner}/cgroup.procs; '
                        f'exec {self.toucher} 300"')
            row, = self.rows()
            self.assertEqual((row['comm'], row['cgroup']),
                             ('page_toucher', f'/{inner}'))
        self.in_both(check)
        for prefix, status, said in (
                ('zz-none', 1, ['no cgroup has a name that begins so']),
                (f'{os.getpid()}ab', 2, [
                    f'2 cgroups have a name that begins so: write one of '
                    f'cgroup:/{outer}/{names[2]}, cgroup:/{outer}/{names[1]}']),
                (f'/{outer}/gone', 1, ['there is no directory'])):
            run = self.countrace('record', '--force', '-o', self.trace, '-a',
                                 '--mark', f'cgroup:{prefix}', '--', 'true',
                                 check=False)
            self.assertEqual(run.returncode, status, run.stderr)
            for text in said:
                self.assertIn(text, run.stderr)

    def test_the_whole_system_has_no_unknown_owner(self):
        def running():
            return {int(name) for name in os.listdir('/proc') if name.isdigit()}

        def check(back_end):
            before = running()
            self.record(back_end, '-a', '--', self.toucher, '300')
            known = before & running()
            rows = self.rows()
            named = [row for row in rows if row['user'] != UNKNOWN]
            self.assertIn('page_toucher', [row['comm'] for row in named])
            # Some were forked before the first record, and ended before a look
            # at /proc.
            if back_end == 'bpf':
                known |= set(map(int, re.findall(
                    r' fork: .*\bpid = (\d+)',
                    self.countrace('script', self.trace).stdout)))
                self.assertFalse([row for row in rows if row not in named and
                                  row['pid'] in known])
            self.assertIn('root', [row['user'] for row in
                                   self.rows('--by', 'user')])
        self.in_both(check)

    def test_numbers_in_pid_namespaces(self):
        self.needs('unshare')

        def check(back_end):
            run = self.record(back_end, '--', 'unshare', '-pmf',
                              '--mount-proc', self.toucher, '300')
            own = int(re.search(r'pid (\d+) pages', run.stdout).group(1))
            self.assertEqual(own, 1)
            row, = [row for row in self.rows()
                    if row['comm'] == 'page_toucher']
            self.assertGreater(row['pid'], 1)
            self.assertEqual(row['own_pid'], own)
            self.assertEqual(row['host_pid'], row['pid'])
            text = self.countrace('report', '--by', 'process', self.trace)
            self.assertIn('own pid', text.stdout)
        self.in_both(check)

    def test_numbers_of_a_recorder_in_a_namespace(self):
        self.needs('unshare')
        self.needs_back_end('bpf')
        program = subprocess.Popen(
            ['unshare', '-pmf', '--mount-proc', 'sh', '-c',
             f'{self.countrace_program} record --force -o {self.trace} -- '
             f'{self.toucher} 400; true'], stdout=subprocess.PIPE, text=True)
        found = subprocess.run(
            'until pgrep -x page_toucher; do sleep 0.01; done', shell=True,
            text=True, capture_output=True, check=True, timeout=20)
        own = int(re.search(r'pid (\d+) pages',
                            program.communicate(timeout=60)[0]).group(1))
        row, = [row for row in self.rows() if row['comm'] == 'page_toucher']
        self.assertEqual(row['pid'], own)
        self.assertEqual(row['own_pid'], own)
        self.assertIn(str(row['host_pid']), found.stdout.split())
        self.assertNotEqual(row['host_pid'], own)


if __name__ == '__main__':
    Owners.countrace_program, Owners.toucher = sys.argv[1:3]
    trace_checks.unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
