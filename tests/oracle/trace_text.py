"""Records of a trace from babeltrace2's text, and the env of its metadata.

One line of `babeltrace2 --clock-seconds --no-delta --fields=loglevel` is

   [SECONDS] EVENT: { packet context }, [{ dump of a user hook },] { payload }

and one line of its standard error for each packet that counts lost records.

Requires a trace without multiplexed event sets (FORMAT.md 4.5).
"""
import pathlib
import re
import subprocess
from collections import namedtuple

# `kind` is the name of a cpu event (FORMAT.md 4.3), or hook_enter, hook_exit,
# hook_hit. `cpu` is -1 for a record of a thread stream. `values` are the
# integers of the payload in its order, `name` the hook's or a command's.
Record = namedtuple('Record', 'time cpu pid tid kind name values dump')
# `count` records or packets lost after `begin` and before `end` (ns), of a CPU
# or, with -1, of a thread.
Loss = namedtuple('Loss', 'cpu begin end count')

CPU_EVENTS = ('dispatch', 'counters', 'fork', 'exec', 'comm', 'exit', 'fault',
              'process_state', 'switch_in', 'wakeup')
# A kernel hook's payload begins with tid, pid, number.
HOOK_FIELDS = 3
# A point hook of the runtime library: its payload is the time of setjmp.
JUMP = 'countrace:jump'
CONTEXT = ': { discarded_no_sub_buffer = '
COMM = re.compile(r'comm = "((?:[^"\\]|\\.)*)"')
ENV_LINE = re.compile(r'^\t(\w+) = (?:"((?:[^"\\]|\\.)*)"|(-?\d+));$', re.M)
DISCARDED = re.compile(r'Tracer discarded (\d+) (?:event|packet)s? between '
                       r'\[[^]]*\] and \[([^]]*)\].*/([^/"]+)" \(stream class')
ESCAPE = re.compile(r'\\([0-7]{3}|.)')


def unescaped(text):
    """The text of a TSDL string literal."""
    def sign(match):
        found = match.group(1)
        return {'t': '\t', 'n': '\n'}.get(found) or (
            chr(int(found, 8)) if len(found) == 3 else found)
    return ESCAPE.sub(sign, text)


class Trace:
    """`records` are in time order; at equal times those of CPUs come first."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.env = self.read_env()
        if 'cpu_event_sets' in self.env or 'thread_event_sets' in self.env:
            raise ValueError('event sets are multiplexed: counts are estimates')
        self.cpu_events = self.listed('cpu_event')
        self.thread_events = self.listed('thread_event')
        self.hook_kinds = {}  # by name: kernel-segment, segment, interrupt, ...
        for key, text in self.env.items():
            if re.fullmatch(r'hook_\d+', key):
                kind, _, name, *_ = text.split('\t')
                self.hook_kinds[name] = kind
        self.contexts = {}  # text of a packet context -> (cpu, pid, tid)
        self.losses = []
        self.session_lost = any(
            count for key, count in self.env.items()
            if key.startswith('session_discarded_'))
        self.records = []
        self.read_records()

    def read_env(self):
        text = (self.path / 'metadata').read_text(encoding='utf-8',
                                                  errors='surrogateescape')
        block = text[text.rindex('\nenv {'):]
        return {key: int(number) if number else unescaped(words)
                for key, words, number in ENV_LINE.findall(block)}

    def listed(self, key):
        names = []
        while f'{key}_{len(names)}' in self.env:
            names.append(self.env[f'{key}_{len(names)}'])
        return names

    def read_records(self):
        run = subprocess.run(
            ['babeltrace2', '--clock-seconds', '--no-delta',
             '--fields=loglevel', str(self.path)],
            capture_output=True, check=True)
        for line in run.stdout.decode(errors='surrogateescape').split('\n'):
            if not line:
                continue
            at = line.find(CONTEXT)
            end = line.index(' }', at)
            context = self.contexts.get(line[at:end])
            if context is None:
                context = self.contexts[line[at:end]] = read_context(
                    line[at + 4:end])
            closing = line.index(']')
            self.records.append(self.record(
                self.time(line[1:closing]), context, line[closing + 2:at],
                line[end + 4:]))
        # Stable: the order within a stream stays.
        self.records.sort(key=lambda record: (
            record.time, record.cpu if record.cpu >= 0 else 1 << 30))
        for found in DISCARDED.finditer(run.stderr.decode(errors='replace')):
            count, time, stream = found.groups()
            self.lose(int(count), self.time(time), stream)

    def time(self, seconds):
        """CLOCK_MONOTONIC ns: the clock's offset is that of real time."""
        whole, ns = seconds.split('.')
        return (int(whole) * 10**9 + int(ns) -
                max(self.env['realtime_offset_ns'], 0))

    def lose(self, count, begin, stream):
        """The packet that counts them ends at `begin`; what was lost lies
        before the stream's next record."""
        cpu = int(stream[4:]) if stream.startswith('cpu-') else -1
        end = next((record.time for record in self.records
                    if record.cpu == cpu and record.time > begin),
                   self.records[-1].time)
        self.losses.append(Loss(cpu, begin, end, count))

    def record(self, time, context, event, rest):
        cpu, pid, tid = context
        if cpu < 0:
            payload = integers(rest)[-1:] if event == JUMP else ()
            return Record(time, -1, pid, tid, *self.side(event), payload,
                          self.user_dump(rest))
        if event in CPU_EVENTS:
            name = ''
            if event in ('exec', 'comm', 'process_state'):
                comm = COMM.search(rest)
                name = unescaped(comm.group(1))
                rest = rest[:comm.start()].rstrip(', ')
            return Record(time, cpu, -1, -1, event, name, integers(rest), None)
        values = integers(rest)
        kind, name = self.side(event)
        payload = HOOK_FIELDS + (kind == 'hook_exit')  # which ends with `ret`
        dump = (values[HOOK_FIELDS:HOOK_FIELDS + len(self.cpu_events)]
                if len(values) > payload else None)
        return Record(time, cpu, values[1], values[0], kind, name, values, dump)

    def side(self, event):
        """(hook_enter, hook_exit or hook_hit, name of the hook)."""
        for suffix in ('enter', 'exit'):
            if event.endswith('__' + suffix):
                return 'hook_' + suffix, event[:-len(suffix) - 2]
        return 'hook_hit', event

    def user_dump(self, rest):
        """(mmcr, present, values...) of a record with counters, else None."""
        if not rest.startswith('{ mmcr = '):
            return None
        return integers(rest[:rest.index(' }')])


def read_context(text):
    fields = dict(part.split(' = ') for part in text.split(', '))
    return int(fields['cpu_id']), int(fields['pid']), int(fields['tid'])


def integers(text):
    """Values of `{ a = 1, b = 0x2 }`."""
    return [int(part[part.index(' = ') + 3:].rstrip(' }'), 0)
            for part in text.split(', ') if ' = ' in part]
