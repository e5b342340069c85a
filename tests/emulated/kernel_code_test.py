#!/usr/bin/env python3
"""Hooks in the kernel's code: those of a module, and functions of the kernel.

usage: kernel_code_test.py SOURCE BUILD WORK

Builds the example module for Debian's kernel, boots that kernel in QEMU with
the countrace of BUILD, and compares reports with the module's own counts and
with the system calls of the same recording. If QEMU or the packages are not
available, it prints "SKIPPED: why" and passes.
"""

import concurrent.futures
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import function_guest
import native_kernel
from foreign_packages import PackagesMissing
from function_guest import FunctionHooks
from guest import Guest
from machines import NATIVE

BOOT_SECONDS = 900
BATCHES, REQUESTS, READS = 20, 5, 2000
MODULE = "/lib/modules/countrace_sample.ko"
START = "/sys/module/countrace_sample/parameters/start"
# Long enough for all batches, which 0.5 s have room for on an idle host.
WORK = f"sh -c \"echo 1 >{START}; sleep 3\""
READER = f"busybox dd if=/dev/zero of=/dev/null bs=1 count={READS}"


def record(name, options, workload, script="countrace_sample:"):
    trace = f"{name}.ctf"
    return {
        f"{name}.record":
            f"countrace record -a -q -o {trace} -e task-clock {options} "
            f"-- {workload}",
        f"{name}.verify": f"countrace verify {trace}",
        f"{name}.report": f"countrace report --format json {trace}",
        f"{name}.hooks": f"countrace list hooks --format json {trace}",
        f"{name}.script": f"countrace script {trace} | grep \"{script}\"",
    }


def commands():
    refused = "countrace record -a -q -o refused.ctf"
    return {
        "no-module": f"{refused} --hook \"kernel:countrace_sample:*\" -- true",
        "other-kernel":
            "busybox insmod /tmp/other.ko || "
            f"{refused} --hook \"kernel:countrace_sample:*\" -- true",
        "load": f"busybox insmod {MODULE}",
        "listed": "countrace hooks list -k --format json",
        "listed-none": "countrace hooks list -k \"other:*\"",
        **record("module", "--hook \"kernel:countrace_sample:*\"", WORK),
        "no-hook":
            f"{refused} --hook kernel:countrace_sample:handel -- true",
        **record("functions",
                 "--kernel syscalls --hook \"kfunc:ksys_read(fd,count)\" "
                 "--hook kfunc:filename_lookup "
                 "--hook \"kfunc-enter:getname(*)\" "
                 "--hook kfunc:countrace_sample:handle",
                 f"sh -c \"echo 1 >{START}; {READER}; ls /none; sleep 3\""),
        "texts": "countrace script functions.ctf | grep kfunc:getname:",
        "failed": "countrace script functions.ctf | grep lookup__exit",
        "numbers":
            "countrace script functions.ctf | grep -c "
            "\"ksys_read__enter.*fd = 0, count = 1 }\"",
        "no-argument": f"{refused} --hook \"kfunc:ksys_read(size)\" -- true",
        "no-function": f"{refused} --hook kfunc:ksys_raed -- true",
        "no-probe": f"{refused} --hook kfunc:bpf_ktime_get_ns -- true",
        "functions-of-kernel":
            "countrace list functions --format json kernel \"ksys_*\"",
        # The programs that read arguments, with their stack and loops.
        **record("arguments",
                 "--args --hook \"tracepoint:sched:sched_process_exec(filename)"
                 "\" --hook \"uprobe:/bin/countrace:main(argc:s32=rdi)\"",
                 "sh -c \"cat /tmp/other.ko >/dev/null; countrace --version\"",
                 "openat__enter\\|exec:\\|main"),
        "unload": "busybox rmmod countrace_sample; dmesg | tail -1",
    }


