// Results of reconstruction, which `report` prints and the viewer's tables
// show.
//
// Times are integer ns, counts are integers. Rows are sorted by on-CPU time,
// largest first, ties by name then id, so that output is deterministic.
#ifndef COUNTRACE_RMAP_RESULT_TABLES_H_
#define COUNTRACE_RMAP_RESULT_TABLES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logformat/description/number_names.h"
#include "logformat/loss.h"
#include "logformat/trace_info.h"
#include "rmap/result/bounds.h"
#include "rmap/result/event_columns.h"
#include "rmap/result/rare.h"
#include "rmap/result/scaled_count.h"

namespace countrace::rmap {

// Row of Report::threads / Report::processes. Unique per trace, never reused,
// unlike tid and pid.
enum class ThreadIndex : std::uint32_t {};
enum class ProcessIndex : std::uint32_t {};
inline constexpr ThreadIndex kNoThread{0xffffffffu};

// Counts of one row, one entry for each event of Report::events; absent = the
// trace cannot say (never 0 in its place). The count of a multiplexed event is
// an estimate.
using Counts = std::vector<std::optional<std::uint64_t>>;
// Details of these estimates, by event; absent: the count is no estimate.
using ScaledCounts = std::vector<std::optional<ScaledCount>>;

// The time that probes took, as calibrated: an estimate, and its limits.
struct ProbeTime {
  std::uint64_t ns = 0, lo_ns = 0, hi_ns = 0;
};

// The host that a row is of, in a report of several hosts; absent: of several,
// or the report is of one.
using HostName = Rare<std::string>;

// On-CPU time under a name.
struct ProgramTime {
  std::string comm;
  std::uint64_t on_cpu_ns = 0;
};

// Adds `more` to the time of its name.
void AddProgramTime(const ProgramTime& more, std::vector<ProgramTime>& sums);

inline constexpr char kUnknownOwner[] = "[unknown]";

// Rows that --group-by added up.
struct Grouped {
  std::uint32_t rows = 1;
  Rare<std::string> value{};  // a user or cgroup, if the rows are for those
  // The value that its calls share, of WantedRows::value; absent: not known.
  Rare<std::string> argument{};
};

struct ProcessRow {
  ProcessIndex index{};
  std::uint64_t processes = 1;  // more with Report::rows_by
  std::int32_t pid = 0;         // 0: of several
  std::int32_t parent_pid = 0;
  std::string comm;
  // As the trace last says (docs/definitions.md, "Owners"); names are
  // kUnknownOwner if it does not.
  std::optional<std::uint32_t> uid;
  std::string user, cgroup;
  // Its number in its own pid namespace, and the kernel's; 0: not known.
  std::int32_t own_pid = 0, host_pid = 0;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  std::uint64_t threads = 0;
  std::optional<std::uint64_t> on_cpu_ns;
  // The parts of on_cpu_ns that it had under other names, each until an exec.
  // The rest is that of `comm`.
  std::vector<ProgramTime> before_exec;
  std::uint64_t dispatches = 0;
  Counts counts;
  // The estimated part of on_cpu_ns that its hooks and probes took
  // (rmap/tables/input/recording_cost.h); and the probes' part of it.
  std::optional<std::uint64_t> recording_ns;
  std::optional<ProbeTime> probes;
  ScaledCounts scaled;
  // Why its numbers (all but recording_ns) are not exact; `quality` is the
  // worst. kBounded: kernel records were lost while it lived, and `bounds` has
  // the intervals.
  Qualities qualities;
  Quality quality = Quality::kExact;
  RowBounds bounds;
  bool in_scope = true;  // false: outside the recorded command
  bool marked = false;
  HostName host;
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
  // Time runnable but not on a CPU: after preemption or yield, and, if the
  // trace has wake-up records, after each wake-up.
  std::optional<std::uint64_t> wait_ns;
  // The part of wait_ns that began because a CPU quota was used up. Absent if
  // no record of the trace shows one.
  std::optional<std::uint64_t> throttled_ns;
  // Time on no CPU and not runnable, until the wake-up. Absent if the trace has
  // no wake-up records.
  std::optional<std::uint64_t> blocked_ns;
  Counts counts;
  ScaledCounts scaled;
  Qualities qualities;  // see ProcessRow
  Quality quality = Quality::kExact;
  RowBounds bounds;
  Grouped grouped;
  HostName host;
};

struct TimeStatistics {  // ns
  // Sums over calls. In a by-segment row, `incl` of a recursive segment counts
  // the outermost calls only (nothing is counted twice); by-path rows count
  // every call, each in its own row.
  std::uint64_t incl = 0, excl = 0;
  // Statistics of the inclusive time of one call, over all calls, also inner
  // recursive ones. stddev is the population's. Percentiles are within 0.8 %.
  double mean = 0, stddev = 0;
  std::uint64_t min = 0, max = 0, p50 = 0, p90 = 0, p99 = 0;
};
struct InclusiveExclusive {
  std::uint64_t incl = 0, excl = 0;
};
// Details of a count that was estimated from the calls during the rotations of
// its event set.
struct SegmentEstimate {
  std::uint64_t counted = 0;  // part of `incl`
  // Part of the calls, or ns, in which it was counted.
  std::uint64_t running = 0, enabled = 0;
  std::optional<double> standard_error = std::nullopt;  // of `incl`
  // For `excl`; and the fewest slices behind any estimate in it.
  std::optional<double> excl_standard_error = std::nullopt;
  std::uint64_t slices = 0;
  double freedom = 1, excl_freedom = 1;  // of the standard errors
  bool of_unseen = false;                // see ScaledCount
};
struct SegmentCount {
  std::uint64_t incl = 0, excl = 0;
  Quality quality = Quality::kExact;
  // Present: both are estimates.
  Rare<SegmentEstimate> estimate = {};
};
// The estimates in it. Requires: `estimate`.
ScaledCount InclusiveOf(const SegmentCount& count);
ScaledCount ExclusiveOf(const SegmentCount& count);

// Calls that returned an error, by errno. Most segments have none.
class ErrorCounts {
 public:
  using Map = std::map<int, std::uint64_t>;
  std::uint64_t& operator[](int error) { return counts_.Write()[error]; }
  Map::const_iterator begin() const { return counts_.Read().begin(); }
  Map::const_iterator end() const { return counts_.Read().end(); }
  Map::const_iterator find(int error) const {
    return counts_.Read().find(error);
  }

