#!/usr/bin/env python3
"""Triggers of recordings through the real `countrace` and real programs: a
slow call causes a snapshot that holds it, a fast one does not.

usage: trigger_test.py COUNTRACE TRIGGER_WORKLOAD RUNTIME_LIBRARY
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

WORKLOAD = None


def info(trace):
    return json.loads(running.countrace('info', '--format', 'json',
                                        trace).stdout)


def segments(trace):
    report = json.loads(running.countrace('report', '--format', 'json',
                                          trace).stdout)
    return {row['segment']: row for row in report['segments']}


class Triggers(running.Running):
    def record(self, triggers, *command, options=('--flight', '4M'),
               kernel=False):
        arguments = ['record', '--force', '-o', self.trace, *options]
        if not kernel:
            arguments.append('--no-kernel')
        for trigger in triggers:
            arguments += ['--trigger', trigger]
        return running.countrace(*arguments, '--', *command)

    def snapshots(self):
        return sorted(self.work.glob('trace.ctf.snapshot-*'),
                      key=lambda path: int(path.name.rsplit('-', 1)[1]))

    def end_before_its_command(self, recorder):
        # The second SIGINT ends it; on a busy machine two may merge into one.
        def ended():
            recorder.send_signal(signal.SIGINT)
            time.sleep(0.2)
            return recorder.poll() is not None
        running.wait_until(ended, 'the recorder ends')
        recorder.communicate(timeout=60)

    def check_snapshot(self, trace, trigger, what):
        self.assertIn('sound', running.countrace('verify', trace).stdout)
        babeltrace = subprocess.run(['babeltrace2', str(trace)], text=True,
                                    capture_output=True, timeout=120,
                                    check=False)
        self.assertEqual(babeltrace.returncode, 0, babeltrace.stderr)
        self.assertNotIn('Error', babeltrace.stderr)
        firing = info(trace)['triggers'][0]
        self.assertEqual(firing['trigger'], trigger)
        self.assertRegex(firing['what'], what)
        for verb in ('info', 'report'):
            self.assertIn(firing['what'],
                          running.countrace(verb, trace).stdout)
        return firing

    def check_state_at(self, trace, said, time_ns):
        """Each verb's text for the trigger's time is an instant."""
        listed = running.countrace('info', trace).stdout
        seconds, clock = re.search(
            r', ([\d.]+ s after the beginning) \(@([\d.]+)\)', listed).groups()
        printed = re.search(r'trigger at ([\d.]+ s): ', said).group(1)
        for text in ('trigger', 'trigger:1', f'@{clock}', str(time_ns),
                     seconds, printed):
            with self.subTest(at=text):
                state = json.loads(running.countrace(
                    'state', '--at', text, '--format', 'json', trace).stdout)
                # Seconds are printed in whole microseconds. A call that hangs
                # has no record: the state is the one after the last.
                at = min(time_ns, state['trace']['end_ns'])
                self.assertIn(at - state['states'][0]['t_ns'], range(1000))

    def test_one_slow_call_of_a_thousand(self):
        # Far longer than the time that a busy machine adds to a fast call.
        trigger = 'segment trigger:call > 200ms'
        run = self.record([trigger + ' after 5ms'], WORKLOAD, 'calls', 1500,
                          1000, 400)
        self.assertEqual(len(self.snapshots()), 1, run.stderr)
        snapshot = self.snapshots()[0]
        firing = self.check_snapshot(snapshot, trigger + ' after 5ms',
                                     r'^trigger:call (took|has taken) '
                                     r'[\d.]+ ms( and goes on)? in tid \d+ '
                                     r'\(trigger_workloa\)$')
        # Reported at once and at the end, with the value and the path.
        self.assertIn(firing['what'], run.stderr)
        self.assertIn(str(snapshot), run.stderr)
        self.assertIn('fired once', run.stderr)
        self.check_state_at(snapshot, run.stderr, firing['time_ns'])
        # That very call is in it, at least its records so far.
        before = re.search(r'trigger:before: \{ arg0 = 1000 \}',
                           '\n'.join(running.script(snapshot)))
        self.assertIsNotNone(before)
        self.assertGreater(firing['time_ns'], info(snapshot)['begin_ns'])
        # The whole trace lists it, too.
        self.assertEqual(info(self.trace)['triggers'], [firing])

    def test_after_waits_for_what_follows(self):
        trigger = 'segment trigger:call > 200ms after 200ms'
        self.record([trigger], WORKLOAD, 'calls', 3000, 1000, 400)
        snapshot = self.snapshots()[0]
        self.check_snapshot(snapshot, trigger, 'trigger:call')
        self.assertRegex('\n'.join(running.script(snapshot)),
                         r'trigger:after: \{ arg0 = 1000 \}')
        self.assertGreaterEqual(segments(snapshot)['trigger:call']
                                ['wall_ns']['max'], 400e6)

    def test_fast_calls_take_none(self):
        run = self.record(['segment trigger:call > 10s'], WORKLOAD, 'calls',
                          2000, 1000, 30)
        self.assertEqual(self.snapshots(), [])
        self.assertIn('"segment trigger:call > 10s" fired 0 times',
                      run.stderr)
        self.assertEqual(info(self.trace)['triggers'], [])

    def test_a_call_that_hangs(self):
        begin = time.monotonic()
        recorder = self.begin('--flight', '4M', '--trigger',
                              'segment trigger:call > 50ms', '--', WORKLOAD,
                              'hang', '60000')
        running.wait_until(lambda: self.snapshots() and
                           not (self.snapshots()[0] / '.incomplete').exists()
                           and (self.snapshots()[0] / 'metadata').exists(),
                           'a snapshot of the hang')
        self.assertLess(time.monotonic() - begin, 50)  # it hangs for 60 s
        self.check_snapshot(self.snapshots()[0], 'segment trigger:call > 50ms',
                            'trigger:call has taken')
        self.end_before_its_command(recorder)

    def test_then_stop_ends_the_recording(self):
        for options in (('--flight', '4M'), ()):
            with self.subTest(options=options):
                trigger = 'hook trigger:before after 1ms then stop'
                begin = time.monotonic()
                # To a file: the command, which continues, also has it open.
                with open(self.work / 'stderr', 'w+',
                          encoding='utf-8') as errors:
                    subprocess.run(
                        [running.COUNTRACE, 'record', '--no-kernel', '--force',
                         '-o', str(self.trace), *options, '--trigger', trigger,
                         '--', WORKLOAD, 'calls', '10', '5', '10000'],
                        stdout=errors, stderr=errors, timeout=60, check=True)
                    self.assertLess(time.monotonic() - begin, 10)
                    errors.seek(0)
                    said = errors.read()
                self.assertEqual(self.snapshots(), [])
                self.check_snapshot(self.trace, trigger,
                                    'trigger:before was reached')
                left = re.search(r'still runs, unrecorded: pid=(\d+)', said)
                os.kill(int(left[1]), signal.SIGKILL)

    def check_part(self, trace, ns, calls):
        """What is counted of a `warm` run: `calls` after the hook, and at
        least the `ns` that the program measured, of trigger:outer in
        them."""
        said = info(trace)['triggers'][0]
        begin = said['time_ns']
        self.assertIn('before are left out', said['what'])
        text = running.countrace('report', trace).stdout
        self.assertIn(said['what'], text)
        self.assertIn(said['what'], running.countrace('info', trace).stdout)
        report = json.loads(running.countrace('report', '--format', 'json',
                                              trace).stdout)
        self.assertEqual(report['trace']['begin_ns'], begin)
        rows = {row['segment']: row for row in report['segments']}
        self.assertEqual(rows['trigger:call']['calls'], calls)
        # It was open: it has its times, without the call.
        outer = rows['trigger:outer']
        self.assertEqual(outer['calls'], 0)
        self.assertGreaterEqual(outer['wall_ns']['incl'], ns)
        self.assertLessEqual(outer['wall_ns']['incl'],
                             report['trace']['end_ns'] - begin)
        slowest = json.loads(running.countrace(
            'report', '--slowest', '100000', 'trigger:call', '--format',
            'json', trace).stdout)
        self.assertEqual(len(slowest['calls']), calls)
        self.assertIn('sound', running.countrace('verify', trace).stdout)
        done = subprocess.run(['babeltrace2', str(trace)], text=True,
                              capture_output=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return report

    def test_then_start_leaves_out_what_came_before(self):
        trigger = 'hook trigger:warm then start'
        for options in ((), ('--flight', '4M'),
                        ('--hook-events', 'page-faults,task-clock')):
            with self.subTest(options=options):
                run = self.record([trigger], WORKLOAD, 'warm', 300, 200, 50,
                                  options=options)
                self.assertEqual(self.snapshots(), [])
                self.check_part(self.trace, int(run.stdout), 200)

    def test_books_balance_from_the_start_on(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: kernel records need root')
        run = self.record(['hook trigger:warm then start'], WORKLOAD, 'warm',
                          300, 200, 300, options=('--sample', '199'),
                          kernel=True)
        report = self.check_part(self.trace, int(run.stdout), 200)
        elapsed = report['trace']['end_ns'] - report['trace']['begin_ns']
        for book in report['books'].values():
            self.assertEqual(book['residual'], 0)
        for row in report['processes']:
            self.assertLessEqual(row['on_cpu_ns'], elapsed)
        over_time = json.loads(running.countrace(
            'report', '--by', 'time', '--every', '10ms', '--format', 'json',
            self.trace).stdout)
        self.assertEqual(over_time['trace']['begin_ns'],
                         report['trace']['begin_ns'])

    def test_a_start_that_is_not_reached_counts_nothing(self):
        run = self.record(['hook trigger:cold then start'], WORKLOAD, 'warm',
                          30, 20, 5, options=())
        self.assertIn('fired 0 times', run.stderr)
        self.assertEqual(segments(self.trace), {})
        for verb in ('info', 'report'):
            self.assertIn('not reached: all of it is left out',
                          running.countrace(verb, self.trace).stdout)
        self.assertIsNone(info(self.trace)['triggers'][0]['time_ns'])

    def test_a_snapshot_leaves_out_the_same(self):
        run = self.record(['hook trigger:warm then start',
                           'hook trigger:warm after 1ms'], WORKLOAD, 'warm',
                          300, 200, 200, options=())
        self.assertEqual(len(self.snapshots()), 1, run.stderr)
        snapshot = segments(self.snapshots()[0])
        self.assertLessEqual(snapshot['trigger:call']['calls'], 200)
        self.assertEqual(snapshot['trigger:outer']['calls'], 0)
        whole = segments(self.trace)
        self.assertEqual(whole['trigger:call']['calls'], 200)

    def test_suppressed_are_counted(self):
        run = self.record(['hook trigger:point at most every 1h'], WORKLOAD,
                          'points', 40, 5)
        self.assertEqual(len(self.snapshots()), 1)
        self.assertIn('fired 40 times, 39 of them suppressed', run.stderr)
        for snapshot in self.snapshots():
            running.shutil.rmtree(snapshot)
        # A busy machine may take a snapshot in more than 100 ms; what fires
        # meanwhile has one together.
        run = self.record(['hook trigger:point at most every 1us '
                           'at most 3 times after 1us'], WORKLOAD, 'points',
                          8, 400)
        self.assertEqual(len(self.snapshots()), 3)
        self.assertIn('fired 8 times, 5 of them suppressed', run.stderr)

    def test_several_triggers_and_without_flight(self):
        self.record(['hook trigger:none', 'segment trigger:c* > 20ms',
                     'hook trigger:after'], WORKLOAD, 'calls', 300, 100, 30,
                    options=())
        self.assertGreaterEqual(len(self.snapshots()), 1)
        fired = {firing['trigger'] for snapshot in self.snapshots()
                 for firing in info(snapshot)['triggers']}
        self.assertEqual(fired, {'segment trigger:c* > 20ms',
                                 'hook trigger:after'})
        run = running.countrace('info', self.trace)
        self.assertIn('segment trigger:c* > 20ms', run.stdout)

    def test_signals(self):
        recorder = self.begin('--flight', '4M', '--trigger', 'signal SIGUSR2',
                              '--trigger', 'signal RTMIN+3', '--', WORKLOAD,
                              'points', '60000', '10')
        running.wait_until(lambda: list(self.trace.glob('thread-*')),
                           'the program runs')
        for index, number in enumerate((signal.SIGUSR2, signal.SIGRTMIN + 3,
                                        signal.SIGUSR1)):
            recorder.send_signal(number)
            taken = self.work / f'trace.ctf.snapshot-{index + 1}'
            running.wait_until((taken / 'metadata').exists, f'{taken}')
            running.wait_until(lambda taken=taken:
                               not (taken / '.incomplete').exists(), 'ended')
        self.check_snapshot(self.snapshots()[0], 'signal SIGUSR2', 'SIGUSR2')
        self.check_snapshot(self.snapshots()[1], 'signal SIGRTMIN+3',
                            'SIGRTMIN')
        self.assertEqual(info(self.snapshots()[2])['triggers'], [])
        self.end_before_its_command(recorder)

    def test_snapshots_have_a_limit_together(self):
        """Of the disk: one that would exceed it is not taken, and that is
        said."""
        trigger = ['hook trigger:point at most every 1us after 1us']
        limit = 256 << 10
        run = self.record(trigger, WORKLOAD, 'points', 40, 25, options=(
            '--flight', '4M', '--snapshots', str(limit)))
        taken = self.snapshots()
        used = sum(file.stat().st_blocks * 512 for snapshot in taken
                   for file in snapshot.iterdir())
        self.assertTrue(taken)
        self.assertLessEqual(used, limit)
        self.assertIn('no further snapshot', run.stderr)
        self.assertRegex(run.stderr,
                         r'not taken, .*: [1-9]\d*; raise --snapshots')
        self.assertRegex(run.stderr, r'[1-9]\d* requests? (was|were) not recorded')
        for snapshot in taken:
            running.shutil.rmtree(snapshot)
        run = self.record(trigger, WORKLOAD, 'points', 40, 5)
        self.assertTrue(self.snapshots())
        self.assertNotIn('not taken', run.stderr)

    def test_a_killed_thread_does_not_hang(self):
        # Its call lasts some 50 ms, on a busy machine more, until it is killed.
        run = self.record(['segment trigger:call > 1s'], WORKLOAD, 'killed',
                          2500)
        self.assertIn('fired 0 times', run.stderr)
        self.assertEqual(self.snapshots(), [])

    def test_system_calls(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: kernel segments need root')
        trigger = 'segment syscall:read > 100ms'
        run = self.record([trigger, 'segment syscall:clock_nanosleep > 1h'],
                          WORKLOAD, 'reads', 1000, 500, 150,
                          options=('--flight', '16M', '--kernel', 'syscalls'),
                          kernel=True)
        if 'need the BPF' in run.stderr or 'Not recorded' in run.stderr:
            self.skipTest('SKIPPED: ' + run.stderr)
        self.assertGreaterEqual(len(self.snapshots()), 1, run.stderr)
        self.check_snapshot(self.snapshots()[0], trigger,
                            'syscall:read (took|has taken)')
        # Kernel hooks have their names in a snapshot, too.
        self.assertIn('syscall:read', segments(self.snapshots()[0]))
        self.assertIn('> 1h" fired 0 times', run.stderr)

    def test_names_that_match_nothing_are_reported(self):
        run = self.record(['segment trigger:point > 1ms', 'hook no:such'],
                          WORKLOAD, 'points', 3, 1)
        self.assertIn('no segment with a matching name', run.stderr)
        self.assertIn('no hook with a matching name', run.stderr)
        run = self.record(['segment syscall:read > 1ms'], 'true')
        self.assertIn('with --kernel syscalls', run.stderr)

    def test_errors_say_where(self):
        for text, column, expected in (
                ('segment a:b', 12, '> TIME'),
                ('segment a:b > 20', 15, '20ms'),
                ('segment ab > 20ms', 9, 'provider:name'),
                ('sgment a:b > 20ms', 1, 'segment server:handle'),
                ('signal SIGKILL', 8, 'SIGUSR2'),
                ('hook a:b then', 14, 'then stop'),
                ('hook a:b then strat', 15, 'then start'),
                ('segment a:b > 1s then start', 23, 'only a hook'),
                ('hook a:b after 1ms then start', 30, 'leave out'),
                ('hook a:b at most 3', 19, 'at most 5 times'),
                ('hook a:b at most 3 times then stop', 35, 'once'),
                ('', 1, 'a condition')):
            with self.subTest(text=text):
                run = running.countrace('record', '--trigger', text, '--',
                                        'true', check=False)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(f'--trigger:1:{column}:', run.stderr)
                self.assertIn(expected, run.stderr)


if __name__ == '__main__':
    running.COUNTRACE, WORKLOAD, running.LIBRARY = sys.argv[1:4]
    running.Recording.countrace_program = running.COUNTRACE
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
