"""Records of a trace from babeltrace2's text, and the env of its metadata.

One line of `babeltrace2 --clock-seconds --no-delta --fields=loglevel` is

   [SECONDS] EVENT: { packet context }, [{ dump of a user hook },] { payload }

and one line of its standard error for each packet that counts lost records.
"""
import pathlib
import re
import subprocess
from collections import namedtuple

# `kind` is the name of a cpu event (FORMAT.md 4.3), or hook_enter, hook_exit,
# hook_hit. `cpu` is -1 for a record of a thread stream. `values` are the
# integers of the payload in its order, `name` the hook's or a command's. Of
# event sets `values` and `dump` have what is always on; `of_set` is (set,
# {event: value}, running ns), of a thread's (set, {event: value}, bit 15 of
# `present`), None if no set was counted.
Record = namedtuple('Record',
                    'time cpu pid tid kind name values dump of_set',
                    defaults=(None,))
# A record of the provider `sample` (FORMAT.md 4.8): its values by name. `point` is
# the name behind `sample:`.
Sample = namedtuple('Sample', 'time cpu pid tid point values')
# `count` records or packets lost after `begin` and before `end` (ns), of a CPU
# or, with -1, of a thread.
Loss = namedtuple('Loss', 'cpu begin end count')

CPU_EVENTS = ('dispatch', 'counters', 'fork', 'exec', 'comm', 'exit', 'fault',
              'process_state', 'switch_in', 'wakeup', 'owner')
