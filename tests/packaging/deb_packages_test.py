#!/usr/bin/env python3
"""The packages and the tarball that scripts/package makes, without installing
them: which file is where, what a package needs, and that the tarball's program
runs with its own libraries. bare_debian_test.py installs the packages.

Usage: deb_packages_test.py SOURCE BUILD. BUILD must be built.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = BUILD = None
# Documents, and what every package of Debian has.
OF_PACKAGES = re.compile(r"usr/share/doc/")
GLIBC = re.compile(r"linux-vdso|ld-linux|statically linked|/(libc|libm|libdl|libpthread|librt)\.so")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=500, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n"
                             f"{done.stderr}")
    return done.stdout


def as_packed(name):
    """The name in a package of a file that is installed below usr/."""
    name = name.replace("share/zsh/site-functions", "share/zsh/vendor-completions")
    return f"usr/{name}.gz" if "/man/man" in name else f"usr/{name}"


class DebPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for needed in ("dh", "patchelf"):
            if shutil.which(needed) is None:
                raise unittest.SkipTest(f"SKIPPED: {needed} is not installed")
        folder = tempfile.TemporaryDirectory(prefix="countrace-deb-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        run(SOURCE / "scripts/package", "--build", BUILD, "--output",
            cls.folder, env={**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"})
        cls.packages = {deb.name.split("_")[0]: deb
                        for deb in cls.folder.glob("*.deb")}

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.packages[package], name)

    def test_each_installed_file_is_in_one_package(self):
        self.assertEqual(
            {"countrace", "countrace-doc", "countrace-lttng", "libcountrace-dev",
             "libcountrace-analysis-dev", "libcountrace-runtime0"},
            set(self.packages))
        packed = []
        for deb in self.packages.values():
            listed = run("dpkg-deb", "-c", deb)
            names = [line.split()[5][2:] for line in listed.splitlines()]
            packed += [name for name in names if not OF_PACKAGES.match(name) and
                       name and not name.endswith("/")]
        prefix = self.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", prefix)
        self.assertEqual(
            sorted(as_packed(str(path.relative_to(prefix)))
                   for path in prefix.rglob("*")
                   if path.is_symlink() or path.is_file()), sorted(packed))

    def test_packages_ask_for_no_more_than_they_need(self):
        for package, never in (
                ("countrace", r"node|\bgcc|g\+\+ |clang|-dev|lttng"),
                ("libcountrace-runtime0", "absl|stdc"),
                ("libcountrace-dev", "absl|re2")):
            self.assertNotRegex(self.field(package, "Depends"), never)
        self.assertIn("libcountrace-runtime0 (= ",
                      self.field("countrace", "Depends"))

    def test_group_gets_what_doctor_gives(self):
        def rights(path):
            return re.search(r"cap_bpf[a-z_,]*\+ep", (SOURCE / path).read_text())[0]
        self.assertEqual(rights("runtime/recorder/doctor/capabilities.cc"),
                         rights("packaging/debian/countrace.postinst"))

    def test_tarball_runs_with_its_own_libraries(self):
        archive = next(self.folder.glob("*.tar.gz"))
        run("tar", "-xzf", archive, "-C", self.folder)
        root = self.folder / archive.name.removesuffix(".tar.gz")
        program = root / "bin/countrace"
        for path in (program, *(root / "libexec/countrace").iterdir(),
                     *(root / "lib/countrace").iterdir()):
            others = [line for line in run("ldd", path).splitlines()
                      if str(root) not in line and not GLIBC.search(line)]
            self.assertEqual([], others, path)
        trace = self.folder / "t.ctf"
        run(program, "record", "--no-kernel", "-q", "-o", trace, "--", "true",
            env={}, cwd="/")
        self.assertIn("command: true\n",
                      run(program, "report", trace, env={}, cwd="/"))


if __name__ == "__main__":
    SOURCE, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
