"""Event lines of tests/rmap/cases (grammar: tests/rmap/case_test.cc) and of the
examples in docs/definitions.md, written as a trace.
"""
from trace_writer import TraceWriter

STATES = {'R': 0, 'S': 1, 'D': 2, 'X': 0x10, 'P': 0x100,
          'Q': 0x300}
MARKED = 2
REASONS = ('begin', 'end', 'tick')
SIDES = {'enter': 0, 'exit': 1, 'hit': 0}
SCOPES = ('hooks', 'command', 'system')
HOOK_KINDS = ('segment', 'point', 'kernel-segment', 'kernel-point',
              'probe-segment', 'probe-point', 'interrupt')


class NotSupported(ValueError):
    """A line that this writer has no record for."""


def write_case(lines, folder):
    """Writes the trace; `lines` without comments."""
    writer = TraceWriter(folder)
    times = [int(line.split()[0][1:]) for line in lines
             if line.startswith('@')]
    writer.env['begin_ns'] = min(times)
    for line in lines:
        words = line.split()
        if words[0].startswith('@'):
            event(writer, int(words[0][1:]), words[1], words[2:])
        else:
            declaration(writer, words)
    writer.finish()


def declaration(writer, words):
    name, values = words[0], words[1:]
    if name in HOOK_KINDS:
        writer.add_hook(int(values[0]), name, ':'.join(values[1:]))
    elif name in ('cpu-events', 'thread-events'):
        setattr(writer, name.replace('-', '_'), values)
    elif name == 'scope':
        writer.env['scope'] = SCOPES.index(values[0])
    elif name in ('root', 'recorder'):
        writer.env[name + '_pid'] = int(values[0])
    elif name == 'count':
        writer.env['count'] = values[0]
    elif name == 'begin':
        writer.env['begin_ns'] = int(values[0])
    elif name == 'session-lost':
        writer.env['session_discarded_' + values[0]] = int(values[1])
    elif name == 'bpf-time':
        writer.env['own_bpf_ns'], writer.env['own_bpf_sampled_ns'] = map(
            int, values)
    elif name == 'hook-cost':
        for key, value in zip(('own_hook_cpu_ps', 'own_hook_ps',
                               'own_hook_dump_ps'), values):
            writer.env[key] = int(value)
    else:
        raise NotSupported(name)


def event(writer, time, where, words):
    if where.startswith('cpu'):
        cpu_event(writer, time, int(where[3:]), words[0], words[1:])
        return
    task = tuple(map(int, where.split('/')))
    if words[0] == 'lost':
        writer.thread(*task).lose(int(words[1]), words[2])
        return
    if words[0] in ('jump', 'stack', 'scope'):
        writer.add_user_hook(task, time, 2 * int(words[1]),
                             payload=integers(words[2:]))
        return
    dump = list(map(int, words[3:])) if words[2:] else None
    writer.add_user_hook(task, time, 2 * int(words[1]) + SIDES[words[0]], dump)


def cpu_event(writer, time, cpu, verb, words):
    def task(text):
        return list(map(int, text.split('/')))

    if verb in REASONS:
        writer.add(cpu, time, 'counters',
                   [REASONS.index(verb), int(words[0])], integers(words[1:]))
    elif verb == 'switch':
        writer.add(cpu, time, 'dispatch',
                   integers(words[:2]) + [STATES[words[2]]],
                   integers(words[3:]))
    elif verb in ('switch-in', 'computed-in'):
        writer.add(cpu, time, 'switch_in',
                   integers(words) + [int(verb == 'computed-in')])
    elif verb == 'wakeup':
        writer.add(cpu, time, 'wakeup', integers(words) + [cpu])
    elif verb in ('state', 'mark'):
        writer.add(cpu, time, 'process_state', task(words[0]) + [
            0, MARKED if verb == 'mark' else 0, ' '.join(words[1:])])
    elif verb in ('exec', 'comm'):
        writer.add(cpu, time, verb, task(words[0]) + [' '.join(words[1:])])
    elif verb == 'fork':
        writer.add(cpu, time, verb, task(words[0]) + task(words[1]))
    elif verb == 'exit':
        writer.add(cpu, time, verb, task(words[0]) + (
            task(words[1]) if words[1:] else [0, 0]))
    elif verb == 'fault':
        writer.add(cpu, time, verb, task(words[0]) + [0])
    elif verb == 'hook':
        rest, returned = words[3:], 0
        if rest[:1] == ['returns']:
            returned, rest = int(rest[1]), rest[2:]
        writer.add_kernel_hook(cpu, time, task(words[0]),
                               2 * int(words[2]) + SIDES[words[1]],
                               integers(rest[1:]) if rest else None, returned)
    elif verb == 'lost':
        writer.cpu(cpu).lose(int(words[0]), words[1])
    else:
        raise NotSupported(verb)


def integers(words):
    return list(map(int, words))
