"""Multiplexed event sets at user hooks: estimates of paths from the calls whose
two dumps are in one rotation (docs/definitions.md, "Multiplexed events").
"""
import collections
import math

from estimates import LEAST_SLICES

LAST_ROUNDS = 2  # of a thread, in which the path was called: their own stratum
MISSED = 0.05  # so seldom all of what was not counted is missed
TWO_SIDED = 0.975

# `incl` of one path and event: `bounded` if what was not counted decides.
Estimate = collections.namedtuple(
    'Estimate', 'counted count stderr bounded')


class Rotation:
    """Calls of a path in one rotation: those counted, and their events."""

    def __init__(self):
        self.x, self.y = 0, collections.Counter()


class Path:
    def __init__(self):
        self.calls = collections.Counter()  # by (thread, round)
        self.counted = collections.defaultdict(dict)  # (thread, round, set) ->
        self.largest = collections.Counter()  # {rotation: Rotation}; by event

    def add(self, where, number, of_call):
        """`of_call`: (set, {event: count}), or None."""
        self.calls[where] += 1
        if of_call is None:
            return
        of_set, counts = of_call
        rotation = self.counted[(*where, of_set)].setdefault(
            number, Rotation())
        rotation.x += 1
        rotation.y.update(counts)
        for event, count in counts.items():
            self.largest[event] = max(self.largest[event], count)

    def strata(self):
        """All but the last rounds of each thread, and those."""
        last = set()
        for thread in {thread for thread, _ in self.calls}:
            rounds = sorted(each for other, each in self.calls
                            if other == thread)
            last |= {(thread, each) for each in rounds[-LAST_ROUNDS:]}
        return [each for each in (self.calls.keys() - last, last) if each]

    def stratum(self, where, of_set, event):
        """(calls, counted, count, square of the error, degrees of freedom) of
        these rounds; the last two None where they are not known."""
        calls = sum(self.calls[each] for each in where)
        pairs = []
        for each in where:
            turns = self.counted.get((*each, of_set), {})
            slices = [(turn.x, turn.y[event]) for turn in turns.values()]
            if slices:
                pairs.append((slices + [(0, 0)])[:2])
        slices = [each for pair in pairs for each in pair if each[0]]
        x, y = (sum(column) for column in zip((0, 0), *slices))
        if not x:
            return calls, 0, 0, 0, None, None
        weighing = x * x / sum(each[0] ** 2 for each in slices)
        count = y * calls / x
        if x == calls:
            return calls, x, y, count, 0, 1
        if weighing < LEAST_SLICES:
            return calls, x, y, count, None, None
        spread = sum(((ay - by) - y / x * (ax - bx)) ** 2 *
                     (1 + 2 * abs(ax - bx) / x)
                     for (ax, ay), (bx, by) in pairs)
        square = (calls / x) ** 2 * (1 - x / calls) * spread
        return calls, x, y, count, square, max(
            1, min(weighing - 1, len(pairs)))

    def estimate(self, of_set, event):
        """None if no call was counted."""
        parts = [self.stratum(where, of_set, event) for where in self.strata()]
        if any(part[4] is None for part in parts):
            parts = [self.stratum(set(self.calls), of_set, event)]
        calls, x, y, count = (sum(part[i] for part in parts) for i in range(4))
        if not x:
            return None
        if x == calls:
            return Estimate(y, count, 0, False)
        square, degrees = parts[0][4:]
        if len(parts) > 1:
            square = sum(part[4] for part in parts)
            divisor = sum(part[4] ** 2 / part[5] for part in parts)
            degrees = square ** 2 / divisor if divisor else parts[0][5]
        if square is None:
            return Estimate(y, count, None, True)
        missed = math.log(MISSED) / math.log(1 - x / calls)
        least = (missed * max(1, self.largest[event]) /
                 student(TWO_SIDED, degrees))
        return Estimate(y, count, max(least, math.sqrt(square)),
                        least > math.sqrt(square))


def student(part, degrees):
    """The quantile of Student's distribution, above one half."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
                     ) / math.sqrt(degrees * math.pi)

    # With t = sqrt(degrees) tan(angle) the density is a power of a cosine.
    def below(angle):
        steps = 2000
        width = angle / steps
        values = [math.cos(i * width) ** (degrees - 1)
                  for i in range(steps + 1)]
        return 0.5 + scale * math.sqrt(degrees) * width / 3 * (
            values[0] + values[-1] + 4 * sum(values[1:-1:2]) +
            2 * sum(values[2:-1:2]))

    low, high = 0.0, math.pi / 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < part else (low, middle)
    return math.sqrt(degrees) * math.tan(low)


def rotations(trace):
    """Number of the rotation that each record with a set is in, by id."""
    numbers, last, seen = {}, {}, collections.Counter()
    for record in trace.records:
        if record.cpu >= 0 or record.of_set is None:
            continue
        thread = record.pid, record.tid
        now = record.of_set[0], record.of_set[2]
        if thread in last and last[thread] != now:
            seen[thread] += 1
        last[thread] = now
        numbers[id(record)] = seen[thread]
    return numbers


def paths(tables):
    """{(process, path): Path} of the calls whose enter has a set."""
    found = collections.defaultdict(Path)
    numbers = rotations(tables.trace)
    turns = 2 * len(tables.trace.thread_sets)
    for thread, stack in tables.stacks.items():
        if not tables.counted(thread.process):
            continue
        for call in stack.calls:
            enter, end = call.records
            number = numbers.get(id(enter))
            if number is None or not call.outermost:
                continue
            of_call = None
            if end is not None and numbers.get(id(end)) == number:
                of_call = enter.of_set[0], {
                    event: end.of_set[1][event] - value
                    for event, value in enter.of_set[1].items()
                    if event in end.of_set[1]}
            found[thread.process, call.path].add(
                (thread, number // turns), number, of_call)
    return found


def estimates(tables):
    """{(pid, path): {event: Estimate}}."""
    return {(process.pid, path): {
        event: each.estimate(number, event)
        for number, events in enumerate(tables.trace.thread_sets)
        for event in events}
            for (process, path), each in paths(tables).items()}
