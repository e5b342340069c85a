"""Calls of segments: which hook records belong together, and what lies between
them (docs/definitions.md, "Segments").
"""
import collections

from trace_text import JUMP, SCOPE, STACK

# How deep a hook is in the kernel: 0 user code, 1 entered from user code, 2
# inside such a call.
USER, ENTERED, INSIDE = range(3)
NO_NUMBER = 'syscall:65535'  # the exit of a system call whose number is -1
MAKES_THREAD = ('syscall:clone', 'syscall:clone3', 'syscall:fork',
                'syscall:vfork')  # return 0 in the new thread, too
NEVER_RETURN = ('syscall:exit', 'syscall:exit_group')

# What a thread had until an instant; a call has the difference of two.
Amounts = collections.namedtuple(
    'Amounts', 'wall on_cpu wait blocked switches faults')
ZERO = Amounts(0, 0, 0, 0, 0, 0)


class Call:
    """One call; `incl` and `inner` are Amounts, of the whole and of the calls
    directly inside. `dump` are the counters at its enter; `records` those of its
    enter and of its end, None where that is inferred."""
    __slots__ = ('name', 'path', 'level', 'at', 'began', 'incl', 'inner', 'outermost',
                 'end_inferred', 'dump', 'counts', 'inner_counts', 'of_cpu',
                 'records', 'place')

    def __init__(self, name, path, level, at, outermost):
        self.name, self.path, self.level, self.at = name, path, level, at
        self.began = at.wall
        self.incl, self.inner, self.outermost = None, ZERO, outermost
        self.end_inferred, self.dump = False, None
        self.counts, self.inner_counts = None, None
        self.of_cpu = False  # its dumps have the counters of a CPU
        self.place = None  # of its scope, in a coroutine


def level(kind, name):
    if not kind.startswith('kernel-'):
        return USER
    return (ENTERED if name.startswith('syscall') or name == 'fault:user'
            else INSIDE)


