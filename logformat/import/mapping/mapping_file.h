// Mapping files (TOML): how to convert the events of an imported trace.
//
//   ignore = ["lttng_ust_statedump:*"]   # events that are left out, by glob
//
//   [segment."shop:serve"]        # calls, in one tree with all others
//   begin = "shop:serve_begin"    # event names
//   end = "shop:serve_end"
//   key = ["order"]               # optional: fields both have, with equal
//                                 # values in what belongs together
//   across_threads = true         # optional: may end in another thread, or
//                                 # overlap another one; needs a key
//
//   [point."shop:coins"]          # optional: points are the default
//   event = "shop:tick"           # under another name
//
//   [counter."bytes-sent"]        # a count that grows, found in a field
//   field = "tx_bytes"            # of context or payload
//   event = "net:*"               # optional: of these events only
//
// Untrusted: size and nesting are limited before anything recurses.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_MAPPING_MAPPING_FILE_H_
#define COUNTRACE_LOGFORMAT_IMPORT_MAPPING_MAPPING_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace countrace::importer {

inline constexpr std::size_t kMaxMappingBytes = 256 * 1024;

struct SegmentMapping {
  std::string name;  // "provider:name"
  std::string begin, end;
  std::vector<std::string> key;
  bool across_threads = false;
  std::string place;  // FILE:LINE:COLUMN
};
struct PointMapping {
  std::string name, event, place;
};
struct CounterMapping {
  std::string name, field;
  std::string event = "*";  // glob
  std::string place;
};

struct Mapping {
  std::vector<std::string> ignore;
  std::vector<SegmentMapping> segments;
  std::vector<PointMapping> points;
  std::vector<CounterMapping> counters;
};

// Errors: kInvalidArgument, "FILE:LINE:COLUMN: message".
absl::StatusOr<Mapping> ParseMapping(std::string_view text,
                                     const std::string& file);
// Errors: also kNotFound and those of reading.
absl::StatusOr<Mapping> ReadMappingFile(const std::string& path);

// `*` matches any characters, `?` one.
bool MatchesEventGlob(std::string_view glob, std::string_view name);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_MAPPING_MAPPING_FILE_H_
