// Results of reconstruction: what `report` prints and the viewer's tables show.
//
// Times are integer ns, counts are integers. Rows are sorted by on-CPU time,
// largest first, ties by name then id, so that output is deterministic.
#ifndef COUNTRACE_RMAP_TABLES_TABLES_H_
#define COUNTRACE_RMAP_TABLES_TABLES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/state/scaled_count.h"

namespace countrace::rmap {

// Row of Report::threads / Report::processes. Unique per trace, never reused,
// unlike tid and pid.
enum class ThreadIndex : std::uint32_t {};
enum class ProcessIndex : std::uint32_t {};
inline constexpr ThreadIndex kNoThread{0xffffffffu};

// How sure a number is (DESIGN: every number says it).
enum class Quality : std::uint8_t { kExact, kScaled, kBounded, kInferred };
const char* QualityName(Quality quality);  // "exact", ...

// Counts of one row, one entry for each event of Report::events; absent = the
// trace cannot say (never 0 in its place).
// If event sets took turns the count of an event in one is an estimate.
using Counts = std::vector<std::optional<std::uint64_t>>;
// What is known of those estimates, by event; absent: the count is none.
using ScaledCounts = std::vector<std::optional<ScaledCount>>;

struct ProcessRow {
  ProcessIndex index{};
  std::int32_t pid = 0;
  std::int32_t parent_pid = 0;
  std::string comm;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  std::uint64_t threads = 0;
  std::optional<std::uint64_t> on_cpu_ns;
  std::uint64_t dispatches = 0;
  Counts counts;
  // Of on_cpu_ns: what its hooks took, estimated
  // (rmap/tables/recording_cost.h).
  std::optional<std::uint64_t> recording_ns;
  ScaledCounts scaled;
  // Of on_cpu_ns, dispatches and counts. kBounded: kernel records were lost
  // while it lived, so these are lower bounds; the rest is `unattributed`.
  Quality quality = Quality::kExact;
  bool in_scope = true;  // false: outside the recorded command
  bool marked = false;
};

struct ThreadRow {
  ThreadIndex index{};
  ProcessIndex process{};
  std::int32_t tid = 0;
  std::int32_t pid = 0;
  std::string comm;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  std::optional<std::uint64_t> on_cpu_ns;
  std::uint64_t dispatches = 0;
  std::uint64_t migrations = 0;
  // Runnable but not on a CPU: after preemption or yield, and, if the trace has
  // wake-up records, after each wake-up.
  std::optional<std::uint64_t> wait_ns;
  // On no CPU and not runnable, until its wake-up. Absent if the trace has no
  // wake-up records.
  std::optional<std::uint64_t> blocked_ns;
  Counts counts;
  ScaledCounts scaled;
  Quality quality = Quality::kExact;  // as in ProcessRow
};

struct TimeStatistics {  // ns
  // Sums over calls. Of a recursive segment, `incl` of a by-segment row counts
  // the outermost call only (nothing is counted twice); by-path rows count
  // every call, each in its own row.
  std::uint64_t incl = 0, excl = 0;
  // Of the inclusive time of one call, over all calls, inner recursive ones
  // too. stddev is that of the population. Percentiles are within 0.8 %.
  double mean = 0, stddev = 0;
  std::uint64_t min = 0, max = 0, p50 = 0, p90 = 0, p99 = 0;
};
struct InclusiveExclusive {
  std::uint64_t incl = 0, excl = 0;
};
struct SegmentCount {
  std::uint64_t incl = 0, excl = 0;
  Quality quality = Quality::kExact;
  // The two are estimates, from the calls during its set's turns: of `incl`,
  // what was counted in those, and how far the estimate may be off.
  bool scaled = false;
  std::uint64_t counted = 0;
  std::optional<double> standard_error = std::nullopt;
  // Of `excl`; of how many slices, the least of those it is made of.
  std::optional<double> excl_standard_error = std::nullopt;
  std::uint64_t slices = 0;
};

// Where a segment's count of an event comes from.
enum class SegmentSource : std::uint8_t {
  kNone,         // nothing in the trace can say
  kOnCpuTime,    // task-clock, cpu-clock: time between dispatch records
  kSwitches,     // context-switches: dispatch records that left the CPU inside
  kFaults,       // page-faults: fault records inside
  kThreadDumps,  // counters read at the hooks
  kKernelDumps   // the CPU's counters, dumped by the kernel at its hooks
};

struct SegmentRow {
  std::string segment;            // "provider:name"
  std::vector<std::string> path;  // by-path rows: outermost first
  std::int32_t pid = 0;
  ProcessIndex process{};
  std::string comm;
  std::uint64_t calls = 0;         // enters recorded
  std::uint64_t end_inferred = 0;  // of `calls`: exit not recorded
  // Exits whose enter was not recorded: calls begun before the trace or during
  // a loss. Neither in `calls` nor in the times, since their length is unknown.
  std::uint64_t begin_inferred = 0;
  TimeStatistics wall;
  Quality quality = Quality::kExact;  // of calls and wall
  std::optional<InclusiveExclusive> on_cpu, off_cpu;
  // Of off_cpu, as of threads.
  std::optional<InclusiveExclusive> wait, blocked;
  Quality on_cpu_quality = Quality::kExact;         // of these four
  std::vector<std::optional<SegmentCount>> counts;  // one for each event
  // Of wall.incl: what its hooks, and those of the segments in it, took,
  // estimated.
  std::optional<std::uint64_t> recording_ns;
};

// What ended blocked time.
enum class WakerKind : std::uint8_t {
  kThread,     // of a process that has a row
  kInterrupt,  // on a CPU in whatever state
  kIdle,       // on an idle CPU: an interrupt as well, but not recorded as one
  kOutside,    // somebody whom the report does not count
  kNotTold,    // no wake-up record: it ran again
  kStillBlocked,
  kOther  // of more kinds than are kept, by whomever and wherever
};
const char* WakerKindName(WakerKind kind);  // "thread", ...

// Blocked time of the threads of a process, in one place, ended by one waker.
// All rows of a process add up to the blocked time of its threads, those of a
// path (if none is kOther) to the exclusive blocked time of that.
struct WakerRow {
  std::int32_t pid = 0;
  ProcessIndex process{};
  std::string comm;
  std::vector<std::string> path;  // open segments, outermost first; or none
  struct By {
    WakerKind kind = WakerKind::kNotTold;
    std::optional<std::int32_t> pid;  // kThread
    std::string comm;
    std::string segment;  // its innermost open segment; empty: none
  } waker;
  std::uint64_t times = 0;
  std::uint64_t blocked_ns = 0, longest_ns = 0;
  // kBounded: records were lost meanwhile, so it may have run in between, or
  // been in another segment.
  Quality quality = Quality::kExact;
};

struct HookRow {
  std::string hook;
  std::int32_t pid = 0;
  ProcessIndex process{};
  std::string comm;
  std::uint64_t hits = 0;  // event records: a call of a segment is two
};

struct CpuRow {
  std::uint32_t cpu = 0;
  // wall = busy + idle + interrupts + outside + unattributed, exactly.
  std::uint64_t wall_ns = 0, busy_ns = 0, idle_ns = 0;
  std::uint64_t interrupts_ns = 0, outside_ns = 0, unattributed_ns = 0;
  std::uint64_t dispatches = 0;
  Counts counts;
  ScaledCounts scaled;
};

// Of an event in a set that took turns: the accounts as they would be, had it
// been counted all the time. Absent: its set was never counted there. The total
// is their sum.
struct ScaledBooks {
  std::optional<std::uint64_t> processes, own, idle, interrupts, outside;
  std::optional<std::uint64_t> unattributed;
  std::uint64_t total = 0;
  std::optional<double> standard_error;          // of the total
  std::optional<ScaledCount> tasks;              // processes and own, as one
  std::uint64_t running_ns = 0, enabled_ns = 0;  // of all CPUs
};

// What recording itself took of a clock's books, beside the recorder's process:
// an estimate, which lies inside the accounts. These stay as measured, so that
// they are exact and agree with the rows; an account without recording is a
// subtraction. Absent: not known.
struct Recording {
  std::optional<std::uint64_t> hooks;  // of user hooks: inside `processes`
  std::optional<std::uint64_t> bpf;    // programs of the kernel recorder
  // Where `bpf` fell: known in traces of the whole machine.
  std::optional<std::uint64_t> bpf_processes, bpf_idle, bpf_interrupts,
      bpf_unattributed;

