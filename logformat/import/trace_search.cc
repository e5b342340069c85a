#include "logformat/import/trace_search.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"
#include "logformat/description/trace_directory.h"
#include "logformat/session_layout.h"

namespace countrace::importer {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxTraces = 4096;
constexpr std::size_t kMaxEntries = 1 << 20;
constexpr int kMaxDepth = 16;
constexpr std::string_view kPerfMagic = "PERFILE2";

}  // namespace

bool IsPerfDataFile(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string magic(kPerfMagic.size(), '\0');
  if (!file.read(magic.data(), static_cast<std::streamsize>(magic.size()))) {
    return false;
  }
  return magic == kPerfMagic ||
         std::equal(magic.begin(), magic.end(), kPerfMagic.rbegin());
}

TraceOrigin OriginOf(const std::string& path) {
  std::error_code error;
  if (IsPerfDataFile(path)) return TraceOrigin::kOtherTool;
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
  if (!fs::is_directory(path, error)) {
    return absl::NotFoundError(
        absl::StrFormat("There is no directory %s", path));
  }
  CtfTraces found;
  std::size_t entries = 0;
  const auto look_at = [&](const fs::path& directory) {
    if (!fs::is_regular_file(directory / logformat::kMetadataFile, error)) {
      return;
    }
    found.directories.push_back(directory.string());
    for (const fs::directory_entry& file :
         fs::directory_iterator(directory, error)) {
      if (file.is_regular_file(error)) found.bytes += file.file_size(error);
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
  if (found.directories.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s holds no trace: there is no file `metadata` in it or below it",
        path));
  }
  std::sort(found.directories.begin(), found.directories.end());
  return found;
}

}  // namespace countrace::importer