 private:
  Rare<Map> counts_;
};

struct SegmentRow {
  std::string segment;            // "provider:name"
  std::vector<std::string> path;  // by-path rows: outermost first
  std::int32_t pid = 0;
  ProcessIndex process{};
  std::string comm;
  std::uint64_t calls = 0;         // enters recorded
  std::uint64_t end_inferred = 0;  // part of `calls`: exit not recorded
  // Exits whose enter was not recorded: calls begun before the trace or during
  // a loss. Neither in `calls` nor in the times, since their length is unknown.
  std::uint64_t begin_inferred = 0;
  TimeStatistics wall;
  Quality quality = Quality::kExact;  // of calls and wall
  std::optional<InclusiveExclusive> on_cpu, off_cpu;
  // Parts of off_cpu, as for threads.
  std::optional<InclusiveExclusive> wait, blocked;
  Quality on_cpu_quality =
      Quality::kExact;        // for on-, off-CPU, waiting and blocked time
  std::uint32_t hook_id = 0;  // of `segment`, whose name others may share
  std::vector<std::optional<SegmentCount>> counts;  // one for each event
  Qualities qualities;                              // of all these numbers
  RowBounds bounds;
  // The estimated part of wall.incl that its hooks, and those of the segments
  // in it, took.
  std::optional<std::uint64_t> recording_ns;
  // What its probes, and those in it, took: it is not in the times of the row,
  // but in those of the process (rmap/tables/input/probe_costs.h).
  Rare<ProbeTime> probes;
  // By segment, if `end_inferred` is not 0: "file:line" of its hooks, if known.
  Rare<std::string> location;
  // A system call's: calls that returned an error, by errno. Absent for other
  // segments.
  std::optional<ErrorCounts> errors;
  Grouped grouped;  // of several rows: no percentiles
  HostName host;
};

// The cause that ended blocked time.
enum class WakerKind : std::uint8_t {
  kThread,     // of a process that has a row
  kInterrupt,  // an interrupt, whatever the CPU was doing
  kIdle,  // on an idle CPU: also an interrupt, but without a record of its own
  kOutside,  // a process that the report does not count
  kNotTold,  // no wake-up record before it ran again
  kStillBlocked,
  kOther  // several wakers and paths together, beyond the limit of rows
};
const char* WakerKindName(WakerKind kind);  // "thread", ...

// Where threads left their CPU, of the blocked time of which the stack was
// recorded.
struct BlockedPlace {
  std::uint32_t stack = 0;  // of Samples::frames, innermost
  // Innermost first; empty before NameBlockedPlaces().
  std::vector<std::string> functions;
  std::uint64_t times = 0, blocked_ns = 0;
};

// Blocked time of the threads of a process, in one call path, ended by one
// waker. All rows of a process add up to the blocked time of its threads; those
// of a path (if none is kOther) to the path's exclusive blocked time.
struct WakerRow {
  // 0: the row is of several (RowsOf).
  std::int32_t pid = 0, tid = 0;
  ProcessIndex process{};
  std::string comm;
  std::vector<std::string> path;  // open segments, outermost first; empty: none
  struct By {
    WakerKind kind = WakerKind::kNotTold;
    std::optional<std::int32_t> pid, tid;  // kThread, unless of several
    std::string comm;
    std::string segment;  // the waker's innermost open segment; empty: none
  } waker;
  std::uint64_t times = 0;
  std::uint64_t blocked_ns = 0, longest_ns = 0;
  std::vector<BlockedPlace> places;  // of parts of `times`; WantedRows::samples
  // kBounded: records were lost meanwhile, so the thread may have run in
  // between, or been in another segment, or the waker is not sure.
  Qualities qualities;
  Quality quality = Quality::kExact;
  RowBounds bounds;
  Grouped grouped;
  HostName host;
};

// What had the CPU of a thread that waited for it (dispatch/queue_time.h).
enum class PreemptorKind : std::uint8_t {
  kThread,
  kInterrupts,
  kIdle,         // nothing: from the wake-up to the switch
  kIdleAllowed,  // any of the CPUs on which it might run: nothing, for long
  kOutside,      // a process that the report does not count, or idle
  kThrottled,    // none of these: the CPU quota of its cgroup was used up
  kNotKnown,     // lost records, or its CPU is not known
  kOther         // several kinds together, beyond the limit of rows
};
const char* PreemptorKindName(PreemptorKind kind);  // "thread", ...

// Part of the waiting time of a thread (or of several, see RowsOf): that in
// which one occupant had its CPU. All rows of a thread add up to its wait_ns.
struct PreemptorRow {
  std::int32_t pid = 0, tid = 0;  // 0: of several
  ProcessIndex process{};
  std::string comm;
  struct By {
    PreemptorKind kind = PreemptorKind::kNotKnown;
    std::optional<std::int32_t> pid, tid;  // kThread, unless of several
    std::string comm;
  } preemptor;
  std::uint64_t times = 0;  // stays on the CPU
  std::uint64_t wait_ns = 0, longest_ns = 0;
  Qualities qualities;
  Quality quality = Quality::kExact;
  RowBounds bounds;
  Grouped grouped;
  HostName host;
};

// The calls of one system call, over the rows of segments.
struct SystemCallRow {
  std::string syscall;  // "read"
  std::uint64_t processes = 0;
  std::uint64_t calls = 0;
  std::uint64_t wall_ns = 0, longest_ns = 0;  // of SegmentRow: wall.incl
  std::optional<std::uint64_t> on_cpu_ns, wait_ns, blocked_ns;
  std::map<int, std::uint64_t> errors;  // calls that failed, by errno
  Qualities qualities;
  Quality quality = Quality::kExact;
  RowBounds bounds;
  HostName host;
};

// The system calls of a process on one file.
struct FileRow {
  std::optional<std::string> file;  // absent: not recorded
  std::int32_t pid = 0;             // 0: of several
  ProcessIndex process{};
  std::string comm;
  std::uint64_t calls = 0, opens = 0, failed_opens = 0, reads = 0, writes = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
  std::uint64_t wall_ns = 0, longest_ns = 0;  // of SegmentRow: wall.incl
  std::optional<std::uint64_t> on_cpu_ns, wait_ns, blocked_ns;
  ErrorCounts errors;  // calls that failed, by errno
  Qualities qualities;
  Quality quality = Quality::kExact;
  RowBounds bounds;
  Grouped grouped;
  HostName host;
};

struct HookRow {
  std::string hook;
  std::int32_t pid = 0;
  ProcessIndex process{};
  std::string comm;
  std::uint64_t hits = 0;     // event records: a call of a segment is two
  std::uint32_t hook_id = 0;  // as SegmentRow's
  // A block point's: a row for each device, with the bytes of its requests.
  struct Requests {
    std::string device;  // `MAJOR:MINOR NAME`
    std::uint64_t bytes = 0;
  };
  Rare<Requests> requests = {};
  Grouped grouped = {};
  HostName host = {};
};

// Page faults of a process of one kind in one range of addresses.
struct FaultRow {
  std::int32_t pid = 0;
  ProcessIndex process{};
  std::string comm;
  std::string kind;  // "user", "kernel"; empty: not recorded
  std::optional<std::uint64_t>
      address;  // begin of the range; absent: of others
  std::uint64_t faults = 0;
  std::optional<std::uint64_t> major;  // absent: not recorded
  Grouped grouped;
  HostName host;
};

// A level: how long it was up, and what the threads it is of used meanwhile
// (rmap/levels/levels.h).
struct LevelRow {
  std::string level;              // "shop:cold_cache"
  std::string scope;              // "thread", "process", "machine"
  std::int32_t pid = 0, tid = 0;  // 0: not of one
  ProcessIndex process{};
  std::string comm;
  std::uint64_t times = 0;  // it was raised
  std::uint64_t up_ns = 0;
  std::optional<std::uint64_t> on_cpu_ns;
  Counts counts;
  Qualities qualities;
  Quality quality = Quality::kExact;
  RowBounds bounds;
  Grouped grouped;
  HostName host;
};

struct CpuRow {
  std::uint32_t cpu = 0;
  // wall = busy + idle + interrupts + outside + unattributed, exactly.
  std::uint64_t wall_ns = 0, busy_ns = 0, idle_ns = 0;
  std::uint64_t interrupts_ns = 0, outside_ns = 0, unattributed_ns = 0;
  std::uint64_t dispatches = 0;
  Qualities qualities;
  RowBounds bounds;
  Counts counts;
  ScaledCounts scaled;
  HostName host;
};

// Books of a multiplexed event: the accounts as they would be if it had been
// counted all the time. Absent: its set was never counted there. The total is
// their sum.
struct ScaledBooks {
  std::optional<std::uint64_t> processes, own, idle, interrupts, outside;
  std::optional<std::uint64_t> unattributed;
  std::uint64_t total = 0;
  std::optional<double> standard_error;          // standard error of the total
  double freedom = 1;                            // its degrees of freedom
  std::optional<ScaledCount> tasks;              // processes and own, as one
  std::uint64_t running_ns = 0, enabled_ns = 0;  // sums over all CPUs
};

// The time that recording took in a clock's books, without the recorder's
// process: an estimate, which lies inside the accounts. The accounts stay as
// measured, so that they are exact and agree with the rows; subtract to get an
// account without recording. Absent: unknown.
struct Recording {
  std::optional<std::uint64_t> hooks;  // user hooks; inside `processes`
  std::optional<std::uint64_t> bpf;    // programs of the kernel recorder
  std::optional<ProbeTime> probes;     // inside `processes`
  // The accounts that `bpf` lies in; present in traces of the whole machine.
  std::optional<std::uint64_t> bpf_processes, bpf_idle, bpf_interrupts,
      bpf_unattributed;

