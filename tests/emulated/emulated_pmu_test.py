#!/usr/bin/env python3
"""Real hardware counters: countrace in an emulated machine that has them.

usage: emulated_pmu_test.py ARCHITECTURE SOURCE WORK [CLASS...]

Of all classes, or of these. Cross-builds countrace in WORK, boots Debian's
kernel in QEMU with it, records loops of known length there, and checks the
reports. If QEMU, the compiler or the packages are not available, it prints
"SKIPPED: why" and passes.
"""

import concurrent.futures
import os
import pathlib
import re
import sys
import unittest

import cross_build
import foreign_packages
from counted_guest import (
    BACKENDS, CALLS, ITERATIONS, OVERFLOWING, TAKING_TURNS, Counted, Place, boot, competing,
    taking_turns, tree_reports, tree_runs,
)
from machines import MACHINES
from quota_guest import Arm64Quota
from sampled_guest import Arm64Sampled

# QEMU's PMU counts each of these on any counter; more than it has counters.
EIGHT = ("cycles", "cycles:u", "cycles:k", "instructions", "instructions:u",
         "instructions:k", "r08", "r08:u")


def _braces(events):
    return "{" + ",".join(events) + "}"


def doctor_on(events):
    return f"countrace doctor --format json -e \"{events}\""


def too_many(backend):
    return (
        f"-a --backend {backend} -e \"task-clock,{_braces(EIGHT)},{{r11}}\"",
        f"counted_loop run {TAKING_TURNS}",
    )


STOLEN = ("cycles", "instructions", "instructions:u", "cycles:u")


def stolen(backend, events):
    """Another program uses all but three of the counters for half a second."""
    return (
        f"-a --backend {backend} -e \"task-clock,{events}\"",
        f"counted_loop run {3 * TAKING_TURNS}",
        "counted_loop steal 4 400 ",
    )


EXACT = {"cycles": 0.0001, "instructions": 0.0001}


