#!/usr/bin/env python3
"""Downloads and unpacks the Debian packages that a foreign build and guest
need.

    foreign_packages.py ARCH DIRECTORY

Leaves in DIRECTORY: `sysroot/` (libraries and headers), `kernel/` (the
kernel), `busybox` (the guest's shell, static). Uses apt with its own state, so
it needs no root and does not change the host's packages. A second run does
nothing. Exit: 0 all is there, 1 the packages are not available (stderr has the
reason).
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from machines import MACHINES

# Libraries that countrace is built with (scripts/setup); apt adds their
# dependencies.
LIBRARIES = (
    "libabsl-dev",
    "libelf-dev",
    "libdw-dev",
    "libiberty-dev",
    "libseccomp-dev",
    "libpfm4-dev",
    "libbpf-dev",
    "libboost-dev",
    "libre2-dev",
    "libcli11-dev",
    "nlohmann-json3-dev",
    "libtomlplusplus-dev",
    "libbabeltrace2-dev",
    "libtraceevent-dev",
    "libzstd-dev",
    "libsqlite3-dev",
    "libprotozero-dev",
    "libcapstone-dev",
    "liblttng-ust-dev",
    "catch2",
    "libstdc++6",
)
SHELL = "busybox-static"
APT_SECONDS = 600


class PackagesMissing(Exception):
    """The packages are not available, with the reason."""


def run(command, **options):
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=APT_SECONDS,
            **options,
        )
    except FileNotFoundError:
        raise PackagesMissing(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise PackagesMissing(
            f"{command[0]} took more than {APT_SECONDS} s"
        ) from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise PackagesMissing(
            f"{' '.join(command[:1] + command[-3:])}: exit {done.returncode}: "
            f"{lines[-1]}"
        )
    return done.stdout


def uri_files(listed):
    """The file names in the output of --print-uris."""
    names = [
        line.split()[1] for line in listed.splitlines() if line.startswith("'")
    ]
    if not names:
        raise PackagesMissing(f"apt names no file; it says: {listed.strip()}")
    return names


class ForeignApt:
    """apt for another architecture, with its state below `directory`."""

    def __init__(self, architecture, directory):
        self.archives = directory / "archives"
        state = directory / "state"
        for folder in (self.archives / "partial", state / "lists" / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        self.options = [
            f"-oDir::State={state}",
            f"-oDir::State::status={state}/status",
            f"-oDir::Cache={directory}",
            f"-oDir::Cache::archives={self.archives}",
            f"-oAPT::Architecture={architecture}",
            f"-oAPT::Architectures::={architecture}",
            # apt's own user may not be able to enter the folder.
            f"-oAPT::Sandbox::User={os.environ.get('USER', 'root')}",
            "-oAcquire::Languages=none",
        ]

    def update(self):
        """Not every source has every architecture: a missing one shows when a
        package is not found."""
        try:
            run(["apt-get", *self.options, "-q", "update"])
        except PackagesMissing as why:
            print(f"foreign packages: {why}", file=sys.stderr)

    def depends(self, package):
        """The first package that `package` depends on."""
        lines = run(["apt-cache", *self.options, "depends", package])
        for line in lines.splitlines():
            key, _, name = line.strip().partition(": ")
            if key == "Depends":
                return name
        raise PackagesMissing(f"{package} depends on no kernel")

    def files_with_dependencies(self, packages):
        """The .deb files of `packages` and of their dependencies, downloaded.
        """
        install = [
            "apt-get", *self.options, "-q", "-y", "--no-install-recommends",
        ]
        # apt leaves out packages in its cache: list against an empty one.
        empty = self.archives.parent / "nothing"
        (empty / "partial").mkdir(parents=True, exist_ok=True)
        listed = run(
            [*install, f"-oDir::Cache::archives={empty}", "--print-uris",
             "install", *packages]
        )
        run([*install, "--download-only", "install", *packages])
        return [self.archives / name for name in uri_files(listed)]

    def file(self, package):
        """The .deb file of `package` alone, downloaded."""
        listed = run(
            ["apt-get", *self.options, "download", "--print-uris", package]
        )
        (name,) = uri_files(listed)
        if not (self.archives / name).exists():
            run(
                ["apt-get", *self.options, "-q", "download", package],
                cwd=self.archives,
            )
        return self.archives / name


def unpack(deb, target):
    target.mkdir(parents=True, exist_ok=True)
    run(["dpkg-deb", "-x", str(deb), str(target)])


def make_links_relative(sysroot):
    """An absolute link would lead to the host's files."""
    for folder, folders, files in os.walk(sysroot):
        for name in files + folders:
            path = pathlib.Path(folder, name)
            if not path.is_symlink():
                continue
            target = os.readlink(path)
            if target.startswith("/"):
                inside = str(sysroot) + target
                path.unlink()
                path.symlink_to(os.path.relpath(inside, folder))


def prepare(architecture, directory):
    machine = MACHINES[architecture]
    directory = directory.resolve()
    # Downloads and unpacking are skipped once done; delete the folder to renew.
    done = directory / "unpacked.json"
    wanted = [*LIBRARIES, SHELL, machine.kernel_package]
    if done.exists() and json.loads(done.read_text()) == wanted:
        return
    for name in ("sysroot", "kernel", "shell"):
        shutil.rmtree(directory / name, ignore_errors=True)
    apt = ForeignApt(architecture, directory)
    apt.update()
    for deb in apt.files_with_dependencies(LIBRARIES):
        unpack(deb, directory / "sysroot")
    make_links_relative(directory / "sysroot")
    unpack(apt.file(apt.depends(machine.kernel_package)), directory / "kernel")
    unpack(apt.file(SHELL), directory / "shell")
    shutil.copy2(directory / "shell" / "bin" / "busybox", directory / "busybox")
    done.write_text(json.dumps(wanted))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in MACHINES:
        print(f"usage: {sys.argv[0]} {{{','.join(MACHINES)}}} DIRECTORY",
              file=sys.stderr)
        return 2
    try:
        prepare(sys.argv[1], pathlib.Path(sys.argv[2]))
    except PackagesMissing as why:
        print(f"foreign packages: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
