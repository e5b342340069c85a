"""Rows and books from pieces of time, calls and counts. The keys are those of
`countrace report --format json` (docs/definitions.md).
"""
import collections
import math

from dispatches import (CLOCKS, IDLE, INFERRED, INTERRUPT, OUTSIDE, OWN,
                        RUN_TIME, UNATTRIBUTED)
from segments import Amounts
from thread_times import THROTTLED
from trace_text import SAMPLED

SYMBOLS = (IDLE, INTERRUPT, OUTSIDE, UNATTRIBUTED)
PERCENTILES = (50, 90, 99)


class Row:
    """Sums over calls of one segment, or of one path, in one process."""

    def __init__(self):
        self.calls = self.end_inferred = self.begin_inferred = 0
        self.walls = []
        self.incl, self.excl = [0] * 6, [0] * 6
        self.counts = []  # of each call: counts between its dumps, and inside

    def add(self, call, outermost):
        self.calls += 1
        self.end_inferred += call.end_inferred
        self.walls.append(call.incl.wall)
        self.counts.append((outermost, call.counts, call.inner_counts))
        for i, (incl, inner) in enumerate(zip(call.incl, call.inner)):
            self.incl[i] += incl if outermost else 0
            self.excl[i] += incl - inner


class Tables:
    def __init__(self, trace, identities, cpus, times, wakeups, stacks):
        self.trace, self.identities, self.cpus = trace, identities, cpus
        self.times, self.wakeups, self.stacks = times, wakeups, stacks
        self.events = trace.cpu_events
        self.faults_recorded = any(each.faults for each in times.values())
        self.throttled = any(state == THROTTLED for cpu in cpus
                             for _, _, state in cpu.switch_outs)
        self.end_ns = trace.records[-1].time if trace.records else 0
        # The accounts are then bounds, and books have no marks.
        self.lossy = bool(trace.losses) or trace.session_lost or any(
            cpu.running for cpu in cpus)
        self.doubtful = set().union(*(cpu.doubtful for cpu in cpus))
        # Their rows are of the time before the mark: not reconstructed.
        self.marked_late = set()
        if identities.gate.unmarked and not identities.gate.all:
            self.marked_late = {process.pid for process in identities.processes
                                if process.marked_from is not None}
        self.rows, self.paths = {}, {}  # (process, name or path) -> Row
        self.add_calls()
        self.add_interrupts()

    def is_own(self, process):
        return process.pid == self.trace.env['recorder_pid']

    def counted(self, process):
        return process.counted(self.identities.gate, self.end_ns)

    # --- Processes, threads, CPUs

    def counts(self, owner):
        sums = [0] * len(self.events)
        for cpu in self.cpus:
            if owner in cpu.counts:
                sums = [a + b for a, b in zip(sums, cpu.counts[owner])]
        return sums

    def thread(self, thread):
        times = self.times[thread]
        row = {'tid': thread.tid, 'pid': thread.process.pid,
               'comm': thread.comm, 'dispatches': times.dispatches,
               'migrations': times.migrations}
        # Hooks show that a thread ran: without a record of the kernel's it is
        # not known when, which is not 0.
        known = (times.ins or times.outs or times.faults or
                 self.stacks.get(thread) is None)
        if self.cpus and known:
            row['on_cpu_ns'] = times.on_cpu.total()
            row['counts'] = dict(zip(self.events, self.counts(thread)))
        # A wake-up shows since when it waits.
        if self.cpus and (known or times.wait.total()):
            row['wait_ns'] = times.wait.total()
            if self.throttled:
                row['throttled_ns'] = times.throttled.total()
        if self.wakeups and (known or times.wait.total()):
            row['blocked_ns'] = times.blocked.total()
        return row

    def threads(self):
        return [self.thread(thread) for process in self.identities.processes
                if self.counted(process) for thread in process.threads]

    def process(self, process):
        threads = [self.thread(thread) for thread in process.threads]
        row = {'pid': process.pid, 'comm': process.comm,
               'threads': len(threads), 'parent_pid': process.parent_pid,
               'dispatches': sum(each['dispatches'] for each in threads)}
        known = [each for each in threads if 'on_cpu_ns' in each]
        if known:
            row['on_cpu_ns'] = sum(each['on_cpu_ns'] for each in known)
            row['counts'] = {event: sum(each['counts'][event]
                                        for each in known)
                             for event in self.events}
        return row

    def processes(self):
        return [self.process(process) for process in self.identities.processes
                if self.counted(process)]

    def cpu_rows(self):
        rows = []
        for cpu in self.cpus:
            row = collections.Counter()
            for begin, end, owner in cpu.pieces:
                name = owner if isinstance(owner, str) else 'busy'
                row[name + '_ns'] += end - begin
            row = {name: row[name] for name in (
                'busy_ns', 'idle_ns', 'interrupts_ns', 'outside_ns',
                'unattributed_ns')}
            row.update(cpu=cpu.number, wall_ns=cpu.wall_ns,
                       dispatches=sum(self.counted(thread.process)
                                      for _, thread in cpu.switch_ins),
                       counts=dict(zip(self.events, cpu.total)))
            if self.marked_late:
                del row['dispatches']
            if self.lossy:
                row = {name: row[name] for name in ('cpu', 'counts')}
            rows.append(row)
        return rows

    # --- Segments

    def add_calls(self):
        for thread, stack in self.stacks.items():
            if not self.counted(thread.process):
                continue
            for call in stack.calls:
                self.row(self.rows, thread.process, call.name).add(
                    call, call.outermost)
                self.row(self.paths, thread.process, call.path).add(call, True)
            for name, times in stack.without_enter.items():
                for rows, key in ((self.rows, name), (self.paths, (name,))):
                    self.row(rows, thread.process, key).begin_inferred += times

    def row(self, rows, process, key):
        return rows.setdefault((process, key), Row())

    def add_interrupts(self):
        """They are calls of the CPU: all their time is on it, in no thread."""
        for cpu in self.cpus:
            for path, begin, end, inner, how in cpu.interrupts:
                if how == OWN:
                    continue
                for rows, key, outermost in (
                        (self.rows, path[-1], path[-1] not in path[:-1]),
                        (self.paths, path, True)):
                    row = self.row(rows, None, key)
                    row.calls += 1
                    row.end_inferred += how == INFERRED
                    row.walls.append(end - begin)
                    for i in range(2):  # wall, on_cpu
                        row.incl[i] += end - begin if outermost else 0
                        row.excl[i] += end - begin - inner

    def segment(self, process, key, row):
        wall, on_cpu, wait, blocked, _, _ = zip(row.incl, row.excl)
        out = {'pid': process.pid if process else 0, 'calls': row.calls,
               'begin_inferred': row.begin_inferred,
               'end_inferred': row.end_inferred,
               'wall_ns': {**pair(wall), **spread(row.walls)}, 'counts': {}}
        if isinstance(key, tuple):
            out['path'] = list(key)
        out['segment'] = key[-1] if isinstance(key, tuple) else key
        of_program = self.trace.hook_kinds.get(out['segment']) == 'segment'
        dumped = self.trace.thread_events if of_program else self.events
        for index, event in enumerate(dumped):
            if event == RUN_TIME:
                continue  # not updated inside a dispatch
            if of_program and event not in self.events or (
                    not of_program and self.column(event) is None):
                out['counts'].update(at_hooks(row, index, event))
        if not self.cpus:
            return out
        out['on_cpu_ns'] = pair(on_cpu)
        interrupt = process is None
        out['off_cpu_ns'] = pair([0, 0] if interrupt else
                                 [a - b for a, b in zip(wall, on_cpu)])
        if self.wakeups:
            out['wait_ns'], out['blocked_ns'] = pair(wait), pair(blocked)
        for event in self.events:
            column = self.column(event)
            if column is not None:
                out['counts'][event] = pair((row.incl[column],
                                             row.excl[column]))
        return out

    def column(self, event):
        """Which of the Amounts is this event's count; None: not recorded."""
        if event in CLOCKS:
            return Amounts._fields.index('on_cpu')
        if event == 'context-switches':
            return Amounts._fields.index('switches')
        total = sum(cpu.total[self.events.index(event)] for cpu in self.cpus)
        if event == 'page-faults' and (self.faults_recorded or total == 0):
            return Amounts._fields.index('faults')
        return None

    def segments(self):
        return [self.segment(process, key, row)
                for (process, key), row in self.rows.items()]

    def segment_paths(self):
        return [self.segment(process, key, row)
                for (process, key), row in self.paths.items()]

    def hooks(self):
        hits = collections.Counter()
        for thread, stack in self.stacks.items():
            if self.counted(thread.process):
                for name, count in stack.hits.items():
                    hits[name, thread.process] += count
        for record in self.trace.records:
            if record.kind.startswith('hook_') and (
                    record.tid == 0 or
                    self.trace.hook_kinds.get(record.name) == 'interrupt'):
                hits[record.name, None] += 1
        return [{'hook': name, 'pid': process.pid if process else 0,
                 'hits': count} for (name, process), count in hits.items()
                if not name.startswith(SAMPLED)]  # those have a table

    # --- Books

    def books(self):
        books = {}
        for index, event in enumerate(self.events):
            book = dict.fromkeys(('processes', 'own') + SYMBOLS, 0)
            for cpu in self.cpus:
                for owner, counts in cpu.counts.items():
                    name = (owner if isinstance(owner, str) else
                            'own' if self.is_own(owner.process) else
                            'processes')
                    book[name] += counts[index]
            book['total'] = sum(cpu.total[index] for cpu in self.cpus)
            book['residual'] = book['total'] - sum(
                book[name] for name in ('processes', 'own') + SYMBOLS)
            column = self.column(event)
            # `report` includes the recorder's segments; they are no part of
            # `processes`, so that the two differ where it has some.
            if column is not None and not self.marked_late:
                book['in_segments'] = sum(
                    row.excl[column] for (process, _), row in self.rows.items()
                    if process is not None and not self.is_own(process))
            if self.lossy:
                book = {name: book[name] for name in ('total', 'residual')}
            books[event] = book
        return books


def at_hooks(row, index, event):
    """Counts between two dumps, if each call has both."""
    incl = excl = 0
    for outermost, counts, inner in row.counts:
        if counts is None or counts[index] is None:
            return {}
        incl += counts[index] if outermost else 0
        excl += counts[index] - (inner[index] or 0 if inner else 0)
    return {event: {'incl': incl, 'excl': excl}} if row.counts else {}


def pair(amounts):
    return dict(zip(('incl', 'excl'), amounts))


def spread(walls):
    """Statistics over calls. Percentiles: the nearest rank."""
    if not walls:
        return {}
    walls = sorted(walls)
    mean = sum(walls) / len(walls)
    variance = sum((wall - mean) ** 2 for wall in walls) / len(walls)
    out = {'mean': (2 * sum(walls) + len(walls)) // (2 * len(walls)),
           'stddev': math.sqrt(variance), 'min': walls[0], 'max': walls[-1]}
    for percent in PERCENTILES:
        out[f'p{percent}'] = walls[-(-percent * len(walls) // 100) - 1]
    return out
