#!/usr/bin/env python3
"""Finds wording that CONTRIBUTING's "Plain words" excludes, in comments,
messages and documents.

Usage: wording_test.py [--self-test] [--by-folder] [ROOT]. Exit: 0 clean,
1 findings. --by-folder prints one number a folder, too.
"""

import collections
import pathlib
import re
import subprocess
import sys
import unittest

SUFFIXES = {".h", ".cc", ".c", ".ts", ".tsx", ".mjs", ".css", ".html", ".py",
            ".sh", ".cmake", ".txt", ".toml", ".md", ".in"}
# CONTRIBUTING and this file name the words that they exclude.
EXCEPT = ("CONTRIBUTING.md", "tests/wording_test.py", "tests/fuzz/corpus/",
          "viewer/web/package-lock.json")

# (pattern, what to write instead)
RULES = [
    (re.compile(r"^\s*(?://|#|\*)+ ?Of [a-z]|(?<![\"'])[\"']Of [a-z]"),
     "begin with the subject, not with \"Of ...\""),
    (re.compile(r"\b(?:nobody|somebody|whoever)\b", re.IGNORECASE),
     "name the thing or the role"),
    (re.compile(r"\b(?:tells|told|knows|wants|asks)\b", re.IGNORECASE),
     "code reads, stores, returns, reports, receives, needs, requests"),
    (re.compile(r"\bgoes without saying\b", re.IGNORECASE), "leave it out"),
    (re.compile(r"\bso-many-th\b"), "every N events"),
    (re.compile(r"\bof no other\b"), "say what it is of"),
]

# Names in code, but for those that rmap and the page share with rmap/dispatch.
TURNS = (re.compile(r"\b(?:\w+_turns?_?|turns?_\w+|\w*[a-z]Turns?(?:[A-Z]\w*)?)\b"),
         "sets rotate: a rotation, its interval, their schedule")
CODE = (".h", ".cc", ".c")
TURNS_REMAIN = ("rmap/", "viewer/", "tests/")


def findings_in(name, text):
    """One message for each finding in a file."""
    rules = RULES
    if name.endswith(CODE) and not name.startswith(TURNS_REMAIN):
        rules = [*RULES, TURNS]
    return [f"{name}:{number}: \"{match.group(0).strip()}\": {instead}"
            for number, line in enumerate(text.splitlines(), 1)
            for pattern, instead in rules
            for match in pattern.finditer(line)]


def check(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], check=True,
                            capture_output=True, text=True).stdout.split("\n")
    found = []
    for name in listed:
        path = root / name
        has_text = path.suffix in SUFFIXES or name.startswith((".ci/", "scripts/"))
        if name.startswith(EXCEPT) or not has_text or not path.is_file():
            continue
        found += findings_in(name, path.read_text(encoding="utf-8",
                                                  errors="replace"))
    return found


class WordingSelfTest(unittest.TestCase):
    """Each rule is shown to fail, so that silence means something."""

    def count(self, line):
        return len(findings_in("a.h", line))

    def test_dangling_of_is_found(self):
        self.assertEqual(1, self.count("  // Of a thread on no CPU."))
        self.assertEqual(1, self.count("# Of perf.data"))
        self.assertEqual(1, self.count('  "Of the calls: they failed.",'))
        self.assertEqual(0, self.count("// Offsets of fields."))
        self.assertEqual(0, self.count("// One of a kind."))

    def test_persons_are_found(self):
        self.assertEqual(2, self.count("// Nobody waits, whoever comes"))

    def test_verbs_of_persons_are_found(self):
        self.assertEqual(2, self.count('"the caller is told what it wants"'))
        self.assertEqual(0, self.count("place_told = untold;"))

    def test_phrase_is_found(self):
        self.assertEqual(1, self.count("// That goes without saying."))

    def test_dialect_is_found(self):
        self.assertEqual(1, self.count("at each so-many-th event"))
        self.assertEqual(1, self.count("of this range and of no other"))

    def test_turns_of_sets_are_found(self):
        self.assertEqual(3, self.count("int set_turns_ = InTurns(turn_ns);"))
        self.assertEqual(0, self.count("on_returns(); // turns words into numbers"))
        self.assertEqual([], findings_in("rmap/a.h", "int in_turns;"))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self-test"]:
        unittest.main(argv=[sys.argv[0], "-v"])
    by_folder = "--by-folder" in arguments
    names = [name for name in arguments if not name.startswith("--")]
    root = pathlib.Path(names[0] if names else
                        pathlib.Path(__file__).parent.parent)
    found = check(root)
    for finding in found:
        print(f"wording: {finding}")
    if by_folder:
        folders = collections.Counter(
            "/".join(finding.split(":")[0].split("/")[:-1]) or "."
            for finding in found)
        for folder, number in sorted(folders.items()):
            print(f"wording: {folder}: {number}")
    print(f"wording: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
