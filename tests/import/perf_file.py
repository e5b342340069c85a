"""perf.data files by their bytes: writes one as a machine of the other byte
order would (file mode, little-endian in, big-endian out).

Written from include/uapi/linux/perf_event.h and
tools/perf/Documentation/perf.data-file-format.txt, not from our reader.
"""

import re
import struct

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM, RAW = (
    1 << bit for bit in range(11))
IDENTIFIER = 1 << 16
SAMPLE_ID_ALL = 1 << 18
MMAP, LOST, COMM, EXIT, FORK, SAMPLE, SWITCH, SWITCH_CPU_WIDE = (
    1, 2, 3, 4, 7, 9, 14, 15)
LOST_SAMPLES = 13
MMAP2, HAS_BUILD_ID, ASKS_BUILD_IDS = 10, 1 << 14, 1 << 34
KEPT_FEATURES = {1, 3, 4, 5, 6, 7, 11, 12, 21, 29}
RAW_HEAD = re.compile(rb'ID: (\d+)\n')
RAW_FIELD = re.compile(rb'field:([^;]*);\s*offset:(\d+);\s*size:(\d+);')


def set_flags(file, wanted):
    """Sets or clears the flag of mappings with a build id. The kernel sets it also where another
    program's events ask for build ids: perf 6.1 takes the number of the device for a size then,
    and crashes."""
    data = bytearray(file.read_bytes())
    entry, attrs, begin = (struct.unpack_from('<Q', data, at)[0] for at in (16, 24, 40))
    if struct.unpack_from('<Q', data, attrs + 40)[0] & ASKS_BUILD_IDS or entry == 0:
        return
    end = begin + struct.unpack_from('<Q', data, 48)[0]
    at = begin
    while at + 8 <= end:
        kind, misc, size = struct.unpack_from('<IHH', data, at)
        if kind == MMAP2:
            struct.pack_into('<H', data, at + 4, misc & ~HAS_BUILD_ID | wanted)
        at += size
    file.write_bytes(data)


