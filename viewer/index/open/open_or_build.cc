#include "viewer/index/open/open_or_build.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "viewer/index/build/index_pass.h"
#include "viewer/index/file/checksum.h"
#include "viewer/index/open/build_lock.h"
#include "viewer/index/open/cache_directory.h"
#include "viewer/index/open/first_parts.h"

namespace countrace::viewer {
namespace {

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

// What builders left that were killed. Requires: the lock of `index_path`.
void RemoveLeftovers(const std::string& index_path) {
  const std::filesystem::path path(index_path);
  const std::string begin = path.filename().string() + ".";
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(path.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".tmp")) {
      std::filesystem::remove(entry.path(), error);
    }
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
  if (cache.empty() || !MakeCacheDirectory(cache)) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "No place for the timeline index: trace-directory=%s, "
        "cache-directory=%s. Make one of them writable, or set "
        "XDG_CACHE_HOME",
        trace_path, cache.empty() ? "(HOME is not set)" : cache));
  }
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::weakly_canonical(trace_path, error);
  const std::string name = error ? trace_path : absolute.string();
  return absl::StrFormat(
      "%s/%016x.pvx", cache,
      ChecksumOf(std::as_bytes(std::span(name.data(), name.size()))));
}

absl::StatusOr<std::unique_ptr<TimelineIndex>> OpenOrBuildIndex(
    const std::string& trace_path, const logformat::ProgressCallback& progress,
    const std::string& shown_as, const FirstParts& parts) {
  absl::StatusOr<std::unique_ptr<logformat::TraceReader>> reader =
      logformat::TraceReader::Open(trace_path, shown_as);
  if (!reader.ok()) return reader.status();
  const Fingerprint fingerprint = FingerprintOf(**reader);
  const absl::StatusOr<std::string> path = IndexPathFor(trace_path);
  if (!path.ok()) return path.status();

  std::uint64_t shown_ns = 0;  // length of the last part
  const auto show = [&](std::unique_ptr<TimelineIndex> part,
                        const logformat::TraceReader& whole) {
    const std::uint64_t begin_ns = part->header().begin_ns;
    parts.on_part(std::move(part), RecordedFrom(whole, begin_ns));
  };
  std::optional<BuildLock> lock;
  for (;;) {
    absl::StatusOr<std::unique_ptr<TimelineIndex>> index =
        TimelineIndex::Open(*path, &fingerprint);
    if (index.ok() && (*index)->is_whole()) return index;
    if (index.ok() && parts.on_part && (*index)->duration_ns() > shown_ns) {
      shown_ns = (*index)->duration_ns();
      show(*std::move(index), **reader);
    }
    if (lock) break;
    // With the lock, once more: another builder may have finished.
    lock = BuildLock::Try(*path);
    if (lock) continue;
    if (progress && !progress({0, fingerprint.stream_bytes})) {
      return absl::CancelledError("The timeline index is not built");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (lock->is_held()) RemoveLeftovers(*path);

  const std::string directory =
      std::filesystem::path(*path).parent_path().string();
  FirstPartsBuilder first_parts;
  if (parts.on_part) {
    first_parts.Start(
        fingerprint.stream_bytes, parts.first_bytes,
        [&](std::uint64_t most_bytes,
            const logformat::ProgressCallback& goes_on) -> absl::Status {
          auto own = logformat::TraceReader::Open(trace_path, shown_as);
          if (!own.ok()) return own.status();
          auto pass = IndexPass::Read(**own, directory, most_bytes, goes_on);
          if (!pass.ok()) return pass.status();
          absl::Status written = pass->Write(fingerprint, *path, goes_on);
          if (!written.ok()) return written;
          auto part = TimelineIndex::Open(*path, &fingerprint);
          if (!part.ok()) return part.status();
          if ((*part)->duration_ns() > shown_ns) show(*std::move(part), **own);
          return absl::OkStatus();
        });
  }
  absl::StatusOr<IndexPass> pass =
      IndexPass::Read(**reader, directory, kWholeTrace, progress);
  if (!pass.ok()) return pass.status();
  first_parts.Stop();  // a part must not take the place of the whole
  if (absl::Status written = pass->Write(fingerprint, *path, progress);
      !written.ok()) {
    return written;
  }
  return TimelineIndex::Open(*path, &fingerprint);
}

absl::StatusOr<std::unique_ptr<TimelineIndex>> BuildIndexOfRange(
    const std::string& trace_path, const rmap::TableRange& range,
    const std::string& path, const logformat::ProgressCallback& progress,
    const std::string& shown_as) {
  absl::StatusOr<std::unique_ptr<logformat::TraceReader>> reader =
      logformat::TraceReader::Open(trace_path, shown_as);
  if (!reader.ok()) return reader.status();
  const Fingerprint fingerprint = FingerprintOf(**reader);
  absl::StatusOr<IndexPass> pass = IndexPass::Read(
      **reader, std::filesystem::path(path).parent_path().string(), kWholeTrace,
      progress, range);
  if (!pass.ok()) return pass.status();
  if (absl::Status written = pass->Write(fingerprint, path, progress);
      !written.ok()) {
    return written;
  }
  return TimelineIndex::Open(path, &fingerprint);
}

}  // namespace countrace::viewer
