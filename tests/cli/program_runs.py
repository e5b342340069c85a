"""Runs the real `countrace` program for tests of its verbs, each test in a
folder of its own, and hands them a trace of examples/hello_hooks.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

VERBS = ["record", "report", "annotate", "diff", "query", "state", "view", "replay",
         "script", "info",
         "verify", "recover", "export", "load", "import", "hooks", "snapshot",
         "stat", "list", "doctor", "help", "version"]


class Programs:
    countrace = hello_hooks = ""  # set by main()


def run(*arguments, **options):
    """The finished process; its output is text by default."""
    options.setdefault("text", True)
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", 60)
    return subprocess.run([Programs.countrace, *arguments], capture_output=True,
                          check=False, **options)


def options_of(verb):
    """All options that the help of `verb` and its topics describe."""
    options = re.findall(r"(?m)^(?:  -\w, |      )(--[a-z-]+)",
                         run("help", verb, "all").stdout)
    return list(dict.fromkeys(options))


class InFolder(unittest.TestCase):
    """Each test has a folder of its own, which is its current directory."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="countrace-cli-"))
        self.before = os.getcwd()
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(self.before)
        shutil.rmtree(self.folder)

    def record(self, *arguments, **options):
        """Records hooks only: works without privilege, and makes small traces.
        """
        return run("record", "--no-kernel", *arguments, **options)


class HelloTrace(InFolder):
    """Verbs over a real trace of examples/hello_hooks, a copy for each test."""

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="countrace-cli-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.recorded = folder / "hello.ctf"
        cls.done = run("record", "--no-kernel", "-o", cls.recorded, "--",
                       Programs.hello_hooks)

    def setUp(self):
        super().setUp()
        self.assertEqual((0, "hello:work 100\n"),
                         (self.done.returncode, self.done.stdout))
        self.assertIn("nothing was lost", self.done.stderr)
        shutil.copytree(self.recorded, "hello.ctf")


def main():
    """The main of each test: COUNTRACE HELLO_HOOKS [unittest options]."""
    Programs.countrace, Programs.hello_hooks = map(os.path.abspath,
                                                   sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
