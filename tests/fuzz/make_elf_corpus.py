#!/usr/bin/env python3
"""Writes the first inputs of the fuzzers that read programs: usdt_notes,
function_symbols and unwind. Small ELF files, each with what one of them reads.

usage: make_elf_corpus.py CORPUS
"""
import pathlib
import struct
import sys

LOAD, INTERP = 1, 3
PROGBITS, SYMTAB, STRTAB, DYNAMIC, NOTES, DYNSYM = 1, 2, 3, 6, 7, 11
CODE = 0x1000  # where the code is loaded
BYTES = 0x400  # of all that is loaded


def padded(data, to=8):
    return data + bytes(-len(data) % to)


def elf(sections, narrow=False, kind=3, segments=(LOAD,)):
    """`sections`: {name: (type, bytes, address, link, entry size)}. The file is
    loaded at CODE, from its begin."""
    names, offsets = b'\0', {}
    for name in [*sections, '.shstrtab']:
        offsets[name] = len(names)
        names += name.encode() + b'\0'
    sections = {**sections, '.shstrtab': (STRTAB, names, 0, 0, 0)}
    head, part, row = (52, 32, 40) if narrow else (64, 56, 64)
    body, places = b'', []
    begin = head + part * len(segments)
    begin += -begin % 8
    for _, data, *_ in sections.values():
        places.append(begin + len(body))
        body += padded(data)
    table = begin + len(body)
    word = 'I' if narrow else 'Q'
    ident = b'\x7fELF' + bytes([1 if narrow else 2, 1, 1]) + bytes(9)
    out = ident + struct.pack(
        f'<HHI{word}{word}{word}IHHHHHH', kind, 3 if narrow else 62, 1,
        CODE + begin, head, table, 0, head, part, len(segments), row,
        len(sections) + 1, len(sections))
    for each in segments:
        if narrow:
            out += struct.pack('<8I', each, 0, CODE, CODE, BYTES, BYTES, 5, 1)
        else:
            out += struct.pack('<II6Q', each, 5, 0, CODE, CODE, BYTES, BYTES, 1)
    out = out.ljust(begin, b'\0') + body + bytes(row)
    for place, (name, (type_, data, address, link, entry)) in zip(
            places, sections.items()):
        link = list(sections).index(link) + 1 if link else 0
        align = 4 if type_ == NOTES else 8
        if narrow:
            out += struct.pack('<10I', offsets[name], type_, 2, address, place,
                               len(data), link, 0, align, entry)
        else:
            out += struct.pack('<IIQQQQIIQQ', offsets[name], type_, 2, address,
                               place, len(data), link, 0, align,
                               entry)
    return out


def note(provider, name, arguments='', semaphore=0, narrow=False,
         owner=b'stapsdt\0', base=0):
    text = b''.join(each.encode() + b'\0'
                    for each in (provider, name, arguments))
    description = struct.pack('<3I' if narrow else '<3Q', CODE + 0x40, base,
                              semaphore) + text
    return struct.pack('<3I', len(owner), len(description), 3) + padded(
        owner, 4) + padded(description, 4)


def symbols(names, undefined=()):
    """(symbol table, string table): functions one after the other."""
    strings, table = b'\0', bytes(24)
    for number, name in enumerate([*names, *undefined]):
        table += struct.pack('<IBBHQQ', len(strings), 0x12, 0,
                             0 if name in undefined else 1,
                             CODE + 0x40 + 8 * number, 8)
        strings += name.encode() + b'\0'
    return table, strings


def with_notes(*notes, narrow=False, **more):
    sections = {'.note.stapsdt': (NOTES, b''.join(notes), 0, None, 0)}
    return elf({**sections, **more}, narrow=narrow, segments=(LOAD, INTERP))


