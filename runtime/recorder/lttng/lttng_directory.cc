#include "runtime/recorder/lttng/lttng_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/directory/trace_directory.h"

namespace countrace::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDomains[] = {"ust", "kernel"};

bool IsLttngTrace(const fs::path& path) {
  std::error_code error;
  bool any = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const bool domain = (entry.path().filename() == kDomains[0] ||
                         entry.path().filename() == kDomains[1]) &&
                        fs::is_directory(entry.symlink_status());
    if (!domain) return false;
    any = true;
  }
  if (error || !any) return false;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(path, error)) {
    if (entry.path().filename() == "metadata") return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> MakeLttngDirectory(const std::string& path,
                                               bool force) {
  if (path.empty()) {
    return absl::InvalidArgumentError("The output has no name");
  }
  std::error_code error;
  if (force && IsLttngTrace(path)) {
    for (const char* domain : kDomains) {
      fs::remove_all(fs::path(path) / domain, error);
      if (error) {
        return base::ErrnoStatus(
            error.value(),
            absl::StrFormat("Cannot remove %s/%s", path, domain));
      }
    }
  }
  // TraceDirectory has the same rules for a directory that may be replaced.
  auto directory = TraceDirectory::Create(path, force);
  if (!directory.ok()) return directory.status();
  const std::string absolute = directory->path();
  directory->Remove();
  if (mkdir(absolute.c_str(), 0700) != 0) {
    return base::OutputStatus(errno,
                              "Cannot create the trace directory " + absolute);
  }
  return absolute;
}

void RemoveLttngDirectory(const std::string& path) {
  std::error_code ignored;
  for (const char* domain : kDomains) {
    fs::remove_all(fs::path(path) / domain, ignored);
  }
  rmdir(path.c_str());
}

std::uint64_t BytesBelow(const std::string& path) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

}  // namespace countrace::runtime
