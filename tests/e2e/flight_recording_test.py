#!/usr/bin/env python3
"""Flight recordings and snapshots through the real `countrace`: bounded, the
newest records stay, overwritten records are counted, and snapshots are sound
while the recording continues.

usage: flight_recording_test.py COUNTRACE HOOK_WORKLOAD RUNTIME_LIBRARY
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import running_programs_test as running
from trace_checks import babeltrace_counts

MIB = 1 << 20
# The reason is 1 for the end of the recording, and 5 for a snapshot.
DUMP = re.compile(r'\[(?P<s>\d+)\.(?P<ns>\d+)\] cpu-(?P<cpu>\d+) counters: '
                  r'\{ reason = (?P<reason>\d+),')


def report(trace):
    return json.loads(running.countrace('report', '--format', 'json',
                                        trace).stdout)


def disk_bytes(trace):
    return sum(path.stat().st_blocks * 512 for path in trace.iterdir()
               if path.name.startswith(('thread-', 'cpu-')))


class Flight(running.Running):
    def check_sound(self, trace):
        self.assertIn('sound', running.countrace('verify', trace).stdout)
        events, _, errors = babeltrace_counts(trace)
        self.assertEqual(events, len(running.all_lines(trace)))
        self.assertNotIn('Error', errors)

    def check_newest(self, ticks):
        """Ticks of one thread: some of the oldest are missing, none between.
        """
        self.assertEqual(ticks, list(range(ticks[0], ticks[-1] + 1)))

    def check_begin(self, trace, data):
        """The tables begin behind what was overwritten, and nothing in them
        is longer than they are."""
        recorded = int(re.search(r'\bbegin_ns = (\d+);', (
            trace / 'metadata').read_text(encoding='utf-8'))[1])
        self.assertGreater(data['trace']['begin_ns'], recorded)
        length = data['trace']['end_ns'] - data['trace']['begin_ns']
        for cpu in data['cpus']:
            self.assertLessEqual(cpu['wall_ns'], length)
            # No hole: at most the time of a switch that the kernel hid.
            self.assertLess(cpu['unattributed_ns'], length / 2)
        for row in data['segments']:
            self.assertLessEqual(row['wall_ns']['max'], length)
        self.assertTrue(any('were overwritten' in message
                            for message in data['loss']['messages']))

    def check_end(self, trace):
        """Every CPU ends with its last dump; returns the end. The host may stop
        one of them for longer than all that is kept."""
        data = report(trace)
        asked = re.search(r'\bsnapshot_ns = (\d+);', (
            trace / 'metadata').read_text(encoding='utf-8'))
        reason, from_ns = ('5', int(asked[1])) if asked else ('1', 0)
        begin_ns, ends = data['trace']['begin_ns'], {}
        for found in filter(None, map(DUMP.match, running.script(trace))):
            time_ns = int(found['s']) * 10**9 + int(found['ns'])
            if found['reason'] == reason and time_ns >= from_ns:
                ends.setdefault(int(found['cpu']), time_ns)
        self.assertFalse([message for message in data['loss']['messages']
                          if 'without a last counter dump' in message])
        # A CPU may be without records for some time, not without a dump.
        for row in data['cpus']:
            length = ends[row['cpu']] - begin_ns
            self.assertGreater(row['wall_ns'], length / 2)
            self.assertLessEqual(row['wall_ns'], length)
        return data['trace']['end_ns']

    def ticking(self, *options, pause_us=50):
        process = self.start_ticks(pause_us=pause_us)
        recorder = self.begin('-p', str(process.pid), *options)
        self.await_joined(process)
        return process, recorder

    def begin_with_kernel(self):
        recorder = subprocess.Popen(
            [running.COUNTRACE, 'record', '-a', '--flight', '2M', '--kernel',
             'syscalls', '-o', str(self.trace)], stderr=subprocess.PIPE,
            text=True)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        self.addCleanup(recorder.stderr.close)
        return recorder

    def wait_for_overwriting(self, recorder):
        running.wait_until(
            lambda: any(path.stat().st_size > path.stat().st_blocks * 512 +
                        512 * 1024 for path in self.trace.glob('thread-*')),
            'something was overwritten')
        self.assertIsNone(recorder.poll())

    def test_emitted_is_kept_and_overwritten(self):
        for size, threads, ticks in ((1, 1, 300000), (4, 4, 300000),
                                     (64, 2, 100000)):
            with self.subTest(size=size, threads=threads):
                run = running.countrace(
                    'record', '--no-kernel', '--flight', f'{size}M', '--force',
                    '-o', self.trace, '--', running.WORKLOAD, 'ticks', threads,
                    ticks)
                emitted = sum(int(count) for count in re.findall(
                    r'^emitted \d+ (\d+)$', run.stdout, re.M))
                self.assertEqual(emitted, threads * ticks)
                self.check_sound(self.trace)
                loss = report(self.trace)['loss']
                kept = len(running.script(self.trace))
                self.assertEqual(kept + loss['discarded_events'], emitted)
                self.assertEqual(set(loss['by_cause']) - {'trace_full'}, set())
                self.assertLessEqual(disk_bytes(self.trace), (size + max(size, 64) + 1) * MIB)
                if size == 64:
                    self.assertEqual(kept, emitted)

    def test_newest_of_a_time_stay(self):
        """What is older than 2 s goes, nothing that is younger."""
        # Not millions of records: babeltrace2 reads them, too.
        process, recorder = self.ticking('--flight', '2s', pause_us=4000)
        self.wait_for_overwriting(recorder)
        time.sleep(3)
        errors = self.end(recorder)
        ended_ns = time.monotonic_ns()
        self.assertIsNone(process.poll())
        self.check_sound(self.trace)
        self.assertIn('keeping the newest 2.00 s, at most ', errors)
        self.assertNotIn('has less than the newest', errors)
        rows = report(self.trace)
        self.assertGreater(rows['loss']['discarded_events'], 0)
        # A busy machine may stop the program a while before the recording ends.
        self.assertLessEqual(rows['trace']['begin_ns'],
                             ended_ns - 2_000_000_000)

    def test_a_time_that_does_not_fit_is_said(self):
        _, recorder = self.ticking('--flight', '1h', '--size', '1M')
        self.wait_for_overwriting(recorder)
        errors = self.end(recorder)
        self.assertIn('keeping the newest 3600 s', errors)
        self.assertIn('has less than the newest', errors)
        self.assertIn('more than 1.0 MiB; a larger --size keeps them', errors)
        self.check_sound(self.trace)

    def test_a_chain_of_traces_has_no_gaps(self):
        self.needs_root()
        goes_on = self.work / 'goes-on'
        goes_on.touch()
        recorder = subprocess.Popen(
            [running.COUNTRACE, 'record', '--split', '1s', '--keep', '2s', '-o',
             str(self.trace), '--', 'sh', '-c',
             f'while test -e "{goes_on}"; do sleep 0.04; done'],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        self.addCleanup(recorder.stderr.close)
        seen = {}

        def snapshots():
            return sorted(self.work.glob('trace.ctf.snapshot-*'),
                          key=lambda path: int(path.name.rsplit('-', 1)[1]))

        def look():
            for snapshot in snapshots():
                number = int(snapshot.name.rsplit('-', 1)[1])
                if number in seen or (snapshot / '.incomplete').exists():
                    continue
                try:
                    trace = json.loads(running.countrace(
                        'report', '--format', 'json', snapshot).stdout)['trace']
                except AssertionError:
                    continue  # removed meanwhile
                seen[number] = trace['begin_ns'], trace['end_ns']
            return len(seen) >= 6
        running.wait_until(look, 'six snapshots')
        goes_on.unlink()
        errors = recorder.communicate(timeout=60)[1]
        self.assertEqual(recorder.returncode, 0, errors)
        self.assertIn('times 1.00 s have passed', errors)
        for number, (begin, _) in seen.items():
            if number - 1 in seen:
                self.assertLessEqual(begin, seen[number - 1][1], seen)
        left = [int(path.name.rsplit('-', 1)[1]) for path in snapshots()]
        # One is taken each second or later; older ones go with the next one.
        self.assertLessEqual(len(left), 4, left)
        self.assertEqual(max(left), max(left[0] + len(left) - 1, max(seen)))

    def test_newest_stay(self):
        process, recorder = self.ticking('--flight', '2M')
        self.wait_for_overwriting(recorder)
        before = self.committed()
        errors = self.end(recorder)
        self.assertIsNone(process.poll())
        self.check_sound(self.trace)
        # On a busy machine the recorder may be too late to release space, or
        # the program's helper thread to prepare a sub-buffer.
        kept_up = (' 0 of the newest' in errors and
                   'no_sub_buffer' not in errors)
        found = running.by_thread(running.script(self.trace), 'workload:tick')
        self.assertEqual(len(found), 2)
        for ticks in found.values():
            if not kept_up:
                continue
            self.check_newest(ticks)
            self.assertGreaterEqual(ticks[-1], min(before[:2]) - 1)
        self.assertGreater(report(self.trace)['loss']['discarded_events'], 0)
        self.assertLess(disk_bytes(self.trace), 5 * MIB)
        # The holes are part of the files' size, not of the disk.
        size = json.loads(running.countrace('info', '--format', 'json',
                                            self.trace).stdout)
        self.assertEqual(size['disk_bytes'], disk_bytes(self.trace))
        self.assertGreater(size['bytes'], size['disk_bytes'])
        self.assertRegex(running.countrace('info', self.trace).stdout,
                         r'MiB on disk, .*MiB with holes')

    def test_snapshots_while_it_goes_on(self):
        process, recorder = self.ticking('--flight', '2M')
        self.wait_for_overwriting(recorder)
        for index, name in enumerate((self.trace, recorder.pid, process.pid)):
            snapshot = self.work / f'snapshot-{index}.ctf'
            running.countrace('snapshot', '-o', snapshot, name)
            self.check_sound(snapshot)
            found = running.by_thread(running.script(snapshot),
                                      'workload:tick')
            self.assertEqual(len(found), 2)
            for ticks in found.values():
                self.assertEqual(ticks, sorted(set(ticks)))
        recorder.send_signal(signal.SIGUSR1)
        taken = self.work / 'trace.ctf.snapshot-1'
        running.wait_until((taken / 'metadata').exists, 'a snapshot')
        running.wait_until(lambda: not (taken / '.incomplete').exists(),
                           'a finished one')
        self.check_sound(taken)
        self.assertIn(str(taken), self.end(recorder))
        self.check_sound(self.trace)

    def test_snapshot_of_a_recording_that_grows(self):
        process = self.start('long', 1)
        recorder = self.begin('-p', str(process.pid))
        self.await_joined(process)
        previous = 0
        for index in range(3):
            snapshot = self.work / f'snapshot-{index}.ctf'
            running.countrace('snapshot', '-o', snapshot, self.trace)
            self.check_sound(snapshot)
            records = len(running.script(snapshot))
            self.assertGreaterEqual(records, previous)
            previous = records
        self.end(recorder)
        self.check_sound(self.trace)
        self.assertGreaterEqual(len(running.script(self.trace)), previous)

    def test_recorder_killed(self):
        process, recorder = self.ticking('--flight', '2M')
        self.wait_for_overwriting(recorder)
        recorder.kill()
        recorder.wait()
        self.await_left(process)
        running.countrace('recover', self.trace)
        self.check_sound(self.trace)
        found = running.by_thread(running.script(self.trace), 'workload:tick')
        for ticks in found.values():
            self.assertEqual(ticks, sorted(set(ticks)))

    def test_with_the_kernel_side(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        process = self.start_ticks(pause_us=50)
        recorder = self.begin_with_kernel()
        self.await_joined(process)
        self.wait_for_overwriting(recorder)
        time.sleep(0.5)
        snapshot = self.work / 'snapshot.ctf'
        for _ in range(10):  # the recorder may have no time for the dumps
            run = running.countrace('snapshot', '--force', '-o', snapshot,
                                    self.trace)
            if 'without the last counters' not in run.stderr:
                break
        self.assertNotIn('without the last counters', run.stderr)
        self.check_sound(snapshot)
        # The recording has several snapshots' dumps; each has its own end.
        time.sleep(0.1)
        recorder.send_signal(signal.SIGUSR1)
        taken = self.work / 'trace.ctf.snapshot-1'
        running.wait_until((taken / 'metadata').exists, 'a snapshot')
        running.wait_until(lambda: not (taken / '.incomplete').exists(),
                           'a finished one')
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=60)
        self.check_sound(self.trace)
        ends = []
        for trace in (snapshot, taken, self.trace):
            ends.append(self.check_end(trace))
        self.assertEqual(ends, sorted(set(ends)))
        for trace in (snapshot, taken, self.trace):
            data = report(trace)
            for book in data['books'].values():
                self.assertEqual(book['residual'], 0)
            comms = {row['pid']: row['comm'] for row in data['processes']}
            self.assertEqual(comms[process.pid], 'hook_workload')
            self.check_begin(trace, data)

    def test_last_dumps_while_much_is_overwritten(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        # The program's records drive out those of CPUs, and all this has the
        # CPUs while `snapshot` waits for one.
        process = self.start_ticks(pause_us=50)
        for _ in range(os.cpu_count()):
            busy = subprocess.Popen(
                ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1'],
                stderr=subprocess.DEVNULL)
            self.addCleanup(busy.wait)
            self.addCleanup(busy.kill)
        recorder = self.begin_with_kernel()
        self.await_joined(process)
        self.wait_for_overwriting(recorder)
        ends = []
        for i in range(8):
            snapshot = self.work / f'snapshot-{i}.ctf'
            run = subprocess.run(
                ['nice', '-n', '5', running.COUNTRACE, 'snapshot', '-o',
                 snapshot, self.trace], stderr=subprocess.PIPE, text=True,
                check=True, timeout=60)
            if 'without the last counters' in run.stderr:
                continue  # the recorder had no time for them
            ends.append(self.check_end(snapshot))
        self.assertTrue(ends)
        self.assertEqual(ends, sorted(set(ends)))

    def test_a_process_has_its_name_after_its_exec_is_overwritten(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        recorder = subprocess.Popen(
            [running.COUNTRACE, 'record', '-a', '--flight', '1M', '--kernel',
             'syscalls', '-o', str(self.trace)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        for close in (recorder.wait, recorder.kill, recorder.stderr.close,
                      recorder.stdout.close):
            self.addCleanup(close)
        running.wait_until((self.trace / '.session').exists, 'a recording')
        # The first packet of each stream stays; program comes behind it.
        for _ in range(os.cpu_count()):
            self.start_copy()
        running.wait_until(
            lambda: all(path.stat().st_size > path.stat().st_blocks * 512
                        for path in self.trace.glob('cpu-*')),
            'something was overwritten on each CPU')
        program = self.start_copy()
        for number in range(20):
            time.sleep(0.5)
            snapshot = self.work / f'snapshot-{number}.ctf'
            running.countrace('snapshot', '-o', snapshot, self.trace)
            lines = running.countrace('script', snapshot).stdout
            if not re.search(rf'exec: .*\bpid = {program.pid},', lines):
                break
        else:
            self.fail('its exec record was never overwritten')
        data = report(snapshot)
        names = {row['pid']: row['comm'] for row in data['processes']}
        self.assertEqual('dd', names[program.pid])
        self.assertEqual(1, sum(row['tid'] == program.pid
                                for row in data['threads']))
        self.end(recorder)

    def test_a_stopped_recorder_dumps_nothing(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        recorder = subprocess.Popen(
            [running.COUNTRACE, 'record', '-o', str(self.trace), '--',
             'sleep', '60'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        for close in (recorder.wait, recorder.kill, recorder.stderr.close,
                      recorder.stdout.close):
            self.addCleanup(close)
        running.wait_until((self.trace / '.session').exists, 'a recording')
        recorder.send_signal(signal.SIGSTOP)
        snapshot = self.work / 'stopped.ctf'
        run = running.countrace('snapshot', '-o', snapshot, self.trace)
        recorder.send_signal(signal.SIGCONT)
        self.assertIn('did not dump the counters within 1 s', run.stderr)
        self.assertIn('end without the last counters', run.stderr)
        self.check_sound(snapshot)
        metadata = (snapshot / 'metadata').read_text(encoding='utf-8')
        self.assertNotIn('snapshot_ns', metadata)
        recorder.send_signal(signal.SIGINT)
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=60)

    def start_copy(self):
        program = subprocess.Popen(
            ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1'],
            stderr=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def test_errors(self):
        self.start_ticks()
        running.countrace('record', '--no-kernel', '-o', self.trace, '--',
                          'true')
        for status, text, arguments in (
                (1, 'is finished', ('snapshot', self.trace)),
                (1, 'no trace', ('snapshot', self.work / 'none')),
                (1, 'no process', ('snapshot', '99999999')),
                (2, 'no size (64M) and no time (1h)', ('record', '--flight', '1x', '--', 'true')),
                (2, '--size', ('record', '--flight', '1M', '--size', '2M', '--', 'true')),
                (2, '--mode', ('record', '--flight', '1M', '--mode', 'discard',
                               '--', 'true'))):
            with self.subTest(arguments=arguments):
                run = running.countrace(*arguments, check=False)
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertIn(text, run.stderr)
        _, recorder = self.ticking('--force')
        (self.work / 'there').mkdir()
        run = running.countrace('snapshot', '-o', self.work / 'there',
                                self.trace, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn('there', run.stderr)
        self.end(recorder)

    def test_force_replaces_a_snapshot_and_nothing_else(self):
        _, recorder = self.ticking()
        snapshot = self.work / 'snapshot.ctf'
        running.countrace('snapshot', '-o', snapshot, self.trace)
        first = (snapshot / 'metadata').stat().st_mtime_ns
        taken = running.countrace('snapshot', '-o', snapshot, self.trace,
                                  check=False)
        self.assertEqual(taken.returncode, 1)
        self.assertIn('--force replaces it', taken.stderr)
        running.countrace('snapshot', '--force', '-o', snapshot, self.trace)
        self.assertNotEqual((snapshot / 'metadata').stat().st_mtime_ns, first)
        self.check_sound(snapshot)
        other = self.work / 'other'
        other.mkdir()
        (other / 'notes').write_text('mine', encoding='utf-8')
        for output, text in ((other, 'not a countrace trace'),
                             (self.trace, 'being recorded')):
            with self.subTest(output=output.name):
                refused = running.countrace('snapshot', '--force', '-o',
                                            output, self.trace, check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(text, refused.stderr)
        self.assertTrue((other / 'notes').exists())
        self.end(recorder)
        # A failed snapshot keeps the old one.
        failed = running.countrace('snapshot', '--force', '-o', snapshot,
                                   self.trace, check=False)
        self.assertIn('is finished', failed.stderr)
        self.check_sound(snapshot)


if __name__ == '__main__':
    running.COUNTRACE, running.WORKLOAD, running.LIBRARY = sys.argv[1:4]
    running.Recording.countrace_program = running.COUNTRACE
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