class Stack:
    """The open calls of one thread, and the finished ones."""

    def __init__(self, thread, times, trace, cpus):
        self.times, self.kinds = times, trace.hook_kinds
        self.cpus = cpus
        self.open, self.calls = [], []
        self.without_enter = collections.Counter()  # by name
        self.late = collections.Counter()  # exits of calls that were ended
        self.hits = collections.Counter()  # records by hook
        self.history = []  # (ns, names of the open calls, their begins)
        self.number, self.left = 0, {}  # its stack; open calls of others
        self.ending = None  # number of open calls, and the scope that ends next
        # In the call of its parent that made it.
        self.in_syscall = thread.forked

    def amounts(self, time):
        times = self.times
        return Amounts(time, times.on_cpu.sum(time), times.wait.sum(time),
                       times.blocked.sum(time), times.switches(time),
                       times.faulted(time))

    def take(self, record):
        name = record.name
        if name == NO_NUMBER:
            name = self.call_without_number()
        if name is not None:
            self.hits[name] += 1
        depth = level(self.kinds.get(record.name, ''), record.name)
        if depth == USER or depth == ENTERED and record.kind == 'hook_enter':
            self.back_in_user_code(record.time)
        if record.kind == 'hook_enter':
            if (record.name == 'fault:kernel' and
                    (self.top() or '').startswith('fault:')):
                self.abandon(record.time)  # a fault does not fault
            self.enter(record, depth)
        elif record.kind == 'hook_exit' and name is not None:
            self.exit(name, record)
        elif record.name == JUMP:
            self.jump(record)
        elif record.name == STACK:
            self.switch(record)
        elif record.name == SCOPE:
            self.scope(*record.values)
        if depth == ENTERED:
            self.in_syscall = False
        self.note(record.time)

    def top(self):
        return self.open[-1].name if self.open else None

    def note(self, time):
        self.history.append((time, [(call.name, call.began)
                                    for call in self.open]))

    def back_in_user_code(self, time):
        """Code of the program runs: what the kernel did for it is over."""
        while self.open and self.open[-1].level != USER:
            self.abandon(time)

    def abandon(self, time):
        """The innermost call has ended by now; its exit may come later."""
        self.late[self.open[-1].name] += 1
        self.pop(time, inferred=True)

    def enter(self, record, depth):
        path = (self.open[-1].path if self.open else ()) + (record.name,)
        call = Call(record.name, path, depth, self.amounts(record.time),
                    record.name not in path[:-1])
        call.dump, call.of_cpu = self.dump(record), record.cpu >= 0
        call.records = record, None
        self.open.append(call)

    def dump(self, record):
        """mmcr, present and the thread's counts until the record."""
        if record.dump is None or record.cpu < 0:
            return record.dump
        part = self.cpus[record.cpu].partial.get((record.time, record.tid))
        if part is None:
            return None
        before = self.times.counts(record.time) or [0] * len(part)
        return [0, -1] + [a + b for a, b in zip(before, part)]

    def call_without_number(self):
        """The system call that rt_sigreturn's exit ends; None: none is open."""
        names = [call.name for call in self.open
                 if call.name.startswith('syscall:')]
        return names[-1] if names else None

    def jump(self, record):
        """What began after setjmp is over; 0: what is over is not known."""
        (since,) = record.values
        while since and self.open and self.open[-1].began > since:
            self.pop(record.time, inferred=False, record=record)

    def switch(self, record):
        """Each stack has its own open calls, whose time stands still while the
        thread is on another one."""
        source, target = record.values
        if self.number != source and (self.number or source in self.left):
            while self.open:
                self.abandon(record.time)
        if self.open:
            self.left[source] = self.open, self.amounts(record.time)
        self.go_on(target, record.time)

    def go_on(self, number, time):
        now = self.amounts(time)
        self.open, then = self.left.pop(number, ([], now))
        for call in self.open:
            call.at = Amounts(*(a + b - c for a, b, c in
                                zip(call.at, now, then)))
            call.dump, call.records = None, (None, None)
        self.number = number

    def scope(self, place, ends):
        if ends:
            self.ending = len(self.open), place
        elif self.open:
            self.open[-1].place = place

    def ends_next(self, name):
        """The open call that an exit of `name` ends; None: there is none."""
        fits = [call for call in self.open if call.name == name]
        if self.ending and self.ending[0] >= len(self.open):
            (depth, place), self.ending = self.ending, None
            if depth == len(self.open):
                fits = [call for call in fits if call.place == place]
        return fits[-1] if fits else None

    def exit(self, name, record):
        ended = self.ends_next(name)
        if ended is None:
            if self.late[name]:
                self.late[name] -= 1
                return
            if name.startswith('syscall:'):
                # A thread is in one system call: another's exit was lost.
                self.back_in_user_code(record.time)
            if not (self.in_syscall and name.startswith('syscall:') or
                    name in MAKES_THREAD and record.values[-1] == 0):
                self.without_enter[name] += 1
            return
        while self.open[-1] is not ended:
            self.abandon(record.time)
        self.pop(record.time, inferred=False, record=record)

    def exec(self, time):
        """The program is gone; execve's exit comes in the new one."""
        self.end(time, over=True)
        self.in_syscall = True

    def end(self, time, over):
        """All calls end. `over`: by an exec or an exit, which the kernel's
        own calls are there to do, so that their end is observed. A fault of the
        kernel is not: it has failed."""
        while self.open:
            self.pop(time, inferred=not over or self.open[-1].level == USER or
                     self.open[-1].name == 'fault:kernel')
        while self.left:
            self.go_on(min(self.left), time)
            while self.open:
                self.pop(time, inferred=True)
        self.number = 0
        self.note(time)

    def pop(self, time, inferred, record=None):
        call = self.open.pop()
        call.records = call.records[0], record
        end = self.amounts(time)
        call.incl = Amounts(*(now - then for now, then in zip(end, call.at)))
        call.end_inferred = inferred
        call.counts = dump_difference(call.dump,
                                      self.dump(record) if record else None)
        if self.open:
            outer = self.open[-1]
            outer.inner = Amounts(*(a + b for a, b in
                                    zip(outer.inner, call.incl)))
            if outer.of_cpu == call.of_cpu:  # other events otherwise
                outer.inner_counts = added(outer.inner_counts, call.counts)
        self.calls.append(call)


def dump_difference(enter, exit_):
    """Counts between two dumps; None where one is absent."""
    if enter is None or exit_ is None or enter[0] != exit_[0]:
        return None
    present = enter[1] & exit_[1]
    return [exit_[2 + i] - enter[2 + i] if present >> i & 1 else None
            for i in range(len(enter) - 2)]


def added(left, right):
    if left is None:
        return right
    if right is None:
        return left
    return [None if a is None or b is None else a + b
            for a, b in zip(left, right)]


def read_segments(trace, identities, cpus, times):
    """The Stack of each thread that has hook records."""
    stacks = {}
    by_number = {cpu.number: cpu for cpu in cpus}
    end_ns = trace.records[-1].time if trace.records else 0

    def stack(thread):
        if thread not in stacks:
            stacks[thread] = Stack(thread, times[thread], trace, by_number)
        return stacks[thread]

    for record in trace.records:
        kind = record.kind
        if kind.startswith('hook_'):
            thread = identities.at(record.tid, record.time)
            if (thread is not None and
                    trace.hook_kinds.get(record.name) != 'interrupt' and
                    thread.process.counted(identities.gate, record.time)):
                stack(thread).take(record)
        elif kind in ('exec', 'exit'):
            thread = identities.at(record.values[1], record.time)
            if kind == 'exec':
                stack(thread).exec(record.time)
            elif thread in stacks:
                stacks[thread].end(record.time, over=True)
    for each in stacks.values():
        each.end(end_ns, over=False)
    return stacks
