"""Compares what a report says of a program with what the program measured of
itself. A number of a report is an interval (of one value, if it is exact), and so
is each truth: they must meet.

CPU time apart: where a host takes the CPU from this machine, the time from switch
to switch has what it took, and the scheduler's clock, which the program reads, has
less, also later (update_rq_clock_task takes it out of the next stretch). /proc/stat
says how much, in hundredths of a second. So a claim of CPU time is wrong if it is
wrong in most recordings of the same pair during which the host took nothing.
"""
import math
import os

# Between the scheduler's account, which the program reads, and the time from
# switch to switch: some microseconds each (docs/definitions.md), after an idle CPU
# up to some hundred. Where the account is recorded, it shows which.
DISPATCH_NS = 20_000
UNKNOWN_DISPATCH_NS = 250_000
UNKNOWN_TIDS = 12_582_912
# What a process still does after it printed its truth: its exit.
EXIT_NS = 4_000_000
EXIT_FAULTS = 24
# The clocks of the truth, inside of the hooks that read theirs.
CALL_NS = 2_000


class Judge:
    """Collects what does not hold, and intervals of 95 %."""

    def __init__(self, recording):
        self.recording, self.pair = recording, recording.pair
        self.truth = recording.truth
        self.wrong = []
        self.wrong_times = {}  # of CPU time: {name: text}
        self.intervals = []  # (name, holds)
        self.checked = 0

    def meets(self, name, number, truth, tolerance=0):
        """`number`: (lo, hi), hi None without limit; `truth`: (least, most)."""
        text = self.miss(name, number, truth, tolerance)
        if text:
            self.wrong.append(text)

    def time_meets(self, name, number, truth, tolerance):
        text = self.miss(name, number, truth, tolerance)
        if text:
            self.wrong_times[name] = text

    def miss(self, name, number, truth, tolerance):
        self.checked += 1
        lo, hi = number
        if (hi is not None and hi < truth[0] - tolerance) or (
                lo > truth[1] + tolerance):
            shown = f'{lo:,}' if lo == hi else f'[{lo:,}, {hi and f"{hi:,}"}]'
            return (f'{name}: {shown}, truth [{truth[0]:,}, {truth[1]:,}]'
                    + (f' +- {tolerance:,}' if tolerance else ''))
        return None

    @staticmethod
    def number(row, path):
        """(lo, hi) of a row's number, 'on_cpu_ns' or 'counts.page-faults.incl'."""
        value = row
        for key in path.split('.') if not path.startswith('counts.') else (
                'counts', *path[7:].split('.')):
            value = value[key]
        bounds = row.get('bounds', {})
        return tuple(bounds.get(path, bounds.get(
            path.removesuffix('.incl'), (value, value))))

    @classmethod
    def total(cls, rows, path):
        """The sum of a number over rows."""
        numbers = [cls.number(row, path) for row in rows]
        limits = [hi for _, hi in numbers]
        return (sum(lo for lo, _ in numbers),
                None if None in limits else sum(limits))

    # ---- the parts

    def judge(self):
        data = self.recording.report('--by', 'process', '--rows', '0')
        self.loss = data['loss']
        # All calls of a kind may be among what was lost, or left out.
        self.lacks_calls = self.loss['is_loss'] or self.loss['left_out_ms'] != 0
        self.find_processes(data)
        if not self.main:
            # Its fork and its exec may be among what was lost.
            if not self.loss['is_loss'] or not self.pair.whole_machine:
                self.wrong.append('the program has no row')
            return
        self.interrupts_ns = data['books'].get('task-clock', {}).get('interrupts', 0)
        # The scheduler's clock of a thread goes on in interrupts, and so does what
        # the kernel says of a process.
        self.interrupted_ns = data['books'].get('exec-runtime', {}).get('interrupts', 0)
        self.dispatch_ns = (DISPATCH_NS if self.main['counts'].get('exec-runtime')
                            is not None else UNKNOWN_DISPATCH_NS)
        self.judge_process()
        segments = self.recording.report('--by', 'segment', '--rows', '0')
        self.pids = {row['pid'] for row in self.family}
        if self.pair.has('perf') and self.pair.has('namespace'):
            # Threads whose number there is not known have numbers of their own.
            self.pids |= {row['pid'] for row in segments.get('segments', ())
                          if row['pid'] >= UNKNOWN_TIDS}
        if not self.pair.whole_machine:
            self.meets('processes with hooks that did not join',
                       (self.loss['not_joined'],) * 2, (0, 0))
        self.segments = [row for row in segments.get('segments', ())
                         if row['pid'] in self.pids]
        for name, truth in self.truth['segments'].items():
            self.judge_segment(name, truth)
        self.judge_calls()
        self.judge_children()
        if 'wakeups' in self.pair.kernel:
            self.judge_waits()
        if self.pair.has('quota'):
            self.judge_quota()
        if 'faults' in self.pair.kernel:
            self.judge_fault_calls()
        if self.pair.has('sample') or (
                self.pair.has('dwarf') and not self.pair.has('each', 'offcpu')):
            self.judge_shares()
            self.judge_samples()
        if self.pair.has('each'):
            self.judge_each_fault()

    def find_processes(self, data):
        comm = self.recording.program.name
        rows = data['processes']
        # Its exec, which names it, may be among what was lost.
        lost = self.loss['is_loss'] and not self.pair.whole_machine
        self.main = next((row for row in rows if (lost or row['comm'] == comm) and
                          self.truth['pid'] in (row['pid'], row.get('own_pid'))),
                         None)
        if self.main is None and self.pair.has('namespace'):
            # Its own number is not in the trace: the first of the name is it.
            named = [row for row in rows if row['comm'] == comm]
            self.main = min(named, key=lambda row: row['pid'], default=None)
        self.family, found = [], {self.main['pid']} if self.main else set()
        for row in sorted(rows, key=lambda row: row['first_seen_ns']):
            # A child whose fork is among what was lost has no parent, and
            # perhaps no name.
            orphan = (self.loss['is_loss'] and not row['parent_pid'] and
                      (row['comm'] == comm or not self.pair.whole_machine))
            if row['pid'] in found or row['parent_pid'] in found or orphan:
                found.add(row['pid'])
                self.family.append(row)

    def cpu_tolerance(self, row):
        account = row['counts'].get('exec-runtime')
        between = self.dispatch_ns * row['dispatches']
        if account is not None:
            between += abs(account - row['on_cpu_ns'])
        return between + self.interrupts_ns

    def judge_process(self):
        row, truth = self.main, self.truth
        least, most = truth['cpu_ns']
        most += EXIT_NS + most // 100
        tolerance = self.cpu_tolerance(row)
        if not self.pair.mode:
            self.time_meets('on-CPU of the process', self.number(row, 'on_cpu_ns'),
                            (least, most), tolerance)
        for name in ('exec-runtime',):
            if row['counts'].get(name) is not None:
                self.time_meets(f'{name} of the process',
                                self.number(row, f'counts.{name}'), (least, most),
                                least // 50 + self.interrupted_ns)
        self.meets('threads', self.number(row, 'threads'), truth['threads'])
        if self.pair.scope != 'pid' or not self.pair.has('perf'):
            processes = truth['processes']
            names = ', '.join(f'{row["pid"]} {row["comm"]}' for row in self.family)
            number = (len(self.family),) * 2
            if self.loss['is_loss']:
                # All records of a short process may be among what was lost, and
                # those which show that an orphan is a thread of another.
                number = (len([row for row in self.family if row is self.main or
                               row['parent_pid']]), None)
            self.meets(f'processes ({names})', number, (processes, processes))
        least, most = truth['faults']
        for name in row['counts']:
            if name in ('page-faults', 'minor-faults', 'page-faults:u'):
                # Which of them are of user code alone, the program says of one part.
                least = (sum(self.truth.get('touched', {}).values())
                         if name.endswith(':u') else least)
                self.estimate_or_meet(f'{name} of the process', row, f'counts.{name}',
                                      (least, most + EXIT_FAULTS))

    def estimate_or_meet(self, name, row, path, truth):
        """An interval of 95 % may miss; another may not."""
        if row['counts'][path.split('.')[1]] is None:
            return
        if 'scaled' in row.get('qualities', (row['quality'],)):
            lo, hi = self.number(row, path)
            self.intervals.append((f'{name}: [{lo}, {hi}], truth {truth}',
                                   (hi is None or hi >= truth[0]) and lo <= truth[1]))
        else:
            self.meets(name, self.number(row, path), truth)

    def judge_segment(self, name, truth):
        rows = [row for row in self.segments if row['segment'] == name]
        self.meets(f'calls of {name}', self.total(rows, 'calls'),
                   (truth['calls'],) * 2)
        if not rows:
            return
        # Probes' cost is in the truth, and not in the row.
        probes = sum(row['probes_ns']['hi'] or 0 for row in rows if row['probes_ns'])
        least, most = truth['wall_ns']
        self.meets(f'wall of {name}', self.total(rows, 'wall_ns.incl'),
                   (least - probes, most), CALL_NS * truth['calls'])
        least, most = truth['cpu_ns']
        switches = sum(self.total([row], 'counts.context-switches.incl')[0]
                       if row['counts'].get('context-switches') else truth['calls']
                       for row in rows)
        tolerance = (self.dispatch_ns * (switches + 1) + CALL_NS * truth['calls']
                     + most // 100 + self.interrupts_ns + sum(
                         abs(row['counts'].get('exec-runtime', row['on_cpu_ns'])
                             - row['on_cpu_ns']) for row in self.family
                         if row['pid'] in {each['pid'] for each in rows}))
        if rows[0]['on_cpu_ns'] is not None and rows[0]['on_cpu_ns']['incl'] is not None:
            self.time_meets(f'on-CPU of {name}', self.total(rows, 'on_cpu_ns.incl'),
                            (least - probes, most), tolerance)
            self.time_meets(f'on-CPU of {name} outside inner calls',
                            self.total(rows, 'on_cpu_ns.excl'),
                            (truth['own_cpu_ns'] - probes, most), tolerance)
        for event in ('page-faults', 'minor-faults', 'page-faults:u'):
            for row in rows:
                count = row['counts'].get(event)
                if count and count.get('incl') is not None and len(rows) == 1:
                    path = f'counts.{event}.incl'
                    if count.get('counted') is not None:  # an estimate
                        lo, hi = self.number(row, path)
                        least, most = truth['faults']
                        self.intervals.append((
                            f'{event} of {name}: [{lo}, {hi}], truth [{least}, {most}]',
                            (hi is None or hi >= least) and lo <= most))
                    else:
                        least, most = truth['faults']
                        if event.endswith(':u') and name != 'pairs:touch':
                            least = 0
                        self.meets(f'{event} of {name}', self.number(row, path),
                                   (least, most))

    def judge_calls(self):
        truth = self.truth
        expected = {}
        if 'syscalls' in self.pair.kernel:
            expected |= {f'syscall:{name}': calls
                         for name, calls in truth['system_calls'].items()}
        if self.pair.has('uprobe'):
            expected[f'{self.recording.program.name}:ProbedFunction'] = truth['uprobe']
        for name, calls in expected.items():
            rows = [row for row in self.segments if row['segment'] == name and
                    row['pid'] == self.main['pid']]
            if rows or not self.lacks_calls:
                # The shell that joins the cgroup makes one getppid, too.
                self.meets(f'calls of {name}', self.total(rows, 'calls'),
                           (calls, calls + self.pair.has('quota')))

        if self.pair.has('usdt'):
            provider = next(iter(truth['segments'])).split(':')[0]
            expected = f'{provider}:query'
            rows = [row for row in self.segments if row['segment'] == expected]
            self.meets(f'calls of {expected}', self.total(rows, 'calls'),
                       (truth['usdt'],) * 2)
        if self.pair.has('tracepoint') and 'forks' in truth:
            hooks = self.recording.report('--by', 'hook', '--rows', '0')['hooks']
            hits = sum(row['hits'] for row in hooks if row['pid'] in self.pids and
                       row['hook'] == 'sched:sched_process_fork')
            # The runtime library may have a thread in each process.
            self.meets('hits of sched_process_fork', (hits, hits),
                       (truth['forks'], truth['forks'] + truth['processes']))

    def judge_children(self):
        least = self.truth.get('children_cpu_ns')
        if least is None:
            return
        rows = [row for row in self.family if row is not self.main]
        most = least + len(rows) * EXIT_NS
        if not self.pair.mode:
            self.time_meets('on-CPU of children', self.total(rows, 'on_cpu_ns'),
                            (least, most),
                            least // 50 + sum(self.cpu_tolerance(row) for row in rows))
        if rows and rows[0]['counts'].get('exec-runtime') is not None:
            self.time_meets('exec-runtime of children', self.total(
                rows, 'counts.exec-runtime'), (least, most),
                least // 50 + self.interrupted_ns)

    def judge_waits(self):
        """Off the CPU is waiting or blocked, and blocked ends by its cause."""
        for name, truth in self.truth['segments'].items():
            rows = [row for row in self.segments if row['segment'] == name]
            if not rows or self.pair.has('uprobe', 'usdt'):
                continue
            parts = [self.total(rows, f'{time}.incl') for time in
                     ('wait_ns', 'blocked_ns')]
            limits = [hi for _, hi in parts]
            tolerance = self.cpu_tolerance(self.main) + CALL_NS * truth['calls'] + (
                self.dispatch_ns * truth['calls'])
            self.time_meets(f'wait and blocked of {name}',
                            (sum(lo for lo, _ in parts),
                             None if None in limits else sum(limits)),
                            (max(0, truth['wall_ns'][0] - truth['cpu_ns'][1]),
                             truth['wall_ns'][1] - truth['cpu_ns'][0]), tolerance)
        causes = {'waits:lock': lambda waker: waker.get('pid') == self.main['pid'],
                  'waits:pipe': lambda waker: waker.get('pid') in
                                self.pids - {self.main['pid']},
                  'waits:sleep': lambda waker: waker.get('pid') not in self.pids}
        wakers = self.recording.report('--by', 'waker', '--rows', '0')['wakers']
        for name, is_cause in causes.items():
            rows = [row for row in wakers if name in row['path']]
            others = sum(row['blocked_ns'] for row in rows if not is_cause(row['waker']))
            whole = sum(row['blocked_ns'] for row in rows)
            if not self.loss['is_loss']:
                self.meets(f'blocked in {name} by what does not end it',
                           (others, others), (0, whole // 10))
        for name, truth in self.truth['segments'].items():
            rows = [row for row in wakers if name in row['path']]
            # All of them may be among what was lost.
            if rows or not self.loss['is_loss']:
                self.meets(f'waits in {name}', self.total(rows, 'times'), truth['waits'])
            if name.startswith('disk:'):
                # Its other processes are there to be interrupted.
                wrong = sum(row['times'] for row in rows
                            if row['waker'].get('pid') in self.pids)
                self.meets(f'waits in {name} that an interrupted process ended',
                           (wrong, wrong), (0, 0))

    def judge_quota(self):
        """Throttled time is a part of waiting, each of it has one row, and all
        of it is at least the kernel's, which counts a group on a CPU once (and one
        that is moved while it is throttled on each CPU).
        """
        if self.recording.kind != 'waits':  # which needs little of a CPU
            self.meets('throttles', (self.recording.throttles,) * 2, (1, 2**63))
        rows = [row for row in self.recording.report('--by', 'thread', '--rows', '0')[
            'threads'] if row['pid'] in self.pids]
        if self.pair.has('perf'):
            self.meets('threads with throttled time', (sum(
                row['throttled_ns'] is not None for row in rows),) * 2, (0, 0))
            return
        known = [row for row in rows if row['throttled_ns'] is not None]
        if not known and self.loss['is_loss']:
            return  # each record of such a switch may be lost
        waits = self.total(rows, 'wait_ns')
        throttled = self.total(known, 'throttled_ns')
        if None not in (waits[1], throttled[1]) and not self.loss['is_loss']:
            self.meets('throttled time that is no waiting',
                       (max(0, throttled[0] - waits[1]),) * 2, (0, 0))
            kept = [row for row in self.recording.report(
                '--by', 'preemptor', '--rows', '0')['preemptors']
                if row['pid'] in self.pids]
            by_quota = [row for row in kept if row['preemptor']['kind'] == 'throttled']
            self.meets('rows of the quota', (sum(row['wait_ns'] for row in by_quota),) * 2,
                       throttled)
            self.meets('rows of all waiting', (sum(row['wait_ns'] for row in kept),) * 2,
                       waits)
        least = self.recording.throttled_ns // os.cpu_count()
        self.meets('throttled time', throttled, (least - least // 10, 2**63), EXIT_NS)

    def judge_fault_calls(self):
        rows = [row for row in self.segments if row['pid'] == self.main['pid'] and
                row['segment'].startswith('fault:')]
        if not rows and self.lacks_calls:
            return
        least, most = self.truth['faults']
        self.meets('calls of fault:*', self.total(rows, 'calls'),
                   (least, most + EXIT_FAULTS))

    def judge_shares(self):
        table = self.recording.report('--by', 'function', '--rows', '0')
        for name, truth_ns in self.truth.get('functions', {}).items():
            rows = [row for row in table['rows'] if row['event'] == 'cpu-clock' and
                    row['function'].split('(')[0] == name]
            lo = sum(row['total_lo'] for row in rows)
            hi = sum(row['total_hi'] for row in rows)
            self.intervals.append((f'samples of {name}: [{lo}, {hi}], truth {truth_ns}',
                                   lo <= truth_ns <= hi))

    def judge_samples(self):
        """All samples of the processes are their CPU time."""
        if self.pair.whole_machine:
            return
        book = next(book for book in self.recording.report(
            '--by', 'function', '--rows', '0')['books'] if book['event'] == 'cpu-clock')
        least, most = self.truth['cpu_ns']
        children = self.truth.get('children_cpu_ns', 0)
        period = book['processes'] / max(1, book['samples'])
        self.time_meets('sampled CPU time', (book['processes'],) * 2,
                        (least + children, most + children + EXIT_NS * len(self.family)),
                        round(4 * period * math.sqrt(book['samples'] + 1)
                              + book['residual']))

    def judge_each_fault(self):
        table = self.recording.report('--by', 'function', '--rows', '0')
        for name, pages in self.truth.get('touched', {}).items():
            rows = [row for row in table['rows'] if row['event'] == 'page-faults' and
                    row['function'].split('(')[0] == name]
            if self.pair.mode == 'kernel':
                pages = 0  # they are of user code
            self.meets(f'page faults sampled in {name}',
                       (sum(row['total_lo'] for row in rows),
                        sum(row['total_hi'] for row in rows)), (pages, pages))


def most_misses(intervals, confidence=0.95, risk=1e-4):
    """So many intervals of 95 % may miss, or fewer, but once in 10,000 runs."""
    miss = 1 - confidence
    cumulated = 0.0
    for misses in range(intervals + 1):
        cumulated += math.comb(intervals, misses) * (
            miss ** misses * confidence ** (intervals - misses))
        if 1 - cumulated <= risk:
            return misses
    return intervals
