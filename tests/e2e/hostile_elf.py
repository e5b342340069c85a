"""ELF files of 64 bits, made hostile: sections replaced, compressed bombs,
names of sources. Each bomb is of the size that the caller gives it."""
import lzma
import struct
import zlib

SHF_COMPRESSED = 0x800
SHT_PROGBITS = 1
FOLDER = b'/' + b'-'.join([b'placeholder-of-a-folder'] * 4)
FILE = b'placeholder-of-a-file-placeholder.c'


def with_sections(elf, sections, hidden=()):
    """`sections`: payload and flags by name, in place of those of that name.
    Those of `hidden` have another name and kind."""
    header = list(struct.unpack_from('<16sHHIQQQIHHHHHH', elf, 0))
    at, size, count, names = header[6], header[11], header[12], header[13]
    table = [list(struct.unpack_from('<IIQQQQIIQQ', elf, at + i * size)) for i in range(count)]
    text = elf[table[names][4]:table[names][4] + table[names][5]]

    def name_of(section):
        return text[section[0]:text.index(b'\0', section[0])].decode()

    by_name = {name_of(section): section for section in table}
    for name in hidden:
        by_name[name][1] = SHT_PROGBITS
    out = bytearray(elf)
    for name, (payload, flags) in sections.items():
        section = by_name.get(name)
        if section is None:
            section = [len(text), SHT_PROGBITS, 0, 0, 0, 0, 0, 0, 1, 0]
            text += name.encode() + b'\0'
            table.append(section)
        out += b'\0' * (-len(out) % 16)
        section[2], section[4], section[5] = flags, len(out), len(payload)
        out += payload
    table[names][4], table[names][5] = len(out), len(text)
    out += text
    out += b'\0' * (-len(out) % 16)
    header[6], header[12] = len(out), len(table)
    for section in table:
        out += struct.pack('<IIQQQQIIQQ', *section)
    struct.pack_into('<16sHHIQQQIHHHHHH', out, 0, *header)
    return bytes(out)


def zlib_bomb(size):
    """A compressed section of zeros, made of one piece again and again."""
    piece = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(piece)) + packer.flush(zlib.Z_FULL_FLUSH)
    whole = size // piece
    end = packer.flush(zlib.Z_FINISH)
    check = struct.pack('>I', (whole * piece % 65521) << 16 | 1)
    return (struct.pack('<IIQQ', 1, 0, whole * piece, 1) + b'\x78\x9c' + packed * whole + end +
            check), SHF_COMPRESSED


def lzma_bomb(size):
    packer = lzma.LZMACompressor(preset=0)
    out = [packer.compress(bytes(1 << 24)) for _ in range(size >> 24)]
    return b''.join(out) + packer.flush(), 0


def line_bomb(rows):
    """A table of lines of version 3 that has a row in each byte."""
    files = b'\0' + b'a.c\0\0\0\0' + b'\0'
    head = struct.pack('<BBbBB', 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    # One address and one line further, again and again.
    program = b'\0\x09\x02' + struct.pack('<Q', 0x1000) + b'\x21' * rows + b'\0\1\1'
    body = struct.pack('<HI', 3, len(head + files)) + head + files + program
    return struct.pack('<I', len(body)) + body, 0


def debug_link(name):
    text = name.encode() + b'\0'
    return text + b'\0' * (-len(text) % 4) + struct.pack('<I', 0x12345678), 0


def with_source(elf, path):
    """The same, of a source with another name (hostile_code.c)."""
    folder, _, file = str(path).encode().rpartition(b'/')
    whole = FOLDER + b'/' + FILE
    if whole in elf:
        return elf.replace(whole, str(path).encode().ljust(len(whole), b'\0'))
    assert FOLDER in elf and FILE in elf
    return (elf.replace(FOLDER, folder.ljust(len(FOLDER), b'\0'))
            .replace(FILE, file.ljust(len(FILE), b'\0')))