class Arm64Max(Counted):
    """PMUv3.5: counters of 64 bits, read by user space where it is allowed."""

    @classmethod
    def boot_guest(cls):
        hooks = (
            "-q --hook-events instructions:u,cycles:u,instructions "
            "-e task-clock"
        )
        segments = f"counted_loop segments {CALLS} {ITERATIONS}"
        access = "/proc/sys/kernel/perf_user_access"
        recordings = {
            f"competing-{name}": competing(name) for name in BACKENDS
        }
        recordings.update({
            f"turns-{name}": taking_turns(name) for name in BACKENDS
        })
        recordings["read"] = (hooks, f"sh -c \"echo 0 >{access}; {segments}\"")
        recordings["rdpmc"] = (hooks, f"sh -c \"echo 1 >{access}; {segments}\"")
        recordings["interrupted"] = (
            hooks, f"counted_loop interrupted {CALLS} {ITERATIONS}"
        )
        recordings["overflow"] = (
            "--backend bpf -e instructions:u --hook-events instructions:u",
            f"counted_loop segments 2 {OVERFLOWING}",
        )
        recordings["kernel-hooks"] = (
            "--backend bpf -e instructions:u --kernel syscalls,irq,softirq "
            "--hook usdt:/bin/counted_loop:loop:body "
            "--hook uprobe:/bin/counted_loop:main",
            segments,
        )
        recordings["kernel-rules"] = (
            "-q --backend bpf -e instructions:u --kernel syscalls,irq "
            "--hook usdt:/bin/counted_loop:loop:body "
            "--dump \"loop:body every 4\" --dump \"syscall:* every 3\"",
            segments,
        )
        for name in BACKENDS:
            recordings[f"refused-{name}"] = too_many(name)
        recordings.update(tree_runs())
        recordings["stolen"] = stolen("bpf", ",".join(STOLEN))
        recordings["stolen-perf"] = stolen("perf", ",".join(STOLEN))
        recordings["stolen-sets"] = stolen("bpf", f"{_braces(STOLEN)},{{r11}}")
        boot(cls, "max", recordings, {
            "release": "uname -r",
            "kernel-says": "dmesg | grep \"counters available\"",
            "doctor": "countrace doctor --format json",
            "doctor-fits": doctor_on("{cycles,instructions},{cycles:u}"),
            "doctor-8": doctor_on(_braces(EIGHT)),
            "doctor-9": doctor_on(
                f"task-clock,cycles,{_braces((*EIGHT[1:], 'r11:u'))},{{r11}}"
            ),
            "clock": "clock_test \"clock*\"",
            # Where they were left is not known: both of perf_user_access.
            **{f"counts-{allowed}": f"sh -c \"echo {allowed} >{access}; "
               f"counted_loop counts {CALLS} {ITERATIONS}\""
               for allowed in (0, 1)},
        }, tree_reports())

    def test_a_tree_of_turns_is_that_of_single_runs(self):
        self.check_tree(("U", "K"))

    def test_a_program_reads_its_own_counts(self):
        for allowed in (0, 1):
            with self.subTest(perf_user_access=allowed):
                self.check_own_counts(f"counts-{allowed}", pages=allowed == 1)

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
            # An interrupt may fall into any gap, but never into all of them.
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
        # The machine's truth: two cycles for each instruction, except in idle.
        for backend in BACKENDS:
            trace = self.traces[f"competing-{backend}"]
            stays = trace.stays(0, "cycles", "instructions")
            self.assertGreater(len(stays), 20)
            for tid, cycles, instructions in stays:
                if tid == 0:
                    continue
                self.assertGreater(instructions, 0)
                # Instructions executed between the two reads of a group.
                self.assertAlmostEqual(cycles, 2 * instructions, delta=8000)

    def test_processes_add_up_to_the_cpu(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                self.check_competing(
                    self.traces[f"competing-{backend}"], noise=0.001
                )

    def test_event_sets_take_turns(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                self.check_turns(
                    self.traces[f"turns-{backend}"], noise=EXACT, slices=20
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
        self.assertNotIn("smaller than requested", said)

    def test_kernel_segments_and_dynamic_hooks_work_on_linux_6_1(self):
        trace = self.traces["kernel-hooks"]
        self.check_sound(trace)
        self.check_books(trace)
        # The kernel's records of these hooks have the CPU's counters: other
        # threads run during some calls.
        counts = trace.calls("loop:body", "instructions_u")
        self.assertEqual(len(counts), CALLS)
        self.check_calls([self.usual(counts)], 1, 2 * ITERATIONS)
        calls = {
            row["segment"]: row["calls"] for row in trace.report["segments"]
            if row["comm"] == "counted_loop"
        }
        # Where its code ends is read of x86-64's only.
        self.assertIn("Only as points, not segments: main of ",
                      trace.recorded.said)
        self.assertNotIn("counted_loop:main", calls)
        self.assertEqual(calls["syscall:execve"], 1)
        self.assertGreater(calls["syscall:openat"], 1)

    def test_dump_rules_are_asked_in_the_kernel_on_linux_6_1(self):
        trace = self.traces["kernel-rules"]
        self.check_sound(trace)
        counts = [
            (event, fields["instructions_u"])
            for stream, event, fields in trace.records
            if stream == "cpu-0" and event.startswith("loop:body__")
            and "instructions_u" in fields
        ]
        self.assertEqual([event for event, _ in counts],
                         ["loop:body__enter", "loop:body__exit"] * (CALLS // 4))
        for (_, begin), (_, end) in zip(counts[::2], counts[1::2]):
            self.assertGreaterEqual(end - begin, 2 * ITERATIONS)

    def counters(self):
        """As many as the kernel's driver reports."""
        said = self.answers["kernel-says"].output
        return int(re.search(r"(\d+) counters available", said).group(1))

    def test_doctor_counts_the_counters_and_tries_the_usual_groups(self):
        (groups,) = self.doctor("doctor", "event-groups")
        self.assertEqual(groups["status"], "ok")
        self.assertIn(f"counters free={self.counters()} ", groups["detail"])
        self.assertIn("{cycles,instructions}", groups["detail"])

    def test_doctor_says_that_sets_can_be_counted(self):
        self.assertEqual(self.answers["doctor-fits"].status, 0)
        rows = self.doctor("doctor-fits", "event-set-")
        self.assertEqual([row["status"] for row in rows], ["ok", "ok"])

    def test_doctor_refuses_a_set_by_name_with_both_numbers(self):
        """It says which sets can be counted, the fewest: with each event once."""
        self.assertEqual(self.answers["doctor-8"].status, 1)
        (row,) = self.doctor("doctor-8", "events")
        self.assertEqual(row["status"], "missing")
        self.assertIn(_braces(EIGHT), row["detail"])
        self.assertIn(f"needed=8 free={self.counters()}", row["detail"])
        sets = re.search(r"record -e '\{(.*)\},\{(.*)\}'", row["fix"])
        self.assertIsNotNone(sets, row["fix"])
        parts = [one.split(",") for one in sets.groups()]
        self.assertEqual(sorted(sum(parts, [])), sorted(EIGHT))
        self.assertLessEqual(max(map(len, parts)), self.counters())

    def test_doctor_names_the_event_the_kernel_refuses(self):
        # Requested in one group with cycles, which is always on.
        self.assertEqual(self.answers["doctor-9"].status, 1)
        first, second = self.doctor("doctor-9", "event-set-")
        self.assertIn(f"needed=9 free={self.counters()} (r11:u: errno=22",
                      first["detail"])
        self.assertIn("beside the events that are always on", first["detail"])
        self.assertEqual(second["status"], "ok")

    def test_a_set_too_large_is_named_and_the_rest_counted(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                trace = self.traces[f"refused-{backend}"]
                self.check_sound(trace)
                self.check_books(trace)
                said = trace.recorded.said
                self.assertIn("r08:u is not counted: ", said)
                self.assertIn(f"{_braces(EIGHT)} cannot be counted at once: "
                              f"counters needed=8 free={self.counters()}", said)
                self.assertIn("--rotate", said)
                books = trace.report["books"]
                self.assertEqual(set(books), {"task-clock", "r11", *EIGHT[:7]})
                (row,) = trace.processes("counted_loop")
                for event in EIGHT[:7]:
                    self.assertGreater(row["scaled"][event]["counted"], 0)

    def test_counters_that_others_take_are_absent_meanwhile(self):
        trace = self.traces["stolen"]
        self.check_sound(trace)
        # Counts between the last dump with counters and the first one again.
        self.check_books(trace, unattributed=0.001)
        said = re.search(r"(\S+), cycles:u were not counted on CPU 0 for (\S+) s",
                         trace.recorded.said)
        self.assertIsNotNone(said, trace.recorded.said)
        # The recorder tries again, and may get them back before they are free.
        absent = float(said.group(2))
        self.assertGreater(absent, 0.05)
        self.assertLess(absent, 0.6)
        self.assertNotIn("went back", str(trace.report))
        # What is missing is as much as was said: one instruction each 2 ns.
        (row,) = [row for row in trace.processes("counted_loop")
                  if row["counts"]["task-clock"] > 500_000_000]
        missing = 2 * 3 * TAKING_TURNS - row["counts"]["instructions:u"]
        self.assertAlmostEqual(2e-9 * missing, absent, delta=0.05)
        for event in STOLEN:
            self.assertGreater(row["counts"][event], 100_000_000)

    def test_perf_rings_record_on_when_others_take_the_counters(self):
        trace = self.traces["stolen-perf"]
        self.assertEqual(trace.recorded.status, 0, trace.recorded)
        self.assertEqual(trace.verified.status, 0, trace.verified)
        # The number of lost switches is unknown: one for each beginning.
        self.assertEqual(trace.report["loss"]["discarded_events"], 1)
        said = re.search(r"cycles:u were not counted on CPU 0 for (\S+) s",
                         trace.recorded.said)
        self.assertIsNotNone(said, trace.recorded.said)
        self.assertAlmostEqual(float(said.group(1)), 0.5, delta=0.15)
        for event, book in trace.report["books"].items():
            self.assertEqual(book["residual"], 0, event)
        self.assertNotIn("went back", str(trace.report))
        (row,) = [row for row in trace.processes("counted_loop")
                  if row["counts"]["task-clock"] > 500_000_000]
        self.assertGreater(row["counts"]["task-clock"], 2_200_000_000)
        missing = 2 * 3 * TAKING_TURNS - row["counts"]["instructions:u"]
        self.assertAlmostEqual(missing, 250_000_000, delta=75_000_000)

    def test_a_set_that_others_take_counters_from_is_absent_meanwhile(self):
        trace = self.traces["stolen-sets"]
        self.check_sound(trace)
        self.check_books(trace)
        self.assertRegex(trace.recorded.said,
                         r"Event set 0 \{.*\} was not counted on CPU 0 in \d+ "
                         r"of \d+ intervals")
        self.assertNotIn("went back", str(trace.report))
        (row,) = [row for row in trace.processes("counted_loop")
                  if row["counts"]["task-clock"] > 500_000_000]
        truth = 2 * 3 * TAKING_TURNS
        self.assertAlmostEqual(row["counts"]["instructions:u"], truth,
                               delta=truth / 100)

    def test_hooks_read_the_architectures_counter(self):
        self.assertEqual(self.answers["clock"].status, 0,
                         self.answers["clock"].output)
        self.assertIn("hooks read the raw counter",
                      self.answers["doctor"].output)


class Arm64CortexA57(Counted):
    """PMUv3: counters of 32 bits, also where user space reads them."""

    @classmethod
    def boot_guest(cls):
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
    attributes the kernel's instructions to the program, and loses some when a
    counter overflows, so neither is tested here. An event of instructions
    counts 1.6 % less of a loop while cycles are counted beside it than beside
    another event of instructions."""

    NOISE = {"cycles": 0.0005, "instructions": 0.03}

    @classmethod
    def boot_guest(cls):
        hooks = "-q --hook-events instructions -e task-clock"
        boot(cls, "power9", {
            # Less than 2.1 s on each CPU: QEMU delivers no interrupt at the
            # overflow of a counter, and all of them stand still after it.
            "slow-turns": taking_turns("auto", 3 * TAKING_TURNS // 2),
            "competing": competing("auto"),
            **tree_runs(),
            "turns": (*taking_turns("auto"), "taskset 1 "),
            "short": (hooks, f"counted_loop segments {CALLS} {ITERATIONS}"),
            "long": (hooks, f"counted_loop segments {CALLS} {2 * ITERATIONS}"),
        }, {
            "btf": "ls /sys/kernel/btf/vmlinux",
            "doctor": "countrace doctor --format json",
            "clock": "clock_test \"clock*\"",
            "streams": "streams_test \"thread streams: a thousand*,"
                       "thread streams: forks*,thread streams: hooks around*\"",
        }, tree_reports())

    def test_a_tree_of_turns_is_that_of_single_runs(self):
        # The kernel's cycles are the program's here. While a set changes, the
        # kernel stops all counters of the CPU: those that are always on, the
        # root, miss 0.12 % of the time.
        self.check_tree(("U",), 0.002)

    def test_instructions_of_calls_by_read(self):
        usual = []
        for name in ("short", "long"):
            trace = self.traces[name]
            self.check_sound(trace)
            counts = trace.calls("loop:body", "instructions")
            self.assertEqual(len(counts), CALLS)
            usual.append(self.usual(counts))
        # The cost of a read is in both.
        self.assertAlmostEqual(
            usual[1] - usual[0], 2 * ITERATIONS, delta=2 * ITERATIONS / 1000
        )

    def test_processes_add_up_to_the_cpus(self):
        self.check_competing(self.traces["competing"], noise=0.01)

    def test_event_sets_take_turns(self):
        self.check_turns(self.traces["turns"], self.NOISE, slices=20)

    def test_slow_reads_of_another_cpu_leave_the_estimates_right(self):
        # QEMU runs one CPU after the other, some milliseconds each: a read of
        # the other one's counters takes that long.
        self.check_turns(self.traces["slow-turns"], self.NOISE, slices=1)

    def test_a_group_is_read_at_each_dispatch(self):
        for cpu in range(Place.machine.cpu_count):
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
    "arm64": (Arm64Max, Arm64CortexA57, Arm64Sampled, Arm64Quota),
    "ppc64el": (Ppc64elPower9,),
}


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in CLASSES:
        print(__doc__, file=sys.stderr)
        return 2
    machine = Place.machine = MACHINES[sys.argv[1]]
    source = pathlib.Path(sys.argv[2]).resolve()
    work = Place.work = pathlib.Path(sys.argv[3]).resolve()
    try:
        cross_build.find_tools(machine)
        foreign_packages.prepare(machine.name, work)
        Place.build = cross_build.build(machine, source, work)
    except (foreign_packages.PackagesMissing, cross_build.ToolMissing) as why:
        print(f"SKIPPED: {why}; scripts/setup --emulated installs what is "
              "missing")
        return 0
    classes = [one for one in CLASSES[machine.name]
               if one.__name__ in (sys.argv[4:] or one.__name__)]
    # QEMU counts instructions with one thread a guest.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for each in classes:
            each.booted = threads.submit(each.boot_guest)
    loader = unittest.TestLoader()
    suite = unittest.TestSuite(
        loader.loadTestsFromTestCase(each) for each in classes
    )
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
