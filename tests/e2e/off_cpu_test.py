#!/usr/bin/env python3
"""`record --offcpu` against a program whose waits are known by number and
length, and against the dispatches of the same trace.

usage: off_cpu_test.py COUNTRACE OFF_CPU_WORKLOAD
"""
import collections
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

from trace_checks import Recording, run

COUNTRACE = WORKLOAD = ''
MS = 1_000_000
LIMIT = 2 * MS


class OffCpu(Recording):
    def record(self, *arguments, status=0):
        done = run(COUNTRACE, 'record', '--force', '-q', '-o', self.trace, *arguments)
        if 'Cannot load BPF programs' in done.stderr:
            self.skipTest('SKIPPED: stacks off CPU need BPF: ' + done.stderr.strip())
        self.assertEqual(status, done.returncode, done)
        return done

    def report(self, by, *arguments):
        done = run(COUNTRACE, 'report', '--no-progress', '--format', 'json', '--by', by,
                   *arguments, self.trace)
        self.assertEqual(0, done.returncode, done)
        return json.loads(done.stdout)

    def call_of(self, function, call, event='off-cpu'):
        """The rows of a kernel function, by a part of its name, below one of the program; the
        outermost ones."""
        rows = self.report('calltree', '--rows', 0, '--function', function + '(*')['rows']
        found, below = [], None
        for row in rows:
            if row['event'] != event:
                continue
            if below is not None and row['depth'] > below:
                continue
            below = row['depth'] if call in row['function'] else None
            if below is not None:
                found.append(row)
        return sum(row['total_samples'] for row in found), sum(row['total'] for row in found)

    def books(self, event='off-cpu', data=None):
        data = data or self.report('function')
        book, = [book for book in data['books'] if book['event'] == event]
        self.assertEqual(book['counted'],
                         book['processes'] + book['idle'] + book['outside'] + book['shorter_ns'] +
                         book['lost_ns'] + book['residual'], book)
        return book

    def waits(self):
        """(tid, begin, end) of each time off CPU, by the dispatches; the same of new threads until
        they first ran, with the times of the fork and of the wake-up as begin, and who made them;
        the samples; threads of which the kernel hid a switch."""
        done = run(COUNTRACE, 'script', '--no-progress', '--format', 'jsonl', self.trace)
        self.assertEqual(0, done.returncode, done.stderr)
        left, made, waits, new, samples, hidden = {}, {}, [], [], [], {0}
        for line in done.stdout.splitlines():
            record = json.loads(line)
            fields, time_ns = record['fields'], record['time_ns']
            if record['event'] == 'dispatch':
                tid = fields['next_tid']
                if tid in made:
                    new.append((tid, made.pop(tid), time_ns))
                elif tid in left:
                    waits.append((tid, left.pop(tid), time_ns))
                made.pop(fields['prev_tid'], None)  # that it came was hidden
                left[fields['prev_tid']] = time_ns
            elif record['event'] == 'fork':
                left.pop(fields['tid'], None)
                made[fields['tid']] = (time_ns, time_ns, fields['parent_pid'])
            elif record['event'] == 'wakeup' and fields['wakee_tid'] in made:
                forked, _, parent = made[fields['wakee_tid']]
                made[fields['wakee_tid']] = (forked, time_ns, parent)
            elif record['event'] == 'switch_in':
                hidden |= {fields['prev_tid'], fields['next_tid']}
            elif record['event'] == 'sample:off-cpu':
                samples.append((fields['tid'], time_ns - 1 - fields['period'], time_ns - 1))
        return waits, new, samples, hidden

    def test_known_waits(self):
        done = self.record('--offcpu', '2ms', '--', WORKLOAD)
        truth = json.loads(done.stdout)
        data = self.report('function')
        book = self.books(data=data)
        unseen = book['unseen']  # the kernel hid a switch to the thread: no stack
        for function, call, least in (('SleepLong', 'nanosleep', 20 * MS),
                                      ('SleepMiddle', 'nanosleep', 6 * MS),
                                      ('WaitForLock', 'futex', LIMIT)):
            number, ns = truth[function]
            samples, total = self.call_of(function, call)
            # A busy machine may preempt a thread on its way to sleep.
            self.assertIn(samples, range(number - unseen, number + 2), function)
            self.assertLessEqual(total, ns, function)
            # It sleeps no shorter; of the waits for the lock the program counts those that long.
            self.assertGreaterEqual(total, (number - unseen) * least, function)
        self.assertEqual((0, 0, 0), (book['residual'], book['lost'], book['stacks_lost']), book)
        late, _ = self.call_of('SleepShort', 'nanosleep') \
            if any('SleepShort' in row['function'] for row in data['rows']) else (0, 0)
        self.assertGreaterEqual(book['shorter'] + late + unseen, truth['SleepShort'][0])
        # Sums, not estimates.
        for row in data['rows']:
            self.assertEqual((row['total'], row['total']), (row['total_lo'], row['total_hi']))
            self.assertFalse(re.search('schedule|bpf_', row['function']) and row['self'], row)
        text = run(COUNTRACE, 'report', '--by', 'function', self.trace).stdout
        self.assertNotIn('~', text)
        self.assertIn('books of off-cpu (2.00 ms or longer, ', text)

    def chains(self, function, event='off-cpu'):
        """Chains of callers from a function outwards, with their samples."""
        rows = self.report('callers', '--rows', 0, '--function', function)['rows']
        chains, path = [], []
        for row in rows:
            if row['event'] != event:
                continue
            path[row['depth']:] = [row['function'].split('(')[0]]
            chains.append((list(path), row['total_samples']))
        return chains

    def test_libc_has_its_caller_by_dwarf(self):
        done = self.record('--offcpu', '2ms', '--call-graph', 'dwarf', '--', WORKLOAD, 'libc')
        self.assertNotIn('no byte', done.stdout)
        unseen = self.books()['unseen']
        for call, function in (('*nanosleep*', 'NapInLibc'), ('*mutex_lock*', 'LockInLibc'),
                               ('*read', 'ReadInLibc')):
            chains = self.chains(call)
            found = [count for path, count in chains if path[-1] == function]
            # On its way there it may have been preempted; some kernels hide switches.
            self.assertIn(sum(found), range(3 - unseen, 8), (function, chains))
        rows = self.report('calltree', '--rows', 0, '--function', 'main')['rows']
        self.assertTrue(any('NapInLibc' in row['function'] for row in rows), rows)

    def test_known_waits_by_dwarf(self):
        done = self.record('--offcpu', '2ms', '--call-graph', 'dwarf,48K', '--wakeup-stacks', '--',
                           WORKLOAD)
        truth = json.loads(done.stdout)
        book = self.books()
        self.assertEqual((0, 0, 0), (book['residual'], book['lost'], book['stacks_lost']), book)
        for function, call in (('SleepLong', 'nanosleep'), ('SleepMiddle', 'nanosleep'),
                               ('WaitForLock', 'futex')):
            number, ns = truth[function]
            samples, total = self.call_of(function, call)
            self.assertIn(samples, range(number - book['unseen'], number + 2), function)
            self.assertLessEqual(total, ns, function)
        data = self.report('function')
        samples = {row['function']: row['total_samples'] for row in data['rows']
                   if row['event'] == 'off-cpu'}
        # Waits of the recorder's child in exec: its stack is deep, and then gone.
        self.assertLessEqual(samples.get('[truncated stack]', 0), sum(
            count for function, count in samples.items()
            if re.search('sys_execve$', function)))
        samples, _ = self.call_of('Unlock', 'futex', 'off-cpu-waker')
        number, _ = truth['WaitForLock']
        self.assertIn(samples, range(number - book['unseen'], number + 1))

    def test_a_copy_that_is_too_short(self):
        done = run(COUNTRACE, 'record', '--force', '-o', self.trace, '--offcpu', '2ms',
                   '--call-graph', 'dwarf,64', '--', WORKLOAD)
        if 'Cannot load BPF programs' in done.stderr:
            self.skipTest('SKIPPED: stacks off CPU need BPF: ' + done.stderr.strip())
        self.assertRegex(done.stderr, r'\[truncated stack\]: stacks=\d+, bytes=64; copy more')

    def check_each_wait(self):
        """Returns the waits of new threads that have a sample, and by who made them how many
        threads had no wait of 18 ms."""
        waits, new, samples, hidden = self.waits()
        # Those that began before stacks were taken have none; those that go on when they are no
        # longer taken have no dispatch then.
        first, last = (choose(end for _, _, end in samples) for choose in (min, max))
        found, soon = [], collections.Counter()
        for tid, (forked, woken, parent), end in new:
            soon[parent] += tid not in hidden and end - woken < 18 * MS
            of_it = [one for one in samples if (one[0], one[2]) == (tid, end)]
            self.assertTrue(all(forked <= begin <= woken for _, begin, _ in of_it), (of_it, woken))
            self.assertTrue(tid in hidden or of_it or end - woken < LIMIT or
                            not first < forked < end < last, (tid, forked, woken, end))
            samples = [one for one in samples if one not in of_it]
            found += of_it
        ended = {wait for wait in waits if wait[2] - wait[1] >= LIMIT and wait[2] < last}
        # Or one between the end of taking stacks and the time that is their end.
        going_on = {sample[:2] for sample in samples if sample[2] == last}
        wrong = {wait for wait in ended - set(samples)
                 if wait[1] > first and wait[:2] not in going_on}
        wrong |= {sample for sample in set(samples) - ended if sample[2] != last}
        self.assertEqual(set(), {wait for wait in wrong if wait[0] not in hidden})
        self.assertEqual(len(samples), len(set(samples)))
        book = self.books()
        self.assertEqual(0, book['residual'], book)
        self.assertEqual(sum(end - begin for _, begin, end in samples + found), book['processes'])
        return found, soon

    def test_each_wait_is_that_of_the_dispatches(self):
        self.record('-a', '--offcpu', '2ms', '--kernel', 'wakeups', '--', WORKLOAD)
        self.check_each_wait()
        self.assertGreater(self.books()['samples'], 20)

    def test_new_threads_have_the_stack_of_who_made_them(self):
        done = run(WORKLOAD, 'new')
        if done.returncode == 3:
            self.skipTest('SKIPPED: no thread may go before all others here')
        for options in ((), ('--call-graph', 'dwarf')):
            done = self.record('-a', '--offcpu', '2ms', '--kernel', 'wakeups', *options, '--',
                               WORKLOAD, 'new')
            truth = json.loads(done.stdout)
            # Each waits 20 ms, as its maker keeps the CPU (unless the kernel lets it run all the
            # same, for fairness).
            found, soon = self.check_each_wait()
            # Where the kernel hid a switch to the thread there is no stack.
            unseen = self.books()['unseen'] + soon[truth['pid']]
            long = sum(one[2] - one[1] >= 18 * MS for one in found)
            self.assertGreaterEqual(long, 6 - unseen, found)
            # libc has no frame pointers where it makes a thread.
            for maker in ('MakeProcess', 'MakeThread')[:2 if options else 1]:
                number, ns = truth[maker]
                samples, total = self.call_of(maker, 'kernel_clone')
                self.assertIn(samples, range(number - unseen, number + 1), (maker, options))
                self.assertLessEqual(total, ns)
                self.assertGreaterEqual(total, (samples - soon[truth['pid']]) * 18 * MS)
            # libc's frame pointer is then a pointer to itself: no chain of callers.
            own = ('--process', pathlib.Path(WORKLOAD).name[:15], '--rows', 0)
            unknown = [row for row in self.report('calltree', *own)['rows']
                       if row['dso'] == '[unknown]']
            self.assertLess(len(unknown), 10, unknown[:3])

    def test_a_wait_that_goes_on(self):
        self.record('--offcpu', '2ms', '--for', '2s', '--', WORKLOAD, 'hang')  # for 3 s
        samples, total = self.call_of('SleepOn', 'nanosleep')
        self.assertEqual(1, samples)
        self.assertGreater(total, 200 * MS)
        self.assertEqual(0, self.books()['residual'])

    def test_a_place_for_each_waker_and_its_stack(self):
        done = self.record('--offcpu', '2ms', '--wakeup-stacks', '--kernel', 'wakeups,syscalls',
                           '--', WORKLOAD)
        number, _ = json.loads(done.stdout)['WaitForLock']
        rows = [row for row in self.report('waker')['wakers'] if row['segment'] == 'syscall:futex'
                and 'WaitForLock' in (row['blocked_at'] or '')]
        self.assertTrue(rows)
        unseen = self.books()['unseen']
        self.assertIn(sum(row['times'] for row in rows), range(number - unseen, number + 2), rows)
        for row in rows:
            self.assertTrue(unseen or row['blocked_ns'] == row['blocked_at_ns'], row)
            self.assertEqual('thread', row['waker']['kind'])
        text = run(COUNTRACE, 'report', '--by', 'waker', self.trace).stdout
        self.assertRegex(text, r'blocked at .*woken by')
        self.assertRegex(text, r'< WaitForLock < ')
        # Who woke: each once, and not later than the thread ran again.
        samples, total = self.call_of('Unlock', 'futex', 'off-cpu-waker')
        self.assertIn(samples, range(number - unseen, number + 1))
        _, waited = self.call_of('WaitForLock', 'futex')
        self.assertLessEqual(total, waited)
        self.assertGreaterEqual(total, (number - unseen) * LIMIT)
        self.assertEqual(0, self.books('off-cpu-waker')['residual'])
        self.assertEqual(0, self.books()['residual'])

    def test_lost_stacks_are_counted(self):
        done = self.record('-a', '--kernel-ring', '4096', '--offcpu', '1ns', '--wakeup-stacks',
                           '--fail-on-loss', '--', WORKLOAD, status=3)
        self.assertRegex(done.stderr, r'Stacks off CPU found no room in the ring: stacks=\d+')
        book = self.books()
        self.assertGreater(book['lost'], 0)
        self.assertGreater(book['lost_ns'], 0)
        text = run(COUNTRACE, 'report', '--by', 'function', self.trace).stdout
        self.assertIn(f'{book["lost"]} lost stacks', text)

    def test_wrong_input(self):
        for options, status, message in (
                (('--offcpu', '0'), 2, '--offcpu: 0 is no duration'),
                (('--offcpu', 'x'), 2, '--offcpu: x is no duration'),
                (('--call-graph', 'dwarf'), 2, 'it needs --sample or --offcpu'),
                (('--offcpu', '1ms', '--call-graph', 'dwarf,x'), 2, '--call-graph dwarf,x: want'),
                (('--wakeup-stacks',), 2, 'give the shortest time off CPU'),
                (('--offcpu', '1ms', '--no-kernel'), 2, '--offcpu and --no-kernel contradict'),
                (('--offcpu', '1ms', '--backend', 'lttng'), 2, '--offcpu'),
                (('--offcpu', '1ms', '--backend', 'perf'), 2, 'need the BPF back end')):
            done = self.record(*options, '--', 'true', status=status)
            self.assertIn(message, done.stderr)
            self.assertFalse(self.trace.exists())

    def test_without_bpf(self):
        if os.geteuid() != 0 or shutil.which('setpriv') is None:
            self.skipTest('SKIPPED: needs root and setpriv')
        done = run('setpriv', '--bounding-set', '-bpf,-sys_admin,-perfmon', COUNTRACE, 'record',
                   '-o', self.trace, '--offcpu', '1ms', '--', 'true')
        self.assertEqual(5, done.returncode, done)
        self.assertRegex(done.stderr, r'Cannot record stacks off CPU \(--offcpu\): .*BPF')
        self.assertFalse(self.trace.exists())


if __name__ == '__main__':
    COUNTRACE, WORKLOAD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1], verbosity=2)
