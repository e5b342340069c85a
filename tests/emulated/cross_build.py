"""Cross-builds the guest's programs, with the host's compilers."""

import os
import pathlib
import shutil
import subprocess

TARGETS = ("countrace", "counted_loop", "runtime_clock_and_counters_test",
           "runtime_thread_streams_test")
BUILD_SECONDS = 1200


class ToolMissing(Exception):
    """A program is missing on the host."""


def find_tools(machine):
    for tool in ("cmake", "ninja", f"{machine.triple}-g++", machine.qemu[0]):
        if shutil.which(tool) is None:
            raise ToolMissing(f"{tool} is not installed")


def build(machine, source, packages):
    """Returns the build folder. Raises AssertionError: the build failed."""
    folder = packages / "build"
    run = _runner(packages / "build.log", {
        # Objects of another clone are used, and those with precompiled headers.
        "CCACHE_BASEDIR": str(source), "CCACHE_NOHASHDIR": "1",
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
    })
    run(
        "cmake", "-S", source, "-B", folder, "-G", "Ninja", "--toolchain",
        pathlib.Path(source, "cmake/toolchains/debian-cross.cmake"),
        f"-DCOUNTRACE_TRIPLE={machine.triple}",
        f"-DCMAKE_SYSROOT={packages / 'sysroot'}",
        "-DCOUNTRACE_INDEX_MODULE=OFF",
        # Most of the time goes into headers; what is left is a fifth less.
        # ccache needs -fpch-preprocess.
        "-DCOUNTRACE_PRECOMPILE_HEADERS=ON", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG -fpch-preprocess",
    )
    run("cmake", "--build", folder, "--target", *TARGETS)
    return folder


def _runner(log, variables):
    log.unlink(missing_ok=True)

    def run(*command):
        with log.open("ab") as output:
            done = subprocess.run(
                [str(word) for word in command], stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, check=False,
                timeout=BUILD_SECONDS, env={**os.environ, **variables},
            )
        if done.returncode != 0:
            tail = log.read_text(errors="replace").splitlines()[-30:]
            raise AssertionError(
                f"{command[0]} exited with {done.returncode}; {log} ends:\n"
                + "\n".join(tail)
            )

    return run
