#include "viewer/index/build/index_pass.h"

#include <algorithm>
#include <utility>

#include "logformat/description/recorded_part.h"
#include "rmap/pipeline.h"
#include "rmap/range_observer.h"

namespace countrace::viewer {
namespace {

// Of 1,000: what reading a trace takes of building its index, measured.
constexpr std::uint64_t kReading = 600;

}  // namespace

absl::StatusOr<IndexPass> IndexPass::Read(
    logformat::TraceReader& reader, const std::string& directory,
    std::uint64_t most_bytes, const logformat::ProgressCallback& progress,
    const rmap::TableRange& asked) {
  rmap::TableRange range = asked;
  range.from_ns = std::max(
      range.from_ns, logformat::PartBeginNs(reader.info(), reader.end_ns()));
  absl::StatusOr<std::unique_ptr<IndexBuilder>> builder = IndexBuilder::Create(
      static_cast<std::uint32_t>(
          std::min(reader.info().cpu_events.size(), kMaxIndexedEvents)),
      directory,
      /*to_the_end=*/most_bytes == kWholeTrace);
  if (!builder.ok()) return builder.status();
  if (!reader.info().pauses.empty()) (*builder)->SetPauses();
  rmap::RangeObserver in_range(range, **builder);
  const bool is_part =
      range.from_ns > 0 || range.until_ns < rmap::TableRange().until_ns;
  if (is_part) {
    const std::uint64_t begin_ns =
        std::max(reader.info().begin_ns, reader.complete_from_ns());
    (*builder)->SetPart(std::max(range.from_ns, begin_ns) - begin_ns);
  }
  bool stopped = false;
  absl::StatusOr<rmap::Report> report = rmap::Reconstruct(
      reader,
      {.observer = is_part ? static_cast<rmap::TimelineObserver*>(&in_range)
                           : builder->get(),
       .range = range,
       .progress =
           [&](const logformat::Progress& read) {
             // A full disk is said at once, not after the last record.
             if (!(*builder)->status().ok()) return false;
             if (progress &&
                 !progress({read.done, read.total * 1000 / kReading})) {
               stopped = true;
             }
             return !stopped && read.done < most_bytes;
           },
       .keep_interrupted = true});
  if (!report.ok()) return report.status();
  if (!(*builder)->status().ok()) return (*builder)->status();
  if (stopped) return absl::CancelledError("The timeline index is not built");
  return IndexPass(reader, *std::move(builder), *std::move(report));
}

absl::Status IndexPass::Write(const Fingerprint& fingerprint,
                              const std::string& path,
                              const logformat::ProgressCallback& progress) {
  return builder_->Finish(
      report_, reader_->info(), fingerprint, path,
      [&](const logformat::Progress& written) {
        constexpr std::uint64_t kWriting = 1000 - kReading;
        return !progress ||
               progress({kReading * written.total + kWriting * written.done,
                         1000 * written.total});
      });
}

}  // namespace countrace::viewer
