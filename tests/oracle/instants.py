"""The machine at one instant, after all records at it: the keys are those of
`countrace state --format json` (docs/definitions.md, "One instant").
"""
import bisect
import collections

from dispatches import OUTSIDE, OWN, UNATTRIBUTED


class Instants:
    def __init__(self, tables):
        self.tables = tables
        self.rows_of_cpus = {cpu.number: merged(cpu.spans)
                             for cpu in tables.cpus}

    def at(self, time):
        self.counted = self.counts_until(time)
        return {'cpus': [self.cpu(cpu, time) for cpu in self.tables.cpus],
                'threads': [self.thread(thread, time)
                            for thread in self.tables.identities.all()
                            if self.tables.counted(thread.process)
                            and thread.born_ns <= time
                            and not self.ended(thread, time)]}

    def cpu(self, cpu, time):
        spans = self.rows_of_cpus[cpu.number]
        index = last_until(spans, time)
        row = {'cpu': cpu.number, 'account': 'unknown'}
        row['interrupts_ns'] = sum(
            min(each.end, time) - each.begin for each in cpu.interrupts
            if len(each.path) == 1 and each.begin < time)
        row['interrupts'] = [
            (each.path[-1], each.begin) for each in
            sorted(cpu.interrupts, key=lambda each: len(each.path))
            if each.how != OWN and each.begin <= time < each.end]
        if index < 0 or time >= spans[index][1]:
            return row
        begin, end, owner = spans[index]
        if owner == UNATTRIBUTED:
            return row
        # `state` has a row for each recorded dispatch of others, and here they
        # are one stretch.
        if owner != OUTSIDE:
            row.update(since_ns=begin, until_ns=end)
        if isinstance(owner, str):
            row['account'] = owner
        else:
            row.update(account='processes', tid=owner.tid,
                       pid=owner.process.pid)
        if any(each.begin <= time < each.end for each in cpu.interrupts):
            row['account'] = 'interrupts'
        return row

    def state(self, thread, time):
        states = self.tables.times[thread].states
        index = last_until(states, time)
        return (None, 'unknown') if index < 0 else states[index]

    def ended(self, thread, time):
        """After its exit record it runs on, until it leaves a CPU as dead."""
        if thread.dead_ns is None or time < thread.dead_ns:
            return self.state(thread, time)[1] == 'ended'
        states = self.tables.times[thread].states
        return not states or states[-1][0] <= time and (
            states[-1][1] not in ('running', 'waiting', 'throttled'))

    def thread(self, thread, time):
        times = self.tables.times[thread]
        since, state = self.state(thread, time)
        row = {'tid': thread.tid, 'pid': thread.process.pid, 'state': state,
               'since_ns': since, 'on_cpu_ns': times.on_cpu.sum(time),
               'wait_ns': times.wait.sum(time),
               'dispatches': bisect.bisect_right(times.ins, time)}
        if state != 'running':
            row['counts'] = dict(zip(self.tables.events,
                                     self.counted[thread]))
        row['segments'] = self.open_calls(thread, times, time)
        return row

    def counts_until(self, time):
        """By owner: exact for a thread that does not run, because all its
        intervals are over."""
        sums = collections.defaultdict(lambda: [0] * len(self.tables.events))
        for cpu in self.tables.cpus:
            for end, owner, event, count in cpu.ledger:
                if end > time:
                    break
                sums[owner][event] += count
        return sums

    def open_calls(self, thread, times, time):
        stack = self.tables.stacks.get(thread)
        if stack is None:
            return []
        index = last_until(stack.history, time)
        calls = stack.history[index][1] if index >= 0 else []
        return [{'segment': name, 'begin_ns': begin, 'inside_ns': time - begin,
                 'on_cpu_ns': times.on_cpu.sum(time) - times.on_cpu.sum(begin)}
                for name, begin in calls]


def last_until(entries, time):
    """Index of the last one whose time, its first field, is not after `time`;
    -1 if there is none."""
    return bisect.bisect_right([entry[0] for entry in entries], time) - 1


def merged(spans):
    """Neighbours of one owner are one span: a tick is no dispatch."""
    out = []
    for begin, end, owner in spans:
        if out and out[-1][2] is owner and out[-1][1] == begin:
            out[-1] = (out[-1][0], end, owner)
        else:
            out.append((begin, end, owner))
    return out
