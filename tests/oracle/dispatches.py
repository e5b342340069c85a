"""Who had each CPU when: dispatches, idle time, interrupts, and the counts
between two dumps (docs/definitions.md, "Dispatch", "Books", "Interrupts").
"""
import collections

from estimates import CLOCKS, FAULTS, Rotations

# Owners of a piece that are no thread.
IDLE, OUTSIDE = 'idle', 'outside'
UNATTRIBUTED, INTERRUPT = 'unattributed', 'interrupts'
SAME_THREAD = 0xffffffff  # running_tid: the one that ran there before
BEGIN, END, SET_BEGIN = 0, 1, 4  # reasons of `counters`
RUN_TIME = 'exec-runtime'  # the scheduler's account
# What interrupts cannot have.
OF_THREADS = CLOCKS + (RUN_TIME, 'page-faults', 'context-switches')

# Time [begin, end) of one CPU; `owner` is a thread or one of the above.
Piece = collections.namedtuple('Piece', 'begin end owner')
# The same between two dumps. `switches`: 1 if it began with a switch. Not
# `busy`: the idle task, also where that is outside.
Part = collections.namedtuple('Part', 'begin end owner switches busy')
# An interrupt on a CPU; `path` are the handlers, outermost first. `how` it
# ended: by its exit, by another record, or as the recorder's own, with the CPU.
Interrupt = collections.namedtuple('Interrupt', 'path begin end inner_ns how')
EXIT, INFERRED, OWN = 'exit', 'inferred', 'own'


