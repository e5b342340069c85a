#!/usr/bin/env python3
"""Traces in the form of LTTng's kernel tracer, made by a simulated machine
whose every nanosecond is known: the report of the imported trace equals that
truth.

Names and fields are those of lttng-modules 2.13; kernel modules cannot be
loaded everywhere.

With PLUGIN the report of babeltrace2's sink is compared, too.

Usage: kernel_trace_test.py COUNTRACE [PLUGIN]
"""
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from ctf_writer import CtfTrace, Int, Sequence, StreamClass, String, Text

COUNTRACE = pathlib.Path(sys.argv[1]).resolve()
PLUGIN = pathlib.Path(sys.argv[2]).resolve() if sys.argv[2:] else None
MACHINES = 60 if os.environ.get('COUNTRACE_TEST_FULL') else 16
# In 56 a thread forks, and ends before the state dump.
SEEDS = sorted({*range(MACHINES), 56})
BOOT = '01234567-89ab-cdef-0123-456789abcdef'
BEGIN = 5_000_000_000
PREEMPTED = 0x100
SYSCALLS = ('read', 'futex', 'nanosleep')
PATHS = ('/etc/passwd', 'a file', '/missing')
SOFTIRQS = {1: 'TIMER', 3: 'NET_RX'}

TID = Int(32, True)
COMM = Text(16)
FIELDS = {
    'sched_switch': [('prev_comm', COMM), ('prev_tid', TID),
                     ('prev_prio', TID), ('prev_state', Int(64, True)),
                     ('next_comm', COMM), ('next_tid', TID),
                     ('next_prio', TID)],
    'sched_waking': [('comm', COMM), ('tid', TID), ('prio', TID),
                     ('target_cpu', TID)],
    'sched_wakeup': [('comm', COMM), ('tid', TID), ('prio', TID),
                     ('target_cpu', TID)],
    'sched_process_fork': [('parent_comm', COMM), ('parent_tid', TID),
                           ('parent_pid', TID), ('child_comm', COMM),
                           ('child_tid', TID), ('child_pid', TID)],
    'sched_process_exec': [('filename', String()), ('tid', TID),
                           ('old_tid', TID)],
    'sched_process_exit': [('comm', COMM), ('tid', TID), ('prio', TID)],
    'lttng_statedump_process_state': [
        ('tid', TID), ('pid', TID), ('ppid', TID), ('name', COMM),
        ('type', TID), ('mode', TID), ('submode', TID), ('status', TID),
        ('cpu', Int(32))],
    'lttng_statedump_end': [],
    'irq_handler_entry': [('irq', TID), ('name', String())],
    'irq_handler_exit': [('irq', TID), ('ret', TID)],
    'irq_softirq_entry': [('vec', Int(32))],
    'irq_softirq_exit': [('vec', Int(32))],
    'x86_irq_vectors_local_timer_entry': [('vector', TID)],
    'x86_irq_vectors_local_timer_exit': [('vector', TID)],
    'x86_exceptions_page_fault_user': [
        ('address', Int(64, base=16)), ('ip', Int(64, base=16)),
        ('error_code', Int(64))],
    'timer_start': [('timer', Int(64, base=16))],
}
for call in (*SYSCALLS, 'openat'):
    FIELDS['syscall_entry_' + call] = [('fd', Int(32))]
    if call == 'openat':
        FIELDS['syscall_entry_' + call] = [
            ('dfd', TID), ('filename', String()), ('flags', TID),
            ('mode', Int(16))]
    FIELDS['syscall_exit_' + call] = [('ret', Int(64, True))]


class Thread:
    def __init__(self, tid, pid, comm):
        self.tid, self.pid, self.comm = tid, pid, comm
        self.cpu = None
        self.runnable = True
        self.call = None  # (name, begin)
        self.work = None  # (begin, on-CPU time then)
        self.on_cpu = self.dispatches = self.faults = self.switches = 0
        self.cycles = 0
        self.rate = 1 + tid % 5


