#!/usr/bin/env python3
"""`record --sample EVENT --data` and `report --by data` of a program that touches
known numbers of pages of each kind of memory, beside `perf record -d`.

usage: data_addresses_test.py COUNTRACE DATA_WORKLOAD
"""
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'import'))
from perf_file import set_flags  # noqa: E402
from trace_checks import Recording, run

COUNTRACE = WORKLOAD = ''
# Pages that libraries, malloc and the begin of threads touch beside.
BESIDE = 24


class DataAddresses(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.file = self.work / 'mapped.bin'
        self.program = pathlib.Path(WORKLOAD).name

    def record(self, *arguments, status=0):
        done = run(COUNTRACE, 'record', '--force', '-o', self.trace, *arguments)
        self.assertEqual(status, done.returncode, done)
        return done

    def report(self, *arguments, trace=None, by='data'):
        done = run(COUNTRACE, 'report', '--no-progress', '--format', 'json', '--by', by,
                   *arguments, trace or self.trace)
        self.assertEqual(0, done.returncode, done)
        return json.loads(done.stdout)

    @staticmethod
    def hits(table, field='self_samples', **wanted):
        return sum(row[field] for row in table['rows']
                   if all(re.fullmatch(value, row[name]) for name, value in wanted.items()))

    def kinds(self, truth, **beside):
        """For each kind of memory its row, what is known of it, and how much more may be."""
        pid, tid = truth['pid'], truth['tid']
        comm = self.program[:15]
        return [
            (dict(data='table_a', dso=self.program, **beside), truth['table_a'], 0),
            (dict(data='table_b', dso=self.program, **beside), truth['table_b'], 0),
            (dict(data=r'\[heap\]', **beside), truth['heap'], BESIDE),
            (dict(data=r'\[anon\] ' + truth['range'], of=f'{comm} {pid}', **beside),
             truth['anonymous'], 0),
            (dict(data=r'\[file\]', dso=self.file.name, **beside), truth['file'], 0),
            (dict(data=r'\[stack\]', of=f'{comm} {pid}', **beside), truth['stack'], BESIDE),
            (dict(data=r'\[stack\]', of=f'{comm} {tid}', **beside), truth['thread'], BESIDE),
        ]

    def test_each_page(self):
        done = self.record('--sample', 'every=1:page-faults', '--data', '--kernel', 'syscalls',
                           '--', WORKLOAD, self.file, 4)
        truth = json.loads(done.stdout)
        data = self.report('--rows', 0)
        for row, pages, more in self.kinds(truth):
            found = self.hits(data, **row)
            self.assertLessEqual(pages, found, (row, data['rows']))
            self.assertLessEqual(found, pages + more, (row, data['rows']))
        # What the kernel touches for a system call.
        self.assertEqual(truth['read'], self.hits(
            data, **{'in': 'syscall:pread64'}, data=r'\[anon\] ' + truth['read_range']))
        # The program's process has other memory, which is gone, before its exec.
        self.assertLessEqual(self.hits(data, data=r'\[unknown\]'), 3, data['rows'])
        self.assertEqual(0, self.hits(data, data=r'\[no address\]'), data['rows'])
        books, = data['books']
        self.assertEqual(0, books['residual'], books)
        self.assertEqual(books['samples'], sum(row['self_samples'] for row in data['rows']))
        # By the thread that touches it: the stack of another is that one's.
        of_thread = self.report('--rows', 0, '--group-by', 'thread', '--thread', truth['tid'])
        own = self.hits(of_thread, data=r'\[stack\]', of=f'.* {truth["tid"]}')
        self.assertLessEqual(truth['thread'], own, of_thread['rows'])
        self.assertEqual({truth['tid']}, {row['tid'] for row in of_thread['rows']})
        self.assertEqual(0, self.hits(of_thread, data='table_a'))
        # The other tables are as without addresses.
        functions = self.report('--rows', 0, by='function')
        self.assertEqual(books, functions['books'][0])
        self.check_trace_is_readable()

    def check_trace_is_readable(self):
        done = run(COUNTRACE, 'verify', self.trace)
        self.assertEqual(0, done.returncode, done)
        if shutil.which('babeltrace2') is None:
            return
        done = run('babeltrace2', self.trace)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual('', done.stderr)
        samples = [line for line in done.stdout.splitlines() if ' sample:page-faults: ' in line]
        self.assertGreater(len(samples), 300)
        for line in samples:
            self.assertRegex(line, r'period = 1, stack = \d+, area = \d+, address = 0x')

    def test_pages_and_addresses(self):
        done = self.record('--sample', 'every=1:page-faults', '--data', '--', WORKLOAD,
                           self.file, 2)
        truth = json.loads(done.stdout)
        first, end = (int(text, 16) for text in truth['range'].split('-'))
        for by in ('data-page', 'data-address'):
            rows = self.report('--rows', 0, by=by)['rows']
            found = sorted(int(row['address'], 16) for row in rows
                           if first <= int(row['address'], 16) < end)
            self.assertEqual(list(range(first, end, 4096)), found)

    def test_estimates(self):
        done = self.record('--sample', 'every=10:page-faults', '--data', '--', WORKLOAD,
                           self.file, 40)
        truth = json.loads(done.stdout)
        data = self.report('--rows', 0)
        books, = data['books']
        self.assertLess(abs(books['residual']), 2 * books['one_period_a_cpu'] + 1, books)
        every = books['processes']
        for row, pages, more in self.kinds(truth):
            # Periods run on over the kinds: within one period, as each is touched at once.
            found = self.hits(data, 'self', **row)
            self.assertLess(abs(found - pages), 10 * (os.cpu_count() + 1) + more, row)
            low, high = (self.hits(data, field, **row) for field in ('self_lo', 'self_hi'))
            self.assertLessEqual(low, pages + more, row)
            self.assertLessEqual(pages, high, row)
        self.assertLess(sum(pages for _, pages, _ in self.kinds(truth)), every + 10)

    def test_text(self):
        done = self.record('--sample', 'every=1:page-faults', '--data', '--', WORKLOAD,
                           self.file, 4)
        pages = json.loads(done.stdout)['table_a']
        done = run(COUNTRACE, 'report', '--no-progress', '--by', 'data', self.trace)
        self.assertRegex(done.stdout, r' samples +self +self of all +data +of +dso\n')
        self.assertRegex(done.stdout,
                         rf'\n +{pages} +~?{pages} +~?\d+\.\d %( \[.*\])? +table_a +'
                         rf'{self.program}')
        self.assertIn('books of page-faults (every 1, ', done.stdout)
        done = run(COUNTRACE, 'report', '--no-progress', '--by', 'data', '--format', 'csv',
                   self.trace)
        self.assertTrue(done.stdout.startswith(
            'event,in,data,of,dso,self_samples,self,self_lo,self_hi,weights,self_share\n'), done)

    def record_running(self, event, code):
        """Records a Python program between two lines of its input; returns what it printed."""
        with subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as program:
            ready = program.stdout.readline().strip()
            with subprocess.Popen([COUNTRACE, 'record', '-o', self.trace, '--sample',
                                   event.format(ready), '--data', '-p', str(program.pid)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as recorder:
                while not (self.trace / '.session').exists() and recorder.poll() is None:
                    time.sleep(0.01)
                if recorder.poll() is None:
                    program.stdin.write('\n')
                    program.stdin.flush()
                    program.stdout.readline()
                program.communicate('\n', timeout=60)
                _, errors = recorder.communicate(timeout=60)
        return ready, recorder.returncode, errors

    def test_running_program(self):
        """Mappings from before the recording are those of /proc/PID/maps."""
        _, status, errors = self.record_running(
            'every=1:page-faults',
            'import mmap, sys\n'
            'print("ready", flush=True); sys.stdin.readline()\n'
            'm = mmap.mmap(-1, 400 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n'
            'm.madvise(mmap.MADV_NOHUGEPAGE)\n'
            'for i in range(400): m[i * 4096] = 1\n'
            'print("done", flush=True); sys.stdin.readline()\n')
        self.assertEqual(0, status, errors)
        data = self.report('--rows', 0)
        self.assertGreaterEqual(self.hits(data, data=r'\[anon\] .*'), 390, data['rows'])
        self.assertEqual(0, self.hits(data, data=r'\[unknown\]'), data['rows'])

    def test_breakpoint(self):
        address, status, errors = self.record_running(
            'every=1:mem:{}/8:w',
            'import ctypes, sys\n'
            'word = ctypes.c_uint64()\n'
            'print(hex(ctypes.addressof(word)), flush=True); sys.stdin.readline()\n'
            'for i in range(70): word.value = i\n'
            'print("done", flush=True); sys.stdin.readline()\n')
        if status == 2 and 'cannot be sampled' in errors:
            self.skipTest('SKIPPED: no hardware breakpoints here: ' + errors)
        self.assertEqual(0, status, errors)
        rows = self.report('--rows', 0, by='data-address')['rows']
        self.assertEqual({address}, {row['address'] for row in rows})
        self.assertEqual(70, sum(row['self_samples'] for row in rows))
        self.assertNotIn('[unknown]', {row['data'] for row in rows})

    def test_without_privilege(self):
        if shutil.which('setpriv') is None:
            self.skipTest('SKIPPED: no setpriv')
        os.chmod(self.work, 0o777)
        done = run('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', COUNTRACE,
                   'record', '-o', self.trace, '--sample', 'every=1:page-faults', '--data', '--',
                   WORKLOAD, self.file, 4)
        if done.returncode != 0 and 'paranoid' in done.stderr:
            self.skipTest('SKIPPED: no samples without privilege here')
        self.assertEqual(0, done.returncode, done)
        truth = json.loads(done.stdout)
        data = self.report('--rows', 0)
        for name in ('table_a', 'table_b'):
            self.assertEqual(truth[name], self.hits(data, data=name), data['rows'])

    def test_wrong_use(self):
        for options, message in (
                (['--data'], '--data stores the data address of each sample: it needs --sample'),
                (['--data', '--sample', '199'], 'the kernel gives no data address with cpu-clock'),
                (['--data', '--sample', 'every=1:page-faults', '--backend', 'lttng'],
                 'is not possible with --backend lttng')):
            done = run(COUNTRACE, 'record', '-o', self.trace, *options, '--', '/bin/true')
            self.assertEqual(2, done.returncode, done)
            self.assertIn(message, done.stderr)
        # An event without addresses beside one with: it is said, and counted apart.
        done = self.record('--data', '--sample', 'every=1:page-faults', '--sample', '499', '--',
                           WORKLOAD, self.file, 4)
        self.assertIn('no data address with cpu-clock', done.stderr)
        notes = self.report()['notes']
        self.assertTrue(any('cpu-clock have no data addresses' in note for note in notes), notes)
        self.record('--sample', 'every=1:page-faults', '--', '/bin/true')
        done = run(COUNTRACE, 'report', '--by', 'data', self.trace)
        self.assertEqual(1, done.returncode, done)
        self.assertIn('the samples have no data addresses', done.stderr)

    def test_pmu(self):
        """Without a PMU its events are refused; with one their samples have a source."""
        done = run(COUNTRACE, 'record', '-o', self.trace, '--data', '--sample',
                   'every=1000:cpu/mem-loads/', '--', WORKLOAD, self.file, 4)
        if done.returncode == 0:
            self.assertTrue(self.report(by='data-source')['rows'])
            return
        self.assertEqual(2, done.returncode, done)
        self.assertIn('mem-loads', done.stderr)
        self.record('--data', '--sample', 'every=1:page-faults', '--', '/bin/true')
        done = run(COUNTRACE, 'report', '--by', 'data-source', self.trace)
        self.assertEqual(1, done.returncode, done)
        self.assertIn('no sampled event says where its data was', done.stderr)

    def pmu_file(self, samples):
        """A perf.data file as a machine with a PMU writes it (include/uapi/linux/perf_event.h,
        tools/perf/Documentation/perf.data-file-format.txt): (address, data_src, weight) each."""
        ip, tid, time_, addr, cpu, period, weight, data_src = (
            1 << bit for bit in (0, 1, 2, 3, 7, 8, 14, 15))
        comm_exec, id_all, enable_on_exec = 1 << 24, 1 << 18, 1 << 12
        attribute = struct.pack(
            '<IIQQQQQ', 4, 136, 0x1cd, 1000, ip | tid | time_ | addr | cpu | period | weight |
            data_src, 4, comm_exec | id_all | enable_on_exec).ljust(136, b'\0')

        def record(kind, misc, body, now=None):
            if now is not None:  # sample_id: tid, time, cpu
                body += struct.pack('<IIQII', 77, 77, now, 0, 0)
            return struct.pack('<IHH', kind, misc, 8 + len(body)) + body
        comm, mmap2, sample, user, exec_, data = 3, 10, 9, 2, 1 << 13, 1 << 13
        records = record(comm, user | exec_, struct.pack('<II', 77, 77) +
                         b'loads'.ljust(8, b'\0'), 1000)
        for start, size, name in ((0x500000, 0x9000, b'[heap]'), (0x7000000, 0x2000, b'//anon')):
            records += record(
                mmap2, user | data,
                struct.pack('<IIQQQIIQQII', 77, 77, start, size, 0, 0, 0, 0, 0, 3, 2) +
                name.ljust(16, b'\0'), 1001)
        for number, (address, source, cost) in enumerate(samples):
            records += record(sample, user, struct.pack(
                '<QIIQQIIQQQ', 0x401000, 77, 77, 2000 + number, address, 0, 0, 1000, cost, source))
        begin = 104 + 152
        head = b'PERFILE2' + struct.pack('<QQQQQQQQ', 104, 152, 104, 152, begin, len(records), 0,
                                         0) + bytes(32)
        file = self.work / 'pmu.data'
        file.write_bytes(head + attribute + struct.pack('<QQ', begin, 0) + records)
        return file

    def test_import_of_a_pmu(self):
        # PERF_MEM_OP_LOAD with LVL_HIT | LVL_L1, TLB_HIT | TLB_L1; OP_STORE with LVL_MISS and the
        # number of RAM, SNOOP_HITM, LOCK_LOCKED.
        load = 2 | (2 | 8) << 5 | (2 | 8) << 26
        store = 4 | 4 << 5 | 16 << 19 | 2 << 24 | 13 << 33
        file = self.pmu_file([(0x500010, load, 4), (0x501010, load, 8), (0x7000008, store, 300),
                              (0, load, 0)])
        done = run(COUNTRACE, 'import', '--no-progress', '-o', self.trace, file)
        self.assertEqual(0, done.returncode, done)
        data = self.report()
        self.assertEqual({'[heap]': 2, '[anon] 7000000-7002000': 1, '[no address]': 1},
                         {row['data']: row['self_samples'] for row in data['rows']})
        self.assertEqual({'[heap]': 12, '[anon] 7000000-7002000': 300, '[no address]': 0},
                         {row['data']: row['weights'] for row in data['rows']})
        rows = self.report(by='data-source')['rows']
        names = ('access', 'memory', 'snoop', 'tlb', 'locked', 'self_samples')
        self.assertEqual([('load', 'L1 hit', '-', 'L1 hit', 'no', 3),
                          ('store', 'RAM miss', 'HitM', '-', 'yes', 1)],
                         [tuple(row[name] for name in names) for row in rows])

    def perf_record(self, *arguments):
        if shutil.which('perf') is None:
            self.skipTest('SKIPPED: no perf')
        file = self.work / 'perf.data'
        # perf 6.1 now and then crashes where it reads build ids (util/build-id.c).
        for build_ids in ('-N', '-B'):
            done = run('perf', 'record', '-q', build_ids, '-o', file, *arguments)
            if done.returncode >= 0:
                break
        if done.returncode != 0:
            self.skipTest('SKIPPED: perf cannot record here: ' + done.stderr[:200])
        set_flags(file, 0)
        return file, done.stdout

    @staticmethod
    def perf_addresses(file):
        for _ in range(3):  # where it reads build ids it may crash, too
            done = run('perf', 'script', '-i', file, '-F', 'addr')
            if done.returncode == 0:
                break
        assert done.returncode == 0, done
        return collections.Counter(int(word, 16) for word in done.stdout.split())

    def test_import(self):
        file, output = self.perf_record('-d', '-e', 'page-faults', '-c', '1', WORKLOAD,
                                        self.file, 4)
        truth = json.loads(output)
        done = run(COUNTRACE, 'import', '--no-progress', '-o', self.trace, file)
        self.assertEqual(0, done.returncode, done)
        for trace in (self.trace, file):
            data = self.report('--rows', 0, trace=trace)
            for row, pages, more in self.kinds(truth):
                if row.get('of', '').endswith(f' {truth["tid"]}'):
                    continue  # perf stores no stack pointer: it is [anon]
                found = self.hits(data, **row)
                self.assertLessEqual(pages, found, (row, data['rows']))
                self.assertLessEqual(found, pages + more, (row, data['rows']))
        addresses = self.perf_addresses(file)
        rows = self.report('--rows', 0, by='data-address')['rows']
        found = collections.Counter()
        for row in rows:
            found[int(row['address'], 16)] += row['self_samples']
        self.assertEqual(addresses, found)
        self.check_perf_report(file)

    def check_perf_report(self, file):
        """perf finds objects with a place in their file, files, and stacks of first threads."""
        for _ in range(3):  # where it reads build ids it may crash
            done = run('perf', 'report', '-i', file, '--mem-mode', '--sort',
                       'symbol_daddr,dso_daddr', '--stdio', '-n')
            if done.returncode == 0:
                break
        rows = re.findall(r'(?m)^ +[\d.]+% +(\d+) +\[.\] (\S+) +(\S+)', done.stdout)
        self.assertTrue(rows, done)
        data = self.report('--rows', 0)
        # By perf a page by which a stack grows is [unknown]: its mapping is new.
        for ours, more, is_theirs in (
                (dict(data='table_b'), 0, lambda symbol, dso: symbol.startswith('table_b+')),
                (dict(dso=self.file.name), 0, lambda symbol, dso: dso == self.file.name),
                (dict(data=r'\[stack\]'), 4, lambda symbol, dso: dso == '[stack]')):
            theirs = sum(int(count) for count, symbol, dso in rows if is_theirs(symbol, dso))
            self.assertGreater(theirs, 0, (ours, rows[:9]))
            self.assertLessEqual(theirs, self.hits(data, **ours), ours)
            self.assertLessEqual(self.hits(data, **ours), theirs + more, ours)


if __name__ == '__main__':
    COUNTRACE, WORKLOAD = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
