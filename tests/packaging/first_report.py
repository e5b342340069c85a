#!/usr/bin/env python3
"""How long it takes from `git clone` to the demo's report on a bare Debian 12:
a new root made by debootstrap, without a compiler cache, in which scripts/demo
installs what it needs.

Prints seconds since the clone at each step, and those of `cmake --install` after
it. Not a test: it needs root, debootstrap, Debian's packages and the npm
registry, and two idle CPUs.

Usage: first_report.py [--keep FOLDER] [--mirror URL] [COMMAND...]
COMMAND, instead of scripts/demo, runs in the clone. Exit: that of the command.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# How this machine reaches its registries.
FILES = ("etc/resolv.conf", "etc/hosts", "etc/npmrc", "root/.npmrc",
         "etc/ssl/certs/ca-certificates.crt")
BEGIN = """\
mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
mount --rbind /dev "$1/dev" && mount -t tmpfs tmp "$1/tmp" &&
exec chroot "$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 CI=true \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  bash -c 'cd /countrace && exec "$@"' - "${@:2}"
"""


def make_root(root, mirror):
    subprocess.run(("debootstrap", "--variant=minbase",
                    "--include=ca-certificates", "bookworm", root, mirror),
                   check=True, stdout=sys.stderr)
    for name in FILES:
        if pathlib.Path("/", name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(pathlib.Path("/", name), root / name)
    for name in pathlib.Path("/etc/apt/apt.conf.d").iterdir():
        shutil.copyfile(name, root / "etc/apt/apt.conf.d" / name.name)


def run(root, command, began):
    """Runs `command` in the root; prints its lines, and when its steps began."""
    process = subprocess.Popen(
        ("unshare", "--mount", "--pid", "--fork", "bash", "-c", BEGIN, "-", root,
         *command),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace")
    steps = []
    for line in process.stdout:
        sys.stderr.write(line)
        if line.startswith(("== ", "scripts/setup: installing")):
            steps.append((time.monotonic() - began, line.strip()[:60]))
    return process.wait(), steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--keep", metavar="FOLDER",
                        help="make the root there, and leave it")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("SKIPPED: needs root and debootstrap")
        return 0
    command = arguments.command or ["scripts/demo"]
    root = pathlib.Path(arguments.keep or
                        tempfile.mkdtemp(prefix="countrace-root-"))
    try:
        make_root(root, arguments.mirror)
        began = time.monotonic()
        subprocess.run(("git", "clone", "-q", SOURCE, root / "countrace"),
                       check=True)
        status, steps = run(root, command, began)
        steps.append((time.monotonic() - began, f"{command[0]}: exit {status}"))
        if status == 0 and not arguments.command:
            status, _ = run(root, ("cmake", "--install", "build/dev", "--prefix",
                                   "/opt/countrace"), began)
            steps.append((time.monotonic() - began,
                          f"cmake --install build/dev: exit {status}"))
        for seconds, step in steps:
            print(f"{seconds:7.1f} s  {step}")
        return status
    finally:
        if not arguments.keep:
            shutil.rmtree(root)


if __name__ == "__main__":
    sys.exit(main())
