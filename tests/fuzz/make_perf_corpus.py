#!/usr/bin/env python3
"""Writes the first inputs of perf_data_fuzz: small perf.data files of a made-up
machine, in all their shapes.

Usage: make_perf_corpus.py FOLDER
"""
import ctypes
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'import'))
from perf_file import byte_swapped  # noqa: E402

IP, TID, TIME, READ, CPU, PERIOD, RAW, IDENTIFIER = (
    1, 2, 4, 16, 1 << 7, 1 << 8, 1 << 10, 1 << 16)
COMM, FORK, EXIT, LOST, SAMPLE, SWITCH, SWITCH_CPU_WIDE = 3, 7, 4, 2, 9, 14, 15
GROUP, WITH_ID, ENABLED, RUNNING = 8, 4, 1, 2
INHERIT, TASK, ID_ALL, SWITCHES = 1 << 1, 1 << 13, 1 << 18, 1 << 26
KIND = TID | TIME | CPU | IDENTIFIER | PERIOD
TAIL = TID | TIME | CPU | IDENTIFIER

COMMON = '''\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

'''
FORMATS = {
    'sched': [f'''name: sched_switch
ID: 300
format:
{COMMON}\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;

print fmt: "%s", REC->prev_comm
'''],
    'probe_shop': [f'''name: serve
ID: 301
format:
{COMMON}\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:s32 order;\toffset:16;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;

print fmt: "%d", REC->order
''', f'''name: serve__return
ID: 302
format:
{COMMON}\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;

print fmt: "%lx", REC->__probe_func
'''],
}


def tracing_data():
    out = b'\x17\x08\x44tracing0.6\0\0\x08' + struct.pack('<I', 4096)
    for part in (b'header_page\0', b'header_event\0'):
        out += part + struct.pack('<Q', 0)
    out += struct.pack('<I', 0) + struct.pack('<I', len(FORMATS))
    for system, formats in FORMATS.items():
        out += system.encode() + b'\0' + struct.pack('<I', len(formats))
        for text in formats:
            out += struct.pack('<Q', len(text)) + text.encode()
    return out + struct.pack('<II', 0, 0) + struct.pack('<Q', 0)


def attr(kind, config, period, sample_type, read_format=WITH_ID, flags=0):
    return struct.pack('<IIQQQQQ', kind, 128, config, period, sample_type,
                       read_format, flags | ID_ALL).ljust(128, b'\0')


def record(kind, body, misc=0):
    body += b'\0' * (-len(body) % 8)
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def tail(tid, time, cpu=0, number=1):
    return struct.pack('<iiQIIQ', tid, tid, time, cpu, 0, number)


def sample(number, tid, time, raw=None, values=None, cpu=0, tid_only=False):
    out = struct.pack('<QiiQ', number, tid, tid, time)
    out += struct.pack('<IIQ', cpu, 0, 1)
    if values is not None:
        out += struct.pack('<QQQ', len(values), 100, 90)
        for counter, value in values:
            out += struct.pack('<QQ', value, counter)
    if raw is not None:
        padded = raw + b'\0' * (-(len(raw) + 4) % 8)
        out += struct.pack('<I', len(padded)) + padded
    return record(SAMPLE, out)


def common(number, tid):
    return struct.pack('<HBBi', number, 0, 0, tid)


def switch_raw(prev, next_tid, state):
    return (common(300, prev) + b'shop'.ljust(16, b'\0') +
            struct.pack('<iiq', prev, 120, state) + b'shop'.ljust(16, b'\0') +
            struct.pack('<ii', next_tid, 120))


def serve_raw(tid, order):
    return common(301, tid) + struct.pack('<QiI', 0x1000, order,
                                          5 << 16 | 24) + b'kale\0'


