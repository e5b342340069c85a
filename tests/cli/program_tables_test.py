#!/usr/bin/env python3
"""The tables of a report in each format, their rows under `--where`, their
columns.

Usage: program_tables_test.py COUNTRACE HELLO_HOOKS [unittest options].
"""

import collections
import json

from program_runs import HelloTrace, main, run


class Tables(HelloTrace):
    def test_report_has_the_true_counts(self):
        done = run("report", "--format", "json", "hello.ctf")
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual("countrace.report/1", report["schema"])
        segments = {row["segment"]: row for row in report["segments"]}
        self.assertEqual(100, segments["hello:work"]["calls"])
        self.assertEqual(0, report["loss"]["discarded_events"])

    def test_each_table_comes_in_each_format(self):
        for by in ("process", "thread", "segment", "path", "cpu", "hook",
                   "waker", "preemptor", "syscall", "file", "time", "phase"):
            for output in ("text", "json", "jsonl", "csv"):
                with self.subTest(by=by, output=output):
                    done = run("report", "--by", by, "--format", output,
                               "hello.ctf")
                    self.assertEqual(0, done.returncode, done.stderr)
                    # The page prints more than an empty table.
                    if by == "waker":
                        self.assertIn("no wake-ups were recorded",
                                      done.stdout + done.stderr)
                    elif by == "file":
                        self.assertIn("no system calls with their values",
                                      done.stdout + done.stderr)
                    elif by == "syscall":
                        self.assertIn("no system calls were recorded",
                                      done.stdout + done.stderr)
                    else:
                        self.assertEqual("", done.stderr)
                    if output == "json":
                        json.loads(done.stdout)
                    if output == "jsonl":
                        for line in done.stdout.splitlines():
                            json.loads(line)

    def test_rows_by_a_value_are_those_of_the_records(self):
        terms, sums = collections.Counter(), collections.Counter()
        for line in run("script", "--format", "jsonl",
                        "hello.ctf").stdout.splitlines():
            record = json.loads(line)
            if record["event"] == "hello:work__enter":
                terms[str(record["fields"]["arg0"])] += 1
            if record["event"] == "hello:sum":
                sums[str(record["fields"]["arg0"])] += 1
        self.assertEqual(100, terms.total())
        self.assertEqual(100, sums.total())

        def rows(table, *options):
            done = run("report", "--by", table, "--format", "json", *options,
                       "hello.ctf")
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            return next(rows for rows in json.loads(done.stdout).values()
                        if isinstance(rows, list))
        for table in ("segment", "path"):
            self.assertEqual(terms, {
                row["arg0"]: row["calls"]
                for row in rows(table, "--group-by", "arg0")
                if row["segment"] == "hello:work"})
        self.assertEqual(sums, {
            row["arg0"]: row["hits"]
            for row in rows("hook", "--group-by", "arg0")
            if row["hook"] == "hello:sum"})
        value = terms.most_common(1)[0][0]
        chosen = rows("segment", "--where",
                      f'arg0 == "{value}" && segment == "hello:work"')
        self.assertEqual([(value, terms[value])],
                         [(row["arg0"], row["calls"]) for row in chosen])
        done = run("script", "--hook", "hello:work", "--where",
                   f"arg0 == {value}", "hello.ctf")
        self.assertEqual(terms[value], len(done.stdout.splitlines()))
        self.assertIn(f"hello:work arg0={value}  hello_hooks",
                      run("report", "--by", "segment", "--group-by", "arg0",
                          "--rows", "0", "hello.ctf").stdout)

    def test_a_value_that_no_hook_has_is_refused_with_those_that_are(self):
        for verb in (["script", "--where", "arg7 == 1"],
                     ["report", "--by", "segment", "--group-by", "arg7"]):
            done = run(*verb, "hello.ctf")
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn("arg0", done.stderr)

    def where(self, expression, *arguments):
        done = run("report", "--format", "json", "--where", expression,
                   *arguments, "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_where_shows_the_rows_of_which_it_is_true(self):
        whole = json.loads(
            run("report", "--format", "json", "hello.ctf").stdout)
        wall = whole["segments"][0]["wall_ns"]["incl"]
        some = self.where('segment =~ "^hello:" && calls == 100 && '
                          f"wall_ns <= {wall / 1e6:.6f}ms")
        self.assertEqual(whole["segments"], some["segments"])
        self.assertEqual(whole["segment_paths"], some["segment_paths"])
        self.assertNotIn("processes", some)
        tables = some["where"]["tables"]
        self.assertEqual(["segment", "calls", "wall_ns"],
                         tables["processes"]["missing"])
        self.assertEqual({"selected": wall, "total": wall, "of": "rows"},
                         tables["segments"]["shares"]["wall_ns.excl"])
        self.assertEqual(whole["books"], some["books"])
        none = self.where(f"wall_ns.incl > {wall}", "--by", "segment")
        self.assertEqual([], none["segments"])
        self.assertEqual({"selected": 0, "total": wall, "of": "rows"},
                         none["where"]["tables"]["segments"]["shares"]
                         ["wall_ns.excl"])
        # The trace has no kernel records: on-CPU time is unknown, so neither a
        # condition on it nor its negation holds.
        for unknown in ("on_cpu_ns >= 0", "!(on_cpu_ns >= 0)"):
            self.assertEqual([], self.where(unknown)["processes"])

    def test_where_works_with_metrics_and_over_time(self):
        found = self.where('segment == "hello:work"', "--metric",
                           "x = wall_ns / calls")
        self.assertEqual(["hello:work"], [row["segment"] for row in
                                          found["tables"]["segment"]])
        self.assertNotIn("process", found["tables"])
        self.assertEqual(
            1, found["statistics"]["segment"]["x"]["count"]["value"])
        none = self.where('segment == "absent"', "--metric",
                          "x = wall_ns / calls")
        self.assertEqual([], none["tables"]["segment"])
        everything, some = (json.loads(run(
            "report", "--by", "time", "--format", "json", *choice,
            "hello.ctf").stdout)["intervals"] for choice in (
                ["--segment", "hello:work"],
                ["--where", "segment =~ 'work$' && calls >= 100"]))
        calls = [row["segments"]["calls"] for row in some]
        self.assertEqual(100, sum(calls))
        self.assertEqual([row["segments"]["calls"] for row in everything],
                         calls)
        done = run("report", "--by", "phase", "--where", "comm != ''",
                   "hello.ctf")
        self.assertEqual(0, done.returncode, done.stderr)
        done = run("report", "--by", "time", "--where", "pid == 0",
                   "hello.ctf")
        self.assertEqual(1, done.returncode)
        self.assertIn("selects no process", done.stderr)

    def test_where_names_what_there_is(self):
        done = run("report", "--where", "com == 'x'", "hello.ctf")
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("--where:1:1: unknown field `com`; did you mean `comm`?"
                      "\n  com == 'x'\n  ^\nfields of processes: pid, comm,",
                      done.stderr)
        done = run("report", "--by", "thread", "--where", "calls > 1",
                   "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("rows of threads have no field `calls`", done.stderr)
        # CSV holds one table: that of processes by default.
        done = run("report", "--format", "csv", "--where", "calls > 1",
                   "hello.ctf")
        self.assertEqual(2, done.returncode)
        self.assertIn("rows of processes have no field", done.stderr)

    def test_csv_says_that_it_is_one_table_of_several(self):
        done = run("report", "--format", "csv", "hello.ctf")
        self.assertEqual(0, done.returncode)
        self.assertIn("one table, here that of processes", done.stderr)
        done = run("report", "--format", "csv", "--by", "process",
                   "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_columns(self):
        done = run("report", "--format", "csv", "--by", "segment", "--columns",
                   "segment,calls,wall_ns", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual("segment,calls,wall_ns.incl",
                         done.stdout.splitlines()[0])
        for arguments, words in (
                (["--columns", "cals", "--by", "segment"], "`calls`"),
                (["--columns", "calls", "--by", "process"], "no column"),
                (["--columns", "calls", "--by", "time"], "order of time")):
            done = run("report", *arguments, "hello.ctf")
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    main()
