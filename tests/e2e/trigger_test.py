#!/usr/bin/env python3
"""Triggers of recordings through the real `countrace` and real programs: a
slow call causes a snapshot that holds it, a fast one does not.

usage: trigger_test.py COUNTRACE TRIGGER_WORKLOAD RUNTIME_LIBRARY
"""
import json
import os
import pathlib
import re
import shlex
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


def at(time_ns):
    return f'@{time_ns // 10**9}.{time_ns % 10**9:09}'


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
        self.record([trigger], WORKLOAD, 'calls', 3000, 1000, 300)
        snapshot = self.snapshots()[0]
        until_ns = 200_000_000 + self.check_snapshot(
            snapshot, trigger, 'trigger:call')['time_ns']
        # On a busy machine the call may end later than that. The last record
        # may be one that its thread was about to write.
        expected = [line for line in self.jsonl(self.trace)
                    if json.loads(line)['time_ns'] <= until_ns][:-1]
        self.assertGreaterEqual(len(expected), 1999)  # up to trigger:before
        self.assertEqual(expected, self.jsonl(snapshot)[:len(expected)])
        if any(json.loads(line)['event'] == 'trigger:after'
               for line in expected[:-1]):
            self.assertGreaterEqual(segments(snapshot)['trigger:call']
                                    ['wall_ns']['max'], 300e6)

    def jsonl(self, trace):
        return running.countrace('script', '--format', 'jsonl',
                                 trace).stdout.splitlines()

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
        if 'trigger:call' in snapshot:  # at 1 ms there may be none yet
            self.assertLessEqual(snapshot['trigger:call']['calls'], 200)
        self.assertEqual(snapshot['trigger:outer']['calls'], 0)
        whole = segments(self.trace)
        self.assertEqual(whole['trigger:call']['calls'], 200)

    PAUSES = ['hook trigger:pause then pause', 'hook trigger:resume then resume']

    def check_paused(self, run, rounds, calls, ms):
        """What is counted of a `paused` run: its calls outside of the pauses,
        and trigger:outer without their time."""
        kept_ns, all_ns = map(int, run.stdout.split())
        text = running.countrace('report', self.trace).stdout
        self.assertIn(f'left out: {rounds} pause', text)
        self.assertIn(f'{rounds}, left out of all tables',
                      running.countrace('info', self.trace).stdout)
        self.assertEqual(len(info(self.trace)['pauses']), rounds)
        report = json.loads(running.countrace('report', '--format', 'json',
                                              self.trace).stdout)
        rows = {row['segment']: row for row in report['segments']}
        self.assertEqual(rows['trigger:call']['calls'], (rounds + 1) * calls)
        outer = rows['trigger:outer']
        self.assertEqual(outer['calls'], 1)
        self.assertGreaterEqual(outer['wall_ns']['incl'], kept_ns)
        self.assertLessEqual(outer['wall_ns']['incl'],
                             all_ns + 1_000_000 - rounds * ms * 1_000_000)
        trace = report['trace']
        pauses = info(self.trace)['pauses']
        self.assertEqual(trace['left_out_ns'],
                         sum((one['until_ns'] or trace['end_ns']) -
                             one['from_ns'] for one in pauses))
        slowest = json.loads(running.countrace(
            'report', '--slowest', '100000', 'trigger:call', '--format',
            'json', self.trace).stdout)
        self.assertEqual(len(slowest['calls']), (rounds + 1) * calls)
        script = running.countrace('script', self.trace)
        self.assertIn(f'pauses={rounds}: their records are printed too',
                      script.stderr)
        inside = (pauses[0]['from_ns'] + pauses[0]['until_ns']) // 2
        state = running.countrace(
            'state', '--at', at(inside), self.trace)
        self.assertIn('lies in a pause since', state.stderr)
        self.assertIn('sound', running.countrace('verify', self.trace).stdout)
        done = subprocess.run(['babeltrace2', str(self.trace)], text=True,
                              capture_output=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return report, pauses

    def test_what_lies_between_pause_and_resume_is_left_out(self):
        for options in ((), ('--flight', '4M'),
                        ('--hook-events', 'page-faults,task-clock')):
            with self.subTest(options=options):
                run = self.record(self.PAUSES, WORKLOAD, 'paused', 5, 40, 20,
                                  options=options)
                self.assertEqual(self.snapshots(), [])
                report, pauses = self.check_paused(run, 5, 40, 20)
                # Parts of it: between two pauses, and in one of them.
                part = self.part(pauses[1]['until_ns'], pauses[2]['from_ns'])
                self.assertEqual(part['trigger:call']['calls'], 40)
                self.assertEqual(part['trigger:outer']['calls'], 0)
                part = self.part(pauses[0]['from_ns'], pauses[0]['until_ns'])
                self.assertNotIn('trigger:call', part)
                part = self.part(report['trace']['begin_ns'],
                                 pauses[3]['from_ns'])
                self.assertEqual(part['trigger:call']['calls'], 160)

    def part(self, begin_ns, end_ns):
        report = json.loads(running.countrace(
            'report', '--format', 'json', '--from', at(begin_ns), '--to',
            at(end_ns), self.trace).stdout)
        return {row['segment']: row for row in report['segments']}

    def test_books_balance_with_pauses(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: kernel records need root')
        for options in (('--sample', '199'), ('--kernel', 'syscalls')):
            with self.subTest(options=options):
                run = self.record(self.PAUSES, WORKLOAD, 'paused', 5, 40, 20,
                                  options=options, kernel=True)
                report, _ = self.check_paused(run, 5, 40, 20)
                trace = report['trace']
                elapsed = (trace['end_ns'] - trace['begin_ns'] -
                           trace['left_out_ns'])
                for book in report['books'].values():
                    self.assertEqual(book['residual'], 0)
                # It slept in the pauses, and computed 20 ms before each.
                busy = max(row['on_cpu_ns'] for row in report['processes'])
                self.assertLessEqual(busy, elapsed)
                self.assertGreater(busy, 5_000_000)
                clock = report['books'].get('task-clock')
                if clock is not None:
                    self.assertLessEqual(clock['total'],
                                         elapsed * trace['cpus'])
                for row in report['threads']:
                    self.assertLessEqual(
                        row['on_cpu_ns'] + (row['wait_ns'] or 0), elapsed)

    def test_threads_that_go_on_through_pauses(self):
        rounds, kept, out, threads = 4, 100, 150, 3
        # As they are recorded in, and what its times cannot be of.
        kinds = [((), False)]
        if os.geteuid() == 0:
            kinds += [(('--sample', '199'), True), (('-a',), True),
                      (('--flight', '64M'), True),
                      (('--kernel', 'syscalls,irq,softirq,faults'), True),
                      (('--hook-events', 'page-faults'), True)]
        for options, kernel in kinds:
            with self.subTest(options=options):
                run = self.record(self.PAUSES, WORKLOAD, 'turns', rounds, kept,
                                  out, threads, options=options, kernel=kernel)
                all_ns, paused_ns = map(int, run.stdout.split())
                report = json.loads(running.countrace(
                    'report', '--format', 'json', self.trace).stdout)
                trace = report['trace']
                elapsed = (trace['end_ns'] - trace['begin_ns'] -
                           trace['left_out_ns'])
                self.assertAlmostEqual(trace['left_out_ns'], paused_ns,
                                       delta=rounds * 5_000_000)
                rows = {row['segment']: row for row in report['segments']}
                self.assertEqual(rows['trigger:call']['calls'],
                                 (rounds + 1) * kept * threads)
                self.assertEqual(rows['trigger:outer']['calls'], threads)
                self.assertEqual(rows['trigger:waits']['calls'], 1)
                waits = rows['trigger:waits']['wall_ns']['incl']
                self.assertLessEqual(waits, elapsed)
                self.assertGreaterEqual(waits, (all_ns - paused_ns) * 9 // 10)
                self.assertLessEqual(rows['trigger:outer']['wall_ns']['incl'],
                                     threads * elapsed)
                if '--hook-events' in options:
                    faults = rows['trigger:call']['counts']['page-faults']
                    self.assertGreaterEqual(faults['incl'],
                                            rows['trigger:call']['calls'])
                if kernel:
                    self.check_kernel_tables(report, elapsed, kept * threads)

    def check_kernel_tables(self, report, elapsed, calls):
        for book in report['books'].values():
            self.assertEqual(book['residual'], 0)
        for row in report['segments']:
            for name in ('wall_ns', 'on_cpu_ns'):
                self.assertLessEqual(row[name]['excl'], row[name]['incl'], row)
            self.assertLessEqual(row['on_cpu_ns']['incl'],
                                 row['wall_ns']['incl'], row)
        for row in report['threads']:
            self.assertLessEqual(row['on_cpu_ns'] + (row['wait_ns'] or 0) +
                                 (row.get('blocked_ns') or 0), elapsed, row)
        state = json.loads(running.countrace(
            'state', '--at', 'end', '--format', 'json', self.trace).stdout)
        for event, count in state['states'][0]['events'].items():
            self.assertEqual(count['count'], report['books'][event]['total'])
        # All of it by parts.
        trace = report['trace']
        sums = {}
        middle = (trace['begin_ns'] + trace['end_ns']) // 2
        for begin, end in ((trace['begin_ns'], middle),
                           (middle, trace['end_ns'])):
            part = json.loads(running.countrace(
                'report', '--format', 'json', '--from', at(begin), '--to',
                at(end), self.trace).stdout)
            for row in part['threads']:
                key = row['tid'], row['pid']
                before = sums.get(key, (0, 0))
                sums[key] = (before[0] + row['on_cpu_ns'],
                             before[1] + row['dispatches'])
        for row in report['threads']:
            key = row['tid'], row['pid']
            self.assertEqual(sums.get(key, (0, 0)),
                             (row['on_cpu_ns'], row['dispatches']), row)

    def test_every_command_of_the_page(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: recordings with -a need root')
        page = pathlib.Path(__file__).resolve().parents[2] / 'docs/triggers.md'
        commands = re.findall(r'^    countrace ((?:record|stat) .*)$',
                              page.read_text(encoding='utf-8'), re.MULTILINE)
        self.assertEqual(len(commands), 5)
        for command in commands:
            with self.subTest(command):
                options, _, _ = command.partition(' -- ')
                words = shlex.split(options)
                if words[0] == 'record':
                    words += ['--force', '-o', str(self.trace)]
                run = running.countrace(*words, '--', WORKLOAD)
                done = run.stdout + run.stderr
                self.assertNotIn('fired 0 times: no', done)
                if 'server:handle' in command:
                    self.assertRegex(done, 'server:handle (took|has taken) ')
                elif 'pause' in command:
                    self.assertIn('gc:begin" fired once', done.replace(
                        ' then pause', ''))
                elif 'warm' in command:
                    self.assertIn('ms before are left out', done)

    def test_a_pause_without_a_resume_lasts_until_the_end(self):
        run = self.record([self.PAUSES[0]], WORKLOAD, 'paused', 3, 40, 5,
                          options=())
        self.assertIn('fired 3 times, 2 of them suppressed', run.stderr)
        self.assertEqual(len(info(self.trace)['pauses']), 1)
        self.assertIsNone(info(self.trace)['pauses'][0]['until_ns'])
        self.assertEqual(segments(self.trace)['trigger:call']['calls'], 40)
        run = self.record([self.PAUSES[1]], WORKLOAD, 'paused', 3, 40, 5,
                          options=())
        self.assertIn('there was no pause to end', run.stderr)
        self.assertEqual(info(self.trace)['pauses'], [])
        self.assertEqual(segments(self.trace)['trigger:call']['calls'],
                         4 * 40 + 9)

    def test_thousands_of_pauses_a_second(self):
        self.record(self.PAUSES, WORKLOAD, 'paused', 3000, 1, 0, options=())
        self.assertEqual(len(info(self.trace)['pauses']), 3000)
        self.assertEqual(segments(self.trace)['trigger:call']['calls'], 3001)
        self.assertEqual(segments(self.trace)['trigger:outer']['calls'], 1)

    def test_lost_records_are_lost_outside_of_pauses_too(self):
        self.record(self.PAUSES, WORKLOAD, 'paused', 20, 3000, 1,
                    options=('--mode', 'discard', '--size', '256K',
                             '--sub-buffer-size', '16K'))
        report = json.loads(running.countrace('report', '--format', 'json',
                                              self.trace).stdout)
        self.assertGreater(report['loss']['discarded_events'], 0)
        for row in report['segments']:
            wall = row['wall_ns']
            self.assertLessEqual(wall['excl'], wall['incl'])

    def test_a_value_decides(self):
        run = self.record(
            ['hook trigger:pause if arg0 > 2 and arg0 < 5 then pause',
             'hook trigger:resume then resume'], WORKLOAD, 'paused', 6, 40, 2,
            options=())
        self.assertEqual(len(info(self.trace)['pauses']), 2, run.stderr)
        self.assertEqual(segments(self.trace)['trigger:call']['calls'],
                         7 * 40 + 4 * 3)
        run = self.record(['segment trigger:call > 1us if arg0 == 17',
                           'hook trigger:pause if bytes > 1 then stop'],
                          WORKLOAD, 'paused', 1, 40, 1)
        self.assertIn('> 1us if arg0 == 17" fired', run.stderr)
        self.assertIn('have no value "bytes"; they have: arg0', run.stderr)
        if os.geteuid() != 0:
            return
        run = self.record(['hook syscall:read if count == 77 then pause'],
                          'sh', '-c', 'head -c 77 /dev/zero > /dev/null',
                          options=('--kernel', 'syscalls', '--args'),
                          kernel=True)
        self.assertEqual(len(info(self.trace)['pauses']), 1, run.stderr)

    def test_stat_leaves_out_a_part(self):
        if os.geteuid() != 0:
            self.skipTest('SKIPPED: counts of a part need kernel records')
        def stat(*triggers):
            options = [word for one in triggers for word in ('--trigger', one)]
            begin = time.monotonic_ns()
            run = running.countrace('stat', '--json', *options, '--', WORKLOAD,
                                    'paused', '4', '40', '30')
            took_ns = time.monotonic_ns() - begin
            start = run.stderr.index('{')
            numbers = {one['name']: one['value'] for one in
                       json.loads(run.stderr[start:])['numbers']}
            return numbers, took_ns, [int(ns) for ns in run.stdout.split()]
        kept, took_ns, (kept_ns, _) = stat(*self.PAUSES)
        self.assertGreater(kept['elapsed'], kept_ns)
        self.assertLess(kept['elapsed'], took_ns - 4 * 30_000_000)
        self.assertGreater(kept['on-cpu'], 0)
        self.assertLessEqual(kept['on-cpu'], kept['elapsed'])
        # Computing and sleep of 30 ms come before, four times.
        last, took_ns, _ = stat('hook trigger:resume if arg0 == 4 then start')
        self.assertGreater(last['elapsed'], 0)
        self.assertLess(last['elapsed'], took_ns - 8 * 30_000_000)
        for text, expected in (('hook a:b', 'takes snapshots'),
                               ('every 1s then stop', 'takes snapshots'),
                               ('hook a:b then strat', 'then start')):
            run = running.countrace('stat', '--trigger', text, '--', 'true',
                                    check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn(expected, run.stderr)

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
                ('hook a:b if ret > 1 then pause', 13, 'no `ret`'),
                ('hook a:b if arg0 >> 1 then pause', 19, 'constant'),
                ('signal SIGUSR2 then resume', 21, 'only a hook can resume'),
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
