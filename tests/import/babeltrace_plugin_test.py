#!/usr/bin/env python3
"""The plug-in of babeltrace2, in babeltrace2: sink.countrace.report prints the
text of `countrace report`, source.countrace.recover reads the result of
`countrace recover`, and the additions of filter.countrace.rmap sum up to the
report. For countrace traces, killed recordings, real LTTng sessions.

Usage: babeltrace_plugin_test.py COUNTRACE PLUGIN DOC_TRACES SERVER_TRACES
       LONG_TRACE UST_WORKLOAD [unittest options]
"""
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from ctf_writer import CtfTrace, Int, StreamClass
from lttng_session import LttngSession

COUNTRACE, PLUGIN, DOC_TRACES, SERVER_TRACES, LONG_TRACE, WORKLOAD = (
    pathlib.Path(word).resolve() for word in sys.argv[1:7])
LONG_CALLS = 1_000_000
MAPPING = '''
[segment."shop:serve"]
begin = "shop:serve_begin"
end = "shop:serve_end"
key = ["order"]

[segment."shop:order"]
begin = "shop:order_taken"
end = "shop:order_delivered"
key = ["id"]
across_threads = true
'''
ORDERS, THREADS = 40, 2
TIMEOUT = 120
DAMAGED = 150 if os.environ.get('COUNTRACE_TEST_FULL') else 25


def parameters(**values):
    """`-p` with the values, in babeltrace2's syntax."""
    words = [f'{name}={json.dumps(value)}' for name, value in values.items()]
    return ['-p', ', '.join(words)] if words else []


def contents(folder):
    """Everything in a folder that can change."""
    return {str(path.relative_to(folder)):
            (path.stat().st_mtime_ns, path.stat().st_size,
             hashlib.sha256(path.read_bytes()).hexdigest())
            for path in sorted(folder.rglob('*')) if path.is_file()}


