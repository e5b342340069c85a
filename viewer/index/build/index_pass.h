// One pass over a trace, or over its first part, and the index of what it read.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_INDEX_PASS_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_INDEX_PASS_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "rmap/result/tables.h"
#include "viewer/index/build/index_builder.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

inline constexpr std::uint64_t kWholeTrace =
    std::numeric_limits<std::uint64_t>::max();

// Flow: Read(), then Write(), once. Thread: one.
class IndexPass {
 public:
  // Reads `reader`'s trace until some `most_bytes` of its streams were read:
  // all records up to one instant. `directory`: for temporary storage. `range`:
  // what the index is of, all records are read. `progress` has the share of the
  // whole pass, Write() included. Returns: errors of RowSpool, of its writes
  // and of reconstruction; CANCELLED if `progress` says stop.
  static absl::StatusOr<IndexPass> Read(
      logformat::TraceReader& reader, const std::string& directory,
      std::uint64_t most_bytes, const logformat::ProgressCallback& progress,
      const rmap::TableRange& range = {});
  // Publishes the index at `path`. Returns: as IndexBuilder::Finish().
  absl::Status Write(const Fingerprint& fingerprint, const std::string& path,
                     const logformat::ProgressCallback& progress);

 private:
  IndexPass(logformat::TraceReader& reader,
            std::unique_ptr<IndexBuilder> builder, rmap::Report report)
      : reader_(&reader),
        builder_(std::move(builder)),
        report_(std::move(report)) {}

  logformat::TraceReader* reader_;
  std::unique_ptr<IndexBuilder> builder_;
  rmap::Report report_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_INDEX_PASS_H_
