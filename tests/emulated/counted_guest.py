"""What the tests on several emulated machines share: booting a guest with the
programs, and what must hold of a recording of loops of known length."""

import collections
import pathlib
import tempfile
import unittest

from guest import Guest
from guest_trace import GuestTrace, recording_commands


class Place:
    """Set once, before any test."""

    machine = None  # machines.Machine
    work = None  # what foreign_packages.py filled
    build = None  # the cross build


# Some 20 s of work; other load on the host may make it much longer.
BOOT_SECONDS = 1200
BACKENDS = ("perf", "bpf")

CALLS, ITERATIONS = 40, 250_000
SHORT, LONG = 10_000_000, 20_000_000
# Two instructions each: one call makes a counter of 32 bits overflow, which perf
# starts in the middle, and two calls are more than it could hold.
OVERFLOWING = 1_200_000_000
# Long enough for some 40 turns of each of two event sets.
TAKING_TURNS = 200_000_000
COMPETING = (
    f"sh -c \"counted_loop run {SHORT} & counted_loop run {LONG}; wait\""
)


def boot(test, cpu, recordings, others=()):
    """Boots a guest; leaves test.traces and test.answers. `recordings`: name ->
    (options, workload); `others`: name -> command, before them."""
    commands = dict(others)
    for name, (options, workload) in recordings.items():
        commands.update(recording_commands(name, options, workload))
    tests = Place.build / "tests/runtime/inprocess"
    workload = tests / "hook_workload"
    versioned = (
        Place.build / "runtime/inprocess/libcountrace-runtime.so"
    ).resolve()
    files = {
        "/bin/countrace": Place.build / "cli/countrace",
        "/bin/counted_loop": Place.build / "tests/emulated/counted_loop",
        "/bin/clock_test": tests / "runtime_clock_and_counters_test",
        "/bin/streams_test": tests / "runtime_thread_streams_test",
        "/lib/libcountrace-runtime.so": versioned,
        # Where the test programs look for them.
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

    def check_sound(self, trace):
        self.assertEqual(trace.recorded.status, 0, trace.recorded)
        self.assertEqual(trace.verified.status, 0, trace.verified)
        self.assertEqual(trace.report["loss"]["discarded_events"], 0)

    def check_books(self, trace):
        for event, book in trace.report["books"].items():
            with self.subTest(event=event):
                self.assertEqual(book["residual"], 0)
                self.assertEqual(book["unattributed"], 0)
                self.assertGreater(book["total"], 0)

    def usual(self, counts):
        """The count that most calls have. A few see an interrupt, or a switch
        between the two looks at a counter's page, and read it again."""
        count, times = collections.Counter(counts).most_common(1)[0]
        self.assertGreaterEqual(times, len(counts) // 2, counts)
        return count

    def check_calls(self, counts, calls, instructions):
        """Each within 0.1 % of the truth, and nearly all the same."""
        self.assertEqual(len(counts), calls)
        for count in counts:
            self.assertGreaterEqual(count, instructions)
            self.assertLessEqual(count, instructions * 1.001)
        self.usual(counts)

    def check_turns(self, trace, noise):
        """Two sets of one event each: the estimates are right within their own
        errors, and what was counted balances. `noise`: share of the loop that
        may be other instructions."""
        self.check_sound(trace)
        self.check_books(trace)
        (row,) = trace.processes("counted_loop")
        truth = 2 * TAKING_TURNS
        for event in ("cycles", "instructions"):
            scaled = row["scaled"][event]
            self.assertGreater(scaled["slices"], 10)
            self.assertLess(scaled["running_ns"], 0.8 * scaled["enabled_ns"])
        off = row["counts"]["instructions"] - truth
        error = row["scaled"]["instructions"]["stderr"]
        print(f"instructions in turns: truth {truth}, estimate "
              f"{row['counts']['instructions']}, standard error {error:.0f}")
        self.assertLess(abs(off), 4 * error + noise * truth)

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
        # They start alike: the difference is that of the loops.
        difference = 2 * (LONG - SHORT)
        self.assertAlmostEqual(
            long - short, difference, delta=difference * noise
        )


def taking_turns(backend):
    return (
        f"-a -q --backend {backend} -e task-clock,{{cycles}},{{instructions}} "
        "--rotate 10ms",
        f"counted_loop run {TAKING_TURNS}",
    )


def competing(backend):
    return (
        f"-a -q --backend {backend} -e cycles,instructions:u,instructions,"
        "task-clock,context-switches",
        COMPETING,
    )
