#!/usr/bin/env python3
"""The listings of the paper on the CPI of the POWER5 give the numbers that it
prints, and its tables; what is known to differ (errata) is listed here.

Usage: cpi_test.py COUNTRACE [unittest options].
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTINGS = ROOT / "tests/import/listings"
COUNTRACE = ""
GROUPS = {5: "power5", 30: "power5", 1: "made", 28: "made", 29: "made",
          31: "made"}

# Table 3: code, %CPI, CPI fraction.
TABLE_3 = {"A1": (7.77, 0.20), "A2": (6.23, 0.16), "B1": (0.84, 0.02),
           "B2": (4.78, 0.12), "B4": (3.14, 0.08), "C1A1": (1.28, 0.03),
           "C1A2": (3.75, 0.10), "C1B": (34.23, 0.88), "C1C": (9.50, 0.25),
           "C2A": (6.02, 0.16), "C2C": (6.93, 0.18), "C3A": (0.03, 0.00),
           "C3B": (2.10, 0.05), "C4": (13.39, 0.35)}
# Printed with the CPI of another run than the row's (reference A6, 5).
OTHER_CPI = {"C1C", "C4"}
# Table 7: code, before, after.
TABLE_7 = {"A1": (0.31, 0.29), "A2": (0, 0), "A": (0.31, 0.29),
           "B1": (0.02, 0), "B2": (0, 0), "B3": (0, 0), "B4": (0.01, 0.01),
           "B": (0.03, 0.00), "C1A1": (0, 0), "C1A2": (0.09, 0.06),
           "C1B": (1.43, 0.32), "C1C": (0.10, 0.07), "C1": (1.63, 0.45),
           "C2A": (0, 0), "C2C": (0.03, 0.01), "C2": (0.03, 0.01),
           "C3A": (0, 0), "C3B": (0.40, 0.27), "C3": (0.40, 0.27),
           "C4": (0.02, 0.02), "C": (2.08, 0.75), "": (2.42, 1.04)}
# Table 6, which has Table 5 as its first column: before, after, digits.
TABLE_6 = {"loads_flushed": (5, 0, 0), "unaligned_load_percentage": (5, 0, 0),
           "unaligned_load_rate": (2, 0, 0),
           "unaligned_store_percentage": (0, None, 0),
           "unaligned_store_rate": (0, None, 0), "LSU_flush_rate": (2, 0, 0),
           "pct_of_flushes_due_to_LSU": (96, 0, 0),
           "instructions_per_LSU_flush": (47.86, 45485.87, 2),
           "LRQ_flush_rate": (0, 0, 0),
           "instructions_per_LRQ_flush": (24694.53, 531303.18, 0),
           "SRQ_flush_rate": (0, 0, 0),
           "instructions_per_SRQ_flush": (1354.2, 49469.69, 1),
           "DL1_reloads_per_DL1_miss": (0.96, 1.74, 2),
           "LMQ_merge_per_miss": (0.7, 0.59, 2),
           "LMQ_full_reject_per_miss": (1.95, 6.24, 2),
           "SRQ_LHS_reject_per_load": (0.01, 0.04, 2),
           "LSU_reject_CDF_per_reference": (0.29, 0.08, 2)}


def run(*words, status=0):
    done = subprocess.run([COUNTRACE, *map(str, words)], capture_output=True,
                          check=False, timeout=60, stdin=subprocess.DEVNULL)
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}\n"
                             f"{done.stderr.decode()}")
    return done.stdout if status == 0 else done.stderr.decode()


def rows(*words):
    answer = json.loads(run(*words, "--format", "json"))
    return answer["rows"]


def by_code(*words):
    return {row["code"] or "": row for row in rows(*words)
            if row["parent"] or row["name"] == "run_cycles"}


def listing(group, kind="power5"):
    return LISTINGS / f"{kind}-group{group}.txt"


class Cpi(unittest.TestCase):
    def rounded(self, value, printed, digits, what):
        self.assertLessEqual(abs(value - printed), 0.5001 * 10 ** -digits, what)

    def test_listings_are_written_back_byte_for_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            for group in (0, 5, 30):
                trace = os.path.join(folder, str(group))
                run("import", "-o", trace, listing(group))
                self.assertEqual(run("report", "--format", "pmcount", trace),
                                 listing(group).read_bytes())

    def test_the_numbers_of_the_listings(self):
        root = by_code("report", "--tree", "cpi", listing(0))[""]
        self.rounded(root["value"], 2.5727, 4, "CPI")
        gct = by_code("report", "--tree", "cpi", listing(5))
        for code, percent in (("B1", 0.84), ("B2", 4.78), ("B", 8.77)):
            self.rounded(100 * gct[code]["share"], percent, 2, code)
        self.assertEqual(gct["B4"]["count"], 9497991384)
        self.rounded(gct[""]["value"], 2.6133, 4, "CPI")
        fxu = by_code("report", "--tree", "cpi", listing(30))
        for code, percent, cpi in (("C2", 12.95, 0.3349), ("C2A", 6.02, 0.1556),
                                   ("C2C", 6.93, 0.1793)):
            self.rounded(100 * fxu[code]["share"], percent, 2, code)
            self.rounded(fxu[code]["value"], cpi, 4, code)
        self.rounded(fxu[""]["value"], 2.5856, 4, "CPI")

    def test_cpus_and_those_that_are_not_listed(self):
        cpus = rows("report", "--tree", "cpi", "--by", "cpu", listing(0))
        values = [row["value"] for row in cpus if not row["code"]]
        self.assertEqual([f"{value:.4f}" for value in values[:4]],
                         ["2.6135", "2.5955", "2.6193", "2.5589"])
        report = json.loads(run("report", "--format", "json", listing(0)))
        counts = {row["comm"]: row["counts"]["PM_RUN_CYC"]
                  for row in report["processes"]}
        self.assertEqual(sum(counts.values()), 302936029042)
        self.assertEqual(counts["not listed"], 302936029042 -
                         (9480160495 + 9479204595 + 9485237345 + 9476343842))
        book = report["books"]["PM_RUN_CYC"]
        self.assertEqual((book["total"], book["residual"]), (302936029042, 0))

    def test_a_picture_has_the_numbers_of_the_tree(self):
        with tempfile.TemporaryDirectory(prefix="countrace-cpi-") as folder:
            # One part below zero, and one of an event that was not counted.
            mine = pathlib.Path(folder, "mine.toml")
            mine.write_text(
                '[metric.all]\ntree = "mine"\nexpr = "PM_RUN_CYC"\nper = "all"\n'
                '[metric.more]\nparent = "all"\nexpr = "2 * PM_RUN_CYC"\n'
                'description = "<b>&\\"more"\n'
                '[metric.less]\nparent = "all"\nexpr = "0 - PM_RUN_CYC"\n'
                '[metric.none]\nparent = "all"\nexpr = "`not_there`"\n')
            tree = ["report", "--tree", "mine", "--rules", mine]
            table = rows(*tree, listing(0))
            bars = self.bars(*tree)
            # Of 460 px, by three: to a hundredth.
            self.assertEqual({name: width for name, (_, width, _) in bars.items()},
                             {"all": 153.33, "more": 306.67, "less": 153.33})
            self.assertAlmostEqual(bars["less"][0] + bars["less"][1],
                                   bars["all"][0], delta=0.02)
            self.assertEqual(bars["more"][0], bars["all"][0])
            strip = self.bars(*tree, "--by", "cpu")
            owners = {row["owner"] for row in rows(*tree, "--by", "cpu", listing(0))}
            for owner in owners:
                more = strip[f'{owner}: <b>&"more 2.0000  200.00 %']
                less = strip[f"{owner}: less -1.0000  -100.00 %"]
                # They meet at zero.
                self.assertEqual(more[2], (less[2][0] - more[2][1], more[2][1]))
                self.assertAlmostEqual(more[2][1], 2 * less[2][1], delta=0.02)
            self.assertEqual(len(strip), 2 * len(owners) + 2)
            self.assertEqual(len(table), 4)
        for words, said in ((["--rows", "3", "--tree", "cpi"], "the whole tree"),
                            ([], "a picture of --tree")):
            self.assertIn(said, run("report", "--format", "svg", *words, listing(0),
                                    status=2))

    def test_pictures_of_the_page(self):
        """As docs/cpi.md makes them; a listing has one instant."""
        (page,) = re.findall(r"## The tree as a picture\n\n(.*?)\n\n",
                             (ROOT / "docs/cpi.md").read_text(), re.DOTALL)
        commands = [line.split()[1:-2] for line in page.splitlines()]
        self.assertEqual(len(commands), 2)
        for *words, _ in commands:
            picture = ElementTree.fromstring(run(*words, listing(5)))
            self.assertGreater(sum(1 for _ in picture.iter(
                "{http://www.w3.org/2000/svg}title")), 4, words)

    def bars(self, *words):
        """Title of a rectangle -> (x, width, (y, height))."""
        picture = run(*words, "--format", "svg", listing(0))
        self.assertIn(b"no value" if "--by" in words else b"needs not_there", picture)
        return {rectangle[0].text: (*(float(rectangle.get(name))
                                      for name in ("x", "width")),
                                    tuple(float(rectangle.get(name))
                                          for name in ("y", "height")))
                for rectangle in ElementTree.fromstring(picture).iter(
                    "{http://www.w3.org/2000/svg}rect") if len(rectangle)}

    def test_table_3(self):
        words = [f"--with=g{group}={listing(group, kind)}"
                 for group, kind in GROUPS.items()]
        tree = by_code("report", "--tree", "cpi", *words, listing(0))
        self.rounded(tree[""]["value"], 2.57, 2, "CPI")
        self.rounded(100 * tree["A"]["share"], 14.00, 2, "A")
        for code, (percent, cpi) in TABLE_3.items():
            self.rounded(100 * tree[code]["share"], percent, 2, code)
            if code not in OTHER_CPI:
                self.rounded(tree[code]["value"], cpi, 2, code)
        notes = json.loads(run("report", "--tree", "cpi", "--format", "json",
                               *words[:2], listing(0)))["notes"]
        self.assertIn("2.5727, 2.6133, 2.5856, 1.6 % apart", notes[0])

    def test_tables_4_and_7(self):
        tree = by_code("diff", "--tree", "cpi", "--rules",
                       LISTINGS / "table7.toml",
                       LISTINGS / "made-art-before.txt",
                       LISTINGS / "made-art-after.txt")
        self.assertEqual(set(tree), {*TABLE_7, "C1A"})  # has no row there
        for code, (before, after) in TABLE_7.items():
            self.rounded(tree[code]["before"], before, 2, code)
            if code != "B":  # its part "other" is more than it (A6, 8)
                self.rounded(tree[code]["value"], after, 2, code)
        # N14: 2.327 times, and the D-cache's part of it.
        self.assertAlmostEqual(tree[""]["before"] / tree[""]["value"], 2.325,
                               delta=0.005)
        self.assertAlmostEqual(tree["C1B"]["part"], 0.804, delta=0.01)

    def test_tables_5_and_6(self):
        made = {row["name"]: row for row in rows(
            "diff", "--tree", "cpi", LISTINGS / "made-flush-before.txt",
            LISTINGS / "made-flush-after.txt")}
        for name, (before, after, digits) in TABLE_6.items():
            self.rounded(made[name]["before"], before, digits, name)
            if after is not None:
                self.rounded(made[name]["value"], after, digits, name)

    def test_listings_of_others(self):
        for name, event, count in (("perf-stat.csv", "page-faults", 52),
                                   ("perf-stat-cpus.csv", "page-faults", 5573),
                                   ("perf-stat-intervals.csv", "page-faults", 77),
                                   ("likwid.csv", "INSTR_RETIRED_ANY", 2186578)):
            report = json.loads(run("report", "--format", "json",
                                    LISTINGS / name))
            self.assertEqual(sum(row["counts"][event]
                                 for row in report["processes"]), count, name)
        counted = run("query", "--format", "csv",
                      'select sum("counts.page-faults") as n from cpus',
                      LISTINGS / "perf-stat-cpus.csv")
        self.assertIn(b"5573", counted)

    def test_a_tree_of_a_users_own_by_time_and_process(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder, "mine.toml")
            rules.write_text(
                '[metric.faults]\ntree = "mine"\nexpr = "`page-faults`"\n'
                'per = "half"\n[metric.half]\nexpr = "`page-faults` / 2"\n')
            words = ("report", "--rules", rules, "--tree", "mine")
            intervals = rows(*words, "--by", "time", "--every", "62048us",
                             LISTINGS / "perf-stat-intervals.csv")
            # All in the first 50 ms; a share of 0 is none.
            self.assertEqual([(row["count"], row["value"], row["absent"])
                              for row in intervals],
                             [(77, 2, None),
                              (0, None, "its run has a total of 0")])
            # Each interval ends with a dump: what it counted is all in it.
            listing = pathlib.Path(folder, "seconds.csv")
            listing.write_text("".join(
                f"     {at}.000000000,{count},,page-faults,1000000000,100.00,,\n"
                for at, count in ((1, 1000), (2, 3000), (3, 500))))
            self.assertEqual(
                [row["count"] for row in rows(*words, "--by", "time", "--every",
                                              "1s", listing)],
                [1000, 3000, 500])
            # The dumps at 1 s and 2 s are outside, and an edge cuts what they
            # counted.
            inside, = rows(*words, "--from", "1.1s", "--to", "1.9s", listing)
            self.assertEqual(
                (inside["count"], inside["value"], inside["absent"]),
                (None, None,
                 "its total's dumps are outside, up to 1,500 may be inside"))
            one, = rows(*words, "--by", "process", "--process", "perf*",
                        LISTINGS / "perf-stat-cpus.csv")
            self.assertEqual((one["owner"], one["count"], one["share"]),
                             ("pid=1 comm=perf stat", 5573, 1))

    def test_counts_that_perf_scaled_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            listing_file = pathlib.Path(folder, "half.csv")
            listing_file.write_text("".join(
                f"{second}.000000000,{count},,{event},1000000000,{part},,\n"
                for second in (1, 2, 3) for event, count, part in (
                    ("PM_RUN_CYC", 10 ** 6, "100.00"), ("PM_INST_CMPL", 10 ** 6, "100.00"),
                    ("PM_GCT_NOSLOT_CYC", 10 ** 5 * second, "50.00"))))
            tree = ("report", "--tree", "cpi", listing_file)
            for words in (("report", "--by", "time", "--every", "1s", listing_file), tree,
                          (*tree, "--by", "time")):
                said = run(*words).decode()
                self.assertIn("not known: how exact the counts of `PM_GCT_NOSLOT_CYC` are: "
                              "perf counted it 50.00 %", said)
                self.assertNotIn("`PM_RUN_CYC` are", said)
            # The last interval has what the trace's end has.
            last = [row for row in rows(*tree, "--by", "time", "--every", "1s")
                    if row["owner"] == "2.000000 s"]
            alone = rows(*tree, "--from", "@3.000000000")
            self.assertEqual([(row["name"], row["count"], row["value"]) for row in last],
                             [(row["name"], row["count"], row["value"]) for row in alone])
            self.assertEqual(next(row["count"] for row in last if row["code"] == "B"), 3 * 10 ** 5)

    def test_what_is_wrong_is_said_with_both_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = pathlib.Path(folder, "wrong.txt")
            wrong.write_text(listing(5).read_text().replace(".\n", ""))
            said = run("report", wrong, status=1)
            self.assertIn("wrong.txt:24:1: column PMC 1", said)
            self.assertIn("26489520676, its rows add up to 3275610886", said)
            circle = pathlib.Path(folder, "circle.toml")
            circle.write_text('[metric.x]\nparent = "x"\nexpr = "`A`"\n')
            said = run("report", "--tree", "cpi", "--rules", circle, listing(0),
                       status=2)
            self.assertIn("circle.toml:2:11: a circle of parents: x -> x", said)
            said = run("report", "--tree", "cpi", "--process", "pmcount",
                       listing(0), status=2)
            self.assertIn("add --by process", said)
            said = run("report", "--format", "pmcount",
                       LISTINGS / "perf-stat.csv", status=1)
            self.assertIn("was not imported from a listing of pmcount", said)
            for option in (["--slowest", "a", "b"], ["--at", "0"], ["--bounds"]):
                said = run("report", "--format", "pmcount", *option, listing(0), status=2)
                self.assertIn("--format pmcount is the whole listing", said)
            # Its event is of the run of --with alone.
            other = pathlib.Path(folder, "other.toml")
            other.write_text('[metric.all]\ntree = "mine"\nexpr = "PM_RUN_CYC"\n'
                             'per = "all"\n[metric.empty]\nparent = "all"\n'
                             'expr = "PM_GCT_NOSLOT_CYC"\n')
            tree = ["report", "--tree", "mine", "--rules", other]
            run(*tree, listing(0), status=2)
            said = run(*tree, "--with", f"b={listing(5)}", listing(0))
            self.assertRegex(said.decode(), r"empty +[\d,]+ ")


if __name__ == "__main__":
    COUNTRACE = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
