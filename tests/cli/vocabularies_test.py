#!/usr/bin/env python3
"""The processors' own event names from the command line: list events --model,
doctor --model, import --oprofile, record --event-file.

Usage: vocabularies_test.py COUNTRACE FOLDER [unittest options]. FOLDER has
ppc64/small, three files in OProfile's format.
"""

import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

COUNTRACE = FOLDER = ""


def run(*arguments):
    return subprocess.run([COUNTRACE, *map(str, arguments)], capture_output=True,
                          text=True, timeout=60, check=False)


class Vocabularies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def imported(self):
        made = self.folder / "small.toml"
        result = run("import", "--oprofile", f"{FOLDER}/ppc64/small", "-o", made)
        self.assertEqual((0, "", ""), (result.returncode, result.stdout, result.stderr))
        return made

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

    def test_imported_file_is_a_model(self):
        rows = {(row["event"], row["group"]): row for row in self.events(self.imported())
                if "event" in row}
        run_cycles = rows["PM_RUN_CYC", "1"]
        self.assertEqual(("0x10", "0", 10000),
                         (run_cycles["code"], run_cycles["counters"], run_cycles["minimum"]))
        self.assertEqual("0x3", rows["PM_DATA_FROM_L2", "44"]["mask"])

    def test_import_replaces_a_file_with_force_alone(self):
        made = self.imported()
        again = ["import", "--oprofile", f"{FOLDER}/ppc64/small", "-o", made]
        self.assertIn("--force replaces it", run(*again).stderr)
        self.assertEqual(0, run(*again, "--force").returncode)

    def test_import_names_file_line_and_numbers(self):
        broken = self.folder / "ppc64"
        broken.mkdir()
        for name in "events", "unit_masks", "event_mappings":
            text = pathlib.Path(FOLDER, "ppc64/small", name).read_text("utf-8")
            if name == "event_mappings":
                text = "\n".join(line for line in text.splitlines() if "0x11" not in line)
            (broken / name).write_text(text, "utf-8")
        result = run("import", "--oprofile", broken, "-o", self.folder / "a.toml")
        self.assertEqual(1, result.returncode)
        self.assertIn("/events:6:1: event 0x11 of group 1 has no MMCR", result.stderr)
        self.assertFalse((self.folder / "a.toml").exists())

    def test_doctor_judges_by_the_model(self):
        for events, status in ("{FXU_0_0,FXU_0_4,ICU_9_1,cycles}", 0), ("{FXU_0_0,FXU_1_1}", 1):
            result = run("doctor", "--model", "power2", "-e", events, "--format", "jsonl")
            self.assertEqual(status, result.returncode, result.stderr)
        self.assertIn("counter 5 of FXU group 0", result.stdout)
        self.assertIn("{FXU_0_0},{FXU_1_1}", result.stdout)
        power5 = run("doctor", "--model", "power5", "-e",
                     "pm_run_cyc,{pm_inst_cmpl,pm_grp_cmpl,pm_cyc},{pm_cmpl_stall_fxu}")
        self.assertIn("pm_grp_cmpl (counter 3 of group 1), pm_cyc (counter 4 of group 0)",
                      power5.stdout)
        self.assertIn("-e 'pm_run_cyc,{pm_inst_cmpl,pm_grp_cmpl},{pm_cyc},{pm_cmpl_stall_fxu}'",
                      power5.stdout)
        self.assertEqual(1, power5.returncode)
        wrong = run("doctor", "--model", "power5", "-e", "{pm_none}")
        self.assertIn("IBM POWER5 has no event \"pm_none\"", wrong.stderr)
        grouped = run("doctor", "--model", self.imported(), "-e",
                      "{PM_DATA_FROM_L2_G44,PM_RUN_CYC_G44}")
        self.assertEqual(0, grouped.returncode, grouped.stdout)
        self.assertEqual(2, run("doctor", "--model", "power2").returncode)

    def test_record_refuses_events_of_another_machine(self):
        trace = self.folder / "a.ctf"
        result = run("record", "--event-file", self.imported(), "-e", "PM_DATA_FROM_L2_G44",
                     "-o", trace, "--", "true")
        self.assertNotEqual(0, result.returncode)
        self.assertIn("is one of OProfile's small (ppc64, small), and this machine is "
                      + platform.machine(), result.stderr)
        self.assertFalse(trace.exists())
        wrong = run("record", "--event-file", FOLDER + "/ppc64/small/events", "-e", "cycles",
                    "-o", trace, "--", "true")
        self.assertNotEqual(0, wrong.returncode)
        self.assertIn("/events:", wrong.stderr)

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
    COUNTRACE, FOLDER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
