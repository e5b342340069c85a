#!/usr/bin/env python3
"""countrace export --to perfetto: what protoc reads by Perfetto's published
field numbers (perfetto_written.proto) is what `report --format json` and the
exported tables say: calls, dispatches, states of threads, wake-ups, counts,
samples, losses. The writer's rules are checked with it: sequences, clocks,
interned names, descriptors before events, slices that nest.

There is no trace_processor to be had. `States` does what its
thread_state_tracker.cc does with sched_switch and sched_waking.

The traces: those of doc_traces, a synthetic one, and recordings, if the machine
lets us, of request_pipeline (hooks alone; everything; samples; marks; losses),
fibers, and one pid of several processes.

Usage: perfetto_export_test.py COUNTRACE DOC_TRACES SYNTHETIC_TRACE
           REQUEST_PIPELINE PID_REUSE FIBER_WORKLOAD [unittest options].
"""

import bisect
import codecs
import collections
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest
import zlib

HERE = pathlib.Path(__file__).resolve().parent
COUNTRACE = WRITER = SYNTHETIC = PIPELINE = REUSE = FIBERS = ""
WORDS = "syscalls,wakeups,irq,softirq,faults"
RECORDINGS = {
    "hooks.ctf": (["--no-kernel"], "PIPELINE", "500"),
    "whole.ctf": (["-a", "--kernel", WORDS], "PIPELINE", "100"),
    "waits.ctf": (["--kernel", "wakeups"], "PIPELINE", "500"),
    "samples.ctf": (["--kernel", "syscalls,wakeups", "--sample", "997", "--offcpu",
                     "1ms"], "PIPELINE", "500"),
    "lossy.ctf": (["-a", "--kernel", WORDS, "--kernel-ring", "64K"], "PIPELINE",
                  "500"),
    "marks.ctf": (["-a", "--mark", "request_*", "--kernel", "syscalls"], "PIPELINE",
                  "100"),
    "flight.ctf": (["--flight", "256K", "--kernel", "syscalls,wakeups"], "PIPELINE",
                   "2000"),
    "reuse.ctf": (["--kernel", "wakeups,syscalls"], "REUSE", "processes", "4"),
    "fibers.ctf": (["--kernel", "syscalls,faults,wakeups"], "FIBERS", "swap", "5",
                   "10"),
}
MONOTONIC, BOOTTIME, DELTAS = 3, 6, 64
CLEARED, NEEDED = 1, 2
FIRST_OWN_TID = (1 << 22) + 1
BEGIN, END, INSTANT = "TYPE_SLICE_BEGIN", "TYPE_SLICE_END", "TYPE_INSTANT"

Slice = collections.namedtuple("Slice", "track name begin end values")


def run(*words, folder, **options):
    return subprocess.run([COUNTRACE, *map(str, words)], cwd=folder,
                          capture_output=True, check=False, timeout=240,
                          stdin=subprocess.DEVNULL, **options)


# What may come several times, with the fields of interned_data.
REPEATED = {"packet", "clocks", "event", "debug_annotations", "frame_ids",
            "path_string_ids", "buffer_stats", "event_names",
            "debug_annotation_names", "function_names", "frames", "callstacks",
            "build_ids", "mapping_paths", "mappings"}
LINE = re.compile(r'\s*(?:(\w+) \{|(\w+): (.*)|\})$')


class Message:
    """As protoc prints it. A field that is not there is 0."""

    def __init__(self):
        self.fields = {}

    def add(self, name, value):
        if name in REPEATED:
            self.fields.setdefault(name, []).append(value)
        else:
            assert name not in self.fields, name
            self.fields[name] = value

    def __getattr__(self, name):
        return self.fields.get(name, [] if name in REPEATED else 0)

    def has(self, name):
        return name in self.fields


def value_of(text):
    if text[0] == '"':
        data = codecs.escape_decode(text[1:-1])[0]
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data
    if text[0].isdigit() or text[0] == "-":
        return float(text) if "." in text or "e" in text else int(text)
    return {"true": True, "false": False}.get(text, text)


