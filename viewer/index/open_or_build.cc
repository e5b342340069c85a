#include "viewer/index/open_or_build.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "rmap/pipeline.h"
#include "viewer/index/checksum.h"
#include "viewer/index/index_builder.h"

namespace countrace::viewer {
namespace {

std::string CacheDirectory() {
  if (const char* cache = ::getenv("XDG_CACHE_HOME");
      cache != nullptr && *cache == '/') {
    return std::string(cache) + "/countrace";
  }
  if (const char* home = ::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.cache/countrace";
  }
  return {};
}

// Adds the first and last bytes of a file: packet heads carry times, so two
// recordings differ in them. A file that cannot be read adds nothing; reading
// the trace reports the reason.
void AppendEnds(const std::string& path, std::string& text) {
  constexpr off_t kEndBytes = 4096;
  const base::ScopedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return;
  char bytes[kEndBytes];
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  for (const off_t at : {off_t{0}, std::max(off_t{0}, size - kEndBytes)}) {
    const ssize_t got = ::pread(file.get(), bytes, sizeof(bytes), at);
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
  }
}

}  // namespace

Fingerprint FingerprintOf(const logformat::TraceReader& reader) {
  Fingerprint fingerprint{};
  std::memcpy(fingerprint.uuid, reader.info().uuid.data(),
              sizeof(fingerprint.uuid));
  std::string text = reader.info().finished ? "finished" : "unfinished";
  for (const logformat::StreamInfo& stream : reader.streams()) {
    fingerprint.stream_bytes += stream.bytes;
    text += absl::StrFormat("\n%s %d ", stream.file, stream.bytes);
    AppendEnds(reader.directory() + "/" + stream.file, text);
  }
  fingerprint.stream_hash =
      ChecksumOf(std::as_bytes(std::span(text.data(), text.size())));
  return fingerprint;
}

absl::StatusOr<std::string> IndexPathFor(const std::string& trace_path) {
  if (::access(trace_path.c_str(), W_OK) == 0) {
    return trace_path + "/" + kIndexFile;
  }
  const std::string cache = CacheDirectory();
  std::error_code error;
  if (!cache.empty()) std::filesystem::create_directories(cache, error);
  if (cache.empty() || error || ::access(cache.c_str(), W_OK) != 0) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "No place for the timeline index: trace-directory=%s, "
        "cache-directory=%s. Make one of them writable, or set "
        "XDG_CACHE_HOME",
        trace_path, cache.empty() ? "(HOME is not set)" : cache));
  }
  const std::filesystem::path absolute =
      std::filesystem::weakly_canonical(trace_path, error);
  const std::string name = error ? trace_path : absolute.string();
  return absl::StrFormat(
      "%s/%016x.pvx", cache,
      ChecksumOf(std::as_bytes(std::span(name.data(), name.size()))));
}

absl::StatusOr<std::unique_ptr<TimelineIndex>> OpenOrBuildIndex(
    const std::string& trace_path, const logformat::ProgressCallback& progress,
    const std::string& shown_as) {
  absl::StatusOr<std::unique_ptr<logformat::TraceReader>> reader =
      logformat::TraceReader::Open(trace_path, shown_as);
  if (!reader.ok()) return reader.status();
  const Fingerprint fingerprint = FingerprintOf(**reader);
  const absl::StatusOr<std::string> path = IndexPathFor(trace_path);
  if (!path.ok()) return path.status();
  absl::StatusOr<std::unique_ptr<TimelineIndex>> index =
      TimelineIndex::Open(*path, &fingerprint);
  if (index.ok()) return index;

  const std::string directory =
      std::filesystem::path(*path).parent_path().string();
  absl::StatusOr<std::unique_ptr<IndexBuilder>> builder = IndexBuilder::Create(
      static_cast<std::uint32_t>((*reader)->info().cpu_events.size()),
      directory);
  if (!builder.ok()) return builder.status();
  const absl::StatusOr<rmap::Report> report = rmap::Reconstruct(
      **reader, {.observer = builder->get(), .progress = progress});
  if (!report.ok()) return report.status();
  if (absl::Status built =
          (*builder)->Finish(*report, (*reader)->info(), fingerprint, *path);
      !built.ok()) {
    return built;
  }
  return TimelineIndex::Open(*path, &fingerprint);
}

}  // namespace countrace::viewer
