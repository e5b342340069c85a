#!/usr/bin/env python3
"""A finished trace as the recorder of a machine with another clock would have
written it: of another boot, and each time t of it

   t + offset + drift * (t - begin)

in records, heads of packets and metadata (logformat/FORMAT.md). Counts stay, those of
time too, and clock samples say the same of the time of day.

Usage: shifted_trace.py TRACE COPY BOOT_ID OFFSET_NS DRIFT_PPB [KEY=VALUE]...
"""
import pathlib
import re
import struct
import sys
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'oracle'))
from packet_checksum import crc32c, text_checksum  # noqa: E402

HEAD = 176
MAGIC = 0xC1FC1FC1
# Where a head has the uuid, the stream class, and its times.
UUID_AT, CLASS_AT, CONTENT_AT, CHECKSUM_AT = 4, 20, 40, 60
TIMES_AT = (24, 32, 128, 144)
LOW = (1 << 48) - 1
NEVER = (1 << 64) - 1
# Fields of a payload, by place, that are times; 0 and NEVER are none.
TIMES_IN = {'countrace:jump': (0,), 'sample:timed_symbol': (6, 7)}
SIZES = {'uint8_t': 1, 'uint16_t': 2, 'uint24_t': 3, 'comm_char_t': 16,
         'uint32_t': 4, 'int32_t': 4, 'uint64_t': 8, 'int64_t': 8,
         'pointer_t': 8, 'float64_t': 8, 'string': 0}
EVENT = re.compile(r'^event \{\n\tname = "((?:[^"\\]|\\.)*)";\n\tid = (\d+);\n'
                   r'\tstream_id = (\d+);\n(.*?)^\};', re.M | re.S)
PART = re.compile(r'^\t(context|fields) := struct \{\n(.*?)^\t\};', re.M | re.S)
FIELD = re.compile(r'^\t\t(\w+) \w+(?:\[16\])?;$|^\t\t(enum) : uint32_t|'
                   r'^\t\t\tstruct \{(.*)\} set_0;$', re.M)


