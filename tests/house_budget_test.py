#!/usr/bin/env python3
"""Compares the size of the product with house_budget.txt, where each size has an
owner: what grows beyond its line needs a changed line in the same commit, with
the reason in the commit's body.

Lines of house_budget.txt (`#` begins a comment):

   lines N FOLDER      at most N lines in the sources of a folder of a module
   long N FILE         a file of more than 400 lines whose head does not say why
   function N FILE     its longest function, if that has more than 80 lines
   seconds N FOLDER    for .ci/test_seconds.py, which .ci/run runs

A file that says "More than 400 lines" in its first three lines needs no line.
Folders below `lines` are counted with it; a folder of a module without a line is
an error, and so is a line that nothing needs any more.

Usage: house_budget_test.py [--print | --self-test] [ROOT]. --print: the lines for
the tree as it is. Exit: 0 within the budget, 1 not.
"""
import collections
import pathlib
import re
import sys
import tempfile
import unittest

import house_size

LONG_LINES, LONG_FUNCTION = 400, 80
STEP = 50  # --print rounds a folder up to a multiple of it
BUDGET = "tests/house_budget.txt"
REASON = "More than 400 lines"
# What begins a block that is no function.
NO_FUNCTION = re.compile(r"\s*(export )?(abstract )?"
                         r"(namespace|struct|class|union|enum|extern|interface)\b")
ENDS = (";", "{", "}", ":", "*/")
SCRIPTS = {".ts", ".tsx"}


def longest_function(text):
    """A function ends with a line "}", an arrow's with "};" or "});", and begins
    at the last line of the same indent, 0 or 2, that continues none before it
    (.clang-format)."""
    longest, begins, ended, arrow = 0, {0: None, 2: None}, True, set()
    for number, line in enumerate(text.split("\n")):
        if not line or line.lstrip().startswith(("//", "#")):
            continue
        depth = len(line) - len(line.lstrip())
        if depth in begins:
            if line.strip() == "}" or (line.strip() in ("};", "});") and
                                       begins[depth] in arrow):
                if begins[depth] is not None:
                    longest = max(longest, number - begins[depth] + 1)
                begins[depth] = None
            elif ended:
                begins[depth] = None if NO_FUNCTION.match(line) else number
            if line.endswith("=> {"):
                arrow.add(begins[depth])
        ended = re.sub(r"\s+// .*", "", line).rstrip().endswith(ENDS)
    return longest


def folder_of(name):
    """"rmap/tables" of rmap/tables/rows/books.cc, "rmap" of its own files."""
    return "/".join(name.split("/")[:2]) if name.count("/") > 1 else name.split("/")[0]


def measured(root):
    """(kind, path) -> number of lines."""
    found = collections.Counter()
    for name in house_size.files_of(root):
        if name.split("/")[0] not in house_size.PRODUCT:
            continue
        text = (root / name).read_text(encoding="utf-8", errors="replace")
        count = text.count("\n")
        found["lines", folder_of(name)] += count
        head = " ".join(text.split("\n")[:3]).replace("// ", "")
        if count > LONG_LINES and REASON not in head:
            found["long", name] = count
        if pathlib.PurePosixPath(name).suffix in house_size.CODE | SCRIPTS:
            longest = longest_function(text)
            if longest > LONG_FUNCTION:
                found["function", name] = longest
    return found


def read_budget(text):
    budget = {}
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if words and words[0] != "seconds":
            kind, number, path = words
            budget[kind, path] = int(number)
    return budget


def problems(found, budget):
    out = []
    for (kind, path), number in sorted(found.items()):
        limit = budget.get((kind, path))
        if limit is None:
            out.append(f"{path}: {kind} {number}, and no line of {BUDGET} allows it")
        elif number > limit:
            out.append(f"{path}: {kind} {number}, at most {limit}: make it smaller, or "
                       f"change its line of {BUDGET} and say why in the commit")
    out += [f"{path}: nothing needs its line `{kind}` of {BUDGET} any more"
            for kind, path in sorted(budget.keys() - found.keys())]
    return out


class HouseBudgetSelfTest(unittest.TestCase):
    def measure(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return measured(root)

    def test_folders(self):
        self.assertEqual(
            {("lines", "rmap"): 1, ("lines", "rmap/a"): 5},
            self.measure({"rmap/x.h": "1\n", "rmap/a/x.h": "1\n2\n",
                          "rmap/a/b/x.h": "1\n2\n3\n", "tests/x.py": "1\n"}))

    def test_long_file(self):
        text = "x;\n" * 401
        self.assertEqual(401, self.measure({"rmap/x.h": text})["long", "rmap/x.h"])
        self.assertNotIn(("long", "rmap/x.h"), self.measure(
            {"rmap/x.h": "// More than 400 lines: it is one table.\n" + text}))

    def test_long_function(self):
        def file_of(body):
            return ("namespace a {\nstruct B {\n  int c;\n};\n\nint F(\n    int a) {\n" +
                    "    x;\n" * body + "}\n\n}  // namespace a\n")
        self.assertEqual(0, longest_function(
            "namespace a {\n" + "x;\n" * 100 + "}  // namespace a\n"))
        self.assertEqual(0, longest_function(
            "int k = 1;  // one\nclass A {\n" + "  int x;\n" * 100 + "}\n"))
        self.assertEqual(81, longest_function(file_of(78)))
        found = self.measure({"rmap/x.cc": file_of(78), "rmap/y.cc": file_of(77)})
        self.assertEqual(81, found["function", "rmap/x.cc"])
        self.assertNotIn(("function", "rmap/y.cc"), found)

    def test_long_function_of_a_script(self):
        def file_of(head, foot, body):
            return ("export class A {\n  b = 1;\n}\nexport interface C {\n" +
                    "  d: number;\n" * 100 + f"}}\n{head}\n" +
                    "    x();\n" * body + f"{foot}\n")
        for head, foot in (("export function f(): void {", "}"), ("  g(): void {", "  }"),
                           ("const h = (a) => {", "};"), ("  useEffect(() => {", "  });")):
            found = self.measure({"viewer/web/x.ts": file_of(head, foot, 79),
                                  "viewer/web/y.tsx": file_of(head, foot, 78)})
            self.assertEqual(81, found["function", "viewer/web/x.ts"])
            self.assertNotIn(("function", "viewer/web/y.tsx"), found)

    def test_budget(self):
        budget = read_budget("# owners\nlines 5 rmap\n\nlong 401 rmap/x.cc  # a table\n"
                             "seconds 9 tests/e2e\n")
        self.assertEqual([], problems({("lines", "rmap"): 5, ("long", "rmap/x.cc"): 401},
                                      budget))
        self.assertEqual(3, len(problems({("lines", "rmap"): 6, ("lines", "cli"): 1},
                                         budget)))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self-test"]:
        unittest.main(argv=[sys.argv[0], "-v"])
    show = arguments[:1] == ["--print"]
    root = pathlib.Path((arguments[1:] if show else arguments or [None])[0] if
                        arguments[show:] else pathlib.Path(__file__).parent.parent).resolve()
    found = measured(root)
    if show:
        for kind in ("lines", "long", "function"):
            for (of, path), number in sorted(found.items()):
                if of == kind:
                    room = -number % STEP if kind == "lines" else 0
                    print(f"{kind} {number + room} {path}")
        return 0
    wrong = problems(found, read_budget((root / BUDGET).read_text()))
    for problem in wrong:
        print(f"house budget: {problem}")
    total = sum(number for (kind, _), number in found.items() if kind == "lines")
    print(f"house budget: {total:,} lines of the product, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
