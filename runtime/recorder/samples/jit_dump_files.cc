#include "runtime/recorder/samples/jit_dump_files.h"

#include <sys/stat.h>

#include <mutex>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/regular_file.h"
#include "base/text/name_escape.h"
#include "runtime/recorder/system/process_owner.h"

namespace countrace::runtime {

struct JitDumps::Files {
  struct File {
    std::string path;
    base::ScopedFd fd;
  };
  std::mutex mutex;
  std::map<std::int32_t, File> by_process;  // its latest
};

JitDumps::JitDumps(FileThread& thread)
    : thread_(thread), files_(std::make_shared<Files>()) {}

void JitDumps::OnMapping(std::int32_t pid, std::string_view path) {
  if (!base::IsJitDumpPath(path)) return;
  thread_.Add(pid, [pid, path = std::string(path), files = files_] {
    const std::optional<std::uint32_t> user = RealUser(pid);
    // As the process sees it.
    auto fd =
        base::OpenRegularFile(absl::StrFormat("/proc/%d/root%s", pid, path),
                              base::LastLink::kRefused);
    struct stat status;
    if (user && fd.ok() && fstat(fd->get(), &status) == 0 &&
        status.st_uid == *user) {
      const std::lock_guard lock(files->mutex);
      if (files->by_process.size() < kMostFiles) {
        files->by_process[pid] = {path, *std::move(fd)};
      }
    }
    return std::uint64_t{0};
  });
}

void JitDumps::OnCode(std::int32_t pid) {
  if (users_.contains(pid)) return;
  if (const auto user = RealUser(pid)) users_[pid] = *user;
}

std::optional<std::uint32_t> JitDumps::UserOf(std::int32_t pid) const {
  const auto user = users_.find(pid);
  return user == users_.end() ? std::nullopt : std::optional(user->second);
}

JitDump JitDumps::Read(std::int32_t pid,
                       const std::set<std::uint64_t>& addresses,
                       base::NameLimits& limits,
                       std::vector<std::string>& messages) const {
  const std::lock_guard lock(files_->mutex);
  const auto file = files_->by_process.find(pid);
  if (file == files_->by_process.end()) return {};
  const Files::File& opened = file->second;
  JitDump dump =
      base::ReadJitDump(base::ReadAtOf(opened.fd.get()), addresses, limits);
  if (!dump.status.ok()) {
    messages.push_back(base::EscapeName(opened.path) + ": " +
                       std::string(dump.status.message()));
  }
  return dump;
}

}  // namespace countrace::runtime
