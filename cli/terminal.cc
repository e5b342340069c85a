#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "absl/strings/numbers.h"

namespace countrace::cli {
namespace {

std::string_view Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool IsTerminal(int descriptor) { return isatty(descriptor) == 1; }

std::size_t TextWidth(bool all) {
  constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  if (all) return kNoLimit;
  const std::string_view set = Environment("COLUMNS");
  std::uint64_t columns = 0;
  if (absl::SimpleAtoi({set.data(), set.size()}, &columns) && columns > 0) {
    return columns;
  }
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return kNoLimit;
}

bool UseColor(std::string_view choice) {
  if (choice == "always") return true;
  if (choice == "never") return false;
  if (!Environment("NO_COLOR").empty()) return false;
  if (Environment("TERM") == "dumb") return false;
  const std::string_view force = Environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return IsTerminal(STDOUT_FILENO);
}

}  // namespace countrace::cli
