#include "logformat/import/trace_search.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/file_mapping.h"
#include "base/posix/scoped_fd.h"
#include "logformat/description/trace_directory.h"
#include "logformat/import/listing/listing.h"
#include "logformat/session_layout.h"

namespace countrace::importer {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxTraces = 4096;
constexpr std::size_t kMaxEntries = 1 << 20;
constexpr int kMaxDepth = 16;
constexpr std::string_view kPerfMagic = "PERFILE2";

// O_NONBLOCK: an open of a file that another process leases waits for it.
base::ScopedFd OpenAtOnce(const fs::path& path) {
  return base::ScopedFd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// The first bytes of a regular file; fewer if it has no more, or is none.
std::string HeadOf(const std::string& path, std::size_t bytes) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";
  const base::ScopedFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string head(bytes, '\0');
  const ssize_t got =
      file.is_open() ? pread(file.get(), head.data(), bytes, 0) : 0;
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return head;
}

// babeltrace2 would wait in its open.
absl::Status CheckNotLeased(const fs::path& path) {
  if (OpenAtOnce(path).is_open() || errno != EWOULDBLOCK) {
    return absl::OkStatus();
  }
  return base::LeasedError(path.string());
}

}  // namespace

bool IsPerfDataFile(const std::string& path) {
  const std::string magic = HeadOf(path, kPerfMagic.size());
  return magic == kPerfMagic ||
         std::equal(magic.begin(), magic.end(), kPerfMagic.rbegin(),
                    kPerfMagic.rend());
}

bool IsListingFile(const std::string& path) {
  return ListingKindOf(HeadOf(path, kListingHead)) != ListingKind::kNone;
}

TraceOrigin OriginOf(const std::string& path) {
  std::error_code error;
  if (IsPerfDataFile(path) || IsListingFile(path)) {
    return TraceOrigin::kOtherTool;
  }
  if (!fs::is_directory(path, error)) return TraceOrigin::kCountrace;
  const auto directory = logformat::ListTraceDirectory(path);
  if (directory.ok()) {
    const auto description = logformat::DescribeTrace(*directory);
    return !description.ok() && absl::IsInvalidArgument(description.status())
               ? TraceOrigin::kOtherTool
               : TraceOrigin::kCountrace;
  }
  // No metadata here, perhaps in a subdirectory.
  return absl::IsInvalidArgument(directory.status()) && FindCtfTraces(path).ok()
             ? TraceOrigin::kOtherTool
             : TraceOrigin::kCountrace;
}

absl::StatusOr<CtfTraces> FindCtfTraces(const std::string& path) {
  std::error_code error;
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 &&
      errno == EACCES) {
    return base::ErrnoStatus(EACCES, "Cannot open " + path);
  }
  if (!fs::is_directory(path, error)) {
    if (const absl::Status leased = CheckNotLeased(path); !leased.ok()) {
      return leased;
    }
    return absl::NotFoundError(
        absl::StrFormat("There is no directory %s", path));
  }
  CtfTraces found;
  std::size_t entries = 0;
  absl::Status leased;
  const auto look_at = [&](const fs::path& directory) {
    if (!fs::is_regular_file(directory / logformat::kMetadataFile, error)) {
      return;
    }
    found.directories.push_back(directory.string());
    for (const fs::directory_entry& file :
         fs::directory_iterator(directory, error)) {
      if (!file.is_regular_file(error)) continue;
      found.bytes += file.file_size(error);
      leased.Update(CheckNotLeased(file.path()));
    }
  };
  look_at(path);
  fs::recursive_directory_iterator at(
      path, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator();
       at.increment(error)) {
    if (++entries > kMaxEntries || found.directories.size() > kMaxTraces) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s holds more than %d traces or %d files: give the directory of one "
          "session",
          path, kMaxTraces, kMaxEntries));
    }
    std::error_code ignored;
    if (!at->is_directory(ignored) || at->is_symlink(ignored)) continue;
    if (at->path().filename().string().starts_with('.') ||
        at.depth() >= kMaxDepth) {
      at.disable_recursion_pending();
      continue;
    }
    look_at(at->path());
  }
  if (!leased.ok()) return leased;
  if (found.directories.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s holds no trace: there is no file `metadata` in it or below it",
        path));
  }
  std::sort(found.directories.begin(), found.directories.end());
  return found;
}

}  // namespace countrace::importer
