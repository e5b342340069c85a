// What the import program reports: lines on its standard output, and its
// messages. It may be in the hands of a damaged trace, so nothing that it
// writes takes more memory than the limits here. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_TALK_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_TALK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace countrace::importer {

struct ImportTalk {
  static constexpr std::size_t kMaxErrorText = 4096, kMaxLine = 1 << 16;

  // Bytes of its standard output. Returns true on progress.
  bool TakeOutput(std::string_view bytes);
  // Bytes of its standard error.
  void TakeErrors(std::string_view bytes);

  std::uint64_t done_bytes = 0, time_ns = 0;
  std::optional<absl::Status> error;
  bool done = false;
  std::string unconfined;
  std::string first_errors, errors;  // stderr: its beginning, its end

 private:
  bool TakeLine(const std::string& one);

  std::string line_;  // not yet complete; without what is beyond kMaxLine
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_TALK_H_
