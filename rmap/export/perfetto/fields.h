// Field numbers of Perfetto's trace format, as its .proto files publish them
// (github.com/google/perfetto, protos/perfetto): those that are written here.
// tests/cli/perfetto_written.proto has the same ones with their types.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_FIELDS_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_FIELDS_H_

#include <cstdint>
#include <protozero/pbf_writer.hpp>

namespace countrace::rmap::perfetto {

using Message = protozero::pbf_writer;
using Tag = protozero::pbf_tag_type;

// trace/trace.proto, trace/trace_packet.proto
inline constexpr Tag kPacketOfTrace = 1;
enum : Tag { kFtraceEvents = 1, kClockSnapshot = 6, kTimestamp = 8 };
enum : Tag { kSequenceId = 10, kTrackEvent = 11, kInternedData = 12 };
enum : Tag { kSequenceFlags = 13, kTraceStats = 35 };
enum : Tag { kPreviousPacketDropped = 42, kSystemInfo = 45 };
enum : Tag { kCompressedPackets = 50, kTimestampClockId = 58 };
enum : Tag { kPacketDefaults = 59, kTrackDescriptor = 60, kPerfSample = 66 };
enum : Tag { kFirstPacketOnSequence = 87 };
enum SequenceFlags : std::uint32_t { kStateCleared = 1, kNeedsState = 2 };
// trace/clock_snapshot.proto, common/builtin_clock.proto. From 64 to 127, a
// clock is of one sequence.
enum Clocks : std::uint32_t {
  kRealtime = 1,
  kMonotonic = 3,
  kBoottime = 6,
  kDeltas = 64
};
enum : Tag { kClocks = 1, kPrimaryTraceClock = 2 };
enum : Tag { kClockId = 1, kClockTime = 2, kClockIsIncremental = 3 };
// trace/trace_packet_defaults.proto, trace/profiling/profile_packet.proto,
// common/perf_events.proto
enum : Tag { kPerfSampleDefaults = 12, kDefaultClockId = 58 };
enum : Tag { kTimebase = 1 };
enum : Tag { kTimebaseName = 10 };
// common/system_info.proto
enum : Tag { kUtsname = 1 };
enum : Tag { kSysname = 1, kRelease = 3 };
// common/trace_stats.proto
enum : Tag { kBufferStats = 1 };
enum : Tag { kPacketLoss = 19 };
// trace/interned_data/interned_data.proto; each entry has an iid (1) and a
// text (2), but for those below
enum : Tag { kEventNames = 2, kAnnotationNames = 3, kFunctionNames = 5 };
enum : Tag { kFrames = 6, kCallstacks = 7, kBuildIds = 16, kMappingPaths = 17 };
enum : Tag { kMappings = 19 };
inline constexpr Tag kIid = 1, kInternedText = 2;
// trace/profiling/profile_common.proto
enum : Tag { kBuildId = 2, kMappingEnd = 5, kPathIds = 7 };
enum : Tag { kFunctionId = 2, kMappingId = 3, kRelativePc = 4 };
enum : Tag { kFrameIds = 2 };
enum : Tag { kSamplePid = 2, kSampleTid = 3, kCallstackId = 4 };
inline constexpr Tag kKernelRecordsLost = 17;
// trace/track_event/*.proto
enum : Tag { kUuid = 1, kTrackName = 2, kProcess = 3, kThread = 4 };
enum : Tag { kParentUuid = 5, kCounter = 8 };
enum : Tag { kProcessPid = 1, kProcessName = 6 };
enum : Tag { kThreadPid = 1, kThreadTid = 2, kThreadName = 5 };
enum : Tag { kUnit = 3 };
enum CounterUnit : std::int32_t { kTimeNs = 1, kCount = 2 };
enum : Tag { kAnnotations = 4, kType = 9, kNameIid = 10, kTrackUuid = 11 };
enum : Tag { kName = 23, kCounterValue = 30 };
enum class EventType : std::int32_t {
  kBegin = 1,
  kEnd = 2,
  kInstant = 3,
  kCounter = 4
};
enum : Tag { kAnnotationNameIid = 1, kUnsigned = 3, kSigned = 4, kDouble = 5 };
enum : Tag { kText = 6, kPointer = 7, kAnnotationName = 10 };
// trace/ftrace/ftrace_event_bundle.proto, ftrace_event.proto, sched.proto
enum : Tag { kBundleCpu = 1, kBundleEvent = 2, kLostEvents = 3 };
enum : Tag { kFtraceTime = 1, kFtracePid = 2, kSchedSwitch = 4 };
enum : Tag { kCommonFlags = 5, kSchedWaking = 20 };
enum : Tag { kPrevComm = 1, kPrevPid = 2, kPrevState = 4, kNextComm = 5 };
enum : Tag { kNextPid = 6 };
enum : Tag { kWakeeComm = 1, kWakeePid = 2, kTargetCpu = 5 };

}  // namespace countrace::rmap::perfetto

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_FIELDS_H_
