"""CPU quotas of cgroup v2, where the kernel stops a group at once (before 6.18),
in a guest of one CPU."""

import json
import re

from counted_guest import TAKING_TURNS, Counted, boot

CGROUP = "/cgroup/q"
# 20 ms of each 100 ms.
SETUP = (
    "mkdir /cgroup && mount -t cgroup2 none /cgroup && "
    "echo +cpu >/cgroup/cgroup.subtree_control && "
    f"mkdir {CGROUP} && echo 20000 100000 >{CGROUP}/cpu.max"
)
LOOP = f"counted_loop run {TAKING_TURNS}"
# Each ends with what the kernel counted so far.
JOINED = f"sh -c \"echo 0 >{CGROUP}/cgroup.procs; exec {LOOP}\""
BOTH = f"sh -c \"echo 0 >{CGROUP}/cgroup.procs; {LOOP} & {LOOP}; wait\""
OPTIONS = "-a -e task-clock --kernel wakeups --backend bpf"


def kept():
    return f"cat {CGROUP}/cpu.stat"


class Arm64Quota(Counted):
    """The truth is `cpu.stat` of the cgroup."""

    @classmethod
    def boot_guest(cls):
        perf = "-a -e task-clock --backend perf"
        recordings = {
            "one": (OPTIONS, JOINED),
            "two": (OPTIONS, BOTH),
            "perf": (perf, JOINED),
        }
        commands = {"quota": SETUP}
        for name, (options, workload) in recordings.items():
            commands[f"{name}.before"] = kept()
            commands[f"{name}.run"] = (
                f"countrace record -q -o {name}.ctf {options} -- {workload}"
            )
            commands[f"{name}.after"] = kept()
            for by in ("thread", "preemptor"):
                commands[f"{name}.{by}"] = (
                    f"countrace report --by {by} --rows 0 --format json {name}.ctf"
                )
            commands[f"{name}.text"] = f"countrace report {name}.ctf"
        commands["table"] = "countrace report --by preemptor one.ctf"
        commands["stat"] = f"countrace stat -- {JOINED}"
        boot(cls, "max", {}, commands)

    def truth(self, name):
        """Throttled ns, and how often, while `name` was recorded."""
        before, after = (
            dict(line.split() for line in
                 self.answers[f"{name}.{when}"].output.splitlines() if line)
            for when in ("before", "after")
        )
        return tuple(int(after[key]) - int(before[key])
                     for key in ("throttled_usec", "nr_throttled"))

    def rows(self, name, by):
        answer = self.answers[f"{name}.{by}"]
        self.assertEqual(answer.status, 0, answer)
        return [row for row in json.loads(answer.output)[f"{by}s"]
                if row["comm"] == "counted_loop"]

    def throttled(self, name):
        self.assertEqual(self.answers[f"{name}.run"].status, 0,
                         self.answers[f"{name}.run"])
        threads = self.rows(name, "thread")
        waits = self.rows(name, "preemptor")
        sums = [sum(row["throttled_ns"] for row in threads),
                sum(row["wait_ns"] for row in waits
                    if row["preemptor"]["kind"] == "throttled")]
        self.assertEqual(*sums)
        self.assertEqual(sum(row["wait_ns"] for row in threads),
                         sum(row["wait_ns"] for row in waits))
        # There is a quota, and one CPU.
        self.assertNotIn("idle_allowed",
                         {row["preemptor"]["kind"] for row in waits})
        return sums[0]

    def test_the_throttled_time_of_one_thread_is_the_cgroups(self):
        us, times = self.truth("one")
        self.assertGreater(times, 10)
        throttled = self.throttled("one")
        self.assertLess(throttled, us * 1020)
        # The kernel may stop the group a last time, when its thread has ended:
        # for up to 80 ms no thread waits.
        self.assertGreater(throttled, us * 980 - 80_000_000)
        self.assertIn("[quota of /q]", self.answers["table"].output)

    def test_of_two_threads_those_that_leave_are_throttled(self):
        """One that waits already when the group is stopped is not known to be
        (docs/recording-limits.md)."""
        us, _ = self.truth("two")
        throttled = self.throttled("two")
        print(f"two threads: throttled {throttled}, cpu.stat {us * 1000}")
        self.assertGreater(throttled, us * 980)
        self.assertLess(throttled, us * 2040)

    def test_stat_has_what_the_cgroup_counts(self):
        said = self.answers["stat"].said
        self.assertRegex(said, r"(?m)^ +[\d.]+ m?s +throttled\b")
        throttles = re.search(r"(?m)^ +(\d+) +throttles\b", said)
        self.assertGreater(int(throttles.group(1)), 10)
        of_cgroup = re.search(r"(?m)^ +(\d+) +nr_throttled\b", said)
        self.assertLessEqual(
            abs(int(of_cgroup.group(1)) - int(throttles.group(1))), 2)

    def test_perf_rings_show_no_quota_and_the_report_says_how_much(self):
        for row in self.rows("perf", "thread"):
            self.assertIsNone(row["throttled_ns"])
        us, _ = self.truth("perf")
        note = re.search(
            r"not known: throttled (?:at least )?([\d.]+) (m?s) by its CPU quota "
            r"\(cpu\.stat of /q\)", self.answers["perf.text"].output)
        self.assertIsNotNone(note, self.answers["perf.text"].output)
        said = float(note.group(1)) * (1000 if note.group(2) == "s" else 1)
        # The program joins the group, and is seen there 0.1 s later.
        self.assertAlmostEqual(said, us / 1000, delta=250)
