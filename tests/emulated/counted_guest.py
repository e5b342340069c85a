"""Shared by the tests on emulated machines: boots a guest with the programs,
and checks recordings of loops of known length."""

import collections
import json
import pathlib
import tempfile
import unittest

from guest import Guest
from guest_trace import GuestTrace, recording_commands


class Place:
    """Set once, before any test."""

    machine = None  # machines.Machine
    work = None  # folder of foreign_packages.py
    build = None  # the cross build


# Some 20 s of work; other load on the host may make it much longer.
BOOT_SECONDS = 1200
BACKENDS = ("perf", "bpf")

CALLS, ITERATIONS = 40, 250_000
SHORT, LONG = 10_000_000, 20_000_000
# Two instructions each: one call makes a counter of 32 bits overflow, because
# perf starts it in the middle; two calls exceed its range.
OVERFLOWING = 1_200_000_000
# Long enough for some 40 slices of each of two event sets.
TAKING_TURNS = 200_000_000
COMPETING = (
    f"sh -c \"counted_loop run {SHORT} & counted_loop run {LONG}; wait\""
)


# Cycles by mode, whose parts are counted in turns, or in a run each: name ->
# (events, options).
TREE = {
    "tree-turns": ("{cycles:u},{cycles:k}", " --rotate 10ms"),
    "tree-user": ("cycles:u", ""),
    "tree-kernel": ("cycles:k", ""),
}


def tree_runs():
    work = f"sh -c \"counted_loop run {TAKING_TURNS} & " \
        "dd if=/dev/zero of=/dev/null bs=64k count=20000; wait\""
    return {
        name: (f"-a -q -e task-clock,cycles,instructions,{events}{options}", work)
        for name, (events, options) in TREE.items()
    }


def tree_reports():
    report = "countrace report --tree modes --rules /modes.toml --format json"
    return {
        "tree-of-turns": f"{report} tree-turns.ctf",
        "tree-of-runs": f"{report} --with kernel=tree-kernel.ctf tree-user.ctf",
    }


def boot(test, cpu, recordings, others=(), afterwards=()):
    """Boots a guest; leaves test.traces and test.answers. `recordings`: name ->
    arguments of recording_commands(); `others`: name -> command, before them;
    `afterwards`: the same, after them."""
    commands = dict(others)
    for name, arguments in recordings.items():
        commands.update(recording_commands(name, *arguments))
    commands.update(afterwards)
    tests = Place.build / "tests/runtime/inprocess"
    workload = tests / "hook_workload"
    versioned = (
        Place.build / "runtime/inprocess/libcountrace-runtime.so"
    ).resolve()
    files = {
        "/bin/countrace": Place.build / "cli/countrace",
        "/bin/countrace-code": Place.build / "rmap/countrace-code",
        "/bin/counted_loop": Place.build / "tests/emulated/counted_loop",
        "/modes.toml": pathlib.Path(__file__).with_name("modes.toml"),
        "/bin/clock_test": tests / "runtime_clock_and_counters_test",
        "/bin/streams_test": tests / "runtime_thread_streams_test",
        "/lib/libcountrace-runtime.so.0": versioned,
        # The paths at which the test programs look for them.
        str(versioned): versioned,
        str(workload): workload,
    }
    with tempfile.TemporaryDirectory(dir=Place.work) as folder:
        guest = Guest(Place.machine, Place.work, files, pathlib.Path(folder))
        test.answers = guest.run(cpu, commands, BOOT_SECONDS)
    test.traces = {
        name: GuestTrace(name, test.answers) for name in recordings
    }


