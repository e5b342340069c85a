#!/usr/bin/env python3
"""A recording begins with what it needs and no more: only the BPF programs that
are used are loaded, and the kernel's types are read once.

usage: recording_start_test.py COUNTRACE PROBED_WORKLOAD
"""
import json
import pathlib
import re
import subprocess
import sys
import time
import unittest

from trace_checks import Recording

WORKLOAD = None
ALL = ('--kernel', 'wakeups,syscalls,irq,softirq,faults,block', '--sample',
       '99', '--offcpu', '1ms')


def program_names(pid):
    """Names of the BPF programs that a process holds."""
    ids = set()
    for info in pathlib.Path(f'/proc/{pid}/fdinfo').iterdir():
        try:
            ids |= set(re.findall(r'^prog_id:\s+(\d+)', info.read_text(), re.M))
        except OSError:  # closed meanwhile
            continue
    text = subprocess.run(['bpftool', '-j', 'prog', 'show'], text=True,
                          capture_output=True, timeout=60, check=True).stdout
    # Some bpftools print whole names, others the 15 bytes that the kernel has.
    return sorted(program['name'][:15] for program in json.loads(text)
                  if str(program['id']) in ids and 'name' in program)


class RecordingStart(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs('bpftool')
        self.needs_back_end('bpf')

    def programs_of(self, *options):
        ready = self.work / 'ready'
        with subprocess.Popen(
                [self.countrace_program, 'record', '-q', '--force', '-o',
                 self.trace, *options, '--', 'sh', '-c',
                 f'echo > {ready}; read line'],
                stdin=subprocess.PIPE) as recorder:
            deadline = time.monotonic() + 60
            while not ready.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            names = program_names(recorder.pid)
        ready.unlink()
        return names

    def test_the_types_of_the_kernel_are_read_once(self):
        self.needs_strace()
        calls = self.work / 'calls'
        subprocess.run(
            ['strace', '-f', '-e', 'trace=openat', '-o', calls,
             self.countrace_program, 'record', '-q', '-o', self.trace, *ALL,
             '--', 'true'], capture_output=True, timeout=120, check=True)
        self.assertEqual(calls.read_text().count('/sys/kernel/btf/vmlinux"'), 1)

    def test_only_the_programs_that_are_used_are_loaded(self):
        hooks = {'on_user_probe', 'on_tracepoint', 'on_syscall_ente',
                 'on_irq_enter', 'on_softirq_ente', 'name_code', 'on_waking'}
        probe = ('--hook', f'uprobe:{WORKLOAD}:stepped_300')
        for options, used in (
                ((), set()),
                (('--kernel', 'syscalls'), {'on_syscall_ente'}),
                (probe, {'on_user_probe'}),
                (('--hook', 'tracepoint:sched:sched_process_exec'),
                 {'on_tracepoint'}),
                (('--kernel', 'wakeups', '--sample', '99'),
                 {'on_waking', 'name_code'})):
            with self.subTest(options=options):
                names = self.programs_of(*options)
                self.assertIn('on_switch', names)
                self.assertEqual(hooks & set(names), used)
                # One for all probes.
                of_probes = [name for name in names
                             if name.startswith('on_user_probe')]
                self.assertEqual(len(of_probes), 1 if 'on_user_probe' in used
                                 else 0)


if __name__ == '__main__':
    Recording.countrace_program, WORKLOAD = map(
        lambda path: str(pathlib.Path(path).resolve()), sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
