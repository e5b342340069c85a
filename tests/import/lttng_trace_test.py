#!/usr/bin/env python3
"""Traces of a real LTTng session, read by every verb.

Usage: lttng_trace_test.py COUNTRACE UST_WORKLOAD RUNTIME_LIBRARY INSTRUMENTED
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from lttng_session import LttngSession

COUNTRACE, WORKLOAD, RUNTIME, INSTRUMENTED = (
    pathlib.Path(word).resolve() for word in sys.argv[1:5])

MAPPING = '''
[segment."shop:serve"]
begin = "shop:serve_begin"
end = "shop:serve_end"
key = ["order"]

[segment."shop:weigh"]
begin = "shop:weigh_begin"
end = "shop:weigh_end"

[segment."shop:order"]
begin = "shop:order_taken"
end = "shop:order_delivered"
key = ["id"]
across_threads = true
'''
ORDERS, THREADS = 60, 3
WEIGHS = THREADS * ORDERS // 3 * (0 + 1 + 2)


class LttngTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = LttngSession.missing()
        if why:
            raise unittest.SkipTest('SKIPPED: ' + why)
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-lttng-'))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.work.chmod(0o711)
        # The session's user may not have access to the build tree.
        for file in (COUNTRACE, WORKLOAD, RUNTIME, INSTRUMENTED):
            shutil.copy(file, cls.work / file.name)
            (cls.work / file.name).chmod(0o755)
        (cls.work / 'shop.toml').write_text(MAPPING)
        cls.own = cls.work / 'own'
        cls.own.mkdir()
        with LttngSession(cls.work) as lttng:
            if lttng.uid is not None:
                os.chown(cls.own, lttng.uid, lttng.uid)
            workload = [cls.work / WORKLOAD.name, str(ORDERS), str(THREADS)]
            cls.trace = lttng.record(workload, events=['shop:*'])
            # Recorded by both tools at the same time.
            cls.both = lttng.record(
                [cls.work / COUNTRACE.name, 'record', '-q', '-o',
                 cls.own / 'both.ctf', '--', *workload], events=['shop:*'],
                environment={'COUNTRACE_RUNTIME': str(cls.work / RUNTIME.name)})
            cls.no_context = lttng.record(workload, events=['shop:*'],
                                          contexts=())
            cls.counted = lttng.record(
                workload, events=['shop:*'],
                contexts=('vpid', 'vtid', 'perf:thread:page-fault'))
            cls.by_process = lttng.record(
                workload, events=['shop:*'], contexts=('vtid',),
                channel=('--buffers-pid',))
            cls.rotated = lttng.record(workload, events=['shop:*'],
                                       rotate=True)
            cls.lossy = lttng.record(
                [cls.work / WORKLOAD.name, 'ticks', '300000'],
                events=['shop:*'],
                channel=('--subbuf-size=4k', '--num-subbuf=2'))
            cls.functions = lttng.record(
                ['env', 'LD_PRELOAD=liblttng-ust-cyg-profile.so.1',
                 cls.work / INSTRUMENTED.name],
                events=['lttng_ust_cyg_profile:*', 'lttng_ust_statedump:*'])
            cls.fast_functions = lttng.record(
                ['env', 'LD_PRELOAD=liblttng-ust-cyg-profile-fast.so.1',
                 cls.work / INSTRUMENTED.name],
                events=['lttng_ust_cyg_profile_fast:*',
                        'lttng_ust_statedump:*'])
        cls.map = ['--map', cls.work / 'shop.toml']

    def countrace(self, *words, check=True, **options):
        done = subprocess.run([COUNTRACE, *map(str, words)], text=True,
                              capture_output=True, timeout=120, **options)
        if check and done.returncode != 0:
            raise AssertionError(f'{words}: {done.returncode}\n{done.stdout}\n'
                                 f'{done.stderr}')
        return done

    def report(self, *words):
        return json.loads(self.countrace('report', '--format', 'json',
                                         *words).stdout)

    def segments(self, report):
        return {row['segment']: row for row in report['segments']}

    def test_script_shows_each_event_at_its_time(self):
        shown = self.countrace('script', self.trace).stdout.splitlines()
        expected = subprocess.run(
            ['babeltrace2', '--clock-seconds', self.trace], text=True,
            capture_output=True, check=True, timeout=60).stdout.splitlines()
        self.assertEqual(len(expected), len(shown))
        offset = None
        for theirs, ours in zip(expected, shown):
            seconds, nanoseconds, name = re.match(
                r'\[(\d+)\.(\d+)\] \(\S+\) \S+ (\S+):', theirs).groups()
            vpid, vtid = re.search(r'vpid = (\d+), vtid = (\d+)',
                                   theirs).groups()
            time_ns = int(seconds) * 10**9 + int(nanoseconds)
            match = re.match(r'\[(\d+)\.(\d+)\] (\d+)/(\d+) (\S+?):(?: |$)',
                             ours)
            self.assertIsNotNone(match, ours)
            own_ns = int(match[1]) * 10**9 + int(match[2])
            offset = offset if offset is not None else time_ns - own_ns
            self.assertEqual(offset, time_ns - own_ns, (theirs, ours))
            self.assertEqual((vpid, vtid, name), match.groups()[2:])

    def test_every_kind_of_field_has_its_type(self):
        shown = self.countrace('script', self.trace).stdout
        lines = [line for line in shown.splitlines() if ':everything:' in line]
        self.assertEqual(ORDERS * THREADS, len(lines))
        self.assertIn('{ number = 3, flags = 0xABC, price = 1.5, how = "OTHER", '
                      'list = "[]", others = "pair = [1, -2], tag = '
                      '\\"abcdefg\\", note = \\"a \\\\\\"note\\\\\\"\\"" }',
                      shown)
        self.assertIn('how = "CARD"', shown)
        self.assertIn('list = "[1, -2, 3]"', shown)
        hooks = self.countrace('list', 'hooks', self.trace).stdout
        self.assertRegex(hooks, r'shop:everything +\d+ +point +ipdsss +'
                         r'event shop:everything')
        # babeltrace2 has them of the imported trace, too.
        imported = self.work / 'named.ctf'
        self.countrace('import', '--force', '-o', imported, self.trace)
        shown = subprocess.run(['babeltrace2', imported], text=True,
                               stdout=subprocess.PIPE, check=True).stdout
        self.assertIn('{ number = 3, flags = 0xABC, price = 1.5, how = "OTHER", '
                      'list = "[]", others = ', shown)
        self.countrace('verify', imported)

    def test_mapped_pairs_are_segments_of_one_tree(self):
        report = self.report('--by', 'path', *self.map, self.trace)
        paths = {' > '.join(row['path']): row for row in report['segment_paths']}
        self.assertEqual(ORDERS * THREADS, paths['shop:serve']['calls'])
        self.assertEqual(WEIGHS, paths['shop:serve > shop:weigh']['calls'])
        for row in paths.values():
            self.assertEqual(0, row.get('end_inferred', 0), row)

    def test_requests_that_cross_threads_have_their_durations(self):
        report = self.report(*self.map, self.trace)
        order = self.segments(report)['shop:order']
        self.assertEqual(THREADS, order['calls'])
        shown = self.countrace('script', self.trace).stdout.splitlines()
        def times(event):
            found = {}
            for line in shown:
                match = re.match(r'\[(\d+)\.(\d+)\] \S+ shop:' + event +
                                 r': { \w+ = (\d+) }', line)
                if match:
                    found[match[3]] = int(match[1]) * 10**9 + int(match[2])
            return found
        begins, ends = times('order_taken'), times('order_delivered')
        durations = [ends[key] - begins[key] for key in begins]
        self.assertEqual(sum(durations), order['wall_ns']['incl'])
        self.assertEqual(min(durations), order['wall_ns']['min'])
        self.assertEqual(max(durations), order['wall_ns']['max'])
        self.assertTrue(any('shop:order' in what for what in
                            report['trace']['not_known']))

    def test_both_recorders_tell_the_same_calls(self):
        theirs = self.segments(self.report(*self.map, self.both))
        ours = self.segments(self.report(self.own / 'both.ctf'))
        for name in ('shop:serve', 'shop:weigh'):
            self.assertEqual(ours[name]['calls'], theirs[name]['calls'])
        # Every call in our trace contains the other's call, within the cost of
        # an event: same begins and ends on the same clock.
        def calls(words):
            begins, found = {}, []
            for line in self.countrace('script', *words).stdout.splitlines():
                match = re.match(
                    r'\[(\d+)\.(\d+)\] \d+/(\d+) shop:weigh__(enter|exit)',
                    line)
                if not match:
                    continue
                at = int(match[1]) * 10**9 + int(match[2])
                if match[4] == 'enter':
                    begins[match[3]] = at
                else:
                    found.append((int(match[3]), begins[match[3]], at))
            # By thread: threads that begin at once may change places between
            # the two hooks.
            return sorted(found)
        own = calls([self.own / 'both.ctf'])
        other = calls([*self.map, self.both])
        self.assertEqual(len(own), len(other))
        self.assertEqual([call[0] for call in own],
                         [call[0] for call in other])
        outside = sum(not (a[1] <= b[1] and b[2] <= a[2])
                      for a, b in zip(own, other))
        # Both clocks are CLOCK_MONOTONIC; ours is computed from the raw
        # counter and may differ by some ns.
        late = max(max(a[1] - b[1], b[2] - a[2]) for a, b in zip(own, other))
        self.assertLess(late, 1000, f'{outside} of {len(own)} calls outside')

    def check_functions(self, trace):
        report = self.report('--by', 'path', trace)
        rows = report['segment_paths']
        calls = {' > '.join(row['path']): row['calls'] for row in rows}
        if not calls:
            self.skipTest('SKIPPED: no liblttng-ust-cyg-profile')
        main = 'function:main'
        outer = f'{main} > function:OuterWork()'
        self.assertEqual({main: 1, outer: 10,
                          f'{outer} > function:InnerWork()': 30}, calls)
        self.assertEqual(0, sum(row['end_inferred'] for row in rows))

    def test_instrumented_functions_are_segments(self):
        self.check_functions(self.functions)

    def test_exits_without_an_address_end_the_innermost_function(self):
        self.check_functions(self.fast_functions)

    def test_buffers_of_processes_name_them(self):
        report = self.report(*self.map, self.by_process)
        self.assertEqual(ORDERS * THREADS,
                         self.segments(report)['shop:serve']['calls'])
        # The kernel's 15 characters; without the context vpid.
        self.assertIn(WORKLOAD.name[:15],
                      [row['comm'] for row in report['processes']])

    def test_the_pieces_of_a_rotated_session_are_one_trace(self):
        report = self.report(*self.map, self.rotated)
        serve = [row for row in report['segments']
                 if row['segment'] == 'shop:serve']
        self.assertEqual(2, len(serve))  # processes
        self.assertEqual(2 * ORDERS * THREADS,
                         sum(row['calls'] for row in serve))

    def test_what_lttng_lost_is_lost(self):
        report = self.report(self.lossy)
        lost = report['loss']['discarded_events']
        self.assertGreater(lost, 0)
        self.assertEqual(300000, report['trace']['records'] + lost)
        self.assertEqual({'no_sub_buffer': lost}, report['loss']['by_cause'])
        self.assertEqual(3, self.countrace('report', '--fail-on-loss',
                                           self.lossy, check=False).returncode)

    def test_what_babeltraces_ctf_sink_writes_is_the_same(self):
        copy = self.work / 'sink'
        subprocess.run(['babeltrace2', self.trace, '-c', 'sink.ctf.fs', '-p',
                        f'path="{copy}"'], check=True, timeout=60,
                       capture_output=True)
        self.assertEqual(self.countrace('script', self.trace).stdout,
                         self.countrace('script', copy).stdout)
        theirs, ours = (self.report(*self.map, trace)
                        for trace in (copy, self.trace))
        self.assertEqual(ours['segments'], theirs['segments'])

    def test_what_is_not_known_is_said(self):
        info = json.loads(self.countrace('info', '--format', 'json',
                                         self.no_context).stdout)
        self.assertIn('lttng-ust 2.13', info['source'])
        self.assertTrue(any('vtid' in what for what in info['not_known']))
        report = self.report(*self.map, self.no_context)
        self.assertNotIn('shop:serve', self.segments(report))
        text = self.countrace('report', self.no_context).stdout
        self.assertIn('not known: which thread events are of', text)

    def test_thread_counters_of_contexts_are_counts_of_segments(self):
        report = self.report(*self.map, self.counted)
        self.assertEqual(['page-faults'], report['trace']['events'])
        serve = self.segments(report)['shop:serve']['counts']['page-faults']
        self.assertEqual('exact', serve['quality'])
        # Each order touches three new pages, between the counters' values.
        self.assertGreaterEqual(serve['incl'], 3 * ORDERS * THREADS)
        self.assertLessEqual(serve['incl'], 4 * ORDERS * THREADS)

    def test_all_verbs_take_it(self):
        # All orders were taken before the first was delivered.
        state = self.countrace('state', *self.map, '--at', '0', '--next',
                               'segment', '--of', 'shop:weigh', self.trace)
        self.assertRegex(state.stdout, r'shop:serve[^\n]*\n?.*shop:weigh')
        self.countrace('report', '--by', 'time', *self.map, self.trace)
        changes = self.countrace('diff', '--all', *self.map,
                                 self.trace, self.both)
        self.assertIn('shop:serve', changes.stdout)
        self.countrace('list', 'hooks', self.trace)
        kept = self.work / 'kept.ctf'
        self.countrace('import', *self.map, '-o', kept, self.trace)
        self.assertIn('sound', self.countrace('verify', kept).stdout)
        again = self.report(kept)
        once = self.report(*self.map, self.trace)
        again['trace'].pop('path'), once['trace'].pop('path')
        self.assertEqual(once, again)
        subprocess.run(['babeltrace2', kept], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)

    def test_nothing_is_left_behind(self):
        place = self.work / 'tmp'
        place.mkdir()
        environment = dict(os.environ, TMPDIR=str(place))
        self.countrace('report', self.trace, env=environment)
        self.assertEqual([], list(place.iterdir()))
        # Also if it is killed while it holds the conversion.
        view = subprocess.Popen([COUNTRACE, 'view', str(self.trace)],
                                env=environment, text=True,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        self.assertTrue(view.stdout.readline().startswith('http'))
        self.assertEqual(1, len(list(place.iterdir())))
        view.kill()
        view.wait(20)
        view.stdout.close()
        deadline = time.monotonic() + 20
        while list(place.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([], list(place.iterdir()))

    def test_an_error_of_the_mapping_file_has_its_place(self):
        wrong = self.work / 'wrong.toml'
        wrong.write_text('[segment."shop:serve"]\nbegin = "shop:serve_begin"\n'
                         'end = "shop:serve_end"\nkee = ["order"]\n')
        failed = self.countrace('report', '--map', wrong, self.trace,
                                check=False)
        self.assertEqual(1, failed.returncode)
        self.assertIn('wrong.toml:4:1: unknown key `kee`; did you mean `key`?',
                      failed.stderr)
        wrong.write_text('[segment."shop:serve"]\nbegin = "shop:serve_begin"\n'
                         'end = "shop:serve_end"\nkey = ["oder"]\n')
        failed = self.countrace('report', '--map', wrong, self.trace,
                                check=False)
        self.assertIn('wrong.toml:1:10: event `shop:serve_end` has no field '
                      '`oder`', failed.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
