#!/usr/bin/env python3
"""The processors' own event names from the command line: list events --model,
record --event-file.

Usage: vocabularies_test.py COUNTRACE [unittest options].
"""

import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

COUNTRACE = ""


def run(*arguments):
    return subprocess.run([COUNTRACE, *map(str, arguments)], capture_output=True,
                          text=True, timeout=60, check=False)


class Vocabularies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def events(self, model):
        result = run("list", "events", "--model", model, "--format", "jsonl")
        self.assertEqual(0, result.returncode, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_shipped_models_are_listed(self):
        for model, count in ("power2", 342), ("r10000", 31), ("power5", 21), ("arm64", 64):
            rows = [row for row in self.events(model) if "event" in row]
            self.assertEqual(count, len(rows), model)
        wrong = run("list", "events", "--model", "power6")
        self.assertNotEqual(0, wrong.returncode)
        self.assertIn("there are arm64, power2, power5, r10000", wrong.stderr)

    def test_own_file_with_a_mistake_is_refused(self):
        own = self.folder / "own.toml"
        own.write_text("model = 'own'\n", "utf-8")
        for verb in "record", "stat":
            result = run(verb, "--event-file", own, "-e", "cycles", "--", "true")
            self.assertNotEqual(0, result.returncode)
            self.assertIn("/own.toml:1:1: there is no model, no architecture", result.stderr)

    def test_shipped_events_of_another_machine_are_refused(self):
        trace = self.folder / "a.ctf"
        for verb in ["record", "-o", trace], ["stat"]:
            result = run(*verb, "-e", "PM_GRP_CMPL", "--", "true")
            self.assertNotEqual(0, result.returncode)
            self.assertIn("is one of IBM POWER5 (ppc64, POWER5*), and this machine is "
                          + platform.machine(), result.stderr)
        self.assertFalse(trace.exists())


if __name__ == "__main__":
    COUNTRACE = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
