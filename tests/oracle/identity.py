"""Threads and processes: who a tid is at an instant, names, marks.

A tid or pid that is used again is another thread or process
(docs/definitions.md, "Processes and threads").
"""
import bisect

MARKED = 2  # a flag of process_state
COMMAND = 1  # a scope
# Where records without a pid have the tids of threads.
TIDS = {'dispatch': (0, 1), 'switch_in': (0, 1), 'counters': (1,),
        'wakeup': (1,)}
NO_THREAD = (0, 0xffffffff)  # idle; the one that ran there before


class Process:
    def __init__(self, pid, parent_pid, comm):
        self.pid, self.parent_pid, self.comm = pid, parent_pid, comm
        self.threads = []
        self.marked_from = None  # ns; None: never

    def counted(self, gate, at_ns):
        marked = self.marked_from is not None and self.marked_from <= at_ns
        return gate.all or (marked if gate.marked else not marked)


class Thread:
    """`process` is None until a record has its pid."""

    def __init__(self, tid, born_ns):
        self.tid, self.process, self.comm = tid, None, ''
        self.born_ns, self.dead_ns = born_ns, None
        self.forked = False  # its fork is in the trace
        self.named_only = False  # it has no record but process_state

    def join(self, process, comm):
        self.process, self.comm = process, comm
        process.threads.append(self)


class Gate:
    """Which processes are counted: env `count`, else by the scope."""

    def __init__(self, env):
        words = env.get('count', 'marked' if env['scope'] == COMMAND else 'all')
        words = set(words.split(','))
        self.marked, self.unmarked = 'marked' in words, 'unmarked' in words
        self.all = self.marked == self.unmarked


class Identities:
    """Reads all records in time order; then `at` answers for any instant."""

    def __init__(self, trace):
        self.env, self.gate = trace.env, Gate(trace.env)
        self.begin_ns = trace.env['begin_ns']
        # What a record of a CPU names, or in a command's recording any record,
        # is then marked: others have none (FORMAT.md 4.3).
        self.marked_alone = self.gate.marked and not self.gate.all
        self.of_command = trace.env['scope'] == COMMAND
        self.kinds = trace.hook_kinds
        self.by_tid = {}  # tid -> its threads, in order of birth
        self.processes = []
        self.live = {}  # pid -> process
        self.names = {}
        for key, text in trace.env.items():
            if key.startswith('process_'):
                pid, comm = text.split('\t')
                self.names[int(pid)] = comm
        if trace.env['scope'] == COMMAND and trace.env['root_pid']:
            root = trace.env['root_pid']
            self.thread(root, root, 0, self.begin_ns)
        for record in trace.records:
            self.take(record)
        if self.gate.all or not self.gate.marked:
            for thread in self.nameless():
                thread.join(self.live.get(thread.tid) or
                            self.new_process(thread.tid, 0, ''), '')

    def at(self, tid, time_ns):
        """The thread that had this tid then, or None."""
        threads = self.by_tid.get(tid)
        if not threads:
            return None
        found = threads[0]
        if len(threads) > 1:
            born = [thread.born_ns for thread in threads]
            found = threads[max(bisect.bisect_right(born, time_ns) - 1, 0)]
        return found if found.process else None

    def all(self):
        return [thread for threads in self.by_tid.values()
                for thread in threads if thread.process]

    def nameless(self):
        return [thread for threads in self.by_tid.values()
                for thread in threads if not thread.process]

    def take(self, record):
        kind, time = record.kind, record.time
        if kind == 'process_state':
            pid, tid, parent, flags = record.values
            known = self.by_tid.get(tid)
            named_only = not known or known[-1].named_only
            thread = self.thread(pid, tid, parent, time)
            thread.named_only = named_only or thread is not known[-1]
            self.rename(thread, record.name)
            thread.process.parent_pid = thread.process.parent_pid or parent
            if flags & MARKED:
                self.mark(thread.process, time)
        elif kind == 'fork':
            self.fork(time, *record.values)
        elif kind in ('exec', 'comm'):
            pid, tid = record.values
            thread = self.thread(pid, tid, 0, time)
            self.rename(thread, record.name)
            if kind == 'exec':
                thread.process.comm = record.name
                for other in thread.process.threads:  # they end here
                    other.dead_ns = other.dead_ns or time
                thread.dead_ns = None
        elif kind == 'exit':
            thread = self.thread(record.values[0], record.values[1], 0, time)
            thread.dead_ns = time
        elif kind == 'fault':
            self.thread(record.values[0], record.values[1], 0, time)
        elif kind in TIDS:
            for at in TIDS[kind]:
                if record.values[at] not in NO_THREAD:
                    self.seen(record.values[at])
        elif record.pid > 0 and self.kinds.get(record.name) != 'interrupt':
            self.thread(record.pid, record.tid, 0, time,
                        record.cpu >= 0 or self.of_command)

    def seen(self, tid):
        """The latest thread with this tid; without a fork it was there when
        the recording began."""
        threads = self.by_tid.setdefault(tid, [])
        if not threads:
            threads.append(Thread(tid, self.begin_ns))
        threads[-1].named_only = False
        return threads[-1]

    def thread(self, pid, tid, parent, time, shows_mark=True):
        thread = self.seen(tid)
        if thread.process and thread.process.pid != pid:
            thread = Thread(tid, time)
            self.by_tid[tid].append(thread)
        if not thread.process:
            process = self.live.get(pid)
            if process is None:
                process = self.new_process(pid, parent, self.names.get(pid, ''))
                if pid == self.env['root_pid']:
                    process.marked_from = 0
            thread.join(process, process.comm)
        if self.marked_alone and shows_mark:
            self.mark(thread.process, time)
        return thread

    def fork(self, time, pid, tid, parent_pid, parent_tid):
        parent = self.thread(parent_pid, parent_tid, 0, time)
        if pid == parent_pid:
            process = parent.process
        else:
            process = self.new_process(pid, parent_pid, parent.comm)
            if parent.process.marked_from is not None:
                process.marked_from = time
        threads = self.by_tid.setdefault(tid, [])
        if (tid != pid and threads and threads[-1].named_only and
                threads[-1].process is process):
            thread = threads[-1]
            thread.born_ns = time
        else:
            thread = Thread(tid, time)
            thread.join(process, parent.comm)
            threads.append(thread)
        thread.forked = True

    def new_process(self, pid, parent_pid, comm):
        process = self.live[pid] = Process(pid, parent_pid, comm)
        self.processes.append(process)
        return process

    def rename(self, thread, comm):
        thread.comm = comm
        if thread.tid == thread.process.pid:
            thread.process.comm = comm

    def mark(self, process, time):
        if process.marked_from is None:
            process.marked_from = time
