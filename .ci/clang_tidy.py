#!/usr/bin/env python3
"""Runs clang-tidy 14 with the repository's .clang-tidy over C++ sources.

Without --all: over the sources whose code has changed since BASE, which is
$CI_BASE, else the merge base with origin/main; on main itself the newest commit
that is older than four hours before the last one, so that one landing in many
commits is one change. Comments, and the includes that a move rewrites, are no
code. A changed header stands for the source of its name. The others run with
--all, and in `scripts/test --full`. No file is passed over for lack of time.

clang-tidy spends its time on headers, so several sources with the same flags
are checked as one file that includes them; where their names collide they are
checked apart. Prints the seconds for each batch with --verbose.
Exit: 0 no finding, 1 findings.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ("hooks", "base", "logformat", "runtime", "rmap", "viewer", "cli",
           "examples")
BATCH = 12
LANDING_SECONDS = 4 * 3600
SUFFIXES = (".cc", ".c", ".h")


def git(*arguments):
    done = subprocess.run(("git", "-C", str(ROOT)) + arguments, check=False,
                          capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def base_commit():
    """The commit to compare with, and why."""
    if os.environ.get("CI_BASE"):
        return os.environ["CI_BASE"], "CI_BASE"
    head = git("rev-parse", "HEAD").strip()
    merge_base = git("merge-base", "HEAD", "origin/main").strip()
    if merge_base and merge_base != head:
        return merge_base, "the merge base with origin/main"
    last = git("log", "-1", "--format=%ct").strip()
    if last:
        before = git("rev-list", "-1", f"--before={int(last) - LANDING_SECONDS}",
                     "HEAD").strip()
        if before:
            return before, "four hours before the last commit"
    return None, "no earlier commit: all"


def code_of(text):
    """The text without comments, includes, include guards and blanks."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"(?m)^\s*#\s*(?:include.*|(?:ifndef|define) \w+_H_)$"
                  r"|(?<![:\"'])//.*$", " ", text)
    return "".join(text.split())


def changed_files(base):
    """Files of the modules whose code differs from `base`, moved or not."""
    fields = git("diff", "-z", "-M40%", "-l5000", "--name-status",
                 base).split("\0")
    changed, at = set(), 0
    while at + 1 < len(fields):
        status, old = fields[at], fields[at + 1]
        new = fields[at + 2] if status[:1] in "RC" else old
        at += 3 if status[:1] in "RC" else 2
        if status[:1] == "D" or not new.endswith(SUFFIXES):
            continue
        now = (ROOT / new).read_text(encoding="utf-8", errors="replace")
        if code_of(git("show", f"{base}:{old}")) != code_of(now):
            changed.add(new)
    return changed


def sources(path, build):
    """The sources that a file of the build stands for: itself, or those of a
    folder that are compiled as one."""
    if not path.is_relative_to(build):
        return [path]
    if path.parent.name != "Unity":
        return []
    return [pathlib.Path(name) for name in
            re.findall(r'(?m)^#include "(.+)"$', path.read_text())]


def commands(build):
    """Our own sources -> their compiler flags, as a tuple."""
    found = {}
    entries = [(path, entry) for entry in
               json.loads((build / "compile_commands.json").read_text())
               for path in sources(pathlib.Path(
                   entry["directory"], entry["file"]).resolve(), build)]
    for path, entry in entries:
        if not path.is_relative_to(ROOT) or path.is_relative_to(build):
            continue
        name = path.relative_to(ROOT).as_posix()
        if name.split("/")[0] not in MODULES or not path.is_file():
            continue
        words = shlex.split(entry["command"])
        flags = [word for word in words if re.match(
            r"-([IDUWfmO]|std=|isystem)", word)]
        for at, word in enumerate(words):
            if word == "-isystem":
                flags[flags.index(word)] = "-isystem" + words[at + 1]
        found.setdefault(name, (entry["directory"],) + tuple(
            flag for flag in flags if not flag.startswith("-Werror")))
    return found


def chosen_sources(changed, flags):
    """Changed sources, and the sources of changed headers."""
    chosen = set()
    for name in changed:
        stem = name.rsplit(".", 1)[0]
        chosen |= {source for source in (name, stem + ".cc", stem + ".c")
                   if source in flags}
    return chosen


def batches(names, flags):
    """Sources with the same flags, BATCH at a time."""
    groups = {}
    for name in sorted(names):
        key = (name.rsplit(".", 1)[1], flags[name])
        groups.setdefault(key, []).append(name)
    for group in groups.values():
        for at in range(0, len(group), BATCH):
            yield group[at:at + BATCH]


def tidy(names, flags, folder):
    """Returns the findings in `names`, "" if there are none."""
    if len(names) == 1:
        source = ROOT / names[0]
    else:
        suffix = names[0].rsplit(".", 1)[1]
        source = pathlib.Path(folder, names[0].replace("/", "_") +
                              f".{len(names)}.{suffix}")
        source.write_text("".join(f'#include "{ROOT / name}"\n'
                                  for name in names))
    directory, *options = flags[names[0]]
    done = subprocess.run(
        ["clang-tidy-14", "--quiet", f"--config-file={ROOT / '.clang-tidy'}",
         str(source), "--", *options,
         # g++ flags that clang does not have are not findings.
         "-Wno-unknown-warning-option"],
        check=False, capture_output=True, text=True, cwd=directory)
    if done.returncode == 0:
        return ""
    if len(names) > 1:
        # A source that does not compile with the others is checked alone.
        apart = set(re.findall(r"(?m)^(\S+?):\d+:\d+: error: .*"
                               r"\[clang-diagnostic-error\]", done.stdout))
        apart = [name for name in names if str(ROOT / name) in apart]
        if not 0 < len(apart) <= len(names) // 2:
            apart = names[:len(names) // 2]
        rest = [name for name in names if name not in apart]
        return tidy(rest, flags, folder) + tidy(apart, flags, folder)
    return done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "compile_commands.json").is_file():
        print(f"clang-tidy: {build} is not configured; run scripts/test first")
        return 1

    flags = commands(build)
    base, why = (None, "--all") if options.all else base_commit()
    names = set(flags) if base is None else chosen_sources(
        changed_files(base), flags)
    print(f"clang-tidy: {len(names)} of {len(flags)} sources, since: "
          f"{why}{' ' + base[:12] if base else ''}", flush=True)

    findings = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def one(batch):
            began = time.monotonic()
            return batch, tidy(batch, flags, folder), time.monotonic() - began

        for batch, found, seconds in pool.map(one, batches(names, flags)):
            findings += bool(found)
            print(found, end="", flush=True)
            if options.verbose:
                print(f"{seconds:6.1f} s  {len(batch):2}  {batch[0]}",
                      flush=True)
    print(f"clang-tidy: findings in {findings} batches")
    return 1 if findings or not flags else 0


if __name__ == "__main__":
    sys.exit(main())
