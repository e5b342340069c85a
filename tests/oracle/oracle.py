#!/usr/bin/env python3
"""A second opinion on a trace: reconstructs it from babeltrace2's text and
docs/definitions.md, and prints where `countrace report` and `countrace state`
differ. Shares no code with the product.

usage: oracle.py [--countrace PROGRAM] [--at-least N] TRACE...

Exit: 0 all numbers agree, 1 some differ, or fewer than N were compared.
"""
import argparse
import collections
import json
import math
import random
import subprocess
import sys

from comparison import Comparison
import estimates
import hook_sets
from dispatches import read_cpus
from identity import Identities
from instants import Instants
from samples import Samples, KEYS as SAMPLE_KEYS
from segments import read_segments
from tables import Tables
from thread_times import thread_times
from trace_text import SAMPLED, Trace

INSTANTS = 6
# A clock's counts are nearly its time, so that their squares cancel.
CANCELLED = 1e-3
ROUNDED = 1.01
SHOWN = 40  # differences that are printed


def reconstruct(path):
    trace = Trace(path)
    identities = Identities(trace)
    cpus = read_cpus(trace, identities)
    times, wakeups = thread_times(trace, identities, cpus)
    stacks = read_segments(trace, identities, cpus, times)
    return Tables(trace, identities, cpus, times, wakeups, stacks)


def compare_report(tables, report, comparison):
    """All tables of one `report --format json`."""
    def rows(name, ours, *keys):
        theirs = [row for row in report.get(name, [])
                  if row.get('pid') not in tables.marked_late and
                  not row.get('hook', '').startswith(SAMPLED)]
        comparison.rows(name, ours, theirs, lambda row: tuple(
            tuple(row[key]) if isinstance(row[key], list) else row[key]
            for key in keys))

    rows('processes', tables.processes(), 'pid', 'comm')
    rows('threads', tables.threads(), 'pid', 'tid')
    rows('segments', tables.segments(), 'pid', 'segment')
    rows('segment_paths', tables.segment_paths(), 'pid', 'path')
    rows('hooks', tables.hooks(), 'pid', 'hook')
    rows('cpus', tables.cpu_rows(), 'cpu')
    sure = {(row['pid'], row['tid']) for row in report['threads']
            if row['quality'] == 'exact'}
    for thread in tables.doubtful:
        if (thread.process.pid, thread.tid) in sure:
            comparison.differ(f'threads {thread.process.pid}/{thread.tid}',
                              'beside time without an owner', 'exact')
    for event, book in tables.books().items():
        comparison.row(f'books {event}', book, report['books'][event])
    if not tables.lossy:
        compare_estimates(tables, report, comparison)


def compare_estimates(tables, report, comparison):
    """Of multiplexed events, in rows whose key is used once."""
    theirs = collections.defaultdict(list)
    for row in report['threads']:
        theirs['threads', row['pid'], row['tid']].append(row)
    for row in report['processes']:
        theirs['processes', row['pid'], row['comm']].append(row)
    for key, events in estimates.estimates(tables).items():
        for event, ours in events.items() if len(theirs[key]) == 1 else ():
            row = theirs[key][0]
            found = dict((row.get('scaled') or {}).get(event) or {})
            where = f'{key} {event}'
            if not found or ours is None:
                comparison.value(where, 'scaled', ours and ours['counted'],
                                 found.get('counted'), True, {})
                continue
            # Rounded, and added up in another order.
            found['count'] = nearly(row['counts'][event], ours['count'], 0.51)
            if ours['stderr'] is not None and found.get('stderr') is not None:
                found['stderr'] = nearly(found['stderr'], ours['stderr'],
                                         CANCELLED * ours['stderr'])
            comparison.value(where, 'scaled', ours, {
                name: found.get(name) for name in ours}, True, {})
    for event, book in estimates.books(tables).items():
        comparison.row(f'books {event}', book, report['books'][event])


def compare_hook_sets(tables, report, comparison):
    """Of multiplexed events at user hooks, in paths whose key is used once."""
    theirs = collections.defaultdict(list)
    for row in report['segment_paths']:
        theirs[row['pid'], tuple(row['path'])].append(row)
    ours = hook_sets.estimates(tables)
    for (pid, path), events in ours.items():
        rows = theirs[pid, path]
        inside = [each for key, each in ours.items() if key[0] == pid and
                  key[1][:-1] == path]
        for event, estimate in events.items() if len(rows) == 1 else ():
            where = f'segment_paths {pid} {path} {event}'
            found = rows[0]['counts'].get(event)
            always = event in tables.events + tables.trace.thread_events
            if always or estimate is None or found is None:
                if not always:
                    comparison.value(where, 'sets', estimate, found, True, {})
                continue
            mine = {'counted': estimate.counted, 'incl': estimate.count,
                    'stderr': estimate.stderr}
            others = [each[event] for each in inside if each[event]]
            mine['excl'] = estimate.count - sum(each.count for each in others)
            if all(each.stderr is not None for each in others + [estimate]):
                mine['excl_stderr'] = math.sqrt(sum(
                    each.stderr ** 2 for each in others + [estimate]))
            if estimate.stderr:
                mine['quality'] = 'bounded' if estimate.bounded else 'scaled'
            # Each of two strata is rounded.
            for name, reach in (('incl', ROUNDED),
                                ('excl', ROUNDED * (1 + len(others))),
                                ('stderr', CANCELLED * (mine['stderr'] or 1)),
                                ('excl_stderr', CANCELLED *
                                 (mine.get('excl_stderr') or 1))):
                if mine.get(name) is not None and found.get(name) is not None:
                    found[name] = nearly(found[name], mine[name], reach)
            for name, value in mine.items():  # of no sure count, but sure itself
                comparison.value(f'{where} {name}', 'sets', value,
                                 found.get(name), True, {})