  bool any() const { return hooks || bpf; }
  std::uint64_t total() const { return hooks.value_or(0) + bpf.value_or(0); }
  // Of `processes`; absent if it cannot be told.
  std::optional<std::uint64_t> processes() const {
    if (bpf && !bpf_processes) return std::nullopt;
    if (!any()) return std::nullopt;
    return hooks.value_or(0) + bpf_processes.value_or(0);
  }
};

// Parts of the time of all CPUs in which it is not known how much of an event
// was counted: the books hold lower bounds.
struct BooksDoubt {
  // The counter may have begun again at 0 more than once.
  std::uint64_t wrapped_intervals = 0, wrapped_ns = 0;
  // It was reset, or taken by somebody: nothing is known.
  std::uint64_t went_back_intervals = 0, went_back_ns = 0;
  // The MMCR changed, in a trace without event sets: nothing is known.
  std::uint64_t other_mmcr_intervals = 0, other_mmcr_ns = 0;

  bool any() const {
    return wrapped_intervals + went_back_intervals + other_mmcr_intervals != 0;
  }
};

// One account set: total = processes + idle + interrupts + outside +
// unattributed + residual (residual is signed; 0 when nothing was lost).
struct Books {
  bool known = true;  // false: no CPU counted this event; all below is 0
  std::uint64_t total = 0;
  std::uint64_t processes = 0;
  std::uint64_t own = 0;  // the recorder's process, which has a row as well
  std::uint64_t idle = 0;
  std::uint64_t interrupts = 0;
  std::uint64_t outside = 0;  // not counted by choice (--count)
  std::uint64_t unattributed = 0;
  std::int64_t residual = 0;
  BooksDoubt doubt;
  // Of `processes`: inside any segment, and outside every segment. Absent when
  // the event cannot be attributed to segments.
  std::optional<std::uint64_t> in_segments;
  Recording recording;  // of clocks; of other events not known
  // The event was counted in turns: all above is what was counted in them.
  std::optional<ScaledBooks> scaled;
};

// How what recording took was measured; what it comes to is in the books. The
// recorder's own process is the account `own`.
struct OwnCost {
  std::uint64_t bpf_ns = 0;          // estimated; 0 and not sampled: not known
  std::uint64_t bpf_sampled_ns = 0;  // time in which it was measured
  // Of one record of a user hook: CPU time of its process; in its thread,
  // without and with counters. 0: not known.
  std::uint64_t hook_cpu_ps = 0, hook_ps = 0, hook_dump_ps = 0;
  std::uint64_t hook_records = 0, hook_dumps = 0;  // of all processes
};

struct Loss {
  std::uint64_t discarded_events = 0;
  std::map<std::string, std::uint64_t> by_cause;
  std::uint64_t discarded_packets = 0;
  std::uint64_t clock_errors = 0;     // records whose time went back
  std::vector<std::string> messages;  // what, where, remedy
};

struct Report {
  std::string path;
  std::string scope;               // "hooks", "command", "system"
  std::string count;               // what is counted: gating.h
  std::vector<std::string> marks;  // by which processes are marked
  std::string command, hostname, kernel_release;
  std::vector<logformat::TriggerFiring> triggers;  // why it was taken
  // Of an imported trace: TraceInfo.
  std::string source;
  std::vector<std::string> not_known;
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint32_t cpus = 0;
  std::uint64_t records = 0;
  bool finished = true;
  bool interrupted = false;  // reading ended early: all is of the part read
  std::vector<std::string> events;  // kernel dump events, then thread events
  std::vector<bool> scaled_events;  // of those: counted in turns
  std::vector<SegmentSource> segment_sources;  // of those
  std::vector<ProcessRow> processes;
  std::vector<ThreadRow> threads;
  std::vector<SegmentRow> segments;       // by (process, segment)
  std::vector<SegmentRow> segment_paths;  // by (process, call path)
  std::vector<HookRow> hooks;
  bool wakeups = false;          // wake-ups were recorded
  bool interrupts = false;       // and interrupts
  std::vector<WakerRow> wakers;  // most blocked time first
  std::vector<CpuRow> cpu_rows;
  std::vector<Books> books;  // one for each kernel dump event of `events`
  Loss loss;
  OwnCost own_cost;
  std::uint64_t late_sub_buffers = 0;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_TABLES_H_
