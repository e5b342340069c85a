#!/usr/bin/env python3
"""`countrace diff` as a user or CI runs it, over small traces whose content is
known: its output in each format, its exit statuses, its errors.

Usage: diff_test.py COUNTRACE SERVER_TRACES [unittest options].
COUNTRACE_UPDATE_GOLDEN=1 rewrites golden/diff/.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GOLDEN = pathlib.Path(__file__).parent / "golden" / "diff"
COUNTRACE = SERVER_TRACES = ""
OLD = [f"old{i}.ctf" for i in range(1, 6)]
NEW = [f"new{i}.ctf" for i in range(1, 6)]
SETS = ["--before", *OLD, "--after", *NEW]


def diff(*arguments):
    return subprocess.run([COUNTRACE, "diff", *arguments], text=True,
                          env=dict(os.environ, COLUMNS="100"),
                          stdin=subprocess.DEVNULL, capture_output=True,
                          check=False, timeout=60)


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="countrace-diff-")
        cls.before = os.getcwd()
        os.chdir(cls.folder)
        subprocess.run([SERVER_TRACES, "5"], check=True, timeout=60)

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)
        shutil.rmtree(cls.folder)

    def check_golden(self, name, *arguments, status=0, read=str):
        done = diff(*arguments)
        self.assertEqual((status, ""), (done.returncode, done.stderr))
        path = GOLDEN / name
        if os.environ.get("COUNTRACE_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(done.stdout)
        self.assertEqual(read(path.read_text()), read(done.stdout),
                         f"golden file {path}")
        return done.stdout

    def test_text_of_two_sets(self):
        text = self.check_golden("sets.txt", *SETS)
        self.assertTrue(text.startswith(
            "server:handle is 2.1x slower (+"), text)
        self.assertIn("page-faults per call 3 -> 411", text.splitlines()[0])
        self.assertIn("server:request > server:audit (server), only after",
                      text)

    def test_text_of_two_traces(self):
        text = self.check_golden("pair.txt", "old1.ctf", "new1.ctf")
        self.assertTrue(text.startswith("one run each: no verdict; "), text)
        self.assertIn("differs, 2.1x (+", text.splitlines()[1])

    def test_one_run_each_asserts_nothing(self):
        result = json.loads(diff("--format", "json", "--all", "old1.ctf",
                                 "new1.ctf").stdout)
        numbers = [metric[part] for row in result["rows"] + result["totals"]
                   for metric in row.get("metrics", [row])
                   for part in ("self", "per_call") if metric.get(part)]
        self.assertGreater(len(numbers), 20)
        for number in numbers:
            self.assertEqual("noise_unknown" if number["change"] else
                             "within_noise", number["verdict"], number)
            self.assertIsNone(number["p"])
            self.assertIsNone(number["detectable"])
        self.assertEqual([0.05, 0.05],
                         [needed["change"] for needed in result["runs_needed"]])
        self.assertEqual(0, result["tests"])

    def test_several_runs_state_what_they_could_find(self):
        result = json.loads(diff("--format", "json", "--all", *SETS).stdout)
        for total in result["totals"]:
            self.assertEqual(total["self"]["constant"],
                             total["self"]["detectable"] is None, total)
        self.assertEqual([], result["runs_needed"])
        self.assertIn("(power 80 %)", result["explanations"][-1])

    def test_text_with_everything(self):
        self.check_golden("all.txt", "--all", *SETS)

    def test_markdown_for_a_pull_request(self):
        text = self.check_golden(
            "sets.md", "--format", "markdown", "--threshold",
            "server:handle:wall 10%", "--threshold", "server:parse 10%", *SETS,
            status=4)
        self.assertIn("REGRESSION", text)

    def test_json_has_the_true_counts(self):
        # The last digits depend on the mathematical library.
        text = self.check_golden(
            "sets.json", "--format", "json", *SETS, read=lambda text:
            json.loads(text, parse_float=lambda digits:
                       f"{float(digits):.6g}"))
        result = json.loads(text)
        self.assertEqual("countrace.diff/1", result["schema"])
        rows = {tuple(row["path"]): {metric["metric"]: metric
                                     for metric in row["metrics"]}
                for row in result["rows"]}
        handle = rows["server:request", "server:handle"]
        self.assertEqual({"page-faults", "wall", "on-CPU"}, set(handle))
        self.assertEqual((150, 50 * 411),
                         (handle["page-faults"]["self"]["before"],
                          handle["page-faults"]["self"]["after"]))
        self.assertEqual((3, 411),
                         (handle["page-faults"]["per_call"]["before"],
                          handle["page-faults"]["per_call"]["after"]))
        self.assertEqual(1, handle["page-faults"]["share"])
        self.assertAlmostEqual(
            50 * (231000 - 110000), handle["on-CPU"]["self"]["change"],
            delta=0.02 * 50 * 121000)
        self.assertNotIn(("server:request", "server:parse"), rows)

    def test_changes_add_up_exactly(self):
        result = json.loads(diff("--format", "json", "--all", *SETS).stdout)
        for balance in result["balance"]:
            for side in ("before", "after"):
                accounts = dict(balance[side])
                total = accounts.pop("total")
                self.assertEqual(0, accounts.pop("unexplained"))
                self.assertEqual(total, sum(accounts.values()))
            shown = sum(metric["self"]["change"] for row in result["rows"]
                        for metric in row["metrics"]
                        if metric["metric"] == balance["metric"])
            total = next(t["self"]["change"] for t in result["totals"]
                         if t["metric"] == balance["metric"])
            self.assertAlmostEqual(total, shown, delta=1e-3)

    def test_sides_exchanged_change_the_sign(self):
        def changes(*arguments):
            result = json.loads(diff("--format", "json", "--all",
                                     *arguments).stdout)
            return {(row["process"], *row["path"], metric["metric"]):
                    metric["self"]["change"] for row in result["rows"]
                    for metric in row["metrics"]}
        forth = changes(*SETS)
        back = changes("--before", *NEW, "--after", *OLD)
        self.assertTrue(forth)
        self.assertEqual(forth, {key: -value for key, value in back.items()})

    def test_exit_statuses(self):
        for status, *arguments in (
                (0, *SETS),
                (4, "--threshold", "5%", *SETS),
                (0, "--threshold", "1000%", *SETS),
                (4, "--threshold", "server:handle:page-faults 100%", *SETS),
                (0, "--threshold", "server:parse 10%", *SETS),
                (4, "--threshold", "server:parse 10%", "--threshold",
                 "total:wall 5%", *SETS),
                (0, "--threshold", "5%", "--before", *NEW, "--after", *OLD),
                (4, "--threshold", "5%", "old1.ctf", "new1.ctf"),
                (0, "--threshold", "5%", "old1.ctf", "old1.ctf")):
            with self.subTest(arguments=arguments):
                done = diff(*arguments)
                self.assertEqual((status, ""), (done.returncode, done.stderr))

    def test_what_cannot_be_compared_fails(self):
        for expected, *arguments in (
                ("gone.ctf", "gone.ctf", "new1.ctf"),
                ("gone.ctf", "old1.ctf", "gone.ctf"),
                ("server:hande", "--threshold", "server:hande 5%", *SETS),
                ("server:audit", "--threshold", "server:audit 5%", *SETS),
                ("cycles", "--threshold", "server:handle:cycles 5%", *SETS)):
            with self.subTest(arguments=arguments):
                done = diff(*arguments)
                self.assertEqual((1, ""), (done.returncode, done.stdout))
                self.assertIn("countrace diff: ", done.stderr)
                self.assertIn(expected, done.stderr)

    def test_wrong_usage(self):
        for expected, *arguments in (
                ("BEFORE AFTER",),
                ("BEFORE AFTER", "old1.ctf"),
                ("new2.ctf", "old1.ctf", "new1.ctf", "new2.ctf"),
                ("both needed", "--before", "old1.ctf"),
                ("old1.ctf", "old1.ctf", "--after", "new1.ctf"),
                ("10 percent", "--threshold", "10 percent", *SETS),
                ("xml", "--format", "xml", *SETS)):
            with self.subTest(arguments=arguments):
                done = diff(*arguments)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                self.assertIn(expected, done.stderr)
                self.assertIn("countrace help diff", done.stderr)

    def test_text_fits_the_terminal(self):
        for line in diff(*SETS).stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)


if __name__ == "__main__":
    COUNTRACE, SERVER_TRACES = (os.path.abspath(p) for p in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
