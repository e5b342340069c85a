"""Functions of the kernel, hooked beside every other option, in a guest whose
time is its executed instructions: each on a known number of calls."""

import dataclasses
import json
import tempfile
import pathlib
import unittest

from guest import Guest
from machines import NATIVE

BOOT_SECONDS = 1200
ROUNDS, CALLS = 20, 500
ALL = ROUNDS * CALLS
READS = 400
LOOP = f"counted_loop calls {ROUNDS} {CALLS}"
GETUID = "kfunc:__do_sys_getuid"
# The same function by another name, of which no type is described.
PROBED = "kfunc:__x64_sys_getuid"
READER = f"busybox dd if=/dev/zero of=/dev/null bs=1 count={READS}"
# Less than all records of that recording take: a CPU keeps its first packet and
# its latest, of 1 MiB each, besides.
FLIGHT, FLIGHT_ROUNDS = "256K", 40 * ROUNDS
FOUR = "task-clock,page-faults,context-switches,cpu-migrations"


def record(name, options, workload=LOOP, events="task-clock", hook=GETUID):
    trace = f"{name}.ctf"
    hooked = f"--hook {hook}" if hook else ""
    return {
        f"{name}.record":
            f"countrace record -q -o {trace} -e \"{events}\" {hooked} "
            f"{options} -- {workload}",
        f"{name}.verify": f"countrace verify {trace}",
        f"{name}.report": f"countrace report --format json {trace}",
        f"{name}.script":
            f"countrace script {trace} | "
            "grep \"loop:body\\|getuid__\\|ksys_read__\"",
    }


def commands():
    return {
        **record("plain", "", hook=""),
        **record("priced", ""),
        **record("probed", "", hook=PROBED),
        **record("enters", "", hook="kfunc-enter:__do_sys_getuid"),
        **record("four", "", events=FOUR),
        **record("calls", "--kernel syscalls", events=FOUR, hook=""),
        **record("flight", f"--flight {FLIGHT}",
                 f"counted_loop calls {FLIGHT_ROUNDS} {CALLS}"),
        **record("sets", "--rotate 2ms",
                 events="task-clock,{page-faults},{context-switches}"),
        **record("every", f"--dump \"{GETUID} every 100\""),
        **record("if", "--dump \"kfunc:ksys_read if count == 1\"", READER,
                 hook="\"kfunc:ksys_read(count)\""),
        **record("args", "--args"),
        **record("full", "--kernel-ring 4K"),
        **record("start", "--hook kfunc:__do_sys_getgid --trigger "
                 "\"hook kfunc:__do_sys_getgid then start\""),
        **record("samples", "--sample 997"),
        "samples.functions":
            "countrace report --by function --format json samples.ctf",
        "listed": "countrace list functions --format json kernel",
    }


