#!/usr/bin/env python3
"""Installs countrace into an empty folder and uses it as a user would: by
find_package, by add_subdirectory, by pkg-config, and by the installed program.

Usage: packaging_test.py SOURCE BUILD CC CXX. BUILD must be built.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = BUILD = CC = CXX = None
EXAMPLES = ("hello_hooks", "hello_hooks_c", "request_pipeline", "loop_order",
            "false_sharing", "counts")


class Packaging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="countrace-pkg-"))
        cls.prefix = cls.folder / "prefix"
        cls.environment = {
            key: value for key, value in os.environ.items()
            if not key.startswith(("COUNTRACE_", "CMAKE_", "LD_"))}
        cls.run_ok("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def run_ok(cls, *command, **options):
        done = subprocess.run([str(part) for part in command], text=True,
                              stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, env=cls.environment,
                              timeout=300, **options)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.returncode}\n"
                                 f"{done.stdout}\n{done.stderr}")
        return done.stdout

    def build(self, source, *options):
        binary = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.run_ok("cmake", "-S", source, "-B", binary, "-G", "Ninja",
                    f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}",
                    *options)
        self.run_ok("cmake", "--build", binary)
        return binary

    def test_examples_build_alone_by_find_package_and_link_nothing(self):
        for example in EXAMPLES:
            with self.subTest(example=example):
                # A copy: it must not use files beside it.
                copy = self.folder / "copies" / example
                shutil.copytree(SOURCE / "examples" / example, copy)
                binary = self.build(copy, f"-DCMAKE_PREFIX_PATH={self.prefix}")
                output = self.run_ok(binary / example)
                self.assertRegex(output, r"(?m)^\w+:\w+ \d+$")
                needed = self.run_ok("readelf", "-d", binary / example)
                self.assertNotIn("countrace", needed)

    def test_builds_by_add_subdirectory(self):
        binary = self.build(HERE / "with_add_subdirectory",
                            f"-DCOUNTRACE_SOURCE={SOURCE}")
        self.assertEqual("done\n", self.run_ok(binary / "consumer"))

    def test_builds_by_pkg_config(self):
        pc_folder = next(self.prefix.rglob("countrace.pc")).parent
        self.environment["PKG_CONFIG_PATH"] = str(pc_folder)
        flags = self.run_ok("pkg-config", "--cflags", "--libs",
                            "countrace").split()
        self.assertFalse([flag for flag in flags if flag.startswith("-l")])
        program = self.folder / "by_pkg_config"
        self.run_ok(CC, HERE / "with_pkg_config/consumer.c", *flags, "-o",
                    program)
        self.assertEqual("done\n", self.run_ok(program))
        flags = self.run_ok("pkg-config", "--cflags", "--libs",
                            "countrace-runtime").split()
        self.run_ok(CC, HERE / "with_pkg_config/consumer.c", "-Wl,--as-needed",
                    *flags, f"-Wl,-rpath,{pc_folder.parent}", "-o", program)
        self.assertEqual("done\n", self.run_ok(program))
        self.assertIn("libcountrace-runtime",
                      self.run_ok("readelf", "-d", program))

    def test_runtime_is_linked_by_find_package(self):
        program = self.build(HERE / "with_runtime",
                             f"-DCMAKE_PREFIX_PATH={self.prefix}") / "consumer"
        self.assertEqual("done\n", self.run_ok(program))
        self.assertIn("libcountrace-runtime",
                      self.run_ok("readelf", "-d", program))

    def test_lttng_provider_is_linked_by_find_package_and_pkg_config(self):
        if not list(self.prefix.rglob("libcountrace-lttng.so")):
            self.skipTest("SKIPPED: built without LTTng-UST")
        binary = self.build(HERE / "with_lttng",
                            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        program = binary / "consumer"
        self.assertEqual("done\n", self.run_ok(program))
        self.assertIn("libcountrace-lttng",
                      self.run_ok("readelf", "-d", program))
        pc_folder = next(self.prefix.rglob("countrace-lttng.pc")).parent
        self.environment["PKG_CONFIG_PATH"] = str(pc_folder)
        flags = self.run_ok("pkg-config", "--cflags", "--libs",
                            "countrace-lttng").split()
        program = self.folder / "lttng_by_pkg_config"
        # With --as-needed: it must stay linked, though all references are
        # weak.
        self.run_ok(CC, HERE / "with_pkg_config/consumer.c",
                    "-Wl,--as-needed", *flags,
                    f"-Wl,-rpath,{pc_folder.parent}", "-o", program)
        self.assertEqual("done\n", self.run_ok(program))
        self.assertIn("libcountrace-lttng",
                      self.run_ok("readelf", "-d", program))

    def test_lttng_library_exports_only_its_c_symbols(self):
        library = next(self.prefix.rglob("libcountrace-lttng.so"), None)
        if library is None:
            self.skipTest("SKIPPED: built without LTTng-UST")
        names = re.findall(r"(?m)^[0-9a-f]+ [A-Za-z] (\S+)$", self.run_ok(
            "nm", "-D", "--defined-only", library))
        self.assertEqual(["countrace_lttng_attach", "countrace_lttng_detach"],
                         sorted(names))
        needed = re.findall(r"NEEDED.*\[(.*)\]", self.run_ok(
            "readelf", "-d", library))
        allowed = ("libc.so", "liblttng-ust", "libdl.so", "libpthread.so")
        self.assertEqual([], [name for name in needed
                              if not name.startswith(allowed)])

    def test_babeltrace2_loads_the_installed_plugin(self):
        plugin = next(self.prefix.rglob("babeltrace-plugin-countrace.so"), None)
        if plugin is None:
            self.skipTest("SKIPPED: built without the plug-in")
        libdir = self.run_ok("pkg-config", "--variable=libdir",
                             "babeltrace2").strip()
        prefix = self.run_ok("pkg-config", "--variable=prefix",
                             "babeltrace2").strip()
        self.assertEqual(
            self.prefix / pathlib.Path(libdir).relative_to(prefix) /
            "babeltrace2" / "plugins", plugin.parent)
        # Alone, as a separate package.
        alone = self.folder / "alone"
        self.run_ok("cmake", "--install", BUILD, "--prefix", alone,
                    "--component", "babeltrace")
        files = [path.name for path in alone.rglob("*") if path.is_file()]
        self.assertEqual([plugin.name], files)
        listed = self.run_ok("babeltrace2", "--plugin-path", plugin.parent,
                             "list-plugins")
        for name in ("source.countrace.recover", "filter.countrace.rmap",
                     "sink.countrace.report"):
            self.assertIn(f"'{name}'", listed)

    def test_own_analysis_builds_alone_by_find_package_and_reads(self):
        copy = self.folder / "copies" / "own_analysis"
        shutil.copytree(SOURCE / "examples" / "own_analysis", copy)
        program = self.build(
            copy, f"-DCMAKE_PREFIX_PATH={self.prefix}") / "own_analysis"
        hooks = self.build(SOURCE / "examples" / "hello_hooks",
                           f"-DCMAKE_PREFIX_PATH={self.prefix}")
        trace = self.folder / "own.ctf"
        self.run_ok(self.prefix / "bin" / "countrace", "record", "--no-kernel",
                    "-o", trace, "--", hooks / "hello_hooks", cwd="/")
        output = self.run_ok(program, trace)
        self.assertRegex(output, r"(?m)^hello:work: 100 calls, [1-9]\d* ns of")
        self.assertRegex(output, r"(?m)^hello:work: \d+\.\d+$")
        self.assertIn("== residual of the books\n", output)

    def test_power2_builds_alone_by_find_package_and_writes(self):
        copy = self.folder / "copies" / "power2"
        shutil.copytree(SOURCE / "examples" / "power2", copy)
        program = self.build(
            copy, f"-DCMAKE_PREFIX_PATH={self.prefix}") / "power2"
        trace = self.folder / "power2.ctf"
        truth = json.loads(self.run_ok(program, trace))
        report = json.loads(self.run_ok(self.prefix / "bin" / "countrace",
                                        "report", "--format", "json", trace))
        self.assertEqual(truth["total"], {
            event: book["total"] for event, book in report["books"].items()})

    def test_each_header_of_the_analysis_api_compiles_alone(self):
        modules = next(self.prefix.rglob("countrace/modules"))
        headers = sorted(path.relative_to(modules).as_posix()
                         for path in modules.rglob("*.h"))
        self.assertIn("logformat/read/trace_reader.h", headers)
        self.assertIn("rmap/pipeline.h", headers)
        # A header comes in by a decision (FILE_SET api), not by a wildcard.
        self.assertLess(len(headers), 46)
        for header in headers:
            with self.subTest(header=header):
                self.assertNotIn("void*", (modules / header).read_text())
                source = self.folder / "alone.cc"
                source.write_text(f'#include "{header}"\n')
                self.run_ok(CXX, "-std=c++20", "-Wall", "-Werror",
                            "-fsyntax-only", "-I", modules, source)

    def test_metric_rules_are_installed_and_read(self):
        countrace = self.prefix / "bin" / "countrace"
        rules = self.prefix / "share/countrace/default_metrics.toml"
        rows = json.loads(self.run_ok(countrace, "list", "metrics", "--rules",
                                      rules, "--format", "json"))["metrics"]
        self.assertEqual({str(rules)}, {row["source"] for row in rows})

    def test_event_vocabularies_are_installed_and_read(self):
        countrace = self.prefix / "bin" / "countrace"
        files = sorted((self.prefix / "share/countrace/vocabularies").iterdir())
        self.assertEqual(["arm64.toml", "power2.toml", "power5.toml", "r10000.toml"],
                         [file.name for file in files])
        for file in files:
            own, shipped = (self.run_ok(countrace, "list", "events", "--model", model)
                            for model in (file, file.stem))
            self.assertEqual(shipped, own)

    def test_the_unit_is_one_that_systemd_reads(self):
        unit = self.prefix / "share/countrace/countrace-flight.service"
        text = unit.read_text()
        command = text.split("ExecStart=")[1].split("\n")[0].split()
        self.assertEqual("/usr/bin/countrace", command[0])
        # Its options are known: without a right, not without a meaning.
        done = subprocess.run([self.prefix / "bin" / "countrace", *command[1:-1],
                               self.folder / "no/such/place.ctf"], text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertNotEqual(2, done.returncode, done.stderr)
        if shutil.which("systemd-analyze") is None:
            self.skipTest("SKIPPED: systemd-analyze is not installed")
        here = self.folder / "countrace-flight.service"
        here.write_text(text.replace(command[0], "/bin/true"))
        self.run_ok("systemd-analyze", "verify", "--man=no", here)

    def test_inner_programs_are_installed(self):
        for name in ("countrace-import", "countrace-code", "countrace-load"):
            program = self.prefix / "libexec/countrace" / name
            self.assertTrue(os.access(program, os.X_OK), program)

    def test_manual_pages_are_installed(self):
        manuals = self.prefix / "share/man"
        for page in ("man1/countrace.1", "man1/countrace-record.1",
                     "man5/countrace-trace.5"):
            self.assertTrue((manuals / page).is_file(), page)

    def test_installed_program_finds_its_runtime_and_records(self):
        countrace = self.prefix / "bin" / "countrace"
        binary = self.build(SOURCE / "examples" / "hello_hooks",
                            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        trace = self.folder / "hello.ctf"
        self.run_ok(countrace, "record", "--no-kernel", "-o", trace, "--",
                    binary / "hello_hooks", cwd="/")
        report = json.loads(self.run_ok(countrace, "report", "--format",
                                        "json", trace))
        self.assertEqual([("hello:work", 100)],
                         [(row["segment"], row["calls"])
                          for row in report["segments"]])

    def test_runtime_library_exports_its_committed_symbols(self):
        """The functions countrace_*, and those of the C library before which
        it stands: none more, none less, by the file that the package has."""
        library = next(self.prefix.rglob("libcountrace-runtime.so.0"))
        names = re.findall(r"(?m)^[0-9a-f]+ [A-Za-z] (\S+)$", self.run_ok(
            "nm", "-D", "--defined-only", library))
        committed = re.findall(
            r"(?m)^ (?:\(arch=(\w+)\))?(\w+)@Base ", (
                SOURCE / "packaging/debian/libcountrace-runtime0.symbols"
            ).read_text())
        own = {"x86_64": "amd64"}.get(platform.machine())
        self.assertEqual(sorted(name for arch, name in committed
                                if arch in ("", own)), sorted(names))

    def test_runtime_library_needs_neither_libstdcxx_nor_abseil(self):
        library = next(self.prefix.rglob("libcountrace-runtime.so"))
        needed = re.findall(r"NEEDED.*\[(.*)\]", self.run_ok(
            "readelf", "-d", library))
        self.assertTrue(needed)
        allowed = ("libc.so", "libm.so", "libpthread.so", "ld-linux")
        self.assertEqual([], [name for name in needed
                              if not name.startswith(allowed)])

    def test_installed_files_name_no_folder_of_the_build(self):
        for path in self.prefix.rglob("*"):
            if path.suffix in (".cmake", ".pc", ".h"):
                text = path.read_text()
                self.assertNotIn(str(SOURCE), text, path)
                self.assertNotIn(str(BUILD), text, path)


if __name__ == "__main__":
    SOURCE, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    CC, CXX = sys.argv[3:5]
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
