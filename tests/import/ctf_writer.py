"""Writes CTF 1.8 traces of any shape, bit by bit: other byte orders and
alignments, compact and large event headers, sequences, variants, enumerations,
several clocks, no packet context.

A type has its TSDL text, its alignment, and a function that writes a value.
"""

import pathlib
import struct
import uuid as uuids

MAGIC = 0xC1FC1FC1


class Bits:
    """A packet's bytes, filled bit by bit."""

    def __init__(self):
        self.bytes = bytearray()
        self.at = 0

    def align(self, bits):
        self.at = (self.at + bits - 1) // bits * bits
        self.grow()

    def grow(self):
        need = (self.at + 7) // 8
        if need > len(self.bytes):
            self.bytes.extend(bytes(need - len(self.bytes)))

    def put(self, value, size, order):
        begin, self.at = self.at, self.at + size
        self.grow()
        value &= (1 << size) - 1
        if begin % 8 == 0 and size % 8 == 0:
            self.bytes[begin // 8:self.at // 8] = value.to_bytes(
                size // 8, 'little' if order == 'le' else 'big')
            return
        for i in range(size):
            if order == 'le':
                bit, at = value >> i & 1, (begin + i) % 8
            else:
                bit, at = value >> (size - 1 - i) & 1, 7 - (begin + i) % 8
            byte = (begin + i) // 8
            self.bytes[byte] = self.bytes[byte] & ~(1 << at) | bit << at


class Int:
    def __init__(self, size, signed=False, align=None, base=10, order=None,
                 clock=None, encoding=None):
        self.size, self.signed, self.base = size, signed, base
        self.align = align or (8 if size % 8 == 0 else 1)
        self.order, self.clock, self.encoding = order, clock, encoding

    def tsdl(self):
        text = f'integer {{ size = {self.size}; align = {self.align}; '
        text += f'signed = {str(self.signed).lower()}; base = {self.base}; '
        if self.order:
            text += f'byte_order = {self.order}; '
        if self.clock:
            text += f'map = clock.{self.clock}.value; '
        if self.encoding:
            text += f'encoding = {self.encoding}; '
        return text + '}'

    def write(self, bits, value, order, _):
        bits.align(self.align)
        bits.put(value, self.size, self.order or order)

    def shown(self, value):
        return f'0x{value:X}' if self.base == 16 else str(value)

    def rendered(self, value):
        return f'0x{value:x}' if self.base == 16 else str(value)


class Float:
    def __init__(self, size, align=8):
        self.size, self.align = size, align

    def tsdl(self):
        exponent = 8 if self.size == 32 else 11
        return (f'floating_point {{ exp_dig = {exponent}; mant_dig = '
                f'{self.size - exponent}; align = {self.align}; }}')

    def write(self, bits, value, order, _):
        bits.align(self.align)
        data = struct.pack('<f' if self.size == 32 else '<d', value)
        bits.put(int.from_bytes(data, 'little'), self.size, order)

    def shown(self, value):
        # Values of tests are exact in both sizes.
        return str(int(value)) if value == int(value) else str(value)

    rendered = shown


class String:
    align = 8

    def tsdl(self):
        return 'string'

    def write(self, bits, value, order, _):
        bits.align(8)
        for byte in value.encode() + b'\0':
            bits.put(byte, 8, order)

    def shown(self, value):
        return '"' + value.replace('\\', '\\\\').replace('"', '\\"') + '"'

    rendered = shown


class Enum:
    """`labels`: name -> (first, last)."""

    def __init__(self, container, labels):
        self.container, self.labels = container, labels
        self.align = container.align

    def tsdl(self):
        labels = ', '.join(f'"{name}" = {first} ... {last}'
                           for name, (first, last) in self.labels.items())
        return f'enum : {self.container.tsdl()} {{ {labels} }}'

    def write(self, bits, value, order, scope):
        self.container.write(bits, value, order, scope)

    def label(self, value):
        return next((name for name, (first, last) in self.labels.items()
                     if first <= value <= last), None)

    def rendered(self, value):
        return self.label(value) or str(value)

    def shown(self, value):
        return '"' + self.rendered(value) + '"'


class Struct:
    def __init__(self, fields, align=1):
        self.fields = fields  # (name, type)
        self.min_align = align
        self.align = max([align] + [kind.align for _, kind in fields])

    def tsdl(self):
        members = ' '.join(declaration(name, kind)
                           for name, kind in self.fields)
        return f'struct {{ {members} }} align({self.min_align})'

    def write(self, bits, values, order, outer=None):
        bits.align(self.align)
        scope = dict(outer or {})
        for name, kind in self.fields:
            kind.write(bits, values[name], order, scope)
            scope[name] = values[name]

    def rendered(self, values):
        inner = ', '.join(f'{name} = {kind.rendered(values[name])}'
                          for name, kind in self.fields)
        return f'{{ {inner} }}' if self.fields else '{}'


class Array:
    def __init__(self, element, length):
        self.element, self.length, self.align = element, length, element.align

    def write(self, bits, values, order, scope):
        bits.align(self.align)
        for value in values:
            self.element.write(bits, value, order, scope)

    def rendered(self, values):
        return '[' + ', '.join(map(self.element.rendered, values)) + ']'

    def shown(self, values):
        return String().shown(self.rendered(values))


class Text(Array):
    """Characters, shown as a string."""

    def __init__(self, length):
        super().__init__(Int(8, encoding='UTF8'), length)

    def write(self, bits, value, order, scope):
        data = value.encode().ljust(self.length, b'\0')
        super().write(bits, data, order, scope)

    def shown(self, value):
        return String().shown(value)

    def rendered(self, value):
        return String().rendered(value)


class Sequence(Array):
    """`length`: name of a field before it, which holds it."""


class Variant:
    align = 1

    def __init__(self, tag, tag_type, options):
        self.tag, self.tag_type, self.options = tag, tag_type, options

    def tsdl(self):
        options = ' '.join(declaration(name, kind)
                           for name, kind in self.options.items())
        return f'variant <{self.tag}> {{ {options} }}'

    def chosen(self, tag):
        return self.options[self.tag_type.label(tag)]

    def write(self, bits, value, order, scope):
        self.chosen(scope[self.tag]).write(bits, value, order, scope)


def declaration(name, kind):
    if isinstance(kind, Array):
        return f'{kind.element.tsdl()} {name}[{kind.length}];'
    return f'{kind.tsdl()} {name};'


def payload_shown(fields, values):
    """The text that `countrace script` prints: the rule of field_values.h."""
    leaves = []

    def walk(fields, values, prefix):
        names = [name for name, _ in fields]
        for name, kind in fields:
            if name.startswith('__') and name.endswith('_length') and \
                    name[2:-7] in names:
                continue
            if isinstance(kind, Struct):
                walk(kind.fields, values[name], f'{prefix}{name}.')
            elif isinstance(kind, Variant):
                inner = kind.chosen(values[kind.tag])
                text = inner.rendered(values[name])
                leaves.append((prefix + name, text, String().shown(text)))
            else:
                leaves.append((prefix + name, kind.rendered(values[name]),
                               kind.shown(values[name])))

    walk(fields, values, '')
    shown = [leaf[2] for leaf in leaves]
    labels = [leaf[0].replace('.', '_') for leaf in leaves]
    if len(leaves) > 6:
        rest = ', '.join(f'{name} = {text}' for name, text, _ in leaves[5:])
        shown = shown[:5] + [String().shown(
            rest if len(rest) < 512 else rest[:508] + '...')]
        labels = labels[:5] + ['others']
    if not shown:
        return ''
    return '{ ' + ', '.join(f'{label} = {text}'
                            for label, text in zip(labels, shown)) + ' }'


class StreamClass:
    """header: 'simple', 'compact' (LTTng's 5 + 27 bits), 'large' (16 + 32).

    clock: None: events and packets have no times.
    """

    def __init__(self, number, clock, header='simple', packet_context=True,
                 cpu=True, context=(), align=8):
        self.number, self.clock, self.header = number, clock, header
        self.has_context, self.cpu = packet_context, cpu
        self.context = Struct(list(context))
        self.align = align
        self.events = {}  # id -> (name, Struct)
        self.low_bits = {'simple': 64, 'compact': 27, 'large': 32}[header]

    def event(self, number, name, fields, align=1):
        self.events[number] = (name, Struct(list(fields), align))

    def packet_context(self):
        stamp = Int(64, clock=self.clock)
        fields = [('content_size', Int(64)), ('packet_size', Int(64)),
                  ('packet_seq_num', Int(64)), ('events_discarded', Int(64))]
        if self.clock is not None:
            fields[:0] = [('timestamp_begin', stamp), ('timestamp_end', stamp)]
        if self.cpu:
            fields.append(('cpu_id', Int(32)))
        return Struct(fields)

    def header_tsdl(self):
        if self.clock is None:
            return f'struct {{ {Int(32).tsdl()} id; }} align({self.align})'
        full = (f'struct {{ {Int(32).tsdl()} id; '
                f'{Int(64, clock=self.clock).tsdl()} timestamp; }} extended;')
        if self.header == 'simple':
            return (f'struct {{ {Int(32).tsdl()} id; '
                    f'{Int(64, clock=self.clock).tsdl()} timestamp; }} '
                    f'align({self.align})')
        if self.header == 'compact':
            tag, last, low = Int(5, align=1), 30, Int(27, align=1,
                                                      clock=self.clock)
        else:
            tag, last, low = Int(16), 65534, Int(32, clock=self.clock)
        return (f'struct {{ enum : {tag.tsdl()} {{ compact = 0 ... {last}, '
                f'extended = {last + 1} }} id; variant <id> {{ struct {{ '
                f'{low.tsdl()} timestamp; }} compact; {full} }} v; }} '
                f'align({self.align})')

    def write_header(self, bits, number, cycles, last, order):
        bits.align(self.align)
        if self.clock is None:
            Int(32).write(bits, number, order, None)
            return
        if self.header == 'simple':
            Int(32).write(bits, number, order, None)
            Int(64).write(bits, cycles, order, None)
            return
        tag, highest = (Int(5, align=1), 30) if self.header == 'compact' else \
            (Int(16), 65534)
        # The compact form stores the low bits only.
        fits = cycles - last < 1 << self.low_bits and number <= highest
        tag.write(bits, number if fits else highest + 1, order, None)
        if fits:
            low = Int(27, align=1) if self.header == 'compact' else Int(32)
            low.write(bits, cycles, order, None)
        else:
            bits.align(8)
            Int(32).write(bits, number, order, None)
            Int(64).write(bits, cycles, order, None)


class CtfTrace:
    def __init__(self, folder, order='le', environment=None, uuid=True):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.order = order
        self.uuid = uuids.uuid4() if uuid else None
        self.environment = environment or {}
        self.clocks, self.classes, self.packets = [], [], {}

    def clock(self, name, frequency=10**9, offset_s=0, offset=0, uuid=None,
              absolute=False):
        self.clocks.append((name, frequency, offset_s, offset, uuid, absolute))
        return name

    def add(self, stream_class):
        self.classes.append(stream_class)
        return stream_class

    def packet(self, file, stream_class, events, begin=None, end=None, cpu=0,
               discarded=0, sequence=None):
        """Appends a packet; events: (cycles, id, context, fields)."""
        bits = Bits()
        order = self.order
        Int(32).write(bits, MAGIC, order, None)
        if self.uuid:
            for byte in self.uuid.bytes:
                Int(8).write(bits, byte, order, None)
        Int(32).write(bits, stream_class.number, order, None)
        begin = begin if begin is not None else events[0][0]
        end = end if end is not None else events[-1][0]
        known = self.packets.setdefault(file, [])
        values = {'timestamp_begin': begin, 'timestamp_end': end,
                  'content_size': 0, 'packet_size': 0,
                  'packet_seq_num': len(known) if sequence is None
                  else sequence, 'events_discarded': discarded, 'cpu_id': cpu}
        context_at = bits.at
        if stream_class.has_context:
            stream_class.packet_context().write(bits, values, order)
        # Without a context the packet's begin is unknown.
        last = begin if stream_class.has_context else 0
        for cycles, number, context, fields in events:
            stream_class.write_header(bits, number, cycles, last, order)
            last = cycles
            if stream_class.context.fields:
                stream_class.context.write(bits, context, order)
            stream_class.events[number][1].write(bits, fields, order)
        if stream_class.has_context:
            values['content_size'] = bits.at
            bits.align(8)
            bits.bytes.extend(bytes(-len(bits.bytes) % 64))
            values['packet_size'] = 8 * len(bits.bytes)
            patch = Bits()
            patch.bytes, patch.at = bits.bytes, context_at
            stream_class.packet_context().write(patch, values, order)
        known.append(bytes(bits.bytes))

    def metadata(self):
        uuid = f'uuid = "{self.uuid}"; ' if self.uuid else ''
        header = 'integer { size = 32; align = 8; } magic; '
        if self.uuid:
            header += 'integer { size = 8; align = 8; } uuid[16]; '
        header += 'integer { size = 32; align = 8; } stream_id;'
        text = (f'/* CTF 1.8 */\ntrace {{ major = 1; minor = 8; {uuid}'
                f'byte_order = {self.order}; packet.header := struct {{ '
                f'{header} }}; }};\n')
        if self.environment:
            text += 'env {\n'
            for key, value in self.environment.items():
                shown = f'"{value}"' if isinstance(value, str) else value
                text += f'  {key} = {shown};\n'
            text += '};\n'
        for name, frequency, offset_s, offset, clock_uuid, absolute in \
                self.clocks:
            text += (f'clock {{ name = {name}; freq = {frequency}; offset_s = '
                     f'{offset_s}; offset = {offset}; '
                     + (f'uuid = "{clock_uuid}"; ' if clock_uuid else '')
                     + ('absolute = TRUE; ' if absolute else '') + '};\n')
        for one in self.classes:
            text += (f'stream {{ id = {one.number}; event.header := '
                     f'{one.header_tsdl()}; ')
            if one.has_context:
                text += f'packet.context := {one.packet_context().tsdl()}; '
            if one.context.fields:
                text += f'event.context := {one.context.tsdl()}; '
            text += '};\n'
            for number, (name, fields) in one.events.items():
                text += (f'event {{ name = "{name}"; id = {number}; stream_id '
                         f'= {one.number}; fields := {fields.tsdl()}; }};\n')
        return text

    def finish(self):
        for file, packets in self.packets.items():
            (self.folder / file).write_bytes(b''.join(packets))
        (self.folder / 'metadata').write_text(self.metadata())
        return self.folder
