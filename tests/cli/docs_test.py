#!/usr/bin/env python3
"""The worked examples in the documents are what the program prints.

A block marked

    <!-- prints: countrace report --by waker web.ctf -->

is the output of that command, run where doc_traces, server_traces and the
commands of docs/power2.md have written their traces. Behind the command may
stand, several of them joined:

    ; from TITLE   from the line that begins with TITLE to the next empty one
    ; line TITLE   that line alone
    ; json A.B     of JSON that member, broken into lines

Usage: docs_test.py COUNTRACE DOC_TRACES SERVER_TRACES POWER2 [unittest options].
COUNTRACE_UPDATE_GOLDEN=1 rewrites the blocks.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTRACE = ""
WRITERS = []
POWER2 = ""
MARKED = re.compile(r"(<!-- prints: (.+?) -->\n+```\w*\n)(?:.*?)```\n", re.DOTALL)


def power2_commands():
    """The blocks of docs/power2.md that a reader types, but for the build."""
    text = (ROOT / "docs/power2.md").read_text()
    return [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
            if "cmake" not in block]


def documents():
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"),
                   *ROOT.glob("*/README.md"), *ROOT.glob("viewer/*.md")])


def part(text, word, what):
    """The part of a command's output that the clause `word what` selects."""
    if word == "json":
        value = json.loads(text)
        for name in what.split("."):
            value = value[name]
        return "\n".join(textwrap.wrap(json.dumps(value), 110,
                                       break_on_hyphens=False))
    lines = text.split("\n")
    begin = next((i for i, line in enumerate(lines) if line.startswith(what)),
                 None)
    if begin is None:
        raise AssertionError(f"nothing begins with {what!r} in:\n{text}")
    end = begin + 1 if word == "line" else lines.index("", begin)
    return "\n".join(lines[begin:end])


def printed(marker):
    command, *clauses = re.split(r"; (?=(?:from|line|json) )", marker)
    words = shlex.split(command)
    if words[0] != "countrace":
        raise AssertionError(f"not a command of ours: {command}")
    done = subprocess.run([COUNTRACE, *words[1:]], capture_output=True,
                          env=dict(os.environ, COLUMNS="100"),
                          text=True, check=False, timeout=60,
                          stdin=subprocess.DEVNULL)
    # `diff` may exit with 4, on purpose.
    if done.returncode not in (0, 4) or done.stderr:
        raise AssertionError(f"{command}: status {done.returncode}\n"
                             f"{done.stderr}")
    if not clauses:
        return done.stdout
    parts = [part(done.stdout, *clause.split(" ", 1)) for clause in clauses]
    tables = any(clause.startswith("from ") for clause in clauses)
    return ("\n\n" if tables else "\n").join(parts) + "\n"