class Swapper:
    def __init__(self, data):
        self.data = data
        self.out = bytearray()
        self.formats = {}

    def swap(self, size, begin, count=1):
        """`count` numbers of `size` bytes at `begin`, bytes reversed."""
        out = b''
        for i in range(count):
            at = begin + i * size
            out += self.data[at:at + size][::-1]
        return out

    def number(self, letter, at):
        return struct.unpack_from('<' + letter, self.data, at)[0]

    def attr(self, at, size):
        out = self.swap(4, at, 2) + self.swap(8, at + 8, 4)
        for byte in self.data[at + 40:at + 48]:
            out += bytes([int(f'{byte:08b}'[::-1], 2)])
        out += self.swap(4, at + 48, 2)          # wakeup, bp_type
        out += self.swap(8, at + 56, 4)          # bp_addr .. regs_user
        out += self.swap(4, at + 88, 2)          # stack_user, clockid
        out += self.swap(8, at + 96)             # regs_intr
        out += self.swap(4, at + 104) + self.swap(2, at + 108, 2)
        out += self.swap(4, at + 112, 2)
        if size > 120:
            out += self.swap(8, at + 120, (size - 120) // 8)
        assert len(out) == size
        return out

    def raw(self, at, size):
        """A tracepoint's bytes, swapped according to its format."""
        # The id is within its first 8 bytes.
        event = self.number('H', at)
        out = bytearray(self.data[at:at + size])
        for field, offset, width in self.formats.get(event, ()):
            text = field.decode()
            loc = text.startswith('__data_loc')
            if loc:
                out[offset:offset + 4] = self.swap(4, at + offset)
            elif re.match(r'(const )?char \S*\[', text):
                pass
            elif (found := re.search(r'\[(\d+)\]$', text)):
                one = width // int(found[1])
                out[offset:offset + width] = self.swap(
                    one, at + offset, int(found[1]))
            elif width in (1, 2, 4, 8):
                out[offset:offset + width] = self.swap(width, at + offset)
        return bytes(out)

    def trailer(self, kind, at):
        """sample_id; returns (bytes, how many)."""
        out, begin = b'', at
        for bit, sizes in ((TID, (4, 4)), (TIME, (8,)), (ID, (8,)),
                           (STREAM, (8,)), (CPU, (4, 4)), (IDENTIFIER, (8,))):
            if kind & bit:
                for size in sizes:
                    out += self.swap(size, at)
                    at += size
        return out, at - begin

    def trailer_bytes(self):
        kind = self.attrs[0][0]
        return 8 * bin(kind & (TID | TIME | ID | STREAM | CPU |
                               IDENTIFIER)).count('1')

    def sample(self, at, end):
        kind, read_format = self.attrs[0]
        if len({one[0] for one in self.attrs}) > 1:
            kind, read_format = self.by_id[self.number('Q', at)]
        out = b''

        def take(size, count=1):
            nonlocal at, out
            out += self.swap(size, at, count)
            at += size * count
        if kind & IDENTIFIER:
            take(8)
        if kind & IP:
            take(8)
        if kind & TID:
            take(4, 2)
        for bit in (TIME, ADDR, ID, STREAM):
            if kind & bit:
                take(8)
        if kind & CPU:
            take(4, 2)
        if kind & PERIOD:
            take(8)
        assert not kind & (READ | CALLCHAIN)
        if kind & RAW:
            size = self.number('I', at)
            take(4)
            out += self.raw(at, size)
            at += size
        return out + self.data[at:end]

    def record(self, at):
        kind, misc, size = struct.unpack_from('<IHH', self.data, at)
        head = struct.pack('>IHH', kind, misc, size)
        begin, end = at + 8, at + size
        if kind == SAMPLE:
            return head + self.sample(begin, end), size
        if kind >= 64:  # perf's own
            body = self.swap(8, begin, (end - begin) // 8)
            if kind == 73:  # a count, and threads with their names
                body = self.swap(8, begin)
                for at in range(begin + 8, end, 24):
                    body += self.swap(8, at) + self.data[at + 8:at + 24]
            if kind == 74:  # CPUs, which are not read
                body = self.data[begin:end]
            return head + body, size
        tail = end - self.trailer_bytes()
        if kind in (FORK, EXIT):
            body = self.swap(4, begin, 4) + self.swap(8, begin + 16)
        elif kind == COMM:
            body = self.swap(4, begin, 2) + self.data[begin + 8:tail]
        elif kind == SWITCH_CPU_WIDE:
            body = self.swap(4, begin, 2)
        elif kind in (LOST, LOST_SAMPLES):
            body = self.swap(8, begin, (tail - begin) // 8)
        else:  # mappings and others, which are not read
            body = self.data[begin:tail]
        last, _ = self.trailer(self.attrs[0][0], tail)
        return head + body + last, size

    def text(self, at):
        size = self.number('I', at)
        return self.swap(4, at) + self.data[at + 4:at + 4 + size], 4 + size

    def feature(self, bit, at, size):
        if bit in (3, 4, 5, 6):
            return self.text(at)[0]
        if bit == 7:
            return self.swap(4, at, 2)
        if bit == 21:
            return self.swap(8, at, 2)
        if bit == 29:
            return self.swap(4, at, 2) + self.swap(8, at + 8, 2)
        if bit == 11:
            out, place = self.swap(4, at), at + 4
            for _ in range(self.number('I', at)):
                text, used = self.text(place)
                out += text
                place += used
            return out
        if bit == 12:
            events, attr_bytes = struct.unpack_from('<II', self.data, at)
            out, place = self.swap(4, at, 2), at + 8
            for _ in range(events):
                out += self.attr(place, attr_bytes)
                place += attr_bytes
                ids = self.number('I', place)
                out += self.swap(4, place)
                text, used = self.text(place + 4)
                out += text
                place += 4 + used
                out += self.swap(8, place, ids)
                place += 8 * ids
            return out
        return self.tracing_data(at, at + size)

    def tracing_data(self, at, end):
        begin = at
        at = self.data.index(b'\0', at + 10) + 1
        out = self.data[begin:at] + b'\1' + self.data[at + 1:at + 2]
        out += self.swap(4, at + 2)
        at += 6
        for _ in range(2):
            name = self.data.index(b'\0', at) + 1
            size = self.number('Q', name)
            out += self.data[at:name] + self.swap(8, name)
            out += self.data[name + 8:name + 8 + size]
            at = name + 8 + size

        def formats(at, count):
            out = b''
            for _ in range(count):
                size = self.number('Q', at)
                text = self.data[at + 8:at + 8 + size]
                out += self.swap(8, at) + text
                number = RAW_HEAD.search(text)
                if number:
                    self.formats[int(number[1])] = [
                        (field, int(offset), int(width)) for field, offset,
                        width in RAW_FIELD.findall(text)]
                at += 8 + size
            return out, at
        more, place = formats(at + 4, self.number('I', at))
        out += self.swap(4, at) + more
        systems, at = self.number('I', place), place + 4
        out += self.swap(4, place)
        for _ in range(systems):
            name = self.data.index(b'\0', at) + 1
            more, place = formats(name + 4, self.number('I', name))
            out += self.data[at:name] + self.swap(4, name) + more
            at = place
        # Symbols, printk formats, command lines: their sizes.
        for letter in 'IIQ':
            if at >= end:
                break
            size = self.number(letter, at)
            width = struct.calcsize(letter)
            out += self.swap(width, at)
            out += self.data[at + width:at + width + size]
            at += width + size
        return out + self.data[at:end]

    def run(self):
        data = self.data
        (_, entry, attrs, attrs_bytes, begin, size, _, _) = struct.unpack_from(
            '<QQQQQQQQ', data, 8)
        present = int.from_bytes(data[72:104], 'little')
        sections, at = [], begin + size
        for bit in range(256):
            if present >> bit & 1:
                sections.append((bit, *struct.unpack_from('<QQ', data, at)))
                at += 16
        self.attrs, self.by_id = [], {}
        for at in range(attrs, attrs + attrs_bytes, entry):
            kind = (self.number('Q', at + 24), self.number('Q', at + 32))
            self.attrs.append(kind)
            ids, count = struct.unpack_from('<QQ', data, at + entry - 16)
            for place in range(ids, ids + count, 8):
                self.by_id[self.number('Q', place)] = kind
        features = [(bit, self.feature(bit, place, length))
                    for bit, place, length in sections
                    if bit in KEPT_FEATURES]
        records = bytearray()
        at = begin
        while at < begin + size:
            record, used = self.record(at)
            assert len(record) == used, (at, len(record), used)
            records += record
            at += used
        # Everything before the records stays where it is.
        out = bytearray(data[:begin])
        out[:8] = data[:8][::-1]
        out[8:72] = self.swap(8, 8, 8)
        bits = sum(1 << bit for bit, _ in features)
        out[72:104] = b''.join(
            struct.pack('>Q', bits >> shift & (1 << 64) - 1)
            for shift in range(0, 256, 64))
        for at in range(attrs, attrs + attrs_bytes, entry):
            out[at:at + entry - 16] = self.attr(at, entry - 16)
            out[at + entry - 16:at + entry] = self.swap(8, at + entry - 16, 2)
            ids, count = struct.unpack_from('<QQ', data, at + entry - 16)
            out[ids:ids + count] = self.swap(8, ids, count // 8)
        out += records
        place = len(out) + 16 * len(features)
        for _, section in features:
            out += struct.pack('>QQ', place, len(section))
            place += len(section)
        for _, section in features:
            out += section
        return bytes(out)


def byte_swapped(data):
    return Swapper(data).run()
