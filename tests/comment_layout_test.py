#!/usr/bin/env python3
"""Keeps tables, diagrams and rulers in C and C++ comments as they were drawn,
and the names in comments alive.

clang-format leaves a comment line alone that begins with three blanks (two in
/* */), a ruler or a box (CommentPragmas in .clang-format); this test shows that
it does, and finds comments that were reflowed in spite of it. Such lines do not
get wrapped, so their width is checked here.

Usage: comment_layout_test.py [--self-test] [ROOT]. Exit: 0 clean, 1 problems.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

WIDTH = 80
FOLDERS = ("hooks", "base", "logformat", "runtime", "rmap", "viewer", "cli",
           "examples", "tests")
SUFFIXES = {".h", ".c", ".cc"}
CLANG_FORMAT = "clang-format-14"

# Each line is wider than the style allows: clang-format would wrap it.
DRAWN = """\
// One connection:
//   read --(request)--> answer --(written)--> read, and on until one side ends it
//
//   ready --(owner: Activate)--> current --(owner: Close)--> retired, at the end
//     ^                                                         |
//     +--(preparer: extend the file, map, make resident)        +--(preparer: un)
//
// --- Packets -----------------------------------------------------------------------
// +------------------------------------+
// | a box whose lines are wider        | than the column limit of the style says
// +------------------------------------+

/* The header that a program includes.
 *
 *   COUNTRACE_SEGMENT("server", "handle");        enter now, exit at the end of it
 *   COUNTRACE_HOOK("server", "bytes", n, name);   a point hook, with values of any
 */
"""

COMMENT = re.compile(r"^(\s*)(//|/?\*)( *)(.*?)\s*(?:\*/)?$")
QUOTED = re.compile(r'"[^"]*"|`[^`]*`')
GAP = re.compile(r"\S {2,}\S")
ARROW = re.compile(r"--+[>(]|<--+|\)--|[|+]--|--[|+]")
# A table's gap, an arrow, a list's dot, a shell command.
DRAWING = re.compile(f"{GAP.pattern}|{ARROW.pattern}|·| (?:--|&&) ")
RULER = re.compile(r"[-=]{5,}")
CAMEL = re.compile(r"\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b")
FILE_NAME = re.compile(r"(?<![\w/.\\-])[\w/]+\.(?:h|cc)\b")
WORD = re.compile(r"\w+")
# Right in comments, though no code of ours has them.
OUTSIDE_NAMES = {"SystemTap", "VERB_verb.cc"}


class Line:
    """One comment line."""

    def __init__(self, number, text, match):
        self.number = number
        self.width = len(text)
        self.opening, blanks, self.text = match.group(2, 3, 4)
        self.indent = len(match.group(1)) + len(self.opening) + len(blanks)
        # clang-format puts one blank after the opening; more are deliberate.
        self.drawn = len(blanks) >= (2 if self.opening == "*" else 3)

    def full(self, word):
        """Whether `word` has no place behind this line."""
        return self.width + 1 + len(word) > WIDTH


def comment_blocks(text):
    """Lists of neighbouring comment lines."""
    block, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        match = COMMENT.match(line)
        starred = match is not None and match.group(2) == "*"
        if match is None or (starred and not inside):
            if block:
                yield block
            block, inside = [], False
            continue
        if match.group(2) == "/*":
            inside = "*/" not in line
        elif starred and "*/" in line:
            inside = False
        block.append(Line(number, line, match))
    if block:
        yield block


def layout_problems(relative, text):
    problems = []
    for block in comment_blocks(text):
        for before, line in zip([None] + block, block):
            def report(what, line=line):
                problems.append(f"{relative}:{line.number}: {what}")
            words = line.text.split()
            if not words:
                continue
            plain = QUOTED.sub("q", line.text)
            if line.drawn:
                if line.width > WIDTH:
                    report(f"wider than {WIDTH} columns")
                if (before is not None and before.drawn and
                        before.indent == line.indent and len(line.text) <= 20
                        and len(words) <= 3 and before.full(words[0]) and
                        DRAWING.search(before.text)):
                    report("looks like the wrapped end of the line before")
                continue
            if RULER.fullmatch(line.text) and before is not None and (
                    before.text.startswith("--- ")):
                report("the ruler belongs on the line before")
            if before is not None and before.drawn and before.full(words[0]) \
                    and not words[0][0].isupper():
                report("looks like the wrapped end of the line before")
            if not RULER.search(line.text) and not line.text.startswith("|"):
                if GAP.search(plain):
                    report("a gap in prose: was a table reflowed? Draw tables "
                           "with three blanks before each line")
                elif ARROW.search(plain):
                    report("an arrow in prose: was a diagram reflowed? Draw "
                           "diagrams with three blanks before each line")
    return problems


def name_problems(relative, text, words, files):
    """Names of classes, functions and files of ours that do not exist."""
    problems = []
    for block in comment_blocks(text):
        for line in block:
            for name in CAMEL.findall(line.text):
                if name not in words and name not in OUTSIDE_NAMES:
                    problems.append(f"{relative}:{line.number}: nothing is "
                                    f"named {name}")
            for name in FILE_NAME.findall(line.text):
                first, slash, _ = name.partition("/")
                ours = not slash or first in FOLDERS
                if ours and name.split("/")[-1] not in files and (
                        name not in OUTSIDE_NAMES):
                    problems.append(f"{relative}:{line.number}: there is no "
                                    f"file {name}")
    return problems


def formatted(text, style):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / ".clang-format").write_text(style)
        path = pathlib.Path(folder) / "drawn.cc"
        path.write_text(text)
        return subprocess.run([CLANG_FORMAT, path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout


def style_problems(root):
    style = (root / ".clang-format").read_text()
    after = formatted(DRAWN, style)
    return [f".clang-format: CommentPragmas does not protect: {line}"
            for line in DRAWN.split("\n") if line not in after.split("\n")]


def sources(root):
    return [path for folder in FOLDERS
            for path in sorted((root / folder).rglob("*"))
            if path.suffix in SUFFIXES and "node_modules" not in path.parts]


def check(root):
    paths = sources(root)
    texts = {path.relative_to(root).as_posix(): path.read_text(
        encoding="utf-8", errors="replace") for path in paths}
    words = set()
    for text in texts.values():
        for line in text.split("\n"):
            if not COMMENT.match(line):
                words.update(WORD.findall(line.split(" // ")[0]))
    files = {path.name for path in paths}
    problems = []
    for relative, text in texts.items():
        problems += layout_problems(relative, text)
        problems += name_problems(relative, text, words, files)
    return problems


class CommentLayoutSelfTest(unittest.TestCase):
    """Each rule is shown to fail, so that silence means something."""

    def assert_layout(self, count, text):
        self.assertEqual(count, len(layout_problems("a.h", text)),
                         layout_problems("a.h", text))

    def test_drawings_and_prose_are_clean(self):
        self.assert_layout(0, """\
