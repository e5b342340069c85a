#!/usr/bin/env python3
"""Threads that the kernel makes for a process (workers of io_uring, its polling
thread) are threads of the process: its CPU time is that of getrusage.

usage: kernel_threads_test.py COUNTRACE URING_WORKLOAD
"""
import json
import os
import re
import subprocess
import sys
import unittest

import trace_checks

PRINTED = re.compile(r'^pid (\d+) cpu_us (\d+)$', re.M)
READS, POLL_MS = 100, 300
BESIDE = 0.02  # of what getrusage shows
# A worker that runs meanwhile: its slice is added at a tick, of 4 ms
# with 250 Hz.
SLICES_NS = 4_000_000 * os.cpu_count()


class KernelThreads(trace_checks.Recording):
    uring = None  # set by main

    def setUp(self):
        super().setUp()
        self.foreign_ns = trace_checks.foreign_ns()
        self.needs_root()
        run = subprocess.run([self.uring, 'async', '1'], text=True,
                             capture_output=True, check=False)
        if run.returncode == 77:
            self.skipTest(run.stdout.strip())

    def record(self, *options, mode=('async', READS)):
        run = self.countrace('record', '--force', '-o', self.trace, *options,
                             '--', self.uring, *mode)
        self.check(run.stdout)
        return self.report()

    def check(self, output):
        """The row of the process, against what it printed."""
        pid, cpu_us = map(int, PRINTED.search(output).groups())
        cpu_ns = 1000 * cpu_us
        data = self.report()
        self.check_books(data)
        row, = (row for row in data['processes'] if row['pid'] == pid)
        # The scheduler's account is the same; stolen time is in on_cpu_ns alone.
        account = row['counts'].get('exec-runtime')  # of the BPF back end
        stolen_ns = (trace_checks.foreign_ns() - self.foreign_ns +
                     trace_checks.UNREPORTED_NS)
        for number, ns, more_ns in (
                ('on_cpu_ns', row['on_cpu_ns'],
                 10 * BESIDE * cpu_ns + stolen_ns),
                ('counts.exec-runtime', account, BESIDE * cpu_ns)):
            if ns is None:
                continue
            low, high = row.get('bounds', {}).get(number, (ns, ns))
            with self.subTest(number=number, cpu_ns=cpu_ns, row=row):
                self.assertLess(low, cpu_ns + more_ns + SLICES_NS)
                self.assertGreater(high or cpu_ns, cpu_ns * (1 - BESIDE))
        names = [thread['comm'] for thread in data['threads']
                 if thread['pid'] == row['pid']]
        self.assertTrue(any(name.startswith('iou-') for name in names), names)
        return row

    def test_a_command(self):
        for back_end in ('bpf', 'perf'):
            with self.subTest(back_end=back_end):
                self.needs_back_end(back_end)
                self.record('--backend', back_end)

    def test_a_polling_thread(self):
        self.record(mode=('sqpoll', POLL_MS))

    def test_marked_by_name(self):
        self.record('-a', '--mark', 'uring*', '--count', 'marked')

    def test_its_samples(self):
        data = self.record('--sample', '997')
        samples = json.loads(self.countrace(
            'report', '--by', 'function', '--format', 'json',
            self.trace).stdout)
        book, = samples['books']
        on_cpu_ns = sum(row['on_cpu_ns'] for row in data['processes'])
        # Some 250 samples have an error of some per cent.
        self.assertGreater(book['processes'], on_cpu_ns / 2, book)
        self.assertLess(book['processes'], on_cpu_ns * 2, book)

    def test_stat(self):
        counts = self.work / 'counts'
        run = self.countrace('stat', '--json', '-o', counts, '--', self.uring,
                             'async', READS)
        cpu_ns = 1000 * int(PRINTED.search(run.stdout)[2])
        numbers = {number['name']: number for number in
                   json.loads(counts.read_text())['numbers']}
        self.assertGreater(numbers['on-cpu']['value'], cpu_ns * (1 - BESIDE),
                           numbers)

    def test_a_process_that_runs(self):
        """Before it has workers, and after."""
        for mode in ('later', 'again'):
            with self.subTest(mode=mode):
                with subprocess.Popen(
                        [self.uring, mode, str(READS)], text=True,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
                    self.assertEqual(program.stdout.readline(), 'ready\n')
                    # The command only says that the recording has begun.
                    with subprocess.Popen(
                            [self.countrace_program, 'record', '--force', '-o',
                             self.trace, '-p', str(program.pid), '--', 'sh',
                             '-c', 'echo begun; cat'], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE) as recorder:
                        if recorder.stdout.readline() != 'begun\n':
                            self.fail(recorder.stderr.read())
                        output, _ = program.communicate('\n')
                        _, talk = recorder.communicate('')
                self.assertEqual(recorder.returncode, 0, talk)
                self.check(output)


if __name__ == '__main__':
    trace_checks.Recording.countrace_program, KernelThreads.uring = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
