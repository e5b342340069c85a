// The folder of another user in a recording (session_layout.h, `.user-UID`).
// Its owner may have any file in it, and change it at any time: nothing in it
// is opened with waiting, followed, mapped, or read without a limit.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_USER_FOLDER_H_
#define COUNTRACE_LOGFORMAT_REPAIR_USER_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/posix/scoped_fd.h"

namespace countrace::logformat {

// Entries of a user's folder that are looked at.
inline constexpr std::size_t kMostUserFiles = 100'000;

// ".user-65534".
std::string UserFolderName(std::uint32_t user);

// Users with a folder in directory `trace`, in ascending order.
std::vector<std::uint32_t> UserFolders(const std::string& trace);

// Removes a user's folder and what is in it. False: something is left.
bool RemoveUserFolder(const std::string& trace, std::uint32_t user);

class UserFolder {
 public:
  UserFolder(const std::string& trace, std::uint32_t user);

  std::uint32_t user() const { return user_; }
  // At most kMostUserFiles names, sorted; none if the folder is a link.
  std::vector<std::string> Names() const;
  // For reading. Not open: no regular file of the user.
  base::ScopedFd Open(const std::string& name) const;
  // The first `most` bytes of such a file; empty: none.
  std::string Read(const std::string& name, std::size_t most) const;
  void Remove(const std::string& name) const;

 private:
  std::uint32_t user_;
  base::ScopedFd folder_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_USER_FOLDER_H_
