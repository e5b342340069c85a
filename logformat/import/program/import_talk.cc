#include "logformat/import/program/import_talk.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace countrace::importer {

bool ImportTalk::TakeLine(const std::string& one) {
  if (one.starts_with("progress ")) {
    const char* const end = one.data() + one.size();
    std::uint64_t bytes = 0, time = 0;
    const auto first = std::from_chars(one.data() + 9, end, bytes);
    if (first.ptr != end) std::from_chars(first.ptr + 1, end, time);
    const bool further = bytes != done_bytes || time != time_ns;
    done_bytes = bytes;
    time_ns = time;
    return further;
  }
  if (one.starts_with("error ")) {
    int code = 0;
    const char* const end = one.data() + one.size();
    const auto parsed = std::from_chars(one.data() + 6, end, code);
    std::string text;
    if (parsed.ptr != end) text.assign(parsed.ptr + 1, end);
    std::replace(text.begin(), text.end(), '\1', '\n');
    if (code <= 0 || code > 16) code = 2;
    error = absl::Status(static_cast<absl::StatusCode>(code), text);
  } else if (one.starts_with("unconfined ")) {
    unconfined += (unconfined.empty() ? "" : "; ") + one.substr(11);
    unconfined.resize(std::min(unconfined.size(), kMaxErrorText));
  } else if (one == "done") {
    done = true;
  }
  return true;
}

bool ImportTalk::TakeOutput(std::string_view bytes) {
  bool further = false;
  for (const char c : bytes) {
    if (c == '\n') {
      further |= TakeLine(std::exchange(line_, ""));
    } else if (line_.size() < kMaxLine) {
      line_ += c;
    }
  }
  return further;
}

void ImportTalk::TakeErrors(std::string_view bytes) {
  first_errors += bytes.substr(0, kMaxErrorText - first_errors.size());
  errors += bytes;
  if (errors.size() > kMaxErrorText) {
    errors.erase(0, errors.size() - kMaxErrorText);
  }
}

}  // namespace countrace::importer