class FunctionHooks(unittest.TestCase):
    answers = None  # future of the guest's answers

    @classmethod
    def setUpClass(cls):
        cls.answers = cls.answers.result()

    def report(self, name, sound=True):
        answer = self.answers[f"{name}.record"]
        self.assertEqual(answer.status, 0, answer)
        self.assertNotIn("could not be measured", answer.said)
        if sound:
            self.assertEqual(self.answers[f"{name}.verify"].status, 0,
                             self.answers[f"{name}.verify"])
        report = json.loads(self.answers[f"{name}.report"].output)
        for event, book in report["books"].items():
            self.assertEqual(book["residual"], 0, event)
        return report

    def row(self, name, segment):
        (row,) = [row for row in self.report(name)["segments"]
                  if row["segment"] == segment]
        return row

    def lines(self, name, word):
        return [line for line in self.answers[f"{name}.script"].output
                .splitlines() if word in line]

    def test_what_hooks_took_is_not_in_the_times_around_them(self):
        # On the only CPU: the recorder, which reads more, has it in between.
        truth = self.row("plain", "loop:body")["on_cpu_ns"]["incl"]
        for name in ("priced", "probed", "enters"):
            row = self.row(name, "loop:body")
            took, rest = row["probes_ns"], row["on_cpu_ns"]["incl"]
            print(f"{name}: truth {truth}, {rest} without {took}, "
                  f"limits {row['bounds']['on_cpu_ns.incl']}")
            with self.subTest(name):
                lo, hi = row["bounds"]["on_cpu_ns.incl"]
                self.assertLessEqual(lo, truth)
                self.assertLessEqual(truth, hi)
                self.assertGreater(took["lo"], 0)
                self.assertGreater(took["estimate"], truth)
                self.assertAlmostEqual(rest, truth, delta=took["estimate"] / 8)

    def test_a_functions_hook_costs_little_more_than_a_system_calls(self):
        took = {}
        for name in ("plain", "four", "calls"):
            row = self.row(name, "loop:body")
            probes = row.get("probes_ns") or {"estimate": 0}
            took[name] = row["on_cpu_ns"]["incl"] + probes["estimate"]
        function, call = (took[name] - took["plain"]
                          for name in ("four", "calls"))
        print(f"{function / ALL / 2:.0f} instructions for a function, "
              f"{call / ALL / 2:.0f} for a system call")
        self.assertLess(function, 1.5 * call)

    def test_calls_are_complete_beside_other_options(self):
        for name in ("priced", "sets", "every", "args", "samples"):
            with self.subTest(name):
                self.assertEqual(self.row(name, GETUID)["calls"], ALL)
        self.assertEqual(self.row("probed", PROBED)["calls"], ALL)

    def test_system_calls_and_their_functions_are_as_many(self):
        self.assertEqual(self.row("args", "syscall:getuid")["calls"], ALL)

    def test_the_newest_calls_stay_in_a_flight_recorder(self):
        lines = self.lines("flight", "")
        kept = len(self.lines("flight", "getuid__enter"))
        self.assertGreater(kept, CALLS)
        self.assertLess(kept, FLIGHT_ROUNDS * CALLS)
        # What was overwritten is counted; others' records may be among it.
        missing = 2 * FLIGHT_ROUNDS * CALLS - len(self.lines("flight", "getuid__"))
        lost = self.report("flight")["loss"]
        self.assertEqual({*lost["by_cause"]}, {"trace_full"})
        self.assertGreaterEqual(lost["discarded_events"], missing)
        self.assertLess(lost["discarded_events"], missing + ALL / 10)
        begin, end = (
            max(i for i, line in enumerate(lines) if f"loop:body__{part}" in line)
            for part in ("enter", "exit")
        )
        for part in ("enter", "exit"):
            self.assertEqual(
                sum(f"getuid__{part}" in line for line in lines[begin:end]),
                CALLS)

    def test_dump_rules_choose_the_records(self):
        self.assertEqual(
            sum("task_clock = " in line
                for line in self.lines("every", "getuid__enter")), ALL // 100)
        dumps = [line for line in self.lines("if", "ksys_read__enter")
                 if "task_clock = " in line]
        self.assertEqual(len(dumps), READS)
        for line in dumps:
            self.assertIn("count = 1", line)

    def test_records_without_room_are_counted(self):
        report = self.report("full", sound=False)
        missing = 2 * ALL - len(self.lines("full", "getuid__"))
        self.assertGreater(missing, ALL)
        # Others' records may be lost as well.
        self.assertGreaterEqual(report["loss"]["discarded_events"], missing)
        self.assertLess(report["loss"]["discarded_events"], missing + ALL / 10)

    def test_calls_before_the_begin_are_left_out(self):
        self.assertEqual(self.row("start", GETUID)["calls"], ALL // 2)

    def test_samples_are_taken_beside_hooks(self):
        functions = json.loads(self.answers["samples.functions"].output)
        (book,) = functions["books"]
        self.assertGreater(book["samples"], 10)
        self.assertEqual(book["samples"], sum(
            row["self_samples"] for row in functions["rows"]))

    def test_each_function_has_a_way_and_a_price_or_a_reason(self):
        rows = json.loads(self.answers["listed"].output)["functions"]
        found = {row["function"]: row for row in rows}
        self.assertEqual(found["ksys_read"]["hook"], "fentry")
        self.assertGreater(found["ksys_read"]["price_ns"], 0)
        probed = found[PROBED.partition(":")[2]]
        self.assertEqual(probed["hook"], "kprobe")
        self.assertGreater(probed["price_ns"], found["ksys_read"]["price_ns"])
        self.assertEqual(found["bpf_ktime_get_ns"]["hook"], "none")
        for row in rows:
            self.assertEqual(row["hook"] == "none", row["why_not"] != "")
            self.assertEqual(row["hook"] == "none", row["price_ns"] is None)


def boot(build, work):
    # An instruction takes 2 ns of the guest's time.
    machine = dataclasses.replace(
        NATIVE, qemu=(*NATIVE.qemu, "-icount", "shift=1"))
    runtime = (build / "runtime/inprocess/libcountrace-runtime.so").resolve()
    files = {
        "/bin/countrace": build / "cli/countrace",
        "/bin/counted_loop": build / "tests/emulated/counted_loop",
        "/lib/libcountrace-runtime.so.0": runtime,
    }
    with tempfile.TemporaryDirectory(dir=work) as folder:
        guest = Guest(machine, work, files, pathlib.Path(folder))
        return guest.run("max", commands(), BOOT_SECONDS)
