#include "runtime/recorder/directory/owners_file.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "logformat/description/trace_description.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/process_owner.h"

namespace countrace::runtime {
namespace {

// Bytes for the strings of one user.
constexpr std::size_t kUserBytes = 16384;
// A directory service that takes longer is asked for no other name.
constexpr std::uint64_t kLongLookupNs = 1'000'000'000;

struct FileCloser {
  void operator()(FILE* file) const { std::fclose(file); }
};

// The name in this machine's own file; empty: it has none.
std::string LocalUserName(std::uint32_t uid) {
  const std::unique_ptr<FILE, FileCloser> file(std::fopen("/etc/passwd", "re"));
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kUserBytes);
  while (file != nullptr && fgetpwent_r(file.get(), &entry, buffer.data(),
                                        buffer.size(), &found) == 0) {
    if (found->pw_uid == uid) return found->pw_name;
  }
  return "";
}

// The name from any source that the machine has, perhaps over a network.
std::string UserName(std::uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kUserBytes);
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : absl::StrCat(uid);
}

}  // namespace

void OwnersFile::Add(const logformat::OwnerRecord& owner) {
  if (owner.uid != logformat::kNoUser && users_.insert(owner.uid).second) {
    const std::string name = LocalUserName(owner.uid);
    if (name.empty()) {
      not_local_.push_back(owner.uid);
    } else {
      Write(logformat::UserText(owner.uid, name));
    }
  }
  if (owner.cgroup != 0 && cgroups_.insert(owner.cgroup).second) {
    Write(logformat::CgroupText(owner.cgroup,
                                CgroupPathOf(owner.cgroup, owner.pid)));
  }
}

void OwnersFile::Finish() {
  bool slow = false;
  for (const std::uint32_t uid : std::exchange(not_local_, {})) {
    const std::uint64_t begin_ns = MonotonicNs();
    Write(logformat::UserText(uid, slow ? absl::StrCat(uid) : UserName(uid)));
    slow |= MonotonicNs() - begin_ns > kLongLookupNs;
  }
}

void OwnersFile::Write(const std::string& line) {
  if (failed_) return;
  if (!file_.is_open()) {
    file_ = base::ScopedFd(open(
        path_.c_str(),
        O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  const std::string text = line + "\n";
  // Behind half a line all others would be unreadable.
  failed_ = write(file_.get(), text.data(), text.size()) !=
            static_cast<ssize_t>(text.size());
}

}  // namespace countrace::runtime
