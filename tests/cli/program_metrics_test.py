#!/usr/bin/env python3
"""Metrics of a report: shipped rules, own rules, other traces.

Usage: program_metrics_test.py COUNTRACE HELLO_HOOKS [unittest options].
"""

import json
import pathlib

from program_runs import HelloTrace, Programs, main, run


class Metrics(HelloTrace):
    def metrics(self, *arguments):
        done = run("report", "--format", "json", *arguments, "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_metrics_are_those_of_the_counts(self):
        counts = json.loads(
            run("report", "--format", "json", "hello.ctf").stdout)
        self.assertEqual(100, counts["segments"][0]["calls"])
        rules = pathlib.Path("my.toml")
        rules.write_text('[metric.per_call]\nexpr = "wall_ns / calls"\n'
                         'unit = "us/call"\n')
        found = self.metrics("--rules", "my.toml", "--metric",
                             "twice = 2 * per_call", "--metric",
                             "p = `page-faults` / calls", "--metric",
                             "n = count(segment.per_call)")
        self.assertEqual("countrace.metrics/1", found["schema"])
        self.assertEqual(["per_call", "twice", "p", "n"],
                         [rule["metric"] for rule in found["rules"]])
        row = found["tables"]["segment"][0]
        self.assertEqual("hello:work", row["segment"])
        wall = counts["segments"][0]["wall_ns"]["incl"]
        self.assertAlmostEqual(wall / 100 / 1000,
                               row["metrics"]["per_call"]["value"], places=6)
        self.assertEqual("exact", row["metrics"]["per_call"]["quality"])
        self.assertAlmostEqual(2 * wall / 100,
                               row["metrics"]["twice"]["value"], places=3)
        # Without kernel records faults are not counted.
        self.assertEqual({"value": None, "absent": "needs page-faults"},
                         row["metrics"]["p"])
        self.assertEqual(
            1, found["tables"]["trace"][0]["metrics"]["n"]["value"])

    def test_other_traces_are_known_by_their_label(self):
        run("record", "--no-kernel", "-q", "-o", "two.ctf", "--", Programs.hello_hooks)
        found = self.metrics("--with", "two=two.ctf", "--metric",
                             "ratio = @two.duration_ns / duration_ns",
                             "--metric", "n = count(traces.duration_ns)")
        row = found["tables"]["trace"][0]["metrics"]
        self.assertGreater(row["ratio"]["value"], 0)
        self.assertEqual(2, row["n"]["value"])

    def test_metrics_come_in_each_format_and_table(self):
        for by in ("process", "thread", "segment", "path", "cpu"):
            for output in ("text", "json", "jsonl", "csv"):
                with self.subTest(by=by, output=output):
                    done = run("report", "--metrics", "--by", by, "--format",
                               output, "hello.ctf")
                    self.assertEqual((0, ""), (done.returncode, done.stderr))
        done = run("report", "--metrics", "--by", "hook", "hello.ctf")
        self.assertEqual(2, done.returncode)

    def test_metrics_are_chosen_by_glob(self):
        found = self.metrics("--metrics=cache_*")
        self.assertEqual(["cache_miss_ratio", "cache_mpki"],
                         [rule["metric"] for rule in found["rules"]])
        done = run("report", "--metrics=cache_missratio", "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("did you mean `cache_miss_ratio`?", done.stderr)

    def test_wrong_names_of_a_rule_have_their_place(self):
        pathlib.Path("my.toml").write_text(
            '[metric.x]\nexpr = "cylces / instructions"\n')
        done = run("report", "--rules", "my.toml", "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("my.toml:2:9: unknown event, quantity or metric "
                      "`cylces`; did you mean `cycles`?\n"
                      "  cylces / instructions\n  ^\n", done.stderr)

    def test_metric_of_another_table_is_said(self):
        done = run("report", "--by", "thread", "--metric", "x = wall_ns/calls",
                   "hello.ctf")
        self.assertEqual(0, done.returncode)
        self.assertIn("`x` is not of this table, only of segment, path",
                      done.stderr)

    def test_listed_metrics_are_the_shipped_ones(self):
        done = run("list", "metrics")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"(?m)^ipc +ratio +instructions / cycles "
                                      r"+instructions, cycles$")
        rows = json.loads(run("list", "metrics", "--format", "json").stdout)
        for row in rows["metrics"]:
            self.assertTrue(row["description"], row)


if __name__ == "__main__":
    main()
