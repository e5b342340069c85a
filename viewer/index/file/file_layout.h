// On-disk structures of the timeline index, `.timeline.pvx` (README.md, "Index
// file"). Little-endian, read through mmap; every array is 8-byte aligned.
//
// Times inside the index are ns since `FileHeader::begin_ns`. Rows are stored
// in display order. Every offset is from the start of the file.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_FILE_LAYOUT_H_
#define COUNTRACE_VIEWER_INDEX_FILE_FILE_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace countrace::viewer {

inline constexpr char kIndexFile[] = ".timeline.pvx";
inline constexpr std::uint64_t kIndexMagic = 0x3130787650747463;  // "ctPvx01"
// Incremented with every change of a structure below; indexes of another
// version are rebuilt.
inline constexpr std::uint32_t kIndexVersion = 21;

inline constexpr std::uint32_t kNoKey = 0xffffffffu;
inline constexpr std::uint64_t kUnknownTime = ~std::uint64_t{0};

// Identifies the trace of an index. Any difference means stale.
struct Fingerprint {
  std::uint8_t uuid[16];
  std::uint64_t stream_bytes;  // of all stream files
  std::uint64_t stream_hash;   // names, sizes, first and last bytes of them
  bool operator==(const Fingerprint&) const = default;
};
static_assert(sizeof(Fingerprint) == 32);

enum class Section : std::uint32_t {
  kRowData,     // leaves, forest nodes, prefix sums, postings
  kRows,        // RowEntry
  kGroups,      // GroupEntry
  kProcesses,   // ProcessEntry
  kThreads,     // ThreadEntry
  kHooks,       // HookEntry, ascending by id
  kLosses,      // LossEntry, by begin, at most kMaxLosses
  kOverview,    // StripColumn[overview_rows][kOverviewColumns]
  kStrings,     // bytes the name fields point into
  kFacts,       // JSON text about the trace, sent to the client as it is
  kMissing,     // MissingSpan by time
  kCountRules,  // CountRule of each event
  // Why numbers of a range are inferred: InferredStep by thread and time;
  // InferredCall by group and posting.
  kInferredSwitches,
  kInferredCalls,
  kPaths,  // PathEntry; a parent is before its children
};
inline constexpr std::size_t kSections = 15;
inline constexpr std::size_t kSectionAlignBytes = 64;

struct SectionEntry {
  std::uint64_t offset, bytes, checksum;
};

enum HeaderFlags : std::uint32_t {
  kWakeups = 1u << 0,  // were recorded: blocked time ends where it ended
  // It has the trace's first part, as if the recording had ended there. The
  // index of the whole trace takes its place.
  kFirstPart = 1u << 1,
  kPauses = 1u << 2,  // parts of the trace are left out
};

struct FileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  // sizeof(FileHeader)
  std::uint64_t file_bytes;
  Fingerprint trace;
  std::uint64_t begin_ns;  // CLOCK_MONOTONIC of time 0
  std::uint64_t duration_ns;
  std::uint32_t cpus;
  std::uint32_t events;  // kernel dump events
  std::uint32_t overview_rows;
  std::uint32_t flags;  // HeaderFlags
  SectionEntry sections[kSections];
  std::uint64_t header_checksum;  // of everything before it
};
static_assert(sizeof(FileHeader) == 88 + 24 * kSections + 8);

enum class RowKind : std::uint32_t {
  kQuality = 0,     // merged loss intervals; key = LossEntry; extra = count
  kCpu = 1,         // dispatches on one CPU; key = thread; extra = ns of
                    // interrupts
  kThreadRun = 2,   // dispatches of one thread; key = CPU; extras = counts,
                    // ns blocked since the dispatch before, ns of interrupts
  kHook = 3,        // point hooks of one thread; key = hook id
  kSegment = 4,     // segments of one thread at one depth; key = hook id;
                    // extra = on-CPU ns (kUnknownTime: unknown)
  kIdleRun = 5,     // idle of one CPU, with counts; not drawn
  kOutsideRun = 6,  // outside the recorded command, one CPU; not drawn
  kCounter = 7,     // counter dumps of one CPU (CounterLeaf)
  kThreadWait = 8,  // one thread runnable, on no CPU; key = waker or kNoKey
  kInterrupt = 9,   // interrupt handlers of one CPU at one depth; key = hook id
  kInterruptTime = 10,  // time of one CPU in interrupts
  kFault = 11,          // fault records of one thread: times
  kThreadBlocked = 12,  // of a trace with pauses: one thread blocked. Else its
                        // dispatches and waits show that
  kLevel = 13,  // one level of one thread, process (RowFlags) or the machine
                // was up; depth = hook id, key = the thread that raised it;
                // kLeafOutside: it is not known whether it was
};
inline constexpr RowKind kLastRowKind = RowKind::kLevel;

// Extras of a row of the kinds k...Run.
constexpr std::uint32_t RunExtras(std::uint32_t events) { return events + 2; }

