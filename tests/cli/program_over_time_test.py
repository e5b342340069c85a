#!/usr/bin/env python3
"""A trace at instants, in steps, by intervals and ranges: the answers of verbs
equal a replay of what `script` prints.

Usage: program_over_time_test.py COUNTRACE HELLO_HOOKS [unittest options].
"""

import json
import re

from program_runs import HelloTrace, main, run


class OverTime(HelloTrace):
    def replay(self):
        """(time_ns, enters, hook) of each record of a hook, from script."""
        records = []
        for line in run("script", "hello.ctf").stdout.splitlines():
            match = re.match(r"\[(\d+)\.(\d+)\] \d+/\d+ (\S+?)(__enter|__exit)?:"
                             r"(?: |$)", line)
            if match:
                seconds, ns, hook, edge = match.groups()
                records.append((int(seconds) * 10**9 + int(ns), edge, hook))
        self.assertEqual(300, len(records))
        return records

    def states(self, *arguments):
        done = run("state", *arguments, "--format", "json", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        document = json.loads(done.stdout)
        self.assertEqual("countrace.state/1", document["schema"])
        return document["states"]

    def test_state_equals_a_replay_of_the_script(self):
        begun = None
        records = self.replay()
        for number, (time_ns, edge, _) in enumerate(records[:-1]):
            begun = {"__enter": time_ns, "__exit": None}.get(edge, begun)
            if number % 37 and number > 3:
                continue
            if records[number + 1][0] == time_ns:
                continue  # not the last one of its instant
            for at_ns in {time_ns, records[number + 1][0] - 1}:
                (state,) = self.states("--at", str(at_ns))
                self.assertEqual(at_ns, state["t_ns"])
                open_now = [(call["segment"], call["inside_ns"])
                            for thread in state["threads"]
                            for call in thread["segments"]]
                self.assertEqual(
                    [] if begun is None else
                    [("hello:work", at_ns - begun)], open_now)

    def test_steps_are_the_records_of_the_script(self):
        records = self.replay()
        edges = [time for time, edge, _ in records if edge]
        hits = [time for time, edge, _ in records if not edge]
        for kind, times in (("segment", edges), ("hook", hits)):
            steps = self.states("--next", kind, "--at", "begin", "--steps",
                                "1000")
            # A segment that begins at the trace's beginning is not after it.
            self.assertIn([state["t_ns"] for state in steps],
                          (times, times[1:]))
            steps = self.states("--previous", kind, "--steps", "1000",
                                "--of", "hello:*")
            self.assertEqual(times[::-1], [state["t_ns"] for state in steps])
            self.assertIn("hello:", steps[0]["step"])
        done = run("state", "--next", "loss", "--at", "begin", "hello.ctf")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("loss", done.stderr)

    def test_state_comes_in_each_format(self):
        seconds, ns = divmod(self.replay()[1][0], 10**9)
        text = run("state", "--at", f"@{seconds}.{ns:09}", "hello.ctf").stdout
        for expected in ("THREADS", "hello:work", "hello_hooks", "BEFORE"):
            self.assertIn(expected, text)
        lines = run("state", "--next", "hook", "--steps", "5", "--format",
                    "jsonl", "hello.ctf").stdout.splitlines()
        self.assertEqual(5, len([json.loads(line) for line in lines]))
        for filters, expected in ((["--of", "absent:*"], "list hooks"),
                                  (["--of", "1"], "report --by thread")):
            done = run("state", "--next", "hook", *filters, "hello.ctf")
            self.assertEqual(1, done.returncode, done)
            self.assertIn(expected, done.stderr)
        done = run("state", "--at", "1h", "hello.ctf")
        self.assertEqual(2, done.returncode, done)
        self.assertIn("`end` is its end", done.stderr)

    def test_intervals_add_up_to_the_calls_of_the_report(self):
        calls = sum(edge == "__enter" for _, edge, _ in self.replay())
        done = run("report", "--by", "time", "--every", "3ms", "--segment",
                   "hello:*", "--format", "json", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        document = json.loads(done.stdout)
        self.assertEqual("countrace.over_time/1", document["schema"])
        intervals = document["intervals"]
        self.assertEqual(calls, sum(interval["segments"]["calls"]
                                    for interval in intervals))
        # Each interval but the last has the requested length.
        self.assertEqual([3_000_000] * (len(intervals) - 1),
                         [interval["end_ns"] - interval["begin_ns"]
                          for interval in intervals[:-1]])
        segments = json.loads(run("report", "--format", "json",
                                  "hello.ctf").stdout)["segments"]
        self.assertEqual(sum(row["wall_ns"]["incl"] for row in segments),
                         sum(interval["segments"]["wall_ns"]
                             for interval in intervals))

    def test_ranges_add_up_to_the_report(self):
        def report(*options):
            done = run("report", "--format", "json", *options, "hello.ctf")
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            return json.loads(done.stdout)

        def sums(document):
            rows = document["segments"]
            return (sum(row["calls"] for row in rows),
                    sum(row["wall_ns"]["incl"] for row in rows))
        whole = report()
        parts = [sums(report(*options)) for options in
                 (["--to", "30%"], ["--from", "30%", "--to", "60%"],
                  ["--from", "60%"])]
        self.assertEqual(sums(whole), tuple(map(sum, zip(*parts))))
        self.assertEqual(whole, report("--from", "begin", "--to", "end"))
        done = run("report", "--at", "50%", "--window", "10us", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"\nonly from @\d+\.\d+ to @\d+\.\d+\n")

    def test_slowest_calls_are_those_of_the_script(self):
        enters, calls = {}, []
        for line in run("script", "--format", "jsonl", "--hook", "hello:work",
                        "hello.ctf").stdout.splitlines():
            record = json.loads(line)
            if record["event"].endswith("__enter"):
                enters[record["tid"]] = record
            else:
                enter = enters.pop(record["tid"])
                calls.append((record["time_ns"] - enter["time_ns"],
                              -enter["time_ns"], enter["fields"]))
        calls.sort(key=lambda call: call[:2], reverse=True)

        def slowest(*options):
            done = run("report", "--slowest", "7", *options, "hello.ctf")
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            return done.stdout
        document = json.loads(slowest("hello:*", "--format", "json"))
        self.assertEqual("countrace.slowest/1", document["schema"])
        self.assertEqual([call[:2] for call in calls[:7]],
                         [(row["wall_ns"], -row["begin_ns"])
                          for row in document["calls"]])
        for row, (_, _, fields) in zip(document["calls"], calls):
            for value in fields.values():
                self.assertIn(f"= {value}", row["payload"])
            self.assertEqual("exact", row["quality"])
            if row["on_cpu_ns"] is not None:
                self.assertLessEqual(row["on_cpu_ns"] + row["wait_ns"],
                                     row["wall_ns"])
        # The place that it names is in the trace, and has the call.
        at = document["calls"][0]["view"].split()[3]
        state = json.loads(run("state", "--at", at, "--format", "json",
                               "hello.ctf").stdout)["states"][0]
        self.assertIn("hello:work", json.dumps(state))
        self.assertEqual(8, len(slowest("hello:work", "--format",
                                        "csv").splitlines()))
        self.assertEqual(8, len(slowest("hello:work").splitlines()))
        half = json.loads(slowest("hello:work", "--to", "50%", "--format",
                                  "json"))["calls"]
        middle = max(row["begin_ns"] for row in half)
        self.assertEqual(
            sorted((call[:2] for call in calls if -call[1] <= middle),
                   reverse=True)[:7],
            [(row["wall_ns"], -row["begin_ns"]) for row in half])

    def test_slowest_of_no_segment_names_near_ones(self):
        for name in ("work", "hello:wrk"):
            done = run("report", "--slowest", "3", name, "hello.ctf")
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn("did you mean hello:work?", done.stderr)

    def test_given_compares_calls_with_the_rest(self):
        calls = json.loads(run("report", "--slowest", "1000", "hello:work", "--format", "json",
                               "hello.ctf").stdout)["calls"]
        walls = [row["wall_ns"] for row in calls]
        least = sorted(walls)[len(walls) // 2]
        given = [ns for ns in walls if ns > least]
        done = run("report", "--given", f"wall_ns > {least}", "--segment", "hello:work",
                   "--format", "json", "hello.ctf")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        document = json.loads(done.stdout)
        self.assertEqual("countrace.given/1", document["schema"])
        row, = (row for row in document["calls"] if row["number"] == "wall_ns")
        self.assertEqual(("hello:work", len(given), len(walls) - len(given), 0),
                         (row["segment"], row["given"], row["rest"], row["unknown"]))
        self.assertAlmostEqual(sum(given) / len(given), row["mean_given"], places=3)
        text = run("report", "--given", f"wall_ns > {least}", "hello.ctf")
        self.assertEqual((0, ""), (text.returncode, text.stderr))
        for words, said in ((("--given", "nothing > 1"), "--given:1:1: calls have no number"),
                            (("--given", "wall_ns >"), "--given:1:"),
                            (("--given", "wall_ns > 1", "--by", "path"), "--given is a table")):
            refused = run("report", *words, "hello.ctf")
            self.assertEqual((2, ""), (refused.returncode, refused.stdout), words)
            self.assertIn(said, refused.stderr)

    def test_around_is_another_name_of_at(self):
        printed = [run("report", option, "50%", "--window", "2ms", "hello.ctf")
                   for option in ("--at", "--around")]
        self.assertEqual(0, printed[0].returncode, printed[0].stderr)
        self.assertEqual(printed[0].stdout, printed[1].stdout)

    def test_a_range_outside_the_trace_is_refused(self):
        for options, expected in (
                (["--from", "1000s"], "is not in the trace"),
                (["--from", "60%", "--to", "30%"], "the range is empty"),
                (["--at", "noon"], "not an instant: noon"),
                (["--around", "noon"], "not an instant: noon"),
                (["--around", ""], "need an instant"),
                (["--around", "1ms", "--at", "1ms"], "give one of them"),
                (["--around", "1ms", "--to", "2ms"], "middle of --window")):
            done = run("report", *options, "hello.ctf")
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(expected, done.stderr)

    def test_wrong_questions_over_time_have_a_remedy(self):
        for options, expected in (
                (["--every", "1ns"], "the shortest that can be is --every"),
                (["--segment", "absent:*"], "list hooks"),
                (["--process", "absent"], "report --by process")):
            done = run("report", "--by", "time", *options, "hello.ctf")
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn(expected, done.stderr)

    def instant_of(self, text):
        document = json.loads(run("state", "--at", text, "--format", "json",
                                  "hello.ctf").stdout)
        return document["states"][0]["t_ns"]

    def test_state_takes_the_times_that_verbs_print(self):
        info = json.loads(run("info", "--format", "json", "hello.ctf").stdout)
        self.assertEqual(info["begin_ns"], self.instant_of(info["began"]))
        line = run("script", "hello.ctf").stdout.splitlines()[-2]
        stamp = line[:line.index("]") + 1]
        ns = int(stamp.strip("[]").replace(".", ""))
        for text in (stamp, stamp.strip("[]"), "@" + stamp.strip("[]"),
                     str(ns)):
            self.assertEqual(ns, self.instant_of(text), text)
        head = run("state", "--at", stamp, "hello.ctf").stdout.splitlines()[0]
        since, clock = re.search(r"at (\S+ s) of .* (\S+)$", head).groups()
        self.assertEqual(ns, self.instant_of(since))
        self.assertEqual(ns, self.instant_of(clock))
        series = json.loads(run("report", "--by", "time", "--format", "json",
                                "hello.ctf").stdout)
        middle = series["intervals"][len(series["intervals"]) // 2]["begin_ns"]
        self.assertEqual(middle, self.instant_of(str(middle)))
        self.assertEqual(
            middle, self.instant_of(f"{(middle - info['begin_ns']) / 1e9:.9f}"))
        self.assertEqual(2, run("view", "--at", "trigger",
                                "hello.ctf").returncode)
        self.assertEqual(2, run("view", "--window", "1ms",
                                "hello.ctf").returncode)


if __name__ == "__main__":
    main()
