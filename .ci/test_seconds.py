#!/usr/bin/env python3
"""Prints the seconds of the tests of each folder below tests/ beside its line in
house_budget.txt:

   seconds N tests/FOLDER

A folder fails that takes more than 3 x N. On a busy machine all folders take
longer: then N is multiplied by the median of what the other folders take of
theirs. Make its tests cheaper, or label one `slow`, for --full. A folder that
has no line fails, too.

Usage: test_seconds.py [--self-test] BUILD. Reads BUILD/junit.xml of a whole run,
and the folders from ctest. Exit: 0 within the limits, 1 not.
"""
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET = "tests/house_budget.txt"
TIMES = 3


def folder_of(path):
    """"tests/e2e" of tests/e2e/pairs/CMakeLists.txt."""
    return "/".join(path.parts[:-1][:2])


def folders_of(shown, root):
    """Test -> folder, from the object that ctest --show-only=json-v1 prints."""
    graph = shown["backtraceGraph"]
    folders = {}
    for test in shown["tests"]:
        # The outermost place: the file that calls a function of ours.
        node = graph["nodes"][test["backtrace"]]
        while "parent" in node:
            node = graph["nodes"][node["parent"]]
        path = pathlib.Path(graph["files"][node["file"]])
        folders[test["name"]] = folder_of(path.relative_to(root))
    return folders


def seconds_of(junit, folders):
    found = collections.Counter()
    for case in ElementTree.fromstring(junit).iter("testcase"):
        name = case.get("name")
        if name in folders:  # not one that an older run left in the file
            found[folders[name]] += float(case.get("time") or 0)
    return found


def limits_of(budget):
    lines = (line.split("#")[0].split() for line in budget.split("\n"))
    return {words[2]: int(words[1]) for words in lines if words[:1] == ["seconds"]}


def problems(found, limits):
    out = [f"{folder}: {seconds:.0f} s, and no line of {BUDGET}"
           for folder, seconds in sorted(found.items()) if folder not in limits]
    for folder, limit in sorted(limits.items()):
        others = [found[other] / limits[other] for other in limits
                  if other != folder and other in found]
        times = TIMES * max(1, statistics.median(others or [1]))
        if found[folder] > times * limit:
            out.append(f"{folder}: {found[folder]:.0f} s, more than {times:.1f} x {limit} s")
    return out


class TestSecondsSelfTest(unittest.TestCase):
    def test_folder_of_the_caller(self):
        shown = {"backtraceGraph": {
            "files": ["/r/tests/CMakeLists.txt", "/r/tests/e2e/pairs/CMakeLists.txt"],
            "nodes": [{"file": 1}, {"file": 0, "parent": 0}, {"file": 0}]},
            "tests": [{"name": "a", "backtrace": 1}, {"name": "b", "backtrace": 2}]}
        self.assertEqual({"a": "tests/e2e", "b": "tests"},
                         folders_of(shown, pathlib.Path("/r")))

    def test_sums(self):
        self.assertEqual(
            {"tests/e2e": 3.5, "tests": 1}, seconds_of(
                '<testsuite><testcase name="a" time="1.5"/><testcase name="b" time="2"/>'
                '<testcase name="c" time="1"/></testsuite>',
                {"a": "tests/e2e", "b": "tests/e2e", "c": "tests"}))

    def test_limits(self):
        limits = limits_of("lines 9 rmap\nseconds 2 tests/e2e  # live\n")
        self.assertEqual({"tests/e2e": 2}, limits)
        count = collections.Counter
        self.assertEqual([], problems(count({"tests/e2e": 6}), limits))
        self.assertEqual(1, len(problems(count({"tests/e2e": 6.1}), limits)))
        self.assertEqual(1, len(problems(count({"tests/cli": 1}), limits)))
        limits |= {"tests/cli": 2, "tests/rmap": 2}
        slow = {"tests/cli": 4, "tests/rmap": 4}  # twice the seconds
        self.assertEqual([], problems(count({"tests/e2e": 12, **slow}), limits))
        self.assertEqual(1, len(problems(count({"tests/e2e": 12.1, **slow}), limits)))


def main():
    if sys.argv[1:2] == ["--self-test"]:
        unittest.main(argv=[sys.argv[0], "-v"])
    build = pathlib.Path(sys.argv[1])
    shown = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = seconds_of((build / "junit.xml").read_text(encoding="utf-8", errors="replace"),
                       folders_of(json.loads(shown), ROOT))
    limits = limits_of((ROOT / BUDGET).read_text())
    for folder, seconds in found.most_common():
        print(f"{seconds:8.0f} s of {limits.get(folder, 0):5} s  {folder}")
    wrong = problems(found, limits)
    for problem in wrong:
        print(f"test seconds: {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
