"""What must hold in each row of each table, whatever the truth is: books balance,
a part is at most its whole, a time is at most the time there was, neighbouring
ranges add up, limits enclose their number.
"""
import math

ACCOUNTS = ('processes', 'own', 'idle', 'interrupts', 'outside', 'unattributed')
TIMES = ('wall_ns', 'on_cpu_ns', 'off_cpu_ns', 'wait_ns', 'blocked_ns')
# Sums of rounded parts.
ROUNDED_NS = 2


def part(row, name, key='incl'):
    """A time of a segment's row, or None where it is not known."""
    return (row.get(name) or {}).get(key)


def limits(rows, name):
    """[lo, hi] of the sum of a number over rows."""
    each = [row.get('bounds', {}).get(name, (row[name] or 0,) * 2) for row in rows]
    return sum(lo for lo, _ in each), sum(math.inf if hi is None else hi for _, hi in each)


class Rows:
    """Collects what does not hold in the tables of a recording."""

    def __init__(self, recording):
        self.recording = recording
        self.wrong, self.wrong_times, self.intervals = [], {}, []
        self.checked = 0
        self.useless = []  # limits that say less than is certain

    def holds(self, condition, text):
        self.checked += 1
        if not condition:
            self.wrong.append(text)

    def table(self, by, *options):
        return self.recording.report('--by', by, '--rows', '0', *options)

    def judge(self):
        processes = self.table('process')
        threads = self.table('thread')['threads']
        segments = self.table('segment').get('segments', [])
        paths = self.table('path').get('segment_paths', [])
        self.length_ns = (processes['trace']['end_ns'] -
                          processes['trace']['begin_ns'])
        self.loss = processes['loss']
        self.most_threads = {
            row['pid']: row.get('bounds', {}).get('threads', [row['threads']])[-1]
            for row in processes['processes']}
        self.check_books(processes['books'])
        self.check_processes(processes['processes'], threads)
        for row in threads:
            self.check_thread(row)
        for row in segments:
            self.check_segment(row, row['segment'])
        for row in paths:
            self.check_segment(row, ' > '.join(row['path']))
        self.check_paths(paths, segments)
        self.check_segments_of_processes(paths, processes['processes'], threads)
        self.check_cpus()
        self.check_waits(threads)
        self.check_over_time(processes)
        self.check_halves(threads)
        if self.useless:
            self.wrong.append(f'{len(self.useless)} limits say less than is certain; the '
                              f'first: {self.useless[0]}')

    # ---- books, CPUs

    def check_books(self, books):
        for event, book in books.items():
            self.holds(book['residual'] == 0,
                       f'book of {event}: residual {book["residual"]:,}')
            accounts = sum(book[name] for name in ACCOUNTS)
            self.holds(accounts + book['residual'] == book['total'],
                       f'book of {event}: accounts {accounts:,} of {book["total"]:,}')
            if book['in_segments'] is not None:
                self.holds(book['in_segments'] <= book['processes'],
                           f'book of {event}: {book["in_segments"]:,} in segments, '
                           f'{book["processes"]:,} of processes')

    def check_cpus(self):
        for row in self.table('cpu')['cpus']:
            parts = sum(row[f'{name}_ns'] or 0 for name in
                        ('busy', 'idle', 'interrupts', 'outside', 'unattributed'))
            self.holds(abs(parts - row['wall_ns']) <= ROUNDED_NS,
                       f'CPU {row["cpu"]}: parts {parts:,} of {row["wall_ns"]:,}')

    # ---- processes and threads

    def check_processes(self, processes, threads):
        for pid in {row['pid'] for row in processes}:
            # A pid may be used again.
            rows = [row for row in processes if row['pid'] == pid]
            own = [each for each in threads if each['pid'] == pid]
            name = f'process {pid} {rows[0]["comm"]}'
            for row in rows:
                self.check_limits(row, name)
            # Not known where the back end saw no switch of it.
            whole, parts = (sum(row['on_cpu_ns'] or 0 for row in each)
                            for each in (rows, own))
            self.holds(whole == parts,
                       f'{name}: on-CPU {whole:,}, its threads {parts:,}')
            if any('scaled' in row.get('qualities', (row['quality'],)) for row in rows):
                continue
            for event in rows[0]['counts']:
                whole, parts = ([row['counts'].get(event) for row in each]
                                for each in (rows, own))
                if None in whole or None in parts:
                    continue
                self.holds(sum(whole) == sum(parts),
                           f'{name}: {event} {sum(whole):,}, its threads '
                           f'{sum(parts):,}')

    def check_thread(self, row):
        name = f'thread {row["tid"]} {row["comm"]}'
        self.check_limits(row, name)
        life = min(row['last_seen_ns'] - row['first_seen_ns'], self.length_ns)
        used = sum(row[name] or 0 for name in ('on_cpu_ns', 'wait_ns', 'blocked_ns'))
        # A process ends before its last switch; a row may begin before it runs.
        self.holds(used <= max(life, self.length_ns),
                   f'{name}: on-CPU, wait and blocked {used:,} of {life:,}')

    def check_limits(self, row, name):
        for path, (lo, hi) in row.get('bounds', {}).items():
            value = row
            for key in (('counts', *path[7:].split('.')) if path.startswith('counts.')
                        else path.split('.')):
                value = value.get(key) if isinstance(value, dict) else None
            self.holds(hi is None or lo <= hi, f'{name}: {path} [{lo:,}, {hi}]')
            if isinstance(value, (int, float)):
                self.holds(lo <= value and (hi is None or value <= hi),
                           f'{name}: {path} {value:,} is not in [{lo:,}, {hi}]')

    # ---- segments and paths

    def check_segment(self, row, name):
        name = f'{row["comm"]} {name}'
        self.check_limits(row, name)
        for key in ('incl', 'excl'):
            wall, on, off, wait, blocked = (part(row, time, key) for time in TIMES)
            if on is None:
                continue
            used = on + (wait or 0) + (blocked or 0)
            self.holds(used <= wall + ROUNDED_NS,
                       f'{name} ({key}): on-CPU {on:,}, wait {wait or 0:,} and blocked '
                       f'{blocked or 0:,} exceed wall {wall:,}')
            self.holds(off is None or (wait or 0) + (blocked or 0) <= off + ROUNDED_NS,
                       f'{name} ({key}): wait {wait or 0:,} and blocked {blocked or 0:,} '
                       f'exceed off-CPU {off}')
        for time in TIMES:
            incl, excl = part(row, time), part(row, time, 'excl')
            if incl is not None and excl is not None:
                self.holds(excl <= incl, f'{name}: {time} {excl:,} of its own in {incl:,}')
        wall, calls = row['wall_ns'], row['calls']
        ordered = [wall[key] for key in ('p50', 'p90', 'p99')]
        self.holds(ordered == sorted(ordered), f'{name}: percentiles {ordered}')
        if calls:
            self.holds(wall['min'] * calls <= wall['incl'] + calls and
                       wall['incl'] <= wall['max'] * calls + calls,
                       f'{name}: {calls:,} calls of {wall["min"]:,} to {wall["max"]:,} '
                       f'are {wall["incl"]:,}')
        for event, count in row['counts'].items():
            if count.get('incl') is not None and count.get('excl') is not None and (
                    count.get('counted') is None):  # no estimate
                self.holds(count['excl'] <= count['incl'],
                           f'{name}: {event} {count["excl"]:,} in {count["incl"]:,}')
        self.check_useful_limits(row, name)

    def check_useful_limits(self, row, name):
        """What cannot nest is at most as long as its threads were recorded; a few
        lost records do not move a median of many calls.
        """
        bounds = row.get('bounds', {})
        if not row['segment'].startswith('syscall:'):
            return
        threads = self.most_threads.get(row['pid'])
        for path in ('wall_ns.incl', 'wall_ns.max', 'wall_ns.p50', 'blocked_ns.incl'):
            most = self.length_ns if not path.endswith('incl') else (
                threads and threads * self.length_ns)
            if path not in bounds or most is None:
                continue
            lo, hi = bounds[path]
            self.checked += 1
            if hi is None or hi > most:
                self.useless.append(f'{name}: {path} [{lo:,}, {hi}], at most {most:,}')
        lost = self.loss['discarded_events']
        # One may hide a begin or an end, in doubt beside the call that it cuts.
        if 0 < 8 * lost < row['calls'] and 'wall_ns.p50' in bounds:
            lo, hi = bounds['wall_ns.p50']
            self.checked += 1
            if hi is None or hi > row['wall_ns']['p99']:
                self.useless.append(
                    f'{name}: half of {row["calls"]:,} calls took [{lo:,}, {hi}], with '
                    f'{lost} lost records; p99 {row["wall_ns"]["p99"]:,}')

    def check_paths(self, paths, segments):
        tree = {(row['pid'], tuple(row['path'])): row for row in paths}
        inner = {}
        for (pid, path), row in tree.items():
            inner.setdefault((pid, path[:-1]), []).append(row)
        for key, row in tree.items():
            below = inner.get(key, [])
            name = f'{row["comm"]} {" > ".join(key[1])}'
            for time in ('wall_ns', 'on_cpu_ns', 'wait_ns', 'blocked_ns'):
                whole, own = part(row, time), part(row, time, 'excl')
                parts = [part(each, time) for each in below]
                if whole is None or None in parts or self.estimated(row, below):
                    continue
                self.holds(own + sum(parts) == whole,
                           f'{name}: {time} {own:,} and inner {sum(parts):,} are not '
                           f'{whole:,}')
        for row in segments:
            same = [each for each in paths if each['pid'] == row['pid'] and
                    each['segment'] == row['segment']]
            name = f'{row["comm"]} {row["segment"]}'
            calls = sum(each['calls'] for each in same)
            self.holds(calls == row['calls'],
                       f'{name}: {row["calls"]:,} calls, in its paths {calls:,}')
            for time in TIMES:
                own = part(row, time, 'excl')
                parts = [part(each, time, 'excl') for each in same]
                if own is None or None in parts or self.estimated(row, same):
                    continue
                self.holds(sum(parts) == own,
                           f'{name}: own {time} {own:,}, in its paths {sum(parts):,}')

    @staticmethod
    def estimated(row, others):
        """Costs of probes are taken out of each row on its own."""
        return any(each.get('probes_ns') for each in (row, *others))

    def check_segments_of_processes(self, paths, processes, threads):
        for process in processes:
            top = [row for row in paths if row['pid'] == process['pid'] and
                   len(row['path']) == 1]
            own = [row for row in threads if row['pid'] == process['pid']]
            self.check_faults_of_segments(process, paths)
            if self.estimated({}, top):
                continue
            for time in ('on_cpu_ns', 'wait_ns', 'blocked_ns'):
                parts = [part(row, time) or 0 for row in top]
                whole = sum(row[time] or 0 for row in own)
                self.holds(sum(parts) <= whole + ROUNDED_NS,
                           f'process {process["comm"]}: {time} {whole:,}, in its segments '
                           f'{sum(parts):,}')

    def check_faults_of_segments(self, process, paths):
        if self.recording.pair.has('sets'):
            return  # an estimate in each row
        whole = process['counts'].get('page-faults')
        counts = [row['counts'].get('page-faults') for row in paths
                  if row['pid'] == process['pid']]
        parts = [count['excl'] for count in counts
                 if count and count.get('counted') is None]
        if whole is not None and parts and len(parts) == len(counts) and (
                None not in parts):
            self.holds(sum(parts) <= whole,
                       f'process {process["comm"]}: page-faults {whole:,}, in its '
                       f'segments {sum(parts):,}')

    # ---- waits

    def check_waits(self, threads):
        if any(row['blocked_ns'] is not None for row in threads):
            rows = self.table('waker')['wakers']
            for pid in {row['pid'] for row in threads}:
                ended = sum(row['blocked_ns'] for row in rows if row['pid'] == pid)
                whole = sum(row['blocked_ns'] or 0 for row in threads
                            if row['pid'] == pid)
                self.holds(ended <= whole,
                           f'pid {pid}: blocked {whole:,}, ended by wakers {ended:,}')
        rows = self.table('preemptor').get('preemptors', [])
        for tid in {thread['tid'] for thread in threads}:
            behind = sum(row['wait_ns'] for row in rows if row['tid'] == tid)
            whole = sum(row['wait_ns'] or 0 for row in threads if row['tid'] == tid)
            self.holds(behind <= whole,
                       f'thread {tid}: wait {whole:,}, behind others {behind:,}')

    # ---- ranges

    def check_over_time(self, whole):
        if 'task-clock' not in whole['books']:
            return
        table = self.table('time')
        for account in ('processes', 'interrupts', 'outside', 'unattributed', 'idle'):
            parts = sum(row['cpu_ns'][account] or 0 for row in table['intervals'])
            total = whole['books']['task-clock'][account]
            if account == 'processes':
                total += whole['books']['task-clock']['own']
            # A clock's counts and the times of records: within one microsecond a CPU.
            self.checked += 1
            if abs(parts - total) > total // 50 + 1_000_000:
                name = f'{account} over time'
                self.wrong_times[name] = f'{name} {parts:,}, in the books {total:,}'

    def check_halves(self, threads):
        """A tid may be used again: its rows are added up. What was lost near the
        edge, one half may lack; limits say so, if it has a row of the thread.
        """
        halves = [self.table('thread', *options)['threads'] for options in
                  (('--to', '50%'), ('--from', '50%'))]
        for tid in {row['tid'] for row in threads}:
            rows = [row for row in threads if row['tid'] == tid]
            own = [row for half in halves for row in half if row['tid'] == tid]
            for name in ('on_cpu_ns', 'wait_ns', 'blocked_ns'):
                if self.loss['is_loss']:
                    whole, parts = (limits(each, name) for each in (rows, own))
                    in_both = all(any(row['tid'] == tid for row in half)
                                  for half in halves)
                    self.holds(parts[0] <= whole[1] + ROUNDED_NS and (
                        not in_both or whole[0] <= parts[1] + ROUNDED_NS),
                               f'thread {tid} {rows[0]["comm"]}: {name} {whole}, its two '
                               f'halves {parts}')
                    continue
                whole, parts = (sum(row[name] or 0 for row in each)
                                for each in (rows, own))
                self.holds(abs(parts - whole) <= ROUNDED_NS,
                           f'thread {tid} {rows[0]["comm"]}: {name} {whole:,}, its two '
                           f'halves {parts:,}')