// One connection: "label  42 %" is quoted. `a  b`, too.
//   read --(request)--> answer
//    ^                    |
//    +----(written)-------+
// And it goes on.
// --- Packets -----------------------------------------------------------------
/* table
 *
 *   COUNTRACE_SEGMENT("a", "b");   to the end of the scope
 *   COUNTRACE_HOOK("a", "b");      a point hook
 */
""")

    def test_reflowed_usage_table(self):
        self.assert_layout(2, """\
/* countrace hooks: the one header an instrumented program includes.
 *
 *   COUNTRACE_SEGMENT("server", "handle");        C++: enter now, exit at the
 * end of the scope, exceptions too COUNTRACE_SEGMENT("server", "handle", id);
 * hook COUNTRACE_ENTER("server", "phase", n);        C, or segments that are
 */
""")

    def test_reflowed_diagram(self):
        self.assert_layout(1, """\
// One connection:
//   read --(request)--> answer --(written)--> read ... until either side ends
//   it
// Every wait has a deadline.
""")
        self.assert_layout(1, "// idle --(Join)--> taking part\n")

    def test_reflowed_list(self):
        self.assert_layout(1, """\
//   DIR/.session      SessionControl below, mapped shared by the recorder and
//   by
//                     every instrumented process.
""")

    def test_reflowed_command(self):
        self.assert_layout(1, """\
/* Try
 *   countrace record -o hello.ctf -- ./hello_hooks_c && countrace report
 * hello.ctf
 */
""")

    def test_wrapped_ruler(self):
        self.assert_layout(1, "// --- Packets\n// " + "-" * 70 + "\n")

    def test_wide_drawing(self):
        self.assert_layout(1, "//   " + "x" * 76 + "\n")

    def test_dead_names(self):
        self.assertEqual(2, len(name_problems(
            "a.h", "// MergedReader (mark_rules.h), OpenTrace, linux/bpf.h\n",
            {"OpenTrace"}, {"trace.h"})))

    @unittest.skipUnless(shutil.which(CLANG_FORMAT), "no " + CLANG_FORMAT)
    def test_without_the_pragma_each_drawn_line_is_wrapped(self):
        style = (pathlib.Path(__file__).parent.parent /
                 ".clang-format").read_text()
        self.assertIn("CommentPragmas", style)
        bare = re.sub(r"(?m)^CommentPragmas:.*\n", "", style)
        kept = formatted(DRAWN, bare).split("\n")
        wide = [line for line in DRAWN.split("\n") if len(line) > WIDTH]
        self.assertEqual(7, len(wide))
        self.assertEqual([], [line for line in wide if line in kept])


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self-test"]:
        unittest.main(argv=[sys.argv[0], "-v"])
    root = pathlib.Path(arguments[0] if arguments else
                        pathlib.Path(__file__).parent.parent)
    problems = check(root)
    if shutil.which(CLANG_FORMAT) is None:
        print(f"comment layout: no {CLANG_FORMAT}; the style is not checked")
    else:
        problems += style_problems(root)
    for problem in problems:
        print(f"comment layout: {problem}")
    print(f"comment layout: {len(sources(root))} files, {len(problems)} "
          "problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
