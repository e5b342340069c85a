#!/usr/bin/env python3
"""Hardware counters for real: countrace in an emulated machine that has them.

usage: emulated_pmu_test.py ARCHITECTURE SOURCE WORK [unittest options]

Cross-builds countrace in WORK, boots Debian's kernel in QEMU with it, records
loops of known length there, and checks what the reports say. Where QEMU, the
compiler or the packages cannot be had it prints "SKIPPED: why" and passes.
"""

import collections
import pathlib
import sys
import tempfile
import unittest

import cross_build
import foreign_packages
from guest import Guest
from guest_trace import GuestTrace, recording_commands
from machines import MACHINES

MACHINE = WORK = BUILD = None
# Some 20 s of work; other load on the host may make it much longer.
BOOT_SECONDS = 1200
BACKENDS = ("perf", "bpf")

CALLS, ITERATIONS = 40, 250_000
SHORT, LONG = 10_000_000, 20_000_000
# More than a counter of 32 bits holds, and so is the sum of two calls; perf
# starts such counters in the middle.
OVERFLOWING = 1_200_000_000
COMPETING = (
    f"sh -c \"counted_loop run {SHORT} & counted_loop run {LONG}; wait\""
)


def boot(test, cpu, recordings, others=()):
    """Boots a guest; leaves test.traces and test.answers. `recordings`: name ->
    (options, workload); `others`: name -> command, before them."""
    commands = dict(others)
    for name, (options, workload) in recordings.items():
        commands.update(recording_commands(name, options, workload))
    runtime = "runtime/inprocess/libcountrace-runtime.so"
    workload = BUILD / "tests/runtime/inprocess/hook_workload"
    versioned = (BUILD / runtime).resolve()
    files = {
        "/bin/countrace": BUILD / "cli/countrace",
        "/bin/counted_loop": BUILD / "tests/emulated/counted_loop",
        "/bin/clock_test":
            BUILD / "tests/runtime/inprocess/runtime_clock_and_counters_test",
        "/bin/streams_test":
            BUILD / "tests/runtime/inprocess/runtime_thread_streams_test",
        "/lib/libcountrace-runtime.so": versioned,
        # Where the test programs look for them.
        str(versioned): versioned,
        str(workload): workload,
    }
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        guest = Guest(MACHINE, WORK, files, pathlib.Path(folder))
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

    def check_competing(self, trace, noise):
        """Counts of two processes and all others add up to the CPUs'. `noise`:
        share of the loops that may be other instructions."""
        self.check_sound(trace)
        self.check_books(trace)
        for event in ("cycles", "instructions:u", "instructions"):
            key = event.replace(":", "_")
            of_cpus = sum(
                count for cpu in range(MACHINE.cpu_count)
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


def competing(backend):
    return (
        f"-a -q --backend {backend} -e cycles,instructions:u,instructions,"
        "task-clock,context-switches",
        COMPETING,
    )


class Arm64Max(Counted):
    """PMUv3.5: counters of 64 bits, read by user space where it may."""

    @classmethod
    def setUpClass(cls):
        hooks = (
            "-q --hook-events instructions:u,cycles:u,instructions "
            "-e task-clock"
        )
        segments = f"counted_loop segments {CALLS} {ITERATIONS}"
        access = "/proc/sys/kernel/perf_user_access"
        recordings = {
            f"competing-{name}": competing(name) for name in BACKENDS
        }
        recordings["read"] = (hooks, segments)
        recordings["rdpmc"] = (hooks, f"sh -c \"echo 1 >{access}; {segments}\"")
        recordings["interrupted"] = (
            hooks, f"counted_loop interrupted {CALLS} {ITERATIONS}"
        )
        recordings["overflow"] = (
            "--backend bpf -e instructions:u --hook-events instructions:u",
            f"counted_loop segments 2 {OVERFLOWING}",
        )
        recordings["kernel-hooks"] = (
            "-q --backend bpf -e instructions:u --kernel syscalls,irq,softirq "
            "--hook usdt:/bin/counted_loop:loop:body "
            "--hook uprobe:/bin/counted_loop:main",
            segments,
        )
        boot(cls, "max", recordings, {
            "release": "uname -r",
            "doctor": "countrace doctor --format json",
            "clock": "clock_test \"clock*\"",
        })

    def test_instructions_of_calls_by_rdpmc(self):
        self.check_sound(self.traces["rdpmc"])
        self.check_calls(
            self.traces["rdpmc"].calls("loop:body", "instructions_u"), CALLS,
            2 * ITERATIONS,
        )

    def test_instructions_of_calls_by_read(self):
        self.check_sound(self.traces["read"])
        self.check_calls(
            self.traces["read"].calls("loop:body", "instructions_u"), CALLS,
            2 * ITERATIONS,
        )

    def test_reading_in_user_space_enters_no_kernel(self):
        for name, enters in (("rdpmc", False), ("read", True)):
            trace = self.traces[name]
            user = trace.gaps("loop:body", "instructions_u")
            both = trace.gaps("loop:body", "instructions")
            # An interrupt may come into any gap; into all of them none.
            in_kernel = min(b - u for b, u in zip(both, user))
            if enters:
                self.assertGreater(in_kernel, 0)
            else:
                self.assertEqual(in_kernel, 0)

    def test_both_ways_agree_and_the_report_adds_up_the_calls(self):
        sums = []
        for name in ("read", "rdpmc"):
            trace = self.traces[name]
            (row,) = trace.report["segments"]
            counts = row["counts"]["instructions:u"]
            calls = trace.calls("loop:body", "instructions_u")
            self.assertEqual(counts["quality"], "exact")
            self.assertEqual(counts["incl"], sum(calls))
            sums.append(counts["incl"])
        self.assertAlmostEqual(sums[0], sums[1], delta=sums[0] / 1000)

    def test_a_handlers_reads_leave_the_interrupted_reads_right(self):
        trace = self.traces["interrupted"]
        self.check_sound(trace)
        for counter, each in (("instructions_u", 1), ("cycles_u", 2)):
            handlers = trace.calls("loop:handler", counter)
            self.assertGreater(len(handlers), CALLS)
            for count in handlers:
                self.assertGreaterEqual(count, 20 * each)
                self.assertLessEqual(count, 2000 * each)
            bodies = trace.calls("loop:body", counter)
            self.assertEqual(len(bodies), CALLS)
            most = 2000 * each * len(handlers)
            for count in bodies:
                self.assertGreaterEqual(count, 2 * ITERATIONS * each)
            self.assertLessEqual(
                sum(bodies), 2 * ITERATIONS * each * CALLS + most
            )

    def test_a_group_at_each_dispatch_is_of_one_instant(self):
        # The machine's truth: two cycles for each instruction, but in idle.
        for backend in BACKENDS:
            trace = self.traces[f"competing-{backend}"]
            stays = trace.stays(0, "cycles", "instructions")
            self.assertGreater(len(stays), 20)
            for tid, cycles, instructions in stays:
                if tid == 0:
                    continue
                self.assertGreater(instructions, 0)
                # What is executed between the two reads of a group.
                self.assertAlmostEqual(cycles, 2 * instructions, delta=8000)

    def test_processes_add_up_to_the_cpu(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                self.check_competing(
                    self.traces[f"competing-{backend}"], noise=0.001
                )

    def test_counters_of_32_bits_overflow_unnoticed(self):
        trace = self.traces["overflow"]
        self.check_sound(trace)
        self.check_books(trace)
        truth = 2 * OVERFLOWING
        calls = trace.calls("loop:body", "instructions_u")
        self.assertEqual(len(calls), 2)
        for count in calls:
            self.assertAlmostEqual(count, truth, delta=truth / 1000)
        (process,) = trace.processes("counted_loop")
        self.assertAlmostEqual(
            process["counts"]["instructions:u"], 2 * truth, delta=truth / 1000
        )

    def test_bpf_works_on_linux_6_1_with_the_ring_asked_for(self):
        self.assertTrue(self.answers["release"].output.startswith("6.1."),
                        self.answers["release"].output)
        said = self.traces["overflow"].recorded.said
        self.assertIn("nothing was lost", said)
        self.assertNotIn("smaller than asked", said)

    def test_kernel_segments_and_dynamic_hooks_work_on_linux_6_1(self):
        trace = self.traces["kernel-hooks"]
        self.check_sound(trace)
        self.check_books(trace)
        # The kernel's records of these hooks have the CPU's counters: in some
        # calls others run in between.
        counts = trace.calls("loop:body", "instructions_u")
        self.assertEqual(len(counts), CALLS)
        self.check_calls([self.usual(counts)], 1, 2 * ITERATIONS)
        calls = {
            row["segment"]: row["calls"] for row in trace.report["segments"]
            if row["comm"] == "counted_loop"
        }
        self.assertEqual(calls["counted_loop:main"], 1)
        self.assertEqual(calls["syscall:execve"], 1)
        self.assertGreater(calls["syscall:openat"], 1)

    def test_hooks_read_the_architectures_counter(self):
        self.assertEqual(self.answers["clock"].status, 0,
                         self.answers["clock"].output)
        self.assertIn("hooks read the raw counter",
                      self.answers["doctor"].output)


class Arm64CortexA57(Counted):
    """PMUv3: counters of 32 bits, also where user space reads them."""

    @classmethod
    def setUpClass(cls):
        boot(cls, "cortex-a57", {
            "overflow": (
                "--backend perf -e instructions:u "
                "--hook-events instructions:u,cycles:u",
                f"counted_loop segments 2 {OVERFLOWING}",
            ),
        }, {"access": "echo 1 >/proc/sys/kernel/perf_user_access"})

    def test_narrow_counters_read_by_user_space_overflow_unnoticed(self):
        trace = self.traces["overflow"]
        self.check_sound(trace)
        self.check_books(trace)
        truth = 2 * OVERFLOWING
        calls = trace.calls("loop:body", "instructions_u")
        self.assertEqual(len(calls), 2)
        for count in calls:
            self.assertAlmostEqual(count, truth, delta=truth / 1000)


class Ppc64elPower9(Counted):
    """Pages of 64 KiB; user space reads no counter; a kernel without BTF. QEMU
    counts the kernel's instructions as the program's, and loses some when a
    counter overflows, so neither is asked for here."""

    @classmethod
    def setUpClass(cls):
        hooks = "-q --hook-events instructions -e task-clock"
        boot(cls, "power9", {
            "competing": competing("auto"),
            "short": (hooks, f"counted_loop segments {CALLS} {ITERATIONS}"),
            "long": (hooks, f"counted_loop segments {CALLS} {2 * ITERATIONS}"),
        }, {
            "btf": "ls /sys/kernel/btf/vmlinux",
            "doctor": "countrace doctor --format json",
            "clock": "clock_test \"clock*\"",
            "streams": "streams_test \"thread streams: a thousand*,"
                       "thread streams: forks*,thread streams: hooks around*\"",
        })

    def test_instructions_of_calls_by_read(self):
        usual = []
        for name in ("short", "long"):
            trace = self.traces[name]
            self.check_sound(trace)
            counts = trace.calls("loop:body", "instructions")
            self.assertEqual(len(counts), CALLS)
            usual.append(self.usual(counts))
        # What a read costs is in both.
        self.assertAlmostEqual(
            usual[1] - usual[0], 2 * ITERATIONS, delta=2 * ITERATIONS / 1000
        )

    def test_processes_add_up_to_the_cpus(self):
        self.check_competing(self.traces["competing"], noise=0.01)

    def test_a_group_is_read_at_each_dispatch(self):
        for cpu in range(MACHINE.cpu_count):
            stays = self.traces["competing"].stays(
                cpu, "cycles", "instructions"
            )
            for tid, cycles, instructions in stays:
                if tid != 0:
                    self.assertGreater(instructions, 0)
                    self.assertGreater(cycles, instructions)

    def test_without_btf_the_recorder_says_so_and_uses_perf_rings(self):
        self.assertNotEqual(self.answers["btf"].status, 0)
        self.assertIn("CONFIG_DEBUG_INFO_BTF", self.answers["doctor"].output)
        self.assertNotEqual(self.traces["competing"].stays(0, "cycles"), [])

    def test_hooks_read_the_timebase(self):
        self.assertEqual(self.answers["clock"].status, 0,
                         self.answers["clock"].output)
        self.assertIn("hooks read the raw counter",
                      self.answers["doctor"].output)

    def test_streams_work_with_large_pages(self):
        self.assertEqual(self.answers["streams"].status, 0,
                         self.answers["streams"].output)
        self.assertIn("in 3 test cases", self.answers["streams"].output)


CLASSES = {
    "arm64": (Arm64Max, Arm64CortexA57),
    "ppc64el": (Ppc64elPower9,),
}


def main():
    global MACHINE, WORK, BUILD
    if len(sys.argv) < 4 or sys.argv[1] not in CLASSES:
        print(__doc__, file=sys.stderr)
        return 2
    MACHINE = MACHINES[sys.argv[1]]
    source = pathlib.Path(sys.argv[2]).resolve()
    WORK = pathlib.Path(sys.argv[3]).resolve()
    try:
        cross_build.find_tools(MACHINE)
        foreign_packages.prepare(MACHINE.name, WORK)
        BUILD = cross_build.build(MACHINE, source, WORK)
    except (foreign_packages.PackagesMissing, cross_build.ToolMissing) as why:
        print(f"SKIPPED: {why}; scripts/setup --emulated installs what is "
              "missing")
        return 0
    loader = unittest.TestLoader()
    suite = unittest.TestSuite(
        loader.loadTestsFromTestCase(each) for each in CLASSES[MACHINE.name]
    )
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