# Those with counters, behind so many fields.
COUNTED = {'dispatch': 3, 'counters': 2}
# A kernel hook's payload begins with tid, pid, number.
HOOK_FIELDS = 3
SAMPLED = 'sample:'
# Points of that provider which describe samples and are none.
DESCRIBING = ('frame', 'file', 'area', 'symbol', 'timed_symbol', 'count', 'short')
# A point hook of the runtime library: its payload is the time of setjmp.
JUMP = 'countrace:jump'
STACK = 'countrace:stack'
SCOPE = 'countrace:scope'
VALUES = {JUMP: 1, STACK: 2, SCOPE: 2}  # of the program's hooks that have any
# Before format 3 there was no checksum.
CONTEXT = re.compile(r': \{ (?:checksum = \d+, )?discarded_no_sub_buffer = ')
COMM = re.compile(r'comm = "((?:[^"\\]|\\.)*)"')
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|0x[0-9A-F]+|-?\d+)')
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
        # Always on, and the sets.
        self.cpu_events, self.cpu_sets = self.events('cpu')
        self.thread_events, self.thread_sets = self.events('thread')
        # The name of a kernel hook's first value, by side ('hook_enter', ...)
        # and hook.
        self.first_values = {}
        self.hook_kinds = {}  # by name: kernel-segment, segment, interrupt, ...
        self.hook_names = {}  # by id
        self.samples = []  # and what describes them, each CPU's in its order
        self.rates = {}  # of sampled events: how they are sampled
        for key, text in self.env.items():
            if re.fullmatch(r'hook_\d+', key):
                kind, types, name, location, *names = text.split('\t')
                self.hook_kinds[name] = kind
                self.hook_names[int(key[len('hook_'):])] = name
                if name.startswith(SAMPLED):
                    self.rates[name[len(SAMPLED):]] = location
                if '-' in kind and types != '-':
                    self.find_first_values(name, types, names[0].split(','))
        self.contexts = {}  # text of a packet context -> (cpu, pid, tid)
        self.losses = []
        self.session_lost = any(
            count for key, count in self.env.items()
            if key.startswith('session_discarded_'))
        self.records = []
        self.read_records()

    def find_first_values(self, hook, types, names):
        enter = 'hook_enter' if '/' in types else 'hook_hit'
        first, _, last = types.partition('/')
        for side, count, at in ((enter, first, 0),
                                ('hook_exit', last, len(first))):
            if count:
                # Another name than the record's own fields have.
                own = names[at] in ('tid', 'pid', 'number', 'ret')
                self.first_values[side, hook] = names[at] + ('_2' if own else '')

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

    def events(self, of):
        """Names of those that are always on, and of those in each set."""
        names = self.listed(f'{of}_event')
        text = self.env.get(f'{of}_event_sets')
        sets = []
        for size in reversed(text.split(',') if text else []):
            sets.insert(0, names[-int(size):])
            del names[-int(size):]
        return names, sets

    def read_records(self):
        run = subprocess.run(
            ['babeltrace2', '--clock-seconds', '--no-delta',
             '--fields=loglevel', str(self.path)],
            capture_output=True, check=True)
        for line in run.stdout.decode(errors='surrogateescape').split('\n'):
            if not line:
                continue
            at = CONTEXT.search(line).start()
            end = line.index(' }', at)
            context = self.contexts.get(line[at:end])
            if context is None:
                context = self.contexts[line[at:end]] = read_context(
                    line[at + 4:end])
            closing = line.index(']')
            record = self.record(self.time(line[1:closing]), context,
                                 line[closing + 2:at], line[end + 4:])
            if record is not None:
                self.records.append(record)
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
        """None: it only describes samples."""
        cpu, pid, tid = context
        if event.startswith(SAMPLED):
            values = {name: unescaped(text[1:-1]) if text[0] == '"' else
                      int(text, 0) for name, text in FIELD.findall(rest)}
            point = event[len(SAMPLED):]
            self.samples.append(Sample(time, cpu, values['pid'], values['tid'],
                                       point, values))
            if point in DESCRIBING:
                return None
        if cpu < 0:
            payload = integers(rest)[-VALUES[event]:] if event in VALUES else ()
            return Record(time, -1, pid, tid, *self.side(event), payload,
                          *self.user_dump(rest))
        if event in CPU_EVENTS:
            name = ''
            if event in ('exec', 'comm', 'process_state'):
                comm = COMM.search(rest)
                name = unescaped(comm.group(1))
                rest = rest[:comm.start()].rstrip(', ')
            values = integers(rest)
            values, of_set = self.without_sets(values, COUNTED.get(event))
            return Record(time, cpu, -1, -1, event, name, values, None, of_set)
        kind, name = self.side(event)
        if (kind, name) in self.first_values:  # not needed here
            rest = rest[:rest.index(f', {self.first_values[kind, name]} = ')]
        values = integers(rest)
        payload = HOOK_FIELDS + (kind == 'hook_exit')  # which ends with `ret`
        dumped = len(values) > payload
        values, of_set = self.without_sets(values,
                                           HOOK_FIELDS if dumped else None)
        dump = (values[HOOK_FIELDS:HOOK_FIELDS + len(self.cpu_events)]
                if dumped else None)
        return Record(time, cpu, values[1], values[0], kind, name, values, dump,
                      of_set)

    def without_sets(self, values, fields):
        """`values` without what a dump behind `fields` of them has for sets,
        and that."""
        if not self.cpu_sets or fields is None:
            return values, None
        always, size = len(self.cpu_events), max(map(len, self.cpu_sets))
        mmcr, present = values[fields:fields + 2]
        at = fields + 2 + always
        counted = {event: values[at + i]
                   for i, event in enumerate(self.cpu_sets[mmcr])
                   if present >> (always + i) & 1}
        rest = values[:fields] + values[fields + 2:at] + values[at + size + 1:]
        return rest, (mmcr, counted, values[at + size]) if counted else None

    def side(self, event):
        """(hook_enter, hook_exit or hook_hit, name of the hook)."""
        for suffix in ('enter', 'exit'):
            if event.endswith('__' + suffix):
                return 'hook_' + suffix, event[:-len(suffix) - 2]
        return 'hook_hit', event

    def user_dump(self, rest):
        """(mmcr, present, values...) of a record with counters, else None; and
        what it has for a set."""
        if not rest.startswith('{ mmcr = '):
            return None, None
        if not self.thread_sets:
            return integers(rest[:rest.index(' }')]), None
        mmcr, present, *values = integers(rest[:rest.index(' } }')])
        always = len(self.thread_events)
        counted = {event: values[always + i]
                   for i, event in enumerate(self.thread_sets[mmcr])
                   if present >> (always + i) & 1}
        of_set = (mmcr, counted, present >> 15 & 1) if counted else None
        return [0, present & ((1 << always) - 1), *values[:always]], of_set


def read_context(text):
    fields = dict(part.split(' = ') for part in text.split(', '))
    return int(fields['cpu_id']), int(fields['pid']), int(fields['tid'])


def integers(text):
    """Values of `{ a = 1, b = 0x2, c = ( "x" : container = 3 ), d = { { e = 4 } }
    }`."""
    return [int(part[part.rindex(' = ') + 3:].rstrip(' })'), 0)
            for part in text.split(', ') if ' = ' in part]
