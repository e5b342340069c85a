#!/usr/bin/env python3
"""The manual pages: there is one for each verb, they have no roff error, and
they say what `countrace help` says.

Usage: man_test.py MAN_FOLDER [unittest options].
"""

import pathlib
import re
import subprocess
import sys
import unittest

HELP = pathlib.Path(__file__).parents[2] / "cli/help"
NOT_VERBS = ("overview", "trace")
MAN = None


def words(text):
    """The text without the parts that filling and markup change."""
    return re.sub(r"\s+", " ", text.replace("`", ""))


def rendered(page):
    done = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=500", page],
                          capture_output=True, text=True, check=True)
    return words(re.sub(r".\x08", "", done.stdout))


class ManualPages(unittest.TestCase):
    def pages(self):
        """All pages as (page, its help text)."""
        found = [(MAN / "countrace.1", HELP / "overview.txt"),
                 (MAN / "countrace-trace.5", HELP / "trace.txt")]
        for text in sorted(HELP.glob("*.txt")):
            if text.stem not in NOT_VERBS:
                found.append((MAN / f"countrace-{text.stem}.1", text))
        return found

    def test_each_verb_has_a_page_and_each_page_a_text(self):
        self.assertEqual(sorted(MAN.iterdir()),
                         sorted(page for page, _ in self.pages()))

    def test_mandoc_has_nothing_to_warn_of(self):
        for page, _ in self.pages():
            with self.subTest(page=page.name):
                done = subprocess.run(
                    ["mandoc", "-T", "lint", "-W", "warning", page],
                    capture_output=True, text=True, check=False)
                self.assertEqual((0, ""), (done.returncode, done.stdout))

    def test_a_page_has_each_paragraph_option_and_example_of_the_text(self):
        for page, text in self.pages():
            manual = rendered(page)
            for line in text.read_text().splitlines()[1:]:
                if line.startswith(("@", "options:", "examples:", "verbs:")):
                    continue
                line = re.sub(r"^(usage|exit status|topic): ?", "", line)
                line = re.sub(r"^topic ", "", line)
                with self.subTest(page=page.name, line=line):
                    self.assertIn(words(line).strip(), manual)


if __name__ == "__main__":
    MAN = pathlib.Path(sys.argv.pop(1))
    unittest.main()
