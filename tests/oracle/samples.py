"""Samples and stays off the CPU (docs/samples.md, FORMAT.md 4.8): rows by file of
code of each thread, and books. Each sample is checked against the dispatches,
from which it did not come.
"""
import bisect
import collections
import posixpath

from recording import RecordingCode
from trace_text import SAMPLED

OFF_CPU, WAKER = 'off-cpu', 'off-cpu-waker'
CLOCKS = ('cpu-clock', 'task-clock')
KEYS = ('event', 'pid', 'tid', 'in', 'dso')
SUMS = ('self_samples', 'self', 'total_samples', 'total')
COUNTED = ('counted', 'idle', 'outside', 'lost', 'throttled')
SHORTER = ('shorter', 'shorter_ns', 'lost_ns', 'unseen')
UNITS = {'us': 10**3, 'ms': 10**6, 's': 10**9}
# Time off the CPU, in ns; `sure`: its stack was certainly taken.
Stay = collections.namedtuple('Stay', 'least most sure')
UNKNOWN = '[unknown]'


class Samples:
    def __init__(self, tables):
        self.tables, self.trace = tables, tables.trace
        self.files, self.frames = {}, {}  # by CPU and number
        self.symbols = set()  # of the kernel
        self.taken = []
        self.counts = collections.defaultdict(collections.Counter)  # by event
        for sample in self.trace.samples:
            self.read(sample)
        self.recording = RecordingCode(
            self.symbols, any(kind.startswith('probe')
                              for kind in self.trace.hook_kinds.values()),
            {self.stack(cpu, number) for cpu, number in self.frames})
        # Switches that no program saw: their time is computed (FORMAT.md 4.3).
        unseen = {(record.time, record.values[1])
                  for record in self.trace.records
                  if record.kind == 'switch_in' and record.values[2]}
        waits = [sample for sample in self.taken if sample.point == OFF_CPU]
        self.first_ns = min((sample.time - sample.values['period']
                             for sample in waits), default=0)
        # Those of waits that went on lie at the end, behind no dispatch.
        dispatched = {time for times in tables.times.values()
                      for time in times.ins}
        self.last_ns = min((sample.time for sample in waits
                            if sample.time - 1 not in dispatched), default=0)
        self.stays = {thread: self.observed(thread, unseen)
                      for thread in tables.times
                      if tables.counted(thread.process)}

    def read(self, sample):
        values = sample.values
        if sample.point == 'file':
            self.files[sample.cpu, values['file']] = values['path']
        elif sample.point == 'frame':
            self.frames[sample.cpu, values['id']] = sample
        elif sample.point == 'symbol' and (
                self.files[sample.cpu, values['file']] == '[kernel]'):
            self.symbols.add((values['begin'], values['bytes'], values['symbol']))
        elif sample.point in ('count', 'short'):
            event = self.trace.hook_names[values['hook']][len(SAMPLED):]
            self.counts[event].update({
                name: values[name] for name in COUNTED + SHORTER
                if name in values})
        elif 'stack' in values:
            self.taken.append(sample)

    def files_of(self, sample):
        """Of its frames, from the innermost on."""
        if not sample.values['stack']:
            return [UNKNOWN]
        return [posixpath.basename(path) for path in self.recording.joined(
            self.stack(sample.cpu, sample.values['stack']))]

    def stack(self, cpu, number):
        """(path, address) of its frames, from the outermost on."""
        found = []
        while number:
            values = self.frames[cpu, number].values
            found.append((self.files[cpu, values['file']], values['address']))
            number = values['parent']
        return tuple(reversed(found))

    def thread(self, sample):
        """The counted one that it belongs to, or None."""
        thread = self.tables.identities.at(sample.tid, sample.time)
        return (thread if thread and self.tables.counted(thread.process)
                else None)

    def inside(self, thread, time):
        """The program's segment that is open, and the system call in it."""
        stack = self.tables.stacks.get(thread)
        if stack is None:
            return ''
        index = bisect.bisect_right([at for at, _ in stack.history], time)
        names = [name for name, _ in stack.history[index - 1][1]] if index else []
        own = [name for name in names
               if self.trace.hook_kinds.get(name) == 'segment']
        calls = [name for name in names if name.startswith('syscall:')]
        return ' > '.join(own[-1:] + calls[-1:])

    # --- What `report --by dso --group-by thread` has

    def rows(self):
        rows = collections.defaultdict(lambda: dict.fromkeys(SUMS, 0))
        for sample in self.taken:
            thread = self.thread(sample)
            if thread is None:
                continue
            files, period = self.files_of(sample), sample.values['period']
            for file in set(files):
                row = rows[sample.point, thread.process.pid, thread.tid,
                           self.inside(thread, sample.time), file]
                row['total_samples'] += 1
                row['total'] += period
                if file == files[0]:
                    row['self_samples'] += 1
                    row['self'] += period
        for (event, *_), row in rows.items():
            for name in ('self', 'total'):
                row[name] //= self.periods(event)
        return [dict(zip(KEYS, key), **row) for key, row in rows.items()]

    def periods(self, event):
        """With how many it is sampled, each standing for all that happened."""
        return self.trace.rates[event].count(' and ') + 1

    def books(self, exact):
        """By event. `exact`: times of processes are."""
        books = {}
        for event in self.trace.rates:
            own = [sample for sample in self.taken if sample.point == event]
            counts = self.counts[event]
            sums = {name: counts[name] for name in ('counted', 'idle', 'outside')}
            sums['processes'] = sum(sample.values['period'] for sample in own)
            book = {name: ns // self.periods(event)
                    for name, ns in sums.items()}
            book['residual'] = (2 * book['counted'] - sum(book.values()) -
                                counts['shorter_ns'] - counts['lost_ns'])
            if exact and event in CLOCKS and self.tables.cpus:
                on_cpu = sum(row.get('on_cpu_ns', 0) for row in self.tables.processes())
                book['residual_of_processes'] = on_cpu - book['processes']
            book['samples'] = len(own)
            others = SHORTER if event == OFF_CPU else ()
            book.update({name: counts[name]
                         for name in ('lost', 'throttled') + others})
            books[event] = book
        return {event: book for event, book in books.items()
                if event in self.counts}

    # --- What the dispatches say

    def contradictions(self):
        """(where, least and most by the dispatches, by the sample) of each."""
        for sample in self.taken:
            thread = self.thread(sample)
            where = f'{sample.point} {sample.time} of {sample.tid}'
            if thread is None:
                yield where, 'counted', 'counted', 'not counted'
            elif sample.point == OFF_CPU:
                stay = self.stays[thread].get(sample.time - 1)
                if stay is not None:  # else the recording ended
                    yield where, stay.least, stay.most, sample.values['period']
            elif sample.point != WAKER:
                tid = self.on_cpu(sample)
                yield where, tid, tid, thread.tid
        if OFF_CPU in self.counts and not self.counts[OFF_CPU]['lost']:
            yield from self.without_sample()

    def on_cpu(self, sample):
        """The tid that the dispatches had there."""
        for cpu in self.tables.cpus:
            if cpu.number == sample.cpu:
                begins = [span.begin for span in cpu.spans]
                at = bisect.bisect_right(begins, sample.time) - 1
                owner = cpu.spans[at].owner
                return getattr(owner, 'tid', owner)
        return None

    def without_sample(self):
        """Long stays without a sample, and the count of the others."""
        value, unit = self.trace.rates[OFF_CPU].split()[:2]
        limit = float(value) * UNITS[unit]
        counts = self.counts[OFF_CPU]
        sampled = {(sample.tid, sample.time - 1) for sample in self.taken
                   if sample.point == OFF_CPU}
        short = [stay for thread, ends in self.stays.items()
                 for end, stay in ends.items()
                 if (thread.tid, end) not in sampled]
        sure = [stay for stay in short if stay.sure]
        for stay in sure:
            if stay.least >= limit:
                yield f'a stay of {stay.most} ns', 'sampled', 'sampled', 'not'
        yield 'shorter', len(sure), len(short), counts['shorter']
        yield ('shorter_ns', sum(stay.least for stay in sure),
               sum(stay.most for stay in short), counts['shorter_ns'])

    def observed(self, thread, unseen):
        """{end: Stay} of the times between two dispatches of a thread. Its first
        wait begins between its fork and the wake-up after it, which has no
        record."""
        times = self.tables.times[thread]
        ends = {}
        for begin in times.outs:
            at = bisect.bisect_right(times.ins, begin)
            if at < len(times.ins):
                ns = times.ins[at] - begin
                ends[times.ins[at]] = Stay(ns, ns, self.sure(thread, begin,
                                                             times.ins[at]))
        if thread.forked and times.ins:
            begin, end = thread.born_ns, times.ins[0]
            ends[end] = Stay(0, end - begin, self.sure(thread, begin, end))
        return {end: stay for end, stay in ends.items()
                if (end, thread.tid) not in unseen}

    def sure(self, thread, begin, end):
        """Whether a stack was certainly taken there: of a command always, else
        from the first sample on until those at the end; of a process until its
        last thread exits."""
        if not self.trace.env['root_pid'] and not (
                self.first_ns <= begin < end <= self.last_ns):
            return False
        deaths = [each.dead_ns for each in thread.process.threads]
        return None in deaths or end <= max(deaths)
