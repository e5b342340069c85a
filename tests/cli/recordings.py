"""Real recordings for tests of what reads and exports traces: of
request_pipeline, of servers that users run, of many processes and threads; with
losses, in a container, of a killed recorder; and of LTTng and perf.

    recordings = Recordings(COUNTRACE, folder, pipeline=..., storm=..., ust=...)
    recordings.make("lossy.ctf", "perf.data")
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "import"), str(TESTS / "real")]
# pylint: disable=wrong-import-position
from cells import Cells  # noqa: E402
from lttng_session import LttngSession  # noqa: E402
from perf_session import PerfSession  # noqa: E402
from programs import PROGRAMS  # noqa: E402

WORDS = "syscalls,wakeups,irq,softirq,faults"
# Options for request_pipeline.
OPTIONS = {
    "hooks.ctf": ["--no-kernel"],
    "whole.ctf": ["-a", "--kernel", WORDS],
    "samples.ctf": ["--kernel", "syscalls,wakeups", "--sample", "997", "--offcpu",
                    "1ms"],
    "lossy.ctf": ["-a", "--kernel", WORDS, "--kernel-ring", "64K"],
    "flight.ctf": ["--kernel", WORDS, "--flight", "256K"],
}
SERVERS = ("nginx", "redis", "postgres", "sqlite3")
THREADS = """
import threading
def work(turns):
    for _ in range(turns):
        sum(range(2000))
        gate.acquire(timeout=0.001)
gate = threading.Semaphore(0)
threads = [threading.Thread(target=work, args=(5,)) for _ in range(300)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
# One of each kind.
KINDS = ("samples.ctf", "lossy.ctf", "flight.ctf", "killed.ctf", "container.ctf",
         "processes.ctf", "threads.ctf", "lttng", "perf.data",
         *(f"{name}.ctf" for name in SERVERS))
# Whose reading says on stderr what they are, or which hooks became what.
TELLING = ("killed.ctf", "perf.data", "lttng")


class Missing(Exception):
    """Why something cannot be recorded here."""


class Recordings:
    def __init__(self, countrace, folder, pipeline, storm="", ust=""):
        self.countrace, self.folder = countrace, pathlib.Path(folder)
        self.pipeline, self.storm, self.ust = pipeline, storm, ust

    def make(self, *names):
        """Those of `names` that can be recorded here; says why the others cannot.
        """
        made = []
        for name in names:
            try:
                self.make_one(name)
                made.append(name)
            except Missing as why:
                shutil.rmtree(self.folder / name, ignore_errors=True)
                print(f"SKIPPED: {name}: {why}")
        return made

    def make_one(self, name):
        one = name.split(".")[0]
        if name in OPTIONS:
            self.record(name, OPTIONS[name], [self.pipeline, "2000"])
        elif one in SERVERS:
            self.record_server(name, one)
        else:
            getattr(self, f"record_{one}")(name)

    def run(self, *words):
        return subprocess.run(
            list(map(str, words)), cwd=self.folder, capture_output=True, check=False,
            timeout=240, stdin=subprocess.DEVNULL)

    def record(self, name, options, command, before=(), status=0):
        """`status`: that of the command."""
        done = self.run(*before, self.countrace, "record", *options, "-o", name,
                        "--", *command)
        if done.returncode != status or not (self.folder / name).exists():
            raise Missing(done.stderr.decode())

    def record_container(self, name):
        """Recorder and program see the numbers of their own namespace."""
        self.record(name, ["--kernel", "syscalls,wakeups"], [self.pipeline, "1000"],
                    before=["unshare", "-pfm", "--kill-child", "--mount-proc"])

    def record_processes(self, name):
        """5,000 of them, each with an exec."""
        if not self.storm:
            raise Missing("process_storm")
        self.record(name, ["--kernel", "syscalls", "--kernel-ring", "32M"],
                    [self.storm, "storm", "2", "2500", "2"])

    def record_threads(self, name):
        self.record(name, ["--kernel", "syscalls,wakeups", "--kernel-ring", "32M"],
                    ["/usr/bin/python3", "-IBc", THREADS])

    def record_server(self, name, one):
        """A program of tests/real, with its clients."""
        (program,) = [each for each in PROGRAMS if each.name == one]
        if program.missing():
            raise Missing(program.missing())
        # Some give up root.
        self.folder.chmod(0o755)
        build = self.folder / f"{one}-build"
        build.mkdir()
        Cells.give(program, build)
        Cells.as_another_user(program.build, build) \
            if program.drops_root and os.geteuid() == 0 else program.build(build)
        cells = Cells(self.countrace, program, build, self.folder / f"{one}-run", [])
        self.record(name, ["-a", "--kernel", "syscalls", "--kernel-ring", "32M"],
                    cells.command(), status=program.status)

    def record_killed(self, name):
        """What is left of a recorder that is killed once it wrote 1 MB."""
        killed = self.folder / name

        def written():
            return killed.exists() and \
                sum(file.stat().st_size for file in killed.iterdir()) > 1 << 20
        said = self.while_it_runs(name, ["--kernel", WORDS], written)
        if said is not None:
            raise Missing(said)

    def record_snapshot(self, name):
        said = self.while_it_runs(
            "running", ["--kernel", WORDS, "--flight", "1M"],
            lambda: self.run(self.countrace, "snapshot", "-o", name,
                             "running").returncode == 0)
        if said is not None or not (self.folder / name).exists():
            raise Missing(said)

    def while_it_runs(self, name, options, done):
        """Kills the recorder when `done()`. Returns None, or what the recorder
        said if it ended before that."""
        with subprocess.Popen(
                [self.countrace, "record", "-q", *options, "-o", name, "--",
                 self.pipeline, "100000000"], cwd=self.folder,
                stderr=subprocess.PIPE, start_new_session=True) as recorder:
            try:
                for _ in range(300):
                    time.sleep(0.1)
                    if recorder.poll() is not None or done():
                        break
                ended = recorder.poll() is not None
            finally:
                os.killpg(recorder.pid, signal.SIGKILL)
            said = recorder.communicate()[1]
        return said.decode() if ended else None

    def record_perf(self, name):
        why = PerfSession.missing("sched:sched_switch")
        if why is not None:
            raise Missing(why)
        PerfSession(self.countrace, self.folder).record(
            [self.pipeline, "500"], "-a", "-e", "sched:sched_switch", "-e",
            "cpu-clock", "-g", file=self.folder / name)

    def record_lttng(self, name):
        why = LttngSession.missing() or (None if self.ust else "liblttng-ust-dev")
        if why is not None:
            raise Missing(why)
        self.folder.chmod(0o755)
        workload = pathlib.Path(shutil.copy(self.ust, self.folder))
        workload.chmod(0o755)
        with LttngSession(self.folder) as lttng:
            shutil.copytree(lttng.record([workload, "200", "2"],
                                         events=["shop:*"]), self.folder / name)
