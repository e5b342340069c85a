// Any bytes as a program: its USDT notes, and why it did not join.
#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "runtime/recorder/control/unjoined_program.h"
#include "runtime/recorder/kernel/hooks/usdt_notes.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static countrace::fuzz::InputFile file;
  const std::string& path = file.Write({data, size});
  const auto notes = countrace::runtime::ReadUsdtNotes(path);
  if (!notes.ok() && !absl::StrContains(notes.status().message(), path)) {
    std::abort();
  }
  const bool has_hooks = countrace::runtime::HasHooks(path);
  const std::string why = countrace::runtime::WhyNotJoined(path, true);
  // A program with hooks or probes is named, any other is not.
  if (has_hooks && why.empty()) std::abort();
  if (notes.ok() && !notes->empty() && why.empty()) std::abort();
  if (!why.empty() && !absl::StrContains(why, path)) std::abort();
  return 0;
}