class Counted(unittest.TestCase):
    """Checks that several guests share."""

    booted = None  # future of boot_guest(), the class method of each guest's tests

    @classmethod
    def setUpClass(cls):
        cls.booted.result()

    def check_sound(self, trace):
        self.assertEqual(trace.recorded.status, 0, trace.recorded)
        self.assertEqual(trace.verified.status, 0, trace.verified)
        self.assertEqual(trace.report["loss"]["discarded_events"], 0)

    def doctor(self, answer, name):
        """Rows of `countrace doctor` whose name begins so."""
        rows = json.loads(self.answers[answer].output)["capabilities"]
        return [row for row in rows if row["name"].startswith(name)]

    def check_books(self, trace, unattributed=0):
        """`unattributed`: at most this share."""
        for event, book in trace.report["books"].items():
            with self.subTest(event=event):
                self.assertEqual(book["residual"], 0)
                self.assertLessEqual(
                    book["unattributed"], unattributed * book["total"]
                )
                self.assertGreater(book["total"], 0)

    def usual(self, counts):
        """The count of calls without an interruption. Others include the tick
        (which occurs in half of the calls, if they last half of its period),
        or a switch between the two reads of a counter's page, which is then
        read again."""
        count, times = collections.Counter(counts).most_common(1)[0]
        self.assertGreaterEqual(times, len(counts) // 4, counts)
        return count

    def check_calls(self, counts, calls, instructions):
        """Each is within 0.1 % of the truth, and nearly all are equal."""
        self.assertEqual(len(counts), calls)
        for count in counts:
            self.assertGreaterEqual(count, instructions)
            self.assertLessEqual(count, instructions * 1.001)
        self.usual(counts)

    def check_own_counts(self, answer, pages):
        """countrace/counts.h, read in user space or by the kernel."""
        said = self.answers[answer]
        self.assertEqual(said.status, 0, said)
        *calls, (_, of_read, of_kernel) = map(str.split,
                                              said.output.splitlines())
        exact = [int(count) for count, quality in calls if quality == "0"]
        self.check_calls(exact, CALLS, 2 * ITERATIONS)
        print(f"{answer}: a read takes {of_read} instructions, "
              f"a read(2) {of_kernel}")
        if pages:
            self.assertLess(10 * int(of_read), int(of_kernel))
        else:
            self.assertGreater(int(of_read), int(of_kernel))

    def check_turns(self, trace, noise, slices):
        """Multiplexed sets of one event each, beside always-on events that
        count the same: the estimates are right within their own errors and
        `noise` (event -> share); exact counts balance. `slices`: minimum
        number of slices of each set during the loop."""
        self.check_sound(trace)
        self.check_books(trace)
        (row,) = trace.processes("counted_loop")
        self.assertGreaterEqual(
            row["counts"][Place.machine.instructions], 1.98 * TAKING_TURNS
        )
        for event, same in (("cycles", Place.machine.cycles),
                            ("instructions", Place.machine.instructions)):
            scaled = row["scaled"][event]
            self.assertGreaterEqual(scaled["slices"], slices)
            self.assertLess(scaled["running_ns"], 0.8 * scaled["enabled_ns"])
            truth, estimate = row["counts"][same], row["counts"][event]
            # Absent where one slice outweighs the others.
            error = scaled.get("stderr", 0)
            print(f"{event} in turns: truth {truth}, estimate {estimate}, "
                  f"standard error {error:.0f}")
            self.assertLess(abs(estimate - truth),
                            4 * error + noise[event] * truth)

    def check_tree(self, parts, noise=0.0):
        """Shares of a tree of rotated sets are those of a run for each set,
        within the intervals of both and `noise`."""
        for name in TREE:
            self.check_sound(self.traces[name])
        of_turns, of_runs = (
            {row["code"]: row
             for row in json.loads(self.answers[name].output)["rows"]}
            for name in ("tree-of-turns", "tree-of-runs")
        )
        whole = of_turns[None]["value"]
        for code in parts:
            turns, runs = of_turns[code], of_runs[code]
            print(f"tree {code}: in turns {turns['share']:.4f} "
                  f"[{turns['lo'] / whole:.4f}, {turns['hi'] / whole:.4f}], "
                  f"in runs {runs['share']:.4f}")
            self.assertGreater(turns["share"], 0.05)
            wide = turns["hi"] - turns["lo"]
            if runs["lo"] is not None:
                wide += runs["hi"] - runs["lo"]
            # Twice: each is one of 95 in 100.
            self.assertLessEqual(abs(turns["share"] - runs["share"]),
                                 wide / whole + noise)
            self.assertLess(wide, 0.5 * whole)
        self.assertAlmostEqual(sum(of_turns[code]["share"] for code in parts),
                               1, delta=0.1)

    def check_competing(self, trace, noise):
        """Counts of two processes and all others add up to the CPUs'. `noise`:
        share of the loops that may be other instructions."""
        self.check_sound(trace)
        self.check_books(trace)
        for event in ("cycles", "instructions:u", "instructions"):
            key = event.replace(":", "_")
            of_cpus = sum(
                count for cpu in range(Place.machine.cpu_count)
                for _, count in trace.stays(cpu, key)
            )
            book = trace.report["books"][event]
            self.assertEqual(book["total"], of_cpus)
            processes = sum(
                row["counts"][event] for row in trace.report["processes"]
            )
            self.assertEqual(processes + book["idle"], of_cpus)
        short, long = sorted(
            row["counts"]["instructions:u"]
            for row in trace.processes("counted_loop")
        )
        self.assertGreaterEqual(short, 2 * SHORT)
        self.assertGreaterEqual(long, 2 * LONG)
        # Both start alike: the difference is that of the loops.
        difference = 2 * (LONG - SHORT)
        self.assertAlmostEqual(
            long - short, difference, delta=difference * noise
        )


def taking_turns(backend, iterations=TAKING_TURNS):
    machine = Place.machine
    return (
        f"-a -q --backend {backend} -e task-clock,{machine.cycles},"
        f"{machine.instructions},{{cycles}},{{instructions}} --rotate 10ms",
        f"counted_loop run {iterations}",
    )


def competing(backend):
    return (
        f"-a -q --backend {backend} -e cycles,instructions:u,instructions,"
        "task-clock,context-switches",
        COMPETING,
    )
