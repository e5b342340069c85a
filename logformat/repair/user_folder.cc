#include "logformat/repair/user_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "logformat/session_layout.h"

namespace countrace::logformat {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
// Folders within the folder; countrace makes none.
constexpr int kMostLevels = 16;

std::vector<std::string> NamesIn(int folder, std::size_t most) {
  std::vector<std::string> names;
  // closedir() closes the descriptor passed to fdopendir().
  const int listed = openat(folder, ".", kFolderFlags);
  if (listed < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(fdopendir(listed), closedir);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == most) break;
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Removes `name` of `parent`, which may be a folder with others in it.
bool RemoveTree(int parent, const std::string& name, int levels) {
  if (unlinkat(parent, name.c_str(), 0) == 0) return true;
  const base::ScopedFd folder(openat(parent, name.c_str(), kFolderFlags));
  if (!folder.is_open() || levels == 0) return false;
  for (const std::string& each : NamesIn(folder.get(), kMostUserFiles)) {
    RemoveTree(folder.get(), each, levels - 1);
  }
  return unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace

std::string UserFolderName(std::uint32_t user) {
  return kUserFolderPrefix + std::to_string(user);
}

std::vector<std::uint32_t> UserFolders(const std::string& trace) {
  std::vector<std::uint32_t> users;
  const base::ScopedFd folder(open(trace.c_str(), kFolderFlags));
  for (const std::string& name : NamesIn(folder.get(), ~std::size_t{0})) {
    std::uint32_t user = 0;
    const std::size_t at = sizeof(kUserFolderPrefix) - 1;
    if (!name.starts_with(kUserFolderPrefix)) continue;
    std::from_chars(name.data() + at, name.data() + name.size(), user);
    if (name == UserFolderName(user)) users.push_back(user);
  }
  std::sort(users.begin(), users.end());
  return users;
}

bool RemoveUserFolder(const std::string& trace, std::uint32_t user) {
  const base::ScopedFd parent(open(trace.c_str(), kFolderFlags));
  const std::string name = UserFolderName(user);
  const base::ScopedFd folder(openat(parent.get(), name.c_str(), kFolderFlags));
  // From now on its owner can add nothing.
  if (folder.is_open() && geteuid() == 0) {
    (void)!fchown(folder.get(), 0, 0);
    (void)!fchmod(folder.get(), 0700);
  }
  return RemoveTree(parent.get(), name, kMostLevels);
}

UserFolder::UserFolder(const std::string& trace, std::uint32_t user)
    : user_(user),
      folder_(
          open((trace + "/" + UserFolderName(user)).c_str(), kFolderFlags)) {}

std::vector<std::string> UserFolder::Names() const {
  return NamesIn(folder_.get(), kMostUserFiles);
}

base::ScopedFd UserFolder::Open(const std::string& name) const {
  base::ScopedFd file(
      openat(folder_.get(), name.c_str(),
             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) || info.st_uid != user_) {
    return {};
  }
  return file;
}

std::string UserFolder::Read(const std::string& name, std::size_t most) const {
  const base::ScopedFd file = Open(name);
  std::string text;
  char piece[65536];
  ssize_t got = 0;
  while (file.is_open() && text.size() < most &&
         (got = pread(file.get(), piece,
                      std::min(sizeof(piece), most - text.size()),
                      static_cast<off_t>(text.size()))) > 0) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

void UserFolder::Remove(const std::string& name) const {
  unlinkat(folder_.get(), name.c_str(), 0);
}

}  // namespace countrace::logformat
