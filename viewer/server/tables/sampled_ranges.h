// The samples of ranges of a trace, and their tables of functions: the last
// ones are kept, since a table is asked for in pages and in several orders,
// and its functions' listings are of the same samples.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_SAMPLED_RANGES_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_SAMPLED_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/trace_info.h"
#include "rmap/pipeline.h"
#include "rmap/result/samples.h"
#include "viewer/server/tables/function_table.h"

namespace countrace::viewer {

struct SampledRangeKey {
  std::string trace_path;
  std::string index;  // its name: a recording that goes on has several
  rmap::TableRange range;

  bool operator==(const SampledRangeKey& other) const {
    return trace_path == other.trace_path && index == other.index &&
           range.from_ns == other.range.from_ns &&
           range.until_ns == other.range.until_ns;
  }
};

struct SampledRange {
  rmap::Samples samples;  // no events: the trace has no samples
  logformat::TraceInfo info;
};

class SampledRanges {
 public:
  // Errors: of the reader; CANCELLED `progress` returned false.
  absl::StatusOr<std::shared_ptr<const SampledRange>> SamplesOf(
      const SampledRangeKey& key, logformat::ProgressCallback progress);
  // Requires: SamplesOf(key) gave `range`.
  std::shared_ptr<const NamedFunctions> FunctionsOf(
      const SampledRangeKey& key,
      const std::shared_ptr<const SampledRange>& range,
      const ChosenSamples& chosen);

 private:
  struct Kept {
    SampledRangeKey key;
    std::shared_ptr<const SampledRange> range;
    std::map<ChosenSamples, std::shared_ptr<const NamedFunctions>> functions;
  };

  // Null: it is not kept. Else the entry becomes the last to go.
  // Requires: mutex_ is held.
  Kept* Find(const SampledRangeKey& key);

  std::mutex mutex_;
  std::vector<Kept> kept_;  // the last to go first
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_SAMPLED_RANGES_H_
