#!/usr/bin/env python3
"""Each pair of recording options on programs whose truth is known.

usage: pairs_test.py COUNTRACE RUNTIME CALLS WAITS RING DISK [--full]
                     [--pairs A,B ...] [--only NAMES]

--pairs records these alone, --only on these programs (calls, waits, ring, disk).
Without --full (or COUNTRACE_TEST_FULL=1): a fixed choice that has each option,
and each pair that ever failed. Exit: 0 if nothing was wrong.
"""
import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from judge import Judge, most_misses
from options import Pair, every_pair, fixed_choice
from recording import Failed, NotHere, Recording
from rows import Rows
from stat_judge import STAT, StatJudge

KINDS = ('calls', 'waits', 'ring', 'disk')
SHOWN = 8  # of what is wrong in one recording
TIMES_ASKED = 5  # for a claim of CPU time, while the host takes none
MOST_ASKED = 20
INSIDE = '--in-own-mounts'


def enter_own_mounts():
    """This program again, with its own /dev/shm: a recording of the machine, which
    may run, would have our programs' hooks; and with tracefs.
    """
    script = ('mount -t tmpfs none /dev/shm && { mountpoint -q /sys/kernel/tracing || '
              'mount -t tracefs nodev /sys/kernel/tracing; } && exec "$@"')
    os.execvp('unshare', ['unshare', '-m', 'sh', '-c', script, 'sh',
                          sys.executable, *sys.argv, INSIDE])


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('countrace', type=pathlib.Path)
    parser.add_argument('runtime', type=pathlib.Path)
    parser.add_argument('programs', type=pathlib.Path, nargs=len(KINDS))
    parser.add_argument('--full', action='store_true',
                        default=bool(os.environ.get('COUNTRACE_TEST_FULL')))
    parser.add_argument('--pairs', nargs='+', metavar='A,B')
    parser.add_argument('--only', help='programs: calls,waits,ring,disk')
    parser.add_argument(INSIDE, action='store_true', dest='inside')
    options = parser.parse_args()
    options.countrace = options.countrace.resolve()
    options.runtime = options.runtime.resolve()
    options.programs = [path.resolve() for path in options.programs]
    return options


def chosen(options):
    """(pair, names of programs) to record."""
    only = options.only.split(',') if options.only else KINDS
    if options.pairs:
        return [(text if text in STAT else Pair(text.split(',')), only)
                for text in options.pairs]
    if options.full:
        return [(each, only) for each in (*STAT, *every_pair())]
    return [('stat', ('ring', 'waits')), *fixed_choice()]


def taken_ticks():
    """Of 10 ms, by all CPUs: what the host took (proc_stat(5), steal)."""
    return int(pathlib.Path('/proc/stat').read_text().split()[8])


class Run:
    def __init__(self, options):
        self.options = options
        self.programs = {path.name.removeprefix('pairs_'): path
                         for path in options.programs}
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-pairs-'))
        self.begin = time.monotonic()
        self.failed, self.intervals = [], []
        self.recordings = self.checked = self.repeated = 0
        self.taken_ticks = taken_ticks()

    def record_pair(self, pair, programs):
        if pair not in STAT and pair.excluded:
            print(f'{str(pair):24} -     {pair.excluded}', flush=True)
            return
        for name in programs:
            begin = time.monotonic()
            wrong, text = self.record_until_sure(pair, name)
            print(f'{str(pair):24} {name:5} {"FAILED" if wrong else text:6} '
                  f'{time.monotonic() - begin:.1f} s', flush=True)
            self.recordings += 1
            if wrong:
                self.failed.append((pair, name))
                self.show(pair, name, wrong)

    def record_until_sure(self, pair, name):
        """(what is wrong, the word for a recording where nothing is)"""
        wrong, wrong_times, text = self.record(pair, name)
        if wrong or not wrong_times:
            return wrong, text
        self.repeated += 1
        counted, texts, asked = collections.Counter(), {}, 0
        for _ in range(MOST_ASKED):
            if asked == TIMES_ASKED:
                break
            before = taken_ticks()
            wrong, wrong_times, text = self.record(pair, name)
            if wrong:
                return wrong, text
            if taken_ticks() != before:
                time.sleep(0.5)  # the host takes CPU time for seconds
                continue
            asked += 1
            counted.update(wrong_times.keys())
            texts |= wrong_times
        return [f'in {times} of {asked} recordings: {texts[claim]}'
                for claim, times in counted.items() if 2 * times > TIMES_ASKED], 'again'

    def record(self, pair, name):
        """(what is wrong, what CPU times are, the word where nothing is)"""
        countrace, program = self.options.countrace, self.programs[name]
        try:
            if pair in STAT:
                judges = [StatJudge(countrace, program, pair, self.work)]
                judges[0].run()
            else:
                recording = Recording(countrace, self.options.runtime, program, pair,
                                      self.work)
                recording.run()
                if pair.refusal:
                    return [], {}, 'refused'
                judges = [Judge(recording), Rows(recording)]
            for judge in judges:
                judge.judge()
        except NotHere as error:
            return [], {}, f'left out: {error}'
        except (Failed, subprocess.SubprocessError) as error:
            return [str(error)], {}, ''
        for judge in judges:
            self.intervals += [(f'{pair} {name}: {text}', holds)
                               for text, holds in judge.intervals]
            self.checked += judge.checked
        wrong = [text for judge in judges for text in judge.wrong]
        if wrong and pair not in STAT:
            wrong.append(f'record said: {recording.err.strip()}')
        return wrong, {name: text for judge in judges
                       for name, text in judge.wrong_times.items()}, 'ok'

    def show(self, pair, name, wrong):
        shown = wrong if self.options.pairs or len(wrong) <= SHOWN else [
            *wrong[:SHOWN], f'and {len(wrong) - SHOWN - 1} more', wrong[-1]]
        for each in shown:
            print('    ' + each.replace('\n', '\n        '))
        print(f'    again: {self.again(pair, name)}', flush=True)

    def again(self, pair, name):
        words = [sys.argv[0], self.options.countrace, self.options.runtime,
                 *self.options.programs, '--only', name, '--pairs', pair]
        return ' '.join(map(str, words))

    def summary(self):
        """The exit status."""
        misses = [text for text, holds in self.intervals if not holds]
        most = most_misses(len(self.intervals))
        for text in misses:
            print(f'missed: {text}')
        print(f'\n{self.recordings} recordings, {self.checked:,} numbers in '
              f'{time.monotonic() - self.begin:.0f} s: {len(self.failed)} failed\n'
              f'{len(misses)} of {len(self.intervals)} intervals of 95 % missed, at '
              f'most {most} may')
        taken = taken_ticks() - self.taken_ticks
        print(f'{self.repeated} recordings were repeated for their CPU time; the host '
              f'took {taken * 10} ms of it')
        often = not taken and 20 * self.repeated > self.recordings
        return int(bool(self.failed) or len(misses) > most or often)


def main():
    options = parse()
    if os.geteuid() != 0:
        print('SKIPPED: needs root')
        return 0
    if not options.inside:
        enter_own_mounts()
    run = Run(options)
    try:
        for pair, programs in chosen(options):
            run.record_pair(pair, programs)
    finally:
        shutil.rmtree(run.work, ignore_errors=True)
    return run.summary()


if __name__ == '__main__':
    sys.exit(main())