class Cpu:
    """One CPU from its first dump to its last."""

    def __init__(self, number, trace, identities):
        self.number, self.identities = number, identities
        self.events = trace.cpu_events
        self.pieces = []  # without gaps; interrupts cut out
        self.spans = []  # one owner each, interrupts not cut out
        self.interrupts = []
        self.switch_ins = []  # (ns, thread)
        self.switch_outs = []  # (ns, thread, prev_state)
        self.counts = collections.defaultdict(  # owner -> count of each event
            lambda: [0] * len(self.events))
        self.total = [0] * len(self.events)
        self.ledger = []  # (ns, owner, event, count) of each interval
        self.doubtful = set()  # threads next to an interval without an owner
        self.gone = []  # (ns, thread, switched) where it was last seen
        self.running, self.wall_ns = False, 0
        self.losses = [loss for loss in trace.losses if loss.cpu == number]
        self.open = []  # interrupts: [name, begin, inner_ns]
        # Outermost interrupts since the last dump: (begin, end), and counts.
        self.cut, self.interrupted = [], [0] * len(self.events)
        self.enter_dump, self.faults = None, []
        # An interrupt since the last dump has no dump at one of its ends, and
        # the latest record of one.
        self.unsplit, self.interrupt_ns = False, None
        # (ns, tid) of a dump at a kernel hook -> counts since the dump before.
        self.partial = {}
        self.rotations, self.of_set = Rotations(trace.cpu_sets), None

    # --- Reading

    def read(self, records, kinds):
        """`records` of this CPU; `kinds` of hooks by name."""
        for record in records:
            self.forget_interrupts(record.time)
            self.of_set = record.of_set
            if record.kind == 'counters':
                self.counters(record)
            elif record.kind == 'dispatch':
                self.dispatch(record)
            elif record.kind == 'switch_in' and self.running:
                self.switch_in(record.time, record.values[0], record.values[1])
            elif record.kind == 'exec' and self.running:
                self.exec(record)
            elif record.kind == 'fault':
                self.faults.append((record.values[1], record.time))
            elif kinds.get(record.name) == 'interrupt':
                if record.kind == 'hook_enter' and not self.open:
                    self.hook_dump(record, self.tid)
                self.interrupt(record)
            elif record.dump and self.running:
                self.hook_dump(record, record.tid)
                self.partial[record.time, record.tid] = [
                    now - last - inside for now, last, inside in
                    zip(record.dump, self.last, self.interrupted)]

    def counters(self, record):
        reason, running, *values = record.values
        if reason == SET_BEGIN:
            self.rotations.end()
        if reason == BEGIN or not self.running:
            self.running = True
            self.tid, self.since, self.dump_ns, self.last = (
                running, record.time, record.time, values)
            self.parts, self.switches = [], 0
            self.rotations.dump(self.of_set)
            self.come(record.time, running)
            return
        if self.is_hidden_switch(running, record.time):
            self.leave(self.since, self.tid, False)
        self.close(record.time,
                   self.tid if running == SAME_THREAD else running, values)
        if reason == END:
            self.running = False
            self.leave(record.time, self.tid, False)
            # Makes every CPU dump: nothing came after its enter.
            if self.open and self.open[-1][1] == self.interrupt_ns:
                self.end_interrupt(record.time, OWN)
            self.end_interrupts(record.time)
        elif running not in (SAME_THREAD, self.tid):
            self.tid = running
            self.come(record.time, running)

    def dispatch(self, record):
        prev, after, state, *values = record.values
        state &= 0x3ff  # without the flags: who may use any CPU
        self.end_interrupts(record.time)
        if not self.running:
            return
        hidden = self.is_hidden_switch(prev, record.time)
        if hidden:  # when that was is not known
            self.leave(self.since, self.tid, False)
        self.close(record.time, prev, values)
        thread = self.thread(prev, record.time)
        if thread is not None:
            if hidden:
                self.come(record.time, prev)
            self.switch_outs.append((record.time, thread, state))
        self.tid, self.switches = after, 1
        self.come(record.time, after)

    def hook_dump(self, record, tid):
        """Ends an interval, if it shows who has the CPU."""
        if (record.dump and self.running and tid == self.tid and
                self.lost_since(record.time) is None):
            self.close(record.time, tid, record.dump)

    def is_hidden_switch(self, left, time):
        """Another thread leaves than the one that was seen last."""
        return (left not in (self.tid, SAME_THREAD) and
                self.owner(self.tid, time) != self.owner(left, time) and
                self.lost_since(time) is None)

    def switch_in(self, time, prev, after):
        self.end_interrupts(time)
        self.part(time, prev)
        self.leave(time, prev, True)
        self.tid, self.switches = after, 1
        self.come(time, after)

    def leave(self, time, tid, switched):
        """Why it left is not in the trace, nor, at the end, whether."""
        thread = self.thread(tid, time)
        if thread is not None:
            self.gone.append((time, thread, switched))

    def exec(self, record):
        """A thread that calls exec goes on under the tid of its process."""
        tid = record.values[1]
        before = self.thread(self.tid, record.time)
        if (before is None or tid == self.tid or
                before.process is not self.thread(tid, record.time).process):
            return
        self.part(record.time, self.tid)
        self.leave(record.time, self.tid, True)
        self.tid = tid
        self.come(record.time, tid)

    def come(self, time, tid):
        thread = self.thread(tid, time)
        if thread is not None:
            self.switch_ins.append((time, thread))

    def thread(self, tid, time):
        return self.identities.at(tid, time) if tid else None

    # --- Intervals between two dumps

    def owner(self, tid, time, counted_ns=None):
        """Of the thread with `tid` at `time`; a process that is marked by
        `counted_ns` was so since the dispatch began."""
        gate = self.identities.gate
        thread = self.thread(tid, time)
        if tid == 0:
            return OUTSIDE if gate.marked and not gate.all else IDLE
        if thread is None:
            return UNATTRIBUTED if gate.all else OUTSIDE
        return (thread if thread.process.counted(gate, counted_ns or time)
                else OUTSIDE)

    def lost_since(self, time):
        """Where in the open part records were lost; None: nowhere."""
        return min([max(loss.begin, self.since) for loss in self.losses
                    if loss.begin < time and loss.end > self.since],
                   default=None)

    def part(self, time, left):
        """The thread `left` leaves at `time`: a part of the interval."""
        before, now = self.owner(self.tid, time), self.owner(left, time)
        lost_ns = self.lost_since(time)
        if lost_ns is None and self.tid != left and before != now:
            lost_ns = self.since
        if lost_ns is not None:
            self.doubtful.update(each for each in (before, now)
                                 if not isinstance(each, str))
            self.parts.append(Part(self.since, lost_ns, before, 0,
                                   self.tid != 0))
            self.since, before = lost_ns, UNATTRIBUTED
        self.parts.append(Part(self.since, time, before, self.switches,
                               self.tid != 0 or before == UNATTRIBUTED))
        self.since, self.switches = time, 0

    def close(self, time, left, values):
        self.part(time, left)
        delta = [now - then for now, then in zip(values, self.last)]
        parts, self.parts = self.parts, []
        self.spans += [Piece(*part[:3]) for part in parts
                       if part.begin < part.end]
        self.wall_ns += time - self.dump_ns
        self.faults = [self.owner(tid, fault_ns, time)
                       for tid, fault_ns in self.faults]
        pieces = self.cut_out_interrupts(parts, time)
        self.pieces += pieces
        self.rotations.dump(self.of_set, pieces, parts, self.faults)
        self.share_out(delta, pieces, parts)
        for event, count in enumerate(delta):
            self.total[event] += count
        self.dump_ns, self.last = time, values

    def cut_out_interrupts(self, parts, time):
        cuts = [(begin, min(end, time)) for begin, end in self.cut]
        if self.open:
            cuts.append((max(self.open[0][1], self.dump_ns), time))
        self.cut = []
        pieces = []
        for begin, end, owner, *_ in parts:
            for cut_begin, cut_end in cuts:
                low, high = max(begin, cut_begin), min(end, cut_end)
                if low < high:
                    pieces += [Piece(begin, low, owner),
                               Piece(low, high, INTERRUPT)]
                    begin = high
            pieces.append(Piece(begin, end, owner))
        return [piece for piece in pieces if piece.begin < piece.end]

    def share_out(self, delta, pieces, parts):
        length = parts[-1].end - parts[0].begin
        busy = {part.owner for part in parts if part.busy}
        # Or of one process, after an exec by another thread than its main one.
        one_owner = UNATTRIBUTED not in busy and not any(
            part.switches for part in parts[1:])
        for event, name in enumerate(self.events):
            count = delta[event]
            if name in CLOCKS and count == length:
                for piece in pieces:
                    self.add(piece.owner, event, piece.end - piece.begin)
                continue
            if name not in OF_THREADS and self.unsplit:
                self.add(UNATTRIBUTED, event, count)
                continue
            if name not in OF_THREADS:
                self.add(INTERRUPT, event, self.interrupted[event])
                count -= self.interrupted[event]
            if (name.split(':')[0] == 'page-faults' and
                    (UNATTRIBUTED in busy or not set(self.faults) <= busy)):
                alone = one_owner or len(parts) == 1 or len(busy) == 1
                self.share_faults(event, count, parts[-1].owner
                                  if alone else UNATTRIBUTED)
            elif one_owner or len(parts) == 1:
                self.add(parts[-1].owner, event, count)
            elif name in CLOCKS:  # measured by a counter, not by time
                for part in parts[:-1]:
                    self.add(part.owner, event, part.end - part.begin)
                self.add(parts[-1].owner, event,
                         count - (parts[-1].begin - parts[0].begin))
            elif name == RUN_TIME:
                self.share_run_time(event, count, pieces)
            elif name == 'context-switches':
                self.share_switches(event, count, parts)
            elif UNATTRIBUTED in busy:
                self.add(UNATTRIBUTED, event, count)
            elif name.split(':')[0] in FAULTS and len(busy) == 1:
                self.add(*busy, event, count)
            elif name.split(':')[0] == 'page-faults':
                self.share_faults(event, count, UNATTRIBUTED)
            else:
                self.add(UNATTRIBUTED, event, count)
        self.interrupted, self.faults = [0] * len(self.events), []
        self.unsplit = False

    def share_run_time(self, event, count, pieces):
        """Of threads alone: each but the last at most its time."""
        ran = [piece for piece in pieces
               if piece.owner not in (IDLE, INTERRUPT)]
        for begin, end, owner in ran[:-1]:
            share = min(count, end - begin)
            self.add(owner, event, share)
            count -= share
        self.add(ran[-1].owner if ran else UNATTRIBUTED, event, count)

    def share_switches(self, event, count, parts):
        """One for each that began with a switch. More are hidden ones."""
        shown = sum(part.switches for part in parts)
        for part in parts if count >= shown else ():
            self.add(part.owner, event, part.switches)
            count -= part.switches
        self.add(UNATTRIBUTED, event, count)

    def share_faults(self, event, count, rest):
        """By the records; `rest` has what they do not show. If these are more
        than the event counts (faults of one mode), they show whose faults it
        counts only if all are of one."""
        clear = len(self.faults) <= count or len(set(self.faults)) == 1
        for owner in self.faults[:count] if clear else ():
            self.add(owner, event, 1)
            count -= 1
        self.add(rest if clear else UNATTRIBUTED, event, count)

    def add(self, owner, event, count):
        self.counts[owner][event] += count
        self.ledger.append((self.since, owner, event, count))

    # --- Interrupts

    def forget_interrupts(self, time):
        """After a loss nothing is known of those that were open."""
        for loss in self.losses:
            if (self.open and self.open[-1][1] <= loss.begin and
                    time >= loss.end):
                self.cut.append((max(self.open[0][1], self.dump_ns),
                                 loss.begin))
                self.open = []

    def interrupt(self, record):
        self.interrupt_ns = record.time
        if record.kind == 'hook_enter':
            if not self.open:
                self.enter_dump = record.dump
            self.open.append([record.name, record.time, 0])
        elif any(name == record.name for name, *_ in self.open):
            while self.open[-1][0] != record.name:
                self.end_interrupt(record.time, INFERRED)
            self.end_interrupt(record.time, EXIT)
            self.unsplit |= not self.open and not (
                self.enter_dump and record.dump)
            if not self.open and self.enter_dump and record.dump:
                self.interrupted = [
                    sum_ + now - then for sum_, now, then in zip(
                        self.interrupted, record.dump, self.enter_dump)]

    def end_interrupts(self, time):
        """A switch, or the end: no handler is open any more."""
        self.unsplit |= bool(self.open)
        while self.open:
            self.end_interrupt(time, INFERRED)

    def end_interrupt(self, time, how):
        name, begin, inner = self.open.pop()
        path = tuple(each[0] for each in self.open) + (name,)
        self.interrupts.append(
            Interrupt(path, begin, time, inner, how))
        if self.open:
            self.open[-1][2] += time - begin
        elif self.running:
            self.cut.append((max(begin, self.dump_ns), time))


def read_cpus(trace, identities):
    by_cpu = collections.defaultdict(list)
    for record in trace.records:
        if record.cpu >= 0:
            by_cpu[record.cpu].append(record)
    cpus = []
    for number in sorted(by_cpu):
        cpu = Cpu(number, trace, identities)
        cpu.read(by_cpu[number], trace.hook_kinds)
        cpus.append(cpu)
    return cpus
