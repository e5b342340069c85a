// Numbers of perf.data that the kernel's <linux/perf_event.h> does not define:
// those of the program perf (tools/perf/util/header.h and
// tools/lib/perf/include/perf/event.h of Linux 6.1;
// tools/perf/Documentation/perf.data-file-format.txt).
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_LAYOUT_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace countrace::importer::perf {

inline constexpr char kMagic[] = "PERFILE2";  // "2ELIFREP": other byte order
inline constexpr std::size_t kMagicBytes = 8;
inline constexpr std::uint64_t kPipeHeaderBytes = 16;
inline constexpr std::uint64_t kFileHeaderBytes = 104;
inline constexpr std::size_t kRecordHeaderBytes = 8;
// Size of the first published perf_event_attr.
inline constexpr std::uint64_t kMinAttrBytes = 64;

// Records that perf itself writes, besides the kernel's.
enum UserRecord : std::uint32_t {
  kHeaderAttr = 64,
  kHeaderEventType = 65,
  kHeaderTracingData = 66,
  kHeaderBuildId = 67,
  kFinishedRound = 68,
  kIdIndex = 69,
  kAuxtraceInfo = 70,
  kAuxtrace = 71,
  kAuxtraceError = 72,
  kThreadMap = 73,
  kCpuMap = 74,
  kStatConfig = 75,
  kStat = 76,
  kStatRound = 77,
  kEventUpdate = 78,
  kTimeConv = 79,
  kHeaderFeature = 80,
  kCompressed = 81,
  kFinishedInit = 82,
  kCompressed2 = 83,
};
inline constexpr std::uint32_t kFirstUserRecord = 64;

// Bits of the header's feature map, in the order of the sections.
enum Feature : std::uint32_t {
  kTracingData = 1,
  kBuildId = 2,
  kHostname = 3,
  kOsRelease = 4,
  kPerfVersion = 5,
  kArch = 6,
  kNrCpus = 7,
  kCmdline = 11,
  kEventDesc = 12,
  kStatTotals = 19,
  kSampleTime = 21,
  kClockId = 23,
  kDirFormat = 24,
  kCompression = 27,
  kClockData = 29,
};
inline constexpr std::uint32_t kFeatureBits = 256;

// perf_event_attr's flags, in the bit order of a little-endian machine.
enum AttrFlag : std::uint64_t {
  kInherit = std::uint64_t{1} << 1,
  kFreq = std::uint64_t{1} << 10,
  kTask = std::uint64_t{1} << 13,
  kSampleIdAll = std::uint64_t{1} << 18,
  kUseClockId = std::uint64_t{1} << 25,
  kContextSwitch = std::uint64_t{1} << 26,
  kBuildIds = std::uint64_t{1} << 34,  // in MMAP2 records
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_LAYOUT_H_