class Cpu:
    def __init__(self, number):
        self.number = number
        self.thread = None
        self.interrupts = []  # (kind, begin)
        self.idle = self.interrupted = 0
        self.cycles = 1000 * (number + 1)
        self.events = []


class Machine:
    """`contexts`: events have tid and pid; `cycles`: and a counter."""

    def __init__(self, seed, folder, contexts=False, cycles=False,
                 late=False):
        self.dice = random.Random(seed)
        self.folder = folder
        self.contexts, self.with_cycles = contexts, cycles
        self.now = BEGIN
        self.cpus = [Cpu(i) for i in range(self.dice.randint(1, 4))]
        self.threads = {}
        self.all_threads = []
        self.calls = collections.Counter()
        self.call_wall = collections.Counter()
        self.interrupts = collections.Counter()
        self.values = random.Random(seed)  # of calls alone
        self.opens = collections.Counter()
        self.failed_opens = collections.Counter()
        self.user_events = []
        self.work_calls = self.work_on_cpu = self.work_wall = 0
        self.next_tid = 100
        for _ in range(self.dice.randint(2, 6)):
            self.add_thread()
        # No event names the threads that run at the beginning.
        for cpu in self.cpus:
            idle = [t for t in self.threads.values() if t.cpu is None]
            if idle and self.dice.random() < 0.7:
                self.occupy(cpu, idle[0])
        if self.with_cycles:
            # Counter values are known at events only.
            for cpu in self.cpus:
                self.emit(cpu, 'timer_start', timer=0)
        self.dump_at = 150 if late else None
        if not late:
            self.dump_state()

    # LTTng writes it while the machine runs.
    def dump_state(self):
        for thread in list(self.threads.values()):
            self.advance()
            self.emit(self.cpus[0], 'lttng_statedump_process_state',
                      tid=thread.tid, pid=thread.pid, ppid=1,
                      name=thread.comm, type=0, mode=0, submode=0, status=0,
                      cpu=0)
        self.emit(self.cpus[0], 'lttng_statedump_end')

    def add_thread(self, of=None):
        tid = self.next_tid
        self.next_tid += self.dice.randint(1, 3)
        if of is None and self.threads and self.dice.random() < 0.4:
            of = self.dice.choice(list(self.threads.values()))
        thread = Thread(tid, of.pid if of else tid,
                        of.comm if of else f'prog{tid}')
        self.threads[tid] = thread
        self.all_threads.append(thread)
        return thread

    def occupy(self, cpu, thread):
        cpu.thread = thread
        if thread:
            thread.cpu = cpu
            thread.dispatches += 1

    def advance(self, *steps):
        step = self.dice.choice(steps or (0, 1, 40, 977, 20_011))
        self.now += step
        for cpu in self.cpus:
            if cpu.interrupts:
                cpu.interrupted += step
                cpu.cycles += 7 * step
            elif cpu.thread:
                cpu.thread.on_cpu += step
                cpu.thread.cycles += cpu.thread.rate * step
                cpu.cycles += cpu.thread.rate * step
            else:
                cpu.idle += step

    def emit(self, cpu, event, /, **fields):
        context = {}
        if self.contexts:
            context = {'tid': cpu.thread.tid if cpu.thread else 0,
                       'pid': cpu.thread.pid if cpu.thread else 0}
        if self.with_cycles:
            context['perf_cpu_cycles'] = cpu.cycles
        cpu.events.append((self.now, event, context, fields))

    def switch(self, cpu, state=PREEMPTED):
        prev = cpu.thread
        ready = [t for t in self.threads.values()
                 if t.cpu is None and t.runnable]
        following = self.dice.choice(ready) if ready and \
            self.dice.random() < 0.85 else None
        if prev is None and following is None:
            return
        if prev:
            prev.cpu = None
            prev.runnable = state in (0, PREEMPTED)
            prev.switches += 1
        self.emit(cpu, 'sched_switch',
                  prev_comm=prev.comm if prev else f'swapper/{cpu.number}',
                  prev_tid=prev.tid if prev else 0, prev_prio=20,
                  prev_state=state if prev else 0,
                  next_comm=following.comm if following
                  else f'swapper/{cpu.number}',
                  next_tid=following.tid if following else 0, next_prio=20)
        self.occupy(cpu, following)

    def step(self):
        self.advance()
        cpu = self.dice.choice(self.cpus)
        thread = cpu.thread
        action = self.dice.randrange(14)
        if action < 2:
            self.interrupt(cpu)
        elif cpu.interrupts:
            self.end_interrupt(cpu)
        elif action < 5 or thread is None:
            state = self.dice.choice((0, PREEMPTED))
            if thread and thread.call:
                state = self.dice.choice((1, 2, PREEMPTED))
            self.switch(cpu, state)
        elif action == 5:
            asleep = [t for t in self.threads.values()
                      if t.cpu is None and not t.runnable]
            if asleep:
                woken = self.dice.choice(asleep)
                woken.runnable = True
                for name in ('sched_waking', 'sched_wakeup'):
                    self.emit(cpu, name, comm=woken.comm, tid=woken.tid,
                              prio=20, target_cpu=cpu.number)
        elif action in (6, 7) and not thread.call:
            thread.call = (self.dice.choice(SYSCALLS), self.now)
            if thread.call[0] == 'futex' and self.values.random() < 0.5:
                thread.call = ('openat', self.now)
                thread.path = self.values.choice(PATHS)
                self.opens[thread.path] += 1
                self.emit(cpu, 'syscall_entry_openat', dfd=-100,
                          filename=thread.path, flags=0o2000000, mode=0)
            else:
                self.emit(cpu, 'syscall_entry_' + thread.call[0], fd=3)
        elif action in (6, 7, 8) and thread.call:
            self.end_call(cpu)
        elif action == 9:
            thread.faults += 1
            self.emit(cpu, 'x86_exceptions_page_fault_user', address=0x1000,
                      ip=0x2000, error_code=4)
        elif action == 10 and not thread.call and len(self.threads) < 12:
            child = self.add_thread(thread)
            if self.dice.random() < 0.5:
                child.pid = child.tid
            self.emit(cpu, 'sched_process_fork', parent_comm=thread.comm,
                      parent_tid=thread.tid, parent_pid=thread.pid,
                      child_comm=child.comm, child_tid=child.tid,
                      child_pid=child.pid)
        elif action > 11 and not thread.call:
            self.toggle_work(cpu)
        elif action == 11 and not thread.call and not thread.work:
            if self.dice.random() < 0.3 and thread.tid == thread.pid and \
                    sum(t.pid == thread.pid
                        for t in self.threads.values()) == 1:
                thread.comm = f'new{self.now % 1000}'
                self.emit(cpu, 'sched_process_exec',
                          filename='/usr/bin/' + thread.comm,
                          tid=thread.tid, old_tid=thread.tid)
            elif self.dice.random() < 0.2 and len(self.threads) > 2 and \
                    thread.pid != thread.tid:
                self.emit(cpu, 'sched_process_exit', comm=thread.comm,
                          tid=thread.tid, prio=20)
                self.advance()
                del self.threads[thread.tid]
                self.switch_dead(cpu, thread)
            else:
                self.emit(cpu, 'timer_start', timer=1)

    # A segment of user code, as an LTTng session shows countrace's hooks.
    def toggle_work(self, cpu):
        # A thread has one open piece of work at a time.
        self.advance(1)
        thread = cpu.thread
        entered = thread.work is None
        self.user_events.append((self.now, 'enter' if entered else 'exit',
                                 thread))
        if entered:
            thread.work = (self.now, thread.on_cpu)
            self.advance(1)
            return
        self.work_calls += 1
        self.work_wall += self.now - thread.work[0]
        self.work_on_cpu += thread.on_cpu - thread.work[1]
        thread.work = None
        self.advance(1)

    def switch_dead(self, cpu, thread):
        ready = [t for t in self.threads.values()
                 if t.cpu is None and t.runnable]
        following = ready[0] if ready else None
        thread.switches += 1
        self.emit(cpu, 'sched_switch', prev_comm=thread.comm,
                  prev_tid=thread.tid, prev_prio=20, prev_state=0x20,
                  next_comm=following.comm if following
                  else f'swapper/{cpu.number}',
                  next_tid=following.tid if following else 0, next_prio=20)
        thread.cpu = None
        self.occupy(cpu, following)

    def end_call(self, cpu):
        name, begin = cpu.thread.call
        cpu.thread.call = None
        self.calls[name] += 1
        self.call_wall[name] += self.now - begin
        if name == 'openat' and cpu.thread.path != '/missing':
            self.emit(cpu, 'syscall_exit_openat', ret=3)
            return
        if name == 'openat':
            self.failed_opens[cpu.thread.path] += 1
        self.emit(cpu, 'syscall_exit_' + name, ret=-11)

    def interrupt(self, cpu):
        if len(cpu.interrupts) >= 2:
            return
        kind = self.dice.choice(('irq', 'softirq', 'timer'))
        if kind == 'irq':
            self.emit(cpu, 'irq_handler_entry', irq=24, name='disk')
            name = 'irq:24:disk'
        elif kind == 'softirq':
            vector = self.dice.choice(list(SOFTIRQS))
            self.emit(cpu, 'irq_softirq_entry', vec=vector)
            name = 'softirq:' + SOFTIRQS[vector]
        else:
            self.emit(cpu, 'x86_irq_vectors_local_timer_entry', vector=236)
            name = 'irq:local_timer'
        cpu.interrupts.append((name, self.now))

    def end_interrupt(self, cpu):
        name, _ = cpu.interrupts.pop()
        self.interrupts[name] += 1
        if name.startswith('irq:24'):
            self.emit(cpu, 'irq_handler_exit', irq=24, ret=1)
        elif name == 'irq:local_timer':
            self.emit(cpu, 'x86_irq_vectors_local_timer_exit', vector=236)
        else:
            vector = next(v for v, n in SOFTIRQS.items() if name.endswith(n))
            self.emit(cpu, 'irq_softirq_exit', vec=vector)

    def run(self, steps):
        for number in range(steps):
            if number == self.dump_at:
                self.dump_state()
            self.step()
        for cpu in self.cpus:
            while cpu.interrupts:
                self.advance()
                self.end_interrupt(cpu)
            if cpu.thread and cpu.thread.call:
                self.advance()
                self.end_call(cpu)
            if cpu.thread and cpu.thread.work:
                self.advance()
                self.toggle_work(cpu)
        self.advance()
        if self.with_cycles:
            for cpu in self.cpus:
                self.emit(cpu, 'timer_start', timer=2)
        return self

    def write(self):
        trace = CtfTrace(self.folder, environment={
            'hostname': 'simulated', 'domain': 'kernel',
            'kernel_release': '6.1.0', 'tracer_name': 'lttng-modules',
            'tracer_major': 2, 'tracer_minor': 13})
        trace.clock('monotonic', offset_s=1600000000, uuid=BOOT)
        context = [('tid', TID), ('pid', TID)] if self.contexts else []
        if self.with_cycles:
            context.append(('perf_cpu_cycles', Int(64)))
        channel = trace.add(StreamClass(0, 'monotonic', 'large',
                                        context=context))
        ids = {}
        for number, (name, fields) in enumerate(FIELDS.items()):
            ids[name] = number
            channel.event(number, name, fields)
        for cpu in self.cpus:
            events = [(time, ids[name], context, fields)
                      for time, name, context, fields in cpu.events]
            # In packets of any length.
            begin, at = BEGIN, 0
            while at < len(events) or begin == BEGIN:
                count = self.dice.randint(1, 400)
                part = events[at:at + count]
                at += count
                end = self.now if at >= len(events) else part[-1][0]
                trace.packet(f'channel0_{cpu.number}', channel, part,
                             begin=begin, end=end, cpu=cpu.number)
                begin = end
                if at >= len(events):
                    break
        return trace.finish()


    def write_user(self, folder):
        trace = CtfTrace(folder, environment={
            'hostname': 'simulated', 'domain': 'ust',
            'tracer_name': 'lttng-ust', 'tracer_major': 2, 'tracer_minor': 13})
        trace.clock('monotonic', offset_s=1600000000, uuid=BOOT)
        channel = trace.add(StreamClass(
            0, 'monotonic', 'large', context=[('vpid', TID), ('vtid', TID),
                                              ('procname', Text(17))]))
        kinds = {'enter': 0, 'exit': 1, 'hook': 2}
        for name, number in kinds.items():
            channel.event(number, 'countrace:' + name, [
                ('id', Int(32)), ('name', String()), ('payload', String()),
                ('__values_length', Int(8)),
                ('values', Sequence(Int(64, True), '__values_length'))])
        trace.packet('ch_0', channel, [
            (time, kinds[kind], {'vpid': t.pid, 'vtid': t.tid,
                                 'procname': t.comm},
             {'id': 0, 'name': 'app:work', 'payload': '7' if kind == 'enter'
              else '', '__values_length': 0, 'values': []})
            for time, kind, t in self.user_events], begin=BEGIN, end=self.now)
        return trace.finish()


