#!/usr/bin/env python3
"""Runs clang-tidy 14 with the repository's .clang-tidy over the C++ sources.

Files changed since the last commit on the main branch come first, then the
rest, until the time is used up; what was not reached is said and does not
fail. A file that was clean is not checked again while neither it, nor any
header of the project, nor .clang-tidy has changed.
Exit: 0 no finding, 1 findings.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ("base", "hooks", "logformat", "runtime", "rmap", "viewer", "cli", "examples")


def git_lines(*arguments):
    done = subprocess.run(("git", "-C", str(ROOT)) + arguments, check=False,
                          capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def compiled_sources(build):
    """Our own files of the compilation database, relative to the root."""
    found = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT):
            relative = path.relative_to(ROOT).as_posix()
            if relative.split("/")[0] in MODULES:
                found.add(relative)
    return sorted(found)


def fingerprint_of_headers():
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for name in sorted(git_lines("ls-files", "*.h")):
        if (ROOT / name).is_file():
            digest.update(name.encode() + (ROOT / name).read_bytes())
    return digest.hexdigest()


def tidy(build, name):
    """Returns (name, output, ok)."""
    done = subprocess.run(
        ["clang-tidy-14", "--quiet", "-p", str(build),
         # g++ flags clang does not know are not findings.
         "--extra-arg=-Wno-unknown-warning-option", str(ROOT / name)],
        check=False, capture_output=True, text=True)
    return name, done.stdout + (done.stderr if done.returncode else ""), \
        done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "compile_commands.json").is_file():
        print(f"clang-tidy: {build} is not configured; run scripts/test first")
        return 1

    changed = set(git_lines("diff", "--name-only", "HEAD") +
                  git_lines("diff", "--name-only", "HEAD~1", "HEAD"))
    names = sorted(compiled_sources(build), key=lambda n: n not in changed)
    headers = fingerprint_of_headers()
    stamps = build / "clang-tidy-clean"
    stamps.mkdir(exist_ok=True)

    def stamp(name):
        content = (ROOT / name).read_bytes()
        key = hashlib.sha256(headers.encode() + name.encode() + content)
        return stamps / key.hexdigest()

    todo = [name for name in names if not stamp(name).exists()]
    deadline = time.monotonic() + options.seconds
    findings, not_reached = [], []

    def one(name):
        if time.monotonic() > deadline:
            return name, None, True
        return tidy(build, name)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, output, ok in pool.map(one, todo):
            if output is None:
                not_reached.append(name)
            elif ok:
                stamp(name).touch()
            else:
                findings.append(name)
                print(output)
    print(f"clang-tidy: {len(names)} files, {len(names) - len(todo)} known to "
          f"be clean, {len(findings)} with findings, {len(not_reached)} not "
          "reached in time")
    return 1 if findings or not names else 0


if __name__ == "__main__":
    sys.exit(main())
