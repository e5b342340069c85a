#!/usr/bin/env python3
"""A recording that lacks something that was asked for never says that nothing
was lost: the recorder, the trace and every verb make the same statement.

usage: honest_loss_test.py COUNTRACE FILE_SIZE_WORKLOAD
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from trace_checks import Recording

PROGRAM = None
CALLS = 30_000
KERNEL_TYPES = pathlib.Path('/sys/kernel/btf')


class HonestLoss(Recording):
    def check_all_verbs_say(self, run):
        """Returns the loss of the report, which is what `run` printed."""
        loss = self.report()['loss']
        self.assertNotEqual('nothing was lost', loss['text'])
        self.assertTrue(loss['is_loss'])
        self.assertIn(loss['text'], run.stderr)
        for verb in ('info', 'verify', 'report'):
            said = self.countrace(verb, self.trace).stdout
            self.assertIn(loss['text'], said)
        for verb in ('verify', 'report', 'script'):
            done = self.countrace(verb, '--fail-on-loss', self.trace,
                                  check=False)
            self.assertEqual(3, done.returncode, (verb, done.stderr))
        return loss

    def check_complete(self, run):
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertIn('nothing was lost', run.stderr)
        self.assertEqual('nothing was lost', self.report()['loss']['text'])

    # Requests that the kernel cannot fulfil.

    def record_without_kernel_types(self, *options):
        self.needs_root()
        self.needs('unshare', 'mount')
        if not KERNEL_TYPES.is_dir():
            self.skipTest(f'SKIPPED: no {KERNEL_TYPES}')
        hide = f'mount -t tmpfs none {KERNEL_TYPES} && exec "$@"'
        trial = subprocess.run(['unshare', '-m', 'sh', '-c', hide, 'sh',
                                'true'], capture_output=True, check=False)
        if trial.returncode != 0:
            self.skipTest(f'SKIPPED: unshare -m: {trial.stderr}')
        self.countrace_program, program = 'unshare', self.countrace_program
        run = self.countrace('-m', 'sh', '-c', hide, 'sh', program, 'record',
                             '--fail-on-loss', '-o', self.trace, *options,
                             '--', 'true', check=False)
        self.countrace_program = program
        return run

    def test_hooks_that_the_kernel_cannot_record_are_refused(self):
        self.needs_back_end('perf')
        for option, words in (('--kernel', 'syscalls'), ('--kernel', 'wakeups'),
                              ('--hook', 'tracepoint:sched:sched_switch')):
            with self.subTest(words=words):
                run = self.record_without_kernel_types(option, words)
                self.assertEqual(1, run.returncode, run.stderr)
                for said in (f'Cannot record {option} {words}',
                             'CONFIG_DEBUG_INFO_BTF', '--best-effort'):
                    self.assertIn(said, run.stderr)
                self.assertFalse(self.trace.exists())

    def test_with_best_effort_they_are_a_loss(self):
        self.needs_back_end('perf')
        run = self.record_without_kernel_types(
            '--best-effort', '--kernel', 'syscalls,wakeups', '-e',
            'task-clock,exec-runtime')
        self.assertEqual(3, run.returncode, run.stderr)
        self.assertIn('Not recorded: --kernel syscalls, --kernel wakeups: ',
                      run.stderr)
        self.assertIn('Not recorded: -e exec-runtime: ', run.stderr)
        self.assertEqual(3, self.check_all_verbs_say(run)['unavailable'])

    def test_the_perf_back_end_records_no_hooks(self):
        for words in ('syscalls', 'wakeups'):
            run = self.countrace('record', '--backend', 'perf', '--kernel',
                                 words, '-o', self.trace, '--', 'true',
                                 check=False)
            self.assertEqual(2, run.returncode, run.stderr)
            self.assertIn('--backend perf', run.stderr)

    # Processes that outlive the command.

    # It has called exec before the command ends.
    AS_SLEEP = 'while ! grep -q sleep /proc/$!/comm; do :; done;'

    def start_in_background(self, *options, before='', after=AS_SLEEP):
        run = self.countrace(
            'record', '--fail-on-loss', '-o', self.trace, *options, '--', 'sh',
            '-c', f'{before} sleep 60 >/dev/null 2>&1 & echo $!; {after} true',
            check=False)
        pid = int(run.stdout)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return run, pid

    def check_goes_on(self, run, pid):
        self.assertEqual(3, run.returncode, run.stderr)
        self.assertIn(f'process {pid} (sleep)', run.stderr)
        loss = self.check_all_verbs_say(run)
        self.assertEqual(1, loss['went_on'])
        self.assertIn('1 process of the command goes on', loss['text'])
        self.assertTrue(any(f'process {pid} (sleep)' in message
                            for message in loss['messages']), loss)

    def test_a_process_that_goes_on_is_named(self):
        self.check_goes_on(*self.start_in_background('--no-kernel'))

    def test_also_without_its_environment(self):
        self.needs_root()
        self.needs_back_end('bpf')
        self.check_goes_on(*self.start_in_background(before='exec env -i'))

    def test_a_process_that_ends_with_the_command_is_not(self):
        run, _ = self.start_in_background('--no-kernel',
                                          after='kill $!; wait;')
        self.check_complete(run)

    def test_a_process_that_is_waited_for_is_recorded(self):
        for options in (('--no-kernel',), ()):
            with self.subTest(options=options):
                run = self.countrace(
                    'record', '--force', '--fail-on-loss', '--wait-all', '-o',
                    self.trace, *options, '--', 'sh', '-c',
                    f'(sleep 0.4; "{PROGRAM}" 0 {CALLS}) & exit 7',
                    check=False)
                self.assertEqual(7, run.returncode, run.stderr)
                self.assertNotIn('go on', run.stderr)
                self.assertEqual(CALLS, sum(
                    row['calls'] for row in self.report()['segments']
                    if row['segment'] == 'limited:call'))

    def test_a_signal_ends_the_waiting(self):
        recorder = subprocess.Popen(
            [self.countrace_program, 'record', '--wait-all', '--no-kernel',
             '-o', self.trace, '--', 'sh', '-c',
             f'sleep 60 >/dev/null 2>&1 & echo $!; {self.AS_SLEEP} true'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        pid = int(recorder.stdout.readline())
        children = f'/proc/{recorder.pid}/task/{recorder.pid}/children'
        while pathlib.Path(children).read_text():
            time.sleep(0.01)
        try:
            recorder.send_signal(signal.SIGINT)
            _, said = recorder.communicate(timeout=30)
            self.assertEqual(0, recorder.returncode, said)
            self.assertIn(f'process {pid} (sleep)', said)
        finally:
            os.kill(pid, signal.SIGKILL)

    def test_whoever_asks_for_a_time_gets_that_time(self):
        self.needs_root()
        self.needs_back_end('bpf')
        run, _ = self.start_in_background('-a')
        self.assertNotIn('go on', run.stderr)
        self.assertEqual(0, self.report()['loss']['went_on'])

    # A trace whose name changes.

    def record_and_rename(self, *options):
        new, ready, go = (self.work / name for name in ('new.ctf', 'ready',
                                                        'go'))
        shell = (f'"{PROGRAM}" 0 {CALLS}; touch {ready}; '
                 f'while [ ! -e {go} ]; do sleep 0.01; done; '
                 f'"{PROGRAM}" 0 {CALLS}; true')
        with subprocess.Popen(
                [self.countrace_program, 'record', '--fail-on-loss', *options,
                 '-o', str(self.trace), '--', 'sh', '-c', shell], text=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while not ready.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            old, self.trace = self.trace, self.trace.rename(new)
            go.touch()
            run = subprocess.CompletedProcess([], None, None,
                                              process.communicate()[1])
        self.assertEqual(3, process.returncode, run.stderr)
        self.assertIn(f'renamed while it was recorded, from {old} to {new}',
                      run.stderr)
        self.assertFalse(old.exists())
        self.assertEqual('finished', self.info()['state'])
        self.check_readable(lossless=False)
        self.check_all_verbs_say(run)
        hits = [row['hits'] for row in self.report('--by', 'hook')['hooks']
                if row['hook'] == 'limited:call']
        self.assertEqual([2 * CALLS], hits)  # of the first program

    def info(self):
        return json.loads(self.countrace('info', '--format', 'json',
                                         self.trace).stdout)

    def test_a_renamed_trace_is_finished_under_its_new_name(self):
        self.record_and_rename('--no-kernel')

    def test_a_renamed_flight_recording_is_finished_too(self):
        self.record_and_rename('--no-kernel', '--flight', '64M')


if __name__ == '__main__':
    Recording.countrace_program, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