// Where in a dispatch its counts of an event are, as in the report of a range.
enum class CountRule : std::uint32_t {
  kSpread = 0,    // not known; a state spreads it evenly over its time
  kOnCpu = 1,     // a clock: with its time, interrupts left out
  kAtBegin = 2,   // the switch that began it
  kAtFaults = 3,  // at its fault records
};
// With one of these: its set took turns, so that the report has an estimate.
inline constexpr std::uint32_t kRuleInTurns = 1u << 8;

enum RowFlags : std::uint32_t {
  kRowCountsUnknown = 1u << 0,  // a leaf has no counts: sums are too low
  kRowUnsure = 1u << 1,         // kCpu: kUnsureInGaps
  kRowOfThread = 1u << 2,       // kLevel: its owner
  kRowOfProcess = 1u << 3,
};

// One row of intervals, points or dumps. Leaves are in time order and do not
// overlap. They are packed (packed_block.h): `leaf_offset` has the offset of
// each block of kPackedBlock leaves, u64.
struct RowEntry {
  RowKind kind;
  std::uint32_t owner;   // CPU, thread or process
  std::uint32_t depth;   // kSegment, kInterrupt; kLevel: a hook
  std::uint32_t flags;   // RowFlags
  std::uint32_t extras;  // u64 values after each IntervalLeaf
  std::uint32_t reserved;
  std::uint64_t leaves;  // count
  std::uint64_t leaf_offset;
  std::uint64_t node_offset;  // in-order forest over blocks
  // (1 + extras) u64 for each block, plus the total.
  std::uint64_t prefix_offset;
  std::uint32_t first_group, groups;  // kSegment, kHook
};
static_assert(sizeof(RowEntry) == 64);

enum LeafFlags : std::uint32_t {
  kLeafBeginInferred = 1u << 0,
  kLeafEndInferred = 1u << 1,
  kLeafIdle = 1u << 2,
  kLeafOutside = 1u << 3,
  kLeafDisplaced = 1u << 4,  // drawn below its depth: it overlapped
  kLeafCountsUnknown = 1u << 5,
  // kThreadRun: the state in which the thread left its CPU, a
  // logformat::SwitchState.
  kLeafEndStateShift = 16,
  // kThreadWait: 1 + rmap::WakerKind of what ended the sleep before; 0: none.
  kLeafWakerShift = 16,
};

struct IntervalLeaf {
  std::uint64_t begin_ns, end_ns;
  std::uint32_t key;
  std::uint32_t flags;  // LeafFlags
  // RowEntry::extras u64 values follow.
};
static_assert(sizeof(IntervalLeaf) == 24);
inline constexpr std::uint64_t kPackedBlock = 64;  // leaves, postings
inline constexpr std::uint64_t kIntervalBlock = kPackedBlock;

// Share of one key in an interval node (Misra-Gries, 4 entries: an entry is at
// most busy/5 below the truth, and every key above busy/5 is present).
struct SketchEntry {
  std::uint32_t key;
  float share_ns;
};
inline constexpr std::size_t kSketchEntries = 4;

struct IntervalNode {
  std::uint64_t busy_ns;  // without idle and outside
  std::uint64_t idle_ns;
  std::uint64_t outside_ns;
  std::uint32_t count;       // of busy leaves, saturated
  std::uint32_t longest_ns;  // of busy leaves, saturated
  SketchEntry sketch[kSketchEntries];
};
static_assert(sizeof(IntervalNode) == 64);

// Fields of a point: these (point_row.h).
struct PointLeaf {
  std::uint64_t time_ns;
  std::uint32_t key;
  std::uint32_t reserved;
};
static_assert(sizeof(PointLeaf) == 16);

// Cumulative values of one CPU. `gaps` bit e: the count of event e since the
// previous leaf is unknown; its value is carried over. `FileHeader::events` u64
// values follow. Fields of a dump: these (counter_row.h).
struct CounterLeaf {
  std::uint64_t time_ns;
  std::uint64_t gaps;
};
inline constexpr std::uint64_t kCounterBlock = 256;  // steps between leaves

// Rates (events per ns) of one event over the steps of a block.
struct CounterNode {
  float min_rate, max_rate;  // min > max: no known step
  std::uint32_t gaps;        // steps with unknown counts
  std::uint32_t reserved;
};
static_assert(sizeof(CounterNode) == 16);

enum PathFlags : std::uint32_t {
  kPathRecursive = 1u << 0,  // an enclosing call is of the same hook
  kPathFolded = 1u << 1,     // what encloses it is not kept: kMaxPaths
};

// A call path: of calls of one hook inside the same calls.
struct PathEntry {
  std::uint32_t parent;  // number of the path around it, or kNoKey
  std::uint32_t key;     // hook id
  std::uint32_t flags;   // PathFlags
  std::uint32_t reserved;
};
static_assert(sizeof(PathEntry) == 16);
// Calls of further paths are in one for each hook.
inline constexpr std::size_t kMaxPaths = 1 << 16;