class Clock:
    """`drift_ppb`: 1000 are 1 ppm; the other clock runs faster by it."""

    def __init__(self, begin_ns, offset_ns, drift_ppb):
        self.begin_ns, self.offset_ns = begin_ns, offset_ns
        self.drift_ppb = drift_ppb

    def of(self, time):
        """The other clock when the trace's shows `time`; monotonic."""
        return (time + self.offset_ns +
                (time - self.begin_ns) * self.drift_ppb // 10**9)

    def or_none(self, time):
        return time if time in (0, NEVER) else self.of(time)


class Layout:
    """Where the next record begins, by the fields in the metadata."""

    def __init__(self, name, parts):
        self.between = [8]  # bytes before, between and behind strings
        self.times_at = []  # of a record's begin
        for part, fields in parts:
            for place, (kind, tag, of_set) in enumerate(FIELD.findall(fields)):
                if part == 'fields' and place in TIMES_IN.get(name, ()):
                    self.times_at.append(sum(self.between))
                if kind == 'string':
                    self.between.append(0)
                else:
                    self.between[-1] += (4 if tag else SIZES[kind] if kind
                                         else 8 * of_set.count('uint64_t'))

    def end(self, data, at):
        at += self.between[0]
        for size in self.between[1:]:
            at = data.index(0, at) + 1 + size
        return -(-at // 8) * 8


def layouts_of(text):
    """By stream class and event id."""
    return {(int(stream), int(event)): Layout(name, PART.findall(body))
            for name, event, stream, body in EVENT.findall(text)}


def shift_packet(data, at, layouts, clock, identity, has_checksum):
    """Returns: where the next packet begins."""
    if struct.unpack_from('<I', data, at)[0] != MAGIC:
        raise ValueError(f'byte {at} is no packet')
    content, size = (bits // 8
                     for bits in struct.unpack_from('<2Q', data, at + CONTENT_AT))
    stream, now = struct.unpack_from('<IQ', data, at + CLASS_AT)
    data[at + UUID_AT:at + CLASS_AT] = identity.bytes
    for place in TIMES_AT:
        time = struct.unpack_from('<Q', data, at + place)[0]
        struct.pack_into('<Q', data, at + place,
                         clock.of(time) if place < CONTENT_AT else
                         clock.or_none(time))
    record = at + HEAD
    while record < at + content:
        word = struct.unpack_from('<Q', data, record)[0]
        step = (word >> 16) - now & LOW
        if step < 1 << 47:  # else it goes back
            now += step
        layout = layouts[stream, word & 0xffff]
        struct.pack_into('<Q', data, record,
                         (clock.of(now) & LOW) << 16 | word & 0xffff)
        for place in layout.times_at:
            time = struct.unpack_from('<Q', data, record + place)[0]
            struct.pack_into('<Q', data, record + place, clock.or_none(time))
        record = layout.end(data, record)
    if has_checksum:
        end = at + -(-content // 8) * 8
        struct.pack_into('<I', data, at + CHECKSUM_AT, 0)
        struct.pack_into('<I', data, at + CHECKSUM_AT, crc32c(data[at:end]))
    return at + size


def numbers_of(text):
    return {key: int(number) for key, number in
            re.findall(r'^\t(\w+) = (-?\d+);$', text[text.rindex('\nenv {'):],
                       re.M)}


def shifted_metadata(text, clock, identity, boot_id, texts):
    """`texts`: those of the env block by key, instead of its own."""
    head, env = text[:text.rindex('\nenv {')], text[text.rindex('\nenv {'):]

    def replaced(where, pattern, make):
        return re.sub(pattern, lambda found: found[1] + make(found[2]), where,
                      flags=re.M)

    def of_number(number):
        return str(clock.or_none(int(number)))

    offset = numbers_of(text)['realtime_offset_ns'] - clock.offset_ns
    env = replaced(env, r'(^\trealtime_offset_ns = )(-?\d+)',
                   lambda _: str(offset))
    env = replaced(env, r'(^\tbegin_ns = )(\d+)',
                   lambda begin: str(clock.of(int(begin))))
    for key in (r'snapshot_ns = ', r'trigger_\d+ = "',
                r'pause_\d+ = "', r'pause_\d+ = "\d+ '):
        env = replaced(env, rf'(^\t{key})(\d+)', of_number)
    for key, value in {**texts, 'boot_id': boot_id}.items():
        env = replaced(env, rf'(^\t{key} = )("(?:[^"\\]|\\.)*")',
                       lambda _, value=value: f'"{value}"')
    head = replaced(head, r'(^trace \{[^}]*?\tuuid = )("[^"]*")',
                    lambda _: f'"{identity}"')
    of_clock = f'\tuuid = "{boot_id}";\n' if uuid.UUID(boot_id).int else ''
    head = replaced(head, r'(^clock \{\n\t.*\n)(\tuuid = .*\n)?',
                    lambda _: of_clock)
    offset = max(offset, 0)
    head = replaced(head, r'(^\toffset_s = )(\d+)',
                    lambda _: str(offset // 10**9))
    head = replaced(head, r'(^\toffset = )(\d+)', lambda _: str(offset % 10**9))
    before, line, _ = (head + env).rpartition('\ttext_checksum = ')
    if not line:
        return head + env
    checksum = text_checksum(before.encode('latin-1'))
    return f'{before}{line}{checksum};\n}};\n'


def shift_trace(trace, copy, boot_id, offset_ns, drift_ppb=0, **texts):
    """Writes the folder `copy`. Returns: its clock, as Clock. `texts`: of the
    env block, in place of the trace's own (hostname='b')."""
    trace, copy = pathlib.Path(trace), pathlib.Path(copy)
    if (trace / '.incomplete').exists():
        raise ValueError(f'{trace} is not finished: countrace recover {trace}')
    text = (trace / 'metadata').read_text(encoding='latin-1')
    numbers, layouts = numbers_of(text), layouts_of(text)
    clock = Clock(numbers['begin_ns'], offset_ns, drift_ppb)
    old = re.search(r'^trace \{[^}]*?\tuuid = "([^"]*)"', text, re.M)[1]
    identity = uuid.uuid5(uuid.UUID(boot_id), f'{old} {offset_ns} {drift_ppb}')
    copy.mkdir()
    for path in sorted(trace.iterdir()):
        if path.name == 'metadata' or path.name.startswith('.'):
            continue
        data, at = bytearray(path.read_bytes()), 0
        while at < len(data):
            at = shift_packet(data, at, layouts, clock, identity,
                              numbers['countrace_format'] >= 3)
        (copy / path.name).write_bytes(data)
    (copy / 'metadata').write_text(
        shifted_metadata(text, clock, identity, boot_id, texts),
        encoding='latin-1')
    return clock


def main():
    trace, copy, boot_id, offset, drift, *texts = sys.argv[1:]
    shift_trace(trace, copy, boot_id, int(offset), int(drift),
                **dict(text.split('=', 1) for text in texts))


if __name__ == '__main__':
    main()
