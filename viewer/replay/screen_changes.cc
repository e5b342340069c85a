#include "viewer/replay/screen_changes.h"

#include <cstddef>

#include "absl/strings/str_format.h"

namespace countrace::viewer {

std::string ScreenChanges::To(const std::vector<std::string>& lines) {
  std::string bytes;
  if (shown_.size() != lines.size()) {
    shown_.assign(lines.size(), "");
    bytes = "\x1b[0m\x1b[2J";
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (shown_[i] == lines[i]) continue;
    absl::StrAppendFormat(&bytes, "\x1b[%d;1H%s\x1b[K", i + 1, lines[i]);
    shown_[i] = lines[i];
  }
  return bytes;
}

}  // namespace countrace::viewer