def with_blocks(text):
    """The expected text of the document."""
    def replace(match):
        return match.group(1) + printed(match.group(2)) + "```\n"
    return MARKED.sub(replace, text)


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="countrace-docs-")
        cls.before = os.getcwd()
        os.chdir(cls.folder)
        # The counts of the R10000's paper, for `countrace stat --counts`.
        shutil.copy(ROOT / "tests/rmap/stat/perfex_md.txt", "md.perfex")
        # Those of the paper on the CPI of the POWER5, for docs/cpi.md.
        for listing in (ROOT / "tests/import/listings").iterdir():
            shutil.copy(listing, listing.name)
        for writer in WRITERS:
            subprocess.run(writer, check=True, timeout=60)
        cls.run_power2_commands()

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)
        shutil.rmtree(cls.folder)

    @classmethod
    def run_power2_commands(cls):
        """As they stand there, one after the other: the traces are made."""
        os.mkdir("bin")
        for name, program in (("countrace", COUNTRACE), ("power2", POWER2)):
            os.symlink(program, f"bin/{name}")
        environment = dict(os.environ, PATH=f"{os.getcwd()}/bin:"
                           f"{os.environ['PATH']}", COLUMNS="100")
        blocks = power2_commands()
        if len(blocks) < 6 or not blocks[0].startswith("power2 "):
            raise AssertionError(f"docs/power2.md has other blocks: {blocks}")
        for block in blocks:
            # It would serve until it is stopped.
            block = re.sub(r"(?m)^countrace view .*$",
                           r"timeout 2 \g<0> || test $? = 124", block)
            done = subprocess.run(["bash", "-euc", block], env=environment,
                                  capture_output=True, text=True, check=False,
                                  stdin=subprocess.DEVNULL, timeout=100)
            if done.returncode != 0:
                raise AssertionError(f"{block}\n{done.returncode}\n"
                                     f"{done.stderr}")

    def test_each_marked_block_is_what_is_printed(self):
        checked = 0
        for path in documents():
            text = path.read_text()
            marked = len(MARKED.findall(text))
            # A misspelt marker must be detected.
            self.assertEqual(marked, ("\n" + text).count("\n<!-- prints"), path)
            if marked == 0:
                continue
            checked += marked
            if os.environ.get("COUNTRACE_UPDATE_GOLDEN"):
                path.write_text(with_blocks(text))
            with self.subTest(document=path.name):
                self.assertEqual(path.read_text(), with_blocks(text))
        self.assertGreaterEqual(checked, 8)

    def test_a_file_has_all_columns_unless_COLUMNS_limits_them(self):
        def shown(*options, **variables):
            command = [COUNTRACE, "report", "--by", "process", *options,
                       "sets.ctf"]
            environment = {name: value for name, value in os.environ.items()
                           if name != "COLUMNS"}
            return subprocess.run(command, capture_output=True, text=True,
                                  check=True, timeout=60,
                                  env={**environment, **variables}).stdout

        cut = shown(COLUMNS="60")
        self.assertIn("not shown for lack of width", cut)
        self.assertNotRegex(cut, "command.*cache-misses")
        for whole in (shown(), shown("--wide", COLUMNS="60"),
                      *(shown(COLUMNS=bad) for bad in ("", "0", "60x"))):
            self.assertNotIn("not shown", whole)
            self.assertRegex(whole, "command.*cache-misses")

    def test_json_says_how_sure_each_number_is(self):
        """Checks the rules of docs/numbers.md."""
        done = subprocess.run([COUNTRACE, "report", "--format", "json",
                               "sets.ctf"], capture_output=True, check=True,
                              timeout=60)
        report = json.loads(done.stdout)
        processes = {row["comm"]: row for row in report["processes"]}
        self.assertEqual("scaled", processes["work"]["quality"])
        self.assertEqual(["scaled"], processes["work"]["qualities"])
        low, high = processes["work"]["bounds"]["counts.cycles"]
        self.assertLess(low, processes["work"]["counts"]["cycles"])
        self.assertGreater(high, processes["work"]["counts"]["cycles"])
        for event in ("cycles", "cache-misses"):
            scaled = processes["work"]["scaled"][event]
            self.assertEqual("scaled", scaled["quality"])
            self.assertGreater(scaled["stderr"], 0)
            books = report["books"][event]["scaled"]
            self.assertEqual("scaled", books["quality"])
            self.assertGreater(books["stderr"], 0)
        segments = {row["segment"]: row for row in report["segments"]}
        for name, quality in (("work:step", "bounded"),
                              ("scan:block", "inferred")):
            self.assertEqual(quality, segments[name]["quality"])
            for count in segments[name]["counts"].values():
                self.assertEqual(quality, count["quality"])


if __name__ == "__main__":
    COUNTRACE = os.path.abspath(sys.argv[1])
    WRITERS = [[os.path.abspath(sys.argv[2])],
               [os.path.abspath(sys.argv[3]), "5"]]
    POWER2 = os.path.abspath(sys.argv[4])
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