class KernelTraces(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='countrace-kernel-'))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def report(self, *words):
        done = subprocess.run(
            [COUNTRACE, 'report', '--format', 'json', *map(str, words)],
            text=True, capture_output=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        if PLUGIN:
            self.check_sink(report, words)
        return report

    def check_sink(self, report, traces):
        done = subprocess.run(
            ['babeltrace2', '--plugin-path', PLUGIN.parent, *traces, '-c',
             'sink.countrace.report', '-p', 'format="json"'],
            text=True, capture_output=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        through = json.loads(done.stdout)
        through['trace']['path'] = report['trace']['path']
        self.assertEqual(report, through)

    def check(self, machine, report):
        duration = machine.now - BEGIN
        self.assertEqual('system', report['trace']['scope'])
        self.assertEqual([], report['loss']['messages'])
        shown = {row['tid']: row for row in report['threads']}
        for thread in machine.all_threads:
            if thread.dispatches == 0:
                continue
            row = shown.pop(thread.tid)
            self.assertEqual(
                (thread.pid, thread.on_cpu, thread.dispatches, thread.comm),
                (row['pid'], row['on_cpu_ns'], row['dispatches'], row['comm']),
                thread.tid)
            counts = row['counts']
            self.assertEqual(thread.on_cpu, counts['task-clock'])
            self.assertEqual(thread.faults, counts['page-faults'])
            if machine.with_cycles:
                self.assertEqual(thread.cycles, counts['cycles'])
        self.assertEqual([], [row for row in shown.values()
                              if row['on_cpu_ns'] != 0])
        books = report['books']['task-clock']
        self.assertEqual(len(machine.cpus) * duration, books['total'])
        self.assertEqual(0, books['residual'])
        self.assertEqual(0, books['unattributed'])
        self.assertEqual(sum(c.idle for c in machine.cpus), books['idle'])
        self.assertEqual(sum(c.interrupted for c in machine.cpus),
                         books['interrupts'])
        calls, walls = collections.Counter(), collections.Counter()
        interrupts = collections.Counter()
        inferred = 0
        for row in report['segments']:
            provider, name = row['segment'].split(':', 1)
            if provider == 'app':
                continue
            if provider == 'syscall':
                # Calls that are open at the end count, too.
                calls[name] += row['calls'] - row['end_inferred']
                inferred += row['end_inferred']
                walls[name] += row['wall_ns']['incl']
            else:
                interrupts[row['segment']] += row['calls']
        self.assertEqual(machine.calls, calls)
        self.assertEqual(machine.interrupts, interrupts)
        open_calls = [t for t in machine.all_threads
                      if t.call and t.tid in machine.threads]
        self.assertEqual(len(open_calls), inferred)
        for thread in open_calls:
            walls[thread.call[0]] -= machine.now - thread.call[1]
        self.assertEqual(machine.call_wall, walls)
        self.check_files(machine, report)

    # The rows of files have all calls, and the opens their paths.
    def check_files(self, machine, report):
        opens, failed = collections.Counter(), collections.Counter()
        reads = collections.Counter()
        for row in report['files']:
            opens[row['file']] += row['opens']
            failed[row['file']] += row['failed_opens']
            reads[row['file']] += row['reads']
            self.assertLessEqual(row['reads'] + row['opens'], row['calls'])
        self.assertEqual(machine.opens, +opens)
        self.assertEqual(machine.failed_opens, +failed)
        # A descriptor is that of an open, or not known.
        self.assertLessEqual(set(+reads), {*PATHS[:2], '(fd 3)'})
        calls = sum(row['calls'] for row in report['segments']
                    if row['segment'].startswith('syscall:'))
        self.assertEqual(calls, sum(row['calls'] for row in report['files']))

    def test_a_report_is_the_machines_truth(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                machine = Machine(seed, self.work / f'm{seed}',
                                  contexts=seed % 3 == 1,
                                  cycles=seed % 4 == 3,
                                  late=seed % 2 == 0).run(1500)
                self.check(machine, self.report(machine.write()))

    def test_kernel_and_user_space_of_a_session_are_one_trace(self):
        compared = 0
        for seed in SEEDS:
            with self.subTest(seed=seed):
                session = self.work / f's{seed}'
                machine = Machine(seed, session / 'kernel').run(1500)
                machine.write()
                machine.write_user(session / 'ust')
                report = self.report(session)
                self.check(machine, report)
                for thread in machine.all_threads:
                    if thread.work:  # open until the end
                        machine.work_calls += 1
                        machine.work_wall += machine.now - thread.work[0]
                        machine.work_on_cpu += thread.on_cpu - thread.work[1]
                rows = [row for row in report['segments']
                        if row['segment'] == 'app:work']
                self.assertEqual(
                    (machine.work_calls, machine.work_wall,
                     machine.work_on_cpu),
                    (sum(row['calls'] for row in rows),
                     sum(row['wall_ns']['incl'] for row in rows),
                     sum(row['on_cpu_ns']['incl'] for row in rows)))
                compared += len(rows)
        self.assertGreater(compared, 0)

    def test_what_the_trace_lacks_is_absent(self):
        machine = Machine(1, self.work / 'm').run(300)
        kept = dict(FIELDS)
        for cpu in machine.cpus:
            cpu.events = [event for event in cpu.events
                          if event[1] != 'sched_switch']
        try:
            del FIELDS['sched_switch']
            report = self.report(machine.write())
        finally:
            FIELDS.clear()
            FIELDS.update(kept)
        self.assertTrue(any('no sched_switch' in what for what in
                            report['trace']['not_known']))
        self.assertNotIn('task-clock', report['books'])
        self.assertEqual([], [row for row in report['threads']
                              if row['on_cpu_ns']])

    def test_a_counter_without_running_time_is_marked(self):
        machine = Machine(3, self.work / 'm', cycles=True).run(300)
        report = self.report(machine.write())
        self.assertTrue(any('cycles ran all the time' in what for what in
                            report['trace']['not_known']))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
