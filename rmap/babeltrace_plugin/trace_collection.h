// A countrace trace made from messages, in a private directory, and rmap's
// report of it. The directory is deleted with the object, or when the process
// ends.
//
// In: all messages, in time order. Out: a Report. Thread: one; forks
// (temporary_directory.h).
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_TRACE_COLLECTION_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_TRACE_COLLECTION_H_

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/temporary_directory.h"
#include "logformat/import/ctf/conversion.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/trace_output.h"
#include "logformat/read/trace_reader.h"
#include "rmap/babeltrace_plugin/message_feed.h"
#include "rmap/result/tables.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap::babeltrace_plugin {

class TraceCollection {
 public:
  // `mapping` outlives it. Errors: those of TemporaryDirectory::Create().
  static absl::StatusOr<std::unique_ptr<TraceCollection>> Create(
      const importer::Mapping& mapping);
  TraceCollection(const TraceCollection&) = delete;
  TraceCollection& operator=(const TraceCollection&) = delete;

  absl::Status Take(const bt_message& message);
  // Completes the trace. Call once, after the last message.
  absl::StatusOr<std::unique_ptr<logformat::TraceReader>> Finish();
  // The time 0 of the trace, in ns since the origin of the messages' clocks.
  std::int64_t origin_ns() const { return conversion_.origin_ns(); }
  // The clock of their first stream. Requires: Finish() returned a reader.
  const bt_clock_class* clock() const { return feed_.clock(); }

 private:
  TraceCollection(std::unique_ptr<base::TemporaryDirectory> directory,
                  const importer::Mapping& mapping,
                  const logformat::Uuid& uuid);

  std::unique_ptr<base::TemporaryDirectory> directory_;
  importer::TraceOutput output_;
  importer::Conversion conversion_;
  MessageFeed feed_;
};

// FAILED_PRECONDITION, with `remedy`, if the trace's events have no times.
absl::Status CheckTimes(const logformat::TraceInfo& info,
                        std::string_view remedy);

// Called now and then; true: stop.
using IsInterrupted = std::function<bool()>;
// Errors: CANCELLED: interrupted; those of Reconstruct().
absl::StatusOr<Report> ReconstructUnless(const IsInterrupted& interrupted,
                                         logformat::TraceReader& reader,
                                         TimelineObserver* observer,
                                         const WantedRows& rows = {});

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_TRACE_COLLECTION_H_