class KernelCode(unittest.TestCase):
    answers = None  # set before any test

    def segments(self, name):
        answer = self.answers[f"{name}.record"]
        self.assertEqual(answer.status, 0, answer)
        self.assertEqual(self.answers[f"{name}.verify"].status, 0)
        return json.loads(self.answers[f"{name}.report"].output)

    def calls(self, name, segment, comm=None):
        return sum(
            row["calls"] for row in self.segments(name)["segments"]
            if row["segment"] == segment and comm in (None, row["comm"])
        )

    def truth(self):
        """Counts of both recordings: the module prints them at its end."""
        said = self.answers["unload"].output
        found = {key: int(value)
                 for key, value in re.findall(r"(\w+)=(\d+)", said)}
        self.assertIn("handle", found, said)
        return found

    def test_every_call_of_the_modules_segments_is_recorded(self):
        for segment, calls in (("batch", BATCHES),
                               ("handle", BATCHES * REQUESTS)):
            with self.subTest(segment=segment):
                self.assertEqual(
                    self.calls("module", f"countrace_sample:{segment}"), calls)

    def test_every_hit_is_recorded_also_on_an_idle_cpu(self):
        hits = self.answers["module.script"].output
        for event, count in (("tick__enter", BATCHES), ("tick__exit", BATCHES),
                             ("bytes", BATCHES * REQUESTS),
                             ("odd", BATCHES * (REQUESTS // 2))):
            with self.subTest(event=event):
                self.assertEqual(
                    hits.count(f"countrace_sample:{event}:"), count)

    def test_the_module_counts_the_same(self):
        truth = self.truth()
        # The second recording starts the timer once more, for one batch.
        self.assertEqual(truth["tick"], BATCHES + 1)
        self.assertEqual(truth["batch"], BATCHES + 1)
        self.assertEqual(truth["handle"], (BATCHES + 1) * REQUESTS)

    def test_its_hooks_are_named_with_their_places(self):
        rows = {row["hook"]: row for row in
                json.loads(self.answers["module.hooks"].output)["hooks"]}
        self.assertEqual(
            set(rows), {f"countrace_sample:{name}" for name in
                        ("tick", "batch", "handle", "bytes", "odd")})
        self.assertRegex(rows["countrace_sample:handle"]["location"],
                         r"countrace_sample\.c:\d+, id 42$")
        self.assertRegex(rows["countrace_sample:odd"]["location"],
                         r"countrace_sample\.c:\d+$")
        self.assertEqual(rows["countrace_sample:odd"]["kind"], "kernel-point")

    def test_hooks_list_k_says_what_a_module_has(self):
        rows = {row["hook"]: row for row in
                json.loads(self.answers["listed"].output)["hooks"]}
        self.assertEqual(rows["countrace_sample:batch"]["values"],
                         "arg0,arg1,arg2,arg3,arg4,arg5")
        self.assertEqual(rows["countrace_sample:tick"]["kind"], "segment")
        self.assertIn("no hook of a module matches",
                      self.answers["listed-none"].said)

    def test_what_is_not_there_is_refused_by_name(self):
        self.assertIn("no loaded module has a hook",
                      self.answers["no-module"].said)
        self.assertIn("there is handle", self.answers["no-hook"].said)
        self.assertIn("there is ksys_r", self.answers["no-function"].said)
        self.assertIn("in the recorder's own path",
                      self.answers["no-probe"].said)
        for name in ("no-module", "no-hook", "no-function", "no-probe"):
            self.assertNotEqual(self.answers[name].status, 0)

    def test_of_a_module_for_another_kernel_the_kernels_words_are_said(self):
        said = self.answers["other-kernel"].said
        self.assertIn("version magic", said)
        self.assertIn("must be built for the kernel that runs", said)

    def test_a_function_is_called_as_often_as_its_system_call(self):
        reads = self.calls("functions", "syscall:read", "busybox")
        self.assertGreaterEqual(reads, READS)
        self.assertEqual(
            self.calls("functions", "kfunc:ksys_read", "busybox"), reads)

    def test_its_arguments_have_their_names_and_values(self):
        self.assertEqual(self.answers["numbers"].output.strip(), str(READS))
        texts = self.answers["texts"].output
        for path in ("/dev/zero", "/dev/null"):
            self.assertIn(f"filename = \"{path}\"", texts)
        said = self.answers["no-argument"].said
        self.assertIn("there are fd (unsigned int)", said)

    def test_what_it_returns_has_its_type(self):
        # -ENOENT, of 32 bits.
        self.assertIn("ret = -2", self.answers["failed"].output)

    def test_the_programs_that_read_values_load_and_read(self):
        # This kernel has 512 bytes of stack for all functions of a program.
        self.segments("arguments")
        hits = self.answers["arguments.script"].output
        self.assertIn("filename = \"/tmp/other.ko\"", hits)
        self.assertIn("filename = \"/bin/countrace\"", hits)
        self.assertIn("argc = 2", hits)

    def test_a_module_without_types_is_probed(self):
        self.assertEqual(
            self.calls("functions", "countrace_sample:handle"), REQUESTS)

    def test_functions_say_whether_a_hook_may_be_on_them(self):
        rows = json.loads(self.answers["functions-of-kernel"].output)
        hooks = {row["function"]: row["hook"] for row in rows["functions"]}
        self.assertEqual(hooks["ksys_read"], "fentry")


def boot(source, build, work):
    module = native_kernel.build_module(
        work, source / "examples/kernel_module", source / "hooks/kernel")
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = pathlib.Path(name)
        # The same module, as if it were built for another kernel.
        other = folder / "other.ko"
        body = module.read_bytes()
        # The release is not compared where symbols have checksums.
        at = body.index(b" SMP ", body.index(b"vermagic="))
        other.write_bytes(body[:at] + b" UMP " + body[at + 5:])
        runtime = (
            build / "runtime/inprocess/libcountrace-runtime.so"
        ).resolve()
        files = {
            "/bin/countrace": build / "cli/countrace",
            "/lib/libcountrace-runtime.so.0": runtime,
            MODULE: module,
            "/tmp/other.ko": other,
        }
        guest = Guest(NATIVE, work, files, folder)
        return guest.run("max", commands(), BOOT_SECONDS)


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    source, build, work = (
        pathlib.Path(word).resolve() for word in sys.argv[1:]
    )
    try:
        if shutil.which(NATIVE.qemu[0]) is None:
            raise PackagesMissing(f"{NATIVE.qemu[0]} is not installed")
        work.mkdir(parents=True, exist_ok=True)
        native_kernel.prepare(work)
        # QEMU runs a guest of one CPU in one thread.
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            FunctionHooks.answers = threads.submit(
                function_guest.boot, build, work)
            KernelCode.answers = boot(source, build, work)
    except PackagesMissing as why:
        print(f"SKIPPED: {why}; scripts/setup --emulated installs what is "
              "missing")
        return 0
    loader = unittest.TestLoader()
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(each)
                               for each in (KernelCode, FunctionHooks))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
