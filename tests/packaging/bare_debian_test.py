#!/usr/bin/env python3
"""A new user's view of the packages: a bare Debian 12, made by debootstrap, the
.debs and the ordinary mirror. Installs, records, reads, removes and purges; then
the root holds the files that it held before.

Needs root, debootstrap and Debian's mirror, and two minutes: runs with
COUNTRACE_TEST_FULL=1 only. Prints the seconds from `apt-get install` to the first
report.

Usage: bare_debian_test.py SOURCE BUILD [DEBS]. Packs BUILD by scripts/package,
unless DEBS names a folder of packages.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from first_report import make_root

SOURCE = BUILD = DEBS = None
MIRROR = os.environ.get("COUNTRACE_TEST_MIRROR", "http://deb.debian.org/debian")
# Left by dpkg, apt, the dynamic linker and the groups' own tools, of any package.
OTHERS = re.compile(r"/(var/(lib/(dpkg|apt|systemd)|cache|log|backups)/|run/"
                    r"|etc/(ld\.so\.cache|(group|gshadow|passwd|shadow|subuid"
                    r"|subgid)-?)$)")
ENTER = """\
mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
mount --rbind /dev "$0/dev" &&
exec chroot "$0" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -ec "$1"
"""
RECORDER = "/usr/bin/countrace-privileged"


class BareDebian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("COUNTRACE_TEST_FULL") != "1":
            raise unittest.SkipTest("SKIPPED: only with COUNTRACE_TEST_FULL=1")
        for needed in ("debootstrap", "dh"):
            if os.geteuid() != 0 or shutil.which(needed) is None:
                raise unittest.SkipTest(f"SKIPPED: needs root and {needed}")
        work = pathlib.Path(tempfile.mkdtemp(prefix="countrace-root-"))
        cls.addClassCleanup(shutil.rmtree, work)
        work.chmod(0o755)
        cls.bare, cls.root = work / "bare", work / "root"
        debs = DEBS or work / "debs"
        if not DEBS:
            subprocess.run((SOURCE / "scripts/package", "--build", BUILD,
                            "--output", debs), check=True, stdout=sys.stderr)
        try:
            make_root(cls.bare, MIRROR)
        except subprocess.CalledProcessError as why:
            raise unittest.SkipTest(f"SKIPPED: no mirror: {why}") from None
        for deb in debs.glob("*.deb"):
            shutil.copy(deb, cls.bare / "root")

    def setUp(self):
        subprocess.run(("cp", "-a", self.bare, self.root), check=True)
        self.addCleanup(shutil.rmtree, self.root)
        self.run_in("apt-get -q update")
        self.before = self.files()

    def command(self, text):
        return ("unshare", "--mount", "bash", "-c", ENTER, str(self.root), text)

    def run_in(self, text):
        done = subprocess.run(self.command(text), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False,
                              timeout=900)
        if done.returncode != 0:
            raise AssertionError(f"{text}: {done.returncode}\n{done.stdout}\n"
                                 f"{done.stderr}")
        return done.stdout

    def files(self):
        return {name for name in (f"/{path.relative_to(self.root)}"
                                  for path in self.root.rglob("*"))
                if not OTHERS.match(name)}

    def purge(self):
        installed = self.run_in(
            "dpkg-query -W -f '${Package} ${Source}\\n' | "
            "sed -n 's/^\\([^ ]*countrace[^ ]*\\).*/\\1/p'").split()
        self.run_in(f"apt-get -q -y remove {' '.join(installed)}")
        self.assertFalse((self.root / RECORDER[1:]).exists())
        self.run_in("dpkg --purge countrace && "
                    "apt-get -q -y autoremove --purge")

    def view(self, trace):
        """The page answers on loopback."""
        server = subprocess.Popen(
            self.command(f"exec countrace view {trace}"), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        try:
            seen = ""
            while not (at := re.search(r"http://127\.0\.0\.1\S+", seen)):
                line = server.stdout.readline()
                self.assertTrue(line, f"view ended: {seen}")
                seen += line
            # The address gives a cookie, and leads to the page.
            browser = urllib.request.build_opener(
                urllib.request.HTTPCookieProcessor())
            page = browser.open(at[0], timeout=60).read().decode()
            self.assertIn("<title>", page)
        finally:
            server.terminate()
            server.communicate(timeout=60)

    def test_from_installation_to_nothing_left(self):
        began = time.monotonic()
        self.run_in("apt-get -q -y --no-install-recommends install "
                    "/root/countrace_*.deb /root/libcountrace-runtime0_*.deb")
        installed = time.monotonic()
        self.run_in("countrace record -q -a -o /root/t.ctf -- ls -R /etc")
        report = self.run_in("countrace report /root/t.ctf")
        done = time.monotonic()
        print(f"apt-get install: {installed - began:.1f} s, to the first report: "
              f"{done - began:.1f} s", flush=True)
        for word in ("PROCESSES", "BOOKS", " ls "):
            self.assertIn(word, report)
        self.view("/root/t.ctf")
        rows = json.loads(self.run_in(
            "countrace query --format json "
            "'SELECT count(*) AS cpus FROM cpus' /root/t.ctf"))["rows"]
        self.assertGreater(rows[0]["cpus"], 0)
        self.run_in("cd /root && countrace export --to sqlite -o t.db t.ctf && "
                    "countrace export --to html -o t.html t.ctf && "
                    "test -s t.db && test -s t.html && rm -r t.*")
        self.run_in("! command -v node && ! command -v cc && ! command -v clang")
        self.purge()
        self.assertEqual([], sorted(self.files() ^ self.before))

    def test_nginx_by_the_documents_alone(self):
        """Installs, records nginx as docs/which-function.md does, exports it as
        docs/sql.md does, and opens the files: sqlite3 there, the others here."""
        began = time.monotonic()
        self.run_in("apt-get -q -y --no-install-recommends install "
                    "/root/countrace_*.deb /root/libcountrace-runtime0_*.deb "
                    "nginx-light apache2-utils sqlite3")
        page = (SOURCE / "docs/which-function.md").read_text()
        tour = "".join(re.findall(r"(?s)```sh\n(.*?)```", page)[:2])
        self.assertIn("countrace record", tour)
        sql = (SOURCE / "docs/sql.md").read_text()
        exports = "\n".join(
            re.sub(r"(web|fn)\.ctf", "nginx.ctf", command) for command in re.findall(
                r"(?m)^ {4,6}(countrace export --to (?:sqlite|folded|pprof) "
                r".*? (?:web|fn)\.ctf)", sql))
        self.assertEqual(4, exports.count("countrace"), exports)
        (self.root / "root/tour.sh").write_text(
            f"set -e\nmkdir -m 755 /tour\ncd /tour\n{tour}\n{exports}\n")
        self.run_in("sh /root/tour.sh")
        tour = self.root / "tour"
        for sql in ("SELECT comm FROM processes ORDER BY on_cpu_ns DESC LIMIT 1",
                    "SELECT comm FROM samples JOIN threads USING (thread) GROUP BY comm "
                    "ORDER BY sum(period) DESC LIMIT 1"):
            self.assertEqual("nginx\n", self.run_in(f"sqlite3 /tour/web.db '{sql}'"))
        if shutil.which("go"):
            top = subprocess.run(("go", "tool", "pprof", "-top", tour / "web.pb"),
                                 check=True, text=True, capture_output=True,
                                 env=os.environ | {"HOME": str(self.root)}).stdout
            self.assertRegex(top, r"Type: page-faults(.|\n)* nginx\b")
        readers = SOURCE / "tests/cli/readers"
        if (readers / "node_modules/speedscope").exists():
            shown = json.loads(subprocess.run(
                ("node", readers / "open_profiles.mjs", tour / "web.folded",
                 tour / "fn.folded"), check=True, text=True, stdout=subprocess.PIPE).stdout)
            for rows in shown.values() if "missing" not in shown else ():
                self.assertIn("nginx", {row[2] for row in rows})
        print(f"nginx, from apt-get install to the files opened: "
              f"{time.monotonic() - began:.1f} s", flush=True)

    def test_group_records_the_machine_if_the_administrator_says_so(self):
        self.run_in("apt-get -q -y --no-install-recommends install "
                    "/root/countrace_*.deb /root/libcountrace-runtime0_*.deb && "
                    f"test ! -e {RECORDER}")
        # As by `dpkg-reconfigure countrace`.
        self.run_in("echo countrace countrace/group-may-record boolean true | "
                    "debconf-set-selections && dpkg-reconfigure countrace")
        self.assertEqual(
            "750 root countrace\n",
            self.run_in(f"stat -c '%a %U %G' {RECORDER}"))
        self.run_in("gid=$(getent group countrace | cut -d: -f3) && cd /tmp && "
                    "setpriv --reuid 65534 --regid 65534 --groups $gid sh -c "
                    f"'exec {RECORDER} record -q -a -o /tmp/group.ctf -- ls /' && "
                    "countrace report /tmp/group.ctf >/tmp/report && "
                    "grep -q PROCESSES /tmp/report && rm -r /tmp/group.ctf "
                    "/tmp/report")
        self.assertNotEqual(0, subprocess.run(self.command(
            "setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "
            f"'exec {RECORDER} help'"), capture_output=True, check=False).returncode)
        self.purge()
        self.assertEqual([], sorted(self.files() ^ self.before))
        self.assertNotIn("countrace", (self.root / "etc/group").read_text())

    def test_every_package_is_installed_beside_the_others(self):
        self.run_in("apt-get -q -y --no-install-recommends install /root/*.deb "
                    "g++ cmake make")
        self.run_in("cp -r /usr/share/doc/countrace/examples /tmp && cd /tmp && "
                    "for e in hello_hooks own_analysis; do "
                    "cmake -S examples/$e -B $e && cmake --build $e; done && "
                    "countrace record -q -o h.ctf -- hello_hooks/hello_hooks && "
                    "own_analysis/own_analysis h.ctf && rm -r /tmp/*")
        self.purge()
        self.run_in("apt-get -q -y purge g++ cmake make && "
                    "apt-get -q -y autoremove --purge")
        self.assertEqual([], sorted(self.files() ^ self.before))


if __name__ == "__main__":
    SOURCE, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    DEBS = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
    unittest.main(argv=sys.argv[:1])
