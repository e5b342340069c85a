#include "base/code/file_version.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace countrace::base {

std::int64_t ChangedNs(const struct stat& file) {
  // Anyone may set a time of a file.
  constexpr std::int64_t kSecond = 1'000'000'000, kMost = 9'000'000'000;
  return std::clamp<std::int64_t>(file.st_mtim.tv_sec, -kMost, kMost) *
             kSecond +
         file.st_mtim.tv_nsec;
}

std::string FileVersion(const struct stat& file) {
  return absl::StrFormat("mtime=%d.%09d,size=%d", file.st_mtim.tv_sec,
                         file.st_mtim.tv_nsec, file.st_size);
}

std::string GoneFileVersion(std::uint64_t inode) {
  return absl::StrFormat("inode=%d", inode);
}

bool IsFileVersion(std::string_view text) {
  return text.find('=') != text.npos;
}

}  // namespace countrace::base
