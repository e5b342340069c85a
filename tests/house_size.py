#!/usr/bin/env python3
"""Prints the size of the tree, and its tangles: file sizes for each module,
include cycles between units, hubs, and repeated runs of lines.

A unit is x.h with x.cc. A file counts by its lines, as `wc -l`. A run is six
successive lines, trimmed, without blank lines and lone brackets, that occur
twice in C and C++ files. Prints only: it has no limits.

Usage: house_size.py [--self-test] [ROOT]
"""

import collections
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

SUFFIXES = {".cc", ".h", ".c", ".ts", ".tsx", ".mjs", ".py", ".sh", ".css",
            ".html"}
CODE = {".cc", ".h", ".c"}
PRODUCT = ("hooks", "base", "logformat", "runtime", "rmap", "viewer", "cli")
LONG_LINES = 400
RUN_LINES = 6
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def files_of(root):
    """Relative paths of the sources that git has, or of all."""
    done = subprocess.run(["git", "-C", root, "ls-files", "-z"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False)
    if done.returncode == 0 and done.stdout:
        names = done.stdout.split("\0")
    else:
        names = [path.relative_to(root).as_posix()
                 for path in sorted(root.rglob("*")) if path.is_file()]
    return [name for name in names
            if pathlib.PurePosixPath(name).suffix in SUFFIXES
            and (root / name).is_file()]


def module_of(name):
    """Top folder and the one below: "rmap/diff", "rmap" for its own files."""
    parts = name.split("/")
    if parts[0] not in PRODUCT + ("tests",):
        return parts[0] if parts[0] == "examples" else None
    return "/".join(parts[:2] if len(parts) > 2 else parts[:1])


def size_row(name, counts):
    counts = sorted(counts)
    p90 = counts[min(len(counts) - 1, len(counts) * 9 // 10)]
    return (f"| {name} | {len(counts)} | {sum(counts):,} | "
            f"{statistics.median(counts):.0f} | {p90} | {counts[-1]} | "
            f"{sum(count > LONG_LINES for count in counts)} |")


def size_table(lines):
    modules = collections.defaultdict(list)
    for name, count in lines.items():
        module = module_of(name)
        if module is not None:
            modules[module].append(count)
    rows = ["| module | files | lines | median | p90 | max | > 400 |",
            "|---|---:|---:|---:|---:|---:|---:|"]
    def is_product(module):
        return module.split("/")[0] in PRODUCT
    for kind, chosen in (("product", is_product),
                         ("tests", lambda m: m.split("/")[0] == "tests"),
                         ("examples", lambda m: m == "examples")):
        counts = []
        for module in sorted(filter(chosen, modules)):
            if module != "examples":
                rows.append(size_row(module, modules[module]))
            counts += modules[module]
        if counts:
            rows.append(size_row(f"**{kind}**", counts))
    return rows


def unit_graph(root, names):
    """Unit -> units it includes, over headers and sources of the product."""
    ours = {name for name in names if name.split("/")[0] in PRODUCT
            and pathlib.PurePosixPath(name).suffix in CODE}
    graph = collections.defaultdict(set)
    for name in sorted(ours):
        unit = name.rsplit(".", 1)[0]
        graph[unit]
        text = (root / name).read_text(encoding="utf-8", errors="replace")
        for spelled in INCLUDE.findall(text):
            beside = (pathlib.PurePosixPath(name).parent / spelled).as_posix()
            for target in (spelled, beside):
                if target in ours:
                    other = target.rsplit(".", 1)[0]
                    if other != unit:
                        graph[unit].add(other)
                    break
    return graph


def cycles(graph):
    """Strongly connected components of more than one unit (Tarjan)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        on_stack.add(unit)
        for other in sorted(graph[unit]):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in on_stack:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            members = []
            while True:
                member = stack.pop()
                on_stack.discard(member)
                members.append(member)
                if member == unit:
                    break
            if len(members) > 1:
                found.append(sorted(members))

    sys.setrecursionlimit(10000)
    for unit in sorted(graph):
        if unit not in index:
            visit(unit)
    return sorted(found, key=len, reverse=True)


def hubs(graph, count=10):
    included = collections.Counter(
        other for others in graph.values() for other in others)
    return included.most_common(count)


def repeated_runs(texts):
    """Pairs of files -> number of runs that occur in both."""
    places = collections.defaultdict(set)
    for name, text in texts.items():
        kept = [line.strip() for line in text.split("\n")]
        kept = [line for line in kept if re.search(r"\w", line)
                and not line.startswith(("#include", "//", "*", "using ",
                                         "namespace "))]
        for at in range(len(kept) - RUN_LINES + 1):
            places[tuple(kept[at:at + RUN_LINES])].add((name, at))
    # Neighbouring runs are one longer copy.
    pairs = collections.defaultdict(set)
    for found in places.values():
        ordered = sorted(found)
        for one, other in zip(ordered, ordered[1:]):
            pairs[one[0], other[0]].add(one[1] - other[1])
    return {pair: len(offsets) for pair, offsets in pairs.items()}


def report(root):
    names = files_of(root)
    texts = {name: (root / name).read_text(encoding="utf-8", errors="replace")
             for name in names}
    out = size_table({name: text.count("\n") for name, text in texts.items()})
    graph = unit_graph(root, names)
    found = cycles(graph)
    out += ["", f"Include cycles between units: {len(found)}"]
    out += [f"- {len(cycle)}: {', '.join(cycle)}" for cycle in found]
    out += ["", "Hubs (product units that include it):"]
    out += [f"- {unit}: {count}" for unit, count in hubs(graph)]
    code = {name: text for name, text in texts.items()
            if pathlib.PurePosixPath(name).suffix in CODE}
    out += ["", f"Repeated runs of {RUN_LINES} equal lines:"]
    copies = collections.Counter()
    for (one, other), count in repeated_runs(code).items():
        copies[one.split("/")[0] if one.split("/")[0] == other.split("/")[0]
               else "between modules"] += count
    out += [f"- {where}: {count}" for where, count in copies.most_common()]
    out += [f"- sum: {sum(copies.values())}"]
    return out


class HouseSizeSelfTest(unittest.TestCase):
    def tree(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    def test_sizes(self):
        root = self.tree({"rmap/a.cc": "x\n" * 401, "rmap/diff/b.cc": "y\n",
                          "tests/c.py": "z\n\n"})
        rows = report(root)
        self.assertIn("| rmap | 1 | 401 | 401 | 401 | 401 | 1 |", rows)
        self.assertIn("| **product** | 2 | 402 | 201 | 401 | 401 | 1 |", rows)
        self.assertIn("| **tests** | 1 | 2 | 2 | 2 | 2 | 0 |", rows)

    def test_cycle_through_a_source(self):
        root = self.tree({"rmap/a.h": '#include "rmap/b.h"\n', "rmap/b.h": "",
                          "rmap/b.cc": '#include "rmap/a.h"\n'})
        self.assertEqual([["rmap/a", "rmap/b"]],
                         cycles(unit_graph(root, files_of(root))))

    def test_copy_is_one_run(self):
        copy = "".join(f"int a{i} = {i};\n" for i in range(9))
        self.assertEqual({("a.cc", "b.cc"): 1}, repeated_runs(
            {"a.cc": copy, "b.cc": "int c;\n" + copy, "c.cc": "int d;\n"}))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self-test"]:
        unittest.main(argv=[sys.argv[0], "-v"])
    root = pathlib.Path(arguments[0] if arguments else
                        pathlib.Path(__file__).parent.parent).resolve()
    print("\n".join(report(root)))


if __name__ == "__main__":
    main()
