// What a perf.data file says of itself: what is counted (attributes), the
// machine (features), and where its records lie.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_DESCRIPTION_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_DESCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace countrace::importer::perf {

// A counted event: one of the command line, on all CPUs and threads.
struct EventAttribute {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t sample_period = 0;  // a frequency with kFreq
  std::uint64_t sample_type = 0, read_format = 0;
  std::uint64_t flags = 0;           // AttrFlag
  std::uint64_t branch_type = 0;     // PERF_SAMPLE_BRANCH_STACK: its fields
  std::uint64_t user_registers = 0;  // PERF_SAMPLE_REGS_USER: which ones
  std::uint32_t stack_bytes = 0;     // PERF_SAMPLE_STACK_USER: the most
  std::int32_t clock_id = 0;
  std::vector<std::uint64_t> ids;
  std::string name;  // "" if it is not in the file
  bool Has(std::uint64_t flag) const { return (flags & flag) != 0; }
};

struct FileDescription {
  bool swapped = false;     // other byte order than this machine
  bool big_endian = false;  // byte order of the recording machine
  bool pipe = false;
  bool unfinished = false;  // perf ended before it wrote the end of the data
  // Behind the records; `missing`: where the file is cut.
  std::uint32_t features = 0, missing_features = 0;
  std::uint64_t data_begin = 0, data_end = 0;  // offsets of the records
  std::vector<EventAttribute> attributes;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> by_id;  // attribute's index
  std::string hostname, os_release, version, arch, command;
  std::uint32_t cpus = 0;
  bool system_wide = false;
  bool compressed = false;
  std::span<const std::byte> tracing_data;
  // By path, hexadecimal; those of files with samples.
  absl::flat_hash_map<std::string, std::string> build_ids;
  std::uint64_t first_sample_ns = 0, last_sample_ns = 0;  // 0: unknown
  // CLOCK_DATA: time of day and the events' clock at one instant.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> wall_and_clock_ns;

  const EventAttribute* Find(std::uint64_t id) const {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : &attributes[found->second];
  }
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_FILE_DESCRIPTION_H_
