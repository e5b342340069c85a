"""Writes an initramfs: a cpio archive ("newc") of files, made from a dict.

No cpio program, no root: device nodes come from the guest's devtmpfs.
"""

import dataclasses
import pathlib

REGULAR, FOLDER, LINK = 0o100755, 0o040755, 0o120777


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    mode: int
    body: bytes


def folder(name):
    return Entry(name, FOLDER, b"")


def link(name, target):
    return Entry(name, LINK, target.encode())


def script(name, text):
    return Entry(name, REGULAR, text.encode())


def copy(name, source):
    return Entry(name, REGULAR, pathlib.Path(source).read_bytes())


def _pad(size):
    return b"\0" * (-size % 4)


def _record(number, entry):
    name = entry.name.encode() + b"\0"
    links = 2 if entry.mode == FOLDER else 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.body), 0, 0, 0, 0,
              len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return head + _pad(len(head)) + entry.body + _pad(len(entry.body))


def write(path, entries):
    """Parents of entries are made, each once."""
    records = []
    seen = set()
    for entry in entries:
        parts = pathlib.PurePosixPath(entry.name).parts[:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/".join(parts[:depth])
            if parent not in seen:
                seen.add(parent)
                records.append(folder(parent))
        if entry.name not in seen:
            seen.add(entry.name)
            records.append(entry)
    archive = b"".join(_record(i + 1, e) for i, e in enumerate(records))
    pathlib.Path(path).write_bytes(
        archive + _record(0, Entry("TRAILER!!!", 0, b""))
    )