  bool any() const { return hooks || bpf || probes; }
  std::uint64_t total() const {
    return hooks.value_or(0) + bpf.value_or(0) + (probes ? probes->ns : 0);
  }
  // The part inside `processes`; absent if unknown.
  std::optional<std::uint64_t> processes() const {
    if (bpf && !bpf_processes) return std::nullopt;
    if (!any()) return std::nullopt;
    return hooks.value_or(0) + bpf_processes.value_or(0) +
           (probes ? probes->ns : 0);
  }
};

// Parts of the time of all CPUs in which the count of an event is uncertain:
// the books hold lower bounds.
struct BooksDoubt {
  // The counter may have wrapped more than once.
  std::uint64_t wrapped_intervals = 0, wrapped_ns = 0;
  // It was reset, or used by another program: the count is unknown.
  std::uint64_t went_back_intervals = 0, went_back_ns = 0;
  // The MMCR changed, in a trace without event sets: the count is unknown.
  std::uint64_t other_mmcr_intervals = 0, other_mmcr_ns = 0;
  // Edges of the tables cut an interval between two dumps; at most this many
  // counts in them are missing, kNone: any number.
  std::uint64_t cut_intervals = 0, cut_counts = 0;

  bool any() const {
    return wrapped_intervals + went_back_intervals + other_mmcr_intervals +
               cut_intervals !=
           0;
  }
  bool only_cut() const {
    return wrapped_intervals + went_back_intervals + other_mmcr_intervals == 0;
  }
};

// One account set: total = processes + idle + interrupts + outside +
// unattributed + residual (residual is signed; 0 when nothing was lost).
struct Books {
  bool known = true;  // false: no CPU counted this event; everything below is 0
  std::uint64_t total = 0;
  std::uint64_t processes = 0;
  std::uint64_t own = 0;  // the recorder's process, which also has a row
  std::uint64_t idle = 0;
  std::uint64_t interrupts = 0;
  std::uint64_t outside = 0;  // not counted by choice (--count)
  std::uint64_t unattributed = 0;
  std::int64_t residual = 0;
  BooksDoubt doubt;
  // The parts of `processes` inside any segment, and outside every segment.
  // Absent when the event cannot be attributed to segments.
  std::optional<std::uint64_t> in_segments;
  Recording recording;  // clocks only; unknown for other events
  // The event was multiplexed: the accounts above hold counted values only.
  std::optional<ScaledBooks> scaled;
};

// How the cost of recording was measured; the amounts are in the books. The
// recorder's own process is the account `own`.
struct OwnCost {
  std::uint64_t bpf_ns = 0;          // estimated; 0 and not sampled: unknown
  std::uint64_t bpf_sampled_ns = 0;  // time in which it was measured
  // Cost of one record of a user hook: CPU time of its process; time in its
  // thread, without and with counters. 0: unknown.
  std::uint64_t hook_cpu_ps = 0, hook_ps = 0, hook_dump_ps = 0;
  std::uint64_t hook_records = 0, hook_dumps = 0;  // sums over all processes
};

using logformat::Loss;

// What a row of wakers or preemptors is for.
enum class RowsOf : std::uint8_t { kThread, kProcess };

// Rows that cost time, or that there are several kinds of.
struct WantedRows {
  bool preemptors = false;
  // Idle time of a CPU that is said (kIdleAllowed) is longer: Linux's estimate
  // of what moving a thread costs (sched_migration_cost_ns).
  std::uint64_t least_idle_ns = 500'000;
  RowsOf wakers_of = RowsOf::kProcess;
  RowsOf preemptors_of = RowsOf::kThread;
  bool fold_recursion = false;  // call paths: a > b > b is a > b
  bool samples = false;         // Report::samples, WakerRow::places
  // A value of hooks, by its name: rows of segments, paths and hooks are also
  // by it. Empty: they are not.
  std::string value = {};
};

// A host of a report of several (rmap/hosts/merged_report.h).
struct ReportHost {
  std::string name, path;
  std::string clock;  // how it is known on the first host's
  // The clock at the begin of the trace, and how much it runs fast.
  std::int64_t offset_ns = 0, drift_ppb = 0;
  std::int64_t least_drift_ppb = 0, most_drift_ppb = 0;  // limits of that
  // Times of the host are at most this far from the truth; 0: exact.
  std::uint64_t within_ns = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;  // on the first host's clock
  std::uint32_t cpus = 0;
  std::uint64_t records = 0;
  Loss loss;
};

struct Samples;      // rmap/result/samples.h
struct SampleTable;  // rmap/result/sample_table.h
struct TreeTable;    // rmap/result/tree_table.h

struct Report {
  std::string path;
  std::vector<ReportHost> hosts;   // none: the report is of one trace
  std::string scope;               // "hooks", "command", "system"
  std::string count;               // what is counted; see gating.h
  std::vector<std::string> marks;  // the marks that select processes
  std::string command, hostname, kernel_release;
  std::vector<std::pair<const char*, std::string>> host_ids;  // IdsOf()
  std::vector<logformat::TriggerFiring> triggers;  // why it was taken
  std::string source;  // for an imported trace: TraceInfo's source
  std::vector<std::string> not_known;
  std::uint64_t begin_ns = 0, end_ns = 0;
  bool of_range = false;  // a part of the trace (TableRange)
  // In pauses that were asked for (logformat/description/recorded_part.h).
  std::uint64_t left_out_ns = 0;
  std::size_t pauses = 0;
  std::uint64_t elapsed_ns() const { return end_ns - begin_ns - left_out_ns; }
  std::uint32_t cpus = 0;
  std::uint64_t records = 0;
  bool finished = true;
  bool interrupted =
      false;            // reading ended early: the report covers the part read
  EventColumns events;  // kernel dump events, then thread events
  WantedRows wanted;
  // The field that rows were added up by (rmap/where/row_groups.h). Empty: they
  // were not.
  std::string rows_by;
  std::vector<ProcessRow> processes;
  bool owners = false;  // users and cgroups were recorded
  std::vector<ThreadRow> threads;
  std::vector<SegmentRow> segments;       // by (process, segment)
  std::vector<SegmentRow> segment_paths;  // by (process, call path)
  std::vector<HookRow> hooks;
  bool wakeups = false;                         // wake-ups were recorded
  bool throttled = false;                       // a CPU quota was used up
  bool system_calls = false;                    // system calls were recorded
  bool block_points = false;                    // with devices and bytes
  bool interrupts = false;                      // interrupts were recorded
  std::vector<WakerRow> wakers;                 // most blocked time first
  std::vector<PreemptorRow> preemptors;         // most waiting time first
  std::vector<SystemCallRow> system_call_rows;  // most time first
  bool file_values = false;                     // calls tell of their files
  std::vector<FileRow> files;                   // most time first
  std::map<std::string, logformat::NamedValues> value_names;  // of all hooks
  std::vector<CpuRow> cpu_rows;
  bool fault_records = false;              // page faults were recorded
  std::vector<FaultRow> faults;            // most first
  bool has_levels = false;                 // a hook is one
  std::vector<LevelRow> levels;            // longest up first
  std::shared_ptr<const Samples> samples;  // null: not wanted
  // The only table of the report; null: it has the others.
  std::shared_ptr<SampleTable> sample_table;
  std::shared_ptr<TreeTable> tree_table;  // likewise
  std::vector<Books> books;  // one for each kernel dump event of `events`
  Loss loss;
  OwnCost own_cost;
  // Intervals in which a switch must lie that the kernel did not show.
  std::uint64_t hidden_switches = 0;
  std::uint64_t late_sub_buffers = 0;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_TABLES_H_
