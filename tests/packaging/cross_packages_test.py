#!/usr/bin/env python3
"""Packages for arm64 that are built here: scripts/package --arch arm64, whose
lintian finds no error; then the program of the packages records and reports in an
emulated arm64 machine, with the libraries of its own packages.

Cross builds all of countrace, which takes 15 minutes once: with
COUNTRACE_TEST_FULL=1 only, and where scripts/setup --emulated was run.

Usage: cross_packages_test.py SOURCE [DEBS]. DEBS: packages that are made already.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = DEBS = None
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "emulated"))
# pylint: disable=wrong-import-position
import cross_build  # noqa: E402
from foreign_packages import PackagesMissing, prepare  # noqa: E402
from guest import Guest  # noqa: E402
from machines import MACHINES  # noqa: E402

MACHINE = MACHINES["arm64"]


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout


class CrossPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("COUNTRACE_TEST_FULL") != "1" and not DEBS:
            raise unittest.SkipTest("SKIPPED: only with COUNTRACE_TEST_FULL=1")
        cls.foreign = SOURCE / "build/emulated/arm64"
        try:
            cross_build.find_tools(MACHINE)
            prepare("arm64", cls.foreign)
        except (cross_build.ToolMissing, PackagesMissing) as why:
            raise unittest.SkipTest(f"SKIPPED: {why}") from None
        if shutil.which("dh") is None:
            raise unittest.SkipTest("SKIPPED: dh is not installed")
        folder = tempfile.TemporaryDirectory(prefix="countrace-cross-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        debs = DEBS or cls.folder / "debs"
        if not DEBS:
            print(run(SOURCE / "scripts/package", "--arch", "arm64", "--output", debs))
        cls.packages = {deb.name.split("_")[0]: deb for deb in debs.glob("*.deb")}

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.packages[package], name).strip()

    def test_packages_are_of_arm64_and_need_its_libraries(self):
        self.assertEqual(6, len(self.packages))
        for package in self.packages:
            self.assertEqual("all" if package == "countrace-doc" else "arm64",
                             self.field(package, "Architecture"))
        needs = self.field("countrace", "Depends")
        for library in ("libc6 (>= ", "libsqlite3-0 (>= ", "libbabeltrace2-0",
                        "libcountrace-runtime0 (= "):
            self.assertIn(library, needs)

    def test_program_records_and_reports_on_an_arm64_machine(self):
        root = self.folder / "root"
        for package in ("countrace", "libcountrace-runtime0"):
            run("dpkg-deb", "-x", self.packages[package], root)
        libraries = root / "usr/lib" / MACHINE.triple
        files = {"/usr/bin/countrace": root / "usr/bin/countrace"}
        for path in (*libraries.glob("libcountrace-runtime.so*"),
                     *(root / "usr/libexec/countrace").iterdir()):
            files[f"/{path.relative_to(root)}"] = path.resolve()
        guest = Guest(MACHINE, self.foreign, files, self.folder)
        answers = guest.run("max", {
            "version": "/usr/bin/countrace version",
            "record": "/usr/bin/countrace record -q -a -o t.ctf -- ls /",
            "report": "/usr/bin/countrace report t.ctf",
            "query": "/usr/bin/countrace query \"SELECT count(*) FROM cpus\" t.ctf",
        }, 600)
        for name, answer in answers.items():
            self.assertEqual(0, answer.status, (name, answer))
        for word in ("PROCESSES", "BOOKS", " ls "):
            self.assertIn(word, answers["report"].output)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv[1]).resolve()
    DEBS = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    unittest.main(argv=sys.argv[:1])