enum GroupFlags : std::uint32_t {
  kGroupUnsure = 1u << 0,  // the report has limits of the process's calls
  // The report has the segment as inferred, whether its calls' ends were
  // recorded or not: a jump left calls.
  kGroupInferred = 1u << 1,
};

// The leaves of one row with the same key and path, in time order.
struct GroupEntry {
  std::uint32_t row;
  std::uint32_t key;     // hook id
  std::uint32_t parent;  // hook id of the enclosing segment, or kNoKey
  std::uint32_t process;
  std::uint32_t path;   // kNoKey: of a hook or an interrupt
  std::uint32_t flags;  // GroupFlags
  std::uint64_t count;
  std::uint64_t posting_offset;  // packed leaf numbers: as leaf_offset
  std::uint64_t prefix_offset;   // GroupSum before the end of each kGroupBlock
};
static_assert(sizeof(GroupEntry) == 48);
inline constexpr std::uint64_t kGroupBlock = kPackedBlock;

struct GroupSum {
  std::uint64_t wall_ns, on_cpu_ns, on_cpu_unknown;
  // Calls whose begin was inferred: in no sum, as in the report, since how long
  // they were open is not known.
  std::uint64_t uncounted;
};

struct NameRef {
  std::uint32_t offset, bytes;  // in kStrings
};
// A switch of the thread whose time was computed; `split`: an exec within a
// dispatch (rmap::InferredSwitch).
struct InferredStep {
  std::uint32_t thread, split;
  std::uint64_t time_ns;
};
static_assert(sizeof(InferredStep) == 16);
// Further ones of a thread are one at kUnknownTime: anywhere.
inline constexpr std::size_t kMaxInferredSteps = 1 << 20;

// A call of a group of segments whose end was not recorded.
struct InferredCall {
  std::uint32_t group, posting;
};

// Where the numbers of a row are not sure: the report has limits of them in the
// whole trace, or more than the leaves.
enum Unsure : std::uint32_t {
  kSure = 0,
  kUnsureInGaps = 1,    // in a range that touches a MissingSpan
  kUnsureAnywhere = 2,  // it was on CPUs that were not recorded
};

struct ProcessEntry {
  std::int32_t pid, parent_pid;
  NameRef comm;
  std::uint64_t on_cpu_ns;  // kUnknownTime: unknown
  std::uint32_t in_scope;
  std::uint32_t listed;  // 0: a hole in the numbering; else 1 + rmap::Quality
  std::uint32_t unsure;  // Unsure
  std::uint32_t reserved;
};
static_assert(sizeof(ProcessEntry) == 40);
struct ThreadEntry {
  std::int32_t tid, pid;
  std::uint32_t process;
  std::uint32_t listed;  // as in ProcessEntry
  NameRef comm;
  std::uint64_t on_cpu_ns;
  std::uint64_t first_seen_ns, last_seen_ns;
  std::uint32_t unsure;  // as in ProcessEntry
  std::uint32_t reserved;
};
static_assert(sizeof(ThreadEntry) == 56);
struct HookEntry {
  std::uint32_t id;
  std::uint16_t kind;    // logformat::HookKind
  std::uint16_t origin;  // logformat::HookOrigin
  NameRef name, location;
};
static_assert(sizeof(HookEntry) == 24);
struct LossEntry {
  std::int32_t cpu;  // -1: of a thread
  std::uint32_t thread;
  std::uint64_t begin_ns, end_ns, count;  // count 0: unknown
  NameRef cause;
};
static_assert(sizeof(LossEntry) == 40);
inline constexpr std::size_t kMaxLosses = 1000;

// Here something is missing: records, the occupant of a CPU, the owner of
// counts. No two touch.
struct MissingSpan {
  std::uint64_t begin_ns, end_ns;
};
// Beyond these, neighbours become one.
inline constexpr std::size_t kMaxMissing = 65536;

enum ColumnFlags : std::uint8_t {
  kColumnMerged = 1u << 0,   // more than one leaf
  kColumnGap = 1u << 1,      // part of the column is unknown
  kColumnIdle = 1u << 2,     // some idle
  kColumnOutside = 1u << 3,  // some time outside the recorded command
  kColumnInferred = 1u << 4,
};

// One column of a strip: its dominant key and its covered share.
struct StripColumn {
  std::uint32_t key;      // kNoKey: none
  std::uint16_t count;    // leaves, in tiles those that begin; saturated
  std::uint8_t coverage;  // busy share of 255; at least 1 if any
  std::uint8_t flags;     // ColumnFlags
};
static_assert(sizeof(StripColumn) == 8);

inline constexpr std::uint32_t kOverviewColumns = 2048;
inline constexpr std::uint32_t kMaxOverviewRows = 31;  // machine + 30 CPUs

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_FILE_LAYOUT_H_
