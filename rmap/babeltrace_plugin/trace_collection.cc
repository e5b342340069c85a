#include "rmap/babeltrace_plugin/trace_collection.h"

#include <sys/random.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/pipeline.h"

namespace countrace::rmap::babeltrace_plugin {

namespace {

// Names TMPDIR: the user may not expect the conversion there.
absl::Status WithPlace(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s. TMPDIR names another place", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceCollection>> TraceCollection::Create(
    const importer::Mapping& mapping) {
  logformat::Uuid uuid{};
  if (getrandom(uuid.data(), uuid.size(), 0) !=
      static_cast<ssize_t>(uuid.size())) {
    return absl::InternalError("Cannot get random bytes");
  }
  auto directory = base::TemporaryDirectory::Create();
  if (!directory.ok()) return directory.status();
  return std::unique_ptr<TraceCollection>(
      new TraceCollection(*std::move(directory), mapping, uuid));
}

TraceCollection::TraceCollection(
    std::unique_ptr<base::TemporaryDirectory> directory,
    const importer::Mapping& mapping, const logformat::Uuid& uuid)
    : directory_(std::move(directory)),
      output_({.directory = directory_->path(), .uuid = uuid}),
      conversion_(output_, mapping, [](std::uint64_t, std::uint64_t) {}),
      feed_(conversion_) {}

absl::Status TraceCollection::Take(const bt_message& message) {
  return WithPlace(feed_.Take(message));
}

absl::StatusOr<std::unique_ptr<logformat::TraceReader>>
TraceCollection::Finish() {
  absl::Status status = feed_.Finish();
  if (status.ok()) status = conversion_.Finish();
  const std::string source = feed_.SourcePath();
  if (!output_.description().info.source.empty()) {
    output_.description().info.source_paths = {source};
  }
  if (status.ok()) status = output_.Finish();
  if (!status.ok()) return WithPlace(status);
  return logformat::TraceReader::Open(directory_->path(), source);
}

absl::Status CheckTimes(const logformat::TraceInfo& info,
                        std::string_view remedy) {
  if (info.has_times) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "The events of %s have no times, because its recorder had no clock: %s",
      info.path, remedy));
}

absl::StatusOr<Report> ReconstructUnless(const IsInterrupted& interrupted,
                                         logformat::TraceReader& reader,
                                         TimelineObserver* observer,
                                         const WantedRows& rows) {
  PipelineOptions options;
  options.observer = observer;
  options.rows = rows;
  options.progress = [&interrupted](const logformat::Progress&) {
    return !interrupted();
  };
  return Reconstruct(reader, options);
}

}  // namespace countrace::rmap::babeltrace_plugin
