"""Debian's kernel of the build's own architecture, with what builds modules for
it, unpacked without root; and a module built with it."""

import os
import re
import shutil
import subprocess

from foreign_packages import SHELL, ForeignApt, PackagesMissing, unpack
from machines import NATIVE

BUILD_SECONDS = 300


def prepare(folder):
    """Leaves in `folder` what guest.Guest needs, and `headers/`. Does nothing
    the second time. Raises PackagesMissing."""
    if (folder / "busybox").exists():
        return
    for name in ("kernel", "headers", "shell"):
        shutil.rmtree(folder / name, ignore_errors=True)
    apt = ForeignApt(NATIVE.name, folder)
    apt.update()
    image = apt.depends(NATIVE.kernel_package)
    headers = image.replace("-image-", "-headers-")
    unpack(apt.file(image), folder / "kernel")
    kbuild = re.sub(r"linux-image-(\d+\.\d+).*", r"linux-kbuild-\1", image)
    common = headers.removesuffix(NATIVE.name) + "common"
    for package in (headers, common, kbuild):
        unpack(apt.file(package), folder / "headers")
    # Its only absolute path.
    makefile = folder / "headers/usr/src" / headers / "Makefile"
    makefile.write_text(
        makefile.read_text().replace("/usr/src", f"{folder}/headers/usr/src")
    )
    sysroot = folder / "sysroot"
    if not sysroot.is_symlink():
        sysroot.symlink_to("/")
    unpack(apt.file(SHELL), folder / "shell")
    # Last: says that all is there.
    shutil.copy2(folder / "shell/bin/busybox", folder / "busybox")


def build_module(folder, source, hooks):
    """Builds the module in folder `source` for that kernel. Returns its file.
    `hooks`: the folder of countrace_kernel_hooks.h."""
    work = folder / "module"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(source, work)
    (headers,) = (folder / "headers/usr/src").glob(f"*-{NATIVE.name}")
    try:
        done = subprocess.run(
            ["make", "-C", str(headers), f"M={work}",
             f"COUNTRACE_KERNEL_HOOKS={hooks}", "modules"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
            timeout=BUILD_SECONDS, env={"PATH": os.environ["PATH"]},
        )
    except FileNotFoundError as missing:
        raise PackagesMissing(f"{missing.filename} is not installed") from None
    warnings = [line for line in done.stdout.splitlines()
                if "warning:" in line or "error:" in line]
    if done.returncode != 0 or warnings:
        raise AssertionError(f"the module does not build:\n{done.stdout}")
    (module,) = work.glob("*.ko")
    return module
