#include "base/code/read_at.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace countrace::base {

ReadAt ReadAtOf(int fd) {
  return [fd](std::uint64_t offset, std::span<std::byte> out) {
    std::size_t have = 0;
    while (have < out.size()) {
      const ssize_t bytes = pread(fd, out.data() + have, out.size() - have,
                                  static_cast<off_t>(offset + have));
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) break;
      have += static_cast<std::size_t>(bytes);
    }
    return have;
  };
}

ReadAt ReadAtOf(std::string_view bytes) {
  return [bytes](std::uint64_t offset, std::span<std::byte> out) {
    if (offset >= bytes.size()) return std::size_t{0};
    const std::string_view part =
        bytes.substr(static_cast<std::size_t>(offset), out.size());
    if (!part.empty()) std::memcpy(out.data(), part.data(), part.size());
    return part.size();
  };
}

}  // namespace countrace::base