def text(words):
    padded = words.encode().ljust((len(words) + 8) // 8 * 8, b'\0')
    return struct.pack('<I', len(padded)) + padded


def features(bits):
    known = {1: tracing_data(), 3: text('shop'), 4: text('6.1.0'),
             5: text('6.1.0'), 6: text('x86_64'), 7: struct.pack('<II', 2, 2),
             11: struct.pack('<I', 2) + text('perf') + text('record'),
             27: struct.pack('<IIIII', 1, 1, 1, 2, 1 << 20)}
    return [(bit, known[bit]) for bit in bits]


def file_of(attrs, records, bits=(1, 3, 4, 5, 6, 7, 11)):
    place = 104
    ids_at = place + len(attrs) * 144
    entries = ids = b''
    for one, numbers in attrs:
        entries += one + struct.pack('<QQ', ids_at + len(ids),
                                     8 * len(numbers))
        ids += struct.pack(f'<{len(numbers)}Q', *numbers)
    begin = ids_at + len(ids)
    sections = features(bits)
    present = sum(1 << bit for bit in bits)
    head = b'PERFILE2' + struct.pack(
        '<QQQQQQQQ', 104, 144, 104, len(attrs) * 144, begin, len(records), 0, 0)
    head += present.to_bytes(32, 'little')
    out = head + entries + ids + records
    at = len(out) + 16 * len(sections)
    table = b''
    for _, section in sections:
        table += struct.pack('<QQ', at, len(section))
        at += len(section)
    return out + table + b''.join(section for _, section in sections)


def pipe_of(attrs, records):
    out = b'PERFILE2' + struct.pack('<Q', 16)
    for one, numbers in attrs:
        out += record(64, one + struct.pack(f'<{len(numbers)}Q', *numbers))
    for bit, section in features((3, 6)):
        out += record(80, struct.pack('<Q', bit) + section)
    formats = tracing_data()
    formats += b'\0' * (-len(formats) % 8)
    out += record(66, struct.pack('<I', len(formats))) + formats
    return out + records


THREADS = record(73, struct.pack('<Qq', 1, -1) + bytes(16))
BEGIN = (record(COMM, struct.pack('<ii', 7, 7) + b'shop\0\0\0\0' + tail(0, 0)) +
         record(FORK, struct.pack('<iiiiQ', 8, 7, 8, 7, 0) + tail(0, 0)))


def system(values=False):
    """sched_switch and probes of two CPUs, in two rounds."""
    counts = [[(1, n), (5, 10 * n)] if values else None for n in range(9)]
    out = THREADS + BEGIN
    out += sample(1, 0, 1000, switch_raw(0, 7, 0), counts[1])
    out += sample(3, 7, 1100, serve_raw(7, 1), counts[1] if values else None)
    out += sample(4, 7, 1900, common(302, 7) + bytes(8),
                  counts[1] if values else None)
    out += record(68, b'')
    out += sample(1, 7, 1500, switch_raw(7, 0, 1), counts[2])
    out += record(FORK, struct.pack('<iiiiQ', 9, 7, 9, 7, 1200) +
                  tail(7, 1200))
    out += record(LOST, struct.pack('<QQ', 1, 17) + tail(7, 2000))
    out += record(68, b'')
    out += sample(1, 0, 3000, switch_raw(0, 9, 0), counts[3])
    out += record(COMM, struct.pack('<ii', 9, 9) + b'kale\0\0\0\0' +
                  tail(9, 3100), 1 << 13)
    out += record(EXIT, struct.pack('<iiiiQ', 9, 7, 9, 7, 3500) +
                  tail(9, 3500))
    return out + sample(1, 9, 4000, switch_raw(9, 0, 16), counts[4])


CALLCHAIN, REGISTERS, STACK = 1 << 5, 1 << 12, 1 << 13
ALL_REGISTERS = 0xff0fff
MMAP2, HAS_BUILD_ID = 10, 1 << 14


def stacks():
    """Copies of stacks, in code that is mapped from the fuzz target itself."""
    build_id = b'countrace-fuzz-file!'
    kind = IP | TID | TIME | CPU | PERIOD | IDENTIFIER | CALLCHAIN | REGISTERS | STACK
    event = bytearray(attr(1, 0, 997, kind, flags=TASK))
    struct.pack_into('<QI', event, 80, ALL_REGISTERS, 256)
    out = BEGIN + record(
        MMAP2, struct.pack('<iiQQQB3x20sII', 7, 7, 0x10000, 0x4000000, 0, 20, build_id, 5, 2) +
        b'/bin/shop\0'.ljust(16, b'\0') + tail(7, 900), HAS_BUILD_ID)
    for step, abi in enumerate((2, 2, 1, 0)):
        place = 0x40000 + 0x1000 * step
        body = struct.pack('<QQiiQIIQ', 1, place, 7, 7, 1000 + step, 0, 0, 1)
        body += struct.pack('<QQQ', 2, (1 << 64) - 128, 0xffffffff81000010)
        body += struct.pack('<Q', abi)
        if abi:
            registers = [step] * 20
            registers[6:9] = 0x7000, 0x7000, place  # frame and stack pointer, place
            body += struct.pack('<20Q', *registers)
            words = [0x7000 + 8 * at if at % 4 else 0x50000 + 16 * at for at in range(32)]
            body += struct.pack('<Q32QQ', 256, *words, 256 - 64 * step)
        else:
            body += struct.pack('<Q', 0)
        out += record(SAMPLE, body)
    return file_of([(bytes(event), [1])], out)


def switches(wide):
    out = (THREADS if wide else b'') + BEGIN
    for step, (tid, other, leaves) in enumerate(
            ((7, 0, False), (7, 8, True), (8, 7, False), (8, 0, True))):
        body = struct.pack('<ii', other, other) if wide else b''
        out += record(SWITCH_CPU_WIDE if wide else SWITCH,
                      body + tail(tid, 1000 + step * 50),
                      1 << 13 if leaves else 0)
    return out


def main():
    folder = pathlib.Path(sys.argv[1])
    kind = KIND | RAW
    events = [(attr(2, 300, 1, kind, flags=TASK | INHERIT), [1, 2]),
              (attr(2, 301, 1, kind), [3]), (attr(2, 302, 1, kind), [4])]
    read = GROUP | WITH_ID | ENABLED | RUNNING
    group = [(attr(2, 300, 1, kind | READ, read, TASK), [1, 2]),
             (attr(1, 2, 0, kind | READ, read), [5, 6]),
             (attr(2, 301, 1, kind | READ, read), [3]),
             (attr(2, 302, 1, kind | READ, read), [4])]
    clock = [(attr(1, 9, 1, KIND, flags=TASK | SWITCHES), [1])]
    files = {
        'system': file_of(events, system()),
        'groups': file_of(group, system(values=True)),
        'wide_switches': file_of(clock, switches(True), (3,)),
        'task_switches': file_of(clock, switches(False), ()),
        'stacks': stacks(),
        'piped': pipe_of(events, system()),
    }
    files['swapped'] = byte_swapped(files['system'])
    # Nothing behind the records, and their size is not written.
    killed = file_of(clock, switches(True), ())
    files['killed'] = killed[:48] + bytes(8) + killed[56:-3]
    zstd = ctypes.CDLL('libzstd.so.1')
    room = ctypes.create_string_buffer(1 << 16)
    plain = system()[len(THREADS):]
    size = zstd.ZSTD_compress(room, len(room), plain, len(plain), 3)
    files['compressed'] = file_of(
        events, THREADS + struct.pack('<IHH', 81, 0, 8 + size) +
        room.raw[:size], (1, 27))
    for name, data in files.items():
        (folder / name).write_bytes(data)
        print(f'{name}: {len(data)} bytes')


if __name__ == '__main__':
    main()