def decode(data):
    """A Trace. An unknown field is an error: protoc prints its number."""
    text = subprocess.run(
        ["protoc", f"--proto_path={HERE}", "--decode=countrace.perfetto.Trace",
         "perfetto_written.proto"], input=data, capture_output=True, check=True).stdout
    stack = [Message()]
    for line in text.decode().splitlines():
        opened, name, value = LINE.match(line).groups()
        assert not (opened or name or "a")[0].isdigit(), line
        if opened:
            inner = Message()
            stack[-1].add(opened, inner)
            stack.append(inner)
        elif name:
            stack[-1].add(name, value_of(value))
        else:
            stack.pop()
    return stack[0]


class Reading:
    """A file of Perfetto, read packet by packet as its rules say. What breaks
    them fails `test`."""

    def __init__(self, test, path):
        self.test = test
        self.tracks, self.described, self.at_clock = {}, {}, {}
        self.interned, self.defaults, self.last = {}, {}, {}
        self.events = collections.defaultdict(list)  # by track
        self.switches, self.wakings = [], []
        self.samples = collections.defaultdict(list)  # by event
        self.lossy_cpus, self.lost_packets, self.lost_samples = set(), 0, 0
        self.threads = []  # (tid, from then on, uuid)
        parts = b""
        for packed in decode(pathlib.Path(path).read_bytes()).packet:
            self.test.assertEqual(["compressed_packets"], list(packed.fields))
            self.test.assertLess(len(packed.compressed_packets), 511 << 10)
            parts += zlib.decompress(packed.compressed_packets)
        for packet in decode(parts).packet:
            self.read(packet)
        self.by_tid = collections.defaultdict(list)
        for tid, since, uuid in sorted(self.threads, key=lambda one: one[1:]):
            self.by_tid[tid].append((since, uuid))

    def read(self, packet):
        sequence = packet.trusted_packet_sequence_id
        self.test.assertGreater(sequence, 0)
        if packet.sequence_flags & CLEARED:
            self.test.assertTrue(packet.first_packet_on_sequence)
            self.test.assertNotIn(sequence, self.interned, "begins twice")
            self.interned[sequence] = collections.defaultdict(dict)
            self.defaults[sequence] = Message()
        if packet.has("trace_packet_defaults"):
            self.test.assertTrue(packet.sequence_flags & NEEDED)
            self.defaults[sequence] = packet.trace_packet_defaults
        if packet.sequence_flags & NEEDED:
            self.test.assertIn(sequence, self.interned)
        interned = packet.interned_data.fields if packet.interned_data else {}
        for name, entries in interned.items():
            for entry in entries:
                self.test.assertGreater(entry.iid, 0)
                known = self.interned[sequence][name]
                self.test.assertNotIn(entry.iid, known)
                known[entry.iid] = entry
        time = self.time_of(packet, sequence) if packet.has("timestamp") else None
        if packet.has("clock_snapshot"):
            self.snapshot(packet.clock_snapshot, sequence)
        elif packet.has("track_descriptor"):
            self.describe(packet.track_descriptor, time)
        elif packet.has("track_event"):
            self.event(packet.track_event, sequence, time)
        elif packet.has("ftrace_events"):
            self.bundle(packet.ftrace_events)
        elif packet.has("perf_sample"):
            self.sample(packet.perf_sample, sequence, time)
        elif packet.has("trace_stats"):
            self.lost_packets += \
                packet.trace_stats.buffer_stats[0].trace_writer_packet_loss

    def snapshot(self, snapshot, sequence):
        self.test.assertEqual(MONOTONIC, snapshot.primary_trace_clock)
        clocks = {clock.clock_id: clock for clock in snapshot.clocks}
        self.test.assertTrue(clocks[DELTAS].is_incremental)
        # So that times of ftrace are what they are.
        self.test.assertEqual(clocks[MONOTONIC].timestamp, clocks[BOOTTIME].timestamp)
        self.test.assertEqual(clocks[MONOTONIC].timestamp, clocks[DELTAS].timestamp)
        self.last[sequence] = clocks[DELTAS].timestamp
        self.begin_ns = clocks[MONOTONIC].timestamp

    def time_of(self, packet, sequence):
        clock = packet.timestamp_clock_id or \
            self.defaults[sequence].timestamp_clock_id
        if clock == MONOTONIC:
            return packet.timestamp
        self.test.assertEqual(DELTAS, clock)
        self.last[sequence] += packet.timestamp
        return self.last[sequence]

    def describe(self, track, time):
        self.test.assertNotIn(track.uuid, self.tracks)
        self.test.assertNotEqual(0, track.uuid)
        if track.parent_uuid:
            self.test.assertIn(track.parent_uuid, self.tracks)
        self.tracks[track.uuid] = track
        if track.has("thread"):
            self.test.assertEqual(
                track.thread.pid, self.tracks[track.parent_uuid].process.pid)
            self.threads.append((track.thread.tid, time, track.uuid))

    def event(self, event, sequence, time):
        self.test.assertIn(event.track_uuid, self.tracks)
        names = self.interned[sequence]
        name = event.name or (names["event_names"][event.name_iid].name
                              if event.name_iid else "")
        values = {}
        for value in event.debug_annotations:
            label = value.name or \
                names["debug_annotation_names"][value.name_iid].name
            (values[label],) = [one for name, one in value.fields.items()
                                if name.endswith("_value")]
        self.events[event.track_uuid].append(
            (time, event.type, name, values, event.counter_value))

    def bundle(self, bundle):
        if bundle.lost_events:
            self.lossy_cpus.add(bundle.cpu)
        for event in bundle.event:
            if event.has("sched_switch"):
                self.test.assertEqual(event.pid, event.sched_switch.prev_pid)
                self.switches.append((event.timestamp, bundle.cpu,
                                      event.sched_switch))
            else:
                self.wakings.append((event.timestamp, event.pid, event.common_flags,
                                     event.sched_waking))

    def sample(self, sample, sequence, time):
        if sample.kernel_records_lost:
            self.lost_samples += sample.kernel_records_lost
            return
        event = self.defaults[sequence].perf_sample_defaults.timebase.name
        names = self.interned[sequence]
        stack = []
        for iid in names["callstacks"][sample.callstack_iid].frame_ids \
                if sample.callstack_iid else []:
            frame = names["frames"][iid]
            mapping = names["mappings"][frame.mapping_id]
            if mapping.build_id:
                self.test.assertIn(mapping.build_id, names["build_ids"])
            self.test.assertIn(mapping.path_string_ids[0], names["mapping_paths"])
            stack.append(names["function_names"][frame.function_name_id].str)
        self.samples[event].append((time, sample.pid, sample.tid, stack))

    def slices(self):
        """Those of all tracks. By time, each track's begins and ends nest."""
        found = []
        for track, events in self.events.items():
            stack = []
            for time, of, name, values, _ in sorted(events, key=lambda one: one[0]):
                if of == BEGIN:
                    stack.append((name, time, values))
                elif of == END:
                    name, begin, begin_values = stack.pop()
                    found.append(Slice(track, name, begin, time,
                                       begin_values | values))
            self.test.assertEqual([], stack)
        return found

    def thread_at(self, tid, time):
        """The uuid of who had the tid then: of the latest descriptor."""
        mine = self.by_tid.get(tid, ())
        at = bisect.bisect_right(mine, (time, 1 << 64))
        return mine[at - 1][1] if at else None


