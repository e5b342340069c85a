#include "cli/program/terminal.h"

#include <unistd.h>

#include <cstdlib>

namespace countrace::cli {
namespace {

std::string_view Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool IsTerminal(int descriptor) { return isatty(descriptor) == 1; }

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
