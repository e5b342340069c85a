#include "runtime/recorder/directory/owners_file.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "logformat/description/trace_description.h"
#include "runtime/recorder/system/process_owner.h"

namespace countrace::runtime {
namespace {

std::string UserName(std::uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : absl::StrCat(uid);
}

}  // namespace

void OwnersFile::Add(const logformat::OwnerRecord& owner) {
  if (owner.uid != logformat::kNoUser && users_.insert(owner.uid).second) {
    Write(logformat::UserText(owner.uid, UserName(owner.uid)));
  }
  if (owner.cgroup != 0 && cgroups_.insert(owner.cgroup).second) {
    Write(logformat::CgroupText(owner.cgroup,
                                CgroupPathOf(owner.cgroup, owner.pid)));
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
