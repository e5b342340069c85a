#!/usr/bin/env python3
"""A program of the host's kernel and one of a second kernel, in QEMU, recorded
while they ask each other: what is said of the second one's clock holds.

usage: two_kernels_test.py BUILD WORK

The truth: the guest's clock counts the host's nanoseconds (HPET), faster by as
much as adjtimex(2) sets; and the programs print what both clocks showed at each
request, most of which are in no trace. If QEMU or the packages are not
available, it prints "SKIPPED: why" and passes.
"""

import base64
import concurrent.futures
import dataclasses
import io
import json
import pathlib
import shutil
import sys
import tarfile
import tempfile
import unittest

import native_kernel
from foreign_packages import PackagesMissing
from guest import Guest
from machines import NATIVE

sys.path.append(str(pathlib.Path(__file__).parents[1] / "e2e"))
import trace_checks  # noqa: E402

SECONDS = 1200
PPM = 100
RECORDED = 8  # of two_kernels.cc: each so many requests one
KNOWN_PPB = 20000  # there, too: half of the interval
MS = 1000000
PAIRS = ("--pairs", "rpc:call.arg0,rpc:handle.arg0")
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
COMMANDS = {
    "clock": f"echo hpet >{CLOCK}; cat {CLOCK}",
    "speed": f"busybox adjtimex -f {PPM * 65536}",
    "record": "countrace record -q -o guest.ctf -e task-clock -- "
              "two_kernels answer /dev/ttyS1",
    "trace": "busybox tar -c guest.ctf | busybox gzip | busybox base64",
}


class TwoKernels(unittest.TestCase):
    folder = answers = trips = None  # set before any test

    def given(self, *names):
        return [f"{name}={self.folder / name}.ctf" for name in names]

    def rows(self, sql):
        lines = trace_checks.countrace(
            "query", "--format", "jsonl", *PAIRS, sql,
            *self.given("host", "guest")).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def guest(self):
        host, guest = self.rows("SELECT * FROM hosts")
        self.assertNotEqual(host["boot"], guest["boot"])
        self.assertEqual(guest["clock"], "messages with host")
        return guest

    def test_the_guests_clock_is_the_hosts_but_faster(self):
        self.assertEqual(self.answers["clock"].output.strip(), "hpet")
        self.assertIn(f"freq.adjust:  {PPM * 65536} ",
                      self.answers["speed"].output)

    def test_drift_is_found_within_its_bound(self):
        guest = self.guest()
        truth = -1e9 * PPM / (1e6 + PPM)  # of the host's clock by the guest's
        self.assertLessEqual(guest["drift_ppb.lo"], truth, guest)
        self.assertGreaterEqual(guest["drift_ppb.hi"], truth, guest)
        # The recorded trips that ended the exchange allow no more.
        self.assertLess(guest["drift_ppb.hi"] - guest["drift_ppb.lo"],
                        2.01 * KNOWN_PPB, guest)

    def test_every_trip_agrees_with_the_offset_and_its_bound(self):
        guest = self.guest()
        within = guest["within_ns"]
        self.assertLess(within, 50 * MS)
        own_begin = guest["begin_ns"] - guest["offset_ns"]
        for number, sent, handled, answered in self.trips:
            shown = (handled + guest["offset_ns"] + round(
                guest["drift_ppb"] * (handled - own_begin) / 1e9))
            self.assertGreaterEqual(shown, sent - within - 1, number)
            self.assertLessEqual(shown, answered + within + 1, number)

    def test_nothing_is_received_before_it_was_sent(self):
        calls, handled = (
            self.rows("SELECT begin_ns, end_ns FROM calls WHERE host = "
                      f"'{host}' AND segment = '{segment}' ORDER BY begin_ns")
            for host, segment in (("host", "rpc:call"), ("guest", "rpc:handle"))
        )
        self.assertEqual(len(calls), len(self.trips) // RECORDED)
        self.assertEqual(len(handled), len(calls))
        for call, handling in zip(calls, handled):
            self.assertLessEqual(call["begin_ns"], handling["begin_ns"])
            self.assertLessEqual(handling["begin_ns"], call["end_ns"])

    def test_books_are_the_sums_of_both(self):
        both, *own = (
            json.loads(trace_checks.countrace(
                "report", "--format", "json", *options).stdout)["books"]
            for options in ((*PAIRS, *self.given("host", "guest")),
                            (self.folder / "host.ctf",),
                            (self.folder / "guest.ctf",))
        )
        for event, book in both.items():
            self.assertEqual(book["residual"], 0, event)
            for account in (*trace_checks.ACCOUNTS, "total"):
                self.assertEqual(book[account],
                                 sum(books[event][account] for books in own
                                     if event in books),
                                 (event, account))

    def refusal(self, *options):
        done = trace_checks.countrace("report", *options, check=False)
        self.assertEqual(done.returncode, 1, done)
        return done.stderr

    def test_without_messages_the_ways_to_a_common_clock_are_named(self):
        said = self.refusal(*self.given("host", "guest"))
        for way in ("same boot", "NTP or PTP", "--pairs"):
            self.assertIn(way, said)

    def test_no_time_is_before_the_common_clocks_begin(self):
        # The host's recording began before the guest was booted.
        said = self.refusal(*PAIRS, *self.given("guest", "host"))
        self.assertIn("before the clock of host guest began", said)
        self.assertIn("give host=", said)


def boot(build, work, folder):
    """The guest's answers, and what `ask` printed. Leaves the traces in
    `folder`."""
    program = build / "tests/emulated/two_kernels"
    runtime = (build / "runtime/inprocess/libcountrace-runtime.so").resolve()
    files = {
        "/bin/countrace": build / "cli/countrace",
        "/bin/two_kernels": program,
        "/lib/libcountrace-runtime.so.0": runtime,
    }
    line = folder / "line"
    # The machine begins when `ask` has connected.
    machine = dataclasses.replace(NATIVE, qemu=(
        *NATIVE.qemu,
        "-chardev", f"socket,id=line,path={line},server=on,wait=on",
        "-device", "isa-serial,chardev=line,index=1",
    ))
    with concurrent.futures.ThreadPoolExecutor() as threads:
        asked = threads.submit(
            trace_checks.countrace, "record", "-q", "-o", folder / "host.ctf",
            "-e", "task-clock", "--", program, "ask", line, timeout=SECONDS)
        guest = Guest(machine, work, files, folder)
        answers = guest.run("max", COMMANDS, SECONDS)
        printed = asked.result().stdout
    if answers["record"].status != 0:
        raise AssertionError(answers["record"])
    archive = base64.b64decode(answers["trace"].output)
    with tarfile.open(fileobj=io.BytesIO(archive)) as trace:
        trace.extractall(folder)
    trips = [tuple(map(int, row.split())) for row in printed.splitlines()]
    return answers, trips


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, work = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    trace_checks.Recording.countrace_program = build / "cli/countrace"
    try:
        if shutil.which(NATIVE.qemu[0]) is None:
            raise PackagesMissing(f"{NATIVE.qemu[0]} is not installed")
        work.mkdir(parents=True, exist_ok=True)
        native_kernel.prepare(work)
    except PackagesMissing as why:
        print(f"SKIPPED: {why}; scripts/setup --emulated installs what is "
              "missing")
        return 0
    # Not below WORK: the path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="countrace-emulated-") as name:
        TwoKernels.folder = pathlib.Path(name)
        TwoKernels.answers, TwoKernels.trips = boot(
            build, work, TwoKernels.folder)
        suite = unittest.TestLoader().loadTestsFromTestCase(TwoKernels)
        result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
