#!/usr/bin/env python3
"""Arguments in the records of hooks, value by value against what the program
itself printed, and against perf of the same run.

usage: arguments_test.py COUNTRACE ARGUMENTS_WORKLOAD
"""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from trace_checks import FULL, Recording, countrace, run, with_tracefs

WORKLOAD = None
CALLS = 400
PYTHON = '/usr/bin/python3.11'


def shown(text):
    """A text as a record has it: at most 128 bytes."""
    return text if len(text) <= 128 else text[:127] + '...'


def bytes_of(size):
    return int(size[:-1]) << {'K': 10, 'M': 20}[size[-1]]


class Arguments(Recording):
    def setUp(self):
        super().setUp()
        self.needs_root()
        self.needs_back_end('bpf')

    def record(self, *options, command=None, calls=CALLS):
        command = command or (WORKLOAD, calls)
        done = countrace('record', '--force', '-o', self.trace, *options, '--',
                         *command)
        self.said = done.stderr
        countrace('verify', self.trace)
        peer = run('babeltrace2', self.trace)
        self.assertEqual(peer.returncode, 0)
        # It says where records were lost, and nothing else.
        self.assertEqual([line for line in peer.stderr.splitlines()
                          if 'Tracer discarded' not in line], [])
        return done.stdout.splitlines()

    def records(self, event):
        lines = countrace('script', '--format', 'jsonl',
                          self.trace).stdout.splitlines()
        found = [json.loads(line) for line in lines]
        return [record for record in found if record['event'] == event]

    def refused(self, hook):
        done = countrace('record', '--force', '-o', self.trace, '--hook', hook,
                         '--', 'true', check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def check_mixed(self, printed, records):
        wanted = [line.split(' ', 6)[1:] for line in printed
                  if line.startswith('mixed ')]
        found = [[str(record['fields'][name]) for name in
                  ('small', 'port', 'number_2', 'large')] +
                 [record['fields']['memory'].lower().removeprefix('0x'),
                  record['fields']['text']] for record in records]
        for values in wanted:
            values[5] = shown(values[5])
        self.assertEqual(found, wanted)

    def test_all_parameters_of_a_function(self):
        printed = self.record('--hook', f'uprobe:{WORKLOAD}:mixed(*)')
        self.check_mixed(printed, self.records('arguments_workload:mixed__enter'))
        exits = self.records('arguments_workload:mixed__exit')
        self.assertEqual(len(exits), CALLS)
        self.assertTrue(all(0 <= record['fields']['ret'] < 8
                            for record in exits))
        unreadable = sum(1 for line in printed
                         if line.endswith(' (unreadable)'))
        self.assertGreater(unreadable, 0)
        self.assertIn(f'values={unreadable}', self.said)

    def test_counters_and_rules_leave_values_where_they_are(self):
        # By number, by name, and by a name that the list gives.
        for values, name in (('*', 'arg5'), ('*', 'memory'),
                             ('small,port,number,large,at:ptr=memory,text', 'at')):
            with self.subTest(name):
                printed = self.record(
                    '--hook', f'uprobe:{WORKLOAD}:mixed({values})', '--dump',
                    f'arguments_workload:mixed if {name} > 3200')
                records = self.records('arguments_workload:mixed__enter')
                for record in records:
                    record['fields'].setdefault('memory',
                                                record['fields'].get('at'))
                self.check_mixed(printed, records)
                for record in records:
                    self.assertEqual(
                        'task_clock' in record['fields'],
                        int(record['fields']['memory'], 16) > 3200)

    def test_rules_compare_a_named_argument_in_its_type(self):
        """The bits of the register above it do not count."""
        self.record('--hook', f'uprobe:{WORKLOAD}:mixed(small,port)', '--dump',
                    'arguments_workload:mixed if small < 0')
        records = self.records('arguments_workload:mixed__enter')
        signs = {record['fields']['small'] < 0 for record in records}
        self.assertEqual(signs, {False, True})
        for record in records:
            self.assertEqual('task_clock' in record['fields'],
                             record['fields']['small'] < 0)

    def test_names_that_rules_cannot_have(self):
        def refused(rule, *options):
            done = countrace('record', '--force', '-o', self.trace, *options,
                             '--dump', rule, '--', 'true', check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr

        hook = ('--hook', f'uprobe:{WORKLOAD}:mixed(*)')
        self.assertIn('there are small, port, number',
                      refused('arguments_workload:mixed if size > 1', *hook))
        self.assertIn('no number "text"',
                      refused('arguments_workload:mixed if text > 1', *hook))
        self.assertIn('--hook \'uprobe:FILE:f(*)\'', refused(
            'arguments_workload:mixed if size > 1', '--hook',
            f'uprobe:{WORKLOAD}:mixed'))
        calls = ('--kernel', 'syscalls')
        self.assertIn('there are fd, buf, count',
                      refused('syscall:write if size > 1', *calls))
        self.assertIn('give each a rule',
                      refused('syscall:fchown* if user > 1', *calls))
        self.assertIn('no hook of the kernel', refused('server:* if size > 1', *hook))

    def test_rules_name_arguments_of_system_calls_and_tracepoints(self):
        self.record('--kernel', 'syscalls', '--args', '--dump',
                    'syscall:write if count > 4096', command=(
                        'sh', '-c', 'for size in 1 4096 4097 9000; do dd '
                        'if=/dev/zero of=/dev/null bs=$size count=1; done'))
        sizes = {True: set(), False: set()}
        for record in self.records('syscall:write__enter'):
            fields = record['fields']
            sizes['task_clock' in fields].add(fields['count'])
        self.assertEqual(sizes[True], {4097, 9000})
        self.assertLessEqual({1, 4096}, sizes[False])
        self.record('--hook', 'tracepoint:sched:sched_process_exec(old_pid)',
                    '--hook', 'tracepoint:sched:sched_process_fork',
                    '--dump', 'sched:sched_process_exec if pid > 1',
                    command=('sh', '-c', 'true; /bin/true'))
        self.assertGreater(len(self.records('sched:sched_process_exec')), 0)
        for record in self.records('sched:sched_process_exec'):
            self.assertIn('task_clock', record['fields'])

    def test_registers_and_types_by_hand(self):
        printed = self.record(
            '--hook',
            f'uprobe-enter:{WORKLOAD}:after_decimal(n:s32=rdi,t:str=%rsi,'
            'at:ptr=rsi,low:u8=arg0)')
        records = self.records('arguments_workload:after_decimal')
        wanted = [line.split(' ')[1:] for line in printed
                  if line.startswith('after_decimal ')]
        self.assertEqual([[str(record['fields']['n']), record['fields']['t']]
                          for record in records],
                         [[number, shown(text)] for number, text in wanted])
        for record in records:
            self.assertEqual(record['fields']['low'],
                             record['fields']['n'] & 255)
        self.assertEqual(len({record['fields']['at'] for record in records}), 1)

    def test_parameters_that_no_register_has(self):
        hook = f'uprobe:{WORKLOAD}:'
        self.assertIn('floating-point',
                      self.refused(hook + 'after_decimal(ratio)'))
        self.assertIn('name its register',
                      self.refused(hook + 'after_structure(number)'))
        self.assertIn('name its register',
                      self.refused(hook + 'returns_structure(number)'))
        self.assertIn('on the stack', self.refused(hook + 'many(g)'))
        said = self.refused(hook + 'mixed(size)')
        self.assertIn('no argument "size": there are small (signed char), '
                      'port (port_t), number (int)', said)
        self.assertIn('no argument "rbx"', self.refused(hook + 'mixed(a=rbx)'))
        self.assertIn('too few', self.refused(hook + 'mixed(number:str)'))
        self.assertIn('no type', self.refused(hook + 'mixed(number:float)'))
        self.assertIn('at most 6',
                      self.refused(hook + 'mixed(a,b,c,d,e,f,g)'))
        # What has a place is stored without the others.
        self.record('--hook', hook + 'many(*)')
        record = self.records('arguments_workload:many__enter')[0]
        self.assertEqual([record['fields'][name] for name in 'abcdef'],
                         [1, 2, 3, 4, 5, 6])

    def test_a_full_ring_says_which_size_has_room(self):
        """Of a million records none is lost with the size that is named."""
        count = 1_000_000 if FULL else 200_000
        program = ('import os\n'
                   f'for i in range({count}): os.access("/dev/null/" + "n" * 99, 0)')
        for options in (['--args'], ['--hook', 'tracepoint:raw_syscalls:sys_enter()']):
            size, named = None, '64K'
            while named:
                self.assertNotEqual(size, named)
                size = named
                shutil.rmtree(self.trace, ignore_errors=True)
                said = countrace('record', '--force', '-o', self.trace, '--kernel-ring', size,
                                 *options, '--', 'python3', '-I', '-c', program).stderr
                found = re.search(r'--kernel-ring (\d+[KM]) would have had room', said)
                named = found and found.group(1)
                if named:
                    self.assertGreater(bytes_of(named), bytes_of(size))
                    # What the kernel gives is less than what the machine has.
                    self.assertLess(bytes_of(named), 2 << 30, said)
            loss = self.report()['loss']
            self.assertNotIn('kernel_ring_full', loss['by_cause'])
            self.assertNotEqual('64K', size)
            records = re.search(r': ([\d,]+) records, ', said).group(1)
            self.assertGreaterEqual(int(records.replace(',', '')), count)

    def test_full_ring(self):
        """Records are lost; those that are there have their own values."""
        self.record('--hook', f'uprobe:{WORKLOAD}:mixed(*)', '--kernel-ring',
                    '4K', command=(WORKLOAD, 200000, 'quiet'))
        records = self.records('arguments_workload:mixed__enter')
        self.assertGreater(len(records), 0)
        loss = json.loads(countrace('report', '--format', 'json',
                                    self.trace).stdout)['loss']
        self.assertGreater(loss['discarded_events'], 0)
        for record in records:
            fields = record['fields']
            i = fields['number_2'] + 50
            text = chr(ord('a') + i % 26) * (i % 200) + f'.{i}'
            if i % 17 == 0:
                text = '(null)'
            elif i % 31 == 0:
                text = '(unreadable)'
            self.assertEqual(
                [fields['small'] & 255, fields['port'], fields['large'],
                 int(fields['memory'], 16), fields['text']],
                [i * 7 & 255, i * 1001 & 65535, i << 40 | i, i * 16,
                 shown(text)])

    def test_tracepoint_of_packets(self):
        """A datagram of N bytes on the loopback device has N + 42."""
        sizes = [1 + (i * 37) % 1400 for i in range(300)]
        sends = ('import socket;s=socket.socket(2,2);'
                 f'[s.sendto(b"x"*n,("127.0.0.1",9)) for n in {sizes}]')
        for values in ('len,name', 'name:str,len:u32', ''):
            self.record('--hook', f'tracepoint:net:net_dev_queue({values})',
                        command=(sys.executable, '-c', sends))
            found = [record['fields']
                     for record in self.records('net:net_dev_queue')]
            ours = [fields['len'] - 42 for fields in found
                    if fields['name'] == 'lo']
            # The kernel's answers, that no socket listens, are between them.
            wanted = iter(ours)
            self.assertTrue(all(size in wanted for size in sizes))
            self.assertEqual('skbaddr' in found[0], values == '')

    def test_tracepoint_against_perf(self):
        """The same commands in two runs: BPF at a tracepoint hides it from
        perf."""
        self.needs('perf')
        event = 'sched:sched_process_exec'
        command = ('sh', '-c', 'for i in 1 2 3 4 5; do /bin/true; '
                               '/bin/ls /; /usr/bin/env true; done')
        self.record('--hook', f'tracepoint:{event}(filename,pid,old_pid)',
                    command=command)
        ours = [record['fields'] for record in self.records(event)]
        data = self.work / 'perf.data'
        run('perf', 'record', '-q', '-o', data, '-e', event, '--', *command)
        theirs = re.findall(r'filename=(\S+) pid=', run(
            'perf', 'script', '-i', data, '-F', 'trace').stdout)
        self.assertGreaterEqual(len(ours), 20)
        self.assertEqual([fields['filename'] for fields in ours][-20:],
                         theirs[-20:])
        for fields in ours:
            self.assertEqual(fields['pid_2'], fields['pid'])
            self.assertEqual(fields['old_pid'], fields['pid'])

    def theirs(self, event, field, command):
        """How perf shows a field, in another run: BPF at a tracepoint hides it."""
        self.needs('perf')
        data = self.work / 'perf.data'
        run('perf', 'record', '-q', '-o', data, '-e', event, '--', *command)
        shown_by_perf = run('perf', 'script', '-i', data, '-F', 'trace').stdout
        return collections.Counter(re.findall(field, shown_by_perf))

    def names(self, event, field):
        text = countrace('script', '--hook', event, self.trace).stdout
        return collections.Counter(re.findall(rf'\b{field} = ([^,}}]*[^,}} ])', text))

    def test_numbers_of_tracepoints_have_the_kernels_names(self):
        sends = ('import socket, time;s=socket.socket(2,2);'
                 '[(s.sendto(b"x",("127.0.0.1",9)), time.sleep(0.0001)) for i in range(300)]')
        command = (sys.executable, '-c', sends)
        for event, field, pattern in (
                ('irq:softirq_entry', 'vec', r'action=(\w+)'),
                ('kmem:kmalloc', 'gfp_flags', r'gfp_flags=(\S+)'),
                ('sched:sched_switch', 'prev_state', r'prev_state=(\S+)')):
            with self.subTest(event):
                self.record('--hook', f'tracepoint:{event}({field})', command=command)
                ours = self.names(event, field)
                theirs = self.theirs(event, pattern, command)
                # perf shows the bit 0x100, of a preempted thread, as `+`.
                ours = {name.replace('R|0x100', 'R+'): count for name, count in ours.items()}
                print(event, ours, dict(theirs))
                self.assertGreater(len(ours), 0)
                self.assertTrue(all(name.strip('+').replace('|', '').isidentifier()
                                    for name in ours), ours)
                often = {name for name, count in ours.items() if count >= 100}
                self.assertGreater(len(often), 0, ours)
                self.assertLessEqual(often, set(theirs), theirs)

    def test_named_numbers_in_every_use(self):
        sends = ('import socket;s=socket.socket(2,2);'
                 '[s.sendto(b"x",("127.0.0.1",9)) for i in range(300)]')
        command = (sys.executable, '-c', sends)
        self.record('--hook', 'tracepoint:irq:softirq_entry(vec)', '--hook',
                    'tracepoint:irq:softirq_exit(number:u32=vec)', command=command)
        event = 'irq:softirq_entry'
        by_number = collections.Counter(
            record['fields']['vec'] for record in self.records(event))
        self.assertGreaterEqual(by_number[3], 300)
        self.assertEqual(by_number[3], self.names(event, 'vec')['NET_RX'])
        # A type of one's own is a number.
        self.assertGreaterEqual(self.names('irq:softirq_exit', 'number_2')['3'], 300)
        for condition in ('vec == "NET_RX"', 'vec =~ "^NET_R"', 'vec == 3'):
            found = countrace('script', '--hook', event, '--where', condition,
                              self.trace).stdout.splitlines()
            self.assertEqual(len(found), by_number[3], condition)
            rows = self.report('--by', 'hook', '--group-by', 'vec', '--where',
                               condition)['hooks']
            self.assertEqual([(row['hook'], row['vec'], row['hits']) for row in rows],
                             [(event, 'NET_RX', by_number[3])], condition)
        text = countrace('report', '--by', 'hook', '--group-by', 'vec', self.trace).stdout
        self.assertIn('NET_RX', text)

    def test_names_of_an_unfinished_recording(self):
        recorder = subprocess.Popen(
            [Recording.countrace_program, 'record', '-q', '--force', '-o', self.trace, '--hook',
             'tracepoint:irq:softirq_entry(vec)', '--', sys.executable, '-c',
             'import os, socket, time;s=socket.socket(2,2)\n'
             'parent, end = os.getppid(), time.monotonic() + 60\n'
             'sent = 0\n'
             'while os.getppid() == parent and time.monotonic() < end:\n'
             ' s.sendto(b"x",("127.0.0.1",9)); sent += 1; time.sleep(0.001)\n'
             ' if sent == 300: print("sent", flush=True)'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        self.assertEqual('sent\n', recorder.stdout.readline())
        snapshot = self.work / 'snapshot.ctf'
        countrace('snapshot', '-o', snapshot, self.trace)
        recorder.kill()
        recorder.wait()
        for trace in (snapshot, self.trace):
            self.assertIn('vec = NET_RX', countrace('script', trace).stdout)
        countrace('recover', self.trace)
        self.assertIn('vec = NET_RX', countrace('script', self.trace).stdout)

    def test_tracepoint_that_has_no_such_field(self):
        said = self.refused('tracepoint:net:net_dev_queue(size)')
        self.assertIn('no argument "size": there are skbaddr (void *), '
                      'len (unsigned int), name (__data_loc char[])', said)
        self.assertIn('is text',
                      self.refused('tracepoint:net:net_dev_queue(name:u32)'))

    def test_segment_of_two_tracepoints(self):
        self.record('--hook', 'tracepoint:raw_syscalls:sys_enter/sys_exit'
                    '(id,args,ret)', command=('true',))
        enters = self.records('raw_syscalls:sys_enter/sys_exit__enter')
        self.assertRegex(enters[0]['fields']['args'], '^[0-9a-f]{96}$')
        exits = self.records('raw_syscalls:sys_enter/sys_exit__exit')
        self.assertIn('ret_2', exits[0]['fields'])

    def test_probes_of_python(self):
        if not shutil.which(PYTHON) or b'function__return' not in pathlib.Path(
                PYTHON).read_bytes():
            self.skipTest(f'SKIPPED: needs {PYTHON} with probes')
        program = self.work / 'program.py'
        program.write_text('def leaf(n):\n  return n\n'
                           'def other(n):\n  return leaf(n)\n'
                           'for i in range(200): other(i)\n')
        self.record('--hook', f'usdt:{PYTHON}:python:function__return'
                    '(file:str=arg0,function:str=arg1,line=arg2)',
                    command=(PYTHON, '-S', program))
        found = [tuple(record['fields'][name] for name in ('function', 'line'))
                 for record in self.records('python:function__exit')
                 if record['fields']['file'] == str(program)]
        self.assertEqual(found.count(('leaf', 2)), 200)
        self.assertEqual(found.count(('other', 4)), 200)
        self.assertEqual(found[:4], [('leaf', 2), ('other', 4)] * 2)
        self.assertIn('there are arg0 (8@', self.refused(
            f'usdt:{PYTHON}:python:function__return(file)'))


if __name__ == '__main__':
    with_tracefs()
    Recording.countrace_program, WORKLOAD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