class States:
    """Perfetto's thread states: ns by thread and state, dispatches, and blocked
    times that a wake-up ended."""

    def __init__(self, reading):
        self.ns = collections.defaultdict(collections.Counter)
        self.dispatches, self.woken = collections.Counter(), collections.Counter()
        self.perhaps_woken = collections.Counter()  # their state was not known
        self.left_out = {}  # (thread, time) of a wake-up -> the state it found
        self.now = {}
        events = [(time, 1, cpu, event) for time, cpu, event in reading.switches]
        events += [(time, 0, 0, event) for time, _, _, event in reading.wakings]
        on = {}
        for time, is_switch, cpu, event in sorted(events, key=lambda one: one[:2]):
            if not is_switch:
                thread = reading.thread_at(event.pid, time)
                state = self.now.get(thread, (None, 0))[0]
                if state not in ("R", "Running"):
                    self.woken[thread] += state == "S"
                    self.perhaps_woken[thread] += state != "S"
                    self.change(thread, time, "R")
                else:
                    self.left_out[thread, time] = self.now[thread]
                continue
            reading.test.assertEqual(on.get(cpu, 0), event.prev_pid)
            on[cpu] = event.next_pid
            if event.prev_pid not in (0, *range(FIRST_OWN_TID, FIRST_OWN_TID + 4096)):
                raw = event.prev_state
                state = "R" if raw in (0, 0x100) else "?" if raw == 0x200 else "S"
                thread = reading.thread_at(event.prev_pid, time)
                # Another CPU may have woken it in the same ns, after it.
                self.perhaps_woken[thread] += (thread, time) in self.left_out
                self.change(thread, time, state)
            if event.next_pid:
                thread = reading.thread_at(event.next_pid, time)
                if thread is None:  # one of the export's own
                    thread = event.next_pid
                    reading.test.assertGreaterEqual(event.next_pid, FIRST_OWN_TID)
                self.dispatches[thread] += 1
                self.change(thread, time, "Running")
        for thread in list(self.now):
            self.change(thread, reading.end_ns, "the end")

    def change(self, thread, time, state):
        before, since = self.now.get(thread, (None, time))
        if before is not None:
            self.ns[thread][before] += time - since
        self.now[thread] = (state, time)


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="countrace-perfetto-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        subprocess.run([WRITER], cwd=cls.folder, check=True)
        subprocess.run([SYNTHETIC, "big.ctf", "50000", "4", "200"], cwd=cls.folder,
                       check=True, capture_output=True)
        for name, (options, program, *arguments) in RECORDINGS.items():
            done = run("record", *options, "-o", name, "--", globals()[program],
                       *arguments, folder=cls.folder)
            if done.returncode != 0:
                shutil.rmtree(cls.folder / name, ignore_errors=True)
                print(f"SKIPPED: {name}: {done.stderr.decode()}")

    def done(self, *words):
        finished = run(*words, folder=self.folder)
        self.assertEqual((0, b""), (finished.returncode, finished.stderr), words)
        return finished.stdout.decode()

    def table(self, name, trace):
        finished = run("export", "--to", "jsonl", "--table", name, trace,
                       folder=self.folder)
        return [json.loads(line) for line in finished.stdout.decode().splitlines()]

    def test_what_a_file_has_is_what_the_trace_has(self):
        found = sorted(path.name for path in self.folder.glob("*.ctf"))
        self.assertIn("web.ctf", found)
        for trace, wrong in compare_each(found):
            with self.subTest(trace=trace):
                self.assertIsNone(wrong, wrong)

    def compare(self, trace):
        file = f"{trace}.pftrace"
        self.done("export", "--to", "perfetto", "--force", "-o", file, trace)
        report = json.loads(self.done("report", "--format", "json", trace))
        reading = Reading(self, self.folder / file)
        tables = {}

        def table(name):
            if name not in tables:
                tables[name] = self.table(name, trace)
            return tables[name]

        threads = {row["thread"]: row for row in table("threads")}
        uuid = self.threads_by_uuid(reading, threads)
        self.compare_names(reading, report, threads, uuid)
        self.compare_calls(reading, report, table, uuid)
        self.compare_points(reading, table, uuid)
        self.compare_counts(reading, report, table)
        self.compare_losses(reading, report, table)
        self.compare_samples(reading, table, threads)
        self.compare_states(trace, reading, report, table, uuid)

    def threads_by_uuid(self, reading, threads):
        """thread of the tables -> uuid: tracks of threads are in one order."""
        uuids = sorted(uuid for _, _, uuid in reading.threads)
        self.assertEqual(len(uuids), len(set(uuids)))
        known = [row for row in threads.values() if row["pid"]]
        self.assertEqual(len(known), len(uuids))
        return dict(zip(sorted(row["thread"] for row in known), uuids))

    def compare_names(self, reading, report, threads, uuid):
        for number, track in uuid.items():
            row, of = threads[number], reading.tracks[track].thread
            self.assertEqual((row["tid"], row["pid"], row["comm"]),
                             (of.tid, of.pid, of.thread_name))
        self.assertEqual(
            sorted((row["pid"], row["comm"]) for row in report["processes"]
                   if row["pid"]),
            sorted((track.process.pid, track.process.process_name)
                   for track in reading.tracks.values() if track.has("process")))

    def compare_calls(self, reading, report, table, uuid):
        calls = table("calls")
        slices = [one for one in reading.slices() if ":" in one.name]
        tracks = {track: number for number, track in uuid.items()}
        expected = sorted((row["thread"], row["segment"], row["begin_ns"],
                           row["end_ns"], row["quality"] == "inferred")
                          for row in calls if row["thread"] is not None)
        got = sorted((tracks[one.track], one.name, one.begin, one.end,
                      one.values.get("quality") == "inferred")
                     for one in slices if one.track in tracks)
        if report["loss"]["discarded_events"]:
            # Where an enter or exit is missing, spans need not nest: slices do.
            self.assertEqual(collections.Counter(one[:2] for one in expected),
                             collections.Counter(one[:2] for one in got))
            expected, got = ([one for one in rows if not one[4]]
                             for rows in (expected, got))
        self.assertEqual(expected, got)
        self.assertEqual(
            sorted((row["cpu"], row["segment"], row["begin_ns"], row["end_ns"])
                   for row in calls if row["cpu"] is not None),
            sorted((int(reading.tracks[one.track].name.split()[1]), one.name,
                    one.begin, one.end)
                   for one in slices if one.track not in tracks))
        times = collections.Counter(one.name for one in slices)
        for segment in {row["segment"] for row in report["segments"]}:
            rows = [row for row in report["segments"] if row["segment"] == segment]
            # Some that began before have an exit alone, and may have no slice.
            self.assertGreaterEqual(times[segment], sum(row["calls"] for row in rows))
            exact = [one for one in slices if one.name == segment
                     and one.values.get("quality") != "inferred"]
            if all(row["quality"] == "exact" and not row["begin_inferred"]
                   for row in rows) and not self.recursive(report, segment):
                self.assertEqual(sum(row["wall_ns"]["incl"] for row in rows),
                                 sum(one.end - one.begin for one in exact), segment)

    @staticmethod
    def recursive(report, segment):
        return any(row["path"].count(segment) > 1
                   for row in report.get("segment_paths", []))

    def compare_points(self, reading, table, uuid):
        expected = sorted((uuid[row["thread"]], row["hook"], row["time_ns"])
                          for row in table("points") if row["thread"] in uuid)
        got = sorted((track, name, time)
                     for track, events in reading.events.items()
                     for time, of, name, _, _ in events if of == INSTANT)
        self.assertEqual(expected, got)

    def compare_counts(self, reading, report, table):
        sums = collections.Counter()
        for row in table("counts"):
            if row["count"] is not None:
                sums[f"CPU {row['cpu']} {row['event']}"] += row["count"]
        got = {}
        for track, events in reading.events.items():
            if reading.tracks[track].has("counter"):
                values = [value for _, _, _, _, value in
                          sorted(events, key=lambda one: one[0])]
                self.assertEqual(sorted(values), values)
                self.assertEqual(0, values[0])
                got[reading.tracks[track].name] = values[-1]
        self.assertEqual(dict(sums), got)
        for event, book in report["books"].items():
            if "scaled" not in book and book.get("known", True):
                self.assertEqual(book["total"],
                                 sum(count for name, count in got.items()
                                     if name.split()[2] == event))

    def compare_losses(self, reading, report, table):
        self.assertEqual(
            report["loss"]["discarded_events"] - report["loss"].get("overwritten", 0),
            reading.lost_packets)
        expected = [row for row in table("losses")
                    if row["cpu"] is not None or row["thread"] is not None]
        lost = [one for one in reading.slices() if one.name == "lost"]
        self.assertEqual(sorted((row["cause"], row["records"] or 0)
                                for row in expected),
                         sorted((one.values["cause"], one.values.get("records", 0))
                                for one in lost))
        self.assertEqual({row["cpu"] for row in expected if row["cpu"] is not None},
                         reading.lossy_cpus)
        (recording,) = [one for one in reading.slices() if one.name == "recording"]
        self.assertEqual((report["trace"]["begin_ns"], report["trace"]["end_ns"]),
                         (recording.begin, recording.end))
        facts = dict((row["key"], row["value"]) for row in table("meta")
                     if row["key"] != "not_known")
        self.assertEqual(facts, {name: value or None
                                 for name, value in recording.values.items()
                                 if name in facts})

    def compare_samples(self, reading, table, threads):
        frames = {row["frame"]: row for row in table("frames")}
        expected = collections.defaultdict(list)
        for row in table("samples"):
            stack, at = [], row["frame"]
            while at is not None:
                frame = frames[at]
                stack = [frame["function"]] + \
                    [frame["inlined"]] * bool(frame["inlined"]) + stack
                at = frame["parent"]
            thread = threads[row["thread"]]
            expected[row["event"]].append((row["time_ns"], thread["pid"],
                                           thread["tid"], " > ".join(stack)))
        self.assertEqual(expected, {
            event: [(*of, " > ".join(stack)) for *of, stack in samples]
            for event, samples in reading.samples.items()})

    def compare_states(self, trace, reading, report, table, uuid):
        reading.end_ns = report["trace"]["end_ns"]
        states = States(reading)
        expected = collections.Counter()
        times = collections.Counter()
        # A perf.data may show a thread on two CPUs at one instant: which of them
        # it leaves is not known.
        on_two = set()
        for row in table("dispatches"):
            if row["thread"] is not None:
                expected[uuid[row["thread"]]] += 1
                times[uuid[row["thread"]]] += row["end_ns"] - row["begin_ns"]
                if row["begin_ns"] == row["end_ns"] and row["quality"] == "inferred":
                    on_two.add(uuid[row["thread"]])
        got = {thread: count for thread, count in states.dispatches.items()
               if thread in reading.tracks}
        self.assertEqual(dict(expected), got)
        running = collections.Counter(
            {thread: states.ns[thread]["Running"] for thread in got})
        for thread in on_two:
            del times[thread], running[thread]
        self.assertEqual(+times, +running)
        if report["loss"]["discarded_events"] or trace == "flight.ctf":
            return
        ends = [(uuid[row["thread"]], row["time_ns"]) for row in table("wakeups")
                if row["waker_kind"] != "not_told" and row["thread"] in uuid]
        woken = collections.Counter(thread for thread, _ in ends)
        left_out = [(end, states.left_out[end]) for end in ends
                    if end in states.left_out]
        # The state after a switch that the kernel did not show is not known, and
        # so whether a wake-up ended it.
        unsure = {uuid[row["thread"]] for row in table("threads")
                  if row["thread"] in uuid and row["qualities"]}
        for thread in {*woken, *states.woken} - unsure:
            self.assertLessEqual(states.woken[thread], woken[thread], trace)
            self.assertLessEqual(woken[thread] - states.woken[thread],
                                 states.perhaps_woken[thread],
                                 (trace, thread, left_out))
        for row in table("threads"):
            if row["thread"] not in uuid or row["qualities"]:
                continue
            if states.perhaps_woken[uuid[row["thread"]]]:
                continue
            ns = states.ns[uuid[row["thread"]]]
            if row["wait_ns"] is not None and any(woken):
                self.assertEqual(row["wait_ns"], ns["R"], row)


    def test_a_full_disk_and_an_interruption_leave_nothing(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
        before = set(os.listdir(self.folder))
        words = ["export", "--to", "perfetto", "-o", "x.out", "big.ctf"]
        finished = run(*words, folder=self.folder, preexec_fn=limit)
        self.assertEqual(1, finished.returncode)
        self.assertIn(os.strerror(27), finished.stderr.decode())
        self.assertEqual(before, set(os.listdir(self.folder)))
        process = subprocess.Popen([COUNTRACE, *words], cwd=self.folder,
                                   stderr=subprocess.PIPE)
        while not set(os.listdir(self.folder)) - before and process.poll() is None:
            pass
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        if process.returncode == 0:  # it was faster
            (self.folder / "x.out").unlink()
        else:
            self.assertEqual(130, process.returncode, said)
        self.assertEqual(before, set(os.listdir(self.folder)))


def compared(trace):
    """What is wrong with the file of a trace, or None."""
    try:
        Exported("compare").compare(trace)
    except Exception:  # printed by the process that waits for this one
        return traceback.format_exc()
    return None


def compare_each(traces):
    """Each trace and what is wrong with its file, or None. As many at a time as
    there are CPUs, in processes: it is Python that takes the time.
    """
    with concurrent.futures.ProcessPoolExecutor(
            os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        yield from zip(traces, pool.map(compared, traces))


if __name__ == "__main__":
    COUNTRACE, WRITER, SYNTHETIC, PIPELINE, REUSE, FIBERS = \
        map(os.path.abspath, sys.argv[1:7])
    unittest.main(argv=sys.argv[:1] + sys.argv[7:])
