#include "runtime/recorder/samples/file_identities.h"

#include <sys/stat.h>

#include <mutex>

#include "absl/strings/str_format.h"
#include "base/code/elf_identity.h"
#include "base/posix/regular_file.h"

namespace countrace::runtime {
namespace {

// A container's process has another root. If the process has ended: as the
// recorder sees the file, which may be another one.
std::string Look(std::int32_t pid, const std::string& path, std::uint64_t inode,
                 std::uint64_t& bytes_read) {
  auto fd =
      base::OpenRegularFile(absl::StrFormat("/proc/%d/root%s", pid, path));
  if (!fd.ok()) {
    fd = base::OpenRegularFile(path);
    struct stat status;
    if (!fd.ok() || fstat(fd->get(), &status) != 0 || status.st_ino != inode) {
      return "";
    }
  }
  return base::ReadFileIdentity(fd->get(), bytes_read);
}

}  // namespace

// What the thread found.
struct FileIdentities::Results {
  std::mutex mutex;
  std::vector<Known> known;
};

FileIdentities::FileIdentities(FileThread& thread)
    : thread_(thread), results_(std::make_shared<Results>()) {}

std::string FileIdentities::Find(std::int32_t pid, const std::string& path,
                                 const MappedInode& inode) {
  const std::string key =
      absl::StrFormat("%d\n%s\n%s", inode.number, inode.device, path);
  const auto known = stand_ins_.find(key);
  if (known != stand_ins_.end()) return known->second;
  const std::string stand_in = absl::StrFormat("?%d", ++last_);
  const bool waits =
      thread_.Add(pid, [=, results = results_, number = inode.number] {
        std::uint64_t bytes = 0;
        std::string identity = Look(pid, path, number, bytes);
        const std::lock_guard lock(results->mutex);
        results->known.push_back({key, stand_in, std::move(identity)});
        return bytes;
      });
  if (!waits) {
    ++refused_;
    return "";
  }
  return stand_ins_[key] = stand_in;
}

std::vector<FileIdentities::Known> FileIdentities::TakeKnown() {
  std::vector<Known> known;
  {
    const std::lock_guard lock(results_->mutex);
    known.swap(results_->known);
  }
  for (const Known& one : known) {
    // A later process may have the file where it can be read.
    if (one.identity.empty()) stand_ins_.erase(one.file);
  }
  return known;
}

}  // namespace countrace::runtime
