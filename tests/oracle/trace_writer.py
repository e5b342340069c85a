"""Writes a small trace as logformat/FORMAT.md describes it, without the
product's writer: the examples of docs/definitions.md become traces with it.

   writer = TraceWriter(folder)
   writer.cpu_events = ['task-clock']
   writer.add(0, 1000, 'counters', [0, 50], [0])
   writer.finish()
"""
import collections
import pathlib
import struct

UUID = bytes(range(16))
BOOT_ID = '00010203-0405-0607-0809-0a0b0c0d0e0f'
PAGE, HEAD = 4096, 176
# Event id, then fields: name and bytes; counters follow where `counted`.
CPU_EVENTS = {
    'dispatch': (1, (('prev_tid', 3), ('next_tid', 3), ('prev_state', 2))),
    'counters': (2, (('reason', 4), ('running_tid', 4))),
    'fork': (3, (('pid', 4), ('tid', 4), ('parent_pid', 4),
                 ('parent_tid', 4))),
    'exec': (4, (('pid', 4), ('tid', 4), ('comm', 16))),
    'comm': (5, (('pid', 4), ('tid', 4), ('comm', 16))),
    'exit': (6, (('pid', 4), ('tid', 4), ('parent_pid', 4),
                 ('parent_tid', 4))),
    'fault': (7, (('pid', 4), ('tid', 4), ('address', 8))),
    'process_state': (8, (('pid', 4), ('tid', 4), ('parent_pid', 4),
                          ('flags', 4), ('comm', 16))),
    'switch_in': (9, (('prev_tid', 3), ('next_tid', 3), ('prev_state', 2))),
    'wakeup': (10, (('waker_tid', 3), ('wakee_tid', 3), ('target_cpu', 2))),
}
COUNTED = ('dispatch', 'counters')
KERNEL_HOOK = (('tid', 3), ('pid', 3), ('number', 2))
CAUSES = ('no_sub_buffer', 'trace_full', 'disk_full', 'no_resource',
          'uncommitted', 'kernel_ring_full')
CONTEXT = (
    [(name, 'time64_t') for name in ('timestamp_begin', 'timestamp_end')] +
    [(name, 'uint64_t') for name in (
        'content_size', 'packet_size', 'packet_seq_num', 'events_discarded',
        *('discarded_' + cause for cause in CAUSES), 'raw_begin',
        'monotonic_begin', 'raw_end', 'monotonic_end')] +
    [(name, 'int32_t') for name in ('cpu_id', 'pid', 'tid')] +
    [(name, 'uint32_t') for name in ('mmcr', 'present', 'flags')])
# Values of the only hooks with a payload here.
VALUES = {'countrace:jump': 1, 'countrace:stack': 2, 'countrace:scope': 2}
Hook = collections.namedtuple('Hook', 'id kind name')


def field_name(event):
    return '_' + ''.join(sign if sign.isalnum() else '_' for sign in event)


def field_bytes(value, size):
    if isinstance(value, str):
        return value.encode().ljust(size, b'\0')
    return (value % (1 << 8 * size)).to_bytes(size, 'little')


