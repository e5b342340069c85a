// A perf.data file: its header, what is counted (attributes), what it says of
// the machine (features), and where its records lie. Also what `perf record -o
// -` writes to a pipe, which says the same in records.
//
// In: the bytes of a file, untrusted. Out: FileDescription. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_DATA_FILE_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_DATA_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/import/perf/byte_reader.h"

namespace countrace::importer::perf {

// What was counted: an event of the command line, on all CPUs and threads.
struct EventAttribute {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t sample_period = 0;  // a frequency with kFreq
  std::uint64_t sample_type = 0, read_format = 0;
  std::uint64_t flags = 0;  // AttrFlag
  std::int32_t clock_id = 0;
  std::vector<std::uint64_t> ids;
  std::string name;  // "" if the file does not say it
  bool Has(std::uint64_t flag) const { return (flags & flag) != 0; }
};

struct FileDescription {
  bool swapped = false;     // against this machine
  bool big_endian = false;  // the recording machine
  bool pipe = false;
  bool unfinished = false;  // perf did not come to write where its data end
  std::uint64_t data_begin = 0, data_end = 0;  // offsets of the records
  std::vector<EventAttribute> attributes;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> by_id;  // attribute's index
  std::string hostname, os_release, version, arch, command;
  std::uint32_t cpus = 0;
  bool system_wide = false;
  bool compressed = false;
  std::span<const std::byte> tracing_data;
  std::uint64_t first_sample_ns = 0, last_sample_ns = 0;  // 0: not said
  // CLOCK_DATA: of one instant, the time of day and the events' clock.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> wall_and_clock_ns;

  const EventAttribute* Find(std::uint64_t id) const {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : &attributes[found->second];
  }
};

// Of a file's first bytes: it is perf's.
bool IsPerfData(std::span<const std::byte> bytes);

// `bytes`: the whole file; they stay until the description goes.
// Returns: INVALID_ARGUMENT what is wrong, and at which offset.
absl::StatusOr<FileDescription> DescribeFile(std::span<const std::byte> bytes);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_DATA_FILE_H_
