"""The times of each thread: on a CPU, waiting, blocked, and its switches and
faults, as sums that can be read at any instant (docs/definitions.md, "Wait and
blocked").
"""
import bisect
import collections

DEAD, OTHER, PREEMPTED, THROTTLED, RUNNABLE = 0x10, 0x20, 0x100, 0x300, 0
OFF = (None, 'unknown', 'off-cpu', 'blocked')
OUT, WAKE, IN, GONE, END = range(5)


class Spans:
    """Disjoint spans of time in ascending order, and their sum up to t."""

    def __init__(self):
        self.begins, self.ends, self.before = [], [], [0]

    def add(self, begin, end):
        if begin < end:
            self.begins.append(begin)
            self.ends.append(end)
            self.before.append(self.before[-1] + end - begin)

    def sum(self, time):
        index = bisect.bisect_right(self.begins, time)
        if index == 0:
            return 0
        return self.before[index] - max(self.ends[index - 1] - time, 0)

    def total(self):
        return self.before[-1]


class ThreadTimes:
    def __init__(self):
        self.on_cpu, self.wait, self.blocked = Spans(), Spans(), Spans()
        self.throttled = Spans()  # also in `wait`
        self.ins, self.outs, self.faults = [], [], []  # ns
        # (ns, CPU, what, prev_state or for GONE a flag)
        self.changes = []
        self.states = []  # (ns, name), the names as `state` has them
        self.dispatches, self.migrations = 0, 0
        # Ends of its intervals (ns), and the counts of each event until then.
        self.count_ends, self.count_sums = [], []

    def switches(self, time):
        return bisect.bisect_right(self.outs, time)

    def faulted(self, time):
        return bisect.bisect_right(self.faults, time)

    def counts(self, time):
        index = bisect.bisect_right(self.count_ends, time)
        return self.count_sums[index - 1] if index else None

    def settle(self, end_ns, wakeups):
        """Waiting and blocked time from the changes."""
        self.changes.sort(key=lambda change: change[:2])
        self.outs.sort()
        state, since = None, None
        for time, _, what, state_bits in self.changes + [(end_ns, 0, END, 0)]:
            after = next_state(state, what, state_bits)
            if after == state:
                continue
            if state in ('waiting', 'throttled'):
                self.wait.add(since, time)
                if state == 'throttled':
                    self.throttled.add(since, time)
            elif wakeups and (state == 'blocked' or
                              state == 'off-cpu' and what == WAKE):
                self.blocked.add(since, time)
                if self.states and self.states[-1] == (since, 'off-cpu'):
                    self.states[-1] = since, 'blocked'  # as the wake-up shows
            state, since = after, time
            if what != END:
                self.states.append((time, state))


def next_state(state, what, state_bits):
    if what == IN:
        return 'running'
    if what == END or state == 'ended':
        return 'ended'
    if what == GONE:  # with 1: another was seen there next
        return 'off-cpu' if state_bits else 'unknown'
    if what == WAKE:  # of one that runs or waits it changes nothing
        return 'waiting' if state in OFF else state
    if state_bits & DEAD:
        return 'ended'
    if state_bits == THROTTLED:
        return 'throttled'
    if state_bits in (RUNNABLE, PREEMPTED):
        return 'waiting'
    return 'off-cpu' if state_bits & OTHER else 'blocked'


def thread_times(trace, identities, cpus):
    """ThreadTimes by thread."""
    times = {thread: ThreadTimes() for thread in identities.all()}
    wakeups = any(record.kind == 'wakeup' for record in trace.records)
    pieces, runs = collections.defaultdict(list), []
    for cpu in cpus:
        for piece in cpu.pieces:
            if not isinstance(piece.owner, str):
                pieces[piece.owner].append(piece)
        for time, thread in cpu.switch_ins:
            times[thread].changes.append((time, cpu.number, IN, 0))
            runs.append((time, cpu.number, thread))
        for time, thread, state in cpu.switch_outs:
            times[thread].changes.append((time, cpu.number, OUT, state))
            times[thread].outs.append(time)
        for time, thread, seen in cpu.gone:
            times[thread].changes.append((time, cpu.number, GONE, seen))
    for thread, owned in pieces.items():
        for piece in sorted(owned, key=lambda piece: piece.begin):
            times[thread].on_cpu.add(piece.begin, piece.end)
    add_counts(times, cpus)
    last_cpu = {}
    for time, cpu, thread in sorted(runs, key=lambda run: run[:2]):
        times[thread].ins.append(time)
        times[thread].dispatches += 1
        times[thread].migrations += last_cpu.get(thread, cpu) != cpu
        last_cpu[thread] = cpu
    for record in trace.records:
        if record.kind == 'wakeup':
            thread = identities.at(record.values[1], record.time)
            if thread is not None:
                times[thread].changes.append(
                    (record.time, record.cpu, WAKE, 0))
        elif record.kind == 'fault':
            thread = identities.at(record.values[1], record.time)
            if thread is not None:
                times[thread].faults.append(record.time)
    end_ns = trace.records[-1].time if trace.records else 0
    for each in times.values():
        each.settle(end_ns, wakeups)
    return times, wakeups


def add_counts(times, cpus):
    entries = sorted((entry for cpu in cpus for entry in cpu.ledger
                      if entry[1] in times), key=lambda entry: entry[0])
    for end, owner, event, count in entries:
        sums, ends = times[owner].count_sums, times[owner].count_ends
        if not ends or ends[-1] != end:
            ends.append(end)
            sums.append(list(sums[-1]) if sums else [0] * len(cpus[0].events))
        sums[-1][event] += count