class InBabeltrace(unittest.TestCase):
    """A folder for the test, and one for temporary files, empty at the end."""

    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-plugin-'))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.work.chmod(0o711)
        cls.place = cls.work / 'tmp'
        cls.place.mkdir()
        cls.environment = dict(os.environ, TMPDIR=str(cls.place))
        cls.environment.pop('BABELTRACE_PLUGIN_PATH', None)

    def tearDown(self):
        self.no_temporaries()

    def no_temporaries(self):
        deadline = time.monotonic() + 20
        while list(self.place.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual([], list(self.place.iterdir()))

    @classmethod
    def command(cls, *words):
        return ['babeltrace2', '--plugin-path', str(PLUGIN.parent),
                *map(str, words)]

    @classmethod
    def run_it(cls, *words):
        return subprocess.run(cls.command(*words), env=cls.environment,
                              text=True, capture_output=True, timeout=TIMEOUT)

    def babeltrace(self, *words):
        done = self.run_it(*words)
        self.assertEqual(0, done.returncode, (words, done.stderr))
        # babeltrace2 itself prints losses.
        self.assertNotRegex(done.stderr, 'ERROR| [EF] ', words)
        return done.stdout

    def refused(self, *words):
        """Its text on stderr, on one line; from our code, not from a signal.
        """
        done = self.run_it(*words)
        self.assertEqual('', done.stdout)
        self.assertEqual(1, done.returncode, done.stderr)
        return ' '.join(done.stderr.split())

    def report(self, *traces, **values):
        return self.babeltrace(*traces, '-c', 'sink.countrace.report',
                               *parameters(**values))

    def countrace(self, *words):
        done = subprocess.run([COUNTRACE, *map(str, words)], text=True,
                              capture_output=True, timeout=TIMEOUT)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def json_report(self, *words):
        report = json.loads(self.countrace('report', '--format', 'json', *words))
        report['trace'].pop('path')
        return report

    def json_of_sink(self, *traces, **values):
        report = json.loads(self.report(*traces, format='json', **values))
        report['trace'].pop('path')
        return report


class OwnTraces(InBabeltrace):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for writer in ([DOC_TRACES], [SERVER_TRACES, '1']):
            subprocess.run(writer, check=True, timeout=60, cwd=cls.work)
        subprocess.run([LONG_TRACE, cls.work / 'long', str(LONG_CALLS)],
                       check=True, timeout=TIMEOUT)
        cls.traces = sorted(cls.work.glob('*.ctf'))

    def test_the_report_is_the_same_byte_for_byte(self):
        self.assertGreaterEqual(len(self.traces), 4)
        for trace in self.traces:
            for choice in ({}, {'format': 'json'}, {'format': 'jsonl'},
                           {'format': 'csv', 'by': 'path'},
                           {'by': 'segment', 'rows': 1},
                           {'format': 'json', 'by': 'thread'}):
                with self.subTest(trace=trace.name, **choice):
                    words = [word for name, value in choice.items()
                             for word in (f'--{name}', value)]
                    self.assertEqual(self.countrace('report', *words, trace),
                                     self.report(trace, **choice))

    def test_output_goes_to_a_file(self):
        trace = self.traces[0]
        file = self.work / 'report.txt'
        file.write_text('x' * 100_000)
        self.assertEqual('', self.report(trace, output=str(file)))
        self.assertEqual(self.countrace('report', trace), file.read_text())

    def test_parameters_are_checked_by_name(self):
        trace = self.traces[0]
        for text, expected in (
                ('bye="path"', 'There is no parameter `bye`; there are: by, '
                 'format, rows, map, output'),
                ('by="pat"', 'Parameter `by` is "pat"; it can be: cpu, fault, '
                 'file, hook, level, path, preemptor, process, segment, syscall, '
                 'thread, waker'),
                ('format="xml"', 'Parameter `format` is "xml"; it can be: '
                 'csv, json, jsonl, text'),
                ('by=5', 'Parameter `by` is an integer; write by="TEXT"'),
                ('rows="5"', 'Parameter `rows` is a string; write rows=20'),
                ('rows=-1', 'Parameter `rows` is -1; it must not be negative'),
                ('map="/nowhere/x.toml"', '/nowhere/x.toml'),
                ('output="/nowhere/x"', 'Cannot write /nowhere/x, which '
                 'parameter `output` names')):
            with self.subTest(parameter=text):
                said = self.refused(trace, '-c', 'sink.countrace.report', '-p',
                                    text)
                self.assertIn(expected, said)
        self.assertIn('There is no parameter `maps`; there are: map',
                      self.refused(trace, '-c', 'filter.countrace.rmap', '-p',
                                   'maps="x"'))
        for text, expected in (
                ('', 'names no trace'),
                ('inputs="x"', 'Parameter `inputs` is a string; write '
                 'inputs=["TEXT"]'),
                ('inputs=[5]', 'Parameter `inputs` holds an integer'),
                ('inputs=["/nowhere/x"]', '/nowhere/x'),
                ('inputs=["x"], output="x"', 'no parameter `output`')):
            with self.subTest(parameter=text):
                said = self.refused('-c', 'source.countrace.recover',
                                    *(['-p', text] if text else []))
                self.assertIn(expected, said)

    def test_a_trimmer_in_between_that_cuts_nothing_changes_nothing(self):
        for trace in self.traces[:2]:
            self.assertEqual(self.countrace('report', trace),
                             self.report('--begin', '1970-01-01', trace))

    def test_what_a_trimmer_left_out_is_not_lost(self):
        trace = next(t for t in self.traces if t.name == 'old1.ctf')
        whole = self.json_report(trace)
        middle = (whole['trace']['begin_ns'] + whole['trace']['end_ns']) // 2
        offset = self.babeltrace('--clock-seconds', trace).split()[0]
        first = re.match(r'\[(\d+)\.(\d+)\]', offset)
        first_ns = int(first[1]) * 10**9 + int(first[2])
        at_ns = first_ns + middle - whole['trace']['begin_ns']
        cut = f'{at_ns // 10**9}.{at_ns % 10**9:09}'
        halves = [self.json_of_sink('--end', cut, trace),
                  self.json_of_sink('--begin', cut, trace)]
        for half in halves:
            self.assertEqual(0, half['loss']['discarded_events'], half['loss'])
            self.assertEqual(0, half['loss'].get('discarded_packets', 0),
                             half['loss'])
        calls = [sum(row['calls'] for row in report['segments'])
                 for report in (whole, *halves)]
        self.assertLess(0, calls[1])
        self.assertLess(0, calls[2])
        # The cut call has its begin in one half only.
        self.assertEqual(calls[0], calls[1] + calls[2])

    def test_lost_packets_are_counted(self):
        # A stream with several packets, the last of which is cut off: compared
        # with countrace's own reading.
        source = self.work / 'long'
        trace = self.work / 'shorter'
        shutil.copytree(source, trace)
        stream = max((path for path in trace.iterdir()
                      if path.name != 'metadata'),
                     key=lambda path: path.stat().st_size)
        data = stream.read_bytes()
        magic = data[:4]
        last = data.rfind(magic, 0, len(data) - 4096)
        while last % 4096:
            last = data.rfind(magic, 0, last)
        self.assertGreater(last, 0)
        stream.write_bytes(data[:last])
        native = self.json_report(trace)
        self.assertGreater(native['loss']['discarded_packets'], 0)
        through = self.json_of_sink(trace)
        self.assertEqual(native['loss']['discarded_packets'],
                         through['loss']['discarded_packets'])
        self.assertEqual(native['segments'], through['segments'])
        # Also with --via-babeltrace.
        imported = self.json_report('--via-babeltrace', trace)
        self.assertEqual(native['loss']['discarded_packets'],
                         imported['loss']['discarded_packets'])
        # A stream that is missing completely.
        stream.unlink()
        self.assertEqual(self.countrace('report', trace),
                         self.countrace('report', '--via-babeltrace', trace))
        self.assertEqual(self.countrace('report', trace), self.report(trace))

    def test_two_own_traces_are_refused(self):
        said = self.refused(*self.traces[:2], '-c', 'sink.countrace.report')
        self.assertRegex(said, 'Two traces of countrace cannot be read as one|'
                         'clock')

    def test_a_damaged_trace_is_an_error(self):
        trace = self.work / 'damaged'
        shutil.copytree(self.traces[0], trace)
        for stream in trace.iterdir():
            if stream.name != 'metadata':
                data = bytearray(stream.read_bytes())
                data[0] ^= 0xff
                stream.write_bytes(data)
        for words in (['-c', 'sink.countrace.report'],
                      ['-c', 'filter.countrace.rmap']):
            self.assertIn('agic', self.refused(trace, *words))

    def test_nothing_is_left_by_an_interruption(self):
        trace = self.work / 'long'
        for stop in (signal.SIGINT, signal.SIGKILL):
            for component in ('sink.countrace.report', 'filter.countrace.rmap'):
                with self.subTest(signal=stop.name, component=component):
                    with open(os.devnull, 'wb') as nowhere:
                        run = subprocess.Popen(
                            self.command(trace, '-c', component),
                            env=self.environment, stdout=nowhere,
                            stderr=nowhere)
                    deadline = time.monotonic() + 20
                    while (not list(self.place.glob('*/thread*')) and
                           time.monotonic() < deadline):
                        time.sleep(0.002)
                    self.assertTrue(list(self.place.iterdir()))
                    run.send_signal(stop)
                    self.assertNotEqual(0, run.wait(TIMEOUT))
                    self.no_temporaries()

    def test_the_plugin_exports_its_descriptors_only(self):
        done = subprocess.run(['nm', '-D', '--defined-only', PLUGIN], text=True,
                              capture_output=True, check=True, timeout=60)
        names = re.findall(r'(?m)^[0-9a-f]+ [A-Za-z] (\S+)$', done.stdout)
        self.assertEqual([], [name for name in names
                              if not name.startswith('__bt_get_')])
        self.assertEqual(8, len(names))


SPAN = re.compile(r'\[(\d+)\.(\d+)\].*? countrace_rmap:(dispatch|segment): '
                  r'\{ (.*) \}$')
COUNT = re.compile(r'event = "([^"]+)", count = (\d+)')
NUMBER = re.compile(r'(?:^|, )(tid|pid|begin|end|on_cpu_ns) = (-?\d+)')
WORD = re.compile(r'(?:^|, )(comm|path|name|quality) = "([^"]*)"')


class TracesWithoutClock(InBabeltrace):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        trace = CtfTrace(cls.work / 'untimed')
        one = trace.add(StreamClass(0, None))
        one.event(0, 'gen:point', [('value', Int(32))])
        trace.packet('s', one, [(0, 0, {}, {'value': i}) for i in range(5)])
        cls.source = trace.finish()
        cls.kept = cls.work / 'untimed.ctf'
        subprocess.run([COUNTRACE, 'import', '-o', cls.kept, cls.source],
                       check=True, capture_output=True, timeout=TIMEOUT)

    def test_events_are_counted_and_have_no_times(self):
        for trace in (self.source, self.kept):
            rows = self.report(trace, by='hook', format='csv').splitlines()
            self.assertRegex(rows[1], r'^gen:point,.*,5$')
            for words in (['-c', 'sink.countrace.report'],
                          ['-c', 'sink.countrace.report',
                           *parameters(by='hook', format='json')],
                          ['-c', 'filter.countrace.rmap']):
                with self.subTest(trace=trace.name, words=words):
                    self.assertIn('have no times', self.refused(trace, *words))


class Added(InBabeltrace):
    """The additions of filter.countrace.rmap."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for writer in ([DOC_TRACES], [SERVER_TRACES, '1']):
            subprocess.run(writer, check=True, timeout=60, cwd=cls.work)
        cls.traces = sorted(cls.work.glob('*.ctf'))

    def spans(self, *words):
        """The added events; all others are as they are without the filter."""
        plain = self.babeltrace('--clock-seconds', '--no-delta', *words)
        lines = self.babeltrace('--clock-seconds', '--no-delta', *words, '-c',
                                'filter.countrace.rmap').splitlines()
        spans, others, last = [], [], (0, 0)
        for line in lines:
            match = SPAN.search(line)
            time_ns = tuple(map(int, re.match(r'\[(\d+)\.(\d+)\]',
                                              line).groups()))
            self.assertGreaterEqual(time_ns, last, line)
            last = time_ns
            if not match:
                others.append(line)
                continue
            fields = match[4].split(', counts = ')
            span = {name: int(value)
                    for name, value in NUMBER.findall(fields[0])}
            span.update(WORD.findall(fields[0]))
            span['kind'] = match[3]
            span['counts'] = {event: int(count)
                              for event, count in COUNT.findall(fields[1])}
            spans.append(span)
        self.assertEqual(plain.splitlines(), others)
        return spans

    def check_sums(self, trace, spans, report, scaled=()):
        dispatches = collections.Counter()
        on_cpu = collections.Counter()
        counts = collections.defaultdict(collections.Counter)
        paths = {}
        for span in spans:
            if span['kind'] == 'dispatch':
                key = (span['pid'], span['tid'])
                dispatches[key] += 1
                on_cpu[key] += span['on_cpu_ns']
                counts[key].update(span['counts'])
                continue
            if span['path'] == '' or span['quality'] == 'inferred':
                continue
            row = paths.setdefault((span['pid'], span['path']), {
                'calls': 0, 'wall': 0, 'on_cpu': 0,
                'counts': collections.Counter()})
            row['calls'] += 1
            row['wall'] += span['end'] - span['begin']
            row['on_cpu'] += max(0, span['on_cpu_ns'])
            row['counts'].update(span['counts'])
        compared = 0
        for row in report['threads']:
            key = (row['pid'], row['tid'])
            if row['on_cpu_ns'] is None:
                continue
            self.assertEqual(row['dispatches'], dispatches[key], row)
            self.assertEqual(row['on_cpu_ns'], on_cpu[key], row)
            for event, count in row['counts'].items():
                if event in counts[key] and event not in scaled:
                    self.assertEqual(count, counts[key][event], (event, row))
                    compared += 1
        for row in report['segment_paths']:
            if row.get('end_inferred') or row.get('begin_inferred'):
                continue
            found = paths[row['pid'], ' > '.join(row['path'])]
            self.assertEqual(row['calls'], found['calls'], row)
            self.assertEqual(row['wall_ns']['incl'], found['wall'], row)
            if row.get('on_cpu_ns'):
                self.assertEqual(row['on_cpu_ns']['incl'], found['on_cpu'], row)
            for event, count in row['counts'].items():
                if count is None or event in scaled:
                    continue
                self.assertEqual(count['incl'], found['counts'][event],
                                 (event, row))
                compared += 1
        return compared

    def reports(self, *words):
        report = self.json_report('--by', 'path', *words)
        report.update(self.json_report('--by', 'thread', *words))
        return report

    def test_sums_are_the_report(self):
        compared = 0
        for trace in self.traces:
            with self.subTest(trace=trace.name):
                report = self.reports(trace)
                whole = self.json_report(trace)
                scaled = {event for event, books in whole['books'].items()
                          if 'scaled' in books}
                scaled |= {event for row in report['segment_paths']
                           for event, count in row['counts'].items()
                           if count and count['quality'] == 'scaled'}
                spans = self.spans(trace)
                self.assertTrue(spans)
                compared += self.check_sums(trace, spans, report, scaled)
        self.assertGreater(compared, 30)

    def test_sums_are_the_report_of_a_recording(self):
        if os.geteuid() != 0:
            self.skipTest('recording dispatches needs root')
        trace = self.work / 'recorded'
        self.countrace('record', '-q', '-o', trace, '-e',
                       'task-clock,page-faults,context-switches', '--', WORKLOAD,
                       '60', '2')
        self.assertGreater(
            self.check_sums(trace, self.spans(trace), self.reports(trace)), 3)

    def test_sums_are_the_report_of_dumps_at_hooks(self):
        trace = self.work / 'dumped'
        self.countrace('record', '-q', '--no-kernel', '-o', trace,
                       '--hook-events', 'page-faults,task-clock', '--',
                       WORKLOAD, '60', '2')
        report = self.reports(trace)
        self.assertEqual(['page-faults', 'task-clock'],
                         report['trace']['events'])
        self.assertGreaterEqual(
            self.check_sums(trace, self.spans(trace), report), 4)

    def test_behind_a_trimmer_too(self):
        """A trimmer cannot seek to its beginning."""
        trace = self.traces[0]
        self.assertEqual(self.spans(trace),
                         self.spans('--begin', '1970-01-01', trace))

    def test_the_report_of_both_is_that_of_the_trace(self):
        trace = self.traces[0]
        self.assertEqual(
            self.countrace('report', trace),
            self.babeltrace(trace, '-c', 'filter.countrace.rmap', '-c',
                            'sink.countrace.report'))


class Recovered(InBabeltrace):
    """Traces whose recorder was killed."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.work / 'killed.ctf'
        cls.recorder = subprocess.Popen(
            [COUNTRACE, 'record', '-q', '--no-kernel', '-o', cls.trace, '--',
             WORKLOAD, '2000000', '2'], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            deadline = time.monotonic() + 30
            while (sum(path.stat().st_size
                       for path in cls.trace.glob('thread-*')) < 1 << 18 and
                   time.monotonic() < deadline):
                time.sleep(0.01)
            cls.while_recording = cls.run_it(
                '-c', 'source.countrace.recover',
                *parameters(inputs=[str(cls.trace)]))
        finally:
            cls.recorder.kill()
            # The recorded program continues without it.
            os.killpg(cls.recorder.pid, signal.SIGKILL)
            cls.recorder.wait(20)
        time.sleep(0.2)
        cls.sound = cls.work / 'sound.ctf'
        # shutil copies no named pipes.
        shutil.copytree(cls.trace, cls.sound,
                        ignore=shutil.ignore_patterns('.unjoined'))
        # Else it is known for a copy, which may be older than its streams.
        (cls.sound / '.incomplete').write_bytes(b'')
        subprocess.run([COUNTRACE, 'recover', cls.sound], check=True,
                       timeout=TIMEOUT, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def quiet(self, *words):
        """Losses are printed on stderr."""
        done = self.run_it(*words)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_a_recording_is_not_taken_from_its_recorder(self):
        self.assertEqual(1, self.while_recording.returncode)
        self.assertIn('is still being recorded',
                      ' '.join(self.while_recording.stderr.split()))

    def test_its_events_are_those_of_the_recovered_trace(self):
        before = contents(self.trace)
        expected = self.babeltrace(self.sound)
        self.assertGreater(expected.count('\n'), 1000)
        self.assertEqual(expected, self.quiet(
            '-c', 'source.countrace.recover',
            *parameters(inputs=[str(self.trace)])))
        # Also if babeltrace2 finds the component by itself.
        self.assertEqual(expected, self.quiet(self.trace))
        # Through a trimmer, which seeks to the beginning.
        self.assertEqual(expected, self.quiet('--begin', '1970-01-01',
                                              self.trace))
        # The clock's stream may end before others begin, as its last sample
        # does: then no time is of all streams.
        cut = self.run_it('--stream-intersection', self.trace)
        if cut.returncode != 0:
            self.assertIn('beginning time is greater than end time', cut.stderr)
        self.assertEqual(before, contents(self.trace))

    def test_its_report_is_that_of_the_recovered_trace(self):
        native = self.json_report(self.sound)
        report = json.loads(self.quiet(
            self.trace, '-c', 'sink.countrace.report',
            *parameters(format='json')))
        self.assertEqual('killed.ctf',
                         pathlib.Path(report['trace'].pop('path')).name)
        self.assertEqual(native, report)

    def query(self, trace):
        text = self.babeltrace('query', 'source.countrace.recover',
                               'babeltrace.support-info', '-p',
                               f'type="directory", input="{trace}"')
        return float(re.search(r'weight: *([\d.]+)', text)[1])

    def test_it_leaves_sound_traces_to_others(self):
        self.assertEqual(0, self.query(self.sound))
        self.assertEqual(0, self.query(self.work))
        self.assertEqual(0, self.query(self.work / 'nowhere'))
        self.assertGreater(self.query(self.trace), 0.75)
        self.assertIn('source.ctf.fs', self.babeltrace(
            'convert', self.sound, '--run-args').replace('"', ''))

    def test_it_says_what_streams_there_are(self):
        text = self.babeltrace('query', 'source.countrace.recover',
                               'babeltrace.trace-infos', '-p',
                               f'inputs=["{self.trace}"]')
        streams = [path for path in self.sound.iterdir()
                   if path.name != 'metadata' and path.name[0] != '.' and
                   path.stat().st_size]
        self.assertEqual(len(streams), text.count('port-name: out0'))
        self.assertEqual(len(streams), text.count('range-ns'))


class LttngTraces(InBabeltrace):
    @classmethod
    def setUpClass(cls):
        why = LttngSession.missing()
        if why:
            raise unittest.SkipTest('SKIPPED: ' + why)
        super().setUpClass()
        shutil.copy(WORKLOAD, cls.work / 'shop')
        (cls.work / 'shop').chmod(0o755)
        cls.map = cls.work / 'shop.toml'
        cls.map.write_text(MAPPING)
        with LttngSession(cls.work) as lttng:
            run = [cls.work / 'shop', str(ORDERS), str(THREADS)]
            cls.one = lttng.record(run, events=['shop:*'])
            cls.two = lttng.record(run, events=['shop:*'])
            cls.lossy = lttng.record(
                [cls.work / 'shop', 'ticks', '300000'], events=['shop:*'],
                channel=('--subbuf-size=4k', '--num-subbuf=2'))

    def same(self, *traces):
        native = self.json_report('--map', self.map, *traces)
        through = self.json_of_sink(*traces, map=str(self.map))
        self.assertEqual(native, through)
        return native

    def test_the_report_is_the_same(self):
        report = self.same(self.one)
        segments = {row['segment']: row for row in report['segments']}
        self.assertEqual(ORDERS * THREADS, segments['shop:serve']['calls'])
        self.assertEqual(THREADS, segments['shop:order']['calls'])
        text = self.report(self.one, map=str(self.map)).splitlines()
        native = self.countrace('report', '--map', self.map,
                                self.one).splitlines()
        self.assertEqual(native[1:], text[1:])

    def test_of_two_sessions_too(self):
        self.assertEqual(2, len(self.same(self.one, self.two)['processes']))

    def test_losses_are_counted_and_said(self):
        native = self.json_report(self.lossy)
        self.assertGreater(native['loss']['discarded_events'], 0)
        done = self.run_it(self.lossy, '-c', 'sink.countrace.report',
                           *parameters(format='json'))
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        report['trace'].pop('path')
        self.assertEqual(native, report)

    def test_behind_a_trimmer_are_the_events_it_left(self):
        lines = self.babeltrace('--clock-seconds', self.one).splitlines()
        cut = re.match(r'\[([\d.]+)\]', lines[len(lines) // 3])[1]
        left = self.babeltrace('--begin', cut, self.one).count('\n')
        self.assertLess(0, left)
        report = self.json_of_sink('--begin', cut, self.one)
        self.assertEqual(left, sum(row['hits'] for row in self.hooks(
            '--begin', cut, self.one)))
        self.assertEqual(0, report['loss']['discarded_events'])

    def hooks(self, *words):
        return self.json_of_sink(*words, by='hook')['hooks']

    def test_a_filter_of_their_own_in_between(self):
        native = self.json_report(self.one)
        self.assertEqual(native, json.loads(
            self.babeltrace(self.one, '-c', 'filter.lttng-utils.debug-info',
                            '-c', 'sink.countrace.report',
                            *parameters(format='json')),
            object_hook=lambda row: {name: value for name, value in row.items()
                                     if name != 'path' or
                                     isinstance(value, list)}))

    def test_damage_that_the_library_survives_we_survive(self):
        read = refused = 0
        streams = [path for path in self.one.rglob('*')
                   if path.is_file() and path.parent.name != 'index']
        for number in range(DAMAGED):
            dice = random.Random(number)
            trace = self.work / 'damaged'
            shutil.rmtree(trace, ignore_errors=True)
            shutil.copytree(self.one, trace)
            victim = trace / dice.choice(streams).relative_to(self.one)
            data = bytearray(victim.read_bytes())
            for _ in range(dice.randint(1, 4)):
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            if dice.random() < 0.3:
                del data[dice.randrange(len(data)):]
            victim.write_bytes(data)
            limit = ['prlimit', '--as=2147483648']
            alone = subprocess.run(
                [*limit, '--cpu=3', '--', 'babeltrace2', trace, '-o', 'dummy'],
                capture_output=True, timeout=TIMEOUT)
            if alone.returncode not in (0, 1):
                continue  # babeltrace2 crashes on it, or reads without end
            for component in ('sink.countrace.report', 'filter.countrace.rmap'):
                with self.subTest(number=number, component=component):
                    ours = subprocess.run(
                        [*limit, '--cpu=60', '--',
                         *self.command(trace, '-c', component)],
                        env=self.environment, capture_output=True,
                        timeout=TIMEOUT)
                    self.assertIn(ours.returncode, (0, 1), ours.stderr)
                    read += ours.returncode == 0
                    refused += ours.returncode == 1
                    self.no_temporaries()
        self.assertGreater(read, 0)
        self.assertGreater(refused, 0)

    def test_segments_are_added(self):
        text = self.babeltrace(self.one, '-c', 'filter.countrace.rmap',
                               *parameters(map=str(self.map)))
        self.assertEqual(ORDERS * THREADS, len(re.findall(
            r'countrace_rmap:segment: .*name = "shop:serve"', text)))

    def test_what_is_added_can_be_saved(self):
        saved = self.work / 'saved'
        words = [self.one, '-c', 'filter.countrace.rmap',
                 *parameters(map=str(self.map))]
        self.babeltrace(*words, '-o', 'ctf', '-w', saved)
        before = self.babeltrace('--no-delta', *words)
        after = self.babeltrace('--no-delta', saved)
        added = [[re.sub(r'^.* (?=countrace_rmap:)|__counts_len = \d+, ', '', line)
                  for line in text.splitlines() if ' countrace_rmap:' in line]
                 for text in (before, after)]
        self.assertEqual((ORDERS + 1) * THREADS, len(added[0]))
        self.assertEqual(*added)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[7:]], verbosity=2)
