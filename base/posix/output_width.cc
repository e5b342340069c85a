#include "base/posix/output_width.h"

#include <sys/ioctl.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace countrace::base {

std::size_t OutputWidth(int descriptor) {
  if (const char* const set = std::getenv("COLUMNS")) {
    std::size_t columns = 0;
    const char* const end = set + std::strlen(set);
    const auto parsed = std::from_chars(set, end, columns);
    if (parsed.ec == std::errc() && parsed.ptr == end && columns > 0) {
      return columns;
    }
  }
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return kAnyWidth;
}

}  // namespace countrace::base
