"""Multiplexed event sets: what each owner did in the rotations of a CPU, and the
estimates from that (docs/definitions.md, "Multiplexed events").
"""
import collections
import math

UNATTRIBUTED = 'unattributed'  # an owner
CLOCKS = ('task-clock', 'cpu-clock')
# With or without a modifier.
FAULTS = ('page-faults', 'minor-faults', 'major-faults')

# What an owner did in one rotation: ns in which the set was counted, and count.
Slice = collections.namedtuple('Slice', 'x y')
NONE = Slice(0, 0)
LEAST_SLICES = 1.5  # slices that weigh, for an error


class Rotations:
    """Of one CPU, from its dumps."""

    def __init__(self, sets):
        self.sets = sets  # names of the events of each
        self.total = collections.Counter()
        # (owner, event) -> counts, also of intervals in no slice.
        self.counted = collections.Counter()
        # By set, then by rotation: (owner, event) -> [x, y].
        self.rotations = [[] for _ in sets]
        self.before = None  # the dump before, if a rotation is open

    def end(self):
        self.before = None

    def dump(self, now, pieces=(), parts=(), faults=()):
        """`now`: (set, {event: value}, ns), None while no set is counted.
        `faults`: the owners of the fault records since the dump before."""
        before, self.before = self.before, now
        if now is None:
            return
        if before is None or before[0] != now[0]:
            self.rotations[now[0]].append(
                collections.defaultdict(lambda: [0, 0]))
            return
        running = now[2] - before[2]
        shares = cut_by_time(running, pieces)
        for event, value in now[1].items():
            count = value - before[1][event]
            self.total[event] += count
            counts = split(event, count, parts, faults)
            if counts is None:
                self.counted[UNATTRIBUTED, event] += count
                continue
            rotation = self.rotations[now[0]][-1]
            for owner, part in counts:
                self.counted[owner, event] += part
                rotation[owner, event][1] += part
            for owner, ns in shares:
                rotation[owner, event][0] += ns


def split(event, count, parts, faults):
    """Pairs of an owner and its count; None: the interval cannot be split."""
    owner = only_owner(event, parts)
    if owner is not None:
        return [(owner, count)]
    if event in CLOCKS:
        return cut_by_time(count, parts)
    # An event of one mode counts less than is recorded.
    if event.split(':')[0] != 'page-faults' or not (
            len(faults) <= count or len(set(faults)) == 1):
        return None
    shown = faults[:count]
    return [(owner, 1) for owner in shown] + [
        (UNATTRIBUTED, count - len(shown))]


def only_owner(event, parts):
    """Who has the counts of the interval; None: it cannot be split."""
    owners = {part.owner for part in parts}
    if len(parts) == 1 or len(owners) == 1:
        return parts[-1].owner
    busy = {part.owner for part in parts if part.busy}
    if event.split(':')[0] in FAULTS and len(busy) == 1:
        return next(iter(busy))
    return None


def cut_by_time(running, pieces):
    """Each owner but the last has its length, the last has the rest."""
    shares = []
    for piece in pieces[:-1]:
        ns = min(running, piece.end - piece.begin)
        shares.append((piece.owner, ns))
        running -= ns
    return shares + [(pieces[-1].owner, running)] if pieces else []


def rounds(cpus, owners, event, number):
    """Pairs of slices: two rotations of set `number` on one CPU make a round.
    `owners` are one row."""
    for cpu in cpus:
        slices = []
        for rotation in cpu.rotations.rotations[number]:
            x, y = (sum(rotation[owner, event][i] for owner in owners
                        if (owner, event) in rotation) for i in range(2))
            slices.append(Slice(x, y) if x else NONE)
        for at in range(0, len(slices), 2):
            pair = slices[at:at + 2] + [NONE]
            if pair[0].x or pair[1].x:
                yield pair[0], pair[1]


def estimate(pairs, whole_ns):
    """The row's `scaled` entry and its count; None without a slice."""
    pairs = list(pairs)
    slices = [each for pair in pairs for each in pair if each.x]
    x, y = (sum(column) for column in zip(NONE, *slices))
    if not x:
        return None
    enabled = max(whole_ns, x)
    ratio = y / x
    out = {'counted': y, 'running_ns': x, 'enabled_ns': enabled,
           'slices': len(slices), 'count': ratio * enabled, 'stderr': None}
    weighing = x * x / sum(each.x ** 2 for each in slices)
    if x >= whole_ns:
        out['stderr'] = 0
    elif weighing >= LEAST_SLICES:
        spread = 0
        for a, b in pairs:
            difference = a.y - b.y - ratio * (a.x - b.x)
            spread += difference ** 2 * (1 + 2 * abs(a.x - b.x) / x)
        out['stderr'] = enabled / x * math.sqrt(
            (1 - x / enabled) * max(1, spread))
    return out


def estimates(tables):
    """{(table, key): {event: estimate}} of threads and processes."""
    found = {}
    for process in tables.identities.processes:
        if not tables.counted(process):
            continue
        rows = [(('threads', process.pid, thread.tid), [thread])
                for thread in process.threads]
        rows.append((('processes', process.pid, process.comm),
                     process.threads))
        for key, threads in rows:
            whole = sum(tables.times[each].on_cpu.total() for each in threads)
            found[key] = {
                event: estimate(rounds(tables.cpus, threads, event, number),
                                whole)
                for number, events in enumerate(tables.trace.cpu_sets)
                for event in events}
    return found


def books(tables):
    """{event: {total, unattributed}}: what was counted."""
    out = {}
    for events in tables.trace.cpu_sets:
        for event in events:
            out[event] = {
                'total': sum(cpu.rotations.total[event]
                             for cpu in tables.cpus),
                'unattributed': sum(
                    cpu.rotations.counted[UNATTRIBUTED, event]
                    for cpu in tables.cpus), 'residual': 0}
    return out
