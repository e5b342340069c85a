#!/usr/bin/env python3
"""The example `power2` and what countrace says of its traces: the report is the
truth that the example prints, digit for digit; estimates hold it; a dump that
comes too late is found.

Usage: power2_test.py COUNTRACE POWER2 [unittest options]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

COUNTRACE = POWER2 = ""
WRAP_NS = 2**32 * 10**9 // 66_000_000


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=100, stdin=subprocess.DEVNULL)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stderr}")
    return done.stdout


class Power2(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="countrace-power2-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.traces = 0

    def machine(self, *options):
        """Its trace, what was true, and the report."""
        trace = self.folder / str(self.traces)
        self.traces += 1
        truth = json.loads(run(POWER2, *options, trace))
        return trace, truth, self.report(trace)

    @staticmethod
    def report(trace, *options):
        return json.loads(run(COUNTRACE, "report", "--format", "json", "--rows",
                              "0", *options, trace))

    def check_processes(self, truth, report, counts):
        rows = {row["pid"]: row for row in report["processes"]}
        ran = [process for process in truth["processes"]
               if process["dispatches"]]
        self.assertEqual(len(rows), len(ran))
        for process in ran:
            row = rows[process["pid"]]
            for name in ("comm", "on_cpu_ns", "dispatches"):
                self.assertEqual(process[name], row[name])
            self.assertEqual(process["counts"], counts(row))
        return len(ran)

    def check_books(self, truth, report):
        self.assertEqual(list(truth["total"]), report["trace"]["events"])
        for event, total in truth["total"].items():
            book = report["books"][event]
            self.assertEqual(total, book["total"], event)
            self.assertEqual(0, book["residual"], event)
            self.assertEqual(truth["idle"][event], book["idle"], event)
            self.assertEqual(
                truth["clock"][event] + truth["dispatcher"][event],
                book["interrupts"], event)
            self.assertEqual(sum(process["counts"][event]
                                 for process in truth["processes"]),
                             book["processes"], event)
        for cpu in report["cpus"]:
            self.assertEqual(truth["duration_ns"], cpu["wall_ns"])
        for name in ("idle_ns", "interrupts_ns"):
            self.assertEqual(truth[name],
                             sum(cpu[name] for cpu in report["cpus"]))

    def check_calls(self, truth, report):
        """Returns how many rows of segments were compared."""
        rows = {(row["pid"], row["segment"]): row for row in report["segments"]}
        compared = 0
        for process in truth["processes"]:
            svc = rows.get((process["pid"], "syscall:svc"))
            if svc:
                self.assertEqual(process["svc_calls"], svc["calls"])
            phase = rows.get((process["pid"], "app:phase"))
            if not phase or phase["end_inferred"]:
                continue
            self.assertEqual(process["phase_calls"], phase["calls"])
            for event, count in phase["counts"].items():
                self.assertEqual(process["in_phase"][event], count["incl"])
                compared += 1
        return compared

    def test_a_report_is_the_truth_digit_for_digit(self):
        processes = calls = 0
        # All; problem state; supervisor; marked; not marked, supervisor; SGA;
        # disabled.
        for seed, mmcr in enumerate(("0x00003e57", "0x40003f57", "0x20000e00",
                                     "0x08003ecc", "0x30001234", "0x04000000",
                                     "0x80003e57")):
            with self.subTest(mmcr=mmcr):
                _, truth, report = self.machine("--mmcr", mmcr, "--cpus",
                                                str(1 + seed % 3), "--seed",
                                                str(seed), "--steps", "3000")
                self.assertEqual([], report["loss"]["messages"])
                processes += self.check_processes(
                    truth, report, lambda row: row["counts"])
                self.check_books(truth, report)
                calls += self.check_calls(truth, report)
                if mmcr == "0x80003e57":
                    self.assertEqual({0}, set(truth["total"].values()))
        self.assertGreater(processes, 40)
        self.assertGreater(calls, 400)

    def test_counters_wrap_and_nothing_is_lost(self):
        _, truth, report = self.machine("--long")
        self.assertGreater(truth["duration_ns"], 4 * WRAP_NS)
        self.assertEqual(448, truth["wraps"])  # docs/power2.md
        self.assertEqual([], report["loss"]["messages"])
        self.check_processes(truth, report, lambda row: row["counts"])
        self.check_books(truth, report)

    def test_software_events_are_in_the_trace(self):
        trace, truth, report = self.machine()
        hits = {row["hook"]: 0 for row in report["hooks"]}
        for row in report["hooks"]:
            hits[row["hook"]] += row["hits"]
        self.assertEqual(truth["spe_changes"], hits["power2:spe"])
        self.assertEqual(truth["imr_writes"], hits["power2:imr"])

    def test_the_hardware_s_marks_are_report_s(self):
        everything, _, _ = self.machine("--mmcr", "0x00003e57")
        _, truth, _ = self.machine("--mmcr", "0x08003e57")
        self.assertEqual({True, False},
                         {process["marked"] for process in truth["processes"]})
        names = ",".join(str(process["pid"]) for process in truth["processes"]
                         if process["marked"])
        chosen = self.report(everything, "--mark", names)
        self.check_processes(
            {"processes": [process for process in truth["processes"]
                           if process["marked"]]}, chosen,
            lambda row: row["counts"])

    def check_sweep(self, *options):
        """The counts are exact, and the estimates hold what happened. Returns
        the numbers of estimates and of those that hold it."""
        _, truth, report = self.machine(*options)
        self.assertEqual([], report["loss"]["messages"])
        self.check_processes(truth, report, lambda row: {
            event: row["scaled"][event]["counted"]
            if event in (row["scaled"] or {}) else row["counts"].get(event, 0)
            for event in truth["total"]})
        self.check_books(truth, report)
        self.check_calls(truth, report)
        rows = {row["pid"]: row for row in report["processes"]}
        held = estimates = 0
        for process in truth["processes"]:
            bounds = rows.get(process["pid"], {}).get("bounds", {})
            for event in truth["total"]:
                if f"counts.{event}" not in bounds:
                    continue
                low, high = bounds[f"counts.{event}"]
                estimates += 1
                held += low <= process["happened"][event] and (
                    high is None or process["happened"][event] <= high)
        return estimates, held

    def test_a_sweep_of_groups_estimates_all_events_of_its_units(self):
        for units, least in (("fpu,fxu,icu", 240), ("scu", 80)):
            with self.subTest(units=units):
                estimates, held = self.check_sweep("--sweep", units)
                print(f"{units}: {held} of {estimates} intervals hold the truth")
                self.assertGreater(estimates, least)
                # They are of the same turns, and so not independent.
                self.assertGreater(held, 0.85 * estimates)

    def test_a_sweep_of_codes_estimates_the_instruction_mix(self):
        estimates, held = 0, 0
        for seed in range(5):
            result = self.check_sweep("--sweep", "codes", "--seed", str(seed))
            estimates += result[0]
            held += result[1]
        print(f"codes: {held} of {estimates} intervals hold the truth")
        self.assertGreater(estimates, 60)
        self.assertGreater(held, 0.85 * estimates)

    def test_a_late_dump_may_hide_wraps(self):
        _, late, report = self.machine("--dump-late")
        self.assertGreater(late["duration_ns"], 2 * WRAP_NS)
        messages = [message for message in report["loss"]["messages"]
                    if "may have wrapped more than once" in message]
        for message in messages:
            self.assertIn("65.0753 s", message)
            self.assertRegex(message, r"the longest, 150\.\d+ s")
        named = {message.split(":")[0] for message in messages}
        self.assertEqual(set(late["total"]), named)
        wrapped = 0
        for event, total in late["total"].items():
            book = report["books"][event]
            self.assertEqual("bounded", book["doubt"]["quality"])
            self.assertGreaterEqual(book["doubt"]["wrapped_intervals"], 1)
            self.assertLessEqual(book["total"], total)
            self.assertEqual(0, (total - book["total"]) % 2**32)
            wrapped += book["total"] < total
        self.assertGreater(wrapped, 2)
        # In time, nothing is in doubt.
        _, truth, report = self.machine()
        self.assertLess(truth["duration_ns"], WRAP_NS)
        self.assertEqual([], report["loss"]["messages"])
        self.check_books(truth, report)

    def test_traces_are_sound(self):
        for options in ((), ("--sweep", "fpu,fxu,icu"), ("--sweep", "codes"),
                        ("--dump-late",)):
            trace, _, _ = self.machine(*options)
            run(COUNTRACE, "verify", trace)
            run("babeltrace2", trace)

    def test_what_it_refuses(self):
        for words, expected in (
                (("--mmcr", "0x00100000"), "bits 6 to 15 (0x03ff0000) are reserv"),
                (("--mmcr", "0x1g"), "0x1g is not a number from 0 to 4294967295"),
                (("--sweep", "alu"), "--sweep alu: it is fpu, fxu, icu, scu, or"),
                (("--sweep", "fpu,fxu,icu,scu"), "at most 3 units in one trace"),
                (("--sweep", "scu", "--mmcr", "0x04000000"), "with SGA"),
                (("--cpus", "5"), "5 is not a number from 1 to 4"),
                (("--seed",), "--seed needs a value"),
                (("--nothing",), "--nothing: not an option"), ((), "TRACE is")):
            arguments = (*words, "x") if words and words != ("--seed",) else words
            done = subprocess.run([POWER2, *arguments], capture_output=True,
                                  text=True, cwd=self.folder, check=False)
            self.assertEqual(2, done.returncode, words)
            self.assertIn(expected, done.stderr)
            self.assertFalse((self.folder / "x").exists())
        (self.folder / "there").mkdir()
        done = subprocess.run([POWER2, self.folder / "there"], text=True,
                              capture_output=True, check=False)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, re.escape("exists already; choose another"))


if __name__ == "__main__":
    COUNTRACE, POWER2 = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
