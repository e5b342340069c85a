"""Compares rows of the oracle with those of the product's JSON.

An exact number must be equal to the digit. Of a row that is not exact the
oracle's number must lie in the row's `bounds`, if it has some; a number without
them is skipped. What is compared, bounded and skipped is counted.
"""
import collections

# One bucket of the product's histogram is at most this part of its value wide.
HISTOGRAM = 128
# Rows of one key are put in order by these.
ORDER = ('dispatches', 'calls', 'hits')
# Numbers of rows with these qualities have limits, or are exact.
LIMITED = {'bounded', 'scaled'}
# The standard deviation is printed in whole ns.
ROUNDING_NS = 1


class Comparison:
    def __init__(self):
        self.equal = self.bounded = self.skipped = 0
        self.differences = []
        self.by_table = collections.Counter()
        self.lossy = False  # rows that are not exact may be absent

    def differ(self, where, ours, theirs):
        self.differences.append(f'{where}: oracle {ours}, countrace {theirs}')

    def rows(self, table, ours, theirs, key):
        """Rows by key; several of one key (a pid used twice) in the order of
        their numbers. A row of zeros may be absent."""
        mine, found = grouped(ours, key), grouped(theirs, key)
        for each in sorted(mine.keys() | found.keys(), key=repr):
            left, right = mine.get(each, []), found.get(each, [])
            where = f'{table} {each}'
            if len(left) != len(right):
                left = [row for row in left if any_number(row)]
                right = [row for row in right if any_number(row)]
            if len(left) != len(right) and self.lossy and not any(
                    row.get('quality') == 'exact' for row in right):
                self.skipped += 1
                continue
            if len(left) != len(right):
                self.differ(where, f'{len(left)} rows', f'{len(right)} rows')
                continue
            before = self.equal + self.bounded
            for our_row, their_row in zip(left, right):
                self.row(where, our_row, their_row)
            self.by_table[table] += self.equal + self.bounded - before

    def row(self, where, ours, theirs):
        if (theirs.get('probes_ns') or {}).get('estimate') is not None and (
                'wall_ns' in theirs):
            self.probed_row(where, ours, theirs)
            return
        bounds = theirs.get('bounds', {})
        exact = theirs.get('quality', 'exact') == 'exact'
        # In a row that is only bounded or scaled, numbers without limits are
        # exact.
        qualities = set(theirs.get('qualities', ()))
        if qualities and qualities <= LIMITED and not self.lossy:
            theirs = dict(theirs, quality='exact', on_cpu_quality='exact')
            exact = True
        # Wall times need no dispatch: their quality is the row's; the others'
        # is on_cpu_quality, where there is one.
        exact_on_cpu = exact and theirs.get('on_cpu_quality',
                                            'exact') == 'exact'
        for name, value in ours.items():
            if name not in theirs:
                self.differ(f'{where} {name}', value, 'absent')
                continue
            sure = exact if name in ('wall_ns', 'calls') else exact_on_cpu
            self.value(f'{where} {name}', name, value, theirs[name], sure,
                       bounds)

    def probed_row(self, where, ours, theirs):
        """The product took the cost of probes out of this segment's times. With
        it they are the oracle's."""
        if self.lossy or set(theirs.get('qualities', ())) != {'bounded'}:
            self.skipped += 1
            return
        self.value(f'{where} calls', 'calls', ours['calls'], theirs['calls'],
                   True, {})
        for name in ('wall_ns', 'on_cpu_ns'):
            taken = theirs['probes_ns']['estimate']
            self.value(f'{where} {name}.incl', f'{name}.incl',
                       ours[name]['incl'], theirs[name]['incl'] + taken,
                       True, {})

    def value(self, where, path, ours, theirs, exact, bounds):
        if isinstance(ours, dict) and isinstance(theirs, dict):
            sure = exact and theirs.get('quality', 'exact') == 'exact'
            for name, value in ours.items():
                self.value(f'{where}.{name}', f'{path}.{name}', value,
                           theirs.get(name), sure, bounds)
            return
        limits = bounds.get(path)
        if path.startswith('counts.') and path.endswith('.incl'):
            limits = limits or bounds.get(path[:-len('.incl')])
        if limits is not None:
            self.bounded += 1
            # No upper limit is null.
            if ours < limits[0] or (
                    limits[1] is not None and ours > limits[1]):
                self.differ(where, ours, f'within {limits}')
        elif not exact and not isinstance(ours, str):
            self.skipped += 1
        elif same(path, ours, theirs):
            self.equal += 1
        else:
            self.differ(where, ours, theirs)


def same(path, ours, theirs):
    if theirs is None:
        return ours is None
    if path.startswith('wall_ns.p'):
        return abs(ours - theirs) * HISTOGRAM <= max(ours, theirs)
    if path == 'wall_ns.stddev':
        return abs(ours - theirs) <= ROUNDING_NS
    return ours == theirs


def grouped(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    for each in groups.values():
        each.sort(key=numbers)
    return groups


def numbers(row):
    out = [row.get(name) or 0 for name in ORDER]
    wall = row.get('wall_ns')
    return out + [wall['incl'] if isinstance(wall, dict) else 0]


def any_number(row):
    return any(numbers(row)) or bool(row.get('begin_inferred'))
