#!/usr/bin/env python3
"""Holds the documents to their sizes, their links and their figures.

README and ARCHITECTURE are read by all, so they stay short; a relative link names
a file, and a heading in it, that exist; so does a `path/in/code.h`; README's
figures are those of docs/benchmarks.md.

Usage: documents_test.py [--self-test] [ROOT]. Exit: 0 clean, 1 violations.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

# Document -> most lines, most bytes (None: any number).
LIMITS = {
    "README.md": (150, 9 * 1024),
    "ARCHITECTURE.md": (180, None),
}
# Most lines of the section of one version in CHANGELOG.md.
CHANGELOG_LINES = {"0.1.0": 60}

FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# `rmap/tables.h`, `rmap/diff/`, `logformat/import/{ctf,perf}`; the stem of a pair
# stands for both of its files.
SOURCE_PATH = re.compile(
    r"`((?:\.\./)*(?:base|hooks|runtime|logformat|rmap|viewer|cli|tests|examples"
    r"|docs|scripts|cmake)/[\w./{},-]*)`")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
TABLE_AFTER = re.compile(r"<!-- figures: (\S+) -->\n((?:\|.*\n)+)")


def documents(root):
    """All Markdown files of the project, by their relative names."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "*.md"],
                            capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [
        path.relative_to(root).as_posix() for path in root.rglob("*.md")]
    return [name for name in sorted(names)
            if (root / name).is_file() and "node_modules/" not in name]


def anchors(text):
    """The fragments of a document's headings, as GitHub makes them."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        base = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        name, number = base, 0
        while name in found:
            number += 1
            name = f"{base}-{number}"
        found.add(name)
    return found


def link_problems(root, name):
    text = (root / name).read_text()
    problems = []
    for target in LINK.findall(CODE_SPAN.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (root / name).parent / path if path else root / name
        if not file.exists():
            problems.append(f"{name}: the link {target} names no file")
        elif (fragment and file.suffix == ".md" and
              fragment not in anchors(file.read_text())):
            problems.append(f"{name}: {target}: no such heading there")
    return problems


def alternatives(path):
    """`a.{h,cc}` is `a.h` and `a.cc`."""
    group = re.search(r"\{([^{}]*)\}", path)
    if not group:
        return [path]
    return [one for word in group[1].split(",") for one in
            alternatives(path[:group.start()] + word + path[group.end():])]


def path_problems(root, name):
    text = FENCE.sub("", (root / name).read_text())
    problems = []
    for written in SOURCE_PATH.findall(text):
        for path in alternatives(written):
            # As `path` stands in a README, or from the top.
            if not any(base.joinpath(path).exists() or
                       list(base.glob(f"{path.rstrip('/')}.*"))
                       for base in (root, (root / name).parent)
                       if ".." not in path or base != root):
                problems.append(f"{name}: there is no `{path}`")
    return problems


def size_problems(root):
    problems = []
    for name, (lines, size) in LIMITS.items():
        if not (root / name).exists():
            continue
        text = (root / name).read_text()
        has = len(text.splitlines())
        if has > lines:
            problems.append(f"{name}: {has} lines; at most {lines}: move what "
                            "is not for everybody to docs/")
        if size and len(text.encode()) > size:
            problems.append(f"{name}: {len(text.encode())} bytes; at most "
                            f"{size}")
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text() if changelog.exists() else ""
    for version, lines in CHANGELOG_LINES.items():
        section = re.search(rf"^## {re.escape(version)}\b.*?(?=^## |\Z)", text,
                            re.DOTALL | re.MULTILINE)
        has = len(section[0].strip().splitlines()) if section else 0
        if has > lines:
            problems.append(f"CHANGELOG.md: {has} lines for {version}; at most "
                            f"{lines}: one line a feature")
    return problems


def cells(line):
    return [cell.strip() for cell in line.strip().split("|")[1:-1]]


def figure_problems(root, name):
    """Rows `what | ours | peer: its figure` that differ in the page named
    above the table."""
    problems = []
    for page, table in TABLE_AFTER.findall((root / name).read_text()):
        known = set()
        for line in (root / page).read_text().splitlines():
            row = cells(line)
            if len(row) >= 4:
                known.add((row[0], row[1], f"{row[2]}: {row[3]}"))
        for line in table.splitlines()[2:]:
            if tuple(cells(line)) not in known:
                problems.append(f"{name}: {page} has no such row: {line}; "
                                "tests/bench/run_bench.py --write makes both")
    return problems


def check(root):
    """Returns one message for each violation."""
    problems = size_problems(root)
    for name in documents(root):
        problems += link_problems(root, name)
        problems += path_problems(root, name)
        problems += figure_problems(root, name)
    return problems


class DocumentsSelfTest(unittest.TestCase):
    """Each rule is shown to fail, so that silence means something."""

    def problems_of(self, tree):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in tree.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check(root)

    def test_links_that_resolve_are_clean(self):
        self.assertEqual([], self.problems_of({
            "README.md": "[a](docs/a.md#how-sure) [b](https://b) `[c](d)`\n"
                         "```\n[e](f)\n```\n",
            "docs/a.md": "## How sure?\n[up](../README.md)\n"}))

    def test_missing_file_and_heading_are_found(self):
        self.assertEqual(2, len(self.problems_of({
            "README.md": "[a](gone.md) [b](docs/a.md#gone)\n",
            "docs/a.md": "# Here\n"})))

    def test_source_files_that_are_not_there_are_found(self):
        self.assertEqual([], self.problems_of({
            "rmap/a.h": "", "rmap/b/c.cc": "",
            "README.md": "`rmap/a`, `rmap/{a.h,b/c.{cc}}`, `rmap/b/`, `rmap*`\n",
            "rmap/README.md": "`../rmap/a.h`\n"}))
        self.assertEqual(2, len(self.problems_of({
            "rmap/a.h": "", "README.md": "`rmap/{a,d,e}.h`\n"})))

    def test_documents_that_grew_are_found(self):
        self.assertEqual(2, len(self.problems_of({
            "README.md": "x\n" * 151, "ARCHITECTURE.md": "x\n" * 181})))
        self.assertEqual(1, len(self.problems_of({
            "README.md": "x" * 9300})))
        self.assertEqual(1, len(self.problems_of({
            "CHANGELOG.md": "# C\n## 0.1.0\n" + "- x\n" * 60})))

    def test_figures_that_differ_are_found(self):
        page = "| hook | 2 ns | loop | 1 ns | 2.00 | |\n"
        table = "<!-- figures: b.md -->\n| what | a | b |\n|---|---|---|\n"
        self.assertEqual([], self.problems_of({
            "b.md": page, "README.md": table + "| hook | 2 ns | loop: 1 ns |\n"}))
        self.assertEqual(1, len(self.problems_of({
            "b.md": page,
            "README.md": table + "| hook | 1 ns | loop: 1 ns |\n"})))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self-test"]:
        unittest.main(argv=[sys.argv[0], "-v"])
    root = pathlib.Path(arguments[0] if arguments else
                        pathlib.Path(__file__).parent.parent).resolve()
    names = documents(root)
    problems = check(root)
    for problem in problems:
        print(f"documents: {problem}")
    print(f"documents: {len(names)} documents, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