class Stream:
    """One stream file: packets with their records, and what was lost."""

    def __init__(self, cpu, pid, tid):
        self.cpu, self.pid, self.tid = cpu, pid, tid
        self.packets = [[]]
        # Cumulative, after the last record of each packet.
        self.lost = [[0] * len(CAUSES)]

    def lose(self, count, cause):
        if len(self.packets) == 1:  # babeltrace2 does not show the first's
            self.packets.append([])
            self.lost.append(list(self.lost[-1]))
        self.lost[-1][CAUSES.index(cause)] += count
        self.packets.append([])
        self.lost.append(list(self.lost[-1]))

    def encoded(self, present):
        out, now = b'', self.packets[0][0][0] if self.packets[0] else 0
        for number, records in enumerate(self.packets):
            begin = records[0][0] if records else now
            now = records[-1][0] if records else now
            body = b''.join(
                struct.pack('<Q', identity | time % (1 << 48) << 16) +
                payload.ljust(-(-len(payload) // 8) * 8, b'\0')
                for time, identity, payload in records)
            size = -(-(HEAD + len(body)) // PAGE) * PAGE
            lost = self.lost[number]
            head = struct.pack('<I', 0xC1FC1FC1) + UUID + struct.pack(
                '<I5QQ6Q4Q3i3I', 0 if self.cpu >= 0 else 1, begin, now,
                8 * (HEAD + len(body)), 8 * size, number, sum(lost), *lost,
                0, begin, 0, now, self.cpu, self.pid, self.tid, 0,
                present if self.cpu >= 0 else 0, 0)
            out += (head + body).ljust(size, b'\0')
        return out


class TraceWriter:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.cpu_events, self.thread_events, self.hooks = [], [], {}
        self.env = {'scope': 2, 'root_pid': 0, 'recorder_pid': 1}
        self.cpus, self.threads = {}, {}

    def add_hook(self, identity, kind, name):
        self.hooks[identity] = Hook(identity, kind, name)

    def cpu(self, number):
        return self.cpus.setdefault(number, Stream(number, -1, -1))

    def thread(self, pid, tid):
        return self.threads.setdefault((pid, tid), Stream(-1, pid, tid))

    def add(self, cpu, time, event, values, counters=()):
        identity, fields = CPU_EVENTS[event]
        self.cpu(cpu).packets[-1].append((time, identity, b''.join(
            field_bytes(value, size)
            for value, (_, size) in zip(values, fields)) + words(counters)))

    def add_kernel_hook(self, cpu, time, task, side, counters=None,
                        returned=0):
        """`side`: the event id without the dump bit."""
        identity = side | (0x8000 if counters is not None else 0)
        last = self.hooks[side >> 1].name.rpartition(':')[2]
        number = int(last) if last.isdigit() else 0
        body = b''.join(field_bytes(value, size) for value, (_, size) in
                        zip((task[1], task[0], number), KERNEL_HOOK))
        body += words(counters or ()) + (words([returned]) if side & 1
                                         else b'')
        self.cpu(cpu).packets[-1].append((time, identity, body))

    def add_user_hook(self, task, time, side, dump=None, payload=()):
        """`dump`: mmcr, present, values."""
        identity = side | (0x8000 if dump else 0)
        body = struct.pack('<II', *dump[:2]) + words(dump[2:]) if dump else b''
        body += words(payload)
        self.thread(*task).packets[-1].append((time, identity, body))

    def finish(self):
        self.folder.mkdir()
        names = []
        present = (1 << len(self.cpu_events)) - 1
        for kind, streams in (('cpu', self.cpus), ('thread', self.threads)):
            for key, stream in sorted(streams.items()):
                number = key if kind == 'cpu' else '-'.join(map(str, key))
                names.append((f'{kind}-{number}', len(stream.packets)))
                (self.folder / names[-1][0]).write_bytes(
                    stream.encoded(present))
        (self.folder / 'metadata').write_text(self.metadata(names))

    # --- Metadata (FORMAT.md 5)

    def metadata(self, names):
        return '\n'.join([TYPES, *self.event_classes(), self.env_block(names)])

    def event_classes(self):
        counters = [(field_name(event), 'uint64_t')
                    for event in self.cpu_events]
        sizes = {2: 'uint16_t', 3: 'uint24_t', 4: 'uint32_t', 8: 'uint64_t'}
        for name, (identity, fields) in CPU_EVENTS.items():
            yield event_class(identity, 0, name, [
                ('comm[16]', 'comm_char_t') if field == 'comm' else
                (field, 'int32_t' if 'pid' in field and size == 4 else
                 sizes[size]) for field, size in fields] +
                (counters if name in COUNTED else []))
        dump = [('mmcr', 'uint32_t'), ('present', 'uint32_t')] + [
            (field_name(event), 'uint64_t') for event in self.thread_events]
        kernel = [(field, sizes[size]) for field, size in KERNEL_HOOK]
        for hook in self.hooks.values():
            for side, suffix in ((0, '__enter'), (1, '__exit')):
                if hook.kind.endswith('point'):
                    suffix = ''
                    if side:
                        continue
                identity, name = 2 * hook.id + side, hook.name + suffix
                if hook.kind in ('segment', 'point'):
                    payload = [(f'arg{i}', 'uint64_t')
                               for i in range(VALUES.get(name, 0))]
                    yield event_class(identity, 1, name, payload)
                    if self.thread_events:
                        yield event_class(identity | 0x8000, 1, name, payload,
                                          dump)
                    continue
                ret = [('ret', 'int64_t')] if side else []
                yield event_class(identity, 0, name, kernel + ret)
                yield event_class(identity | 0x8000, 0, name,
                                  kernel + counters + ret)

    def env_block(self, names):
        env = {'tracer_name': 'countrace', 'countrace_format': 1,
               'boot_id': BOOT_ID, 'hostname': 'example',
               'kernel_release': 'example',
               'command': 'example', **self.env, 'cpus': len(self.cpus),
               'realtime_offset_ns': 0}
        for cause in CAUSES:
            env.setdefault('session_discarded_' + cause, 0)
        env.update(last_errno=0, late_sub_buffers=0)
        for kind in ('cpu', 'thread'):
            for i, event in enumerate(getattr(self, kind + '_events')):
                env[f'{kind}_event_{i}'] = event
        for i, (name, packets) in enumerate(names):
            env[f'stream_{i}'] = f'{name}\\t{packets}'
        for hook in self.hooks.values():
            types = VALUES.get(hook.name, 0) * 'u' or '-'
            env[f'hook_{hook.id}'] = (
                f'{hook.kind}\\t{types}\\t{hook.name}\\t-')
        lines = [f'\t{key} = ' + (str(value) if isinstance(value, int)
                                  else f'"{value}"') + ';'
                 for key, value in env.items()]
        return '\n'.join(['env {', *lines, '};', ''])


def words(values):
    return struct.pack(f'<{len(values)}Q', *values)


def event_class(identity, stream, name, fields, context=()):
    lines = [f'event {{\n\tname = "{name}";\n\tid = {identity};\n'
             f'\tstream_id = {stream};']
    for part, members in (('context', context), ('fields', fields)):
        if members or part == 'fields':
            lines.append(f'\t{part} := struct {{')
            lines += [f'\t\t{kind} {member};' for member, kind in members]
            lines.append('\t};')
    return '\n'.join(lines + ['};', ''])


def integer(size, signed, more=''):
    return (f'integer {{ size = {size}; align = 8; signed = {signed}; {more}}}')


TYPES = '\n'.join(
    ['/* CTF 1.8 */', ''] +
    [f'typealias {integer(size, "false")} := uint{size}_t;'
     for size in (8, 16, 24, 32, 64)] +
    [f'typealias {integer(size, "true")} := int{size}_t;'
     for size in (32, 64)] +
    [f'typealias {integer(8, "false", "encoding = UTF8; ")} := comm_char_t;',
     'trace {\n\tmajor = 1;\n\tminor = 8;\n'
     f'\tuuid = "{BOOT_ID}";\n\tbyte_order = le;\n'
     '\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n'
     '\t\tuint32_t stream_id;\n\t};\n};',
     'clock {\n\tname = "monotonic";\n\tfreq = 1000000000;\n\toffset_s = 0;\n'
     '\toffset = 0;\n};'] +
    [f'typealias {integer(size, "false", "map = clock.monotonic.value; ")} := '
     f'time{size}_t;' for size in (48, 64)] +
    ['struct packet_context {'] +
    [f'\t{kind} {name};' for name, kind in CONTEXT] +
    ['};', 'struct event_header {\n\tuint16_t id;\n\ttime48_t timestamp;\n'
     '} align(64);'] +
    [f'stream {{\n\tid = {number};\n\tpacket.context := struct packet_context;'
     '\n\tevent.header := struct event_header;\n};' for number in (0, 1)] +
    [''])