def with_functions(names, undefined=(), dynamic=b'', segments=(LOAD,)):
    table, strings = symbols(names, undefined)
    sections = {'.text': (PROGBITS, bytes(64), CODE + 0x40, None, 0),
                '.symtab': (SYMTAB, table, 0, '.strtab', 24),
                '.strtab': (STRTAB, strings, 0, None, 0)}
    if dynamic:
        sections['.dynamic'] = (DYNAMIC, dynamic, 0, '.strtab', 16)
    return elf(sections, segments=segments)


def with_rules(rules, first=b'\x0c\x07\x08\x90\x01'):
    """A CIE whose rules begin with rsp + 8, and an FDE of the first 64 bytes of
    code with `rules`."""
    cie = b'\0' * 4 + b'\1zR\0' + b'\1\x78\x10' + b'\1\x1b' + first
    cie = padded(cie + b'\0', 4)
    frame = struct.pack('<I', len(cie)) + cie
    # Addresses are relative to where they are stored.
    at = CODE + 0x200
    fde = struct.pack('<Iii', len(frame) + 4,
                      CODE + 0x40 - (at + len(frame) + 8), 0x40)
    fde = padded(fde + b'\0' + rules, 4)
    frame += struct.pack('<I', len(fde)) + fde + bytes(4)
    return elf({'.eh_frame': (PROGBITS, frame, at, None, 0)})


def stack(counter, words, file):
    return struct.pack(f'<{2 + len(words)}H', counter, len(words), *words) + file


def main():
    corpus = pathlib.Path(sys.argv[1])
    cyg, cyg_names = symbols(['f'], ['__cyg_profile_func_enter'])
    hooks = {'countrace_hooks': (PROGBITS, bytes(16), 0, None, 0)}
    inputs = {
        'usdt_notes': {
            'notes': with_notes(note('app', 'work__enter', '-8@%rax'),
                                note('app', 'work__exit', '', 0x60)),
            'narrow': with_notes(note('app', 'x', narrow=True), narrow=True),
            'cut': with_notes(note('app', 'x')[:-9]),
            'other_owner': with_notes(note('a', 'b', owner=b'GNU\0')),
            'base': with_notes(
                note('a', 'b', base=CODE),
                **{'.stapsdt.base': (PROGBITS, b'\0', CODE + 64, None, 0)}),
            'hooks': with_notes(note('app', 'x'), **hooks),
            'static': elf(hooks, kind=2),
            'cyg_profile': elf(
                {'.dynsym': (DYNSYM, cyg, 0, '.dynstr', 24),
                 '.dynstr': (STRTAB, cyg_names, 0, None, 0)}),
            'text': b'#!/bin/sh\n'},
        'function_symbols': {
            'parts': with_functions(['f', 'f.cold', 'f.cold.1', '_Z1gv']),
            'versions': with_functions(['a@@V_1', 'a@V_0', '@@V_1'],
                                       ['__cxa_throw']),
            'program': with_functions(['main'], ['swapcontext'],
                                      segments=(LOAD, INTERP)),
            'library': with_functions(['libc.so.6'],
                                      dynamic=struct.pack('<4Q', 14, 1, 0, 0)),
            'go': elf({'.gopclntab': (PROGBITS, b'\0', 0, None, 0)})},
        'unwind': {
            'caller': stack(0x44, [0x60, 0x58, 0x70], with_rules(b'')),
            'pushed': stack(0x50, [0, 0x60, 0x58],
                            with_rules(b'\x41\x0e\x10\x86\x02')),
            'by_frame_pointer': stack(0x50, [0x8000, 0x60],
                                      with_rules(b'\x0d\x06')),
            'expression': stack(0x50, [0x60, 0x60],
                                with_rules(b'\x0f\x03\x77\x08\x06')),
            'remembered': stack(0x50, [0x60], with_rules(
                b'\x0a\x0e\x20\x41\x0b\x16\x10\x02\x77\x00')),
            'no_rules': stack(0x50, [0x60], elf({}))}}
    for target, files in inputs.items():
        (corpus / target).mkdir(exist_ok=True)
        for name, data in files.items():
            (corpus / target / name).write_bytes(data)


if __name__ == '__main__':
    main()
