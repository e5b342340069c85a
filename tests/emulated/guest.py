"""Boots a kernel in QEMU, runs commands in it, returns the output of each.

The guest is an initramfs: busybox, the program with the libraries it needs,
and an /init that runs the commands and powers off. Results come over the
serial console between marked lines. Nothing is shared with the host.
"""

import dataclasses
import pathlib
import re
import subprocess

import initramfs

_INIT = """#!/bin/busybox sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing
mount -t devtmpfs devtmpfs /dev
cd /tmp
# result NAME COMMAND: what the host parses. The body ends with a line end.
result() {
  echo  # firmware may have left a line open
  echo "@@begin $1"
  sh -c "$2" </dev/null 2>/tmp/stderr
  status=$?
  echo
  echo "@@said $1"
  cat /tmp/stderr
  echo
  echo "@@end $1 $status"
}
"""
_BLOCK = re.compile(
    r"^@@begin (\S+)\n(.*?)\n@@said \1\n(.*?)\n@@end \1 (\d+)$", re.M | re.S
)
_APPLETS = (
    "sh cat echo mount ls sleep poweroff head tail dmesg nproc uname mkdir sed "
    "taskset time grep rm true kill dd"
).split()


class GuestFailed(Exception):
    """The machine did not boot, or did not reach its end."""


@dataclasses.dataclass(frozen=True)
class Answer:
    output: str
    said: str  # on stderr
    status: int


@dataclasses.dataclass(frozen=True)
class Guest:
    machine: object  # machines.Machine
    packages: object  # folder of foreign_packages.py
    files: dict  # path in the guest -> file
    folder: object  # for the archive

    def image(self, commands):
        machine, sysroot = self.machine, self.packages / "sysroot"
        lines = [
            f"result {name} '{command}'" for name, command in commands.items()
        ]
        entries = [
            initramfs.script(
                "init", _INIT + "\n".join(lines) + "\npoweroff -f\n"
            ),
            initramfs.copy("bin/busybox", self.packages / "busybox"),
            initramfs.copy(machine.loader, sysroot / machine.loader),
        ]
        entries += [
            initramfs.folder(name)
            for name in ("proc", "sys", "tmp", "dev")
        ]
        entries += [
            initramfs.link(f"bin/{name}", "busybox") for name in _APPLETS
        ]
        entries += [
            initramfs.copy(path.lstrip("/"), file)
            for path, file in self.files.items()
        ]
        found = {}
        pending = [
            file for file in self.files.values()
            if pathlib.Path(file).read_bytes()[:4] == b"\x7fELF"
        ]
        while pending:
            for name in self.needed(pending.pop()):
                if name in found or name in machine.loader:
                    continue
                found[name] = self.find_library(name)
                pending.append(found[name])
        entries += [
            initramfs.copy(f"lib/{name}", file)
            for name, file in found.items()
        ]
        path = self.folder / "initramfs.cpio"
        initramfs.write(path, entries)
        return path

    def needed(self, file):
        dump = subprocess.run(
            [f"{self.machine.triple}-readelf", "-d", str(file)],
            stdout=subprocess.PIPE, text=True, check=True, timeout=60,
        ).stdout
        return re.findall(r"\(NEEDED\).*\[(.+)\]", dump)

    def find_library(self, name):
        for room in ("lib", "usr/lib"):
            path = self.packages / "sysroot" / room / self.machine.triple / name
            if path.exists():
                return path
        raise GuestFailed(f"{name} is in no package of the sysroot")

    def run(self, cpu, commands, seconds):
        """name -> Answer of each of `commands` (name -> shell command)."""
        (kernel,) = (self.packages / "kernel" / "boot").glob("vmlinu[xz]-*")
        command = [
            *self.machine.qemu,
            "-cpu", self.machine.cpus[cpu],
            "-smp", str(self.machine.cpu_count),
            "-m", "1G",
            "-nographic",
            "-nodefaults",
            "-serial", "stdio",
            "-no-reboot",
            "-kernel", str(kernel),
            "-initrd", str(self.image(commands)),
            "-append",
            f"console={self.machine.console} quiet loglevel=1 panic=-1",
        ]
        try:
            console = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=seconds, check=False,
            ).stdout
        except subprocess.TimeoutExpired as late:
            console = late.stdout or b""
            raise GuestFailed(
                f"the guest was not done after {seconds} s; its console ends:\n"
                + _tail(console)
            ) from None
        text = console.decode(errors="replace").replace("\r", "")
        (self.folder / "console.txt").write_text(text)
        answers = {
            name: Answer(output, said, int(status))
            for name, output, said, status in _BLOCK.findall(text)
        }
        missing = [name for name in commands if name not in answers]
        if missing:
            raise GuestFailed(
                f"the guest ended before {missing[0]}; its console ends:\n"
                + _tail(console)
            )
        return answers


def _tail(console):
    return "\n".join(
        console.decode(errors="replace").replace("\r", "").splitlines()[-30:]
    )
