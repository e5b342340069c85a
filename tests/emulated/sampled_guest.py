"""Samples by overflow of hardware counters, and `stat --all`, in a guest."""

import json
import re

from counted_guest import BACKENDS, TAKING_TURNS, Counted, boot

# Three of four iterations in HotLoop. No period divides a round.
ROUNDS, ITERATIONS = 61, 1_000_003
SHARES = {"HotLoop": 0.75, "ColdLoop": 0.25}
# Share of the process' cycles outside the loops: exec, ticks, samples, exit.
OTHER_SHARE = 0.05
WORKLOAD = f"counted_loop shares {ROUNDS} {ITERATIONS}"
# name -> what is sampled. QEMU notices an overflow of its cycle counter (one
# event) at once, of others when it happens to look: their samples are too few,
# and the residual shows it.
SAMPLED = {
    "two-periods": "every=100000:cycles",
    "one-period": "exactly=100000:cycles",
    "rate": "997:cycles",
    "instructions": "every=100000:instructions:u",
}


class Arm64Sampled(Counted):
    """Truth: two instructions for each iteration of a loop of two functions."""

    @classmethod
    def boot_guest(cls):
        recordings, afterwards = {}, {}
        for backend in BACKENDS:
            for name, sample in SAMPLED.items():
                name = f"{name}-{backend}"
                recordings[name] = (
                    f"-q --backend {backend} -e instructions:u --sample {sample}",
                    WORKLOAD,
                )
                for by in ("function", "address"):
                    afterwards[f"{name}.{by}"] = (
                        f"countrace report --by {by} --format json {name}.ctf"
                    )
        run = f"counted_loop run {TAKING_TURNS}"
        others = {
            "stat-all": f"countrace stat --all --json -o all.json -- {run}; "
                        "cat all.json",
            "stat-exact": "countrace stat -e cycles,instructions --json "
                          f"-o exact.json -- {run}; cat exact.json",
            "absent": "countrace record -q -o absent.ctf --sample "
                      "every=100:mem-loads -- true",
        }
        boot(cls, "max", recordings, others, afterwards)

    def sampled(self, name, by="function"):
        """Rows of the program's own functions, and the books."""
        answer = self.answers[f"{name}.{by}"]
        self.assertEqual(answer.status, 0, answer)
        table = json.loads(answer.output)
        rows = [row for row in table["rows"] if row["dso"] == "counted_loop"]
        (books,) = table["books"]
        self.assertEqual(books["lost"] + books["stacks_lost"], 0, books)
        return rows, books

    def test_samples_find_the_hot_loop(self):
        for backend in BACKENDS:
            for name in SAMPLED:
                with self.subTest(name=name, backend=backend):
                    self.check_sound(self.traces[f"{name}-{backend}"])
                    self.check_shares(f"{name}-{backend}")

    def check_shares(self, name):
        rows, books = self.sampled(name)
        self.assertGreater(books["samples"], 500)
        found = {
            function: row for row in rows for function in SHARES
            if function in row["function"]
        }
        self.assertEqual(set(found), set(SHARES), rows)
        everything = books["processes"]
        for function, share in SHARES.items():
            row = found[function]
            lo, part, hi = (
                row[key] / everything for key in ("self_lo", "self", "self_hi")
            )
            print(f"{name}: {function} {part:.3f} [{lo:.3f}, {hi:.3f}], "
                  f"truth {share}")
            self.assertLessEqual(lo, share)
            self.assertGreaterEqual(hi, share * (1 - OTHER_SHARE))
            self.assertAlmostEqual(part, share, delta=0.05)

    def test_samples_of_cycles_add_up_to_what_was_counted(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                _, books = self.sampled(f"one-period-{backend}")
                period = books["one_period_a_cpu"]
                accounts = sum(
                    books[one] for one in ("processes", "idle", "outside")
                )
                self.assertEqual(
                    accounts + books["residual"], books["counted"]
                )
                self.assertLess(abs(books["residual"]), period)
                # An instruction takes two cycles in this machine.
                (row,) = self.traces[f"one-period-{backend}"].processes(
                    "counted_loop"
                )
                in_loops = 2 * row["counts"]["instructions:u"]
                self.assertGreaterEqual(books["processes"] + period, in_loops)
                self.assertLess(
                    books["processes"], (1 + 2 * OTHER_SHARE) * in_loops
                )

    def test_missing_samples_are_in_the_residual_and_the_intervals(self):
        # 8 instructions in a round's two loops for each iteration.
        truth = 8 * ROUNDS * ITERATIONS
        for backend in BACKENDS:
            rows, books = self.sampled(f"instructions-{backend}")
            self.assertGreaterEqual(
                books["counted"] - books["outside"] + books["one_period_a_cpu"],
                truth,
            )
            (hot,) = [row for row in rows if "HotLoop" in row["function"]]
            self.assertGreaterEqual(hot["self_hi"], 0.75 * truth)

    def test_two_periods_agree_where_no_loop_beats_with_them(self):
        for backend in BACKENDS:
            _, books = self.sampled(f"two-periods-{backend}")
            self.assertIs(books["periods"]["agree"], True, books)

    def test_addresses_are_those_of_the_loops_instructions(self):
        for backend in BACKENDS:
            rows, _ = self.sampled(f"two-periods-{backend}", "address")
            hot = [row for row in rows if "HotLoop" in row["function"]]
            hot.sort(key=lambda row: -row["self"])
            first, second = (int(row["address"], 16) for row in hot[:2])
            self.assertEqual(abs(first - second), 4)
            both = sum(row["self"] for row in hot[:2])
            self.assertGreater(both, 0.99 * sum(row["self"] for row in hot))

    def test_stat_of_all_events_covers_the_truth(self):
        numbers = {}
        for name in ("stat-all", "stat-exact"):
            self.assertEqual(self.answers[name].status, 0, self.answers[name])
            numbers[name] = {
                number["name"]: number
                for number in json.loads(self.answers[name].output)["numbers"]
            }
        every, alone = numbers["stat-all"], numbers["stat-exact"]
        self.assertGreaterEqual(
            alone["instructions"]["value"], 2 * TAKING_TURNS
        )
        for event in ("cycles", "instructions"):
            truth = alone[event]["value"]
            self.assertEqual(alone[event]["quality"], "exact")
            value = every[event]["value"]
            lo, hi = every[event].get("lo", value), every[event].get("hi", value)
            print(f"stat --all: {event} {value} [{lo}, {hi}], alone {truth}")
            # Both runs have the kernel's work, by some per mille another.
            noise = 0.005 * truth
            self.assertLessEqual(lo, truth + noise)
            self.assertGreaterEqual(hi, truth - noise)
            self.assertLess(hi - lo, 0.2 * truth)

    def test_an_event_that_this_pmu_lacks_is_refused_by_name(self):
        answer = self.answers["absent"]
        self.assertNotEqual(answer.status, 0)
        self.assertRegex(answer.said, re.escape("mem-loads"))