def nearly(found, ours, reach):
    return ours if abs(found - ours) <= reach else found


def compare_state(tables, state, inexact, comparison):
    """`inexact`: threads whose rows are not exact, by pid and tid."""
    time = state['t_ns']
    ours = Instants(tables).at(time)
    theirs = {row['cpu']: row for row in state['cpus']}
    for row in ours['cpus']:
        found = theirs[row['cpu']]
        found['interrupts'] = [(each['segment'], each['begin_ns'])
                               for each in found['interrupts']]
        comparison.row(f'state {time} cpu {row["cpu"]}', row, found)
    theirs = {(row['pid'], row['tid']): row for row in state['threads']}
    unsure = inexact | {(thread.process.pid, thread.tid)
                        for thread, times in tables.times.items()
                        if thread in tables.doubtful or not times.dispatches}
    # `state` has no counts of dispatches without dumps.
    undumped = {(thread.process.pid, thread.tid) for cpu in tables.cpus
                for _, thread, switched in cpu.gone if switched}
    for row in ours['threads']:
        if (row['pid'], row['tid']) in unsure:
            theirs.pop((row['pid'], row['tid']), None)
            continue
        where = f'state {time} thread {row["tid"]}'
        found = theirs.pop((row['pid'], row['tid']), None)
        if found is None and row['state'] == 'unknown':
            continue  # before its first record
        if found is None:
            comparison.differ(where, row['state'], 'absent')
            continue
        if 'counts' in row:
            row['counts'] = {name: {'count': count}
                             for name, count in row['counts'].items()}
        if (row['pid'], row['tid']) in undumped:
            row.pop('counts', None)
        calls = row.pop('segments')
        comparison.row(where, row, found)
        known = [each for each in found['segments']
                 if each['quality'] == 'exact']
        if len(known) == len(found['segments']):
            comparison.value(f'{where} segments', 'segments',
                             [each['segment'] for each in calls],
                             [each['segment'] for each in known], True, {})
            for left, right in zip(calls, known):
                comparison.row(f'{where} {left["segment"]}', left, right)
    for pid, tid in theirs:
        if pid not in tables.marked_late:
            comparison.differ(f'state {time} thread {pid}/{tid}', 'absent',
                              'there')


def compare_samples(tables, report, exact, comparison):
    """`report --by dso --group-by thread`, and each sample with the dispatches.
    `exact`: all times of processes are."""
    samples = Samples(tables)
    comparison.rows('samples', samples.rows(), report['rows'],
                    lambda row: tuple(row[key] for key in SAMPLE_KEYS))
    books = samples.books(exact)
    for book in report['books']:
        comparison.row(f'books {book["event"]}', books[book['event']], book)
    if tables.cpus and not tables.lossy:
        for where, least, most, found in samples.contradictions():
            if least == most:
                comparison.value(where, 'samples', least, found, True, {})
            else:
                comparison.value(where, 'samples', found, None, True,
                                 {'samples': (least, most)})


def instants_of(tables):
    """Some where a record is, some between two."""
    times = sorted({record.time for record in tables.trace.records})
    chance = random.Random(len(times))
    chosen = chance.sample(times, min(INSTANTS, len(times)))
    return sorted(min(time + chance.randrange(2), times[-1]) for time in chosen)


def compare(program, path, comparison):
    """Adds what `report` and `state` say to the comparison; returns Tables."""
    def json_of(*arguments):
        run = subprocess.run([program, *arguments, '--format', 'json', path],
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    tables = reconstruct(path)
    comparison.lossy = tables.lossy
    report = json_of('report')
    compare_report(tables, report, comparison)
    if tables.trace.rates:
        compare_samples(tables, json_of('report', '--by', 'dso', '--group-by',
                                        'thread'),
                        all(row['quality'] == 'exact'
                            for row in report['processes']), comparison)
    if tables.trace.thread_sets and not tables.lossy:
        compare_hook_sets(tables, report, comparison)
    inexact = {(row['pid'], row['tid']) for row in report['threads']
               if row['quality'] != 'exact'}
    if tables.cpus and not tables.lossy:
        for time in instants_of(tables):
            (state,) = json_of('state', '--all', '--at', str(time))['states']
            compare_state(tables, state, inexact, comparison)
    return tables


def check(program, path, at_least):
    """Prints what differs; True if nothing does."""
    comparison = Comparison()
    records = compare(program, path, comparison).trace.records
    for difference in comparison.differences[:SHOWN]:
        print(difference)
    compared = comparison.equal + comparison.bounded
    print(f'{path}: {len(records)} records; {comparison.equal} numbers equal, '
          f'{comparison.bounded} within bounds, {comparison.skipped} not exact '
          f'and skipped, {len(comparison.differences)} differ')
    if compared < at_least:
        print(f'{path}: only {compared} numbers compared, not {at_least}')
    return not comparison.differences and compared >= at_least


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--countrace', default='countrace')
    parser.add_argument('--at-least', type=int, default=1, metavar='N',
                        help='numbers that must be compared in each trace')
    parser.add_argument('traces', nargs='+', metavar='TRACE')
    options = parser.parse_args()
    results = [check(options.countrace, path, options.at_least)
               for path in options.traces]
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
